"""Errors that ONNX Runtime reports only when a run reaches the node: the stage and the class, compared with its own."""
import numpy as np
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper, load, numpy_helper

ELEMENTS = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8}


def numbers(*shape):
    return (np.arange(np.prod(shape, dtype=int)) % 7).reshape(shape).astype(np.float32)


class Constant:
    def __init__(self, *values, dtype=np.int64, array=None):
        self.array = np.array(values, dtype) if array is None else array


TABLE, IMAGE, SEQUENCE = numbers(3, 2), numbers(1, 2, 5, 5), numbers(3, 1, 2)
WEIGHTS = numbers(3, 2, 3, 3)
ZERO_TO = [Constant(array=np.array(value)) for value in (0, 5, 0)]
# The operator, its attributes and inputs, and its version.
LATE = [
    ("Reshape", {}, [TABLE, Constant(4, 4)], 17), ("Reshape", {"allowzero": 1}, [TABLE, Constant(0, 6)], 17),
    ("Reshape", {}, [Constant(array=TABLE), Constant(4, 4)], 17), ("Reshape", {"shape": [4, 4]}, [TABLE], 1),
    ("Squeeze", {"axes": [7]}, [TABLE], 11), ("Transpose", {"perm": [0]}, [TABLE], 17),
    ("Split", {"axis": 0}, [TABLE, Constant(-1, 4)], 17), ("GatherElements", {}, [TABLE, Constant(0)], 17),
    ("GatherElements", {}, [TABLE, Constant([9, 9])], 17),
    ("GatherElements", {"axis": 7}, [TABLE, Constant([0, 0])], 17),
    ("ScatterElements", {"axis": 7}, [TABLE, Constant([0, 0]), numbers(1, 2)], 17),
    ("Slice", {"starts": [0], "ends": [1], "axes": [5]}, [TABLE], 9),
    ("Slice", {}, [TABLE, Constant([0]), Constant([1])], 17),
    ("Tile", {}, [TABLE, Constant(-1, 2)], 17), ("Pad", {}, [TABLE, Constant(-5, 0, 0, 0)], 17),
    ("Pad", {"mode": "reflect"}, [TABLE, Constant(3, 0, 0, 0)], 17),
    ("Resize", {}, [IMAGE, None, None, Constant(1, 2, -1, 5)], 17),
    ("PRelu", {}, [TABLE, Constant(array=numbers(4))], 17), ("Clip", {}, [TABLE, Constant(array=numbers(2))], 17),
    ("Conv", {}, [IMAGE, numbers(3, 3, 3, 3)], 17), ("Conv", {}, [IMAGE, Constant(array=numbers(3, 3, 3, 3))], 17),
    ("Conv", {"kernel_shape": [2, 2]}, [IMAGE, WEIGHTS], 17), ("Conv", {"group": 0}, [IMAGE, WEIGHTS], 17),
    ("Conv", {}, [IMAGE, Constant(array=numbers(3, 2, 9, 9))], 17),
    ("ConvTranspose", {}, [IMAGE, numbers(3, 3, 3, 3)], 17),
    ("ConvTranspose", {"kernel_shape": [2, 2]}, [IMAGE, numbers(2, 3, 3, 3)], 17),
    ("MaxPool", {"kernel_shape": [9, 9]}, [IMAGE], 17), ("AveragePool", {"kernel_shape": [9, 9]}, [IMAGE], 17),
    ("LpPool", {"kernel_shape": [9, 9]}, [IMAGE], 17), ("GlobalAveragePool", {}, [numbers(3)], 17),
    ("ArgMax", {"axis": 0}, [numbers(0, 2)], 17), ("TopK", {}, [TABLE, Constant(-1)], 17),
    ("TopK", {"k": 9}, [TABLE], 1),
    ("OneHot", {}, [np.arange(2), Constant(-3), numbers(2)], 17), ("Range", {}, ZERO_TO, 17),
    ("DepthToSpace", {"blocksize": 2}, [numbers(1, 3, 2, 2)], 17),
    ("SpaceToDepth", {"blocksize": 2}, [numbers(1, 3, 3, 3)], 17),
    ("CumSum", {}, [TABLE, Constant(array=np.array(9))], 17), ("Einsum", {"equation": "ij,jk->ik"}, [TABLE, TABLE], 17),
    ("Einsum", {"equation": "ij->iq"}, [TABLE], 17), ("ReverseSequence", {}, [TABLE, Constant(9, 9)], 17),
    ("LSTM", {"hidden_size": 2}, [SEQUENCE, numbers(1, 8, 3), numbers(1, 8, 2)], 17),
    ("LSTM", {"hidden_size": 2}, [SEQUENCE, numbers(2, 8, 2), numbers(1, 8, 2)], 17),
    ("GRU", {"hidden_size": 2}, [SEQUENCE, numbers(1, 6, 3), numbers(1, 6, 2)], 17),
    ("RNN", {"hidden_size": 2}, [SEQUENCE, numbers(1, 2, 3), numbers(1, 2, 2)], 17),
    ("LSTM", {"hidden_size": 2}, [SEQUENCE, numbers(1, 8, 2), numbers(1, 8, 2), None, None, numbers(1, 2, 2)], 17),
    ("GRU", {"hidden_size": 2}, [SEQUENCE, numbers(1, 6, 2), numbers(1, 6, 2), None, None, numbers(1, 2, 2)], 17),
    ("RNN", {"hidden_size": 2}, [SEQUENCE, numbers(1, 2, 2), numbers(1, 2, 2), None, None, numbers(1, 2, 2)], 17),
    ("RNN", {"hidden_size": 0}, [SEQUENCE, numbers(1, 2, 2), numbers(1, 2, 2)], 17),
    ("Einsum", {"equation": "ij->ii"}, [numbers(3, 3)], 17),
    ("Slice", {"starts": [0, 1], "ends": [2, 3], "axes": [0, -2]}, [TABLE], 9),
    ("BiasGelu", {}, [TABLE, numbers(3)], 17), ("FastGelu", {}, [TABLE, numbers(3)], 17),
    ("MultiHeadAttention", {"num_heads": 3}, [numbers(1, 2, 4)] * 3, 17),
]
# What they find wrong about the same operators when the model is loaded.
EARLY = [
    ("Reshape", {}, [TABLE, Constant(-1, -1)], 17), ("Reshape", {}, [TABLE, Constant(-1, 4)], 17),
    ("Squeeze", {}, [TABLE, Constant(5)], 17), ("Transpose", {"perm": [0, 0]}, [TABLE], 17),
    ("Transpose", {"perm": [0, 1, 2]}, [TABLE], 17), ("Pad", {}, [TABLE, Constant(1, 1)], 17),
    ("Conv", {}, [IMAGE, numbers(3, 2, 0, 3)], 17), ("Conv", {}, [IMAGE, Constant(array=numbers(3, 2, 3, 0))], 17),
    ("Conv", {"strides": [0, 1]}, [IMAGE, WEIGHTS], 17), ("Conv", {"pads": [1]}, [IMAGE, WEIGHTS], 17),
    ("MaxPool", {"kernel_shape": [3]}, [IMAGE], 17), ("TopK", {}, [TABLE, Constant(9)], 17),
    ("Split", {"axis": 0}, [TABLE, Constant(1, 1)], 17), ("Split", {"axis": 0}, [TABLE, Constant(4, 1)], 17),
    ("Split", {"axis": 0}, [TABLE], 17), ("Split", {"axis": 0, "split": [1, 1]}, [TABLE], 11),
    ("DepthToSpace", {"blocksize": 0}, [numbers(1, 4, 2, 2)], 17), ("Tile", {}, [TABLE, Constant(1)], 17),
    ("Slice", {}, [TABLE, Constant(0, 1), Constant(2, 3), Constant(0, -2)], 17),
    ("Pad", {}, [TABLE, Constant(1, 1, 1, 1), None, Constant(0, -2)], 18),
    ("CenterCropPad", {"axes": [0, -2]}, [TABLE, Constant(2, 2)], 18),
    ("AveragePool", {"kernel_shape": [2, 2], "pads": [2, 0, 0, 0]}, [IMAGE], 17),
    ("AveragePool", {"kernel_shape": [2, 2], "pads": [0, 0, 0, 3]}, [IMAGE], 19),
    ("Div", {}, [np.arange(4), Constant(0)], 17), ("Div", {}, [np.arange(4), Constant(1, 2, 0, 1)], 17),
    ("Mod", {}, [np.arange(4), Constant(0)], 17), ("Mod", {"fmod": 1}, [np.arange(4), Constant(0)], 17),
    ("LSTM", {"hidden_size": 0}, [SEQUENCE, numbers(1, 8, 2), numbers(1, 8, 2)], 17),
    ("GRU", {"hidden_size": -1}, [SEQUENCE, numbers(1, 6, 2), numbers(1, 6, 2)], 17),
    ("LSTM", {"hidden_size": 2, "clip": -1.0}, [SEQUENCE, numbers(1, 8, 2), numbers(1, 8, 2)], 17),
    ("GRU", {"hidden_size": 2, "clip": -1.0}, [SEQUENCE, numbers(1, 6, 2), numbers(1, 6, 2)], 17),
    ("TopK", {}, [TABLE, Constant(1, 2)], 17), ("Trilu", {}, [numbers(3)], 17),
    ("OneHot", {}, [np.arange(2), Constant(3), numbers(3)], 17),
]
OUTPUTS = {"Split": 2, "TopK": 2}
LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]
MICROSOFT = ("BiasGelu", "FastGelu", "MultiHeadAttention")


