"""An optional with an element can replace a tensor: chains that passes look for give the same at every level."""
import functools

import numpy as np
import onnx
import pytest
import sardonyx
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node
LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
X = np.arange(16, dtype=np.float32).reshape(4, 4) - 8
CHAINS = {
    "transposes": [node("Transpose", ["o"], ["a"], perm=[1, 0]), node("Transpose", ["a"], ["y"], perm=[1, 0])],
    "casts": [node("Cast", ["o"], ["a"], to=11), node("Cast", ["a"], ["y"], to=1)],
    "gemm": [node("MatMul", ["o", "matrix"], ["a"]), node("Add", ["a", "row"], ["y"])],
    "identity": [node("Identity", ["o"], ["a"]), node("Relu", ["a"], ["y"])],
    "twice the same": [node("Relu", ["o"], ["a"]), node("Relu", ["o"], ["b"]), node("Add", ["a", "b"], ["y"])],
    "reshapes": [node("Reshape", ["o", "flat"], ["a"]), node("Reshape", ["a", "square"], ["y"])],
    "gelu": [node("Div", ["o", "root"], ["a"]), node("Erf", ["a"], ["b"]), node("Add", ["b", "one"], ["c"]),
             node("Mul", ["o", "c"], ["d"]), node("Mul", ["d", "half"], ["y"])],
    "layer norm": [node("ReduceMean", ["o", "last"], ["m"]), node("Sub", ["o", "m"], ["d"]),
                   node("Mul", ["d", "d"], ["q"]), node("ReduceMean", ["q", "last"], ["v"]),
                   node("Add", ["v", "half"], ["e"]), node("Sqrt", ["e"], ["s"]), node("Div", ["d", "s"], ["n"]),
                   node("Mul", ["n", "row"], ["y"])],
    "shape": [node("Shape", ["o"], ["s"]), node("Gather", ["s", "first"], ["g"]), node("Cast", ["g"], ["y"], to=1)],
    "silu": [node("Sigmoid", ["o"], ["a"]), node("Mul", ["o", "a"], ["y"])],
    "split": [node("Split", ["o"], ["a", "b"], axis=0, num_outputs=2), node("Concat", ["a", "b"], ["y"], axis=0)],
    "dropout": [node("Dropout", ["o"], ["a"]), node("Relu", ["a"], ["y"])],
    "nothing": [node("Add", ["o", "zero"], ["a"]), node("Mul", ["a", "one"], ["y"])],
    "relu clip": [node("Relu", ["o"], ["a"]), node("Clip", ["a", "zero", "one"], ["y"])],
    "where": [node("Greater", ["o", "zero"], ["c"]), node("Where", ["c", "o", "zero"], ["y"])],
    "element": [node("OptionalGetElement", ["o"], ["a"]), node("Relu", ["a"], ["y"])],
}
CONSTANTS = {"matrix": np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4), "row": np.float32([1, -2, 3, 4]),
             "flat": np.int64([2, 8]), "square": np.int64([4, 4]), "root": np.float32(2**0.5), "one": np.float32(1),
             "half": np.float32(0.5), "zero": np.float32(0), "first": np.int64([0]), "last": np.int64([-1])}


@functools.cache
def model(chain, constant):
    constants = CONSTANTS | ({"k": X} if constant else {})
    graph = helper.make_graph([node("Optional", ["k" if constant else "x"], ["o"]), *CHAINS[chain]], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
                              [helper.make_empty_tensor_value_info("y")],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def run(proto, level):
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    return sardonyx.InferenceSession(proto.SerializeToString(), options).run(None, {"x": X})[0]


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("chain", CHAINS)
def test_every_level_gives_what_the_chain_without_the_optional_gives(chain, constant):
    plain = onnx.ModelProto.FromString(model(chain, constant).SerializeToString())
    plain.graph.node[0].op_type = "Identity"
    for each in plain.graph.node:
        if each.op_type == "OptionalGetElement":
            each.op_type = "Identity"
    want = run(plain, "ORT_DISABLE_ALL")
    for level in LEVELS:
        np.testing.assert_allclose(run(model(chain, constant), level), want, 1e-5, 1e-6, err_msg=level)


@pytest.mark.parametrize("level", LEVELS)
def test_an_element_stays_one_where_a_newer_version_of_the_operator_takes_optionals(level):
    """Identity takes optionals from 16 on: in a graph of version 15 its output is what is in them."""
    optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [4, 4]))
    graph = helper.make_graph([node("Identity", ["o"], ["y"])], "g", [helper.make_value_info("o", optional)],
                              [helper.make_empty_tensor_value_info("y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    session = sardonyx.InferenceSession(proto.SerializeToString(), options)
    np.testing.assert_array_equal(session.run(None, {"o": X})[0], X)


def test_an_optional_input_may_be_left_out():
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, ["n", 2]))
    graph = helper.make_graph([node("OptionalHasElement", ["x"], ["y"])], "g", [helper.make_value_info("x", kind)],
                              [helper.make_tensor_value_info("y", TensorProto.BOOL, [])])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = sardonyx.InferenceSession(proto.SerializeToString())
    assert (session.get_inputs()[0].type, session.get_inputs()[0].shape) == ("optional(tensor(float))", ["n", 2])
    assert not session.run(None, {})[0]
    assert not session.run(None, {"x": None})[0]
    assert session.run(None, {"x": X[:, :2]})[0]
    binding = session.io_binding()
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert not binding.copy_outputs_to_cpu()[0]
