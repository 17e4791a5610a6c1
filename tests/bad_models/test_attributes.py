"""Attributes that an operator does not know are refused wherever the node stands, unless ONNX Runtime accepts them."""
import numpy as np
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper

MS, ML = "com.microsoft", "ai.onnx.ml"
ONES = helper.make_tensor("ones", TensorProto.FLOAT, [4], [1.0] * 4)
X = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)


def model(nodes, opset=18, functions=(), inputs=()):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x, *inputs], [y], [ONES])
    opsets = [("", opset), (MS, 1), (ML, 3), ("my", 1)]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in opsets],
                             functions=functions, ir_version=8).SerializeToString()


def one(op_type, domain="", inputs=("x",), opset=18, **attributes):
    return model([helper.make_node(op_type, list(inputs), ["y"], "it", domain=domain, **attributes)], opset)


def in_function(**attributes):
    body = helper.make_node("Softmax", ["a"], ["b"], "it", **attributes)
    function = helper.make_function("my", "F", ["a"], ["b"], [body], [helper.make_opsetid("", 18)])
    return model([helper.make_node("F", ["x"], ["y"], domain="my")], functions=[function])


def in_branch(**attributes):
    def branch(op_type, name, **given):
        value = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([helper.make_node(op_type, ["x"], [name], "it", **given)], name, [], [value])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Softmax", "t", **attributes),
                            else_branch=branch("Relu", "e"))
    return model([node], inputs=[helper.make_tensor_value_info("c", TensorProto.BOOL, [])])


BOTH_REFUSE = {
    "misspelled": (one("Softmax", axes=1), "'axes'", "did you mean 'axis'"),
    "another opset's": (one("Relu", consumed_inputs=[0]), "'consumed_inputs'", "Relu"),
    "old opset": (one("Softmax", opset=11, axes=1), "'axes'", "did you mean 'axis'"),
    "com.microsoft": (one("QuickGelu", MS, alpa=1.0), "'alpa'", "did you mean 'alpha'"),
    "ai.onnx.ml": (one("Scaler", ML, ofset=[0.0], scale=[1.0]), "'ofset'", "did you mean 'offset'"),
    "function": (in_function(axes=1), "'axes'", "Softmax"),
    "branch": (in_branch(axes=1), "'axes'", "Softmax"),
}


def error_of(package, data):
    options = package.SessionOptions()
    options.log_severity_level = 4
    try:
        package.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001  (what it says is asserted)
        return str(error)
    return ""


@pytest.mark.parametrize("name", BOTH_REFUSE)
def test_refused_as_onnx_runtime_does(name):
    data, *words = BOTH_REFUSE[name]
    message = error_of(sardonyx, data)
    assert not [word for word in ["unknown attribute", "it'", *words] if word not in message], message
    assert "Unrecognized attribute" in error_of(onnxruntime, data)


# ONNX Runtime ignores attributes whose names begin with two underscores. Nothing in this library has such a name, so
# one in a file is a mistake like any other.
@pytest.mark.parametrize("data", [one("Softmax", __flatten=1), one("Softmax", opset=11, __flatten=1), in_branch(__x=1),
                                  one("FastGelu", MS, __x=1), in_function(__flatten=1)])
def test_no_name_is_exempt(data):
    assert "unknown attribute '__" in error_of(sardonyx, data)
    assert error_of(onnxruntime, data) == ""


@pytest.mark.parametrize("op_type", ["LayerNormalization", "SimplifiedLayerNormalization"])
def test_what_onnx_runtime_takes_and_does_not_read(op_type):
    data = one(op_type, inputs=("x", "ones"), left_over=3)
    found = sardonyx.InferenceSession(data).run(None, {"x": X})[0]
    want = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": X})[0]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_a_call_may_give_what_the_function_does_not_read():
    body = helper.make_node("Neg", ["a"], ["b"])
    function = helper.make_function("my", "F", ["a"], ["b"], [body], [helper.make_opsetid("", 18)])
    data = model([helper.make_node("F", ["x"], ["y"], domain="my", unread=1)], functions=[function])
    assert error_of(sardonyx, data) == error_of(onnxruntime, data) == ""
