"""Reductions, products, normalizations and losses."""
import numpy as np
from calls import FLOATS, Call, dtype_of

from recipes import recipe

REDUCTIONS = ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
              "ReduceProd", "ReduceSum", "ReduceSumSquare"]


@recipe(*REDUCTIONS)
def reduce(d):
    shape = d.shape(0, 4)
    special = d.op in ("ReduceMax", "ReduceMin")
    kind = d.kind("T")
    if d.op == "ReduceLogSum":
        x = d.values(kind, shape, low=1, high=4) if kind not in FLOATS else np.abs(d.values(kind, shape, "tame"))
    elif d.op == "ReduceLogSumExp" and kind not in FLOATS:
        x = d.values(kind, shape, low=0, high=9)
    elif d.op in ("ReduceMean", "ReduceL2", "ReduceProd") and kind not in FLOATS:
        x = d.values(kind, shape, low=0, high=3)
    else:
        x = d.values(kind, shape, d.mood if special else d.pick("tame", "tame", "special") if kind in FLOATS else None)
    axes = d.axes(x.ndim, 0 if d.chance(0.2) else 1, d.version >= 11)
    attributes = {"keepdims": d.pick(None, 0, 1)}
    by_input = d.version >= 18 or (d.op == "ReduceSum" and d.version >= 13)
    if not by_input:
        attributes["axes"] = axes if axes and d.chance(0.8) else None
        return Call([x], attributes, tolerance=8)
    attributes["noop_with_empty_axes"] = d.pick(None, 0, 1)
    if d.op in ("ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp") and not axes:
        attributes["noop_with_empty_axes"] = d.pick(None, 0)
    return Call([x, d.ints(*axes)] if d.chance(0.8) else [x], attributes, tolerance=8)


@recipe("CumSum", "CumProd")
def cumulate(d):
    x = d.values("T", d.shape(1, 4), None if d.kind("T") not in FLOATS else "tame")
    axis = np.array(d.axis(x.ndim), dtype_of(d.kind("T2")))
    return Call([x, axis], {"exclusive": d.pick(None, 0, 1), "reverse": d.pick(None, 0, 1)}, tolerance=16)


def matrices(d, most=60):
    m, k, n = (d.pick(1, 2, 3, 4, 7, 17, 33 if d.chance(0.3) else 5) for _ in range(3))
    if d.chance(0.06):
        m, k, n = ((0, k, n), (m, 0, n), (m, k, 0))[d.whole(0, 2)]
    batch, other = d.pair(2)
    return batch, other, m, k, n


def matmul_shapes(d):
    batch, other, m, k, n = matrices(d)
    one, two = (*batch, m, k), (*other, k, n)
    if d.chance(0.2):
        one = (k,)
    if d.chance(0.2):
        two = (k,)
    return one, two


@recipe("MatMul")
def matmul(d):
    one, two = matmul_shapes(d)
    mood = "tame" if d.kind("T") in FLOATS else None
    return Call([d.values("T", one, mood), d.values("T", two, mood)], tolerance=8)


@recipe("Gemm")
def gemm(d):
    _, _, m, k, n = matrices(d)
    trans_a, trans_b = d.pick(None, 0, 1), d.pick(None, 0, 1)
    kind = d.kind("T")
    a = d.values(kind, (k, m) if trans_a else (m, k), "tame")
    b = d.values(kind, (n, k) if trans_b else (k, n), "tame")
    attributes = {"transA": trans_a, "transB": trans_b}
    if d.chance(0.6):
        whole = kind not in FLOATS
        attributes |= {"alpha": float(d.whole(1, 3)) if whole else d.real(0.2, 2),
                       "beta": float(d.whole(0, 2)) if whole else d.real(0, 2)}
    if d.version < 7:
        shape = (m, n)
        attributes["broadcast"] = d.pick(0, 1)
        if attributes["broadcast"]:
            shape = d.pick((m, n), (n,), (1,))
        newest = Call([a, b, d.values(kind, shape, "tame")], {k: v for k, v in attributes.items() if k != "broadcast"})
        return Call(newest.inputs, attributes, newest=newest, tolerance=8)
    inputs = [a, b]
    if d.version < 11 or d.chance(0.7):
        inputs.append(d.values(kind, d.pick((m, n), (n,), (1, n), (m, 1), (1,), (), (1, 1)), "tame"))
    return Call(inputs, attributes, tolerance=8)


