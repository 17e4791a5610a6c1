"""What the operators on integers compute, in float64: one function per operator, found by its name in CASES.

A function takes a source of random numbers and answers a Case. Results of 8 bits are given before they are rounded, in
steps of the result's scale with its zero point added, so that a test can say how far from them a kernel may be."""

import dataclasses

import numpy as np

F, D, S8, U8, S32 = np.float32, np.float64, np.int8, np.uint8, np.int32


@dataclasses.dataclass
class Case:
    """inputs: arrays or None; wanted: float64 arrays, one for each output of the types `outputs`; constants: indices of
    the inputs that are initializers in one of two runs; attributes: the node's."""

    inputs: list
    outputs: list
    wanted: list
    constants: tuple = ()
    attributes: dict = dataclasses.field(default_factory=dict)
    domain: str = "com.microsoft"
    opset: int = 18


class Source:
    """Random integers of a type with their scales, which are powers of two if `is_exact`: then every product and
    quotient with them is exact in float32."""

    def __init__(self, seed, dtype, is_exact):
        self.rng, self.dtype, self.is_exact = np.random.default_rng(seed), dtype, is_exact
        self.result_zero = 0

    def integers(self, *shape, dtype=None):
        limits = np.iinfo(dtype or self.dtype)
        return self.rng.integers(limits.min, limits.max + 1, shape).astype(dtype or self.dtype)

    def zero(self, *shape, dtype=None):
        middle = 0 if np.dtype(dtype or self.dtype).kind == "i" else 128
        return np.asarray(self.rng.integers(middle - 30, middle + 30, shape)).astype(dtype or self.dtype)

    def scale(self, *shape, near=-6):
        if self.is_exact:
            return np.asarray(2.0 ** self.rng.integers(near - 1, near + 2, shape), F)
        return np.asarray((0.7 + self.rng.random(shape)) * 2.0**near, F)

    def floats(self, *shape):
        return self.rng.standard_normal(shape).astype(F)

    def result(self, near=-6):
        """[scale, zero point] of the result, which is remembered: numbers are rounded before it is added."""
        self.result_zero = self.zero()
        return [self.scale(near=near), self.result_zero]

    def tensor(self, *shape, near=-6):
        """[integers, scale, zero point] and the float64 numbers that they stand for."""
        made = [self.integers(*shape), self.scale(near=near), self.zero()]
        return made, wide(*made)


def wide(values, scale, zero, axis=None):
    """float64 of integers; scale and zero point are single or along an axis."""
    scale, zero = np.asarray(scale, D), np.asarray(zero, D)
    if axis is not None and scale.ndim:
        shape = [-1 if at == axis % values.ndim else 1 for at in range(values.ndim)]
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    return (values.astype(D) - zero) * scale


