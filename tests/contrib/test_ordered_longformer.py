"""com.microsoft.QOrderedLongformerAttention, which ONNX Runtime runs on a GPU only.

It is compared with float64, rounded where the operator rounds. That the biases count steps of the projections (its
kernel adds them to the scaled products as they are) and that scale_bias is not read, are facts of its kernel."""

import numpy as np
import pytest
from reference import F, refusal, run
from test_longformer_attention import BAD as BAD_FLOATS
from test_ordered import COL, ROW, TILES8, close, numbers, ordered, rounded, scale

OP, HEADS, H, I32 = "QOrderedLongformerAttention", 3, np.float16, np.int32
ORDERS = {"order_input": ROW, "order_weight": COL, "order_global_weight": COL, "order_output": ROW}
X, WEIGHT, BIAS, MASK, GLOBAL_WEIGHT, GLOBAL_BIAS, GLOBAL = 0, 2, 4, 7, 8, 10, 12
SCALES = {1: 0.02, 3: 0.01, 5: 7.0, 6: 0.03, 9: 0.012, 11: 0.025, 13: 0.011}


def given(window, blocks, globals_=(), masked=0, batch=2, size=8, seed=3):
    """Inputs with weights as matrices, not yet in their order."""
    rng = np.random.default_rng(seed)
    sequence, hidden = 2 * window * blocks, HEADS * size
    flags = np.zeros((batch, sequence), I32)
    flags[:, list(globals_)] = 1
    mask = np.zeros((batch, sequence), H)
    mask[:1, sequence - masked :] = -10000
    inputs = [None] * 14
    for i, value in SCALES.items():
        inputs[i] = scale(value)
    inputs[X] = numbers(seed, batch, sequence, hidden)
    inputs[WEIGHT], inputs[GLOBAL_WEIGHT] = (numbers(seed + i, hidden, 3 * hidden) for i in (1, 2))
    inputs[BIAS], inputs[GLOBAL_BIAS] = ((rng.standard_normal(3 * hidden) * 20).astype(F) for _ in range(2))
    inputs[MASK], inputs[GLOBAL] = mask, flags
    return inputs


def run_ordered(inputs, window, **attributes):
    inputs = list(inputs)
    for i in (WEIGHT, GLOBAL_WEIGHT):
        inputs[i] = ordered(inputs[i], COL)
    return run(OP, inputs, [np.int8], num_heads=HEADS, window=window, **(ORDERS | attributes))[0]


def formula(inputs, window):
    x, mask, is_global = inputs[X].astype(float), inputs[MASK].astype(float), inputs[GLOBAL] != 0
    scales = {i: float(inputs[i]) for i in SCALES}
    batch, sequence, hidden = x.shape
    size = hidden // HEADS

    def attend(weight, bias, weight_scale, projected_scale, visible):
        factor = scales[1] * scales[weight_scale] / scales[projected_scale]
        codes = rounded(x @ inputs[weight].astype(float) * factor + inputs[bias])
        q, k, v = (
            part.reshape(batch, sequence, HEADS, size).swapaxes(1, 2)
            for part in np.split(codes * scales[projected_scale], 3, -1)
        )
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(size) + mask[:, None, None]
        scores = np.where(visible[:, None], scores, -np.inf)
        parts = np.exp(scores - scores.max(-1, keepdims=True))
        return (parts / parts.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(batch, sequence, hidden)

    positions = np.arange(sequence)
    near = np.abs(positions[:, None] - positions) <= window
    local = attend(WEIGHT, BIAS, 3, 6, near[None] | is_global[:, None])
    everything = attend(GLOBAL_WEIGHT, GLOBAL_BIAS, 9, 11, np.ones((batch, sequence, sequence), bool))
    y = np.where(is_global[..., None], everything, local)
    return rounded(np.where((mask < 0)[..., None], 0, y) / scales[13])


@pytest.mark.parametrize("window,blocks", [(1, 1), (3, 25), (32, 4), (70, 2)])
@pytest.mark.parametrize("globals_", [(), (0,), (0, 1, 5), (1, -1)])
def test_windows_and_global_tokens(window, blocks, globals_):
    inputs = given(window, blocks, [g for g in globals_ if g < 2 * window * blocks])
    close(run_ordered(inputs, window), formula(inputs, window))


@pytest.mark.parametrize("size", [8, 5, 64])
@pytest.mark.parametrize("masked", [1, 7, 100])
def test_masked_tokens_and_sizes(masked, size):
    inputs = given(20, 4, (0, 30), masked, size=size)
    y = run_ordered(inputs, 20)
    close(y, formula(inputs, 20))
    np.testing.assert_array_equal(y[inputs[MASK] < 0], 0)


def test_projections_and_the_result_saturate():
    inputs = given(4, 5, (2,))
    inputs[6], inputs[11], inputs[13] = scale(0.004), scale(0.005), scale(0.0009)
    y = run_ordered(inputs, 4)
    close(y, formula(inputs, 4))
    assert (y == 127).any() and (y == -128).any()


def test_the_scale_of_the_bias_is_not_read():
    inputs = given(4, 5, (2,))
    want = run_ordered(inputs, 4)
    inputs[5] = scale(np.nan)
    np.testing.assert_array_equal(run_ordered(inputs, 4), want)


@pytest.mark.parametrize("batch,blocks", [(0, 2), (2, 0)])
def test_nothing_to_do(batch, blocks):
    inputs = given(4, blocks, batch=batch)
    assert run_ordered(inputs, 4).shape == inputs[X].shape


PLACES = [X, WEIGHT, BIAS, MASK, GLOBAL_WEIGHT, GLOBAL_BIAS, GLOBAL]


@pytest.mark.parametrize("what,index,change,message", BAD_FLOATS, ids=[case[0] for case in BAD_FLOATS])
def test_refuses(what, index, change, message):
    """What LongformerAttention refuses, with the numbers that the inputs have here."""
    inputs, place = given(4, 2, (0,)), PLACES[index]
    inputs[place] = np.ascontiguousarray(change(inputs[place]))
    with pytest.raises(Exception, match=message.replace(f"input {index} ", f"input {place} ")) as error:
        run_ordered(inputs, 4)
    assert OP in str(error.value), what


@pytest.mark.parametrize("index", [1, 3, 6, 9, 11, 13])
@pytest.mark.parametrize("value,message", [(0, "a scale above 0, found 0"), ([1, 2], r"one scale, found shape \[2\]")])
def test_refuses_scales(index, value, message):
    inputs = given(4, 2)
    inputs[index] = scale(value)
    with pytest.raises(Exception, match=f"input {index}: expected {message}"):
        run_ordered(inputs, 4)


def test_refuses_orders():
    inputs = given(4, 2)
    wrong = {"order_input": COL, "order_output": COL, "order_weight": ROW, "order_global_weight": TILES8}
    for name, order in wrong.items():
        text = refusal(OP, inputs, [np.int8], num_heads=HEADS, window=4, **(ORDERS | {name: order}))
        assert f"'{name}'" in text and "NOT_IMPLEMENTED" in text, text
