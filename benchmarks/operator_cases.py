"""benchmarks/operator_cases.py - models of one node for benchmarks/operators.py: every operator in its natural sizes.

A case is the text of a node, its inputs and constants. To add an operator, add a row to one of the tables below: the
node reads x, z and w, which have the shapes that the row names; `n` is about the number of elements.
"""
import dataclasses

import numpy as np

SIZES = {"1e3": 1_000, "1e5": 100_000, "1e7": 10_000_000}
FLOATS = ("float", "float16")
NUMBERS = ("float", "float16", "int8", "int64")
DTYPES = {"float": np.float32, "float16": np.float16, "double": np.float64, "int8": np.int8, "uint8": np.uint8,
          "int32": np.int32, "int64": np.int64, "bool": np.bool_, "string": np.object_}


@dataclasses.dataclass(frozen=True)
class Case:
    operator: str
    what: str  # attributes and shapes, in a few words
    dtype: str
    size: str  # a key of SIZES, or "natural"
    node: str  # "y = Relu(x)"
    inputs: dict  # name -> array
    constants: dict  # name -> array
    opset: str = '"" : 23'
    outputs: int = 1
    bytes_per_element: float = 0  # read and written; 0 where memory is not what limits

    @property
    def name(self):
        return " ".join(part for part in (self.operator, self.what, self.dtype, self.size) if part)


def random_of(dtype, shape, seed=0, low=None, high=None):
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(np.bool_)
    if dtype == "string":
        return random.choice(["alpha", "Beta", "gamma delta", "ÉTÉ", ""], shape).astype(np.object_)
    kind = np.dtype(DTYPES[dtype])
    if kind.kind == "f":
        values = random.standard_normal(shape, dtype=np.float32) if low is None else random.uniform(low, high, shape)
        return np.asarray(values).astype(kind)
    low, high = (0 if kind.kind == "u" else -100, 100) if low is None else (low, high)
    return random.integers(low, high, shape).astype(kind)


def ints(*values):
    return np.array(values, np.int64)


# y = Op(x), elementwise; the second column limits the inputs.
UNARY = [(name, None) for name in (
    "Abs Neg Sign Relu Sigmoid Tanh Exp Erf Floor Ceil Round Sin Cos Sinh Cosh Asinh Atan Softplus Softsign Elu Selu "
    "LeakyRelu HardSigmoid HardSwish Mish Gelu ThresholdedRelu Reciprocal Tan Identity IsNaN IsInf Celu "
    "Shrink").split()]
UNARY += [("Sqrt", (0.1, 9)), ("Log", (0.1, 9)), ("Acos", (-0.9, 0.9)), ("Asin", (-0.9, 0.9)), ("Atanh", (-0.9, 0.9)),
          ("Acosh", (1.1, 9)), ("Not", None), ("BitwiseNot", None)]
BINARY = ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "Equal", "Less", "GreaterOrEqual", "And", "Or", "Xor",
          "BitwiseAnd", "PRelu", "Mean", "Sum"]
REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
              "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ArgMax", "ArgMin"]


