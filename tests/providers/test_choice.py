"""Automatic selection among the devices of several libraries: the choice is ONNX Runtime's, policy by policy."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()
LIBRARY = BUILD / "lib/libtest_many_devices.so"
# Name VENDOR TYPE VENDOR DEVICE [Discrete]
LIBRARIES = {
    "of all types": ["Beta 8086 gpu 8086 1 Discrete\nBeta 8086 npu 8086 2\nBeta 8086 cpu 0 0",
                     "Alpha 10de gpu 10de 3 Discrete\nAlpha 10de gpu 8086 4"],
    "npus": ["Zeta 1 npu 8086 1\nZeta 1 npu 8086 2", "Own 8086 npu 8086 3", "Eta 2 cpu 0 0"],
    "gpus": ["Plain 1 gpu 8086 1\nPlain 1 gpu 8086 2 Discrete\nPlain 1 gpu 10de 3 Discrete",
             "Own 10de gpu 10de 4\nOwn 10de gpu 10de 5 Discrete"],
    "cpus": ["Zeta 1 cpu 0 0", "Alpha 1 cpu 0 0"],
    "of one library": ["B 1 gpu 10de 1\nA 1 gpu 10de 2\nC 1 npu 1 3\nB2 1 npu 1 4"],
    "of one provider": ["Multi 10de gpu 10de 1 Discrete\nMulti 10de gpu 10de 2 Discrete\nMulti 10de npu 10de 3\n"
                        "Multi 10de cpu 0 0"],
    "none": ["Only 1 cpu 0 0"],
}
POLICIES = ("DEFAULT", "PREFER_CPU", "PREFER_NPU", "PREFER_GPU", "MAX_PERFORMANCE", "MAX_EFFICIENCY",
            "MIN_OVERALL_POWER")


def answer(name, folder, package):
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(BUILD / package) if package else "", "SDX_LIBRARY": str(LIBRARY)}
    done = subprocess.run([sys.executable, HERE / "choice_cases.py", folder, *LIBRARIES[name]], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout) | {"hardware": (folder / "hardware.txt").read_text().splitlines()}


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_choice_is_that_of_onnx_runtime(name, tmp_path):
    stock, ours = answer(name, tmp_path / "stock", ""), answer(name, tmp_path / "ours", "as_onnxruntime")
    assert [kind for kind, _, _ in ours["listed"]][0] == "CPUExecutionProvider"
    for key in ("listed", "offered", "delegate", *POLICIES):
        assert ours[key] == stock[key], key
    # The same devices; ONNX Runtime has them in the order of a hash table, and without the names of GPUs' makers.
    without_names = [sorted(line.split("'")[0] + line.split("'")[2] for line in answer["hardware"])
                     for answer in (stock, ours)]
    assert without_names[0] == without_names[1]


def test_a_policy_takes_the_best_device_and_the_best_cpu(tmp_path):
    found = answer("of all types", tmp_path / "ours", "as_onnxruntime")
    assert found["PREFER_GPU"] == [["Alpha", "Beta", "CPUExecutionProvider"], ["Alpha 3", "Beta 0"]]
    assert found["PREFER_NPU"] == [["Beta", "CPUExecutionProvider"], ["Beta 2 0"]]
    assert found["delegate"][1] == ["Alpha 4", "Beta 0"]
