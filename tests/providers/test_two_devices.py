"""A factory with two cards, in Sardonyx and in ONNX Runtime: a session that gets one, the other, or both."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()


def told(path):
    done = subprocess.run([sys.executable, HERE / "two_device_cases.py", BUILD / "lib/libtest_two_devices.so"],
                          env={**os.environ, "PYTHONPATH": str(path)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("end: True\n"), done.stdout + done.stderr
    return done.stdout.splitlines()


def test_both_runtimes_say_the_same():
    ours = told(BUILD / "as_onnxruntime")
    assert ours == told("")
    # Not that both are wrong: each session computes on one card alone, each card in some of them.
    assert {line for line in ours if line.startswith("computed: ")} == {"computed: [9, 0]", "computed: [0, 9]"}
    assert {line for line in ours if line.startswith("left: ")} == {"left: [0, 0]"}
    assert not [line for line in ours if "error" in line.lower()]
