"""com.microsoft GroupNorm, SkipGroupNorm, BiasAdd, BiasSplitGelu and BiasSoftmax, compared with float64."""

import math

import numpy as np
import pytest
from reference import D, F, H, check, random, refusal, run, sigmoid, wide

erf = np.vectorize(math.erf, otypes=[D])


def group_norm(x, gamma, beta, groups, epsilon, last, silu):
    """x [N, C, ...], or [N, ..., C] if `last`."""
    first = np.moveaxis(wide(x), -1, 1) if last else wide(x)
    rows = first.reshape(first.shape[0], groups, -1)
    rows = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + epsilon)
    ones = (1, -1) + (1,) * (x.ndim - 2)
    y = rows.reshape(first.shape) * wide(gamma).reshape(ones) + wide(beta).reshape(ones)
    y = y * sigmoid(y) if silu else y
    return np.moveaxis(y, 1, -1) if last else y


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("parameters", [F, H])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("silu", [0, 1])
@pytest.mark.parametrize("groups,size", [(1, (2, 5, 7)), (4, (2, 5, 7)), (12, (1, 1, 1)), (3, (3, 40, 33))])
def test_group_norm(dtype, parameters, last, silu, groups, size):
    n, h, w = size
    x = random(1, *((n, h, w, 12) if last else (n, 12, h, w)), dtype=dtype) * dtype(3) + dtype(1)
    gamma, beta = random(2, 12, dtype=parameters), random(3, 12, dtype=parameters)
    want = group_norm(x, gamma, beta, groups, 1e-3, last, silu)
    attributes = {"groups": groups, "epsilon": 1e-3, "activation": silu}
    check("GroupNorm", [x, gamma, beta], [want], dtype, channels_last=last, **attributes)
    if last:
        check("GroupNorm", [x, gamma, beta], [want], dtype, **attributes)  # the attribute's default


def test_group_norm_of_large_numbers_and_nan():
    x = random(4, 1, 6, 6, 4) + F(3000)
    ones, zeros = np.ones(4, F), np.zeros(4, F)
    want = group_norm(x, ones, zeros, 2, 1e-5, 1, 0)
    check("GroupNorm", [x, ones, zeros], [want], tolerance=2e-4, groups=2, activation=0)
    x[0, 0, 0, 0] = np.nan
    (y,) = run("GroupNorm", [x, ones, zeros], [F], groups=2, activation=0)
    assert np.isnan(y[..., :2]).all() and np.isfinite(y[..., 2:]).all()
    (y,) = run("GroupNorm", [x[:0], ones, zeros], [F], groups=2, activation=1)
    assert y.shape == (0, 6, 6, 4)


