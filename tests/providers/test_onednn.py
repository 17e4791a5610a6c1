"""The plug-in plugins/onednn in Sardonyx, and the same library in ONNX Runtime's released one."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
LIBRARY = BUILD / "lib/libonednn_provider.so"
HOSTS = {"sardonyx": BUILD / "as_onnxruntime", "onnxruntime": ""}
CASES = ["convolutions", "products", "pools", "normalizations", "arithmetic", "functions", "reductions", "shapes"]

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="built without oneDNN (libdnnl-dev)")


def run(case, host):
    environment = {**os.environ, "PYTHONPATH": str(HOSTS[host])}
    done = subprocess.run([sys.executable, HERE / "onednn_cases.py", case, LIBRARY], env=environment,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("case", CASES)
def test_onednn(case, host):
    run(case, host)
