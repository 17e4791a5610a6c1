"""quant_pre_process and SymbolicShapeInference do what ONNX Runtime's do, and what they write can be quantized."""
import inspect
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime.quantization as peer
import pytest
import sardonyx
import sardonyx.quantization as ours
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference as PeerInference
from quantized_models import Reader, Weights, cnn, contents, feed, mlp, model, transformer
from sardonyx.model import Model
from sardonyx.symbolic_shape_infer import SymbolicShapeInference

N = helper.make_node


def conv_and_norm():
    """What preparation fuses and folds: BatchNormalization behind Conv, a constant product, a node without effect."""
    w = Weights(1)
    return model(
        [N("Conv", ["x", w("w", 8, 3, 3, 3)], ["c"], "conv", pads=[1] * 4),
         N("BatchNormalization", ["c", w("g", 8), w("b", 8), w("m", 8), w.constant("v", np.ones(8, np.float32))], ["n"],
           "norm"), N("Identity", ["n"], ["i"], "identity"), N("Relu", ["i"], ["r"], "relu"),
         N("Mul", [w("k", 1), w("l", 1)], ["kl"], "constant"), N("Mul", ["r", "kl"], ["y"], "mul")],
        {"x": ["batch", 3, "height", 16]}, ["y"], w.made)


@pytest.mark.parametrize("arguments", [
    {}, {"skip_optimization": True}, {"skip_symbolic_shape": True}, {"skip_onnx_shape": True},
    {"skip_symbolic_shape": True, "skip_onnx_shape": True, "skip_optimization": True},
    {"save_as_external_data": True, "external_data_location": "weights.bin", "external_data_size_threshold": 64}],
    ids=str)
def test_what_is_written(tmp_path, arguments):
    onnx.save(conv_and_norm(), tmp_path / "f.onnx")
    for name, library in (("ours", ours), ("peer", peer)):
        (tmp_path / name).mkdir()
        library.quant_pre_process(str(tmp_path / "f.onnx"), tmp_path / name / "p.onnx", **arguments)
    mine, other = (onnx.load(tmp_path / name / "p.onnx") for name in ("ours", "peer"))
    assert [node.op_type for node in mine.graph.node] == [node.op_type for node in other.graph.node]
    assert {entry.key: entry.value for entry in mine.metadata_props}["onnx.quant.pre_process"] == "onnxruntime.quant"
    if not arguments.get("skip_symbolic_shape"):
        inner = {name for node in mine.graph.node for name in node.output} - {one.name for one in mine.graph.output}
        assert inner == {value.name for value in mine.graph.value_info}
    assert (tmp_path / "ours/weights.bin").exists() == ("external_data_location" in arguments)
    values = {"x": np.random.default_rng(1).standard_normal((2, 3, 16, 16)).astype(np.float32)}
    results = [sardonyx.InferenceSession(str(path)).run(None, values)[0]
               for path in (tmp_path / "f.onnx", tmp_path / "ours/p.onnx")]
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)
    ours.quantize_dynamic(tmp_path / "ours/p.onnx", tmp_path / "q.onnx")
    assert contents(str(tmp_path / "q.onnx"))[0]["", "ConvInteger"] == 1


def test_old_models_with_upsample(tmp_path):
    made = helper.make_model(helper.make_graph(
        [N("Upsample", ["x", "scales"], ["y"], "up", mode="nearest")], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 8, 8])],
        [onnx.numpy_helper.from_array(np.float32([1, 1, 2, 2]), "scales")]),
        opset_imports=[helper.make_opsetid("", 9)], ir_version=6)
    ours.quant_pre_process(made, tmp_path / "p.onnx")
    written = onnx.load(tmp_path / "p.onnx")
    assert [node.op_type for node in written.graph.node] == ["Resize"] and written.opset_import[0].version >= 11
    x = feed(made)
    np.testing.assert_array_equal(sardonyx.InferenceSession(str(tmp_path / "p.onnx")).run(None, x)[0],
                                  sardonyx.InferenceSession(made.SerializeToString()).run(None, x)[0])


def with_nodes_for_constants(proto):
    """The same model with a Constant node for each initializer, as exporters without folding write it."""
    made = onnx.ModelProto.FromString(proto.SerializeToString())
    nodes = [N("Constant", [], [one.name], f"constant_{one.name}", value=one) for one in made.graph.initializer]
    nodes += made.graph.node
    for field in ("node", "initializer", "value_info"):
        made.graph.ClearField(field)
    made.graph.node.extend(nodes)
    return made


