"""Chains of two to four operators that the optimizer's passes look for: {name: function of a Chain}.

A function adds nodes to the chain and returns the name of the result; a graph's other values may become outputs, so
that a pass may not remove them.
"""
import numpy as np
import onnx
from calls import Call, Case, Draw, constant, element_kind
from onnx import TensorProto, helper

FLOAT = np.float32
CHAINS = {}


def chain(function):
    CHAINS[function.__name__] = function
    return function


class Chain:
    def __init__(self, draw):
        self.d, self.nodes, self.feeds, self.weights, self.kinds = draw, [], {}, {}, {}

    def values(self, shape, dtype=FLOAT):
        return np.asarray(self.d.values(TensorProto.FLOAT, shape)).astype(dtype)

    def given(self, array):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = np.asarray(array)
        return name

    def weight(self, array):
        """A constant in most cases, else an input."""
        if self.d.chance(0.15):
            return self.given(array)
        return self.fixed(array)

    def fixed(self, array):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def add(self, op, *inputs, kind=TensorProto.FLOAT, **attributes):
        name = f"v{len(self.nodes)}"
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"n{len(self.nodes)}", **attributes))
        self.kinds[name] = kind
        return name


def make(kind, seed, index, name, mood=None):
    schema = onnx.defs.get_schema("Identity", 13)
    number = sorted(CHAINS).index(kind)
    d = Draw(schema, seed * 1000 + number, index, None, mood)
    d.mood = mood or d.pick("tame", "tame", "tame", "special")
    c = Chain(d)
    CHAINS[kind](c)
    outputs = [n.output[0] for n in c.nodes]
    asked = [o for o in outputs if not any(o in n.input for n in c.nodes) or d.chance(0.1)]
    graph = helper.make_graph(
        c.nodes, "chain", [helper.make_tensor_value_info(k, element_kind(v), v.shape) for k, v in c.feeds.items()],
        [helper.make_tensor_value_info(o, c.kinds[o], None) for o in asked],
        [constant(v, k) for k, v in c.weights.items()])
    opset = d.pick(13, 17, 18, 21, 22)
    if kind in NEEDS and opset < NEEDS[kind]:
        opset = NEEDS[kind]
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return Case(name, model, dict(c.feeds), Call([], tolerance=64), d)


NEEDS = {"gelu_of_sum": 20, "layer_norm": 17}


@chain
def matmul_bias_activation(c):
    m, k, n = (c.d.pick(1, 2, 3, 5, 17) for _ in range(3))
    c.d.mood = "tame"
    x = c.given(c.values((*c.d.shape(0, 2, 6), m, k)))
    y = c.add("MatMul", x, c.weight(c.values((k, n))))
    bias = c.weight(c.values(c.d.pick((n,), (1, n), (), (m, n), (m, 1))))
    y = c.add("Add", *c.d.pick((y, bias), (bias, y)))
    return c.add(c.d.pick("Relu", "Sigmoid", "Tanh", "Identity", "Elu"), y)


@chain
def gelu_of_sum(c):
    x = c.given(c.values((c.d.whole(1, 4), 8)))
    return c.add("Gelu", c.add("Add", x, c.weight(c.values((8,)))), approximate=c.d.pick("none", "tanh"))


@chain
def swish(c):
    x = c.given(c.values(c.d.shape(1, 4)))
    gate = c.add(c.d.pick("Sigmoid", "HardSigmoid"), x)
    return c.add("Mul", *c.d.pick((x, gate), (gate, x)))


