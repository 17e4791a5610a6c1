"""com.microsoft GemmFastGelu, GemmFloat8, NhwcConv, NhwcFusedConv and TorchEmbedding, which ONNX Runtime runs on a GPU
only, compared with float64."""

import math

import numpy as np
import onnx
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model
from onnx import TensorProto, helper, numpy_helper
from reference import D, F, H, check, random, refusal, wide


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("constants", [(), (1,), (1, 2)])
@pytest.mark.parametrize("shape,k,n", [((5, 7), 7, 9), ((2, 3, 40), 40, 33), ((7,), 7, 4), ((0, 6), 6, 5)])
@pytest.mark.parametrize("bias", [False, True])
def test_gemm_fast_gelu(dtype, constants, shape, k, n, bias):
    if not bias:
        constants = constants[:1]
    x, w, b = random(1, *shape, dtype=dtype), random(2, k, n, dtype=dtype), random(3, n, dtype=dtype)
    want = gelu_tanh(wide(x) @ wide(w) + (wide(b) if bias else 0))
    check("GemmFastGelu", [x, w, b if bias else None], [want], dtype, constants)


def test_gemm_fast_gelu_refuses():
    x, w = np.ones((2, 3), F), np.ones((3, 4), F)
    assert "input 'bias': expected the last dimension" in refusal("GemmFastGelu", [x, w, np.ones(3, F)], [F])
    assert "inner dimensions differ: float[2,3] x float[4,4]" in refusal("GemmFastGelu", [x, np.ones((4, 4), F)], [F])


FLOAT8 = {TensorProto.FLOAT8E4M3FN: 448.0, TensorProto.FLOAT8E5M2: 57344.0}


def cast(x, to):
    """x rounded to the type `to`, as float64."""
    if to in FLOAT8:  # NumPy has no such type: onnx writes it
        x = np.clip(x, -FLOAT8[to], FLOAT8[to])
        return numpy_helper.to_array(helper.make_tensor("t", to, x.shape, x.ravel().tolist())).astype(D)
    return x.astype(H if to == TensorProto.FLOAT16 else F).astype(D)


