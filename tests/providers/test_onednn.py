"""The plug-in plugins/onednn in Sardonyx, and the same library in ONNX Runtime's released one."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import model_zoo  # noqa: E402

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
LIBRARY = BUILD / "lib/libonednn_provider.so"
HOSTS = {"sardonyx": BUILD / "as_onnxruntime", "onnxruntime": ""}
CASES = ["convolutions", "products", "pools", "normalizations", "arithmetic", "functions", "reductions", "shapes",
         "chains", "transformers", "quantized", "models", "threads", "lifetimes", "errors", "options", "refusals",
         "groups", "nan"]

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="built without oneDNN (libdnnl-dev)")


def run(case, host, **variables):
    # Threads of OpenMP that spin for each other would take minutes beside other tests.
    environment = {**os.environ, "PYTHONPATH": str(HOSTS[host]), "OMP_WAIT_POLICY": "passive", **variables}
    done = subprocess.run([sys.executable, HERE / "onednn_cases.py", case, LIBRARY], env=environment,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("case", CASES)
def test_onednn(case, host):
    if case == "models" and not model_zoo.present():
        pytest.skip(model_zoo.why_absent())
    run(case, host)


@pytest.mark.parametrize("host", HOSTS)
def test_what_follows_is_fused_and_weights_are_packed_once(host):
    printed = run("verbose", host, ONEDNN_VERBOSE="1")
    parts = {part.split("\n")[0]: [line.split(",") for line in part.splitlines() if "onednn_verbose,exec" in line]
             for part in printed.split("model: ")[1:]}
    kinds = [line[3] for line in parts["floats"]]
    assert kinds.count("convolution") == 1 and "binary" in kinds and "eltwise" not in kinds, kinds
    assert any("attr-post-ops:eltwise_relu" in field for line in parts["floats"] for field in line)
    kinds = [line[3] for line in parts["integers"]]
    assert kinds.count("convolution") == 3, kinds  # one for each run
    packed = [line for line in parts["integers"] if line[3] == "reorder" and line[-2] == "8x8x3x3"]
    assert len(packed) == 1, packed
    with open("/proc/cpuinfo") as file:
        has_vnni = "avx512_vnni" in file.read()
    quantized = [" ".join(line) for line in parts["integers"] if line[3] == "convolution"]
    assert all(("src_u8" in line and "dst_u8" in line) == has_vnni for line in quantized), quantized


@pytest.mark.parametrize("host", HOSTS)
def test_the_documents_example_runs(host, tmp_path):
    page = (HERE.parents[1] / "docs/onednn_provider.md").read_text()
    code = page.split("```python\n")[1].split("```")[0].replace("libonednn_provider.so", str(LIBRARY))
    body = "(float[n, 2] x) => (float[n, 2] y) { y = MatMul(x, w) }"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> g {body}')
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([[0, 1], [2, 0]], np.float32), "w"))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    code += "import numpy\nprint(session.run(None, {'x': numpy.array([[3, 4]], numpy.float32)})[0].tolist())\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(HOSTS[host])})
    assert (done.returncode, done.stdout) == (0, "[[8.0, 3.0]]\n"), done.stderr
