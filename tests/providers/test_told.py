"""What a program is told about a plug-in (told_cases.py), by Sardonyx and by ONNX Runtime: the same."""
import os
import pathlib
import subprocess
import sys

import onnxruntime
import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()
PLUGIN = BUILD / "lib/libtest_provider_plugin.so"


def told(case, runtime):
    done = subprocess.run([sys.executable, HERE / "told_cases.py", case, runtime, PLUGIN], capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("end\n"), done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("case", ["assignment", "devices", "compatibility"])
def test_the_answers_are_those_of_onnx_runtime(case):
    [library] = (pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
    ours, theirs = told(case, BUILD / "lib/libsardonyx.so"), told(case, library)
    assert len(theirs) > 30 and ours == theirs