EQUATIONS = [
    ("ij,jk->ik", "ij jk"), ("bij,bjk->bik", "bij bjk"), ("...ij,...jk->...ik", "bij bjk"), ("ij->ji", "ij"),
    ("ii->i", "ii"), ("ii", "ii"), ("ij->", "ij"), ("ij,ij->ij", "ij ij"), ("i,j->ij", "i j"), ("ij,jk,kl->il",
    "ij jk kl"), ("bhqd,bhkd->bhqk", "bhqd bhkd"), ("ijk,k->ij", "ijk k"), ("ij , jk", "ij jk"), ("...->...", "ij"),
    ("bij,bjk", "bij bjk"), ("ij,kl->ikjl", "ij kl"), ("iji->j", "iji"), ("i,i->", "i i"), (",i->i", " i"),
    ("b...i,bi->b...", "bhqi bi"), ("ij,j->i", "ij j"), ("abc,cd,abd->a", "abc cd abd"),
]


@recipe("Einsum")
def einsum(d):
    equation, operands = EQUATIONS[d.whole(0, len(EQUATIONS) - 1)]
    sizes = {letter: d.pick(1, 2, 3, 5, 0 if d.chance(0.1) else 2) for letter in "abcdijklbhqk"}
    shapes = [[sizes[x] for x in word] for word in operands.split(" ")]
    return Call([d.values("T", shape, "tame") for shape in shapes], {"equation": equation}, tolerance=8)


@recipe("Det")
def det(d):
    n = d.pick(1, 2, 3, 4)
    shape = (*d.shape(0, 2), n, n)
    return Call([d.values("T", shape, "tame")], tolerance=16)


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(d):
    mood = d.pick("tame", "tame", "extreme")
    x = d.values("T", d.shape(1, 4), "tame" if d.op == "Hardmax" else mood)
    return Call([x], {"axis": d.pick(None, d.axis(x.ndim, d.version >= 11)) if x.ndim > 1 else d.axis(1, False)},
                tolerance=8)


@recipe("BatchNormalization")
def batch_normalization(d):
    x = d.values("T", d.shape(2, 5), "tame")
    channels = x.shape[1]
    scale_kind = d.kind("T1") if d.version >= 15 else d.kind("T")
    stat = d.kind("T2") if d.version >= 15 else d.kind("U") if d.version == 14 else d.kind("T")
    attributes = {"epsilon": d.pick(None, d.real(1e-4, 0.1))}
    outputs = 1
    if d.version >= 14 and d.chance(0.3):
        attributes |= {"training_mode": 1, "momentum": d.pick(None, d.real(0.1, 0.9))}
        outputs = 3
    if d.version < 7:
        attributes |= {"is_test": 1}
        if d.version == 1:
            attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    inputs = [x, d.values(scale_kind, (channels,), "tame"), d.values(scale_kind, (channels,), "tame"),
              d.values(stat, (channels,), "tame"), d.values(stat, (channels,), "tame", 0.1, 3)]
    newest = Call(inputs, {"epsilon": attributes["epsilon"]}) if d.version < 7 else None
    return Call(inputs, attributes, outputs, tolerance=16, newest=newest)


@recipe("InstanceNormalization", "GroupNormalization")
def group_normalization(d):
    groups, each = d.pick(1, 2, 3), d.pick(1, 2)
    shape = (d.pick(1, 2), groups * each, *d.shape(1, 3, 60))
    x = d.values("T", shape, "tame")
    channels = groups * each
    size = groups if d.op == "GroupNormalization" and d.version < 21 else channels
    attributes = {"epsilon": d.pick(None, d.real(1e-4, 0.1))}
    if d.op == "GroupNormalization":
        attributes["num_groups"] = groups
    if "consumed_inputs" in d.schema.attributes:
        attributes["consumed_inputs"] = [0, 0, 0]
    return Call([x, d.values("T", (size,), "tame"), d.values("T", (size,), "tame")], attributes, tolerance=32)


