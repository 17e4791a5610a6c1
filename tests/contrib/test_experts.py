"""com.microsoft MoE and QMoE, compared with ONNX Runtime and with float64."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model

F, H = np.float32, np.float16
TOKENS, HIDDEN, INNER, EXPERTS = 9, 32, 48, 5


def random(rng, *shape):
    return rng.standard_normal(shape).astype(F)


def share(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def activate(x, kind, alpha=1.0, beta=0.0, limit=np.inf, fusion=1):
    if kind == "relu":
        return np.maximum(x, 0)
    if kind == "gelu":
        return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    if kind == "silu":
        return x / (1 + np.exp(-x))
    if kind == "identity":
        return x
    gate, factor = (x[::2], x[1::2]) if fusion == 1 else np.split(x, 2)
    gate = np.minimum(gate, limit)
    return gate / (1 + np.exp(-alpha * gate)) * (np.clip(factor, -limit, limit) + beta)


def experts(x, scores, layers, k, among_chosen, weights=None, normalize=False, **activation):
    """In float64. layers: weights and bias (or None) of fc1, then of fc2."""
    (w1, b1), (w2, b2) = layers
    y = np.zeros(x.shape)
    for t, row in enumerate(x.reshape(-1, x.shape[-1]).astype(np.float64)):
        chosen = np.argsort(-scores[t].astype(np.float64), kind="stable")[:k]
        part = (
            share(scores[t, chosen].astype(np.float64)) if among_chosen else share(scores[t].astype(np.float64))[chosen]
        )
        if weights is not None:
            part = weights[t, chosen].astype(np.float64)
            part = part / part.sum() if normalize else part
        for e, p in zip(chosen, part, strict=True):
            inner = activate(w1[e] @ row + (0 if b1 is None else b1[e]), **activation)
            y.reshape(-1, x.shape[-1])[t] += p * (w2[e] @ inner + (0 if b2 is None else b2[e]))
    return y


def floats(rng, gated, bias):
    rows = 2 * INNER if gated else INNER
    first, second = random(rng, EXPERTS, rows, HIDDEN) * F(0.2), random(rng, EXPERTS, HIDDEN, INNER) * F(0.2)
    return [
        (first, random(rng, EXPERTS, rows) if bias else None),
        (second, random(rng, EXPERTS, HIDDEN) if bias else None),
    ]


GATE = {"activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 0.7}


@pytest.mark.parametrize("kind", ["relu", "gelu", "silu", "identity", "swiglu"])
@pytest.mark.parametrize("k,normalize", [(1, 0), (2, 0), (3, 1), (5, 0)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("constants", [(), (2, 4)])
def test_moe(kind, k, normalize, bias, constants):
    rng = np.random.default_rng(1)
    layers = floats(rng, kind == "swiglu", bias)
    x, scores = random(rng, TOKENS, HIDDEN), random(rng, TOKENS, EXPERTS)
    attributes = {"k": k, "activation_type": kind, "normalize_routing_weights": normalize}
    if kind == "swiglu":
        attributes |= {"swiglu_fusion": 1, **GATE}
    inputs = [x, scores, layers[0][0], layers[0][1], layers[1][0], layers[1][1]]
    (got,) = compare("MoE", inputs, [F], constants, **attributes)
    gate = {"alpha": 1.7, "beta": 1.0, "limit": 0.7} if kind == "swiglu" else {}
    assert_close(got, experts(x, scores, layers, k, normalize, kind=kind, **gate), 2e-6, "against float64")


def test_moe_in_other_forms():
    rng = np.random.default_rng(2)
    layers = floats(rng, True, True)
    x, scores = random(rng, TOKENS, HIDDEN), random(rng, TOKENS, EXPERTS)
    inputs = [x, scores, layers[0][0], layers[0][1], layers[1][0], layers[1][1]]
    # All gates first, which ONNX Runtime's CPU kernel refuses.
    attributes = {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 2, **GATE}
    (got,) = run_model(sardonyx, node_model("MoE", inputs, [F], **attributes), inputs)
    gate = {"alpha": 1.7, "beta": 1.0, "limit": 0.7, "fusion": 2}
    assert_close(got, experts(x, scores, layers, 2, False, kind="swiglu", **gate), 2e-6, "all gates first")
    layers = floats(rng, False, False)
    inputs = [x.reshape(3, 3, HIDDEN), scores, layers[0][0], None, layers[1][0], None]
    compare("MoE", inputs, [F], k=2)
    half = [None if i is None else i.astype(H) for i in inputs]
    (got,) = run_model(sardonyx, node_model("MoE", half, [H], k=2), half)
    want = experts(
        half[0].astype(F),
        half[1].astype(F),
        [(half[2].astype(F), None), (half[4].astype(F), None)],
        2,
        False,
        kind="relu",
    )
    assert_close(got, want, 2e-3, "float16")
    equal = [inputs[0], np.zeros_like(scores), *inputs[2:]]
    compare("MoE", equal, [F], k=2)  # the later ones of equal experts


def pack(values, bits):
    per_byte = 8 // bits
    values = np.concatenate([values, np.zeros((*values.shape[:-1], -values.shape[-1] % per_byte), int)], -1)
    return (values.reshape(*values.shape[:-1], -1, per_byte) << (bits * np.arange(per_byte))).sum(-1).astype(np.uint8)


def quantized(rng, n, k, bits, block, zeros):
    """Bytes, scales, zero points (or None), and the weights that they stand for."""
    blocks = k // block if block else 1
    q = rng.integers(0, 2**bits, (EXPERTS, n, blocks, k // blocks))
    scales = (rng.random((EXPERTS, n, blocks)) * 0.3 / 2 ** (bits - 1)).astype(F)
    points = rng.integers(0, 2**bits, (EXPERTS, n, blocks)) if zeros else np.full((EXPERTS, n, blocks), 2 ** (bits - 1))
    weights = ((q - points[..., None]) * scales[..., None].astype(np.float64)).reshape(EXPERTS, n, k)
    given = None if not zeros else pack(points if block else points[..., 0], bits)
    return pack(q.reshape(EXPERTS, n, k), bits), scales if block else scales[..., 0], given, weights


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("kind", ["silu", "swiglu"])
@pytest.mark.parametrize("constant", [False, True])
def test_qmoe(bits, block, zeros, kind, constant):
    rng = np.random.default_rng(3)
    first = quantized(rng, 2 * INNER if kind == "swiglu" else INNER, HIDDEN, bits, block, zeros)
    second = quantized(rng, HIDDEN, INNER, bits, block, zeros)
    x, scores = random(rng, TOKENS, HIDDEN), random(rng, TOKENS, EXPERTS)
    b1, b2 = random(rng, *first[3].shape[:2]), random(rng, EXPERTS, HIDDEN)
    inputs = [x, scores, first[0], first[1], b1, second[0], second[1], b2, *[None] * 3, first[2], second[2]]
    attributes = {"k": 2, "activation_type": kind, "expert_weight_bits": bits}
    if kind == "swiglu":
        attributes |= {"swiglu_fusion": 1, "activation_alpha": 1.7, "activation_beta": 1.0}
    if block:
        attributes["block_size"] = block
    constants = tuple(i for i in (2, 3, 5, 6, 11, 12) if inputs[i] is not None) if constant else ()
    # Constant experts of 8 bits multiply rounded inputs in ONNX Runtime, whatever the accuracy level.
    (got,) = compare("QMoE", inputs, [F], constants, tolerance=2e-2 if bits == 8 and constant else 2e-6, **attributes)
    gate = {"alpha": 1.7, "beta": 1.0} if kind == "swiglu" else {}
    want = experts(x, scores, [(first[3], b1), (second[3], b2)], 2, True, kind=kind, **gate)
    assert_close(got, want, 2e-6, "against float64")


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize("zeros", [False, True])
def test_qmoe_has_the_same_bits_with_scales_that_fit_in_16_bits(bits, block, zeros):
    rng = np.random.default_rng(5)
    layers = [list(quantized(rng, *shape, bits, block, zeros)) for shape in ((INNER, HIDDEN), (HIDDEN, INNER))]
    for layer in layers:
        layer[1] = layer[1].astype(H).astype(F)
    x, scores = random(rng, TOKENS, HIDDEN), random(rng, TOKENS, EXPERTS)
    (first, second), attributes = layers, {"k": 2, "activation_type": "silu", "expert_weight_bits": bits}
    if block:
        attributes["block_size"] = block
    inputs = [x, scores, first[0], first[1], None, second[0], second[1], *[None] * 4, first[2], second[2]]
    constants = tuple(i for i in (2, 3, 5, 6, 11, 12) if inputs[i] is not None)
    (late,), (packed,) = (
        run_model(sardonyx, node_model("QMoE", inputs, [F], kept, **attributes), inputs, kept)
        for kept in ((), constants)
    )
    np.testing.assert_array_equal(packed, late)


@pytest.mark.parametrize("normalize", [0, 1])
def test_qmoe_with_weights_of_the_router(normalize):
    rng = np.random.default_rng(4)
    first, second = quantized(rng, INNER, HIDDEN, 4, 0, False), quantized(rng, HIDDEN, INNER, 4, 0, False)
    x, scores, weights = (
        random(rng, TOKENS, HIDDEN),
        random(rng, TOKENS, EXPERTS),
        rng.random((TOKENS, EXPERTS)).astype(F),
    )
    inputs = [x, scores, first[0], first[1], None, second[0], second[1], *[None] * 7, weights]
    (got,) = compare("QMoE", inputs, [F], k=3, activation_type="silu", normalize_routing_weights=normalize)
    layers = [(first[3], None), (second[3], None)]
    want = experts(x, scores, layers, 3, True, weights, normalize, kind="silu")
    assert_close(got, want, 2e-6, "against float64")
    half = [None if i is None or i.dtype == np.uint8 else i.astype(H) for i in inputs]
    half[2], half[5] = inputs[2], inputs[5]
    compare("QMoE", half, [H], tolerance=4e-3, k=3, activation_type="silu", normalize_routing_weights=normalize)


def test_qmoe_with_layers_of_different_bits():
    rng = np.random.default_rng(5)
    first, second = quantized(rng, INNER, HIDDEN, 8, 16, True), quantized(rng, HIDDEN, INNER, 2, 16, True)
    x, scores = random(rng, TOKENS, HIDDEN), random(rng, TOKENS, EXPERTS)
    inputs = [x, scores, first[0], first[1], None, second[0], second[1], *[None] * 4, first[2], second[2]]
    bits = {"fc1_expert_weight_bits": 8, "fc2_expert_weight_bits": 2, "block_size": 16}
    (got,) = run_model(sardonyx, node_model("QMoE", inputs, [F], k=2, **bits), inputs)
    want = experts(x, scores, [(first[3], None), (second[3], None)], 2, True, kind="relu")
    assert_close(got, want, 2e-6, "against float64")


@pytest.mark.parametrize(
    "change,attributes,message",
    [
        ({}, {"k": 6}, "'k': expected at most 5, the experts, found 6"),
        ({}, {"k": 0}, "'k': expected at least 1, found 0"),
        ({}, {"activation_type": "tanh"}, "expected relu, gelu"),
        ({}, {"activation_type": "swiglu"}, "'swiglu_fusion'"),
        ({1: (TOKENS, 4)}, {}, r"input 1: expected shape \[9, 5\], found \[9, 4\]"),
        ({4: (EXPERTS, HIDDEN, 40)}, {}, "expected fc1 weights"),
        ({3: (EXPERTS, 7)}, {}, "input 3: expected 240 elements"),
        ({6: (EXPERTS, INNER, HIDDEN)}, {}, "third layer"),
    ],
)
def test_wrong_experts_are_refused(change, attributes, message):
    shapes = {
        0: (TOKENS, HIDDEN),
        1: (TOKENS, EXPERTS),
        2: (EXPERTS, INNER, HIDDEN),
        4: (EXPERTS, HIDDEN, INNER),
    } | change
    inputs = [np.ones(shapes[i], F) if i in shapes else None for i in range(7)]
    with pytest.raises(Exception, match=message):
        run_model(sardonyx, node_model("MoE", inputs, [F], **attributes), inputs)


def test_wrong_quantized_experts_are_refused():
    rng = np.random.default_rng(6)
    first, second = quantized(rng, INNER, HIDDEN, 4, 0, False), quantized(rng, HIDDEN, INNER, 4, 0, False)
    inputs = [random(rng, TOKENS, HIDDEN), random(rng, TOKENS, EXPERTS), first[0], first[1][:, 1:], None, *second[:2]]
    with pytest.raises(Exception, match="input 3: expected 240 elements"):
        run_model(sardonyx, node_model("QMoE", inputs, [F]), inputs)
    inputs[3] = first[1]
    for attributes, message in [
        ({"block_size": 12}, "power of two"),
        ({"expert_weight_bits": 3}, "2, 4 or 8 bits"),
        ({"quant_type": "fp8"}, "fp8"),
    ]:
        with pytest.raises(Exception, match=message):
            run_model(sardonyx, node_model("QMoE", inputs, [F], **attributes), inputs)
