"""Operators that compute each element of the output from one element of each (broadcast) input."""
import numpy as np
from calls import FLOATS, INTEGERS, KINDS, NAMES, NARROW_FLOATS, SMALL_INTEGERS, Call, dtype_of

from recipes import recipe

CAST_TARGETS = INTEGERS | FLOATS | {9}


@recipe("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor",
        "HardSwish", "Log", "Mish", "Neg", "Not", "BitwiseNot", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin",
        "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "IsNaN")
def unary(d):
    attributes = {"consumed_inputs": [0]} if d.version == 1 and "consumed_inputs" in d.schema.attributes else {}
    return Call([d.values(d.schema.inputs[0].type_str, d.shape())], attributes)


PARAMETERS = {
    "Elu": ["alpha"], "Selu": ["alpha", "gamma"], "LeakyRelu": ["alpha"], "HardSigmoid": ["alpha", "beta"],
    "ThresholdedRelu": ["alpha"], "Celu": ["alpha"], "Shrink": ["bias", "lambd"], "Swish": ["alpha"],
}


@recipe(*PARAMETERS)
def with_parameters(d):
    attributes = {name: d.real(0.1, 2) for name in PARAMETERS[d.op] if d.chance(0.7)}
    if d.op == "Shrink" and d.kind("T") not in FLOATS:
        # The text has no rule for adding a fraction to an integer.
        attributes = {name: float(int(value)) for name, value in attributes.items()}
        attributes.setdefault("lambd", 1.0)
    if "consumed_inputs" in d.schema.attributes:
        attributes["consumed_inputs"] = [0]
        if d.op == "Selu":  # whose defaults have more digits in newer versions
            attributes = {"alpha": 1.5, "gamma": 1.25, **attributes}
    return Call([d.values("T", d.shape())], attributes)


@recipe("Gelu")
def gelu(d):
    return Call([d.values("T", d.shape())], {"approximate": d.pick(None, "none", "tanh")})


@recipe("IsInf")
def is_inf(d):
    d.mood = d.pick(d.mood, "special")
    return Call([d.values("T1", d.shape())],
                {name: d.pick(None, 0, 1) for name in ("detect_negative", "detect_positive")})


def broadcast_by_attribute(d, kind, high=4, other_mood=None):
    """Inputs and attributes of versions before 7: the second input fits a part of the first, named by `axis`."""
    shape = d.shape(1, high)
    first = d.values(kind, shape)
    if d.chance(0.3):
        return [first, d.values(kind, shape, other_mood)], {}, None
    rank = d.whole(1, len(shape))
    axis = d.whole(0, len(shape) - rank)
    second = d.values(kind, shape[axis:axis + rank], other_mood)
    suffix = axis + rank == len(shape)
    attributes = {"broadcast": 1, "axis": None if suffix and d.chance() else axis}
    return [first, second], attributes, second.reshape(second.shape + (1,) * (len(shape) - axis - rank))


def two_operands(d, kind, mood=None):
    if d.version < 7 and "broadcast" in d.schema.attributes:
        inputs, attributes, modern = broadcast_by_attribute(d, kind, other_mood=mood)
        if "consumed_inputs" in d.schema.attributes:
            attributes["consumed_inputs"] = [0, 0]
        newest = Call([inputs[0], inputs[1] if modern is None else modern])
        return Call(inputs, attributes, newest=newest)
    one, other = d.pair()
    return Call([d.values(kind, one), d.values(kind, other, mood)])


@recipe("Add", "Sub", "Mul", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", "And", "Or", "Xor",
        "BitwiseAnd", "BitwiseOr", "BitwiseXor")
def binary(d):
    return two_operands(d, "T")


def nonzero(array, d):
    if array.dtype.kind not in "iu":
        return array
    low = np.iinfo(array.dtype).min
    array = np.where(array == 0, array.dtype.type(3), array)
    # The lowest number divided by -1 has no result.
    return np.where(array == array.dtype.type(-1), array.dtype.type(2), array) if low < 0 else array


@recipe("Div")
def div(d):
    call = two_operands(d, "T")
    call.inputs[1] = nonzero(call.inputs[1], d)
    if call.newest:
        call.newest.inputs[1] = nonzero(call.newest.inputs[1], d)
    return call


@recipe("Mod")
def mod(d):
    call = two_operands(d, "T")
    call.inputs[1] = nonzero(call.inputs[1], d)
    call.attributes["fmod"] = 1 if d.kind("T") in FLOATS else d.pick(None, 0, 1)
    return call


@recipe("BitShift")
def bit_shift(d):
    kind = d.kind("T")
    bits = dtype_of(kind).itemsize * 8
    one, other = d.pair()
    return Call([d.values("T", one), d.values("T", other, low=0, high=bits - 1)],
                {"direction": d.pick("LEFT", "RIGHT")})


@recipe("Pow")
def power(d):
    if d.version < 7:
        call = two_operands(d, "T", "tame")
        return call
    kind = d.kind("T")
    other = d.kind("T1") if d.version >= 12 else kind
    one, two = d.pair()
    if kind in FLOATS:
        exponent = d.values(other, two) if other in FLOATS else d.values(other, two, low=0, high=3)
        return Call([d.values(kind, one), exponent], tolerance=4)
    if other in FLOATS:  # whole exponents: the text has no rule for roots of integers
        exponent = np.array(d.rng.integers(0, 4, two)).astype(dtype_of(other))
    else:
        exponent = d.values(other, two, low=0, high=3)
    return Call([d.values(kind, one, low=-5, high=5), exponent])


@recipe("PRelu")
def prelu(d):
    shape = d.shape(1, 4)
    if d.version < 7:
        shape = d.shape(2, 4)
        slope = d.values("T", (shape[1],) if d.chance() else (1,))
        modern = slope.reshape(-1, *[1] * (len(shape) - 2))
        attributes = {"consumed_inputs": [0, 0]} if "consumed_inputs" in d.schema.attributes else {}
        x = d.values("T", shape)
        return Call([x, slope], attributes, newest=Call([x, modern]))
    return Call([d.values("T", shape), d.values("T", d.broadcast(shape))])


@recipe("Max", "Min", "Mean", "Sum")
def several(d):
    count = d.pick(1, 2, 2, 3, 4)
    whole = d.shape()
    shapes = [whole if d.version < 8 or d.chance(0.4) else d.broadcast(whole) for _ in range(count)]
    attributes = {"consumed_inputs": [0] * count} if "consumed_inputs" in d.schema.attributes else {}
    return Call([d.values("T", shape) for shape in shapes], attributes, tolerance=count)


@recipe("Clip")
def clip(d):
    kind, shape = d.kind("T"), d.shape()
    x = d.values(kind, shape)
    bounds = sorted([d.values(kind, (), "tame") for _ in range(2)], key=float)
    if d.version < 11:
        attributes = {"min": float(bounds[0]) if d.chance(0.7) else None,
                      "max": float(bounds[1]) if d.chance(0.7) else None}
        limits = [np.asarray(attributes[n], x.dtype) if attributes[n] is not None else None for n in ("min", "max")]
        newest = Call([x, *limits] if limits[1] is not None else [x, limits[0]] if limits[0] is not None else [x])
        if "consumed_inputs" in d.schema.attributes:
            attributes["consumed_inputs"] = [0]
        return Call([x], attributes, newest=newest if d.version == 1 else None)
    low, high = (b if d.chance(0.7) else None for b in bounds)
    return Call([x, low, high] if high is not None else [x, low] if low is not None else [x])


@recipe("Where")
def where(d):
    whole = d.shape()
    return Call([d.values("B", d.broadcast(whole)), d.values("T", d.broadcast(whole)), d.values("T", whole)])


def cast_source(d, kind, target):
    shape = d.shape()
    if kind == 8:  # strings that are numbers
        words = ["1", "-2", "0", "3.5", "1e2"] if target in FLOATS | NARROW_FLOATS else ["1", "2", "0", "7"]
        if d.mood == "special" and target in {1, 11}:
            words += ["NaN", "INF", "-INF"]
        if target == 9:
            words = ["1", "0"]
        return np.array([words[i] for i in d.rng.integers(0, len(words), int(np.prod(shape)))], object).reshape(shape)
    if 24 in (kind, target):  # powers of two, neither 0 nor negative
        return d.values(kind, shape, "tame", low=1, high=4 if kind not in SMALL_INTEGERS else 1)
    if kind in FLOATS | NARROW_FLOATS and target not in FLOATS | NARROW_FLOATS | {9}:
        # Outside of the integer's range the text leaves the result open.
        most = {21: 15, 22: 7, 25: 3, 26: 1}.get(target, 100)
        low = 0 if NAMES[target].startswith("u") else -most
        return d.values(kind, shape, "tame", low=low, high=most)
    if kind in INTEGERS and target in SMALL_INTEGERS | NARROW_FLOATS:
        return d.values(kind, shape, "tame", low=0, high=3 if target != 26 else 1)
    return d.values(kind, shape)


CAST_NAMES = {name: KINDS[f"tensor({name.lower()})"] for name in (
    "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64")}


@recipe("Cast", "CastLike")
def cast(d):
    kind, target = d.kind("T1"), d.kind("T2")
    x = cast_source(d, kind, target)
    attributes = {}
    narrow = target in NARROW_FLOATS - {23}
    if narrow and "saturate" in d.schema.attributes:
        attributes["saturate"] = d.pick(None, 0, 1)
    if target == 24 and "round_mode" in d.schema.attributes:
        attributes["round_mode"] = d.pick(None, "up", "down", "nearest")
    if d.op == "CastLike":
        return Call([x, d.values(target, (1,), "tame")], attributes)
    if d.version == 1:
        name = next(n for n, k in CAST_NAMES.items() if k == target)
        return Call([x], {"to": name}, newest=Call([x], {"to": target}))
    return Call([x], {**attributes, "to": target})


@recipe("BitCast")
def bit_cast(d):
    size = {k: (4 if k in {21, 22, 23} else 2 if k in {25, 26} else dtype_of(k).itemsize * 8) for k in NAMES if k != 8}
    kind = d.kind("T1", set(size))
    target = d.kind("T2", {k for k, bits in size.items() if bits == size[kind]})
    x = d.values(kind, d.shape())
    if target == 9:
        x = np.asarray(x.astype(np.int64) & 1 if kind in INTEGERS else x, x.dtype)
    return Call([x], {"to": target})
