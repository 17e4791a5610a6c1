"""Operators whose inputs choose elements: slices, gathers, scatters, sorting."""
import numpy as np
from calls import INTEGERS, Call, dtype_of

from recipes import recipe


def limits(d, n):
    return d.pick(d.whole(-n - 2, n + 2), d.whole(-n - 2, n + 2), np.iinfo(np.int32).max, np.iinfo(np.int32).min + 1)


@recipe("Slice")
def slices(d):
    x = d.values("T", d.shape(1, 4))
    axes = [a % x.ndim for a in d.axes(x.ndim, low=1)]
    if d.chance(0.3):
        axes = list(range(len(axes)))
    starts, ends = [limits(d, x.shape[a]) for a in axes], [limits(d, x.shape[a]) for a in axes]
    plain = axes == list(range(len(axes))) and d.chance()
    if d.version == 1:
        return Call([x], {"starts": starts, "ends": ends, "axes": None if plain else axes})
    dtype = dtype_of(d.kind("Tind"))
    if d.version >= 11:
        axes = [a - x.ndim if d.chance(0.3) else a for a in axes]
    inputs = [x, np.array(starts, dtype), np.array(ends, dtype), None if plain else np.array(axes, dtype)]
    if d.chance(0.6):
        inputs.append(np.array([d.pick(1, 2, 3, -1, -2, 2**31 - 1) for _ in axes], dtype))
    while inputs[-1] is None:
        inputs.pop()
    return Call(inputs)


def indices_below(d, n, shape, dtype, negative):
    low = -n if negative else 0
    return d.rng.integers(low, n, shape).astype(dtype) if n else np.zeros((0,), dtype)


@recipe("Gather")
def gather(d):
    x = d.values("T", d.shape(1, 4, 150))
    axis = d.axis(x.ndim, d.version >= 11)
    where = indices_below(d, x.shape[axis], d.shape(0, 2, 12), dtype_of(d.kind("Tind")), d.version >= 11)
    return Call([x, where], {"axis": axis if axis or d.chance() else None})


def nonempty(d, low=1, high=4):
    return tuple(max(n, 1) for n in d.shape(low, high, 150))


@recipe("GatherElements")
def gather_elements(d):
    x = d.values("T", nonempty(d))
    axis = d.axis(x.ndim)
    shape = [d.whole(1, n) if a != axis % x.ndim else d.dim() for a, n in enumerate(x.shape)]
    where = indices_below(d, x.shape[axis], shape, dtype_of(d.kind("Tind")), True)
    return Call([x, where], {"axis": axis if axis or d.chance() else None})


@recipe("GatherND")
def gather_nd(d):
    x = d.values("T", nonempty(d))
    batch = d.whole(0, x.ndim - 1) if d.version >= 12 and d.chance(0.5) else 0
    depth = d.whole(1, x.ndim - batch)
    outer = [*x.shape[:batch], *d.shape(0 if batch else 1, 2, 8)]
    where = np.stack([d.rng.integers(-x.shape[batch + k], x.shape[batch + k], outer) for k in range(depth)], -1)
    return Call([x, where.astype(np.int64)], {"batch_dims": batch or d.pick(None, 0)} if d.version >= 12 else {})


def distinct(d, n, count):
    return d.rng.permutation(n)[:count]


@recipe("Scatter", "ScatterElements")
def scatter_elements(d):
    x = d.values("T", nonempty(d))
    axis = d.axis(x.ndim)
    at = axis % x.ndim
    reduction = None
    if "reduction" in d.schema.attributes:
        reductions = ["none", "add", "mul"] + (["min", "max"] if d.version >= 18 else [])
        reduction = d.pick(None, *reductions) if d.kind("T") in INTEGERS | {1, 10, 11, 16} else None
    shape = [d.whole(1, n) for n in x.shape]
    dtype = dtype_of(d.kind("Tind"))
    if reduction in (None, "none"):  # two updates of one element have no order
        where = np.zeros(shape, dtype)
        for place in np.ndindex(*shape[:at], *shape[at + 1:]):
            row = distinct(d, x.shape[at], shape[at])
            where[(*place[:at], slice(None), *place[at:])] = row
        where = np.where(d.rng.random(shape) < 0.3, where - x.shape[at], where).astype(dtype)
    else:
        shape[at] = d.whole(1, 6)
        where = indices_below(d, x.shape[at], shape, dtype, True)
    mood = "tame" if reduction else None
    return Call([x, where, d.values("T", shape, mood)],
                {"axis": axis if axis or d.chance() else None, "reduction": reduction}, tolerance=8)


@recipe("ScatterND")
def scatter_nd(d):
    x = d.values("T", nonempty(d))
    reduction = None
    if "reduction" in d.schema.attributes:
        reductions = ["none", "add", "mul"] + (["min", "max"] if d.version >= 18 else [])
        reduction = d.pick(None, *reductions) if d.kind("T") in INTEGERS | {1, 10, 11, 16} else None
    depth = d.whole(1, x.ndim)
    count = int(np.prod(x.shape[:depth]))
    if reduction in (None, "none"):
        flat = distinct(d, count, d.whole(0 if d.chance(0.1) else 1, count))
    else:
        flat = d.rng.integers(0, count, d.whole(1, 6))
    where = np.stack(np.unravel_index(flat, x.shape[:depth]), -1).astype(np.int64).reshape(len(flat), depth)
    where = np.where(d.rng.random(where.shape) < 0.3, where - np.array(x.shape[:depth]), where)
    mood = "tame" if reduction else None
    return Call([x, where.astype(np.int64), d.values("T", (len(flat), *x.shape[depth:]), mood)],
                {"reduction": reduction}, tolerance=8)