def model_of(case, dead):
    """The node alone with what it is fed, or (`dead`) in the branch of an If that no run takes."""
    op, attributes, inputs, version = case
    names, infos, constants, feeds = [], [], [], {}
    for i, value in enumerate(inputs):
        names.append("" if value is None else f"i{i}")
        if isinstance(value, Constant):
            constants.append(numpy_helper.from_array(value.array, names[-1]))
        elif value is not None:
            infos.append(helper.make_tensor_value_info(names[-1], ELEMENTS[value.dtype.name], value.shape))
            feeds[names[-1]] = value
    outputs = [f"y{i}" for i in range(OUTPUTS.get(op, 1))]
    domain = "com.microsoft" if op in MICROSOFT else ""
    nodes = [helper.make_node(op, names, outputs, "it", domain=domain, **attributes)]
    infos_out = [helper.make_empty_tensor_value_info(name) for name in outputs]
    if dead:
        dtype = TensorProto.INT64 if op in ("ArgMax", "Range") else TensorProto.FLOAT
        dtypes = [dtype, TensorProto.INT64 if op == "TopK" else dtype][:len(outputs)]
        other = helper.make_graph(
            [helper.make_node("Constant", [], [f"other{i}"], value=helper.make_tensor("", d, [1], [0]))
             for i, d in enumerate(dtypes)], "other", [],
            [helper.make_tensor_value_info(f"other{i}", d, [1]) for i, d in enumerate(dtypes)])
        nodes = [helper.make_node("If", ["taken"], outputs, "if", else_branch=other,
                                  then_branch=helper.make_graph(nodes, "then", [], infos_out))]
        infos.append(helper.make_tensor_value_info("taken", TensorProto.BOOL, []))
        feeds["taken"] = np.array(False)
    graph = helper.make_graph(nodes, "g", infos, infos_out, constants)
    imports = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=8, opset_imports=imports).SerializeToString(), feeds


