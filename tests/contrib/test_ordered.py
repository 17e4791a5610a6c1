"""com.microsoft QuantizeWithOrder, DequantizeWithOrder, QOrderedGelu, QOrderedLayerNormalization, QOrderedMatMul and
QOrderedAttention, which ONNX Runtime runs on a GPU only: compared with float64, rounded where the operators round."""

import math

import numpy as np
import pytest
from onnx import TensorProto
from reference import D, F, H, random, refusal, run, wide

B = np.int8
COL, ROW, COL32, TILES8, TILES32 = range(5)
erf = np.vectorize(math.erf, otypes=[D])


def place(order, rows, columns):
    """[rows, columns]: where each element lies, by the text of cublasLtOrder_t."""
    r, c = np.mgrid[:rows, :columns]
    group, c32 = c // 32 * 32 * rows, c % 32
    return {
        COL: c * rows + r,
        ROW: r * columns + c,
        COL32: group + r * 32 + c32,
        TILES8: group + r // 8 * 256 + r % 2 * 128 + c32 // 4 * 16 + r % 8 // 2 * 4 + c % 4,
        TILES32: group + r // 32 * 1024 + ((r % 8 // 2 * 4 + r % 32 // 8) * 2 + r % 2) * 32 + c32,
    }[order]


def ordered(x, order):
    """x, whose last two dimensions are matrices, in the memory order; the shape stays."""
    rows, columns = x.shape[-2:]
    y = np.empty_like(x).reshape(-1, rows * columns)
    y[:, place(order, rows, columns).ravel()] = x.reshape(-1, rows * columns)
    return y.reshape(x.shape)


def rounded(x):
    return np.clip(np.rint(x), -128, 127)


def close(got, want, ties=0.002):
    """Equal but for numbers beside a half, which may be rounded the other way: few of them."""
    assert got.dtype == B
    assert got.shape == want.shape
    far = np.abs(got.astype(int) - want)
    assert far.max(initial=0) <= 1
    assert far.sum() <= max(2, ties * want.size), f"{far.sum()} of {want.size} differ"


def scale(x):
    return np.array(x, F)


def numbers(seed, *shape):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(B)


@pytest.mark.parametrize("order", range(5))
def test_orders_are_permutations(order):
    assert sorted(place(order, 64, 96).ravel()) == list(range(64 * 96))


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("shape", [(64, 96), (2, 32, 32), (2, 3, 32, 64), (0, 32, 32)])
def test_quantize(dtype, order, shape):
    x = random(1, *shape, dtype=dtype)
    want = ordered(rounded(wide(x) / 0.02), order)
    (got,) = run("QuantizeWithOrder", [x, scale(0.02)], [B], order_input=ROW, order_output=order)
    close(got, want)
    q = numbers(2, *shape)
    to = TensorProto.FLOAT16 if dtype == H else TensorProto.FLOAT
    (back,) = run(
        "DequantizeWithOrder", [ordered(q, order), scale(0.5)], [dtype], order_input=order, order_output=ROW, to=to
    )
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, q * 0.5)


def test_quantize_saturates_and_takes_vectors():
    x = np.array([-1e9, -1.5, -0.5, 0.5, 1.5, np.inf, np.nan], F)
    (got,) = run("QuantizeWithOrder", [x, scale(1)], [B], order_input=ROW, order_output=ROW)
    np.testing.assert_array_equal(got, [-128, -2, 0, 0, 2, 127, -128])
    (got,) = run("QuantizeWithOrder", [np.array(3, F), scale(2)], [B], order_input=ROW, order_output=COL)
    assert got == 2


def test_quantize_refuses():
    x = np.ones((8, 32), F)
    message = refusal("QuantizeWithOrder", [x, scale(1)], [B], order_input=ROW, order_output=TILES32)
    assert "expected multiples of 32 rows and 32 columns in order 4 (COL32_2R_4R4), found 8 and 32" in message
    message = refusal("QuantizeWithOrder", [x, scale(1)], [B], order_input=ROW, order_output=5)
    assert "'order_output': expected an order in [0, 4], found 5" in message
    message = refusal("QuantizeWithOrder", [x, np.ones(2, F)], [B], order_input=ROW, order_output=ROW)
    assert "input 1: expected one scale, found shape [2]" in message
    message = refusal("QuantizeWithOrder", [x, scale(0)], [B], order_input=ROW, order_output=ROW)
    assert "input 1: expected a scale above 0, found 0" in message
    q = numbers(1, 4, 4)
    message = refusal(
        "DequantizeWithOrder", [q, scale(1)], [D], order_input=ROW, order_output=ROW, to=TensorProto.DOUBLE
    )
    assert "'to': expected float or float16, found double" in message


