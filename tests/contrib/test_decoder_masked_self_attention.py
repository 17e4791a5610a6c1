"""com.microsoft.DecoderMaskedSelfAttention: one new token for each sequence, over caches of keys and values. ONNX
Runtime has it for GPUs only: results are compared with the formula in float64."""

import itertools

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model

F, H, I32 = np.float32, np.float16, np.int32
OP, HEADS, INNER = "DecoderMaskedSelfAttention", 3, 10
BOUNDS = {F: 2e-6, H: 1e-3}


def grouped(keys):
    """[.., rows, size] as shared caches store them: pieces of 16 bytes, all rows of a piece one behind the other."""
    group = 16 // keys.dtype.itemsize
    *front, rows, size = keys.shape
    pieces = keys.reshape(*front, rows, size // group, group)
    return np.ascontiguousarray(pieces.swapaxes(-2, -3)).reshape(keys.shape)


def plain(keys):
    group = 16 // keys.dtype.itemsize
    *front, rows, size = keys.shape
    pieces = keys.reshape(*front, size // group, rows, group)
    return pieces.swapaxes(-2, -3).reshape(keys.shape)


def formula(inputs, past, filter_value=-10000.0, scale=None):
    """inputs with plain keys; the result and the new keys and values [2, batch, heads, size], in float64."""
    x, weights, bias, mask, cache, addend, _, _, table = inputs
    x, weights, bias, cache = (a.astype(np.float64) for a in (x, weights, bias, cache))
    batch, size = len(x), cache.shape[-1]
    q, *new = np.split((x[:, 0] @ weights + bias).reshape(batch, 3 * HEADS, size), 3, axis=1)
    y = np.empty((batch, HEADS, size))
    for b, h in itertools.product(range(batch), range(HEADS)):
        beams = 1 if table is None else table.shape[1]
        rows = np.full(past, b) if table is None else b - b % beams + table[b // beams, b % beams, :past]
        k, v = (np.concatenate([cache[i, rows, h, np.arange(past)], new[i][b, h][None]]) for i in (0, 1))
        scores = k @ q[b, h] * (scale or 1 / np.sqrt(size))
        if mask is not None:
            scores = scores + np.where(mask[b] != 0, 0, filter_value)
        if addend is not None:
            scores = scores + addend[b % addend.shape[0], h % addend.shape[1], 0].astype(np.float64)
        weights_of_keys = np.exp(scores - scores.max())
        y[b, h] = weights_of_keys / weights_of_keys.sum() @ v
    return y.reshape(batch, 1, -1), np.stack(new)


def given(dtype, past, rows, mask=False, addend=None, beams=0, batch=4, size=16, counted=True, seed=5):
    """Inputs in order, with plain keys."""
    rng = np.random.default_rng(seed)
    hidden = HEADS * size

    def random(*shape):
        return rng.standard_normal(shape).astype(dtype)

    visible = (rng.random((batch, past + 1)) < 0.7).astype(I32)
    visible[:, -1] = 1  # the new token sees itself
    table = rng.integers(0, beams, (batch // beams, beams, rows + 2)).astype(I32) if beams else None
    return [
        random(batch, 1, INNER),
        (random(INNER, 3 * hidden) / 3).astype(dtype),
        random(3 * hidden),
        visible if mask else None,
        random(2, batch, HEADS, rows, size),
        random(*addend, 1, past + 1) if addend else None,
        np.array([past], I32),
        np.array([beams], I32) if beams and counted else None,
        table,
    ]


def run(inputs, dtype, constants=(), level=None, threads=2, **attributes):
    model = node_model(OP, inputs, [dtype, dtype], constants, num_heads=HEADS, **attributes)
    if level is None:
        return run_model(sardonyx, model, inputs, constants, threads)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = level
    session = sardonyx.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constants})


def shared(inputs):
    """The inputs with the keys of the past in groups."""
    past = inputs[4].copy()
    past[0] = grouped(past[0])
    return [*inputs[:4], past, *inputs[5:]]


def check(inputs, dtype, past, got, **attributes):
    """got: the result, and the present with plain keys."""
    y, present = got
    want, new = formula(inputs, past, **attributes)
    assert y.dtype == present.dtype == dtype and y.shape == want.shape
    assert_close(y, want, BOUNDS[dtype], "result")
    assert_close(present[:, :, :, past], new, BOUNDS[dtype], "new keys and values")
    np.testing.assert_array_equal(present[:, :, :, :past], inputs[4][:, :, :, :past])


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("past", [0, 1, 20, 31])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("addend", [None, (1, 1), (4, 1), (1, HEADS), (4, HEADS)])
@pytest.mark.parametrize("beams", [0, 1, 2, 4])
def test_shared_cache(dtype, past, mask, addend, beams):
    inputs = given(dtype, past, 32, mask, addend, beams)
    y, present = run(shared(inputs), dtype, past_present_share_buffer=1)
    assert present.shape == inputs[4].shape
    present[0] = plain(present[0])
    check(inputs, dtype, past, (y, present))
    np.testing.assert_array_equal(present[:, :, :, past + 1 :], inputs[4][:, :, :, past + 1 :])


def test_hidden_keys_share_what_is_there():
    """Where the mask hides all keys, the same number is added to all of them: float32 keeps about 2^-10 of scores."""
    inputs = given(F, 5, 8, mask=True)
    inputs[3][:] = 0
    (y, _), (want, _) = run(shared(inputs), F, past_present_share_buffer=1), formula(inputs, 5)
    assert_close(y, want, 2e-3, "result")


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("past", [0, 1, 70])
@pytest.mark.parametrize("size", [5, 16, 64])
def test_growing_cache(dtype, past, size):
    """Keys lie in rows, and a head may have any size."""
    inputs = given(dtype, past, past, mask=True, size=size)
    y, present = run(inputs, dtype)
    assert present.shape == (2, 4, HEADS, past + 1, size)
    check(inputs, dtype, past, (y, present))


@pytest.mark.parametrize("constants", [(), (1,), (1, 2)])
@pytest.mark.parametrize("dtype", [F, H])
def test_scale_filter_and_packed_weights(dtype, constants):
    inputs = given(dtype, 20, 24, mask=True, addend=(1, 1))
    attributes = {"scale": 0.5, "mask_filter_value": -2.5}
    y, present = run(shared(inputs), dtype, constants, past_present_share_buffer=1, **attributes)
    present[0] = plain(present[0])
    check(inputs, dtype, 20, (y, present), scale=0.5, filter_value=-2.5)


def test_beams_are_those_of_the_table_where_nobody_counts_them():
    inputs = given(F, 9, 12, beams=2, counted=False)
    y, present = run(shared(inputs), F, past_present_share_buffer=1)
    present[0] = plain(present[0])
    check(inputs, F, 9, (y, present))


def test_steps_follow_each_other():
    """Three tokens, each over the cache that the last one left, give what the formula does over growing caches."""
    cache = shared(given(F, 0, 8))[4]
    rows = given(F, 0, 8)[4]
    for step in range(3):
        inputs = [*given(F, step, 8, seed=step)[:4], rows, *given(F, step, 8)[5:]]
        y, cache = run([*inputs[:4], cache, *inputs[5:]], F, past_present_share_buffer=1)
        rows = np.stack([plain(cache[0]), cache[1]])
        check(inputs, F, step, (y, rows))


@pytest.mark.parametrize("dtype", [F, H])
def test_levels_and_threads_do_not_matter(dtype):
    inputs = shared(given(dtype, 20, 32, mask=True, addend=(1, 1), beams=2))
    levels = sardonyx.GraphOptimizationLevel
    results = [
        run(inputs, dtype, (1, 2), level, past_present_share_buffer=1)
        for level in (
            levels.ORT_DISABLE_ALL,
            levels.ORT_ENABLE_BASIC,
            levels.ORT_ENABLE_EXTENDED,
            levels.ORT_ENABLE_ALL,
        )
    ]
    results.append(run(inputs, dtype, (1, 2), threads=1, past_present_share_buffer=1))
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_an_empty_batch():
    inputs = given(F, 3, 8, batch=0)
    y, present = run(inputs, F, past_present_share_buffer=1)
    assert y.shape == (0, 1, HEADS * 16) and present.shape == (2, 0, HEADS, 8, 16)


BAD = [
    (
        "two tokens",
        0,
        lambda x: np.repeat(x, 2, 1),
        r"input 0 \('input'\): expected \[batch, 1, hidden\], found \[4, 2",
    ),
    ("rank of the input", 0, lambda x: x[:, 0], "expected an input of rank 3"),
    ("rows of the weights", 1, lambda x: x[1:], "expected weights of 10 rows"),
    ("columns of the weights", 1, lambda x: x[:, 1:], r"expected a bias \[143\], found \[144\]"),
    ("bias", 2, lambda x: x[1:], r"expected a bias \[144\], found \[143\]"),
    ("lengths as a mask", 3, lambda x: x[:, 0], r"input 3 \('mask_index'\): expected \[batch, total sequence\]"),
    ("keys of the mask", 3, lambda x: x[:, 1:], "mask"),
    ("heads of the past", 4, lambda x: x[:, :, 1:], r"expected a past \[2, 4, 3, 12, 16\]"),
    ("rank of the past", 4, lambda x: x[0], "expected a past"),
    ("keys of the addend", 5, lambda x: x[..., 1:], "found"),
    ("no room", 6, lambda x: x + 3, r"past_sequence_length in \[0, 11\], found 12"),
    ("negative length", 6, lambda x: -x, "past_sequence_length.*found -9"),
    ("two lengths", 6, lambda x: np.repeat(x, 2), r"input 6 \('past_sequence_length'\): expected one element"),
    ("no beams", 7, lambda x: x * 0, r"input 8 \('cache_indirection'\).*0 beams"),
    ("beams that do not divide", 7, lambda x: x + 1, r"input 8 \('cache_indirection'\).*3 beams"),
    ("two counts of beams", 7, lambda x: np.repeat(x, 2), r"input 7 \('beam_width'\): expected one element"),
    ("rank of the table", 8, lambda x: x[0], r"input 8 \('cache_indirection'\): expected"),
    ("short table", 8, lambda x: x[..., :8], r"cache_indirection.*9 or more\], found \[2, 2, 8\]"),
    ("beam beyond the last", 8, lambda x: x + 1, r"elements of cache_indirection in \[0, 2\), found 2"),
    ("beam before the first", 8, lambda x: x - 2, r"elements of cache_indirection in \[0, 2\), found -"),
]


@pytest.mark.parametrize("what,index,change,message", BAD, ids=[case[0] for case in BAD])
def test_refuses(what, index, change, message):
    inputs = given(F, 9, 12, mask=True, addend=(1, 1), beams=2)
    inputs[index] = np.ascontiguousarray(change(inputs[index]))
    with pytest.raises(Exception, match=message) as error:
        run(inputs, F, past_present_share_buffer=1)
    assert OP in str(error.value), what


def test_refuses_what_attributes_do_not_allow():
    inputs = given(F, 9, 12)
    with pytest.raises(Exception, match=r"'past_sequence_length'\): expected the length of the past, 12, .* found 9"):
        run(inputs, F)
    with pytest.raises(Exception, match="do_rotary"):
        run(inputs, F, do_rotary=1)
    odd = given(H, 9, 12, size=12)
    with pytest.raises(Exception, match=r"input 4 \('past'\): expected heads of a size divisible by 8.*found 12"):
        run(odd, H, past_present_share_buffer=1)
