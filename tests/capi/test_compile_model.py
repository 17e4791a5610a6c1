"""The compile API: one compiled program on our library and on ONNX Runtime's own."""
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
OURS = BUILD / "lib/libsardonyx.so"


def peer():
    import onnxruntime
    (library,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    return library


def model():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Add", ["b", "v"], ["y"])]
    weights = [numpy_helper.from_array(np.arange(-5, 7, dtype=np.float32).reshape(4, 3), "w"),
               numpy_helper.from_array(np.float32([0.5, 0.25, 0.125]), "v")]
    graph = helper.make_graph(nodes, "base", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def compile_all(tmp_path):
    def run(library, name, *parts):
        folder = tmp_path / name
        folder.mkdir()
        onnx.save(model(), folder / "inline.onnx")
        onnx.save_model(model(), folder / "external.onnx", save_as_external_data=True, location="weights.bin",
                        size_threshold=0)
        done = subprocess.run([BUILD / "bin/capi_compile_model", library, folder, *parts], capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr, folder

    return run


def test_models_are_written_and_run(compile_all):
    lines, errors, folder = compile_all(OURS, "ours")
    assert lines.count("y = 10.500 20.250 30.125") == 9
    assert "Unable to compile any nodes" in errors  # what released clients look for
    assert "inline_ctx.onnx' exists already" in errors
    plain = onnx.load(folder / "inline_ctx.onnx")
    assert [node.op_type for node in plain.graph.node] == ["MatMul", "Relu", "Add"]
    assert plain.opset_import[0].version == 17
    split = onnx.load(folder / "split.onnx", load_external_data=False)
    (large,) = [weight for weight in split.graph.initializer if weight.external_data]
    assert large.name == "w"
    assert {entry.key: entry.value for entry in large.external_data} == {
        "location": "split.bin", "offset": "0", "length": "48"}
    onnx.checker.check_model(str(folder / "split.onnx"))
    assert sorted(path.name for path in folder.iterdir() if "saving" in path.name) == []


def test_onnx_runtime_does_the_same(compile_all):
    assert compile_all(peer(), "theirs")[0] == compile_all(OURS, "ours")[0]


def test_our_own_format_is_written_and_run(compile_all):
    lines, errors, folder = compile_all(OURS, "own", "own")
    assert lines == ["inline.sdx: accepted", "y = 10.500 20.250 30.125", "beside the model: accepted",
                     "y = 10.500 20.250 30.125", "a buffer: accepted", "y = 10.500 20.250 30.125",
                     "a function: accepted", "y = 10.500 20.250 30.125", "both have the same bytes",
                     "a function that fails: refused with 6", "weights elsewhere: refused with 2",
                     "split.sdx is not there"]
    assert "the disk is full" in errors and "expected no place of their own" in errors
    assert (folder / "inline.sdx").read_bytes().startswith(b"SDXMODEL")


@pytest.mark.parametrize("name", ["inline_ctx", "external_ctx", "optimized", "split", "located"])
def test_each_runs_what_the_other_compiles(compile_all, name):
    import onnxruntime
    import sardonyx
    for library, runtime in ((OURS, onnxruntime), (peer(), sardonyx)):
        _, _, folder = compile_all(library, runtime.__name__)
        session = runtime.InferenceSession(str(folder / f"{name}.onnx"), providers=["CPUExecutionProvider"])
        (y,) = session.run(None, {"x": np.float32([[1, 2, 3, 4]])})
        assert y.tolist() == [[10.5, 20.25, 30.125]]