def test_group_norm_refuses():
    x, four = np.ones((1, 2, 2, 4), F), np.ones(4, F)
    assert "divisible by 3 groups, found [1, 2, 2, 4]" in refusal(
        "GroupNorm", [x, four, four], [F], groups=3, activation=0
    )
    assert "'groups': expected at least 1, found 0" in refusal(
        "GroupNorm", [x, four, four], [F], groups=0, activation=0
    )
    assert "expected 0 (none) or 1 (SiLU), found 2" in refusal(
        "GroupNorm", [x, four, four], [F], groups=2, activation=2
    )
    message = refusal("GroupNorm", [x, four, np.ones(3, F)], [F], groups=2, activation=0)
    assert "input 2: expected one value for each of the 4 channels, found shape [3]" in message
    assert "rank 3 or more, found" in refusal("GroupNorm", [x[0, 0], four, four], [F], groups=2, activation=0)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("skip", ["all", "4D", "2D"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sum_too", [False, True])
def test_skip_group_norm(dtype, last, skip, bias, sum_too):
    n, c, h, w = 2, 8, 5, 3
    x = random(1, *((n, h, w, c) if last else (n, c, h, w)), dtype=dtype)
    shapes = {"all": x.shape, "4D": (n, 1, 1, c) if last else (n, c, 1, 1), "2D": (n, c)}
    added = random(2, *shapes[skip], dtype=dtype)
    b = random(3, c, dtype=dtype) if bias else None
    gamma, beta = random(4, c), random(5, c)
    channel = (1, 1, 1, c) if last else (1, c, 1, 1)
    broadcast = wide(added).reshape(shapes["4D"]) if skip == "2D" else wide(added)
    total = wide(x) + broadcast + (wide(b).reshape(channel) if bias else 0)
    want = [group_norm(total, gamma, beta, 4, 1e-5, last, 1), total]
    inputs = [x, gamma, beta, added, b]
    check("SkipGroupNorm", inputs, want[: 1 + sum_too], dtype, groups=4, activation=1, channels_last=last)


def test_skip_group_norm_refuses():
    x, four = np.ones((2, 3, 3, 4), F), np.ones(4, F)
    message = refusal("SkipGroupNorm", [x, four, four, np.ones((2, 3), F)], [F], groups=2, activation=0)
    assert "input 3 ('skip'): expected the shape of X, [2, 3, 3, 4]" in message
    assert "found shape [2, 3]" in message
    message = refusal("SkipGroupNorm", [x, four, four, x, np.ones(5, F)], [F], groups=2, activation=0)
    assert "input 4: expected one value for each of the 4 channels, found shape [5]" in message


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("shape", [(2, 5, 8), (1, 3, 1000), (0, 5, 8), (4,)])
def test_bias_add(dtype, shape):
    x, skip = random(1, *shape, dtype=dtype), random(2, *shape, dtype=dtype)
    bias = random(3, shape[-1], dtype=dtype)
    check("BiasAdd", [x, bias, skip], [wide(x) + wide(bias) + wide(skip)], dtype)


def test_bias_add_rounds_once_and_refuses():
    x = np.array([[[60000, 1]]], H)
    check("BiasAdd", [x, np.array([60000, 2**-12], H), -x], [np.array([[[60000, 2**-12]]])], H, tolerance=1e-7)
    assert "expected float[2,3,4], found float[2,3,5]" in refusal(
        "BiasAdd", [np.ones((2, 3, 4), F), np.ones(4, F), np.ones((2, 3, 5), F)], [F]
    )
    assert "'bias'" in refusal("BiasAdd", [np.ones((2, 3, 4), F), np.ones(3, F), np.ones((2, 3, 4), F)], [F])


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("shape", [(2, 5, 8), (1, 3, 2560), (2, 0, 6), (3, 4, 2)])
def test_bias_split_gelu(dtype, shape):
    x, bias = random(1, *shape, dtype=dtype) * dtype(2), random(2, shape[-1], dtype=dtype)
    left, right = np.split(wide(x) + wide(bias), 2, axis=-1)
    check("BiasSplitGelu", [x, bias], [left * right * 0.5 * (1 + erf(right / math.sqrt(2)))], dtype)


def test_bias_split_gelu_refuses():
    message = refusal("BiasSplitGelu", [np.ones((1, 2, 5), F), np.ones(5, F)], [F])
    assert "even last dimension" in message
    assert "'bias'" in refusal("BiasSplitGelu", [np.ones((1, 2, 6), F), np.ones(5, F)], [F])


def softmax(x, axis):
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1)
    e = np.exp(rows - rows.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).reshape(x.shape)


@pytest.mark.parametrize("dtype", [F, H, D])
@pytest.mark.parametrize(
    "data,bias,axis,inner",
    [
        ((2, 3, 4, 5), (2, 1, 4, 5), 2, 1),  # one row for each image
        ((2, 3, 4, 5), (2, 1, 1, 5), 3, 1),
        ((2, 3, 4, 5), (1, 1, 4, 5), 3, 0),  # the same rows again and again
        ((2, 3, 4, 5), (4, 5), -1, 0),
        ((2, 3, 4, 5), (2, 3, 4, 5), 3, 0),
        ((6, 700), (700,), 1, 1),
        ((0, 5), (1, 5), 1, 0),
    ],
)
def test_bias_softmax(dtype, data, bias, axis, inner):
    x, b = random(1, *data, dtype=dtype) * dtype(4), random(2, *bias, dtype=dtype)
    total = wide(x) + np.broadcast_to(wide(b), data)
    want = softmax(total, axis % len(data)) if x.size else total
    check("BiasSoftmax", [x, b], [want], dtype, axis=axis, is_inner_broadcast=inner)


def test_bias_softmax_hides_with_minus_infinity_and_refuses():
    bias = np.array([[0, -np.inf, 0]], F)
    (y,) = run("BiasSoftmax", [np.zeros((2, 3), F), bias], [F], axis=1, is_inner_broadcast=0)
    np.testing.assert_allclose(y, [[0.5, 0, 0.5]] * 2)
    message = refusal("BiasSoftmax", [np.zeros((4, 3), F), np.zeros((3, 3), F)], [F], axis=1, is_inner_broadcast=1)
    assert "input 1 ('bias'): expected rows of 3 elements, and a divisor of 4 of them, found shape [3, 3]" in message
    assert "axis" in refusal("BiasSoftmax", [np.zeros((4, 3), F), np.zeros(3, F)], [F], axis=2, is_inner_broadcast=1)
