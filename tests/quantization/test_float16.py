"""sardonyx.float16 makes what onnxruntime.transformers.float16 makes of the same model and arguments, and what it makes
runs in both runtimes."""
import inspect

import numpy as np
import onnx
import onnxruntime
import onnxruntime.transformers.float16 as theirs
import pytest
import sardonyx
import sardonyx.float16 as ours
from onnx import TensorProto, helper, numpy_helper
from quantized_models import Weights, branches, cnn, contents, feed, mlp, model

N = helper.make_node


def mixed():
    """Blocked operators between others, Resize with scales, casts, constants and random numbers, a shared weight."""
    w = Weights(6)
    return model(
        [N("Conv", ["x", w("w", 4, 3, 3, 3)], ["c"], "conv", pads=[1] * 4),
         N("Resize", ["c", "", w.constant("scales", np.float32([1, 1, 2, 2]))], ["r"], "resize", mode="nearest"),
         N("Max", ["r", w("b", 1, 4, 1, 1)], ["m"], "max"), N("Add", ["m", "b"], ["a"], "add"),
         N("Constant", [], ["k"], "constant", value=numpy_helper.from_array(np.float32(0.25))),
         N("Mul", ["a", "k"], ["p"], "mul"), N("Shape", ["p"], ["s"], "shape"),
         N("ConstantOfShape", ["s"], ["zero"], "zero"), N("Add", ["p", "zero"], ["q"], "add0"),
         N("Cast", ["s"], ["sf"], "cast", to=TensorProto.FLOAT), N("ReduceMax", ["sf"], ["top"], "top", keepdims=0),
         N("Div", ["q", "top"], ["d"], "div"), N("Min", ["d", "b"], ["least"], "min"),
         N("ReduceMean", ["least"], ["y"], "mean", axes=[2, 3], keepdims=0), N("Identity", ["sf"], ["z"], "identity")],
        {"x": [2, 3, 8, 8]}, ["y", "z"], w.made)


def converted(library, proto, **arguments):
    return library.convert_float_to_float16(onnx.ModelProto.FromString(proto.SerializeToString()), **arguments)


ARGUMENTS = [
    {}, {"keep_io_types": True}, {"keep_io_types": ["x"]}, {"op_block_list": []},
    {"op_block_list": ["Add", "Conv", "MatMul"]},
    {"node_block_list": ["conv", "product", "div"], "keep_io_types": True},
    {"force_fp16_initializers": True, "op_block_list": ["Conv", "Gemm", "Max"]},
    {"min_positive_val": 1e-5, "max_finite_val": 0.5}]


@pytest.mark.parametrize("name", ["mlp", "cnn", "mixed"])
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_the_same_models(tmp_path, name, arguments):
    proto = {"mlp": mlp, "cnn": cnn, "mixed": mixed}[name]()
    mine, other = (converted(library, proto, **arguments) for library in (ours, theirs))
    onnx.save(mine, tmp_path / "mine.onnx")
    onnx.save(other, tmp_path / "other.onnx")
    (counts, arrays), (other_counts, others) = contents(tmp_path / "mine.onnx"), contents(tmp_path / "other.onnx")
    assert set(arrays) == set(others)
    for key, array in others.items():
        assert arrays[key].dtype == array.dtype, key
        np.testing.assert_array_equal(arrays[key], array, err_msg=key)
    for key in set(other_counts) - {("", "Cast")}:
        assert counts[key] == other_counts[key]
    # ONNX Runtime's tool adds the same cast again for each reader.
    assert counts["", "Cast"] <= other_counts["", "Cast"]
    ends = [[*made.graph.input, *made.graph.output] for made in (mine, other)]
    for one, two in zip(*ends, strict=True):
        assert (one.name, one.type.tensor_type.elem_type) == (two.name, two.type.tensor_type.elem_type)


@pytest.mark.parametrize("arguments", [*ARGUMENTS[:6], {"use_bfloat16_as_blocked_nodes_dtype": True}], ids=str)
@pytest.mark.parametrize("make", [mlp, mixed, branches])
def test_results(make, arguments):
    proto = make()
    mine = converted(ours, proto, **arguments)
    onnx.checker.check_model(mine)
    values = feed(proto, 3)
    kinds = {one.name: helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type) for one in mine.graph.input}
    halves = {name: value.astype(kinds[name]) for name, value in values.items()}
    exact = sardonyx.InferenceSession(proto.SerializeToString()).run(None, values)
    runtimes = [sardonyx] if arguments.get("use_bfloat16_as_blocked_nodes_dtype") else [sardonyx, onnxruntime]
    for library in runtimes:
        made = library.InferenceSession(mine.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, halves)
        for one, other in zip(made, exact, strict=True):
            np.testing.assert_allclose(one.astype(np.float64), other, rtol=0.03,
                                       atol=0.03 * np.abs(other.astype(np.float64)).max())


