"""Operators that move, make or describe elements without choosing them by indices."""
import numpy as np
from calls import FLOATS, INTEGERS, Call, constant, dtype_of
from onnx import TensorProto, helper

from recipes import recipe


def tile_shape(d, low=0, high=4):
    return d.shape(low, high, 120)


@recipe("Identity")
def identity(d):
    return Call([d.values(d.schema.inputs[0].type_str, d.shape())])


@recipe("Shape", "Size")
def shape_of(d):
    x = d.values("T", d.shape())
    bounds = {name: d.pick(None, d.whole(-x.ndim - 1, x.ndim + 1)) for name in ("start", "end")
              if name in d.schema.attributes}
    return Call([x], bounds)


@recipe("Flatten")
def flatten(d):
    x = d.values("T", d.shape(1 if d.version < 9 else 0, 4))
    low = -x.ndim if d.version >= 11 else 0
    return Call([x], {"axis": d.pick(None, d.whole(low, x.ndim)) if x.ndim else 0})


@recipe("Reshape")
def reshape(d):
    x = d.values("T", d.shape())
    want = [int(n) for n in d.rng.permutation(x.shape)]
    if len(want) > 1 and d.chance(0.4):
        want = [want[0] * want[1], *want[2:]]
    if d.chance(0.3):
        want.insert(d.whole(0, len(want)), 1)
    for i, n in enumerate(want):  # 0 copies the dimension
        if i < x.ndim and n == x.shape[i] and n and d.chance(0.2):
            want[i] = 0
    allow = {}
    if x.size and want and 0 not in want and d.chance(0.3):
        want[d.whole(0, len(want) - 1)] = -1
    elif 0 in x.shape:
        want = list(x.shape)
    if d.version >= 14:
        zeros = 0 in want and x.size > 0
        allow = {"allowzero": d.pick(None, 0) if zeros else d.pick(None, 0, 1)}
    if d.version < 5:
        if not want:
            return Call([x.reshape(1)], {"shape": [1]}, newest=Call([x.reshape(1), d.ints(1)]))
        return Call([x], {"shape": want, "consumed_inputs": None}, newest=Call([x, d.ints(*want)]))
    return Call([x, d.ints(*want)], allow)


@recipe("Transpose")
def transpose(d):
    x = d.values("T", d.shape(0, 5))
    return Call([x], {"perm": [int(a) for a in d.rng.permutation(x.ndim)] if d.chance(0.8) and x.ndim else None})


@recipe("Squeeze", "Unsqueeze")
def squeeze(d):
    x = d.values("T", d.shape(0, 4))
    negative = d.version >= 11
    if d.op == "Squeeze":
        ones = [a for a, n in enumerate(x.shape) if n == 1]
        axes = [a - x.ndim if negative and d.chance(0.3) else a for a in ones if d.chance(0.7)]
        if not axes:
            return Call([x])
    else:
        rank = x.ndim + d.whole(1, 2)
        axes = [int(a) for a in d.rng.permutation(rank)[:rank - x.ndim]]
        if d.version < 11:
            axes = sorted(axes)
        axes = [a - rank if negative and d.chance(0.3) else a for a in axes]
    if d.version < 13:
        return Call([x], {"axes": axes})
    return Call([x, d.ints(*axes)])


@recipe("Concat")
def concat(d):
    shape = list(d.shape(1, 4))
    axis = d.axis(len(shape), d.version >= 11)
    parts = []
    for _ in range(d.whole(1, 4)):
        shape[axis] = d.dim()
        parts.append(d.values("T", shape))
    if d.version == 1 and axis == 1 and d.chance():
        return Call(parts, {})
    return Call(parts, {"axis": axis})


