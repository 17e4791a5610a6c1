"""com.microsoft.DynamicQuantizeLSTM, compared with ONNX Runtime and with the formulas in float64."""

import itertools

import numpy as np
import onnxruntime
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model

F = np.float32
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def make(rng, size, direction, dtype=np.int8, by_column=False, zeros=True, widest=64):
    """size: steps, batch, input, hidden. The twelve inputs, the optional ones missing.

    widest: bound of the weights of int8. ONNX Runtime adds two products of uint8 and int8 in 16 bits where the
    processor has no VNNI, which overflow beyond 64."""
    steps, batch, columns, hidden = size
    count, gates = DIRECTIONS[direction], 4 * hidden
    low, high = (-widest, widest) if dtype == np.int8 else (0, 256)
    shape = (count, gates) if by_column else (count,)
    middle = np.zeros(shape, dtype) if not zeros else rng.integers(low + 60, high - 60, shape).astype(dtype)
    second = np.zeros(shape, dtype) if not zeros else rng.integers(low + 60, high - 60, shape).astype(dtype)
    return [
        rng.standard_normal((steps, batch, columns)).astype(F),
        rng.integers(low, high, (count, columns, gates)).astype(dtype),
        rng.integers(low, high, (count, hidden, gates)).astype(dtype),
        *[None] * 5,
        (rng.random(shape) * 0.02 + 0.001).astype(F),
        middle,
        (rng.random(shape) * 0.02 + 0.001).astype(F),
        second,
    ]


def with_options(rng, inputs, size, direction, bias=True, lengths=None, states=True, peephole=False):
    _, batch, _, hidden = size
    count = DIRECTIONS[direction]
    if bias:
        inputs[3] = rng.standard_normal((count, 8 * hidden)).astype(F)
    if lengths is not None:
        inputs[4] = np.array(lengths, np.int32)
    if states:
        inputs[5] = rng.standard_normal((count, batch, hidden)).astype(F)
        inputs[6] = rng.standard_normal((count, batch, hidden)).astype(F)
    if peephole:
        inputs[7] = rng.standard_normal((count, 3 * hidden)).astype(F)
    return inputs


WEIGHTS = (1, 2)
# With several threads ONNX Runtime quantizes the rows of each thread by a range of their own.
ONE = {"tolerance": 2e-6, "threads": 1}


@pytest.mark.parametrize("direction", list(DIRECTIONS))
@pytest.mark.parametrize("dtype,by_column", list(itertools.product([np.int8, np.uint8], [False, True])))
@pytest.mark.parametrize("constants", [WEIGHTS, ()])
@pytest.mark.parametrize("size", [(1, 1, 3, 4), (5, 2, 7, 16), (9, 4, 33, 20), (3, 1, 1, 1)])
def test_all_forms(direction, dtype, by_column, constants, size):
    rng = np.random.default_rng(1)
    inputs = with_options(rng, make(rng, size, direction, dtype, by_column, zeros=not by_column), size, direction)
    model = node_model("DynamicQuantizeLSTM", inputs, [F] * 3, constants, direction=direction, hidden_size=size[3])
    got = run_model(sardonyx, model, inputs, constants)
    packed = node_model("DynamicQuantizeLSTM", inputs, [F] * 3, WEIGHTS, direction=direction, hidden_size=size[3])
    want = run_model(onnxruntime, packed, inputs, WEIGHTS, threads=1)
    for ours, theirs in zip(got, want, strict=True):
        assert ours.shape == theirs.shape
        assert_close(ours, theirs, 4e-6, f"{direction} {size}")  # the errors of both, over nine steps
    assert_close(got[0], formulas(inputs, direction)[0], 2e-6, "against float64")


@pytest.mark.parametrize("direction", list(DIRECTIONS))
def test_largest_weights(direction):
    rng = np.random.default_rng(9)
    size = (5, 2, 33, 20)
    inputs = with_options(rng, make(rng, size, direction, widest=128), size, direction)
    model = node_model("DynamicQuantizeLSTM", inputs, [F] * 3, WEIGHTS, direction=direction, hidden_size=20)
    for ours, want in zip(run_model(sardonyx, model, inputs, WEIGHTS), formulas(inputs, direction), strict=True):
        assert_close(ours, want, 2e-6, "against float64")


@pytest.mark.parametrize("lengths", [[3, 6, 1], [6, 6, 6], [2, 2, 2], [0, 4, 5]])
@pytest.mark.parametrize("direction", list(DIRECTIONS))
def test_lengths(lengths, direction):
    rng = np.random.default_rng(2)
    size = (6, 3, 5, 8)
    states = 0 not in lengths  # the last state of no steps: the initial one here, as LSTM has it; 0 in ONNX Runtime
    inputs = with_options(rng, make(rng, size, direction), size, direction, lengths=lengths, states=states)
    # ONNX Runtime goes on with sequences that have ended, with the values that follow them, so that they widen the
    # range of the states of the others. Here they count as 0; both ranges differ by less than a few steps of 256.
    got = compare("DynamicQuantizeLSTM", inputs, [F] * 3, WEIGHTS, tolerance=0.05, direction=direction, hidden_size=8)
    for ours, want in zip(got, formulas(inputs, direction), strict=True):
        assert_close(ours, want, 2e-6, "against float64")


