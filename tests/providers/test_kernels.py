"""A provider that has kernels alone, as its maker would begin: both runtimes give it the same nodes and memory."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()
TOLD_IN_A_WARNING = ("EP Error: ", "Falling back to ")  # ONNX Runtime prints it among the program's own output


def run(case, path):
    done = subprocess.run([sys.executable, HERE / "kernel_cases.py", case, BUILD / "lib/libtest_kernels_plugin.so"],
                          env={**os.environ, "PYTHONPATH": str(path)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("end: True\n"), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith(TOLD_IN_A_WARNING)]


@pytest.mark.parametrize("case", ["models", "asked", "reached", "described", "unsaid", "fails_in_a_run"])
def test_both_runtimes_say_the_same(case):
    assert run(case, BUILD / "as_onnxruntime") == run(case, "")


def test_values_of_the_host_lie_in_ordinary_memory():
    """Of the memory that the card reaches only those have some that ask for it, as in ONNX Runtime."""
    for path in BUILD / "as_onnxruntime", "":
        lines = [line for line in run("places", path) if "read pinned" in line]
        assert len(lines) == 3 and all("'read pinned': 0" in line and "'wrote pinned': 0" in line for line in lines)