def test_inputs_that_stay_floats():
    """Resize's scales, and GroupNorm's scale and bias unless the caller forces them."""
    w = Weights(1)
    proto = model([N("GroupNorm", ["x", w("gamma", 8), w("beta", 8)], ["y"], "norm", domain="com.microsoft", groups=2,
                     channels_last=1, activation=0)], {"x": [1, 4, 4, 8]}, ["y"], w.made)
    for arguments, kind in (({}, np.float32), ({"force_fp16_inputs": {"GroupNorm": [1, 2]}}, np.float16)):
        for library in (ours, theirs):
            made = converted(library, proto, **arguments)
            assert {numpy_helper.to_array(one).dtype for one in made.graph.initializer} == {np.dtype(kind)}


def test_bodies(tmp_path):
    """Casts for a node in a body stand there; ONNX Runtime's tool puts them into the main graph."""
    made = converted(ours, branches(), op_block_list=["MatMul"])
    onnx.checker.check_model(made, full_check=True)
    assert all(node.op_type != "Cast" or "p" in node.input[0] or "y" in node.output[0] for node in made.graph.node)
    body = made.graph.node[0].attribute[0].g
    assert [node.op_type for node in body.node] == ["Cast", "MatMul", "Cast"]


def test_paths_and_functions(tmp_path):
    onnx.save(mlp(), tmp_path / "m.onnx")
    made = ours.convert_float_to_float16(str(tmp_path / "m.onnx"))
    assert made.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT16
    double = helper.make_function("own", "Double", ["a"], ["b"], [N("Add", ["a", "a"], ["b"])],
                                  [helper.make_opsetid("", 17)])
    proto = helper.make_model(helper.make_graph(
        [N("Double", ["x"], ["y"], domain="own")], "g", [helper.make_tensor_value_info("x", 1, [2])],
        [helper.make_tensor_value_info("y", 1, [2])]), functions=[double], ir_version=8,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])
    made = ours.convert_float_to_float16(proto)
    result = sardonyx.InferenceSession(made.SerializeToString()).run(None, {"x": np.float16([1, 2])})[0]
    assert result.tolist() == [2, 4]


def test_numbers():
    values = np.float32([0, -0.0, 1e-9, -1e-9, 1e6, -1e6, np.inf, -np.inf, np.nan, 0.1, 65504, 65519, 5.96e-8])
    for ends in ((), (1e-4, 10)):
        mine, other = (library.convert_np_to_float16(values, *ends) for library in (ours, theirs))
        np.testing.assert_array_equal(mine.view(np.uint16), other.view(np.uint16))
    tensor = numpy_helper.from_array(np.float32([0.1, 1000.123]), "t")
    assert ours.float_to_float16_max_diff(tensor) == theirs.float_to_float16_max_diff(tensor)


@pytest.mark.parametrize(("arguments", "message"), [({"min_positive_val": 1e-9}, "1e-09"),
                                                    ({"max_finite_val": 1e6}, "1000000")])
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ours.convert_float_to_float16(mlp(), **arguments)
    with pytest.raises(ValueError, match="ModelProto"):
        ours.convert_float_to_float16(3)


def test_signatures():
    for name, other in vars(theirs).items():
        is_own = getattr(other, "__module__", None) == theirs.__name__ and name[0] != "_"
        if is_own and (inspect.isfunction(other) or inspect.isclass(other)):
            parameters = [[(one.name, one.default) for one in inspect.signature(one).parameters.values()]
                          for one in (getattr(ours, name), other)]
            assert parameters[0] == parameters[1], name
    assert (ours.DEFAULT_OP_BLOCK_LIST, ours.ALWAYS_FLOAT_INPUTS) == (theirs.DEFAULT_OP_BLOCK_LIST,
                                                                      theirs.ALWAYS_FLOAT_INPUTS)


@pytest.mark.parametrize("make", [mlp, mixed, branches])
def test_types_of_models_whose_weights_do_not_fit_into_a_proto(monkeypatch, make):
    """large_model.py converts one of 2.3 GB; here every weight counts as large."""
    wanted = ours.convert_float_to_float16(make())
    monkeypatch.setattr(ours, "_LARGE_WEIGHT", 100)
    monkeypatch.setattr(ours, "_LARGE_MODEL", 1)
    found = ours.convert_float_to_float16(make())
    assert found.graph.node == wanted.graph.node and found.graph.output == wanted.graph.output
    assert sorted(one.SerializeToString() for one in found.graph.initializer) == sorted(
        one.SerializeToString() for one in wanted.graph.initializer)


def test_a_model_that_was_converted_before():
    """ONNX Runtime's tool takes the names of the first casts again, so that its model does not load."""
    proto = mixed()
    once = ours.convert_float_to_float16(proto, keep_io_types=True)
    twice = ours.convert_float_to_float16(onnx.ModelProto.FromString(once.SerializeToString()), keep_io_types=True)
    names = [node.name for node in twice.graph.node]
    assert len(names) == len(set(names)) > len(once.graph.node)
    values = feed(proto)
    for library in (sardonyx, onnxruntime):
        wanted, found = (library.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(
            None, values) for made in (once, twice))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-2)
