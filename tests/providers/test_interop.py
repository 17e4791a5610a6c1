"""A plug-in imports memory and semaphores of graphics interfaces, in Sardonyx and in ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

import onnxruntime
import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
CASES = ["memory", "semaphores", "graphics", "lifetimes", "faults"]
OURS_ALONE = {"lifetimes"}  # ONNX Runtime unregisters libraries that are in use


def run(case, runtime):
    done = subprocess.run([sys.executable, HERE / "interop_cases.py", case, runtime,
                           BUILD / "lib/libtest_provider_plugin.so"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES)
def test_in_sardonyx(case):
    run(case, BUILD / "lib/libsardonyx.so")


@pytest.mark.parametrize("case", [case for case in CASES if case not in OURS_ALONE])
def test_in_onnx_runtime(case):
    [library] = (pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
    run(case, library)