@recipe("TensorScatter")
def tensor_scatter(d):
    x = d.values("T", nonempty(d, 3, 4))
    axis = d.whole(1, x.ndim - 1)
    length = d.whole(1, x.shape[axis])
    circular = d.chance()
    update = d.values("T", [length if a == axis else n for a, n in enumerate(x.shape)])
    last = x.shape[axis] - (1 if circular else length)
    starts = d.ints(*[d.whole(0, last) for _ in range(x.shape[0])])
    return Call([x, update] + ([starts] if d.chance(0.8) else []),
                {"axis": axis - x.ndim, "mode": "circular" if circular else d.pick(None, "linear")})


@recipe("OneHot")
def one_hot(d):
    depth = d.whole(1, 5)
    kinds = INTEGERS | {1, 11}
    kind = d.kind("T1", kinds)
    low = 0 if dtype_of(kind).kind == "u" else -depth
    where = np.array(d.rng.integers(low, depth, d.shape(0, 3, 40))).astype(dtype_of(kind))
    count = np.array(depth).astype(dtype_of(d.kind("T2", kinds)))
    return Call([where, count.reshape(1) if d.chance() else count, d.values("T3", (2,))],
                {"axis": d.pick(None, d.whole(-where.ndim - 1, where.ndim))})


@recipe("Compress")
def compress(d):
    x = d.values("T", d.shape(1, 4))
    axis = d.pick(None, d.axis(x.ndim, d.version >= 11))
    n = x.size if axis is None else x.shape[axis]
    return Call([x, d.rng.integers(0, 2, d.whole(0, n)).astype(bool)], {"axis": axis})


@recipe("NonZero")
def non_zero(d):
    return Call([d.values("T", d.shape(0 if d.version >= 13 else 1, 4), "tame")])


@recipe("Unique")
def unique(d):
    x = d.values("T", d.shape(1, 3, 60), "tame")
    if x.dtype.kind in "iuf":
        x = np.round(x).astype(x.dtype)
    axis = d.pick(None, d.axis(x.ndim))
    return Call([x], {"axis": axis, "sorted": d.pick(None, 0, 1)}, d.whole(1, 4))


@recipe("TopK")
def top_k(d):
    shape = d.shape(1, 4)
    axis = d.axis(len(shape), d.version >= 11)
    k = d.whole(0 if d.version >= 10 else min(1, shape[axis]), shape[axis])
    x = d.values("T", shape, "tame")
    if x.size and d.chance(0.6):  # all different, so that indices are certain
        x = np.asarray(d.rng.permutation(x.size).reshape(shape) % 250).astype(x.dtype)
    if d.version < 10:
        k = max(k, 1)
        if not shape[axis]:
            return top_k(d)
        return Call([x], {"axis": axis if d.chance() else axis, "k": k}, 2)
    attributes = {"axis": axis}
    if d.version >= 11:
        attributes["largest"] = d.pick(None, 0, 1)
        attributes["sorted"] = d.pick(None, 1)
    return Call([x, d.ints(k)], attributes, 2)


@recipe("ArgMax", "ArgMin")
def arg_max(d):
    x = d.values("T", nonempty(d), d.pick("tame", "extreme"))
    if d.chance(0.5):
        x = np.round(x.astype(np.float64)).astype(x.dtype) if x.dtype.kind not in "iu" else x
    attributes = {"axis": d.pick(None, d.axis(x.ndim, d.version >= 11)), "keepdims": d.pick(None, 0, 1)}
    if d.version >= 12:
        attributes["select_last_index"] = d.pick(None, 0, 1)
    return Call([x], attributes)


@recipe("NonMaxSuppression")
def non_max_suppression(d):
    batch, classes, boxes = d.whole(1, 2), d.whole(1, 2), d.whole(1, 8)
    centred = d.chance(0.4)
    first = d.rng.uniform(0, 1, (batch, boxes, 2))
    size = d.rng.uniform(0.1, 0.6, (batch, boxes, 2))
    corners = np.concatenate([first, size if centred else first + size], -1).astype(np.float32)
    if not centred and d.chance(0.3):
        corners = corners[..., [2, 3, 0, 1]]
    # Scores that differ: the text has no order for equal ones.
    scores = (d.rng.permutation(batch * classes * boxes) + 1).reshape(batch, classes, boxes) / np.float32(50)
    inputs = [np.ascontiguousarray(corners), scores.astype(np.float32), d.ints(d.whole(0, boxes + 1)),
              np.array([d.real(0, 1)], np.float32), np.array([d.real(0, 0.5)], np.float32)]
    return Call(inputs[:d.pick(3, 4, 5, 5)], {"center_point_box": 1 if centred else d.pick(None, 0)})