@recipe("LayerNormalization", "RMSNormalization")
def layer_normalization(d):
    shape = tuple(max(n, 1) for n in d.shape(1, 4))
    axis = d.axis(len(shape))
    normalized = shape[axis % len(shape):]
    scale_shape = normalized if d.chance(0.8) else d.broadcast(normalized)
    attributes = {"axis": axis if axis != -1 or d.chance() else None, "epsilon": d.pick(None, d.real(1e-4, 0.1)),
                  "stash_type": d.pick(None, 1)}
    if d.op == "RMSNormalization":
        d.types["V"] = d.kind("T")  # the text has no rule for two types
        return Call([d.values("T", shape, "tame"), d.values("V", scale_shape, "tame")], attributes, tolerance=16)
    d.types["U"] = 1
    inputs = [d.values("T", shape, "tame"), d.values("T", scale_shape, "tame"), d.values("T", normalized, "tame")]
    return Call(inputs[:d.pick(2, 3)], attributes, d.pick(1, 1, 3), tolerance=32)


@recipe("LpNormalization")
def lp_normalization(d):
    x = d.values("T", d.shape(1, 4), "tame")
    return Call([x], {"axis": d.pick(None, d.axis(x.ndim)), "p": d.pick(None, 1, 2)}, tolerance=8)


@recipe("MeanVarianceNormalization")
def mean_variance_normalization(d):
    x = d.values("T", tuple(max(n, 2) for n in d.shape(4, 4)), "tame")
    if d.version == 1:
        return Call([x], {"across_channels": d.pick(None, 0, 1), "normalize_variance": d.pick(None, 1)}, tolerance=16)
    axes = d.axes(4, low=1) if d.chance(0.6) else None
    return Call([x], {"axes": axes}, tolerance=32)


@recipe("LRN")
def lrn(d):
    x = d.values("T", d.shape(*d.pick((4, 4), (4, 4), (3, 5))), "tame")
    return Call([x], {"size": d.pick(1, 2, 3, 4, 5), "alpha": d.pick(None, d.real(0.01, 1)),
                      "beta": d.pick(None, d.real(0.3, 1)), "bias": d.pick(None, d.real(0.5, 2))}, tolerance=16)


@recipe("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def losses(d):
    classes, rest = d.pick(1, 2, 3, 5), d.shape(0, 2, 30)
    batch = d.pick(1, 2, 3)
    x = d.values("T", (batch, classes, *rest), "tame")
    reduction = d.pick(None, "none", "mean", "sum")
    target = d.rng.integers(0, classes, (batch, *rest)).astype(dtype_of(d.kind("Tind")))
    ignored = d.pick(None, None, 0, -100)
    if ignored is not None and target.size > 1:
        target.flat[0] = ignored
    inputs = [x, target] + ([d.values("T", (classes,), "tame", 0.1, 2)] if d.chance() else [])
    outputs = d.pick(1, 2) if d.op.startswith("Softmax") else 1
    return Call(inputs, {"reduction": reduction, "ignore_index": ignored}, outputs, tolerance=16)


@recipe("Dropout")
def dropout(d):
    x = d.values("T", d.shape())
    outputs = d.pick(1, 2)
    if d.version < 12:
        attributes = {"ratio": d.pick(None, 0.3)}
        if d.version < 7:
            attributes["is_test"] = 1
            if d.version == 1:
                attributes["consumed_inputs"] = [0]
            return Call([x], attributes, newest=Call([x]))
        return Call([x], attributes, outputs)
    inputs = [x, d.values("T1", (), "tame", 0.1, 0.8) if d.chance() else None,
              np.array(False) if d.chance() else None]
    if d.version >= 12:
        d.types["T2"] = 9
    while inputs[-1] is None:
        inputs.pop()
    return Call(inputs, {}, outputs)
