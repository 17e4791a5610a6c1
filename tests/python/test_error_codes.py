"""Errors that clients of ONNX Runtime catch by their class or find by words in them, compared with its own."""
import numpy as np
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


def numbers(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def whole(*values):
    return np.array(values)


# Operators with inputs that only a run knows, and that do not fit.
WRONG_INPUTS = [
    ("Gather", {}, [numbers(3, 2), whole(9)]), ("GatherND", {}, [numbers(3, 2), whole([9])]),
    ("ScatterElements", {}, [numbers(3, 2), whole([9, 9]), numbers(1, 2)]),
    ("ScatterND", {}, [numbers(3, 2), whole([9]), numbers(1, 2)]), ("Expand", {}, [numbers(3, 2), whole(4, 2)]),
    ("Slice", {}, [numbers(3, 2), whole(0), whole(1), whole(5)]), ("Tile", {}, [numbers(3, 2), whole(1)]),
    ("OneHot", {}, [whole(0, 1), whole(-3), numbers(2)]), ("Gemm", {}, [numbers(3, 2), numbers(3, 2)]),
    ("DepthToSpace", {"blocksize": 2}, [numbers(1, 3, 2, 2)]), ("Reshape", {}, [numbers(3, 2), whole(4, 4)]),
    ("Reshape", {}, [numbers(3, 2), whole(-1, -1)]), ("MatMul", {}, [numbers(3, 2), numbers(3, 2)]),
    ("Add", {}, [numbers(3, 2), numbers(3, 3)]), ("Concat", {"axis": 0}, [numbers(3, 2), numbers(3, 3)]),
    ("Squeeze", {}, [numbers(3, 2), whole(0)]), ("Unsqueeze", {}, [numbers(3, 2), whole(9)]),
    ("ReduceSum", {}, [numbers(3, 2), whole(9)]), ("Conv", {}, [numbers(1, 2, 5, 5), numbers(3, 3, 3, 3)]),
    ("ConvTranspose", {}, [numbers(1, 2, 5, 5), numbers(3, 3, 3, 3)]), ("ConstantOfShape", {}, [whole(-1)]),
    ("MaxPool", {"kernel_shape": [9, 9]}, [numbers(1, 2, 5, 5)]), ("Pad", {}, [numbers(3, 2), whole(1, 1)]),
    ("Cast", {"to": 1}, [np.array(["abc"], object)]),
    ("SkipLayerNormalization", {}, [numbers(1, 2, 4), numbers(1, 3, 4), numbers(4)]),
    ("FusedMatMul", {}, [numbers(3, 2), numbers(3, 2)]),
]
ELEMENTS = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "object": TensorProto.STRING}


def class_of(engine, op, attributes, arrays, declared):
    """Of the error that the node causes: when the model is loaded, where shapes are declared, or else by a run."""
    domain = "com.microsoft" if op in ("SkipLayerNormalization", "FusedMatMul") else ""
    names = [f"i{i}" for i in range(len(arrays))]
    infos = [helper.make_tensor_value_info(name, ELEMENTS[array.dtype.name], array.shape if declared else [
        f"{name}_{axis}" for axis in range(array.ndim)]) for name, array in zip(names, arrays, strict=True)]
    node = helper.make_node(op, names, ["y"], domain=domain, **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, ir_version=8, opset_imports=imports).SerializeToString()
    options = engine.SessionOptions()
    options.log_severity_level = 4
    try:
        session = engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        session.run(None, dict(zip(names, arrays, strict=True)))
    except Exception as error:
        return type(error).__name__
    return "no error"


@pytest.mark.parametrize("case", range(len(WRONG_INPUTS)), ids=lambda case: WRONG_INPUTS[case][0])
def test_wrong_inputs_of_a_run_have_the_same_class(case):
    ours, theirs = (class_of(engine, *WRONG_INPUTS[case], declared=False) for engine in (sardonyx, onnxruntime))
    assert ours == theirs != "no error"


@pytest.mark.parametrize(("op", "attributes", "arrays"), [
    ("MatMul", {}, [numbers(3, 2), numbers(3, 2)]), ("Add", {}, [numbers(3, 2), numbers(3, 3)]),
    ("Transpose", {"perm": [0, 0]}, [numbers(3, 2)]), ("Flatten", {"axis": 7}, [numbers(3, 2)]),
    ("Softmax", {"axis": 7}, [numbers(3, 2)]), ("Concat", {"axis": 7}, [numbers(3, 2), numbers(3, 2)]),
    ("Conv", {"strides": [0, 1]}, [numbers(1, 2, 5, 5), numbers(3, 2, 3, 3)]),
], ids=lambda value: value if isinstance(value, str) else "")
def test_inference_has_the_same_class(op, attributes, arrays):
    ours, theirs = (class_of(engine, op, attributes, arrays, declared=True) for engine in (sardonyx, onnxruntime))
    assert ours == theirs == "Fail"
