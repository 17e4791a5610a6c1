"""A type that a version of an operator lacks: the message names the version of the model's opset, and its types."""

import pytest
import sardonyx
from onnx import TensorProto, helper

CASES = {  # operator, opset: the version and the types that the message names, and one that only newer versions have
    ("Relu", 7): (6, ["float", "float16", "double"], TensorProto.INT32),
    ("Relu", 13): (13, ["float", "float16", "double", "bfloat16"], TensorProto.INT32),
    ("Celu", 12): (12, ["float"], TensorProto.DOUBLE),
    ("Softmax", 11): (11, ["float", "float16", "double"], TensorProto.BFLOAT16),
}


@pytest.mark.parametrize("operator,opset", CASES)
@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def test_the_version_of_the_models_opset(operator, opset, level):
    version, types, kind = CASES[operator, opset]
    value, result = (helper.make_tensor_value_info(name, kind, [2, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", [value], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    words = "expected " + ", ".join(f"tensor({name})" for name in types) + f" in version {version}, found"
    with pytest.raises(Exception) as caught:
        sardonyx.InferenceSession(model.SerializeToString(), options)
    assert words in str(caught.value)
