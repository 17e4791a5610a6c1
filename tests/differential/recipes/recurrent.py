"""Recurrent operators."""
import numpy as np
from calls import Call

from recipes import recipe

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


@recipe(*GATES)
def recurrent(d):
    gates, directions = GATES[d.op], d.pick(1, 1, 2)
    steps, batch, size, hidden = d.whole(1, 4), d.whole(1, 3), d.whole(1, 4), d.whole(1, 4)
    layout = d.pick(None, None, 0, 1) if d.version >= 14 else None

    def value(*shape):
        return d.values("T", shape, "tame", -1, 1)

    def placed(*shape):
        x = value(*shape)
        return np.ascontiguousarray(np.swapaxes(x, 0, 1)) if layout else x

    lengths = d.rng.integers(1, steps + 1, batch).astype(np.int32) if d.chance(0.4) else None
    if lengths is not None:
        d.kind("T1")
    inputs = [placed(steps, batch, size), value(directions, gates * hidden, size),
              value(directions, gates * hidden, hidden), value(directions, 2 * gates * hidden) if d.chance() else None,
              lengths, placed(directions, batch, hidden) if d.chance() else None]
    if d.op == "LSTM":
        inputs.append(placed(directions, batch, hidden) if d.chance() else None)
        inputs.append(value(directions, 3 * hidden) if d.chance(0.3) else None)
    while inputs[-1] is None:
        inputs.pop()
    attributes = {"hidden_size": hidden, "layout": layout,
                  "direction": "bidirectional" if directions == 2 else d.pick(None, "forward", "reverse")}
    if d.chance(0.3):
        attributes["activations"] = [d.pick("Sigmoid", "Tanh", "Relu") for _ in DEFAULTS[d.op] * directions]
    if d.op == "GRU" and d.version >= 3:
        attributes["linear_before_reset"] = d.pick(None, 0, 1)
    if d.op == "LSTM":
        attributes["input_forget"] = d.pick(None, None, 0)
    if d.version < 7:
        attributes["output_sequence"] = 1
    return Call(inputs, attributes, d.whole(2, 3 if d.op == "LSTM" else 2), tolerance=32)
