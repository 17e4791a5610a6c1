"""Operators on quantized tensors."""
import numpy as np
from calls import FLOATS, INTEGERS, Call, dtype_of

from recipes import recipe
from recipes.images import Window, conv_shapes, rank_of
from recipes.sums import matmul_shapes


def zero_point(d, kind, shape=()):
    return d.values(kind, shape, "tame") if kind in INTEGERS | {21, 22, 25, 26} else np.zeros(shape, dtype_of(kind))


def scale(d, kind, shape=()):
    """Powers of two divide exactly: other scales would turn the last bit of a product into another integer."""
    return np.asarray(2.0 ** d.rng.integers(-3, 2, shape)).astype(dtype_of(kind))


def layout(d, shape):
    """Shape of the scales, and attributes: one scale, one for each index of an axis, or blocks along it."""
    way = d.pick("one", "axis", "blocks" if d.version >= 21 else "axis") if d.version >= 13 and shape else "one"
    if way == "one":
        return (), {}
    axis = d.axis(len(shape))
    if way == "axis":
        return (shape[axis],), {"axis": axis if axis != 1 or d.chance() else None}
    block = d.whole(1, max(1, shape[axis]))
    scales = list(shape)
    scales[axis] = -(-shape[axis] // block)
    return tuple(scales), {"axis": axis, "block_size": block}


@recipe("QuantizeLinear")
def quantize_linear(d):
    shape = tuple(max(n, 1) for n in d.shape(1, 4))
    size, attributes = layout(d, shape)
    kind = d.kind("T1")
    second = kind if d.version >= 19 and (kind in FLOATS or d.version < 23) else 1
    if d.version >= 23:
        d.types["T2"] = second
    out = d.kind("T3" if d.version >= 23 else "T2")
    x = np.asarray(np.round(d.rng.standard_normal(shape) * 16) / 4).astype(dtype_of(kind))
    zero = zero_point(d, out, size)
    inputs = [x, scale(d, second, size) if second in FLOATS else d.values(second, size, low=1, high=4)]
    if d.chance(0.8) or out != 2:
        inputs.append(zero)
    if out in {17, 18, 19, 20} and "saturate" in d.schema.attributes:
        attributes["saturate"] = d.pick(None, 0, 1)
    return Call(inputs, attributes)


@recipe("DequantizeLinear")
def dequantize_linear(d):
    shape = tuple(max(n, 1) for n in d.shape(1, 4))
    size, attributes = layout(d, shape)
    kind = d.kind("T1" if d.version >= 19 else "T")
    second = d.kind("T2", FLOATS) if d.version >= 19 else 1
    if d.version >= 23:
        d.types["T3"] = second
    inputs = [d.values(kind, shape), scale(d, second, size)]
    if kind != 6 and d.chance(0.7):
        inputs.append(zero_point(d, kind, size))
    return Call(inputs, attributes)


@recipe("DynamicQuantizeLinear")
def dynamic_quantize_linear(d):
    d.kind("T2")
    return Call([d.values("T1", tuple(max(n, 1) for n in d.shape(1, 4)), "tame")], {}, 3)


@recipe("MatMulInteger")
def matmul_integer(d):
    one, two = matmul_shapes(d)
    a, b = d.values("T1", one, "extreme"), d.values("T2", two, "extreme")
    inputs = [a, b]
    if d.chance(0.7):
        inputs.append(zero_point(d, d.kind("T1"), (one[-2],) if d.chance(0.3) and len(one) == 2 else ()))
        if d.chance(0.7):
            inputs.append(zero_point(d, d.kind("T2"), (two[-1],) if d.chance(0.3) and len(two) == 2 else ()))
    d.kind("T3")
    return Call(inputs)


@recipe("QLinearMatMul")
def qlinear_matmul(d):
    one, two = matmul_shapes(d)
    one, two = (one if len(one) > 1 else (1, *one)), (two if len(two) > 1 else (*two, 1))
    first = d.kind("T1")
    float8 = first in {17, 18, 19, 20}
    among = {17, 18, 19, 20} if float8 else {2, 3}
    second, third = d.kind("T2", among), d.kind("T3", among)
    if float8:
        d.types |= {"T2": first, "T3": first}
        second = third = first
    floats = d.kind("TS") if d.version >= 21 else 1
    inputs = [d.values(first, one, "tame"), scale(d, floats), zero_point(d, first),
              d.values(second, two, "tame"), scale(d, floats), zero_point(d, second),
              scale(d, floats), zero_point(d, third)]
    return Call(inputs)


@recipe("ConvInteger")
def conv_integer(d):
    window = Window(d, rank_of(d))
    group, x, w, outputs = conv_shapes(d, window)
    inputs = [d.values("T1", x, "extreme"), d.values("T2", w, "extreme")]
    if d.chance(0.7):
        inputs.append(zero_point(d, d.kind("T1")))
        if d.chance(0.7):
            inputs.append(zero_point(d, d.kind("T2"), (outputs,) if d.chance(0.3) else ()))
    d.kind("T3")
    return Call(inputs, {"group": group, "kernel_shape": window.kernel if d.chance(0.7) else None,
                         **window.attributes(d)})


@recipe("QLinearConv")
def qlinear_conv(d):
    window = Window(d, rank_of(d))
    group, x, w, outputs = conv_shapes(d, window)
    first, second, third = d.kind("T1"), d.kind("T2"), d.kind("T3")
    if third != first:  # ONNX Runtime's text: the same type
        d.types["T3"] = third = first
    size = (outputs,) if d.chance(0.3) else ()
    inputs = [d.values(first, x), scale(d, 1), zero_point(d, first), d.values(second, w), scale(d, 1, size),
              np.zeros(size, dtype_of(second)) if size else zero_point(d, second), scale(d, 1), zero_point(d, third)]
    if d.chance():
        inputs.append(d.values(d.kind("T4"), (outputs,), low=-100, high=100))
    return Call(inputs, {"group": group, "kernel_shape": window.kernel if d.chance(0.7) else None,
                         **window.attributes(d)})
