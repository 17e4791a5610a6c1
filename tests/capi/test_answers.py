"""Programs that are compiled once print the same lines with our library and with ONNX Runtime's released one."""
import os
import pathlib
import subprocess

import numpy as np
import onnx.parser
import onnxruntime
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
OURS = BUILD / "lib/libsardonyx.so"
PROGRAMS = sorted(path.stem for path in (ROOT / "tests/capi/answers").glob("*.cpp"))
MODELS = {
    "chain": """g (float[N, 1024] x) => (float[N, 1024] y) {
        a = Relu(x) b = Transpose<perm = [1, 0]>(a) c = Softmax<axis = 0>(b) d = Transpose<perm = [1, 0]>(c)
        y = Add(d, x) }""",
    "adapted": """g (float[2,3] x, float[2,3] a, float[2,3] b) => (float[2,3] y)
        <float[2,3] a = {0, 0, 0, 0, 0, 0}, float[2,3] b = {0, 0, 0, 0, 0, 0}> { s = Add(x, a) y = Add(s, b) }""",
    "required": "g (float[2,3] x, float[2,3] a) => (float[2,3] y) { y = Add(x, a) }",
}
ADAPTERS = {"first": ("a", [10, 20, 30, 40, 50, 60]), "second": ("b", [100, 200, 300, 400, 500, 600]),
            "other_a": ("a", [1] * 6), "unknown": ("nothing", [1] * 6), "wrong_shape": ("a", [1, 1])}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    for name, text in MODELS.items():
        model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {text}')
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    for file, (name, values) in ADAPTERS.items():
        adapter = onnxruntime.AdapterFormat()
        adapter.set_adapter_version(3)
        adapter.set_model_version(7)
        value = np.array(values, np.float32).reshape(2, -1)
        adapter.set_parameters({name: onnxruntime.OrtValue.ortvalue_from_numpy(value)})
        adapter.export_adapter(str(folder / f"{file}.onnx_adapter"))
    return folder


def peer():
    (library,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    return library


def answers(program, library, models):
    done = subprocess.run([BUILD / f"bin/answers_{program}", library, models], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, (library, done.returncode, done.stdout[-500:], done.stderr[-500:])
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_libraries_answer_the_same(program, models):
    ours, theirs = (answers(program, library, models) for library in (OURS, peer()))
    assert len(theirs) > 30, "expected a program that asks something"
    assert ours == theirs
