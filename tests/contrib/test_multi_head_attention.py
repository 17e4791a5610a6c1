"""com.microsoft MultiHeadAttention and Attention in all their forms, compared with ONNX Runtime."""

import itertools

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model

F = np.float32


def random(rng, *shape):
    return rng.standard_normal(shape).astype(F)


def masks(rng, batch, queries, keys):
    lengths = rng.integers(1, keys + 1, batch).astype(np.int32)
    starts = (lengths * 0.3).astype(np.int32)
    return {
        "none": None,
        "lengths": lengths,
        "ends and starts": np.concatenate([lengths, starts]).astype(np.int32),
        "raw": (rng.random((batch, keys)) < 0.7).astype(np.int32),
        "per query": (rng.random((batch, queries, keys)) < 0.7).astype(np.int32),
    }


KINDS = ["none", "lengths", "raw", "per query"]


@pytest.mark.parametrize("queries,keys", [(1, 1), (1, 37), (5, 5), (40, 40), (33, 70)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [False, True])
def test_separate_inputs(queries, keys, kind, bias):
    rng = np.random.default_rng(7)
    batch, heads, size, value = 2, 3, 16, 24
    inputs = [
        random(rng, batch, queries, heads * size),
        random(rng, batch, keys, heads * size),
        random(rng, batch, keys, heads * value),
        random(rng, heads * (2 * size + value)) if bias else None,
        masks(rng, batch, queries, keys)[kind],
    ]
    compare("MultiHeadAttention", inputs, [F], num_heads=heads)


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 4), (2, 4)])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", [False, True])
def test_addends_and_causal_masks(shape, causal, mask):
    rng = np.random.default_rng(3)
    batch, heads, size, queries = 2, 4, 7, 19
    x = [random(rng, batch, queries, heads * size) for _ in range(3)]
    raw = masks(rng, batch, queries, queries)["raw"] if mask else None
    compare(
        "MultiHeadAttention",
        [*x, None, raw, random(rng, *shape, queries, queries)],
        [F],
        num_heads=heads,
        unidirectional=causal,
        scale=0.3,
        mask_filter_value=-3.0,
    )


@pytest.mark.parametrize("queries,past", [(1, 0), (1, 12), (3, 130), (20, 5)])
@pytest.mark.parametrize("causal,kind,bias", itertools.product([0, 1], ["none", "raw"], [False, True]))
def test_caches(queries, past, causal, kind, bias):
    rng = np.random.default_rng(5)
    batch, heads, size, value = 2, 3, 8, 8
    inputs = [
        random(rng, batch, queries, heads * size),
        random(rng, batch, queries, heads * size),
        random(rng, batch, queries, heads * value),
        random(rng, heads * (2 * size + value)) if bias else None,
        masks(rng, batch, queries, past + queries)[kind],
        None,
        random(rng, batch, heads, past, size),
        random(rng, batch, heads, past, value),
    ]
    compare("MultiHeadAttention", inputs, [F, F, F], num_heads=heads, unidirectional=causal)


def test_present_without_past():
    rng = np.random.default_rng(6)
    x = [random(rng, 2, 4, 12) for _ in range(3)]
    compare("MultiHeadAttention", x, [F, F, F], num_heads=3)


@pytest.mark.parametrize("bias", [False, True])
def test_cross_attention_with_keys_in_blocks(bias):
    rng = np.random.default_rng(8)
    heads, size = 2, 16
    inputs = [
        random(rng, 2, 5, heads * size),
        random(rng, 2, heads, 9, size),
        random(rng, 2, heads, 9, size),
        random(rng, 3 * heads * size) if bias else None,
    ]
    compare("MultiHeadAttention", inputs, [F], num_heads=heads)


def test_scores_are_given_out():
    rng = np.random.default_rng(9)
    x = [random(rng, 2, 6, 12) for _ in range(3)]
    compare("MultiHeadAttention", x, [F, None, None, F], num_heads=3)


@pytest.mark.parametrize("queries", [1, 6, 30])
@pytest.mark.parametrize("kind", ["none", "lengths", "ends and starts", "raw", "per query"])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("constant", [False, True])
def test_projected_attention(queries, kind, causal, constant):
    rng = np.random.default_rng(11)
    batch, heads, hidden, columns = 2, 4, 32, 20
    # Weights as layers have them: with scores of 130, which unscaled ones give, both engines are 4e-5 from float64.
    inputs = [
        random(rng, batch, queries, columns),
        random(rng, columns, 3 * hidden) / F(np.sqrt(columns)),
        random(rng, 3 * hidden),
        masks(rng, batch, queries, queries)[kind],
    ]
    compare("Attention", inputs, [F], constants=(1, 2) if constant else (), num_heads=heads, unidirectional=causal)


