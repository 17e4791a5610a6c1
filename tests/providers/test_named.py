"""Providers of a plug-in asked for in every way of the package (named_cases.py): the same as in ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()


def told(path):
    done = subprocess.run([sys.executable, HERE / "named_cases.py", BUILD / "lib/libtest_provider_plugin.so"],
                          capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(path)})
    assert done.returncode == 0 and done.stdout.endswith("end\n"), done.stdout + done.stderr
    return done.stdout.splitlines()


def test_providers_are_found_as_in_onnx_runtime():
    ours, theirs = told(BUILD / "as_onnxruntime"), told("")
    assert ours == theirs
    assert sum("SdxTestProvider" in line for line in ours) > 20
