"""A plug-in with an execution provider, loaded into Sardonyx, and the same library into ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
LIBRARY = BUILD / "lib/libtest_provider_plugin.so"
CASES = ["devices", "compiled", "options", "bodies", "card", "kernels", "lifetimes", "misuse", "faults",
         "refusal", "selection", "dynamic_options", "shapes",
         "custom_operators"]
# In ONNX Runtime a library may be unregistered while it is in use, and errors are put in other words.
# A kernel that makes another shape than its operator says ends its runs, where that shares memory with others.
OURS_ALONE = {"lifetimes", "misuse", "faults", "shapes"}


def run(case, path):
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run([sys.executable, HERE / "plugin_cases.py", case, LIBRARY], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES)
def test_in_sardonyx(case):
    run(case, BUILD / "as_onnxruntime")


@pytest.mark.parametrize("case", [case for case in CASES if case not in OURS_ALONE])
def test_in_onnx_runtime(case):
    run(case, "")


def test_memory_and_streams_of_a_device():
    done = subprocess.run([sys.executable, HERE / "memory_cases.py", BUILD / "lib/libsardonyx.so", LIBRARY],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr
