"""convert_float_to_bfloat16: models are valid, give nearly what floats give, and stay on floats where operators or
kernels have no bfloat16."""
import ml_dtypes
import numpy as np
import onnx
import pytest
import sardonyx
import sardonyx.float16 as ours
from onnx import TensorProto, helper, numpy_helper
from quantized_models import Weights, branches, cnn, feed, mlp, model, recurrent, transformer
from sardonyx.bfloat16_operators import Bfloat16Operators

N = helper.make_node


def copied(proto):
    return onnx.ModelProto.FromString(proto.SerializeToString())


def of_opset(proto, version):
    return onnx.version_converter.convert_version(proto, version)


def agree(proto, made, exact=0.02):
    onnx.checker.check_model(made, full_check=all(not node.domain for node in made.graph.node))
    values = feed(proto, 3)
    kinds = {one.name: helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type) for one in made.graph.input}
    floats = sardonyx.InferenceSession(proto.SerializeToString()).run(None, values)
    results = sardonyx.InferenceSession(made.SerializeToString()).run(
        None, {name: value.astype(kinds[name]) for name, value in values.items()})
    for one, other in zip(results, floats, strict=True):
        if other.dtype.kind != "f":  # the place of the largest of nearly equal numbers
            continue
        spread = np.abs(other.astype(np.float64)).max()
        assert np.abs(one.astype(np.float64) - other).max() <= exact * max(spread, 1)
    return results


@pytest.mark.parametrize("arguments", [
    {}, {"keep_io_types": True}, {"keep_io_types": ["x"]}, {"op_block_list": []}, {"op_block_list": ["Add", "MatMul"]},
    {"node_block_list": ["product", "conv0", "gemm"], "keep_io_types": True}, {"force_bf16_initializers": True},
    {"max_finite_val": 0.5, "min_positive_val": 1e-3}], ids=str)
@pytest.mark.parametrize("make", [mlp, lambda: of_opset(mlp(), 22), cnn, lambda: of_opset(cnn(), 22), recurrent,
                                  transformer, branches, lambda: mlp(10)],
                         ids="mlp mlp22 cnn cnn22 recurrent transformer branches mlp10".split())
def test_models(make, arguments):
    proto = make()
    made = ours.convert_float_to_bfloat16(copied(proto), **arguments)
    kinds = {numpy_helper.to_array(one).dtype for one in made.graph.initializer}
    agree(proto, made, 0.4 if "max_finite_val" in arguments else 0.06)
    ends = {one.name: one.type.tensor_type.elem_type for one in (*made.graph.input, *made.graph.output)}
    if arguments.get("keep_io_types") is True:
        assert TensorProto.BFLOAT16 not in ends.values()
    elif "keep_io_types" in arguments:
        assert ends.get("x") in (TensorProto.FLOAT, None)  # the transformer has no such input
    else:
        assert TensorProto.FLOAT not in ends.values()
    if arguments.get("force_bf16_initializers"):
        assert np.dtype(np.float32) not in kinds


def test_operators_by_opset_and_kernel():
    conv, own = N("Conv", ["x", "w"], ["y"]), N("Own", ["x"], ["y"], domain="own")
    resize = N("Resize", ["x", "", "s"], ["y"])
    add = N("Add", ["a", "b"], ["c"])
    for opset, node, floats in ((21, conv, None), (13, add, ()), (12, add, None), (19, resize, (2,)), (21, own, None),
                                (15, N("If", ["c"], ["y"]), ())):
        assert Bfloat16Operators({"": opset}).float_inputs(node) == floats, (opset, node.op_type)


def test_scales_of_resize_and_numbers_inside(tmp_path):
    """Resize keeps its scales, Range its steps; constants, casts and shapes become bfloat16."""
    w = Weights(6)
    proto = model(
        [N("Resize", ["x", "", w.constant("scales", np.float32([1, 1, 2, 2]))], ["r"], "resize", mode="nearest"),
         N("Constant", [], ["k"], "constant", value_float=0.3), N("Mul", ["r", "k"], ["p"], "mul"),
         N("Shape", ["p"], ["s"], "shape"), N("ConstantOfShape", ["s"], ["zero"], "zero"),
         N("Add", ["p", "zero"], ["q"], "add"), N("Cast", ["s"], ["sf"], "cast", to=TensorProto.FLOAT),
         N("ReduceMax", ["sf"], ["top"], "top", keepdims=0), N("Div", ["q", "top"], ["y"], "div")],
        {"x": [1, 2, 4, 4]}, ["y"], w.made, 19)
    onnx.save(proto, tmp_path / "m.onnx")
    made = ours.convert_float_to_bfloat16(tmp_path / "m.onnx")
    agree(proto, made)
    assert numpy_helper.to_array(made.graph.initializer[0]).dtype == np.float32
    assert {node.op_type for node in made.graph.node} == {node.op_type for node in proto.graph.node}
    assert next(node for node in made.graph.node if node.name == "cast").attribute[0].i == TensorProto.BFLOAT16


def test_numbers():
    values = np.float32([0, -0.0, 1e-45, -1e-42, 3.4e38, -np.inf, np.nan, 1.00390625])
    made = ours.convert_np_to_bfloat16(values)
    assert made.dtype == ml_dtypes.bfloat16
    assert made.astype(np.float32)[[0, 1, 5]].tolist() == [0, 0, -np.inf] and np.isnan(made[6])
    assert 0 < float(made[2]) < 1e-40 and -1e-41 > float(made[3]) > -1e-40 * 20
    assert np.isfinite(float(made[4])) and float(made[4]) > 3.3e38  # the next number would be infinite
    assert ours.convert_np_to_bfloat16(np.float32([5, 1e-9]), 1e-3, 2).astype(float).tolist() == [
        2, float(ml_dtypes.bfloat16(1e-3))]
    with pytest.raises(ValueError, match="which bfloat16 has"):
        ours.convert_float_to_bfloat16(mlp(), max_finite_val=1e39)
    with pytest.raises(ValueError, match="found 'int'"):
        ours.convert_float_to_bfloat16(3)


def test_weights_that_are_inputs_and_a_layer_whose_sums_are_clipped():
    """Some of the weights stay floats, and Gemm with Relu, which sessions make one node of, has no bfloat16 there."""
    w = Weights(6)
    proto = model([N("MatMul", ["x", w("w0", 10, 16)], ["a"], "product"), N("Add", ["a", w("b0", 16)], ["b"], "add"),
                   N("Relu", ["b"], ["c"], "relu"),
                   N("Unsqueeze", ["c", w.constant("axes", np.int64([1]))], ["u"], "up"),
                   N("Conv", ["u", w("k", 4, 1, 5), w("kb", 4)], ["y"], "conv", pads=[2, 2])],
                  {"x": ["n", 10]}, ["y"], w.made)
    floats = copied(proto)
    proto.graph.input.extend(helper.make_tensor_value_info(one.name, TensorProto.FLOAT, list(one.dims))
                             for one in w.made if one.name != "axes")
    for arguments in ({}, {"keep_io_types": True}, {"op_block_list": ["Conv"]}):
        made = ours.convert_float_to_bfloat16(copied(proto), **arguments)
        assert [one.name for one in made.graph.input] == ["x"]
        agree(floats, made, 0.06)
        agree(floats, ours.convert_float_to_float16(copied(proto), **arguments), 0.01)