@pytest.mark.parametrize("past", [0, 3, 150])
@pytest.mark.parametrize("queries", [1, 4])
def test_projected_attention_with_a_past(past, queries):
    rng = np.random.default_rng(12)
    batch, heads, hidden = 2, 4, 16
    inputs = [
        random(rng, batch, queries, 10),
        random(rng, 10, 3 * hidden),
        random(rng, 3 * hidden),
        None,
        random(rng, 2, batch, heads, past, hidden // heads),
    ]
    compare("Attention", inputs, [F, F], num_heads=heads, unidirectional=1)


def test_projected_attention_with_an_addend():
    rng = np.random.default_rng(14)
    inputs = [random(rng, 2, 6, 10), random(rng, 10, 48), random(rng, 48), None, None, random(rng, 1, 4, 6, 6)]
    compare("Attention", inputs, [F], num_heads=4)


def test_projected_attention_with_sizes_of_its_own():
    rng = np.random.default_rng(13)
    inputs = [random(rng, 2, 9, 10), random(rng, 10, 16 + 16 + 24), random(rng, 56)]
    compare("Attention", inputs, [F], num_heads=4, qkv_hidden_sizes=[16, 16, 24], scale=0.2)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("kind", ["none", "lengths", "raw"])
@pytest.mark.parametrize("past", [None, 5])
@pytest.mark.parametrize("constant", [False, True])
def test_quantized_attention(signed, columns, kind, past, constant):
    rng = np.random.default_rng(15)
    batch, queries, heads, hidden, inner = 2, 6, 4, 32, 20
    count = 3 * hidden if columns else 1
    weight_type = np.int8 if signed else np.uint8
    low, high = (-128, 128) if signed else (0, 256)
    # Without VNNI ONNX Runtime's sums of two products overflow for larger int8 weights, unless they are constants.
    weights = (-64, 64) if signed and not constant else (low, high)
    inputs = [
        rng.integers(0, 256, (batch, queries, inner)).astype(np.uint8),
        rng.integers(weights[0], weights[1], (inner, 3 * hidden)).astype(weight_type),
        random(rng, 3 * hidden),
        np.array([0.01], F),
        (rng.random(count) * 0.02).astype(F),
        masks(rng, batch, queries, queries + (past or 0))[kind],
        np.array([120], np.uint8),
        rng.integers(low + 100, high - 100, count).astype(weight_type),
        None if past is None else random(rng, 2, batch, heads, past, hidden // heads),
    ]
    inputs[3], inputs[6] = inputs[3].reshape(()), inputs[6].reshape(())
    if not columns:
        inputs[4], inputs[7] = inputs[4].reshape(()), inputs[7].reshape(())
    compare(
        "QAttention",
        inputs,
        [F] if past is None else [F, F],
        constants=(1, 4, 7) if constant else (),
        num_heads=heads,
        unidirectional=1 if past else 0,
    )


def decoder_inputs(rng, past, rows, mask, bias, beams):
    batch, heads, size = 4, 3, 8
    table = rng.integers(0, beams, (batch // beams, beams, rows)).astype(np.int32) if beams else None
    return [
        *(random(rng, batch, 1, heads * size) for _ in range(3)),
        masks(rng, batch, 1, past + 1)["raw"] if mask else None,
        None,
        random(rng, batch, heads, rows, size),
        random(rng, batch, heads, rows, size),
        np.array([past], np.int32),
        np.array([beams], np.int32) if beams else None,
        table,
        random(rng, 3 * heads * size) if bias else None,
    ]


@pytest.mark.parametrize("past", [1, 20])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("beams", [0, 2])
def test_decoder_masked_attention(past, mask, bias, beams):
    inputs = decoder_inputs(np.random.default_rng(16), past, 32, mask, bias, beams)
    compare(
        "DecoderMaskedMultiHeadAttention",
        inputs,
        [F, F, F],
        num_heads=3,
        past_present_share_buffer=1,
        check=lambda index, array: array if index == 0 else array[:, :, : past + 1],
    )


def test_decoder_masked_attention_packed_and_with_growing_caches():
    """Forms that ONNX Runtime's CPU refuses, against those it takes."""
    past = 20
    inputs = decoder_inputs(np.random.default_rng(18), past, past + 1, True, True, 0)
    want = compare("DecoderMaskedMultiHeadAttention", inputs, [F, F, F], num_heads=3, past_present_share_buffer=1)
    packed = [np.concatenate(inputs[:3], -1), None, None, *inputs[3:]]
    growing = [*inputs[:5], inputs[5][:, :, :past], inputs[6][:, :, :past], None, *inputs[8:]]
    for other, attributes in ((packed, {"past_present_share_buffer": 1}), (growing, {})):
        model = node_model("DecoderMaskedMultiHeadAttention", other, [F, F, F], num_heads=3, **attributes)
        for ours, theirs in zip(run_model(sardonyx, model, other), want, strict=True):
            assert_close(ours, theirs, 2e-6, "decoder")


@pytest.mark.parametrize("bias", [False, True])
def test_decoder_masked_cross_attention(bias):
    rng = np.random.default_rng(17)
    batch, heads, size = 2, 3, 8
    inputs = [
        random(rng, batch, 1, heads * size),
        random(rng, batch, heads, 9, size),
        random(rng, batch, heads, 9, size),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        random(rng, 3 * heads * size) if bias else None,
    ]
    compare("DecoderMaskedMultiHeadAttention", inputs, [F], num_heads=heads)