def shapes():
    """Shapes that follow from axes, sizes and scales, in a body, too."""
    w = Weights(9)
    body = helper.make_graph([N("Squeeze", ["r", "axes"], ["t"], "squeeze")], "yes", [],
                             [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])
    other = helper.make_graph([N("Identity", ["s"], ["e"], "same")], "no", [],
                              [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)])
    for branch in (body, other):
        branch.output[0].type.tensor_type.ClearField("shape")
    return model([
        N("Unsqueeze", ["x", w.constant("axes", np.int64([1]))], ["u"], "unsqueeze"),
        N("Resize", ["u", "", w.constant("scales", np.float32([1, 1, 2, 2]))], ["r"], "resize", mode="nearest"),
        N("Squeeze", ["r", "axes"], ["s"], "squeeze0"),
        N("If", ["c"], ["y"], "choose", then_branch=body, else_branch=other),
        N("Slice", ["s", w.constant("from", np.int64([1])), w.constant("to", np.int64([5])), "axes"], ["z"], "slice")],
        {"c": [], "x": [3, 4, 6]}, ["y", "z"], w.made, c=TensorProto.BOOL)


def test_shapes_follow_from_constants_that_are_nodes():
    found = {}
    for name, library in (("ours", SymbolicShapeInference), ("peer", PeerInference)):
        made = library.infer_shapes(with_nodes_for_constants(shapes()), auto_merge=True)
        found[name] = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim]
                       for one in (*made.graph.value_info, *made.graph.output) if one.name in "ursyz"}
    assert found["ours"] == {"u": [3, 1, 4, 6], "r": [3, 1, 8, 12], "s": [3, 8, 12], "y": [3, 8, 12], "z": [3, 4, 12]}
    assert found["ours"] == found["peer"]


def test_symbols_that_exporters_make_up_for_outputs():
    w, found = Weights(16), {}
    proto = model([N("Gemm", ["x", w("w", 6, 5)], ["g"], "gemm"), N("Sigmoid", ["g"], ["y"], "sigmoid")],
                  {"x": ["batch", 6]}, ["y"], w.made)
    proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "Sigmoidy_dim_0"
    for name, library in (("ours", SymbolicShapeInference), ("peer", PeerInference)):
        made = library.infer_shapes(proto, auto_merge=True)
        found[name] = [dim.dim_param or dim.dim_value for dim in made.graph.output[0].type.tensor_type.shape.dim]
    assert found["ours"] == found["peer"] == ["batch", 5]