def conv(c, channels=None, outputs=None):
    d = c.d
    d.mood = "tame"
    group = d.pick(1, 1, 2)
    channels, outputs = channels or group * d.pick(1, 2, 4), outputs or group * d.pick(1, 2, 3)
    kernel = [d.whole(1, 3), d.whole(1, 3)]
    x = c.given(c.values((d.pick(1, 2), channels, d.whole(3, 7), d.whole(3, 7))))
    inputs = [x, c.weight(c.values((outputs, channels // group, *kernel)))]
    if d.chance():
        inputs.append(c.weight(c.values((outputs,))))
    pads = [d.whole(0, k - 1) for k in kernel * 2]
    return c.add("Conv", *inputs, group=group, kernel_shape=kernel, pads=pads, strides=[d.pick(1, 2)] * 2), outputs


@chain
def conv_norm(c):
    y, n = conv(c)
    stats = [c.weight(c.values((n,))) for _ in range(3)] + [c.weight(np.abs(c.values((n,))) + FLOAT(0.2))]
    y = c.add("BatchNormalization", y, *stats, epsilon=c.d.pick(None, 1e-3))
    return c.add("Relu", y) if c.d.chance() else y


@chain
def conv_activation(c):
    y, _ = conv(c)
    return c.add(c.d.pick("Relu", "Sigmoid", "LeakyRelu", "HardSigmoid", "Tanh", "Elu"), y)


@chain
def conv_clip(c):
    y, _ = conv(c)
    low, high = c.d.pick(("", 6.0), (0.0, ""), (0.0, 6.0), (-1.0, 1.0), (2.0, 1.0))
    inputs = [c.weight(FLOAT(v)) if v != "" else "" for v in (low, high)]
    return c.add("Clip", y, *(inputs if inputs[1] else inputs[:1]))


@chain
def conv_scale_shift(c):
    y, n = conv(c)
    shape = c.d.pick((n, 1, 1), (1, n, 1, 1), (1,), ())
    y = c.add(c.d.pick("Mul", "Add"), y, c.weight(c.values(shape)))
    return c.add(c.d.pick("Add", "Mul"), y, c.weight(c.values(shape)))


@chain
def conv_sum_relu(c):
    d = c.d
    d.mood = "tame"
    n = d.pick(1, 2, 4)
    image = c.values((1, n, 5, 5))
    x = c.given(image)
    y = c.add("Conv", x, c.weight(c.values((n, n, 3, 3))), pads=[1, 1, 1, 1])
    y = c.add("Add", *d.pick((x, y), (y, x)))
    return c.add("Relu", y)


@chain
def padded(c):
    d = c.d
    d.mood = "tame"
    x = c.given(c.values((1, 2, 5, 5)))
    pads = np.array([0, 0, d.whole(0, 2), d.whole(0, 2), 0, 0, d.whole(0, 2), d.whole(-1, 2)], np.int64)
    y = c.add("Pad", x, c.fixed(pads), *([c.fixed(FLOAT(d.pick(0.0, 1.0)))] if d.chance() else []))
    if d.chance():
        return c.add("Conv", y, c.weight(c.values((3, 2, 2, 2))), pads=d.pick(None, [1, 0, 0, 1]))
    return c.add(d.pick("AveragePool", "MaxPool"), y, kernel_shape=[2, 2], pads=d.pick(None, [1, 0, 0, 1]))


@chain
def transposes(c):
    d = c.d
    rank = d.whole(1, 4)
    x = c.given(c.values([d.dim() for _ in range(rank)]))
    for _ in range(d.whole(1, 3)):
        x = c.add("Transpose", x, perm=[int(a) for a in d.rng.permutation(rank)])
    return c.add(d.pick("Relu", "Softmax", "Identity"), x)


@chain
def transpose_matmul(c):
    d = c.d
    d.mood = "tame"
    m, k, n = d.whole(1, 4), d.whole(1, 4), d.whole(1, 4)
    x, y = c.given(c.values((2, k, m))), c.weight(c.values((2, n, k)))
    x = c.add("Transpose", x, perm=[0, 2, 1]) if d.chance(0.8) else c.given(c.values((2, m, k)))
    y = c.add("Transpose", y, perm=[0, 2, 1])
    z = c.add("MatMul", x, y)
    return c.add("Mul", z, c.weight(FLOAT(0.5))) if d.chance() else c.add("Div", z, c.weight(FLOAT(4)))


@chain
def reshapes(c):
    d = c.d
    x = c.given(c.values((2, 3, 4)))
    for _ in range(d.whole(1, 3)):
        shape = d.pick([6, 4], [-1], [2, 12], [0, -1], [4, 3, 2], [24, 1])
        x = c.add("Reshape", x, c.weight(np.array(shape, np.int64)))
        if d.chance(0.4):
            x = c.add("Flatten", x, axis=d.pick(0, 1, -1))
    return c.add("Neg", x)


@chain
def squeezes(c):
    x = c.given(c.values((3, 1, 2)))
    if c.d.chance():
        x = c.add("Squeeze", x, c.fixed(np.array([1])))
        return c.add("Unsqueeze", x, c.fixed(np.array([c.d.pick(0, 1, 2, -1)])))
    x = c.add("Unsqueeze", x, c.fixed(np.array([c.d.pick(0, 2, -1)])))
    return c.add("Squeeze", x)


@chain
def casts(c):
    x = c.given(np.round(c.values(c.d.shape(0, 3))) if c.d.mood == "tame" else c.values(c.d.shape(0, 3)))
    kinds = [10, 11, 16, 1] if c.d.mood != "tame" else [10, 11, 16, 6, 7, 3, 1]
    for _ in range(c.d.whole(1, 3)):
        kind = c.d.pick(*kinds)
        x = c.add("Cast", x, kind=kind, to=kind)
    return c.add("Cast", x, to=1)


@chain
def slices(c):
    d = c.d
    x = c.given(c.values((d.whole(0, 6), d.whole(1, 7))))
    for _ in range(d.whole(1, 3)):
        bounds = [d.whole(-8, 8), d.whole(-8, 8)]
        x = c.add("Slice", x, *(c.weight(np.array([v])) for v in (*bounds, d.pick(0, 1, -1), d.pick(1, 1, 2, -1, -3))))
    return c.add("Relu", x) if d.chance(0.3) else x


@chain
def elementwise(c):
    d = c.d
    shape = d.shape(0, 4)
    x = c.given(c.values(shape))
    for _ in range(d.whole(2, 4)):
        if d.chance(0.6):
            other = c.given(c.values(d.broadcast(shape))) if d.chance() else c.weight(c.values(d.broadcast(shape)))
            pair = (x, other) if d.chance(0.7) else (other, x)
            x = c.add(d.pick("Add", "Mul", "Sub", "Max", "Min"), *pair)
        else:
            x = c.add(d.pick("Relu", "Neg", "Abs", "Sigmoid", "Floor", "Sqrt", "Elu", "Softsign"), x)
    return x


@chain
def clips(c):
    x = c.given(c.values(c.d.shape(0, 3)))
    for _ in range(c.d.whole(2, 3)):
        way = c.d.whole(0, 3)
        if way == 0:
            x = c.add("Relu", x)
        elif way == 1:
            x = c.add("Clip", x, c.fixed(FLOAT(-1)), c.fixed(FLOAT(c.d.pick(2, 6))))
        elif way == 2:
            x = c.add("Clip", x, c.fixed(FLOAT(0.5)))
        else:
            x = c.add(c.d.pick("Max", "Min"), x, c.fixed(FLOAT(c.d.pick(0, 1))))
    return x


@chain
def concat_slice(c):
    d = c.d
    axis = d.pick(0, 1)
    parts = [c.given(c.values((2, d.whole(0, 3)) if axis else (d.whole(0, 3), 2))) for _ in range(d.whole(1, 3))]
    x = c.add("Concat", *parts, axis=axis)
    bounds = [np.array([v]) for v in (d.whole(0, 3), d.whole(1, 6), axis)]
    return c.add("Slice", x, *(c.fixed(b) for b in bounds))


@chain
def shapes(c):
    x = c.given(c.values((c.d.dim(), c.d.dim(), 2)))
    size = c.add("Shape", x, kind=7)
    part = c.add("Gather", size, c.fixed(np.array(c.d.pick([0, 1], [1], [-1, 0]))), kind=7)
    return c.add("ConstantOfShape", part)


@chain
def reduced(c):
    d = c.d
    x = c.given(c.values((2, 3, 4)))
    d.mood = "tame"
    mean = c.add("GlobalAveragePool", x)
    return c.add("Sub", x, mean) if d.chance() else c.add("Mul", c.add("Sigmoid", mean), x)


@chain
def layer_norm(c):
    c.d.mood = "tame"
    x = c.given(c.values((2, 3, 8)))
    x = c.add("Add", x, c.weight(c.values(c.d.pick((2, 3, 8), (8,), (3, 8)))))
    return c.add("LayerNormalization", x, c.weight(c.values((8,))), c.weight(c.values((8,))))


@chain
def scores(c):
    c.d.mood = "tame"
    x = c.given(c.values((1, 2, 3, 5)))
    x = c.add(c.d.pick("Mul", "Div"), x, c.weight(FLOAT(2)))
    if c.d.chance():
        x = c.add("Add", x, c.weight(np.where(c.d.rng.random((3, 5)) < 0.3, FLOAT(-1e4), FLOAT(0))))
    return c.add("Softmax", x, axis=c.d.pick(-1, 3, 1))


def quantize(c, x, dtype, scale, zero):
    return c.add("QuantizeLinear", x, c.fixed(FLOAT(scale)), c.fixed(dtype(zero)),
                 kind=2 if dtype == np.uint8 else 3)


def dequantize(c, x, dtype, scale, zero):
    return c.add("DequantizeLinear", x, c.fixed(FLOAT(scale)), c.fixed(dtype(zero)))


@chain
def quantized(c):
    d = c.d
    d.mood = "tame"
    dtype = d.pick(np.uint8, np.int8)
    x = c.given(np.round(c.values((2, 4)) * 8).clip(-60, 60) / FLOAT(4))
    q = quantize(c, x, dtype, 0.25, 3)
    y = dequantize(c, q, dtype, 0.25, 3)
    op = d.pick("Relu", "MatMul", "Add", "Transpose", "Reshape", "Mul", "MaxPool", "Clip")
    if op == "MatMul":
        w = c.fixed(np.asarray(d.rng.integers(-5, 6, (4, 3)), np.int8))
        y = c.add("MatMul", y, dequantize(c, w, np.int8, 0.5, 0))
    elif op in ("Add", "Mul"):
        y = c.add(op, y, dequantize(c, c.given(np.asarray(d.rng.integers(0, 9, (2, 4)), dtype)), dtype, 0.5, 1))
    elif op == "Reshape":
        y = c.add(op, y, c.fixed(np.array([8])))
    elif op == "MaxPool":
        y = c.add(op, c.add("Unsqueeze", y, c.fixed(np.array([0]))), kernel_shape=[2])
    elif op == "Clip":
        y = c.add(op, y, c.fixed(FLOAT(-1)), c.fixed(FLOAT(1)))
    else:
        y = c.add(op, y)
    return dequantize(c, quantize(c, y, dtype, 0.5, 2), dtype, 0.5, 2)


@chain
def expands(c):
    x = c.given(c.values((1, 3)))
    y = c.add("Expand", x, c.weight(np.array(c.d.pick([2, 3], [1, 1], [4, 1, 3]))))
    return c.add("Mul", y, c.weight(c.values(c.d.pick((3,), (1,)))))


@chain
def wheres(c):
    x = c.given(c.values((2, 4)))
    mask = c.add(c.d.pick("Greater", "Less", "Equal"), x, c.weight(FLOAT(0)), kind=9)
    if c.d.chance():
        mask = c.add("Not", mask, kind=9)
    y = c.add("Where", mask, x, c.weight(FLOAT(c.d.pick(0.0, -np.inf, 1.0))))
    return c.add("Softmax", y) if c.d.chance(0.3) else y
