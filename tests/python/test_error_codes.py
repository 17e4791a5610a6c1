"""Errors that clients of ONNX Runtime catch by their class or find by words in them, compared with its own."""
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper

FLOAT, COMPLEX = TensorProto.FLOAT, TensorProto.COMPLEX64
ONE, TWO = ["x"], ["x", "x"]
# The operator, its inputs, its domain and attributes, the element type of x, and words of the message that both have.
CASES = {
    "unknown operator": ("Nobody", ONE, "", {}, FLOAT, "Nobody"),
    "unknown operator of ai.onnx.ml": ("Nobody", ONE, "ai.onnx.ml", {}, FLOAT, "Nobody"),
    "unknown operator of com.microsoft": ("Nobody", ONE, "com.microsoft", {}, FLOAT, "Nobody"),
    "unknown operator of com.ms.internal.nhwc": ("Nobody", ONE, "com.ms.internal.nhwc", {}, FLOAT, "Nobody"),
    "unknown operator of an unknown domain": ("Nobody", ONE, "nowhere", {}, FLOAT, "nowhere"),
    "unknown attribute": ("Relu", ONE, "", {"p": 1}, FLOAT, "Unrecognized attribute: p for operator Relu"),
    "unknown attribute of com.microsoft": ("CDist", TWO, "com.microsoft", {"p": 1.0}, FLOAT,
                                           "Unrecognized attribute: p for operator CDist"),
    "type that no operator takes": ("Add", TWO, "", {}, COMPLEX, "Type Error: Type 'tensor(complex64)'"),
    "too few inputs": ("Add", ONE, "", {}, FLOAT, "Add"),
}


def error_of(engine, model):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    try:
        engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", CASES)
def test_the_same_class_and_the_words_that_clients_look_for(name):
    op, inputs, domain, attributes, element, words = CASES[name]
    node = helper.make_node(op, inputs, ["y"], name="it", domain=domain, **attributes)
    infos = [helper.make_tensor_value_info(value, element, [2, 2]) for value in "xy"]
    imports = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(helper.make_graph([node], "g", infos[:1], infos[1:]), ir_version=8,
                              opset_imports=imports).SerializeToString()
    ours, theirs = error_of(sardonyx, model), error_of(onnxruntime, model)
    assert type(ours).__name__ == type(theirs).__name__
    assert words in str(theirs)
    assert words in str(ours)
    assert "it" in str(ours)
