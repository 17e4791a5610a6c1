"""Attention and its relatives."""
import numpy as np
from calls import FLOATS, Call, dtype_of

from recipes import recipe


@recipe("Attention")
def attention(d):
    batch, heads_kv = d.pick(1, 2), d.pick(1, 2)
    heads = heads_kv * d.pick(1, 1, 2, 3)
    queries, keys, size, value_size = d.whole(1, 5), d.whole(1, 5), d.pick(2, 4, 8), d.pick(2, 4, 8)
    kind, second = d.kind("T1"), d.kind("T2", {d.kind("T1")})
    second = d.types["T2"] = kind
    flat = d.chance(0.4)

    def given(k, count, rows, width):
        x = d.values(k, (batch, count, rows, width), "tame")
        return np.ascontiguousarray(np.swapaxes(x, 1, 2).reshape(batch, rows, count * width)) if flat else x

    inputs = [given(kind, heads, queries, size), given(kind, heads_kv, keys, size),
              given(second, heads_kv, keys, value_size), None, None, None]
    past = d.whole(1, 3) if d.chance(0.3) else 0
    total = keys + past
    outputs = 1
    if past:
        inputs[4] = d.values(kind, (batch, heads_kv, past, size), "tame")
        inputs[5] = d.values(second, (batch, heads_kv, past, value_size), "tame")
        outputs = 3
    attributes = {"is_causal": d.pick(None, 0, 1), "scale": d.pick(None, d.real(0.2, 1)),
                  "softcap": d.pick(None, None, d.real(1, 5))}
    if flat:
        attributes |= {"q_num_heads": heads, "kv_num_heads": heads_kv}
    if d.chance(0.5):
        mask_kind = d.kind("U", {9, kind})
        shape = d.pick((queries, total), (1, 1, queries, total), (batch, heads, queries, total),
                       (batch, 1, queries, total))
        inputs[3] = d.values(mask_kind, shape, "tame")
        if mask_kind == 9:
            inputs[3][..., 0] = True  # a query that sees nothing is another question
    while inputs[-1] is None:
        inputs.pop()
    if outputs == 1 and d.chance(0.2):
        outputs = 3 if past else 1
    return Call(inputs, attributes, outputs, tolerance=64)


@recipe("RotaryEmbedding")
def rotary(d):
    batch, heads, steps, half = d.pick(1, 2), d.pick(1, 2), d.whole(1, 4), d.pick(1, 2, 4)
    rotated = d.pick(None, 2 * half)
    size = 2 * half * (1 if rotated is None else d.pick(1, 2))
    kind = d.kind("T")
    x = d.values(kind, (batch, heads, steps, size), "tame")
    attributes = {"interleaved": d.pick(None, 0, 1), "rotary_embedding_dim": rotated}
    if d.chance(0.4):
        x = np.ascontiguousarray(np.swapaxes(x, 1, 2).reshape(batch, steps, heads * size))
        attributes["num_heads"] = heads
    if d.chance():
        rows = steps + 3
        d.kind("M")
        places = d.rng.integers(0, rows, (batch, steps)).astype(np.int64)
        inputs = [x, d.values(kind, (rows, half), "tame"), d.values(kind, (rows, half), "tame"), places]
    else:
        inputs = [x, d.values(kind, (batch, steps, half), "tame"), d.values(kind, (batch, steps, half), "tame")]
    return Call(inputs, attributes, tolerance=4)


@recipe("LinearAttention")
def linear_attention(d):
    batch, heads, steps, size, value_size = d.pick(1, 2), d.pick(1, 2), d.whole(1, 4), d.pick(2, 4), d.pick(2, 4)
    kind, state = d.kind("T"), d.kind("S", FLOATS)
    rule = d.pick("linear", "gated", "delta", "gated_delta")
    query = d.values(kind, (batch, steps, heads * size), "tame", -0.5, 0.5)
    inputs = [query, d.values(kind, query.shape, "tame", -0.5, 0.5),
              d.values(kind, (batch, steps, heads * value_size), "tame", -0.5, 0.5),
              d.values(state, (batch, heads, size, value_size), "tame", -0.5, 0.5) if d.chance() else None, None, None]
    if "gated" in rule:
        inputs[4] = d.values(kind, (batch, steps, heads), "tame", -1, 0)
    if "delta" in rule:
        inputs[5] = d.values(kind, (batch, steps, heads), "tame", 0, 1)
    if inputs[3] is None:
        d.types["S"] = kind if kind in FLOATS else 1
    while inputs[-1] is None:
        inputs.pop()
    return Call(inputs, {"q_num_heads": heads, "kv_num_heads": heads, "update_rule": rule}, 2, tolerance=64)


@recipe("CausalConvWithState")
def causal_conv(d):
    batch, channels, steps, taps = d.pick(1, 2), d.pick(1, 2, 4), d.whole(1, 5), d.whole(2, 4)
    kind = d.kind("T")
    inputs = [d.values(kind, (batch, channels, steps), "tame"), d.values(kind, (channels, 1, taps), "tame"),
              d.values(kind, (channels,), "tame") if d.chance() else None,
              d.values(kind, (batch, channels, taps - 1), "tame") if d.chance() else None]
    while inputs[-1] is None:
        inputs.pop()
    return Call(inputs, {"activation": d.pick(None, "none", "silu")}, 2, tolerance=16)


@recipe("FlexAttention", domain="ai.onnx.preview")
def flex_attention(d):
    batch, heads, queries, keys, size = d.pick(1, 2), d.pick(1, 2), d.whole(1, 4), d.whole(1, 4), d.pick(2, 4)
    return Call([d.values("T1", (batch, heads, rows, size), "tame") for rows in (queries, keys, keys)],
                {"scale": d.pick(None, 0.5)}, tolerance=64)


@recipe("Adagrad", "Adam", "Momentum", domain="ai.onnx.preview.training")
def optimizer(d):
    kind, count = d.kind("T3"), d.pick(1, 2)
    d.kind("T1")
    d.kind("T2")
    states = {"Adagrad": 1, "Adam": 2, "Momentum": 1}[d.op]
    shapes = [d.shape(0, 2, 30) for _ in range(count)]
    inputs = [np.array(d.real(0.01, 0.5), dtype_of(d.kind("T1"))), np.array(d.whole(0, 3), np.int64)]
    for part in range(2 + states):
        inputs += [d.values(kind, shape, "tame", 0.1 if part > 1 else -1, 1) for shape in shapes]
    attributes = {"norm_coefficient": d.real(0, 0.1)}
    if d.op == "Momentum":
        attributes |= {"alpha": d.real(0.1, 0.9), "beta": d.real(0.1, 0.9), "mode": d.pick("standard", "nesterov")}
    elif d.op == "Adam":
        attributes |= {"alpha": d.pick(None, 0.8), "beta": d.pick(None, 0.95),
                       "norm_coefficient_post": d.pick(None, 0.1)}
    else:
        attributes |= {"decay_factor": d.pick(None, 0.1)}
    return Call(inputs, attributes, (1 + states) * count, tolerance=32)