@pytest.mark.parametrize("attributes", [{"input_forget": 1}, {"activations": ["HardSigmoid", "Relu", "Softsign"]}])
def test_attributes_and_peepholes(attributes):
    rng = np.random.default_rng(3)
    size = (4, 2, 6, 8)
    inputs = with_options(rng, make(rng, size, "forward"), size, "forward", peephole=True)
    compare("DynamicQuantizeLSTM", inputs, [F] * 3, WEIGHTS, **ONE, hidden_size=8, **attributes)


@pytest.mark.parametrize("outputs", [[F, None, None], [None, F, None], [None, None, F], [F, F, None]])
def test_outputs_may_be_missing(outputs):
    rng = np.random.default_rng(4)
    size = (4, 2, 6, 8)
    inputs = make(rng, size, "bidirectional")
    compare(
        "DynamicQuantizeLSTM",
        inputs,
        outputs,
        WEIGHTS,
        **ONE,
        direction="bidirectional",
        hidden_size=8,
    )


def test_many_rows_on_several_threads():
    rng = np.random.default_rng(5)
    size = (30, 3, 80, 96)
    inputs = with_options(rng, make(rng, size, "bidirectional", zeros=False), size, "bidirectional")
    model = node_model("DynamicQuantizeLSTM", inputs, [F] * 3, WEIGHTS, direction="bidirectional", hidden_size=96)
    one, four = (run_model(sardonyx, model, inputs, WEIGHTS, threads) for threads in (1, 4))
    for a, b in zip(one, four, strict=True):
        assert np.array_equal(a, b)
    assert_close(one[0], formulas(inputs, "bidirectional")[0], 2e-6, "against float64")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rounded(x):
    """x as 8 bits hold it: 256 steps from its smallest element (or 0) to its largest."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = F(high - low) / F(255) if high != low else F(1)
    zero = np.clip(np.rint(-F(low) / scale), 0, 255)
    steps = np.clip(np.rint(x.astype(F) / scale) + zero, 0, 255)
    return (steps - zero) * np.float64(scale)


def formulas(inputs, direction, clip=np.inf):
    """Y, Y_h and Y_c in float64."""
    x, w, r, b, lengths, h0, c0, _, w_scale, w_zero, r_scale, r_zero = inputs
    hidden, batch = r.shape[1], x.shape[1]
    lengths = np.full(batch, len(x)) if lengths is None else lengths
    x = x[: lengths.max()]
    results = []
    for d in range(DIRECTIONS[direction]):
        scaled = [
            (m[d].astype(np.float64) - np.atleast_1d(z[d])) * np.atleast_1d(s[d])
            for m, s, z in ((w, w_scale, w_zero), (r, r_scale, r_zero))
        ]
        bias = (b[d, : 4 * hidden] + b[d, 4 * hidden :]) if b is not None else 0
        h, c = (s[d].astype(np.float64) if s is not None else np.zeros((batch, hidden)) for s in (h0, c0))
        gates_of_x, y = rounded(x) @ scaled[0] + bias, np.zeros((len(inputs[0]), batch, hidden))
        for step in range(len(x)):
            live = np.flatnonzero(step < lengths)
            times = (step if d == 0 and direction != "reverse" else lengths - 1 - step) + np.zeros(batch, int)
            gates = gates_of_x[times[live], live] + rounded(h * (step < lengths)[:, None])[live] @ scaled[1]
            i, o, f, g = np.split(np.clip(gates, -clip, clip), 4, axis=-1)
            c[live] = sigmoid(f) * c[live] + sigmoid(i) * np.tanh(g)
            h[live] = sigmoid(o) * np.tanh(np.clip(c[live], -clip, clip))
            y[times[live], live] = h[live]
        results.append((y, h, c))
    y, h, c = zip(*results, strict=True)
    return np.stack(y, 1), np.stack(h), np.stack(c)


def test_clip():
    rng = np.random.default_rng(8)
    size = (4, 2, 6, 8)
    inputs = with_options(rng, make(rng, size, "forward"), size, "forward")
    model = node_model("DynamicQuantizeLSTM", inputs, [F] * 3, WEIGHTS, hidden_size=8, clip=0.7)
    want = formulas(inputs, "forward", clip=0.7)
    assert not np.allclose(want[0], formulas(inputs, "forward")[0], atol=1e-2)
    for ours, theirs in zip(run_model(sardonyx, model, inputs, WEIGHTS), want, strict=True):
        assert_close(ours, theirs, 2e-6, "clip")


@pytest.mark.parametrize(
    "index,shape,message",
    [
        (1, (1, 5, 32), "the input size of W"),
        (2, (1, 8, 36), r"gates \* hidden in R"),
        (8, (3,), "expected 1 or 32 elements as input 8"),
        (11, (2, 1), "expected 1 or 32 elements as input 11"),
    ],
)
def test_wrong_sizes_are_refused(index, shape, message):
    rng = np.random.default_rng(6)
    inputs = make(rng, (4, 2, 6, 8), "forward")
    inputs[index] = np.ones(shape, inputs[index].dtype)
    model = node_model("DynamicQuantizeLSTM", inputs, [F], hidden_size=8)
    with pytest.raises(Exception, match=message):
        run_model(sardonyx, model, inputs)


def test_wrong_types_are_refused():
    rng = np.random.default_rng(7)
    inputs = make(rng, (4, 2, 6, 8), "forward")
    inputs[9] = inputs[9].astype(np.uint8)
    model = node_model("DynamicQuantizeLSTM", inputs, [F], hidden_size=8)
    with pytest.raises(Exception, match="W_zero_point"):
        run_model(sardonyx, model, inputs)