def test_pads_that_are_turned_around():
    """As torch.onnx writes them without folding: a matrix of constants, reversed and transposed."""
    w = Weights(15)
    proto = model([
        N("ConstantOfShape", [w.constant("four", np.int64([4]))], ["zeros"], "zeros",
          value=numpy_helper.from_array(np.int64([0]))),
        N("Concat", [w.constant("given", np.int64([1, 2, 3, 4])), "zeros"], ["all"], "all", axis=0),
        N("Reshape", ["all", w.constant("pairs", np.int64([-1, 2]))], ["rows"], "rows"),
        N("Slice", ["rows", w.constant("from", np.int64([-1])), w.constant("to", np.int64([-(2**63) + 1])),
                    w.constant("axis", np.int64([0])), w.constant("step", np.int64([-1]))], ["back"], "back"),
        N("Transpose", ["back"], ["columns"], "columns", perm=[1, 0]),
        N("Reshape", ["columns", w.constant("flat", np.int64([-1]))], ["pads"], "pads"),
        N("Pad", ["x", "pads"], ["p"], "pad"), N("MaxPool", ["p"], ["m"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        N("Relu", ["m"], ["y"], "relu")], {"x": ["n", 3, 9, 9]}, ["y"], w.made)
    made = SymbolicShapeInference.infer_shapes(with_nodes_for_constants(proto))
    found = {one.name: [dim.dim_value or dim.dim_param for dim in one.type.tensor_type.shape.dim]
             for one in (*made.graph.value_info, *made.graph.output)}
    assert found["p"] == ["n", 3, 16, 12] and found["m"] == found["y"] == ["n", 3, 8, 6]
    assert len(made.graph.node) == 9 + len(w.made)


@pytest.mark.parametrize("make", [mlp, cnn, transformer, conv_and_norm])
def test_the_same_shapes(make):
    proto = make()
    proto.graph.ClearField("value_info")
    mine, other = (library.infer_shapes(onnx.ModelProto.FromString(proto.SerializeToString()), auto_merge=True)
                   for library in (SymbolicShapeInference, PeerInference))

    def types(made):
        return {value.name: value.type.tensor_type for value in (*made.graph.value_info, *made.graph.output)}
    found, wanted = types(mine), types(other)
    assert set(wanted) <= set(found) and len(wanted) > 3
    for name, kind in wanted.items():
        assert kind.elem_type == found[name].elem_type and len(kind.shape.dim) == len(found[name].shape.dim), name
        for one, two in zip(found[name].shape.dim, kind.shape.dim, strict=True):
            assert not two.dim_value or one.dim_value == two.dim_value, name


def unknown():
    return helper.make_model(helper.make_graph(
        [N("MatMul", ["x", "w"], ["a"], "product"), N("Custom", ["a"], ["b"], "own", domain="own"),
         N("Relu", ["b"], ["y"], "relu")], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
        [helper.make_empty_tensor_value_info("y")], [onnx.numpy_helper.from_array(np.ones((64, 32), np.float32), "w")]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("own", 1)], ir_version=8)


def test_operators_that_are_not_known(tmp_path):
    with pytest.raises(RuntimeError, match="'own'"):
        SymbolicShapeInference.infer_shapes(unknown())
    made = SymbolicShapeInference.infer_shapes(unknown(), guess_output_rank=True)
    assert {value.name: len(value.type.tensor_type.shape.dim) for value in made.graph.value_info} == {"a": 2, "b": 2}
    ours.quant_pre_process(unknown(), tmp_path / "p.onnx", skip_symbolic_shape=True, skip_optimization=True)
    ours.quantize_dynamic(tmp_path / "p.onnx", tmp_path / "q.onnx")
    counts = contents(str(tmp_path / "q.onnx"))[0]
    assert counts["", "MatMulInteger"] == 1 and counts["own", "Custom"] == 1
    assert Model(unknown()).graph.nodes[1].op_type == "Custom"


def test_the_command(tmp_path):
    onnx.save(conv_and_norm(), tmp_path / "f.onnx")
    command = [sys.executable, "-m", "sardonyx.symbolic_shape_infer", "--input", str(tmp_path / "f.onnx"), "--output",
               str(tmp_path / "s.onnx"), "--save_as_external_data", "--external_data_size_threshold", "64"]
    subprocess.run(command, check=True)
    assert len(onnx.load(tmp_path / "s.onnx").graph.value_info) >= 5 and (tmp_path / "s.onnx.data").exists()
    onnx.save(unknown(), tmp_path / "f.onnx")
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode == 1 and "own" in failed.stderr and "Traceback" not in failed.stderr


def test_signatures_and_wrong_arguments(tmp_path):
    for mine, other in ((ours.quant_pre_process, peer.quant_pre_process),
                        (SymbolicShapeInference.infer_shapes, PeerInference.infer_shapes),
                        (SymbolicShapeInference.__init__, PeerInference.__init__)):
        assert [(one.name, one.default) for one in inspect.signature(mine).parameters.values()] == [
            (one.name, one.default) for one in inspect.signature(other).parameters.values()]
    with pytest.raises(ValueError, match="output_model_path"):
        ours.quant_pre_process(mlp())
    with pytest.raises(TypeError, match="'skip'"):
        ours.quant_pre_process(mlp(), tmp_path / "p.onnx", skip=True)


def test_static_quantization_behind_it(tmp_path):
    onnx.save(conv_and_norm(), tmp_path / "f.onnx")
    ours.quant_pre_process(str(tmp_path / "f.onnx"), tmp_path / "p.onnx")

    class Images(Reader):
        def __init__(self):
            super().__init__(mlp(), 3)
            self.feeds = [{"x": np.random.default_rng(seed).standard_normal((2, 3, 16, 16)).astype(np.float32)}
                          for seed in range(3)]
    made = {}
    for name, library in (("ours", ours), ("peer", peer)):
        made[name] = contents_of(library, tmp_path / "p.onnx", tmp_path / f"{name}.onnx", Images())
    assert made["ours"] == made["peer"]


def contents_of(library, source, path, reader):
    library.quantize_static(str(source), str(path), reader)
    return contents(str(path))[0]
