"""com.microsoft.AttnLSTM, compared with ONNX Runtime and with the formulas in float64."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model

F = np.float32
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
SIZE = {"seq": 5, "batch": 3, "input": 4, "hidden": 6, "steps": 7, "depth": 8, "keys": 3}


def make(rng, direction="forward", layer=0, bias=True, lengths=None, memory_lengths=None, states=True, peephole=False):
    """The inputs; layer: elements of the attention layer, 0: none."""
    seq, batch, columns, hidden, steps, depth, keys = SIZE.values()
    d, attention = DIRECTIONS[direction], layer or depth

    def random(*shape):
        return (rng.standard_normal(shape) * 0.5).astype(F)

    return [
        random(seq, batch, columns),
        random(d, 4 * hidden, columns + attention),
        random(d, 4 * hidden, hidden),
        random(d, 8 * hidden) if bias else None,
        None if lengths is None else np.array(lengths, np.int32),
        random(d, batch, hidden) if states else None,
        random(d, batch, hidden) if states else None,
        random(d, 3 * hidden) if peephole else None,
        random(d, hidden, keys),
        random(d, depth, keys),
        random(d, keys),
        random(batch, steps, depth),
        None if memory_lengths is None else np.array(memory_lengths, np.int32),
        random(d, depth + hidden, layer) if layer else None,
    ]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def formulas(inputs, direction):
    wide = [i if i is None or i.dtype == np.int32 else i.astype(np.float64) for i in inputs]
    x, w, r, b, lengths, h0, c0, p, qw, mw, v, memory, memory_lengths, aw = wide
    seq, batch, columns = x.shape
    hidden = r.shape[2]
    lengths = np.full(batch, seq) if lengths is None else lengths
    memory_lengths = np.full(batch, memory.shape[1]) if memory_lengths is None else memory_lengths
    y = np.zeros((seq, DIRECTIONS[direction], batch, hidden))
    last = np.zeros((2, DIRECTIONS[direction], batch, hidden))
    for d in range(DIRECTIONS[direction]):
        for i in range(batch):
            h, c = (np.zeros(hidden) if s is None else s[d, i] for s in (h0, c0))
            attention = np.zeros(w.shape[2] - columns)
            own = memory[i, : memory_lengths[i]]
            for step in range(lengths[i]):
                t = step if d == 0 and direction != "reverse" else lengths[i] - 1 - step
                gates = w[d] @ np.append(x[t, i], attention) + r[d] @ h
                gates = gates if b is None else gates + b[d, : 4 * hidden] + b[d, 4 * hidden :]
                gi, go, gf, gc = np.split(gates, 4)
                pi, po, pf = np.zeros((3, hidden)) if p is None else np.split(p[d], 3)
                c_new = sigmoid(gf + pf * c) * c + sigmoid(gi + pi * c) * np.tanh(gc)
                h, c = sigmoid(go + po * c_new) * np.tanh(c_new), c_new
                scores = np.exp(np.tanh(own @ mw[d] + h @ qw[d]) @ v[d])
                context = scores / scores.sum() @ own
                attention = context if aw is None else np.append(h, context) @ aw[d]
                y[t, d, i] = h
            last[0, d, i], last[1, d, i] = h, c
    return y, last[0], last[1]


@pytest.mark.parametrize("direction", list(DIRECTIONS))
@pytest.mark.parametrize("layer", [0, 5])
@pytest.mark.parametrize(
    "options", [{}, {"bias": False, "states": False}, {"peephole": True}, {"memory_lengths": [7, 1, 4]}]
)
def test_all_forms(direction, layer, options):
    inputs = make(np.random.default_rng(1), direction, layer, **options)
    got = compare("AttnLSTM", inputs, [F] * 3, direction=direction, hidden_size=SIZE["hidden"], tolerance=5e-6)
    for ours, want in zip(got, formulas(inputs, direction), strict=True):
        assert_close(ours, want, 2e-6, "against float64")
    wide = [i if i is None or i.dtype == np.int32 else i.astype(np.float64) for i in inputs]
    model = node_model("AttnLSTM", wide, [np.float64] * 3, direction=direction, hidden_size=SIZE["hidden"])
    for ours, want in zip(run_model(sardonyx, model, wide), formulas(inputs, direction), strict=True):
        assert ours.dtype == np.float64  # which ONNX Runtime registers and refuses
        assert_close(ours, want, 1e-12, "float64")


@pytest.mark.parametrize("direction", list(DIRECTIONS))
def test_lengths(direction):
    inputs = make(np.random.default_rng(2), direction, lengths=[5, 2, 3])
    got = compare("AttnLSTM", inputs, [F] * 3, direction=direction, hidden_size=SIZE["hidden"], tolerance=5e-6)
    for ours, want in zip(got, formulas(inputs, direction), strict=True):
        assert_close(ours, want, 2e-6, "against float64")


@pytest.mark.parametrize(
    "index,value,message",
    [
        (1, np.ones((1, 24, 5), F), r"'W'\): expected shape \[1, 24, 12\], found \[1, 24, 5\]"),
        (8, np.ones((1, 5, 3), F), r"'QW'\): expected shape \[1, 6, 3\]"),
        (11, np.ones((2, 7, 8), F), r"'M'\): expected shape \[3, 7, 8\]"),
        (12, np.array([1, 0, 2], np.int32), r"'memory_seq_lens'\): expected lengths in \[1, 7\], found 0"),
        (4, np.array([1, 6, 2], np.int32), r"'sequence_lens'\): expected lengths in \[0, 5\], found 6"),
        (10, None, "'V'"),
    ],
)
def test_wrong_inputs_are_refused(index, value, message):
    inputs = make(np.random.default_rng(3))
    inputs[index] = value
    with pytest.raises(Exception, match=message):
        run_model(sardonyx, node_model("AttnLSTM", inputs, [F], hidden_size=SIZE["hidden"]), inputs)
