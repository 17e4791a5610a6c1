"""com.microsoft MatMulNBitsMlp and MatMulNBitsQkv, which ONNX Runtime has for GPUs only, against float64."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model

F, H = np.float32, np.float16
K = 64


def weights(rng, n, dtype):
    """4-bit weights [N, blocks, 16], their scales, and what they stand for [K, N]."""
    q = rng.integers(0, 16, (n, K))
    scales = (rng.random((n, K // 32)) * 0.1 + 0.01).astype(dtype)
    packed = (q[:, ::2] | q[:, 1::2] << 4).astype(np.uint8).reshape(n, K // 32, 16)
    return packed, scales, ((q - 8) * np.repeat(scales.astype(np.float64), 32, 1)).T


def normalized(x, scale, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale


@pytest.mark.parametrize("dtype,bound", [(F, 4e-6), (H, 6e-3)])
@pytest.mark.parametrize("form", ["plain", "norm", "skip"])
@pytest.mark.parametrize("biased", [False, True])
def test_mlp(form, biased, dtype, bound):
    rng = np.random.default_rng(1)
    n = 24
    x, skip = (rng.standard_normal((2, 3, K)).astype(dtype) for _ in range(2))
    scale = (rng.random(K) + 0.5).astype(dtype)
    (gate, gate_scales, gate_values), (up, up_scales, up_values) = (weights(rng, n, dtype) for _ in range(2))
    biases = [rng.standard_normal(n).astype(dtype) if biased else None for _ in range(2)]
    inputs = [x, skip if form == "skip" else None, scale if form != "plain" else None]
    inputs += [gate, gate_scales, biases[0], up, up_scales, biases[1]]
    attributes = {"K": K, "N": n, "bits": 4, "block_size": 32, "activation": "silu", "epsilon": 1e-3}
    outputs = [dtype] * (2 if form == "skip" else 1)
    got = run_model(sardonyx, node_model("MatMulNBitsMlp", inputs, outputs, **attributes), inputs)
    total = x.astype(np.float64) + (skip if form == "skip" else 0)
    a = total if form == "plain" else normalized(total, scale, 1e-3)
    g, u = (a @ values + (0 if b is None else b) for values, b in ((gate_values, biases[0]), (up_values, biases[1])))
    assert_close(got[0], g / (1 + np.exp(-g)) * u, bound, "against float64")
    if form == "skip":
        assert_close(got[1], total, 1e-3 if dtype == H else 1e-7, "the sum")


@pytest.mark.parametrize("dtype,bound", [(F, 4e-6), (H, 6e-3)])
@pytest.mark.parametrize("skips", [False, True])
def test_qkv(skips, dtype, bound):
    rng = np.random.default_rng(2)
    sizes = [24, 8, 8]
    x, skip = (rng.standard_normal((1, 5, K)).astype(dtype) for _ in range(2))
    scale = (rng.random(K) + 0.5).astype(dtype)
    parts = [weights(rng, n, dtype) for n in sizes]
    bias = rng.standard_normal(8).astype(dtype)
    inputs = [x, skip if skips else None, scale]
    for (packed, scales, _), b in zip(parts, (None, bias, None), strict=True):
        inputs += [packed, scales, b]
    attributes = {"K": K, "Nq": 24, "Nkv": 8, "bits": 4, "block_size": 32}
    outputs = [dtype] * (4 if skips else 3)
    got = run_model(sardonyx, node_model("MatMulNBitsQkv", inputs, outputs, **attributes), inputs)
    total = x.astype(np.float64) + (skip if skips else 0)
    a = normalized(total, scale, 1e-5)
    for ours, (_, _, values), b in zip(got, parts, (0, bias, 0), strict=False):
        assert_close(ours, a @ values + b, bound, "against float64")
    if skips:
        assert_close(got[3], total, 1e-3 if dtype == H else 1e-7, "the sum")


def test_refusals():
    rng = np.random.default_rng(3)
    packed, scales, _ = weights(rng, 8, F)
    x = np.ones((1, K), F)
    inputs = [x, None, None, packed, scales, None, packed, scales]
    attributes = {"K": K, "N": 8, "bits": 4, "block_size": 32}
    with pytest.raises(Exception, match="expected silu, found 'gelu'"):
        run_model(sardonyx, node_model("MatMulNBitsMlp", inputs, [F], activation="gelu", **attributes), inputs)
    inputs[1] = x
    with pytest.raises(Exception, match="'norm_scale' with input 'skip', found none"):
        run_model(sardonyx, node_model("MatMulNBitsMlp", inputs, [F], activation="silu", **attributes), inputs)
    inputs[1] = None
    with pytest.raises(Exception, match="96 columns, found"):
        run_model(
            sardonyx, node_model("MatMulNBitsMlp", inputs, [F], activation="silu", **attributes | {"K": 96}), inputs
        )
