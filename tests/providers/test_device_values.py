"""Python values on a device of a plug-in: the same program, with Sardonyx under the name of ONNX Runtime and with ONNX
Runtime itself, tells the same."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
LIBRARY, SECOND = BUILD / "lib/libtest_provider_plugin.so", BUILD / "lib/libtest_second_plugin.so"


def told(path):
    done = subprocess.run([sys.executable, HERE / "device_value_cases.py", LIBRARY], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "PYTHONPATH": str(path)})
    assert done.returncode == 0 and done.stdout.endswith("end: True\n"), done.stdout + done.stderr
    return done.stdout.splitlines()


def test_values_on_a_device_are_as_in_onnx_runtime():
    ours, peers = told(BUILD / "as_onnxruntime"), told("")
    assert ours == peers
    answers = dict(line.split(": ", 1) for line in ours)
    # Not that both are wrong.
    assert not [line for line in ours if "False" in line]
    assert answers["copies of a run"] == "0" and answers["left"] == "[0, 0, 0, 0]"


# ONNX Runtime copies an output that the host reads, too, to the card before its stream has made it.
COPIES = [(case, runtime) for case in ("values", "sessions", "joined", "shared", "pinned", "on_stream") for runtime in
          ("sardonyx", "onnx_runtime") if (case, runtime) != ("shared", "onnx_runtime")]


@pytest.mark.parametrize(("case", "runtime"), COPIES)
def test_copies(case, runtime):
    path = BUILD / "as_onnxruntime" if runtime == "sardonyx" else ""
    done = subprocess.run([sys.executable, HERE / "device_copy_cases.py", case, LIBRARY, SECOND], capture_output=True,
                          text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(path)})
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr
