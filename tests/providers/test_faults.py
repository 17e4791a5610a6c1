"""Faults in seldom called functions of a plug-in: each ends in one error that names it, and nothing is left."""
import os
import pathlib
import subprocess
import sys

import onnxruntime
import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
CASES = ["memory", "questions", "shared_weights", "compatibility", "closing"]


def run(case, runtime):
    done = subprocess.run([sys.executable, HERE / "fault_cases.py", case, runtime,
                           BUILD / "lib/libtest_provider_plugin.so"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES)
def test_in_sardonyx(case):
    run(case, BUILD / "lib/libsardonyx.so")


# Runs that do not wait for their streams read memory there that is used again.
@pytest.mark.parametrize("case", [case for case in CASES if case != "closing"])
def test_in_onnx_runtime(case):
    [library] = (pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
    run(case, library)