@recipe("Split")
def split(d):
    shape = list(d.shape(1, 4))
    axis = d.axis(len(shape), d.version >= 11)
    count = d.whole(1, 4)
    by_sizes = d.chance(0.6)
    sizes = [d.dim() for _ in range(count)]
    if not by_sizes and d.version < 18:
        sizes = [sizes[0]] * count
    shape[axis] = sum(sizes)
    if not by_sizes and d.version >= 18:
        length = -(-shape[axis] // count)  # equal parts, a smaller one behind
        if length * (count - 1) > shape[axis]:
            shape[axis] = length * count
    x = d.values("T", shape)
    attributes = {"axis": axis if axis or d.chance() else None}
    if by_sizes and d.version < 13:
        newest = Call([x, d.ints(*sizes)], attributes, count) if d.version == 1 else None
        return Call([x], {**attributes, "split": sizes}, count, newest=newest)
    if by_sizes:
        return Call([x, d.ints(*sizes)], attributes, count)
    if d.version >= 18:
        attributes["num_outputs"] = count
    return Call([x], attributes, count)


@recipe("Expand")
def expand(d):
    one, other = d.pair()
    return Call([d.values("T", one), d.ints(*other)])


@recipe("Tile")
def tile(d):
    if d.version == 1:
        x = d.values("T", tile_shape(d, 1, 3), "tame")
        axis, times = d.whole(0, x.ndim - 1), d.whole(1, 3)
        full = [times if a == axis else 1 for a in range(x.ndim)]
        scalar = dtype_of(d.kind("T")).type
        return Call([x, np.array(times).astype(scalar), np.array(axis).astype(scalar)], newest=Call([x, d.ints(*full)]))
    x = d.values("T", tile_shape(d))
    return Call([x, d.ints(*[d.pick(1, 1, 2, 3, 0 if d.chance(0.1) else 1) for _ in x.shape])])


@recipe("Pad")
def pad(d):
    mode = d.pick("constant", "constant", "reflect", "edge", "wrap" if d.version >= 19 else "constant")
    x = d.values("T", d.shape(1, 4, 150))
    axes = list(range(x.ndim))
    if d.version >= 18 and d.chance(0.4):
        axes = [a % x.ndim for a in d.axes(x.ndim, low=1, negative=False)]
    low, high = [], []
    for axis in axes:
        n = x.shape[axis]
        if mode == "constant":
            first = d.whole(-min(n, 2), 3) if d.chance(0.7) else 0
            low.append(first)
            high.append(d.whole(-max(0, min(n + min(first, 0), 1)), 3))
        else:
            most = 0 if n == 0 else n - 1 if mode == "reflect" else min(3, n) if mode == "wrap" else 3
            low.append(d.whole(0, min(3, most)))
            high.append(d.whole(0, min(3, most)))
    attributes = {"mode": mode if mode != "constant" or d.chance() else None}
    value = d.values("T", (), "tame")
    if d.version < 11:
        name = "paddings" if d.version == 1 else "pads"
        attributes |= {name: low + high, "value": float(value) if d.chance() else None}
        if d.version == 1:
            return Call([x], attributes, newest=Call(
                [x, d.ints(*low, *high), np.asarray(attributes["value"] or 0).astype(x.dtype)], {"mode": mode}))
        return Call([x], attributes)
    inputs = [x, d.ints(*low, *high), value if mode == "constant" and d.chance() else None]
    if len(axes) < x.ndim or (d.version >= 18 and d.chance(0.2)):
        kind = d.kind("Tind")
        inputs.append(np.array([a - x.ndim if d.chance(0.3) else a for a in axes], dtype_of(kind)))
    while inputs[-1] is None:
        inputs.pop()
    return Call(inputs, attributes)


@recipe("CenterCropPad")
def center_crop_pad(d):
    x = d.values("T", d.shape(1, 4))
    axes = d.axes(x.ndim, low=1) if d.chance() else None
    sizes = [d.whole(0 if d.chance(0.05) else 1, 6) for _ in (axes or x.shape)]
    return Call([x, np.array(sizes, dtype_of(d.kind("Tind")))], {"axes": axes})


@recipe("DepthToSpace", "SpaceToDepth")
def depth_to_space(d):
    block = d.pick(1, 2, 2, 3)
    n, c, h, w = d.pick(1, 2), d.pick(1, 2, 3), d.pick(1, 2, 3), d.pick(1, 2, 4)
    shape = (n, c * block * block, h, w) if d.op == "DepthToSpace" else (n, c, h * block, w * block)
    attributes = {"blocksize": block, "mode": d.pick(None, "DCR", "CRD") if "mode" in d.schema.attributes else None}
    return Call([d.values("T", shape)], attributes)


@recipe("Trilu")
def trilu(d):
    x = d.values("T", d.shape(2, 4))
    inputs = [x, np.array(d.whole(-6, 6), np.int64)] if d.chance(0.7) else [x]
    return Call(inputs, {"upper": d.pick(None, 0, 1)})


@recipe("EyeLike")
def eye_like(d):
    x = d.values("T1", d.shape(2, 2))
    if d.chance(0.4):
        d.types["T2"] = d.kind("T1")
        return Call([x], {"k": d.pick(None, d.whole(-5, 5))})
    return Call([x], {"k": d.pick(None, d.whole(-5, 5)), "dtype": d.kind("T2")})


@recipe("Range")
def numbers(d):
    kind = d.kind("T")
    start, delta = d.whole(-5, 5), d.pick(1, 2, 3, -1, -2)
    limit = start + delta * d.whole(-1, 12) + d.pick(0, 1)
    if kind in FLOATS and d.chance():
        delta *= 0.5
    return Call([np.array(v, dtype_of(kind)) for v in (start, limit, delta)])


@recipe("Constant")
def constant_node(d):
    kind = d.kind("T")
    if d.version >= 12 and d.chance(0.4):
        name = d.pick("value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings")
        d.types["T"] = {"f": 1, "i": 7, "s": 8}[name[6]]
        one = {"f": 0.5, "i": -7, "s": "ab"}[name[6]]
        return Call([], {name: [one] * d.whole(1, 4) if name.endswith("s") else one})
    if d.version >= 11 and kind in INTEGERS | FLOATS and d.chance(0.3):
        flat = d.chance()
        dense = helper.make_tensor("values", kind, [3], np.array([1, 2, 3], dtype_of(kind)))
        indices = [1, 4, 5] if flat else [0, 1, 1, 1, 1, 2]
        where = helper.make_tensor("indices", TensorProto.INT64, [3] if flat else [3, 2], indices)
        return Call([], {"sparse_value": helper.make_sparse_tensor(dense, where, [2, 3])})
    return Call([], {"value": constant(d.values(kind, d.shape()), "value")})


@recipe("ConstantOfShape")
def constant_of_shape(d):
    d.kind("T1")
    shape = d.ints(*d.shape())
    if d.chance(0.2):
        d.types["T2"] = 1
        return Call([shape])
    return Call([shape], {"value": constant(d.values("T2", (1,)), "value")})


@recipe("ReverseSequence")
def reverse_sequence(d):
    shape = d.shape(2, 4)
    time = d.pick(0, 1)
    lengths = [d.whole(min(1, shape[time]), shape[time]) for _ in range(shape[1 - time])]
    default = time == 0 and d.chance()
    return Call([d.values("T", shape), d.ints(*lengths)],
                {} if default else {"time_axis": time, "batch_axis": 1 - time})


@recipe("Col2Im")
def col2im(d):
    rank = d.pick(1, 2, 2, 3)
    kernel = [d.whole(1, 3) for _ in range(rank)]
    strides, dilations = [d.whole(1, 2) for _ in kernel], [d.whole(1, 2) for _ in kernel]
    pads = [d.whole(0, 1) for _ in range(2 * rank)]
    image = [d.whole((k - 1) * e + 1, (k - 1) * e + 5) for k, e in zip(kernel, dilations)]
    blocks = [(i + p + q - ((k - 1) * e + 1)) // s + 1 for i, p, q, k, e, s in
              zip(image, pads[:rank], pads[rank:], kernel, dilations, strides)]
    x = d.values("T", (d.pick(1, 2), d.pick(1, 2) * int(np.prod(kernel)), int(np.prod(blocks))), "tame")
    return Call([x, d.ints(*image), d.ints(*kernel)], {"strides": strides, "dilations": dilations, "pads": pads},
                tolerance=8)