def square(n):
    side = max(2, int(n ** 0.5))
    return side, max(2, n // side)


def elementwise(size, n):
    rows, columns = square(n)
    for name, limits in UNARY:
        types = ("bool",) if name == "Not" else ("int8", "int64") if name == "BitwiseNot" else NUMBERS
        for dtype in types:
            low, high = limits if limits and dtype in FLOATS else (None, None)
            yield Case(name, "", dtype, size, f"y = {name}{'<fmod=1>' if name == 'Mod' else ''}(x)",
                       {"x": random_of(dtype, (rows, columns), 0, low, high)}, {},
                       bytes_per_element=2 * np.dtype(DTYPES[dtype]).itemsize)
    for name in BINARY:
        for dtype in ("bool",) if name in ("And", "Or", "Xor") else NUMBERS:
            fmod = "<fmod=1>" if name == "Mod" and dtype in FLOATS else ""
            low, high = (1, 20) if name in ("Div", "Mod", "Pow") else (None, None)
            if name == "Pow":
                low, high = (1, 3)
            x, z = (random_of(dtype, (rows, columns), seed, low, high) for seed in (0, 1))
            node = f"y = {name}{fmod}(x, z)"
            width = 3 * np.dtype(DTYPES[dtype]).itemsize
            yield Case(name, "", dtype, size, node, {"x": x, "z": z}, {}, bytes_per_element=width)
            if dtype == "float" and name in ("Add", "Mul", "Div", "Less", "Max"):
                yield Case(name, "a row", dtype, size, node, {"x": x, "z": z[:1]}, {})
                yield Case(name, "a column", dtype, size, node, {"x": x, "z": z[:, :1]}, {})
                yield Case(name, "column and row", dtype, size, node, {"x": x[:, :1], "z": z[:1]}, {})
    for dtype in NUMBERS:
        x, z = random_of(dtype, (rows, columns)), random_of(dtype, (rows, columns), 1)
        condition = random_of("bool", (rows, columns), 2)
        yield Case("Where", "", dtype, size, "y = Where(c, x, z)", {"c": condition, "x": x, "z": z}, {},
                   bytes_per_element=1 + 3 * np.dtype(DTYPES[dtype]).itemsize)
        low, high = (np.array(v, DTYPES[dtype]) for v in (-1, 1))
        yield Case("Clip", "", dtype, size, "y = Clip(x, l, h)", {"x": x}, {"l": low, "h": high},
                   bytes_per_element=2 * np.dtype(DTYPES[dtype]).itemsize)
    for source, target, code in (("float", "float16", 10), ("float16", "float", 1), ("float", "int64", 7),
                                 ("int64", "float", 1), ("int8", "float", 1), ("float", "int8", 3),
                                 ("bool", "float", 1), ("float", "bool", 9), ("int64", "int32", 6)):
        yield Case("Cast", f"to {target}", source, size, f"y = Cast<to={code}>(x)",
                   {"x": random_of(source, (rows, columns))}, {},
                   bytes_per_element=sum(np.dtype(DTYPES[kind]).itemsize for kind in (source, target)))


def reductions(size, n):
    side = max(2, round(n ** (1 / 3)))
    shape = (side, side, max(2, n // side // side))
    for name in REDUCTIONS:
        for dtype in NUMBERS:
            low, high = (0.5, 2) if name in ("ReduceLogSum", "ReduceProd") and dtype in FLOATS else (None, None)
            if dtype not in FLOATS:
                low, high = 1, 4
            x = random_of(dtype, shape, 0, low, high)
            for axis, what in ((2, "last axis"), (1, "middle axis"), (0, "first axis")):
                if name.startswith("Arg"):
                    yield Case(name, what, dtype, size, f"y = {name}<axis={axis}>(x)", {"x": x}, {})
                else:
                    yield Case(name, what, dtype, size, f"y = {name}(x, a)", {"x": x}, {"a": ints(axis)})
            if not name.startswith("Arg"):
                yield Case(name, "all axes", dtype, size, f"y = {name}(x)", {"x": x}, {})
    for dtype in FLOATS:
        x = random_of(dtype, shape)
        for name in ("Softmax", "LogSoftmax", "Hardmax"):
            for axis, what in ((-1, "last axis"), (1, "middle axis")):
                yield Case(name, what, dtype, size, f"y = {name}<axis={axis}>(x)", {"x": x}, {})
    for dtype in ("float", "int64"):
        x = random_of(dtype, shape)
        for axis, what in ((2, "last axis"), (1, "middle axis"), (0, "first axis")):
            yield Case("CumSum", what, dtype, size, "y = CumSum(x, a)", {"x": x}, {"a": np.array(axis, np.int64)})
        for axis, what in ((2, "last axis"), (0, "first axis")):
            k = ints(max(1, min(50, shape[axis] // 2)))
            yield Case("TopK", what, dtype, size, f"y, i = TopK<axis={axis}>(x, k)", {"x": x}, {"k": k}, outputs=2)


def movement(size, n):
    rows, columns = square(n)
    side = max(2, round(n ** (1 / 3)))
    cube = (side, side, max(2, n // side // side))
    for dtype in NUMBERS:
        x, c = random_of(dtype, (rows, columns)), random_of(dtype, cube)
        index = np.random.default_rng(3)
        some = index.integers(0, rows, rows).astype(np.int64)
        each = index.integers(0, rows, (rows, columns)).astype(np.int64)
        once = np.argsort(index.random((rows, columns)), axis=0).astype(np.int64) if n <= 1_000_000 else each
        yield Case("Transpose", "2 axes", dtype, size, "y = Transpose(x)", {"x": x}, {})
        yield Case("Transpose", "0,2,1", dtype, size, "y = Transpose<perm=[0,2,1]>(x)", {"x": c}, {})
        yield Case("Transpose", "2,0,1", dtype, size, "y = Transpose<perm=[2,0,1]>(x)", {"x": c}, {})
        yield Case("Concat", "axis 0", dtype, size, "y = Concat<axis=0>(x, z)", {"x": x, "z": x}, {})
        yield Case("Concat", "axis 1", dtype, size, "y = Concat<axis=1>(x, z)", {"x": x, "z": x}, {})
        yield Case("Split", "axis 1", dtype, size, "y, v = Split<axis=1, num_outputs=2>(x)", {"x": x}, {}, outputs=2)
        for step, what in ((1, "step 1"), (2, "step 2"), (-1, "step -1")):
            begin, end = (1, columns - 1) if step > 0 else (columns - 1, 0)
            yield Case("Slice", what, dtype, size, "y = Slice(x, b, e, a, s)", {"x": x},
                       {"b": ints(begin), "e": ints(end), "a": ints(1), "s": ints(step)})
        yield Case("Gather", "rows", dtype, size, "y = Gather(x, i)", {"x": x, "i": some}, {})
        yield Case("Gather", "columns", dtype, size, "y = Gather<axis=1>(x, i)", {"x": x, "i": some % columns}, {})
        yield Case("GatherElements", "", dtype, size, "y = GatherElements(x, i)", {"x": x, "i": each}, {})
        yield Case("GatherND", "", dtype, size, "y = GatherND(x, i)", {"x": x, "i": some[:, None]}, {})
        yield Case("ScatterElements", "", dtype, size, "y = ScatterElements(x, i, z)",
                   {"x": x, "i": once, "z": x}, {})
        if dtype != "int8":
            yield Case("ScatterElements", "add", dtype, size, 'y = ScatterElements<reduction="add">(x, i, z)',
                       {"x": x, "i": each, "z": x}, {})
        yield Case("ScatterND", "", dtype, size, "y = ScatterND(x, i, z)",
                   {"x": x, "i": np.arange(rows)[::-1, None].astype(np.int64).copy(), "z": x}, {})
        yield Case("Pad", "constant", dtype, size, "y = Pad(x, p)", {"x": x}, {"p": ints(1, 1, 1, 1)})
        if dtype in ("float", "int64"):
            for mode in ("reflect", "edge"):
                yield Case("Pad", mode, dtype, size, f'y = Pad<mode="{mode}">(x, p)', {"x": x}, {"p": ints(1, 1, 1, 1)})
        yield Case("Tile", "", dtype, size, "y = Tile(x, r)", {"x": x[: rows // 2]}, {"r": ints(2, 1)})
        yield Case("Expand", "rows", dtype, size, "y = Expand(x, s)", {"x": x[:1]}, {"s": ints(rows, columns)})
        yield Case("Expand", "columns", dtype, size, "y = Expand(x, s)", {"x": x[:, :1]}, {"s": ints(rows, columns)})
        yield Case("Trilu", "", dtype, size, "y = Trilu(x)", {"x": x}, {})
        yield Case("NonZero", "", dtype, size, "y = NonZero(x)", {"x": x}, {})
        yield Case("Compress", "", dtype, size, "y = Compress<axis=0>(x, c)",
                   {"x": x, "c": random_of("bool", (rows,))}, {})
        yield Case("Unique", "", dtype, size, "y = Unique(x)", {"x": random_of(dtype, (n,))}, {})
        blocks = (1, 16, max(2, side // 2 * 2), max(2, n // 16 // max(2, side // 2 * 2) // 2 * 2))
        for name in ("DepthToSpace", "SpaceToDepth"):
            yield Case(name, "", dtype, size, f"y = {name}<blocksize=2>(x)", {"x": random_of(dtype, blocks)}, {})
        if dtype in ("float", "int64"):
            lengths = index.integers(1, rows + 1, columns).astype(np.int64)
            yield Case("ReverseSequence", "", dtype, size, "y = ReverseSequence(x, l)", {"x": x, "l": lengths}, {})
    some = np.random.default_rng(5).integers(0, 64, max(1, n // 64)).astype(np.int64)
    yield Case("OneHot", "", "float", size, "y = OneHot(x, d, v)", {"x": some},
               {"d": ints(64), "v": np.array([0, 1], np.float32)})
    yield Case("Range", "", "float", size, "y = Range(x, z, w)", {"x": np.float32(0).reshape(()),
               "z": np.float32(n).reshape(()), "w": np.float32(1).reshape(())}, {})
    yield Case("Range", "", "int64", size, "y = Range(x, z, w)", {"x": np.array(0), "z": np.array(n),
               "w": np.array(1)}, {})


def images(size, n):
    """Maps of 16 channels: pools, resizing, sampling, normalizations."""
    channels = 16
    side = max(4, int((n / channels) ** 0.5))
    shape = (1, channels, side, side)
    for dtype in ("float", "float16", "double", "int8", "uint8"):
        x = random_of(dtype, shape)
        window = "kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]"
        yield Case("MaxPool", "3x3 stride 2", dtype, size, f"y = MaxPool<{window}>(x)", {"x": x}, {})
        yield Case("MaxPool", "2x2 stride 2", dtype, size, "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)",
                   {"x": x}, {})
        if dtype in ("float", "int8"):
            yield Case("MaxPool", "with indices", dtype, size, f"y, i = MaxPool<{window}>(x)", {"x": x}, {}, outputs=2)
        if dtype in ("float", "uint8", "int8"):
            for mode in ("nearest", "linear") + (("cubic",) if dtype == "float" else ()):
                for factor in (2.0, 0.5):
                    yield Case("Resize", f"{mode} x{factor}", dtype, size, f'y = Resize<mode="{mode}">(x, , s)',
                               {"x": x}, {"s": np.array([1, 1, factor, factor], np.float32)})
        if dtype in ("int8", "uint8"):
            continue
        yield Case("AveragePool", "3x3 stride 2", dtype, size, f"y = AveragePool<{window}>(x)", {"x": x}, {})
        yield Case("LpPool", "", dtype, size, "y = LpPool<kernel_shape=[2,2], strides=[2,2]>(x)", {"x": x}, {})
        for name in ("GlobalAveragePool", "GlobalMaxPool"):
            yield Case(name, "", dtype, size, f"y = {name}(x)", {"x": x}, {})
        scale, bias = random_of(dtype, (channels,), 1, 0.5, 1.5), random_of(dtype, (channels,), 2, -1, 1)
        yield Case("BatchNormalization", "", dtype, size, "y = BatchNormalization(x, s, b, m, v)", {"x": x},
                   {"s": scale, "b": bias, "m": bias, "v": scale})
        yield Case("InstanceNormalization", "", dtype, size, "y = InstanceNormalization(x, s, b)", {"x": x},
                   {"s": scale, "b": bias})
        yield Case("GroupNormalization", "", dtype, size, "y = GroupNormalization<num_groups=4>(x, s, b)", {"x": x},
                   {"s": scale, "b": bias})
        width = shape[-1]
        gamma, beta = random_of(dtype, (width,), 3, 0.5, 1.5), random_of(dtype, (width,), 4)
        yield Case("LayerNormalization", "", dtype, size, "y = LayerNormalization(x, s, b)", {"x": x},
                   {"s": gamma, "b": beta})
        yield Case("RMSNormalization", "", dtype, size, "y = RMSNormalization(x, s)", {"x": x}, {"s": gamma})
        if dtype == "float16":
            continue
        yield Case("LpNormalization", "", dtype, size, "y = LpNormalization(x)", {"x": x}, {})
        if dtype == "double":
            continue
        yield Case("LRN", "", dtype, size, "y = LRN<size=5>(x)", {"x": x}, {})
        yield Case("MeanVarianceNormalization", "", dtype, size, "y = MeanVarianceNormalization(x)", {"x": x}, {})
        grid = random_of(dtype, (1, side, side, 2), 5, -1, 1)
        for mode in ("linear", "nearest", "cubic"):
            yield Case("GridSample", mode, dtype, size, f'y = GridSample<mode="{mode}">(x, g)', {"x": x, "g": grid}, {})
        boxes = np.sort(np.random.default_rng(6).uniform(0, side, (32, 2, 2)), 1).reshape(32, 4).astype(np.float32)
        yield Case("RoiAlign", "32 boxes", dtype, size, "y = RoiAlign<output_height=7, output_width=7>(x, r, i)",
                   {"x": x, "r": boxes, "i": np.zeros(32, np.int64)}, {})
        columns = random_of(dtype, (1, channels * 9, side * side), 7)
        yield Case("Col2Im", "3x3", dtype, size, "y = Col2Im<pads=[1,1,1,1]>(x, s, k)", {"x": columns},
                   {"s": ints(side, side), "k": ints(3, 3)})
        theta = random_of(dtype, (1, 2, 3))
        yield Case("AffineGrid", "", dtype, size, "y = AffineGrid(x, s)", {"x": theta}, {"s": ints(*shape)})


def quantization(size, n):
    rows, columns = square(n)
    x, scale, zero = random_of("float", (rows, columns)), np.array(0.02, np.float32), np.array(3, np.int8)
    q = random_of("int8", (rows, columns))
    yield Case("QuantizeLinear", "", "int8", size, "y = QuantizeLinear(x, s, z)", {"x": x}, {"s": scale, "z": zero})
    yield Case("DequantizeLinear", "", "int8", size, "y = DequantizeLinear(x, s, z)", {"x": q}, {"s": scale, "z": zero})
    yield Case("DynamicQuantizeLinear", "", "uint8", size, "y, s, z = DynamicQuantizeLinear(x)", {"x": x}, {},
               outputs=3)
    scales, zeros = np.full(columns, 0.02, np.float32), np.zeros(columns, np.int8)
    yield Case("QuantizeLinear", "per column", "int8", size, "y = QuantizeLinear<axis=1>(x, s, z)", {"x": x},
               {"s": scales, "z": zeros})
    yield Case("DequantizeLinear", "per row", "int8", size, "y = DequantizeLinear<axis=0>(x, s, z)", {"x": q},
               {"s": np.full(rows, 0.02, np.float32), "z": np.zeros(rows, np.int8)})
    microsoft = '"" : 21, "com.microsoft" : 1'
    for name in ("QLinearAdd", "QLinearMul"):
        yield Case(name, "", "int8", size, f"y = com.microsoft.{name}(x, s, z, v, s, z, s, z)", {"x": q, "v": q},
                   {"s": scale, "z": zero}, microsoft)
    for name in ("QLinearSigmoid", "QLinearLeakyRelu"):
        yield Case(name, "", "int8", size, f"y = com.microsoft.{name}(x, s, z, s, z)", {"x": q},
                   {"s": scale, "z": zero}, microsoft)
    side = max(4, int((n / 16) ** 0.5))
    image = random_of("uint8", (1, 16, side, side))
    yield Case("QLinearAveragePool", "3x3", "uint8", size,
               "y = com.microsoft.QLinearAveragePool<kernel_shape=[3,3]>(x, s, z, s, z)", {"x": image},
               {"s": scale, "z": np.array(3, np.uint8)}, microsoft)
    yield Case("QLinearGlobalAveragePool", "", "uint8", size,
               "y = com.microsoft.QLinearGlobalAveragePool(x, s, z, s, z)", {"x": image},
               {"s": scale, "z": np.array(3, np.uint8)}, microsoft)
    for name in ("Gelu", "QuickGelu", "BiasGelu", "FastGelu"):
        bias = {"b": random_of("float", (columns,))} if name == "BiasGelu" else {}
        yield Case(name, "com.microsoft", "float", size, f"y = com.microsoft.{name}(x{', b' if bias else ''})",
                   {"x": x}, bias, microsoft)


def products():
    """Products, convolutions, recurrent networks, trees, text: in sizes of their own."""
    for dtype in ("float", "float16", "double"):
        for m, k, n in ((64, 64, 64), (256, 256, 256), (1, 1024, 1024), (384, 768, 768), (17, 129, 65)):
            a, b = random_of(dtype, (m, k)), random_of(dtype, (k, n), 1)
            yield Case("MatMul", f"{m}x{k}x{n}", dtype, "natural", "y = MatMul(x, z)", {"x": a, "z": b}, {})
            yield Case("Gemm", f"{m}x{k}x{n} weights", dtype, "natural", "y = Gemm(x, w, b)", {"x": a},
                       {"w": b, "b": random_of(dtype, (n,))})
    yield Case("MatMul", "12x64x64x64", "float", "natural", "y = MatMul(x, z)",
               {"x": random_of("float", (12, 64, 64)), "z": random_of("float", (12, 64, 64), 1)}, {})
    yield Case("MatMul", "64x64x64", "int32", "natural", "y = MatMul(x, z)",
               {"x": random_of("int32", (64, 64)), "z": random_of("int32", (64, 64), 1)}, {})
    for m, k, n in ((64, 64, 64), (128, 768, 768)):
        yield Case("MatMulInteger", f"{m}x{k}x{n}", "uint8", "natural", "y = MatMulInteger(x, w)",
                   {"x": random_of("uint8", (m, k))}, {"w": random_of("int8", (k, n))})
        s, z = np.array(0.02, np.float32), np.array(128, np.uint8)
        yield Case("QLinearMatMul", f"{m}x{k}x{n}", "uint8", "natural", "y = QLinearMatMul(x, s, z, w, s, v, s, z)",
                   {"x": random_of("uint8", (m, k))},
                   {"w": random_of("int8", (k, n)), "s": s, "z": z, "v": np.array(0, np.int8)})
    for equation, shapes in (("ij,jk->ik", ((128, 128), (128, 128))), ("bhid,bhjd->bhij", ((1, 8, 64, 32),) * 2),
                             ("bij->bji", ((8, 64, 64),)), ("bij->b", ((8, 64, 64),)), ("i,j->ij", ((300,), (300,))),
                             ("bi,bi->b", ((256, 256),) * 2), ("ij,jk,kl->il", ((64, 64),) * 3)):
        names = "xzw"[: len(shapes)]
        yield Case("Einsum", equation, "float", "natural", f'y = Einsum<equation="{equation}">({", ".join(names)})',
                   {name: random_of("float", shape, i) for i, (name, shape) in enumerate(zip(names, shapes))}, {})
    for c, f, hw, k, group in ((3, 32, 112, 3, 1), (64, 64, 28, 3, 1), (64, 128, 28, 1, 1), (64, 64, 56, 3, 64)):
        for dtype in ("float", "float16"):
            weights = {"w": random_of(dtype, (f, c // group, k, k)), "b": random_of(dtype, (f,))}
            yield Case("Conv", f"{c}-{f} {hw} {k}x{k}" + (" depthwise" if group > 1 else ""), dtype, "natural",
                       f"y = Conv<group={group}, pads=[{k // 2},{k // 2},{k // 2},{k // 2}]>(x, w, b)",
                       {"x": random_of(dtype, (1, c, hw, hw))}, weights)
    x = random_of("float", (1, 32, 28, 28))
    yield Case("Conv", "1d", "float", "natural", "y = Conv(x, w)", {"x": random_of("float", (1, 32, 1000))},
               {"w": random_of("float", (32, 32, 5))})
    yield Case("Conv", "3d", "float", "natural", "y = Conv(x, w)", {"x": random_of("float", (1, 8, 16, 16, 16))},
               {"w": random_of("float", (16, 8, 3, 3, 3))})
    yield Case("ConvTranspose", "2x2 stride 2", "float", "natural", "y = ConvTranspose<strides=[2,2]>(x, w)", {"x": x},
               {"w": random_of("float", (32, 16, 2, 2))})
    yield Case("ConvTranspose", "3x3", "float", "natural", "y = ConvTranspose(x, w)", {"x": x},
               {"w": random_of("float", (32, 16, 3, 3))})
    yield Case("DeformConv", "3x3", "float", "natural", "y = DeformConv<pads=[1,1,1,1]>(x, w, o)",
               {"x": x, "o": random_of("float", (1, 18, 28, 28), 3)}, {"w": random_of("float", (32, 32, 3, 3))})
    image = random_of("uint8", (1, 32, 28, 28))
    yield Case("ConvInteger", "3x3", "uint8", "natural", "y = ConvInteger(x, w)", {"x": image},
               {"w": random_of("uint8", (32, 32, 3, 3))})
    s, z = np.array(0.02, np.float32), np.array(128, np.uint8)
    yield Case("QLinearConv", "3x3", "uint8", "natural", "y = QLinearConv(x, s, z, w, s, v, s, z)", {"x": image},
               {"w": random_of("int8", (32, 32, 3, 3)), "s": s, "z": z, "v": np.array(0, np.int8)})
    for name, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, batch, width in ((50, 1, 128), (20, 16, 128)):
            weights = {"w": random_of("float", (1, gates * width, width)) / 10,
                       "r": random_of("float", (1, gates * width, width), 1) / 10}
            yield Case(name, f"{steps} steps, batch {batch}", "float", "natural",
                       f"y, h = {name}<hidden_size={width}>(x, w, r)", {"x": random_of("float", (steps, batch, width))},
                       {key: value.astype(np.float32) for key, value in weights.items()}, outputs=2)
    for length in (256, 1000, 1009):
        yield Case("DFT", f"length {length}", "float", "natural", "y = DFT(x, , a)",
                   {"x": random_of("float", (16, length, 1))}, {"a": np.array(1, np.int64)})
    yield Case("STFT", "frames of 400", "float", "natural", "y = STFT(x, s, w)",
               {"x": random_of("float", (1, 16000, 1))},
               {"s": np.array(160, np.int64), "w": np.hanning(400).astype(np.float32)})
    boxes = np.sort(np.random.default_rng(6).uniform(0, 1, (1, 1000, 2, 2)), 2).reshape(1, 1000, 4).astype(np.float32)
    yield Case("NonMaxSuppression", "1000 boxes, 4 classes", "float", "natural", "y = NonMaxSuppression(x, z, m, i, s)",
               {"x": boxes, "z": random_of("float", (1, 4, 1000), 1, 0, 1)},
               {"m": ints(50), "i": np.array([0.5], np.float32), "s": np.array([0.3], np.float32)})
    text = random_of("string", (2000,))
    yield Case("StringNormalizer", "lower", "string", "natural", 'y = StringNormalizer<case_change_action="LOWER">(x)',
               {"x": text}, {})
    yield Case("StringConcat", "", "string", "natural", "y = StringConcat(x, z)", {"x": text, "z": text}, {})
    yield Case("StringSplit", "", "string", "natural", "y, n = StringSplit(x)", {"x": text}, {}, outputs=2)
    yield Case("RegexFullMatch", "", "string", "natural", 'y = RegexFullMatch<pattern="[a-z ]+">(x)', {"x": text}, {})
    yield Case("Equal", "", "string", "natural", "y = Equal(x, z)", {"x": text, "z": text[::-1].copy()}, {})
    tokens = random_of("int64", (32, 200), 0, 0, 100)
    yield Case("TfIdfVectorizer", "bigrams", "int64", "natural",
               'y = TfIdfVectorizer<max_gram_length=2, max_skip_count=1, min_gram_length=1, mode="TF", '
               f"ngram_counts=[0, 50], ngram_indexes={list(range(100))}, "
               f"pool_int64s={list(range(50)) + [i % 100 for i in range(100)]}>(x)",
               {"x": tokens}, {})


def classical():
    """ai.onnx.ml in 1 and 1,000 rows."""
    opset = '"" : 21, "ai.onnx.ml" : 3'
    random = np.random.default_rng(9)
    for rows in (1, 1000):
        x = random.standard_normal((rows, 20)).astype(np.float32)
        numbers = ", ".join(f"{value:.4f}" for value in random.standard_normal(60))
        yield Case("LinearClassifier", f"{rows} rows", "float", "natural",
                   f"l, y = ai.onnx.ml.LinearClassifier<coefficients=[{numbers}], intercepts=[0.1, 0.2, 0.3], "
                   'classlabels_ints=[0, 1, 2], multi_class=1, post_transform="SOFTMAX">(x)', {"x": x}, {}, opset, 2)
        ones = ", ".join(["1.5"] * 20)
        yield Case("Scaler", f"{rows} rows", "float", "natural",
                   f"y = ai.onnx.ml.Scaler<offset=[{ones}], scale=[{ones}]>(x)", {"x": x}, {}, opset)
        yield Case("Normalizer", f"{rows} rows", "float", "natural", 'y = ai.onnx.ml.Normalizer<norm="L2">(x)',
                   {"x": x}, {}, opset)
        yield Case("Binarizer", f"{rows} rows", "float", "natural", "y = ai.onnx.ml.Binarizer<threshold=0.1>(x)",
                   {"x": x}, {}, opset)
        yield Case("Imputer", f"{rows} rows", "float", "natural",
                   f"y = ai.onnx.ml.Imputer<imputed_value_floats=[{ones}], replaced_value_float=0.0>(x)", {"x": x}, {},
                   opset)
        words = random.choice(["a", "b", "c", "d"], (rows,)).astype(np.object_)
        yield Case("LabelEncoder", f"{rows} rows", "string", "natural",
                   'y = ai.onnx.ml.LabelEncoder<keys_strings=["a", "b", "c"], values_int64s=[1, 2, 3]>(x)',
                   {"x": words}, {}, opset)
        yield Case("OneHotEncoder", f"{rows} rows", "string", "natural",
                   'y = ai.onnx.ml.OneHotEncoder<cats_strings=["a", "b", "c"]>(x)', {"x": words}, {}, opset)


def cases(sizes):
    """All cases of the given sizes: keys of SIZES, and "natural"."""
    for size, n in SIZES.items():
        for make in (elementwise, reductions, movement, images, quantization) if size in sizes else ():
            yield from make(size, n)
    if "natural" in sizes:
        yield from products()
        yield from classical()
