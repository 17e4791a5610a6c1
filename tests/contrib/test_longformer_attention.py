"""com.microsoft.LongformerAttention: windows and global tokens. ONNX Runtime has it for GPUs only: results are compared
with the formula in float64."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model

F, H, I32 = np.float32, np.float16, np.int32
OP, HEADS = "LongformerAttention", 3
BOUNDS = {F: 3e-6, H: 1e-3}


def formula(inputs, window):
    """The result in float64, with all scores."""
    x, weight, bias, mask, global_weight, global_bias = (a.astype(np.float64) for a in inputs[:6])
    is_global = inputs[6] != 0
    batch, sequence, hidden = x.shape
    size = hidden // HEADS

    def attend(weight, bias, visible):
        q, k, v = (
            part.reshape(batch, sequence, HEADS, size).swapaxes(1, 2) for part in np.split(x @ weight + bias, 3, -1)
        )
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(size) + mask[:, None, None]
        scores = np.where(visible[:, None], scores, -np.inf)
        parts = np.exp(scores - scores.max(-1, keepdims=True))
        return (parts / parts.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(batch, sequence, hidden)

    positions = np.arange(sequence)
    near = np.abs(positions[:, None] - positions) <= window
    local = attend(weight, bias, near[None] | is_global[:, None])
    everything = attend(global_weight, global_bias, np.ones((batch, sequence, sequence), bool))
    y = np.where(is_global[..., None], everything, local)
    return np.where((mask < 0)[..., None], 0, y)


def given(dtype, window, blocks, globals_=(), masked=0, batch=2, size=8, seed=3):
    """globals_: positions, in the last sequence one less; masked: tokens at the end of the first sequence."""
    rng = np.random.default_rng(seed)
    sequence, hidden = 2 * window * blocks, HEADS * size

    def random(*shape):
        return rng.standard_normal(shape)

    flags = np.zeros((batch, sequence), I32)
    flags[:, list(globals_)] = 1
    flags[-1:, list(globals_[-1:])] = 0
    mask = np.zeros((batch, sequence))
    mask[:1, sequence - masked :] = -10000
    floats = [
        random(batch, sequence, hidden),
        random(hidden, 3 * hidden) / 4,
        random(3 * hidden),
        mask,
        random(hidden, 3 * hidden) / 4,
        random(3 * hidden),
    ]
    return [*(a.astype(dtype) for a in floats), flags]


def run(inputs, window, constants=(), threads=2, level=None, heads=HEADS):
    model = node_model(OP, inputs, [inputs[0].dtype], constants, num_heads=heads, window=window)
    if level is None:
        return run_model(sardonyx, model, inputs, constants, threads)[0]
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = level
    session = sardonyx.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs) if i not in constants})[0]


def check(inputs, window, **options):
    y, want = run(inputs, window, **options), formula(inputs, window)
    assert y.dtype == inputs[0].dtype and y.shape == want.shape
    assert_close(y, want, BOUNDS[inputs[0].dtype.type], "result")
    np.testing.assert_array_equal(y[inputs[3] < 0], 0)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("window,blocks", [(1, 1), (1, 40), (3, 1), (3, 25), (32, 4), (70, 2), (150, 3)])
@pytest.mark.parametrize("globals_", [(), (0,), (0, 1, 5), (1, -1)])
def test_windows_and_global_tokens(dtype, window, blocks, globals_):
    sequence = 2 * window * blocks
    check(given(dtype, window, blocks, [g for g in globals_ if g < sequence]), window)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("masked", [1, 7, 100, 160])
def test_masked_tokens_give_zeros_and_are_not_seen(dtype, masked):
    """Windows beyond the last token that is there contain masked tokens only."""
    check(given(dtype, 20, 4, (0, 77, 150), masked), 20)


@pytest.mark.parametrize("dtype", [F, H])
def test_more_global_tokens_than_a_window(dtype):
    check(given(dtype, 2, 30, range(0, 120, 3)), 2)
    check(given(dtype, 2, 5, range(20)), 2)


def test_the_mask_is_added_to_the_scores():
    """A positive number makes a token more important; any other flag than 0 makes a token global."""
    inputs = given(F, 8, 10, (3, 90))
    inputs[3] = np.random.default_rng(1).random(inputs[3].shape).astype(F)
    inputs[6] *= -5
    check(inputs, 8)


@pytest.mark.parametrize("dtype", [F, H])
def test_levels_threads_and_constants_do_not_matter(dtype):
    inputs = given(dtype, 16, 6, (0, 100), 30, size=16)
    levels = sardonyx.GraphOptimizationLevel
    results = [
        run(inputs, 16, (1, 2, 4, 5), level=level)
        for level in (
            levels.ORT_DISABLE_ALL,
            levels.ORT_ENABLE_BASIC,
            levels.ORT_ENABLE_EXTENDED,
            levels.ORT_ENABLE_ALL,
        )
    ]
    results += [run(inputs, 16, threads=1), run(inputs, 16, (1,), threads=3)]
    assert_close(results[0], formula(inputs, 16), BOUNDS[dtype], "result")
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("batch,blocks", [(0, 2), (2, 0)])
def test_nothing_to_do(batch, blocks):
    inputs = given(F, 4, blocks, batch=batch)
    assert run(inputs, 4).shape == inputs[0].shape


BAD = [
    ("rank of the input", 0, lambda x: x[0], r"expected \[batch, sequence, hidden\]"),
    ("sequence", 0, lambda x: x[:, 1:], r"divisible by two windows of 4 .*found \[2, 15, 24\]"),
    ("hidden size", 0, lambda x: x[..., 1:], r"divisible by 3 heads, found \[2, 16, 23\]"),
    ("weight", 1, lambda x: x[:, 1:], r"input 1 \('weight'\): expected \[24, 72\], found \[24, 71\]"),
    ("bias", 2, lambda x: x[1:], r"input 2 \('bias'\): expected \[72\], found \[71\]"),
    ("mask", 3, lambda x: x[:, None], r"input 3 \('mask'\): expected \[2, 16\], found \[2, 1, 16\]"),
    ("global weight", 4, lambda x: x[1:], r"input 4 \('global_weight'\): expected \[24, 72\], found \[23, 72\]"),
    ("global bias", 5, lambda x: x[1:], r"input 5 \('global_bias'\): expected \[72\], found \[71\]"),
    ("global", 6, lambda x: x[1:], r"input 6 \('global'\): expected \[2, 16\], found \[1, 16\]"),
]


@pytest.mark.parametrize("what,index,change,message", BAD, ids=[case[0] for case in BAD])
def test_refuses(what, index, change, message):
    inputs = given(F, 4, 2, (0,))
    inputs[index] = np.ascontiguousarray(change(inputs[index]))
    with pytest.raises(Exception, match=message) as error:
        run(inputs, 4)
    assert OP in str(error.value), what


@pytest.mark.parametrize("window,heads,message", [(0, 3, "'window': .* found 0"), (4, 0, "'num_heads': .* found 0")])
def test_refuses_attributes(window, heads, message):
    with pytest.raises(Exception, match=message):
        run(given(F, 4, 2), window, heads=heads)