def stage_and_class(engine, model, feeds, level):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    try:
        session = engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return "create", type(error).__name__
    try:
        session.run(None, feeds)
    except Exception as error:
        assert engine is onnxruntime or "'it'" in str(error)  # a pass of theirs may have renamed it
        return "run", type(error).__name__
    return "run", "no error"


def ids(cases):
    return [f"{i}-{case[0]}" for i, case in enumerate(cases)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", LATE, ids=ids(LATE))
def test_the_run_that_reaches_the_node_gives_the_error(case, level):
    ours, theirs = (stage_and_class(engine, *model_of(case, False), level) for engine in (sardonyx, onnxruntime))
    assert ours == theirs
    assert ours[0] == "run"
    assert ours[1] != "no error"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", [case for case in LATE if case[3] == 17], ids=ids(
    [case for case in LATE if case[3] == 17]))
def test_a_branch_that_no_run_takes_gives_none(case, level):
    ours, theirs = (stage_and_class(engine, *model_of(case, True), level) for engine in (sardonyx, onnxruntime))
    assert ours == theirs == ("run", "no error")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", EARLY, ids=ids(EARLY))
def test_other_errors_of_these_operators_come_with_the_model(case, level):
    ours, theirs = (stage_and_class(engine, *model_of(case, False), level) for engine in (sardonyx, onnxruntime))
    assert ours == theirs == ("create", "Fail")


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"])
def test_the_saved_model_has_the_node_as_its_author_wrote_it(level, tmp_path):
    model, feeds = model_of(LATE[0], False)
    options = sardonyx.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    sardonyx.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    node, = load(options.optimized_model_filepath).graph.node
    assert (node.op_type, node.domain) == ("Reshape", "")
    assert {attribute.name for attribute in node.attribute} <= {"allowzero"}
    assert stage_and_class(onnxruntime, options.optimized_model_filepath, feeds, level) == ("run", "Fail")
    assert stage_and_class(sardonyx, options.optimized_model_filepath, feeds, level) == ("run", "Fail")


def test_what_comes_before_and_behind_the_node_is_optimized_around_it():
    """Passes that know the operator leave the node alone, whatever its neighbours are."""
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 8, 8])
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Conv", ["a", "w"], ["b"], "it"),
             helper.make_node("BatchNormalization", ["b", "s", "s", "s", "s"], ["c"]),
             helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2]), helper.make_node("Shape", ["e"], ["n"]),
             helper.make_node("Reshape", ["e", "n"], ["y"])]
    constants = [numpy_helper.from_array(numbers(3, 5, 3, 3), "w"), numpy_helper.from_array(numbers(3) + 1, "s")]
    graph = helper.make_graph(nodes, "g", [image], [helper.make_empty_tensor_value_info("y")], constants)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    feeds = {"x": numbers(1, 2, 8, 8)}
    ours, theirs = (stage_and_class(engine, model, feeds, "ORT_DISABLE_ALL") for engine in (sardonyx, onnxruntime))
    assert ours == theirs == ("run", "Fail")
    assert stage_and_class(sardonyx, model, feeds, "ORT_ENABLE_ALL") == ("run", "Fail")