def gemm_float8(a, b, c, scales, types, dtype, **attributes):
    """Runs Cast to `types`, GemmFloat8 and Cast to float over float inputs."""
    inputs = {"a": (a, types[0]), "b": (b, types[1]), "c": (c, types[2])}
    nodes, names, feeds = [], [], {}
    for name, (x, to) in inputs.items():
        if x is None:
            names.append("")
            continue
        nodes.append(helper.make_node("Cast", [name], [name + "8"], to=to))
        names.append(name + "8")
        feeds[name] = x
    for name, x in zip("rst", scales, strict=True):
        names.append("" if x is None else name)
        if x is not None:
            feeds[name] = np.array([x], F)
    while not names[-1]:
        names.pop()
    nodes.append(helper.make_node("GemmFloat8", names, ["y8"], domain="com.microsoft", dtype=dtype, **attributes))
    nodes.append(helper.make_node("Cast", ["y8"], ["y"], to=TensorProto.FLOAT))
    given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n, x in feeds.items()]
    graph = helper.make_graph(nodes, "g", given, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = sardonyx.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


E4, E5, F32, F16 = TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT, TensorProto.FLOAT16
TYPES = [
    ((E4, E4, F16), F16),
    ((E4, E5, F16), E4),
    ((E5, E4, F32), F32),
    ((F32, F32, F32), F32),
    ((F16, F16, F16), E5),
]


@pytest.mark.parametrize("types,dtype", TYPES)
@pytest.mark.parametrize("scales", [(None, None, None), (0.5, 2.0, 0.25), (0.5, 2.0, None)])
@pytest.mark.parametrize("activation", ["NONE", "RELU", "GELU"])
@pytest.mark.parametrize("addend", [None, (5, 6), (6,)])
def test_gemm_float8(types, dtype, scales, activation, addend):
    a, b = random(1, 5, 8), random(2, 6, 8)
    c = None if addend is None else random(3, *addend)
    want = 1.5 * (scales[0] or 1) * (scales[1] or 1) * (cast(a, types[0]) @ cast(b, types[1]).T)
    want = want if c is None else want + 0.5 * cast(c, types[2])
    want = {"NONE": want, "RELU": np.maximum(want, 0), "GELU": gelu_tanh(want)}[activation] * (scales[2] or 1)
    got = gemm_float8(a, b, c, scales, types, dtype, transB=1, alpha=1.5, beta=0.5, activation=activation)
    if dtype in FLOAT8:  # a number beside a tie may be rounded the other way
        np.testing.assert_allclose(got, want, rtol=0.0626 if dtype == E4 else 0.126, atol=0.01)
    else:
        assert_close(got, want, 1e-3 if dtype == F16 else 3e-6, "GemmFloat8")


def test_gemm_float8_saturates_and_leaves_c_out():
    a, b, c = np.full((1, 4), 192, F), np.full((4, 1), 192, F), np.full((1, 1), 100, F)
    none = (None, None, None)
    assert gemm_float8(a, b, None, none, (E4, E4, F16), E4)[0, 0] == 448  # the sum is beyond the type
    assert gemm_float8(a, b, c, none, (E4, E4, F32), F32)[0, 0] == 4 * 192 * 192  # `beta` is 0 unless given
    assert gemm_float8(a, b, c, none, (E4, E4, F32), F32, beta=-1.0)[0, 0] == 4 * 192 * 192 - 100


def test_gemm_float8_refuses():
    x = np.ones((2, 2), F)
    assert "both scaleA and scaleB" in refusal("GemmFloat8", [x, x, None, np.ones(1, F)], [F])
    assert "input 3: expected one scale" in refusal("GemmFloat8", [x, x, None, np.ones(2, F), np.ones(1, F)], [F])
    assert "expected NONE, RELU or GELU, found 'TANH'" in refusal("GemmFloat8", [x, x], [F], activation="TANH")
    assert "inner dimensions differ" in refusal("GemmFloat8", [x, np.ones((3, 2), F)], [F])


def convolve(x, w, bias, strides, pads, dilations, group):
    """x [N, H, W, C], w [M, C / group, kh, kw], in float64."""
    x, w = wide(x), wide(w)
    x = np.pad(x, ((0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)))
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True)]
    out = [(x.shape[1 + i] - reach[i]) // strides[i] + 1 for i in range(2)]
    y = np.zeros((x.shape[0], *out, w.shape[0]))
    size, each = w.shape[1], w.shape[0] // group
    for g in range(group):
        for i in range(w.shape[2]):
            for j in range(w.shape[3]):
                rows = slice(i * dilations[0], i * dilations[0] + (out[0] - 1) * strides[0] + 1, strides[0])
                columns = slice(j * dilations[1], j * dilations[1] + (out[1] - 1) * strides[1] + 1, strides[1])
                patch = x[:, rows, columns, g * size : (g + 1) * size]
                y[..., g * each : (g + 1) * each] += patch @ w[g * each : (g + 1) * each, :, i, j].T
    return y if bias is None else y + wide(bias)


@pytest.mark.parametrize("dtype", [F, H, D])
@pytest.mark.parametrize("constants", [(), (1,)])
@pytest.mark.parametrize(
    "shape,weights,attributes",
    [
        ((2, 7, 9, 4), (6, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 8, 8, 6), (9, 2, 3, 2), {"group": 3, "strides": [2, 1], "pads": [1, 0, 0, 1]}),
        ((1, 9, 9, 5), (5, 1, 3, 3), {"group": 5, "dilations": [2, 2]}),
        ((2, 4, 4, 16), (32, 16, 1, 1), {}),
        ((0, 4, 4, 3), (2, 3, 2, 2), {}),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_nhwc_conv(dtype, constants, shape, weights, attributes, bias):
    x, w = random(1, *shape, dtype=dtype), random(2, *weights, dtype=dtype)
    b = random(3, weights[0], dtype=dtype) if bias else None
    rules = {"strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1], "group": 1, **attributes}
    want = convolve(x, w, b, **rules)
    last = np.ascontiguousarray(w.transpose(0, 2, 3, 1))  # as ONNX Runtime's tools write the weights
    check("NhwcConv", [x, last, b], [want], dtype, constants, **attributes)
    if dtype == D:
        return
    z = random(4, *want.shape, dtype=dtype)
    relu = np.maximum(want + wide(z), 0)
    check("NhwcFusedConv", [x, w, b, z], [relu], dtype, constants, activation="Relu", **attributes)
    clipped = np.clip(want, -0.5, 1.5)
    limits = {"activation": "Clip", "activation_params": [-0.5, 1.5]}
    check("NhwcFusedConv", [x, w, b], [clipped], dtype, constants, **limits, **attributes)


def test_nhwc_conv_refuses():
    x = np.ones((1, 5, 5, 4), F)
    assert "input channels" in refusal("NhwcConv", [x, np.ones((2, 3, 3, 3), F)], [F])
    assert "input channels" in refusal("NhwcConv", [x, np.ones((2, 4, 3, 3), F)], [F])  # as ONNX has weights
    assert "expected a bias of 2 values" in refusal("NhwcConv", [x, np.ones((2, 3, 3, 4), F), np.ones(3, F)], [F])
    message = refusal("NhwcFusedConv", [x, np.ones((2, 4, 3, 3), F), None, np.ones((1, 3, 3, 3), F)], [F])
    assert "input Z of the shape of the result, [1, 3, 3, 2], found [1, 3, 3, 3]" in message
    assert "'Sign'" in refusal("NhwcFusedConv", [x, np.ones((2, 4, 3, 3), F)], [F], activation="Sign")


@pytest.mark.parametrize("dtype", [F, H, D, np.uint8, np.uint32, np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("indices", [np.array([[3, 0], [1, 3]]), np.array(2), np.zeros((0, 2), np.int64)])
@pytest.mark.parametrize("padding", [False, True])
def test_torch_embedding(dtype, indices, padding):
    weight = (random(1, 4, 5, dtype=D) * 50).astype(dtype)
    inputs = [weight, indices] + ([np.array(1)] if padding else [])
    (got,) = run_model(sardonyx, node_model("TorchEmbedding", inputs, [dtype]), inputs)
    np.testing.assert_array_equal(got, weight[indices])


def test_torch_embedding_with_the_flag_of_training_and_refusals():
    weight, indices = random(1, 4, 5), np.array([1, 2])
    names = ["w", "i", "", "flag"]
    node = helper.make_node("TorchEmbedding", names, ["y"], domain="com.microsoft")
    given = [helper.make_tensor_value_info("w", 1, [4, 5]), helper.make_tensor_value_info("i", 7, [2]),
             helper.make_tensor_value_info("flag", TensorProto.BOOL, [])]  # fmt: skip
    graph = helper.make_graph([node], "g", given, [helper.make_tensor_value_info("y", 1, [2, 5])])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    onnx.checker.check_model(model)
    session = sardonyx.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(
        session.run(None, {"w": weight, "i": indices, "flag": np.array(True)})[0], weight[1:3]
    )
    assert "[-4, 3] along the axis, found 4" in refusal("TorchEmbedding", [weight, np.array([4])], [F])
    assert "int32" in refusal("TorchEmbedding", [weight, np.array([1], np.int32)], [F])
