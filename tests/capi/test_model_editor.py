"""Models built and edited in memory: one compiled program on our library and on ONNX Runtime's own."""
import os
import pathlib
import subprocess

import onnx.parser
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
OURS = BUILD / "lib/libsardonyx.so"
BASE = """
<ir_version: 8, opset_import: ["" : 17]>
base (float[N,4] x) => (float[N,3] y) <float[4,3] w = {-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6}> {
  a = MatMul(x, w)
  y = Relu(a)
}"""
CHOICE = """
<ir_version: 8, opset_import: ["" : 17]>
choice (bool c, float[2] x) => (float[2] z) <float[2] k = {1, 2}> {
  s = Exp(x)
  z = If(c) <then_branch = yes () => (float[2] o) { o = Add(s, k) },
             else_branch = no () => (float[2] o) { o = Neg(x) }>
}"""


def peer():
    import onnxruntime
    (library,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    return library


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model_editor")
    models = []
    for name, text in (("base", BASE), ("choice", CHOICE)):
        models.append(folder / f"{name}.onnx")
        models[-1].write_bytes(onnx.parser.parse_model(text).SerializeToString())

    def run(library):
        done = subprocess.run([BUILD / "bin/capi_model_editor", library, *models], capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


def test_models_are_built_augmented_and_run(lines):
    ours = lines(OURS)
    assert "in x: -1'batch' 4''" in ours
    assert "y = 0.0033 0.7035 0.2933 0.0036 0.0673 0.9291" in ours
    at = ours.index("z = 30.5000 60.2500 90.1250")
    assert ours[at - 4:at] == ["in x: -1'N' 4''", "in factor: 1''", "out z: -1'N' 3''", "out y: -1'N' 3''"]
    assert ours[at + 1] == "y = 10.0000 20.0000 30.0000"
    assert not [line for line in ours if line.endswith(("accepted", "kept"))]


def test_onnx_runtime_does_the_same(lines):
    assert lines(peer()) == lines(OURS)
