"""Operators of com.ms.internal.nhwc, as files have them that ONNX Runtime saved for a device that wants images channels
last: with ONNX's versions, compared with the operators on images channels first."""

import numpy as np
import onnx
import pytest
import sardonyx
from onnx import helper, numpy_helper

F = np.float32
LAST = "com.ms.internal.nhwc"
LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"]


def image(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(F)


def run(nodes, feeds, weights, opset=17, outputs=("y",), declared=True):
    given = [
        helper.make_tensor_value_info(
            k, helper.np_dtype_to_tensor_dtype(v.dtype), [f"{k}{i}" for i in range(v.ndim)] if declared else None
        )
        for k, v in feeds.items()
    ]
    asked = [onnx.ValueInfoProto(name=k) for k in outputs]
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "g", given, asked, stored)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(LAST, opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    results = []
    for level in LEVELS:
        options = sardonyx.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
        results.append(sardonyx.InferenceSession(model, options).run(None, feeds))
    for other in results[1:]:
        for a, b in zip(other, results[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    return results[0]


def first(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


GRID = np.random.default_rng(9).uniform(-1.2, 1.2, (2, 3, 5, 2)).astype(F)
CASES = {  # operator: other inputs, attributes, opset
    "AveragePool": ([], {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1]}, 17),
    "BatchNormalization": ([image(1, 6), image(2, 6), image(3, 6), np.abs(image(4, 6))], {"epsilon": 1e-3}, 17),
    "Conv": ([image(5, 8, 3, 3, 3), image(6, 8)], {"group": 2, "pads": [1, 1, 1, 1]}, 17),
    "ConvTranspose": ([image(5, 6, 4, 3, 3)], {"strides": [2, 1]}, 17),
    "GlobalAveragePool": ([], {}, 17),
    "GlobalLpPool": ([], {"p": 3}, 17),
    "GlobalMaxPool": ([], {}, 17),
    "GridSample": ([GRID], {"mode": "bilinear", "padding_mode": "border"}, 17),
    "InstanceNormalization": ([image(1, 6), image(2, 6)], {}, 17),
    "LRN": ([], {"size": 3, "alpha": 0.1, "bias": 2.0}, 17),
    "LpPool": ([], {"kernel_shape": [2, 2], "strides": [2, 1]}, 18),
    "MaxPool": ([], {"kernel_shape": [3, 3], "dilations": [2, 1], "ceil_mode": 1}, 17),
}
SHAPES = {"Conv": (2, 7, 6, 6)}


@pytest.mark.parametrize("op", CASES)
@pytest.mark.parametrize("declared", [True, False])
def test_operator(op, declared):
    others, attributes, opset = CASES[op]
    x = image(7, *SHAPES.get(op, (2, 7, 5, 6)))
    names = [f"w{i}" for i in range(len(others))]
    weights = dict(zip(names, others, strict=True))
    (want,) = run([helper.make_node(op, ["x", *names], ["y"], **attributes)], {"x": first(x)}, weights, opset)
    nodes = [helper.make_node(op, ["t", *names], ["u"], domain=LAST, **attributes)]
    to = helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1])
    back = helper.make_node("Transpose", ["u"], ["y"], perm=[0, 3, 1, 2])
    (y,) = run([to, *nodes, back], {"x": first(x)}, weights, opset, declared=declared)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)
    (y,) = run([helper.make_node(op, ["x", *names], ["y"], domain=LAST, **attributes)], {"x": x}, weights, opset)
    np.testing.assert_allclose(y, last(want), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rank", [3, 5])
@pytest.mark.parametrize("op", ["BatchNormalization", "GlobalLpPool", "LpPool"])
def test_other_ranks(op, rank):
    others, attributes, opset = CASES[op]
    if op == "LpPool":
        attributes = {"kernel_shape": [2] * (rank - 2)}
    x = image(8, *(2, 5, 4, 3)[: rank - 1], 6)
    names = [f"w{i}" for i in range(len(others))]
    weights = dict(zip(names, others, strict=True))
    (want,) = run([helper.make_node(op, ["x", *names], ["y"], **attributes)], {"x": first(x)}, weights, opset)
    (y,) = run([helper.make_node(op, ["x", *names], ["y"], domain=LAST, **attributes)], {"x": x}, weights, opset)
    np.testing.assert_allclose(y, last(want), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [11, 13, 18, 19])
def test_resize(opset):
    """Its scales are in the order of the image's dimensions."""
    x, scales = image(7, 2, 5, 4, 3), np.array([1, 2, 1.5, 1], F)
    attributes = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    names, weights = ["x", "r", "s"], {"r": np.zeros(0, F), "s": scales}
    (y,) = run([helper.make_node("Resize", names, ["y"], domain=LAST, **attributes)], {"x": x}, weights, opset)
    weights["s"] = scales[[0, 3, 1, 2]]
    (want,) = run([helper.make_node("Resize", names, ["y"], **attributes)], {"x": first(x)}, weights, opset)
    np.testing.assert_allclose(y, last(want), rtol=1e-5, atol=1e-6)


def test_quantized_average():
    x = np.random.default_rng(1).integers(0, 256, (2, 5, 4, 3)).astype(np.uint8)
    weights = {"s": F(0.1), "z": np.uint8(7), "t": F(0.07), "w": np.uint8(9)}
    attributes = {"kernel_shape": [2, 3], "strides": [2, 1]}
    names = ["x", "s", "z", "t", "w"]
    (y,) = run([helper.make_node("QLinearAveragePool", names, ["y"], domain=LAST, **attributes)], {"x": x}, weights)
    node = helper.make_node("QLinearAveragePool", names, ["y"], domain="com.microsoft", **attributes)
    (want,) = run([node], {"x": first(x)}, weights)
    np.testing.assert_array_equal(y, last(want))


def test_chain_without_declared_ranks():
    """Images keep their rank from the first transposition on."""
    others, attributes, _ = CASES["BatchNormalization"]
    names = [f"w{i}" for i in range(4)]
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[0, 2, 3, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], domain=LAST, kernel_shape=[2, 2]),
        helper.make_node("BatchNormalization", ["c", *names], ["d"], domain=LAST, **attributes),
        helper.make_node("LRN", ["d"], ["e"], domain=LAST, size=3),
        helper.make_node("Transpose", ["e"], ["y"], perm=[0, 3, 1, 2]),
    ]
    plain = [
        helper.make_node("Relu", ["x"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2]),
        helper.make_node("BatchNormalization", ["c", *names], ["d"], **attributes),
        helper.make_node("LRN", ["d"], ["y"], size=3),
    ]
    weights, feeds = dict(zip(names, others, strict=True)), {"x": image(3, 2, 6, 5, 4)}
    (y,) = run(nodes, feeds, weights, declared=False)
    (want,) = run(plain, feeds, weights)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


def test_refuses():
    node = helper.make_node("LRN", ["x"], ["y"], name="n", domain=LAST, size=3)
    with pytest.raises(Exception, match=r"node 'n' .*LRN is not implemented for images of unknown rank"):
        run([node], {"x": image(1, 1, 2, 2, 2)}, {}, declared=False)
    node = helper.make_node("MaxUnpool", ["x", "i"], ["y"], name="n", domain=LAST, kernel_shape=[2, 2])
    with pytest.raises(Exception, match=r"node 'n' .*MaxUnpool is not implemented on images channels last"):
        run([node], {"x": image(1, 1, 2, 2, 2), "i": np.zeros((1, 2, 2, 2), np.int64)}, {})
