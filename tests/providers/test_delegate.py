"""Models cut anywhere, with the parts run by a plug-in: nothing changes, in Sardonyx and in ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

import pytest
import seen_models

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()
MODELS = ["cnn", "transformer", "constants", "quantized", "external", "old", "functions", "standard_functions",
          "images"]
# ONNX Runtime 1.31.1 does not show what a group in a body captures as an input, and has no opset for compiled groups
# in models with functions.
OURS_ALONE = {"transformer", "constants", "functions", "standard_functions", "images"}


@pytest.mark.parametrize("runtime", ["sardonyx", "onnx_runtime"])
def test_parts_give_the_same_results(runtime, tmp_path):
    models = [seen_models.ALL[name](tmp_path) for name in MODELS
              if runtime == "sardonyx" or name not in OURS_ALONE]
    path = BUILD / "as_onnxruntime" if runtime == "sardonyx" else ""
    done = subprocess.run([sys.executable, HERE / "delegate_cases.py", BUILD / "lib/libtest_delegating_plugin.so",
                           *models], env={**os.environ, "PYTHONPATH": str(path)}, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr
