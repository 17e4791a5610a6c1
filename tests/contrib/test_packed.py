"""com.microsoft operators on sequences without padding: RemovePadding, RestorePadding, PackedAttention,
PackedMultiHeadAttention; and the addends RelativePositionBias and GatedRelativePositionBias. ONNX Runtime has them for
GPUs only: results are compared with the formulas in float64, and with the operators on padded sequences."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model

F, H, I32 = np.float32, np.float16, np.int32
LENGTHS = [[1, 2, 4], [4, 4, 4], [0, 3, 1], [1], [2, 0]]


def layout(lengths, longest):
    """token_offset [batch, sequence] and the sums of the lengths."""
    places = [b * longest + i for b, n in enumerate(lengths) for i in range(n)]
    rest = [b * longest + i for b, n in enumerate(lengths) for i in range(n, longest)]
    sums = np.concatenate([[0], np.cumsum(lengths)])
    return np.array(places + rest, I32).reshape(len(lengths), longest), sums.astype(I32)


def run(op, inputs, outputs, **attributes):
    return run_model(sardonyx, node_model(op, inputs, outputs, **attributes), inputs)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_padding_goes_and_comes_back(lengths, dtype):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((len(lengths), 4, 5)).astype(dtype)
    tokens, offsets, sums, longest = run("RemovePadding", [x, np.array(lengths, I32)], [dtype, I32, I32, I32])
    want_offsets, want_sums = layout(lengths, 4)
    np.testing.assert_array_equal(tokens, np.concatenate([x[b, :n] for b, n in enumerate(lengths)]))
    np.testing.assert_array_equal(offsets, want_offsets)
    np.testing.assert_array_equal(sums, want_sums)
    np.testing.assert_array_equal(longest, [max(lengths)])
    (back,) = run("RestorePadding", [tokens, offsets], [dtype])
    kept = np.arange(4)[None, :] < np.array(lengths)[:, None]
    np.testing.assert_array_equal(back, np.where(kept[..., None], x, 0))


@pytest.mark.parametrize(
    "op,inputs,message",
    [
        ("RemovePadding", [np.ones((2, 3, 4), F), np.array([1, 4], I32)], "0 to 3 tokens .* found 4 in sequence 1"),
        ("RemovePadding", [np.ones((2, 3, 4), F), np.array([1], I32)], "a number of tokens for each sequence"),
        ("RestorePadding", [np.ones((2, 3), F), np.array([[0, 7]], I32)], "offsets in .0, 2., found 7 for token 1"),
        ("RestorePadding", [np.ones((3, 3), F), np.array([[0, 1]], I32)], "of at least as many"),
    ],
)
def test_padding_is_refused(op, inputs, message):
    with pytest.raises(Exception, match=message):
        run(op, inputs, [F] if op == "RestorePadding" else [F, I32, I32, I32])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, heads, addend=0, scale=None):
    """Rows of one sequence [length, heads * size] in float64."""

    def split(x):
        return x.astype(np.float64).reshape(len(x), heads, -1).transpose(1, 0, 2)

    q, k, v = split(q), split(k), split(v)
    scores = q @ k.transpose(0, 2, 1) * (scale or q.shape[-1] ** -0.5) + addend
    return (softmax(scores) @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)


def of_sequences(lengths, q, k, v, heads, bias=None, scale=None):
    ends = np.cumsum(lengths)
    rows = []
    for b, (end, n) in enumerate(zip(ends, lengths, strict=True)):
        part = slice(end - n, end)
        addend = 0 if bias is None else bias[b % len(bias), :, :n, :n]
        if n:
            rows.append(attention(q[part], k[part], v[part], heads, addend, scale))
    return np.concatenate(rows)


@pytest.mark.parametrize("dtype,bound", [(F, 3e-6), (H, 4e-3)])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packed_attention(lengths, biased, dtype, bound):
    rng = np.random.default_rng(2)
    longest, heads, tokens = 4, 2, sum(lengths)
    x = rng.standard_normal((tokens, 6)).astype(dtype)
    w = (rng.standard_normal((6, 24)) * 0.3).astype(dtype)
    b = rng.standard_normal(24).astype(dtype)
    bias = rng.standard_normal((len(lengths), heads, longest, longest)).astype(dtype) if biased else None
    (got,) = run("PackedAttention", [x, w, b, *layout(lengths, longest), bias], [dtype], num_heads=heads)
    qkv = x.astype(np.float64) @ w.astype(np.float64) + b.astype(np.float64)
    want = of_sequences(lengths, qkv[:, :8], qkv[:, 8:16], qkv[:, 16:], heads, bias)
    assert got.shape == want.shape
    assert_close(got, want, bound, "against float64")


def test_packed_attention_with_other_values():
    rng = np.random.default_rng(3)
    lengths = [3, 1]
    x, w, b = (rng.standard_normal(s).astype(F) for s in ((4, 6), (6, 8 + 8 + 4), (20,)))
    inputs = [x, w, b, *layout(lengths, 3)]
    (got,) = run("PackedAttention", inputs, [F], num_heads=2, qkv_hidden_sizes=[8, 8, 4], scale=0.7)
    qkv = x.astype(np.float64) @ w + b
    assert_close(got, of_sequences(lengths, qkv[:, :8], qkv[:, 8:16], qkv[:, 16:], 2, scale=0.7), 3e-6, "float64")


@pytest.mark.parametrize("dtype,bound", [(F, 3e-6), (H, 4e-3)])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packed_multi_head(lengths, with_bias, together, dtype, bound):
    rng = np.random.default_rng(4)
    heads, size, tokens = 2, 4, sum(lengths)
    q, k, v = (rng.standard_normal((tokens, heads * size)).astype(dtype) for _ in range(3))
    bias = rng.standard_normal(3 * heads * size).astype(dtype) if with_bias else None
    given = [q, k, v]
    if together:
        given = [np.stack([x.reshape(tokens, heads, size) for x in given], 2), None, None]
    (got,) = run("PackedMultiHeadAttention", [*given, bias, *layout(lengths, 4)], [dtype], num_heads=heads)
    if with_bias:
        q, k, v = (x.astype(np.float64) + part for x, part in zip((q, k, v), np.split(bias, 3), strict=True))
    want = of_sequences(lengths, q, k, v, heads)
    assert got.shape == want.shape
    assert_close(got, want, bound, "against float64")


def test_packed_multi_head_refuses():
    offsets, sums = layout([1, 2], 2)
    x = np.ones((3, 8), F)
    with pytest.raises(Exception, match="expected a key and a value together"):
        run("PackedMultiHeadAttention", [x, x, None, None, offsets, sums], [F], num_heads=2)
    with pytest.raises(Exception, match="tokens, heads, 3, size"):
        run("PackedMultiHeadAttention", [x, None, None, None, offsets, sums], [F], num_heads=2)
    with pytest.raises(Exception, match="num_heads.*at least 1, found 0"):
        run("PackedMultiHeadAttention", [x, x, x, None, offsets, sums], [F], num_heads=0)


def bucket(distance, buckets, both_ways, far):
    """As the T5 paper's code has it."""
    first = 0
    if both_ways:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(0, -distance)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    large = exact + int(np.log(F(distance) / F(exact)) / np.log(F(far) / F(exact)) * F(buckets - exact))
    return first + min(large, buckets - 1)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("both_ways", [0, 1])