@pytest.mark.parametrize("shape", [(64,), (3, 100), (0, 4), ()])
def test_gelu(shape):
    x = numbers(3, *shape)
    real = x * 0.03
    want = rounded(real * 0.5 * (1 + erf(real / math.sqrt(2))) / 0.02) if x.size else x
    for orders in [{}, {"order_X": COL32, "order_Y": COL32}]:
        (got,) = run("QOrderedGelu", [x, scale(0.03), scale(0.02)], [B], **orders)
        close(got, np.asarray(want))
    assert "'order_Y'" in refusal("QOrderedGelu", [x, scale(1), scale(1)], [B], order_X=ROW, order_Y=COL)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape,axis", [((2, 3, 40), -1), ((2, 3, 40), 1), ((5, 1), -1), ((2, 768), 1), ((0, 4), -1)])
def test_layer_normalization(dtype, bias, shape, axis):
    x, size = numbers(4, *shape), int(np.prod(shape[axis:]))
    gamma, beta = random(5, size, dtype=dtype), random(6, size, dtype=dtype) if bias else None
    rows = (x * 0.04).reshape(-1, size)
    norm = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-3)
    want = rounded((norm * wide(gamma) + (wide(beta) if bias else 0)) / 0.05).reshape(shape)
    (got,) = run("QOrderedLayerNormalization", [x, scale(0.04), gamma, beta, scale(0.05)], [B], axis=axis, epsilon=1e-3)
    close(got, want)


def test_layer_normalization_refuses():
    inputs = [numbers(1, 2, 4), scale(1), np.ones(3, F), None, scale(1)]
    message = refusal("QOrderedLayerNormalization", inputs, [B])
    assert "input 2: expected 4 values, found shape [3]" in message
    inputs[2] = np.ones(4, F)
    message = refusal("QOrderedLayerNormalization", inputs, [B], order_X=COL32, order_Y=COL32)
    assert "'order_X': expected 1 (ROW), found 2 (COL32)" in message


@pytest.mark.parametrize("constants", [(), (2,)])
@pytest.mark.parametrize("orders", [(ROW, COL), (COL32, TILES8), (COL32, TILES32), (ROW, ROW)])
@pytest.mark.parametrize("a,b", [((32, 64), (64, 96)), ((3, 32, 64), (64, 32)), ((2, 32, 32), (2, 32, 64))])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("addends", [(), ("bias",), ("c",), ("bias", "c")])
def test_matmul(constants, orders, a, b, columns, addends):
    x, w = numbers(7, *a), numbers(8, *b)
    b_scale = np.linspace(0.001, 0.003, b[-1]).astype(F) if columns else scale(0.002)
    want = wide(x) @ wide(w) * (0.02 * wide(b_scale))
    bias = random(9, b[-1]) if "bias" in addends else None
    c = numbers(10, *want.shape) if "c" in addends else None
    want = want + (0 if bias is None else wide(bias)) + (0 if c is None else c * 0.03)
    given_c = None if c is None else ordered(c, orders[0])
    inputs = [ordered(x, orders[0]), scale(0.02), ordered(w, orders[1]), b_scale, scale(0.1), bias, given_c]
    inputs += [None if c is None else scale(0.03)]
    attributes = {"order_A": orders[0], "order_B": orders[1], "order_Y": orders[0]}
    (got,) = run("QOrderedMatMul", inputs, [B], constants, **attributes)
    close(got, ordered(rounded(want / F(0.1)), orders[0]))


def test_matmul_repeats_c_and_saturates():
    x, w = np.full((2, 3, 500), 127, B), np.full((500, 4), -128, B)
    c = numbers(1, 3, 4)
    orders = {"order_A": ROW, "order_B": COL, "order_Y": ROW}
    inputs = [x, scale(1e-6), w, scale(1), scale(1), None, c, scale(1)]
    (got,) = run("QOrderedMatMul", inputs, [B], **orders)
    close(got, np.broadcast_to(rounded(c - 127 * 128 * 500e-6), (2, 3, 4)))
    (got,) = run("QOrderedMatMul", [x, scale(1), w, scale(1), scale(1)], [B], **orders)
    assert (got == -128).all()
    (got,) = run("QOrderedMatMul", [x[:0], scale(1), w, scale(1), scale(1)], [B], **orders)
    assert got.shape == (0, 3, 4)


def test_matmul_refuses():
    x, w, one = numbers(1, 2, 3), numbers(2, 3, 4), scale(1)
    orders = {"order_A": ROW, "order_B": COL, "order_Y": ROW}
    message = refusal("QOrderedMatMul", [x, one, w[:2], one, one], [B], **orders)
    assert "input 2 ('B'): expected matrices of 3 rows, 1 or 1 of them, found 1 of 2 rows" in message
    assert "input 3: expected 1 or 4 values" in refusal(
        "QOrderedMatMul", [x, one, w, np.ones(3, F), one], [B], **orders
    )
    assert "input 5: expected 4 values" in refusal(
        "QOrderedMatMul", [x, one, w, one, one, np.ones(3, F)], [B], **orders
    )
    assert "'scale_C'" in refusal("QOrderedMatMul", [x, one, w, one, one, None, numbers(3, 2, 4)], [B], **orders)
    message = refusal("QOrderedMatMul", [x, one, w, one, one], [B], order_A=ROW, order_B=COL, order_Y=COL)
    assert "'order_Y': expected that of A, 1 (ROW), found 0 (COL)" in message
    assert "2 or 3 dimensions" in refusal("QOrderedMatMul", [x[0], one, w, one, one], [B], **orders)


# Powers of two, so that both sides round the same numbers.
X, W, GEMM, SCORES, SOFTMAX, VALUES = 2.0**-6, 2.0**-7, 2.0**-3, 2.0**-2, 2.0**-7, 2.0**-5


def attention(x, weights, biases, heads, mask, causal):
    """mask [batch, queries, keys] of bool."""
    q, k, v = (rounded((wide(x) @ wide(w) * (X * W) + b) / GEMM) for w, b in zip(weights, biases, strict=True))
    batch, sequence, hidden = q.shape
    q, k, v = (t.reshape(batch, sequence, heads, -1).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = rounded(q @ k.transpose(0, 1, 3, 2) * (GEMM * GEMM / SCORES))
    powers = np.exp((scores - scores.max(-1, keepdims=True)) * (SCORES / math.sqrt(hidden // heads)))
    powers = powers * mask[:, None] * (np.tri(sequence) if causal else 1)
    total = powers.sum(-1, keepdims=True)
    share = rounded(powers / np.where(total == 0, 1, total) / SOFTMAX)
    y = rounded(share @ v * (SOFTMAX * GEMM / VALUES))
    return y.transpose(0, 2, 1, 3).reshape(batch, sequence, hidden)


def attention_inputs(batch=2, sequence=16, inner=24, hidden=32):
    weights = [numbers(20 + i, inner, hidden) for i in range(3)]
    biases = [np.rint(random(30 + i, hidden) * F(30)) / F(64) for i in range(3)]
    x = numbers(40, batch, sequence, inner)
    given = [x, scale(X), *[scale(GEMM)] * 3, *[ordered(w, COL) for w in weights], *[scale(W)] * 3, *biases]
    return [*given, scale(SCORES), scale(SOFTMAX), scale(VALUES)], weights, biases


RULES = {"order_input": ROW, "order_weight": COL, "order_output": ROW}


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("kind", ["none", "keys", "queries", "lengths", "ranges"])
def test_attention(heads, causal, kind):
    inputs, weights, biases = attention_inputs()
    rng = np.random.default_rng(50)
    keys, every = rng.integers(0, 2, (2, 16)).astype(np.int32), rng.integers(0, 2, (2, 16, 16)).astype(np.int32)
    lengths, starts, at = np.array([16, 5], np.int32), np.array([3, 0], np.int32), np.arange(16)
    before = at[None] < lengths[:, None]
    mask, seen = {
        "none": (None, np.ones((2, 1, 16))),
        "keys": (keys, keys[:, None]),
        "queries": (every, every),
        "lengths": (lengths, before[:, None]),
        "ranges": (np.concatenate([lengths, starts]), (before & (at[None] >= starts[:, None]))[:, None]),
    }[kind]
    want = attention(inputs[0], weights, biases, heads, seen, causal)
    (got,) = run("QOrderedAttention", [*inputs, mask], [B], num_heads=heads, unidirectional=causal, **RULES)
    close(got, want)


def test_attention_of_odd_sizes_and_scales_of_columns():
    inputs, weights, biases = attention_inputs(1, 5, 7, 6)
    want = attention(inputs[0], weights, biases, 2, np.ones((1, 1, 5)), 0)
    for i in (8, 9, 10):
        inputs[i] = np.full(6, W, F)
    (got,) = run("QOrderedAttention", inputs, [B], num_heads=2, **RULES)
    close(got, want)
    (got,) = run("QOrderedAttention", [inputs[0][:0], *inputs[1:]], [B], num_heads=2, **RULES)
    assert got.shape == (0, 5, 6)


def test_attention_refuses():
    inputs = attention_inputs()[0]
    wrong = [*inputs[:6], inputs[6][:, :5], *inputs[7:]]
    assert "input 6: expected weights [24, 32], found [24, 5]" in refusal(
        "QOrderedAttention", wrong, [B], num_heads=4, **RULES
    )
    assert "divisible by 5 heads, found 32" in refusal("QOrderedAttention", inputs, [B], num_heads=5, **RULES)
    wrong = {**RULES, "order_weight": TILES8}
    message = refusal("QOrderedAttention", inputs, [B], num_heads=4, **wrong)
    assert "'order_weight': expected 0 (COL), found 3 (COL4_4R2_8C)" in message
    none = [*inputs[:14], None, *inputs[15:]]
    assert "input 14: expected a scale above 0" in refusal("QOrderedAttention", none, [B], num_heads=4, **RULES)
    mask = np.ones((2, 5), np.int32)
    assert "expected a mask" in refusal("QOrderedAttention", [*inputs, mask], [B], num_heads=4, **RULES)
