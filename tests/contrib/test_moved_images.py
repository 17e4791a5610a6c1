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


def run(nodes, feeds, weights, opset=17, outputs=("y",), declared=True, exact=True):
    """Results of all levels, which agree: up to rounding of floats, and with exact=False up to one unit of integers."""
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
            if exact:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
            else:
                assert np.abs(a.astype(np.int64) - b.astype(np.int64)).max() <= 1
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


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("rank", [3, 4])
def test_max_unpool(declared, sized, rank):
    """ONNX Runtime moves the image alone: places and the output's shape are those of images channels first."""
    size = (2, 3, 6, 8)[:rank]
    attributes = {"kernel_shape": [2] * (rank - 2), "strides": [2] * (rank - 2)}
    pool = helper.make_node("MaxPool", ["x"], ["y", "i"], **attributes)
    pooled, places = run([pool], {"x": image(4, *size)}, {}, outputs=("y", "i"))
    weights = {"s": np.array([2, 3, *(n + 2 for n in size[2:])])} if sized else {}
    names = ["x", "i", *weights]
    feeds = {"x": pooled, "i": places}
    (want,) = run([helper.make_node("MaxUnpool", names, ["y"], **attributes)], feeds, weights)
    assert np.count_nonzero(want) == pooled.size
    feeds["x"] = last(pooled)
    if not declared:
        node = helper.make_node("MaxUnpool", names, ["y"], name="n", domain=LAST, **attributes)
        with pytest.raises(Exception, match=r"node 'n' .*MaxUnpool is not implemented for images of unknown rank"):
            run([node], feeds, weights, declared=False)
        return
    (y,) = run([helper.make_node("MaxUnpool", names, ["y"], domain=LAST, **attributes)], feeds, weights)
    np.testing.assert_array_equal(y, last(want))


def transposed_sums(x, w, strides, pads):
    """Sums of a transposed convolution of integers, images [N, C, H, W], filters [C, M, kH, kW], one group."""
    n, _, height, width = x.shape
    _, m, kh, kw = w.shape
    y = np.zeros((n, m, (height - 1) * strides[0] + kh, (width - 1) * strides[1] + kw), np.int64)
    for i in range(height):
        for j in range(width):
            block = np.einsum("nc,cmhw->nmhw", x[:, :, i, j], w)
            y[:, :, i * strides[0] : i * strides[0] + kh, j * strides[1] : j * strides[1] + kw] += block
    return y[:, :, pads[0] : y.shape[2] - pads[2], pads[1] : y.shape[3] - pads[3]]


@pytest.mark.parametrize("kinds", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("bias,per_channel", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("opset", [10, 13, 21])
def test_quantized_transposed_convolution(kinds, groups, bias, per_channel, opset):
    if per_channel and (groups > 1 or opset < 13):
        return check_refused_scales(groups, opset)
    rng = np.random.default_rng(2)
    limits = [np.iinfo(k) for k in kinds]
    x = rng.integers(limits[0].min, limits[0].max + 1, (2, 4, 5, 6)).astype(kinds[0])
    w = rng.integers(limits[1].min, limits[1].max + 1, (6, 3, 3, 2)).astype(kinds[1])
    w_scale = (rng.random(3) * 0.01 + 0.005).astype(F) if per_channel else np.array(0.0075, F)
    w_zero = np.array([3, 5, 1] if per_channel else 3).astype(kinds[1])
    weights = {"xs": F(0.05), "xz": kinds[0](9), "w": w, "ws": w_scale, "wz": w_zero, "ys": F(0.4), "yz": kinds[0](11)}
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    if bias:
        weights["b"] = rng.integers(-3000, 3000, 3 * groups).astype(np.int32)
        names.append("b")
    attributes = {"strides": [2, 1], "pads": [1, 0, 0, 1], "kernel_shape": [3, 2], "group": groups}
    node = helper.make_node("QLinearConvTranspose", names, ["y"], domain=LAST, **attributes)
    (y,) = run([node], {"x": x}, weights, opset, exact=False)
    wide_x, wide_w = np.moveaxis(x.astype(np.int64) - 9, -1, 1), w - w_zero.astype(np.int64).reshape(1, -1, 1, 1)
    parts = [
        transposed_sums(a, b, [2, 1], [1, 0, 0, 1])
        for a, b in zip(np.split(wide_x, groups, 1), np.split(wide_w, groups), strict=True)
    ]
    sums = np.concatenate(parts, 1) + (weights["b"].reshape(1, -1, 1, 1) if bias else 0)
    exact = sums * np.float64(F(0.05)) * w_scale.astype(np.float64).reshape(1, -1, 1, 1) / np.float64(F(0.4)) + 11
    want = last(np.clip(np.rint(exact), limits[0].min, limits[0].max))
    tie = np.abs(last(exact) % 1 - 0.5) < 1e-3  # sums of floats may fall on the other side
    assert y.dtype == kinds[0] and y.shape == want.shape
    np.testing.assert_array_equal(y[~tie], want[~tie])
    assert np.abs(y.astype(np.int64) - want).max() <= 1 and len(np.unique(y)) > 30


def check_refused_scales(groups, opset):
    weights = {"xs": F(1), "xz": np.uint8(0), "w": np.zeros((6, 3, 1, 1), np.uint8), "ws": np.ones(3, F)}
    weights |= {"wz": np.zeros(3, np.uint8), "ys": F(1), "yz": np.uint8(0)}
    node = helper.make_node("QLinearConvTranspose", ["x", *weights], ["y"], name="n", domain=LAST, group=groups)
    with pytest.raises(Exception, match=r"node 'n' .*QLinearConvTranspose is not implemented with a scale for each"):
        run([node], {"x": np.zeros((1, 2, 2, 6), np.uint8)}, weights, opset)


def test_quantized_transposed_convolution_refuses_missing_inputs():
    node = helper.make_node("QLinearConvTranspose", ["x", "s"], ["y"], name="n", domain=LAST)
    with pytest.raises(Exception, match=r"node 'n' .*with fewer than 8 inputs"):
        run([node], {"x": np.zeros((1, 2, 2, 6), np.uint8)}, {"s": F(1)})