def steps(values, scale, zero):
    return values / np.asarray(scale, D) + np.asarray(zero, D)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def windows(x, kernel, strides, pads, dilations=(1, 1), fill=0.0):
    """[N, C, H, W] to [N, C, rows, columns, kernel height, kernel width]."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, spans, (2, 3))[:, :, :: strides[0], :: strides[1]]
    return seen[..., :: dilations[0], :: dilations[1]]


def convolution(x, weights, group, strides, pads, dilations):
    """float64 [N, M, rows, columns] of [N, C, H, W] and [M, C / group, h, w]; zeros beyond the border."""
    seen = windows(x, weights.shape[2:], strides, pads, dilations)
    count, channels = seen.shape[:2]
    seen = seen.reshape(count, group, channels // group, *seen.shape[2:])
    parts = weights.reshape(group, -1, *weights.shape[1:])
    made = np.einsum("ngcyxij,gmcij->ngmyx", seen, parts)
    return made.reshape(count, -1, *made.shape[3:])


def dynamic_parameters(x):
    """(integers of uint8, scale, zero point) by the formulas of DynamicQuantizeLinear, each step in float32."""
    low, high = min(F(0), x.min()), max(F(0), x.max())
    scale = F((high - low) / F(255)) if high > low else F(1)
    zero = U8(np.clip(np.rint(F(F(0) - low) / scale), 0, 255))
    return np.clip(np.rint(x / scale) + F(zero), 0, 255).astype(U8), scale, zero


# Products.
def matmul_integer(source):
    a, b = source.integers(2, 7, 45), source.integers(45, 19)
    zero_a, zero_b = source.zero(), source.zero(19)
    return Case([a, b, zero_a, zero_b], [S32], [wide(a, 1, zero_a) @ wide(b, 1, zero_b, 1)], (1, 3), domain="")


def matmul_integer16(source):
    a, b = source.integers(5, 33, dtype=np.int16) // 8, source.integers(33, 9, dtype=np.int16) // 8
    return Case([a, b], [S32], [a.astype(D) @ b.astype(D)])


def matmul_integer_to_float(source):
    a, b = source.integers(3, 6, 40), source.integers(40, 21)
    scales, zeros = [source.scale(), source.scale(21)], [source.zero(), source.zero(21)]
    bias = source.floats(21)
    wanted = wide(a, scales[0], zeros[0]) @ wide(b, scales[1], zeros[1], 1) + bias
    return Case([a, b, *scales, *zeros, bias], [F], [wanted], (1, 3, 5, 6))


def dynamic_matmul(source):
    a, b, scale, zero, bias = (source.floats(4, 50), source.integers(50, 23), source.scale(23), source.zero(23),
                               source.floats(23))
    wanted = wide(*dynamic_parameters(a)) @ wide(b, scale, zero, 1) + bias
    return Case([a, b, scale, zero, bias], [F], [wanted], (1, 2, 3, 4))


def linear_matmul(source):
    (a, left), b = source.tensor(2, 9, 60), source.integers(60, 18)
    scales, zeros = source.scale(18), source.zero(18)
    result = source.result(near=-5)
    wanted = steps(left @ wide(b, scales, zeros, 1), *result)
    return Case([*a, b, scales, zeros, *result], [source.dtype], [wanted], (3, 4, 5), domain="", opset=21)


def gemm(source, rounded=True):
    (a, left), b = source.tensor(70, 11), source.integers(17, 70)
    scales, zeros = source.scale(17), source.zero(17)
    bias = source.rng.integers(-9000, 9000, 17).astype(S32)
    alpha = 0.5
    wanted = alpha * (left.T @ wide(b, scales, zeros, 0).T + bias * a[1].astype(D) * scales.astype(D))
    result = source.result(near=-5) if rounded else [None, None]
    wanted = steps(wanted, *result) if rounded else wanted
    return Case([*a, b, scales, zeros, bias, *result], [source.dtype if rounded else F], [wanted], (3, 4, 5, 6),
                {"transA": 1, "transB": 1, "alpha": alpha})


def gemm_to_float(source):
    return gemm(source, rounded=False)


# Convolutions.
SHAPES = {"plain": ((2, 10, 9, 12), (14, 10, 3, 3), 1, (1, 1), (1, 1, 1, 1), (1, 1)),
          "pointwise": ((1, 20, 6, 7), (24, 20, 1, 1), 1, (1, 1), (0, 0, 0, 0), (1, 1)),
          "depthwise": ((1, 24, 11, 10), (24, 1, 3, 3), 24, (2, 1), (1, 0, 1, 2), (1, 1)),
          "groups": ((1, 12, 9, 9), (8, 3, 2, 3), 4, (1, 2), (0, 1, 1, 0), (2, 1))}


def conv_integer(source, shape="plain"):
    image, kernel, group, strides, pads, dilations = SHAPES[shape]
    x, w, zero, points = source.integers(*image), source.integers(*kernel), source.zero(), source.zero()
    wanted = convolution(wide(x, 1, zero), wide(w, 1, points), group, strides, pads, dilations)
    return Case([x, w, zero, points], [S32], [wanted], (1, 3),
                {"group": group, "strides": strides, "pads": pads, "dilations": dilations}, domain="")


def linear_conv(source, shape="plain", is_last=False):
    image, kernel, group, strides, pads, dilations = SHAPES[shape]
    (x, left), w = source.tensor(*image), source.integers(*kernel, dtype=S8)
    scales = source.scale(kernel[0])
    bias = source.rng.integers(-3000, 3000, kernel[0]).astype(S32)
    result = source.result(near=-4)
    made = convolution(left, wide(w, scales, np.zeros(kernel[0]), 0), group, strides, pads, dilations)
    made = steps(made + (bias * x[1].astype(D) * scales.astype(D)).reshape(-1, 1, 1), *result)
    attributes = {"group": group, "strides": strides, "pads": pads, "dilations": dilations}
    if is_last:
        x[0], made = np.moveaxis(x[0], 1, -1).copy(), np.moveaxis(made, 1, -1)
        attributes["channels_last"] = 1
    return Case([*x, w, scales, np.zeros(kernel[0], S8), *result, bias], [source.dtype], [made], (3, 4, 5, 8),
                attributes, domain="com.microsoft" if is_last else "")


def of_shape(make, shape, **arguments):
    return lambda source: make(source, shape, **arguments)


# Element by element, pools and joins.
def both(operation):
    def case(source):
        (a, left), (b, right) = source.tensor(3, 1, 37), source.tensor(5, 37)
        result = source.result(near=-5)
        return Case([*a, *b, *result], [source.dtype], [steps(operation(left, right), *result)])
    return case


def single(function, near=-6, result_near=-6, **attributes):
    def case(source):
        (x, values), result = source.tensor(6, 300, near=near), source.result(near=result_near)
        return Case([*x, *result], [source.dtype], [steps(function(values), *result)], (), attributes)
    return case


def leaky(values):
    return np.where(values < 0, values * D(F(0.3)), values)


def average_pool(is_last, counts):
    def case(source):
        (x, values), result = source.tensor(2, 5, 9, 8), source.result(near=-6)
        seen = windows(values, (3, 2), (2, 1), (1, 0, 1, 1))
        present = windows(np.ones_like(values), (3, 2), (2, 1), (1, 0, 1, 1))
        made = steps(seen.sum((-1, -2)) / (6 if counts else present.sum((-1, -2))), *result)
        if is_last:
            x[0], made = np.moveaxis(x[0], 1, -1).copy(), np.moveaxis(made, 1, -1)
        return Case([*x, *result], [source.dtype], [made], (),
                    {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1), "channels_last": int(is_last),
                     "count_include_pad": counts})
    return case


def global_average(is_last):
    def case(source):
        (x, values), result = source.tensor(2, 6, 7, 5), source.result(near=-8)
        made = steps(values.mean((2, 3), keepdims=True), *result)
        if is_last:
            x[0], made = np.moveaxis(x[0], 1, -1).copy(), np.moveaxis(made, 1, -1)
        return Case([*x, *result], [source.dtype], [made], (), {"channels_last": int(is_last)})
    return case


def reduce_mean(source):
    (x, values), result = source.tensor(3, 6, 7, 5), source.result(near=-8)
    return Case([*x, *result], [source.dtype], [steps(values.mean((1, 3), keepdims=True), *result)], (),
                {"axes": [1, 3], "keepdims": 1})


def linear_softmax(source):
    (x, values), result = source.tensor(9, 33, near=-4), source.result(near=-8)
    return Case([*x, *result], [source.dtype], [steps(softmax(values), *result)], (1, 2, 3, 4),
                {"axis": 1, "opset": 13})


def join(source):
    parts, result = [source.tensor(2, size, 5) for size in (3, 1, 8)], source.result()
    made = steps(np.concatenate([values for _, values in parts], 1), *result)
    return Case([*result, *(one for part, _ in parts for one in part)], [source.dtype], [made],
                (0, 1, 3, 4, 6, 7, 9, 10), {"axis": 1})


def where(source):
    chosen = source.rng.integers(0, 2, (7, 40)).astype(bool)
    (x, left), (y, right), result = source.tensor(7, 40), source.tensor(40), source.result()
    return Case([chosen, *x, *y, *result], [source.dtype], [steps(np.where(chosen, left, right), *result)],
                (2, 3, 5, 6, 7, 8))


# Networks.
def attention(source):
    batch, rows, width, heads = 2, 7, 24, 3
    (x, values), w = source.tensor(batch, rows, width), source.integers(width, 3 * width)
    scale, zero, bias = source.scale(near=-8), source.zero(), source.floats(3 * width)
    projected = values @ wide(w, scale, zero) + bias
    q, k, v = (part.reshape(batch, rows, heads, -1).swapaxes(1, 2) for part in np.split(projected, 3, -1))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(width / heads)
    scores = np.where(np.tril(np.ones((rows, rows), bool)), scores, -np.inf)
    made = (softmax(scores) @ v).swapaxes(1, 2).reshape(batch, rows, width)
    return Case([x[0], w, bias, x[1], scale, None, x[2], zero], [F], [made], (1, 2, 4, 7),
                {"num_heads": heads, "unidirectional": 1})


def embedding(source):
    batch, rows, width = 2, 5, 24
    words, kinds = source.rng.integers(0, 20, (batch, rows)), source.rng.integers(0, 2, (batch, rows))
    tables = [source.tensor(count, width) for count in (20, rows + 2, 2)]
    (gamma, scales), (beta, shifts) = source.tensor(width), source.tensor(width)
    summed = tables[0][1][words] + tables[1][1][:rows] + tables[2][1][kinds]
    centered = summed - summed.mean(-1, keepdims=True)
    made = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + D(F(1e-6))) * scales + shifts
    parts = [part for part, _ in tables] + [gamma, beta]
    return Case([words.astype(S32), kinds.astype(S32), *(part[0] for part in parts), None, *(part[1] for part in parts),
                 *(part[2] for part in parts)], [F, S32], [made, np.zeros(batch)],
                tuple(range(2, 7)) + tuple(range(8, 18)), {"epsilon": 1e-6})


def lstm(source):
    """Every step's input and state are quantized by their own range, as ONNX Runtime does for one batch."""
    count, width, hidden = 4, 9, 8
    x = source.floats(count, 1, width)
    w, r = source.integers(1, width, 32, dtype=S8), source.integers(1, 8, 32, dtype=S8)
    scales, bias = [source.scale(1, near=-8), source.scale(1, near=-8)], source.floats(1, 64)
    zeros = [np.zeros(1, S8), np.zeros(1, S8)]
    projected = wide(*dynamic_parameters(x[:, 0])) @ wide(w[0], scales[0], zeros[0])
    state, cell, made = np.zeros(hidden), np.zeros(hidden), []
    for row in projected:
        hidden_part = wide(*dynamic_parameters(state.astype(F)[None])) @ wide(r[0], scales[1], zeros[1])
        i, o, f, c = np.split(row + hidden_part[0] + bias[0, :32] + bias[0, 32:], 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(c)
        state = sigmoid(o) * np.tanh(cell)
        made.append(state)
    return Case([x, w, r, bias, None, None, None, None, scales[0], zeros[0], scales[1], zeros[1]], [F],
                [np.array(made)[:, None, None]], (1, 2, 8, 9, 10, 11), {"hidden_size": hidden})


# Between floats and integers.
def quantize(axis, block=0):
    def case(source):
        x = source.floats(3, 40, 6) * F(3)
        shape = (3, 40 // block, 6) if block else (x.shape[axis],) if axis is not None else ()
        scale, zero = source.scale(*shape), source.zero(*shape)
        along = [-1 if at == axis else 1 for at in range(3)]
        scales, zeros = (np.repeat(one, block, 1) if block else one if axis is None else one.reshape(along)
                         for one in (scale, zero))
        attributes = {"axis": axis} if axis is not None else {}
        return Case([x, scale, zero], [source.dtype], [steps(x.astype(D), scales, zeros)], (),
                    attributes | ({"block_size": block} if block else {}), domain="", opset=21)
    return case


def dequantize(axis, block=0):
    def case(source):
        x = source.integers(3, 40, 6)
        shape = (3, 40 // block, 6) if block else (x.shape[axis],) if axis is not None else ()
        scale, zero = source.scale(*shape), source.zero(*shape)
        scales, zeros = ((np.repeat(one, block, 1) if block else one) for one in (scale, zero))
        made = wide(x, scales, zeros) if block or axis is None else wide(x, scales, zeros, axis)
        attributes = {"axis": axis} if axis is not None else {}
        return Case([x, scale, zero], [F], [made], (), attributes | ({"block_size": block} if block else {}),
                    domain="", opset=21)
    return case


def dynamic_quantize(source):
    x = source.floats(7, 55)
    made = dynamic_parameters(x)
    return Case([x], [U8, F, U8], [one.astype(D) for one in made], (), domain="")


# operator -> {name of the form: its case}
CASES = {
    "MatMulInteger": {"": matmul_integer}, "MatMulInteger16": {"": matmul_integer16},
    "MatMulIntegerToFloat": {"": matmul_integer_to_float}, "DynamicQuantizeMatMul": {"": dynamic_matmul},
    "QLinearMatMul": {"": linear_matmul}, "QGemm": {"": gemm, "to floats": gemm_to_float},
    "ConvInteger": {shape: of_shape(conv_integer, shape) for shape in SHAPES},
    "QLinearConv": {shape: of_shape(linear_conv, shape) for shape in SHAPES} |
    {f"{shape}, channels last": of_shape(linear_conv, shape, is_last=True) for shape in SHAPES},
    "QLinearAdd": {"": both(np.add)}, "QLinearMul": {"": both(np.multiply)},
    "QLinearSigmoid": {"": single(sigmoid, near=-4, result_near=-8)},
    "QLinearLeakyRelu": {"": single(leaky, alpha=0.3)},
    "QLinearSoftmax": {"": linear_softmax}, "QLinearConcat": {"": join}, "QLinearWhere": {"": where},
    "QLinearAveragePool": {f"last {last}, pads {pads}": average_pool(last, pads) for last in (False, True)
                           for pads in (0, 1)},
    "QLinearGlobalAveragePool": {"first": global_average(False), "last": global_average(True)},
    "QLinearReduceMean": {"": reduce_mean}, "QAttention": {"": attention},
    "QEmbedLayerNormalization": {"": embedding}, "DynamicQuantizeLSTM": {"": lstm},
    "QuantizeLinear": {"tensor": quantize(None), "axis": quantize(1), "blocks": quantize(1, 8)},
    "DequantizeLinear": {"tensor": dequantize(None), "axis": dequantize(1), "blocks": dequantize(1, 8)},
    "DynamicQuantizeLinear": {"": dynamic_quantize},
}
