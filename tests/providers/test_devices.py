"""Streams, device memory, captured graphs and profiles of a plug-in, in Sardonyx and in ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

import onnxruntime
import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
PLUGIN = BUILD / "lib/libtest_provider_plugin.so"
CASES = ["streams", "crossings", "loops", "passed_on", "given_stream", "faults", "binding", "handed_over",
         "unsynchronized", "borders", "own_borders", "places", "allocators", "capture",
         "profile", "threads"]
# ONNX Runtime 1.31.1 joins what the turns of a Loop give before a stream has written it, and logs most errors of
# streams; it unregisters libraries that are in use.
# It copies an input when that is bound, and not on the stream of the run.
OURS_ALONE = {"loops", "passed_on", "faults", "threads", "borders"}


def run(case, runtime):
    done = subprocess.run([sys.executable, HERE / "device_cases.py", case, runtime, PLUGIN], capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES)
def test_in_sardonyx(case):
    run(case, BUILD / "lib/libsardonyx.so")


@pytest.mark.parametrize("case", [case for case in CASES if case not in OURS_ALONE])
def test_in_onnx_runtime(case):
    [library] = (pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
    run(case, library)
