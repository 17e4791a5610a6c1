"""com.microsoft's gates and operators on streams of branches, compared with ONNX Runtime and with float64."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model

F, H = np.float32, np.float16
EXACT = {F: 2e-6, H: 2e-3}


def random(rng, *shape, dtype=F):
    return rng.standard_normal(shape).astype(dtype)


def check(op, inputs, outputs, want, **attributes):
    """Our outputs are those of ONNX Runtime and of float64, with the precision of their type."""
    bound = EXACT[outputs[0]]
    got = compare(op, inputs, outputs, tolerance=bound, **attributes)
    for i, (ours, exact) in enumerate(zip(got, want, strict=True)):
        assert_close(ours, exact, bound, f"{op} output {i} against float64")


def refusal(op, inputs, outputs, **attributes):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        run_model(sardonyx, node_model(op, inputs, outputs, **attributes), inputs)
    return str(raised.value)


def wide(x):
    return x.astype(np.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rms(x, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("scale", [None, np.array(0.7, F), np.array(-1.5, H)])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 1500)])
def test_scaled_silu(dtype, scale, shape):
    x = np.asarray(random(np.random.default_rng(1), *shape, dtype=dtype) * dtype(3), dtype)
    z = wide(x) * (0.9 if scale is None else float(scale))
    check("ScaledSiLU", [x, scale], [dtype], [z * sigmoid(z)], alpha=0.9)


def test_scaled_silu_rounds_each_step():
    x = random(np.random.default_rng(2), 4000, dtype=H) * H(5)
    compare("ScaledSiLU", [x], [H], tolerance=0, alpha=0.9)
    assert "one number, found shape [2]" in refusal("ScaledSiLU", [x, np.ones(2, F)], [H])


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("shape", [(4,), (2, 3, 5), (3, 1300), (0, 4)])
def test_gated_add(dtype, shape):
    rng = np.random.default_rng(3)
    x, y = random(rng, *shape, dtype=dtype), random(rng, *shape, dtype=dtype)
    gate = random(rng, *shape[:-1], 1, dtype=dtype)
    check("GatedAdd", [x, y, gate], [dtype], [wide(x) + wide(y) * wide(gate)])
    if dtype == H:
        compare("GatedAdd", [x, y, gate], [H], tolerance=0)
    message = refusal("GatedAdd", [x, y, x], [dtype])
    assert "input 2: expected shape" in message or "expected rows" in message


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("activation", ["silu", "swish", "sigmoid"])
@pytest.mark.parametrize("shape,width", [((2, 3, 8), 8), ((2, 3, 8), 4), ((5,), 5), ((2, 2400), 1200), ((0, 4), 2)])
def test_gated_rms_norm(dtype, activation, shape, width):
    rng = np.random.default_rng(4)
    x, gate = random(rng, *shape, dtype=dtype), random(rng, *shape, dtype=dtype)
    scale = random(rng, width, dtype=dtype)
    grouped = wide(x).reshape(*shape[:-1], shape[-1] // width, width)
    factor = sigmoid(wide(gate)) * (1 if activation == "sigmoid" else wide(gate))
    want = (rms(grouped, 1e-3) * wide(scale)).reshape(shape) * factor
    check("GatedRMSNorm", [x, scale, gate], [dtype], [want], activation=activation, epsilon=1e-3)


def test_gated_rms_norm_refuses():
    x = np.ones((2, 6), F)
    assert "multiple of the elements of 'scale'" in refusal("GatedRMSNorm", [x, np.ones(4, F), x], [F])
    assert "input 2: expected shape [2, 6], found [2, 5]" in refusal("GatedRMSNorm", [x, np.ones(3, F), x[:, 1:]], [F])
    assert "expected silu" in refusal("GatedRMSNorm", [x, np.ones(3, F), x], [F], activation="relu")


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 1, 40), (0, 2, 3)])
@pytest.mark.parametrize("beta", [False, True])
def test_linear_attention_gate(dtype, shape, beta):
    rng = np.random.default_rng(5)
    a, b = random(rng, *shape, dtype=dtype), random(rng, *shape, dtype=dtype)
    bias, scale = random(rng, shape[-1]) * F(9), -np.exp(random(rng, shape[-1]))
    want = [wide(scale) * np.logaddexp(0, wide(a) + wide(bias)), sigmoid(wide(b))]
    inputs, outputs = [a, bias, scale, b if beta else None], [dtype] * (2 if beta else 1)
    check("LinearAttentionGate", inputs, outputs, want[: len(outputs)])


def test_linear_attention_gate_refuses():
    a = np.ones((1, 2, 3), F)
    assert "the input 'b'" in refusal("LinearAttentionGate", [a, np.ones(3, F), np.ones(3, F)], [F, F])
    assert "input 1: expected as many elements" in refusal(
        "LinearAttentionGate", [a, np.ones(2, F), np.ones(3, F)], [F]
    )


def engram(key, query, value, key_scale, query_scale, out_scale, epsilon):
    dot = (rms(wide(key), epsilon) * wide(key_scale) * rms(wide(query), epsilon) * wide(query_scale)).sum(-1)
    dot /= np.sqrt(key.shape[-1])
    gate = sigmoid(np.sign(dot) * np.sqrt(np.maximum(np.abs(dot), 1e-6)))
    y = gate[..., None] * wide(value)[:, :, None, :]
    return y, rms(y, epsilon) * wide(out_scale)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("size", [(2, 3, 4, 8), (1, 1, 1, 1500), (1, 0, 2, 4)])
@pytest.mark.parametrize("normed", [False, True])
def test_engram_gate(dtype, size, normed):
    rng = np.random.default_rng(6)
    parts = [random(rng, *s, dtype=dtype) for s in (size, size, (*size[:2], size[3]), *[size[2:]] * 3)]
    want = engram(*parts, 1e-4)[: 1 + normed]
    check("EngramGate", parts[:5] + [parts[5] if normed else None], [dtype] * (1 + normed), want, epsilon=1e-4)


def test_engram_gate_of_orthogonal_keys_and_refusals():
    key = np.array([1, 0], F).reshape(1, 1, 1, 2)
    query, value, ones = np.array([0, 1], F).reshape(1, 1, 1, 2), np.ones((1, 1, 2), F), np.ones((1, 2), F)
    inputs = [key, query, value, ones, ones]
    (got,) = run_model(sardonyx, node_model("EngramGate", inputs, [F]), inputs)
    np.testing.assert_array_equal(got, np.full((1, 1, 1, 2), 0.5))  # not the gate of the least product, 1e-6
    assert "conv_norm_scale" in refusal("EngramGate", inputs, [F, F])
    assert "input 3: expected shape [1, 2]" in refusal("EngramGate", [key, query, value, ones[0], ones], [F])


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("scale", [None, (4, 6), (24,), (6,)])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("scale_dtype", [F, H])
def test_branchwise_rms_norm(dtype, scale, flat, scale_dtype):
    rng = np.random.default_rng(7)
    x = random(rng, 2, 3, 4, 6, dtype=dtype)
    s = None if scale is None else random(rng, *scale, dtype=scale_dtype)
    want = rms(wide(x), 1e-3) * (1 if s is None else wide(s).reshape(-1, 6))
    given, attributes = (x.reshape(2, 3, 24), {"num_branches": 4}) if flat else (x, {})
    want = want.reshape(given.shape)
    check("BranchwiseRMSNorm", [given, s], [dtype], [want], epsilon=1e-3, **attributes)


MIXES = [(4,), (4, 1), (4, 6)]


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("mix", [*MIXES, (24,)])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("mix_dtype", [F, H])
def test_pre_mix(dtype, mix, flat, mix_dtype):
    flat = flat or mix == (24,)
    rng = np.random.default_rng(8)
    x, m = random(rng, 2, 3, 4, 6, dtype=dtype), random(rng, 2, 3, *mix, dtype=mix_dtype)
    want = 0.5 * (wide(x) * wide(m).reshape(2, 3, 4, -1)).sum(2)
    given, attributes = (x.reshape(2, 3, 24), {"num_branches": 4}) if flat else (x, {})
    check("HyperConnectionPreMix", [given, m], [dtype], [want], reduction_scale=0.5, **attributes)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("streams", [False, True])
def test_post_mix(dtype, mix, flat, streams):
    rng = np.random.default_rng(9)
    x, block = random(rng, 2, 3, 4, 6, dtype=dtype), random(rng, 2, 3, 6, dtype=dtype)
    post, between = random(rng, 2, 3, *mix), random(rng, 2, 3, 4, 4) if streams else None
    want = wide(x) if between is None else np.einsum("...ck,...ch->...kh", wide(between), wide(x))
    want = want + wide(post).reshape(2, 3, 4, -1) * wide(block)[..., None, :]
    given, attributes = (x.reshape(2, 3, 24), {"num_branches": 4}) if flat else (x, {})
    inputs = [given, block, post, between]
    check("HyperConnectionPostMix", inputs, [dtype], [want.reshape(given.shape)], **attributes)


def test_branches_refuse_wrong_shapes():
    x = np.ones((2, 4, 6), F)
    assert "expected [6], [4, 6] or [24], found [5]" in refusal("BranchwiseRMSNorm", [x, np.ones(5, F)], [F])
    assert "a multiple of 'num_branches'" in refusal("BranchwiseRMSNorm", [x], [F], num_branches=5)
    assert "input 1: expected the leading" in refusal("HyperConnectionPreMix", [x, np.ones((2, 3), F)], [F])
    block, post = np.ones((2, 6), F), np.ones((2, 4), F)
    assert "'block_output'" in refusal("HyperConnectionPostMix", [x, post, post], [F])
    assert "'stream_mix'" in refusal("HyperConnectionPostMix", [x, block, post, np.ones((2, 4, 3), F)], [F])