@pytest.mark.parametrize(
    "queries,keys,buckets,far", [(1, 1, 4, 4), (7, 7, 8, 16), (200, 200, 32, 128), (3, 40, 16, 20)]
)
def test_relative_positions(queries, keys, buckets, far, both_ways, dtype):
    rng = np.random.default_rng(5)
    heads = 3
    table = rng.standard_normal((heads, buckets)).astype(dtype)  # column by column
    lengths = [np.array([n], np.int64) for n in (queries, keys)]
    inputs = [table.reshape(buckets, heads), *lengths]
    (got,) = run("RelativePositionBias", inputs, [dtype], max_distance=far, is_bidirectional=both_ways)
    at = np.array([[bucket(k - q, buckets, both_ways, far) for k in range(keys)] for q in range(queries)])
    np.testing.assert_array_equal(got, table[:, at][None])


@pytest.mark.parametrize("far", [1, 3, 4, 8])
def test_a_distance_below_the_exact_ones(far):
    table = np.arange(16, dtype=F).reshape(16, 1)
    (got,) = run("RelativePositionBias", [table, np.array([40]), np.array([40])], [F], max_distance=far)
    assert got.min() == 0 and got.max() == 15


def test_relative_positions_refuse():
    with pytest.raises(Exception, match="-1"):
        run("RelativePositionBias", [np.ones((1, 4), F), np.array([-1]), np.array([2])], [F], max_distance=8)
    with pytest.raises(Exception, match="max_distance.*at least 1, found 0"):
        run("RelativePositionBias", [np.ones((4, 4), F), np.array([1]), np.array([2])], [F], max_distance=0)


@pytest.mark.parametrize("dtype,bound", [(F, 2e-6), (H, 3e-3)])
@pytest.mark.parametrize("packed", [False, True])
def test_gated_positions(packed, dtype, bound):
    rng = np.random.default_rng(6)
    batch, length, heads, size, columns = 2, 5, 3, 4, 6
    query = rng.standard_normal((batch, length, heads * size)).astype(dtype)
    query_bias, bias = (rng.standard_normal(n).astype(dtype) for n in (heads * size, columns))
    positions = rng.standard_normal((1, heads, length, length)).astype(dtype)
    weight = rng.standard_normal((size, columns)).astype(dtype)
    eco = rng.standard_normal((1, heads, 1, 1)).astype(dtype)
    lengths = [2, 5]
    kept = np.arange(length)[None, :] < np.array(lengths)[:, None]
    inputs = [query, query_bias, positions, weight, bias, eco]
    if packed:
        inputs = [query[kept], *inputs[1:], layout(lengths, length)[0]]
    (got,) = run("GatedRelativePositionBias", inputs, [dtype], num_heads=heads)
    q = query.astype(np.float64) + query_bias
    if packed:
        q = np.where(kept[..., None], q, 0)
    q = q.reshape(batch, length, heads, size).transpose(0, 2, 1, 3)
    u, r = np.moveaxis(1 / (1 + np.exp(-(q @ weight + bias).reshape(batch, heads, length, 2, -1).sum(-1))), -1, 0)
    want = (u * (r * eco[..., 0].astype(np.float64) - 1) + 2)[..., None] * positions
    assert_close(got, want, bound, "against float64")


def test_gated_positions_refuse():
    ones = [np.ones(s, F) for s in ((1, 2, 4), (4,), (1, 2, 2, 2), (2, 3), (3,), (1, 2, 1, 1))]
    with pytest.raises(Exception, match="an even D"):
        run("GatedRelativePositionBias", ones, [F], num_heads=2)
