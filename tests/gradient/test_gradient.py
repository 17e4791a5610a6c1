"""Gradient (ai.onnx.preview.training): every derivative against differences of the function's own values in float64.

A case is the body of a graph over x0, x1 ... (double) that makes y. To add one, add a row to CASES.
"""
import pathlib

import numpy as np
import onnx.parser
import pytest
import sardonyx as ort

TRAINING = "ai.onnx.preview.training"
HEADER = '<ir_version: 10, opset_import: ["" : 24, "ai.onnx.preview.training" : 1]>'


def positive(*shape):
    return ("positive", shape)


def apart(*shape):  # no two elements are close to each other, nor to 0
    return ("apart", shape)


def normal(*shape):
    return ("normal", shape)


S = (2, 3)
UNARY = {name: normal(*S) for name in (
    "Abs Asinh Atan Cos Cosh Elu Erf Exp Identity LeakyRelu Mish Neg Relu Selu Sigmoid Sin Sinh Softplus Softsign Tanh "
    "Ceil Floor Round Sign HardSwish ThresholdedRelu Shrink Gelu HardSigmoid Hardmax Softmax LogSoftmax "
    "Reciprocal Tan").split()} | {name: positive(*S) for name in ("Log", "Sqrt")}
CASES = {name.lower(): (f"y = {name}(x0)", [x]) for name, x in UNARY.items()} | {
    "acos": ("a = Tanh(x0) y = Acos(a)", [normal(*S)]),
    "asin": ("a = Tanh(x0) y = Asin(a)", [normal(*S)]),
    "atanh": ("a = Tanh(x0) y = Atanh(a)", [normal(*S)]),
    "acosh": ("a = Exp(x0) y = Acosh(a)", [positive(*S)]),
    "add": ("y = Add(x0, x1)", [normal(2, 3), normal(3)]),
    "add stretched": ("y = Add(x0, x1)", [normal(2, 1, 4), normal(3, 1)]),
    "sub": ("y = Sub(x0, x1)", [normal(3), normal(2, 3)]),
    "mul": ("y = Mul(x0, x1)", [normal(2, 1), normal(1, 3)]),
    "mul itself": ("y = Mul(x0, x0)", [normal(2, 1)]),
    "div": ("y = Div(x0, x1)", [normal(2, 3), positive(1, 3)]),
    "pow": ("y = Pow(x0, x1)", [positive(2, 3), normal(3)]),
    "pow of integers": ("p = Constant<value_ints=[3, 0, 2]>() y = Pow(x0, p)", [normal(2, 3)]),
    "prelu": ("y = PRelu(x0, x1)", [normal(2, 3, 4), normal(3, 1)]),
    "max": ("y = Max(x0, x1, x2)", [apart(2, 3), apart(3), apart(2, 1)]),
    "min": ("y = Min(x0, x1)", [apart(2, 3), apart(3)]),
    "sum": ("y = Sum(x0, x1, x0)", [normal(2, 3), normal(3)]),
    "mean": ("y = Mean(x0, x1)", [normal(2, 3), normal(1)]),
    "clip": ("l = Constant<value=double {-0.5}>() h = Constant<value=double {0.7}>() y = Clip(x0, l, h)",
             [normal(4, 5)]),
    "where": ("z = Constant<value=double {0.0}>() c = Less(x0, z) y = Where(c, x0, x1)", [normal(2, 3), normal(3)]),
    "cast": ("a = Mul(x0, x0) b = Cast<to=11>(a) y = Exp(b)", [normal(3)]),
    "dropout": ("y = Dropout(x0)", [normal(3)]),
    "elu alpha": ("y = Elu<alpha=0.3>(x0)", [normal(3, 4)]),
    "celu in float": ("a = Cast<to=1>(x0) b = Celu<alpha=0.3>(a) y = Cast<to=11>(b)", [normal(3, 4)]),
    "swish": ("y = Swish<alpha=1.7>(x0)", [normal(3, 4)]),
    "gelu tanh": ('y = Gelu<approximate="tanh">(x0)', [normal(3, 4)]),
    # products
    "matmul": ("y = MatMul(x0, x1)", [normal(2, 3), normal(3, 4)]),
    "matmul batches": ("y = MatMul(x0, x1)", [normal(2, 1, 2, 3), normal(5, 3, 4)]),
    "matmul row": ("y = MatMul(x0, x1)", [normal(3), normal(2, 3, 4)]),
    "matmul column": ("y = MatMul(x0, x1)", [normal(2, 2, 3), normal(3)]),
    "matmul vectors": ("y = MatMul(x0, x1)", [normal(3), normal(3)]),
    "gemm": ("y = Gemm<alpha=0.5, beta=2.0>(x0, x1, x2)", [normal(2, 3), normal(3, 4), normal(4)]),
    "gemm a": ("y = Gemm<transA=1>(x0, x1, x2)", [normal(3, 2), normal(3, 4), normal(2, 1)]),
    "gemm b": ("y = Gemm<transB=1, alpha=0.3>(x0, x1)", [normal(2, 3), normal(4, 3)]),
    "gemm ab": ("y = Gemm<transA=1, transB=1, alpha=0.3>(x0, x1)", [normal(3, 2), normal(4, 3)]),
    "einsum": ('y = Einsum<equation="bij, bjk -> ik">(x0, x1)', [normal(2, 3, 4), normal(2, 4, 2)]),
    "conv": ("y = Conv(x0, x1, x2)", [normal(2, 3, 5, 4), normal(4, 3, 3, 2), normal(4)]),
    "conv strided": ("y = Conv<strides=[2, 3], pads=[1, 0, 2, 1]>(x0, x1)", [normal(2, 2, 6, 7), normal(3, 2, 3, 2)]),
    "conv dilated": ("y = Conv<dilations=[2], strides=[2], pads=[2, 1]>(x0, x1)", [normal(1, 2, 10), normal(3, 2, 3)]),
    "conv groups": ("y = Conv<group=2, strides=[2, 1], pads=[0, 1, 1, 1]>(x0, x1, x2)",
                    [normal(2, 4, 6, 3), normal(6, 2, 3, 2), normal(6)]),
    "conv depthwise": ("y = Conv<group=3, pads=[1, 1, 1, 1]>(x0, x1)", [normal(1, 3, 4, 4), normal(3, 1, 3, 3)]),
    "conv same": ('y = Conv<auto_pad="SAME_UPPER", strides=[2, 2]>(x0, x1)', [normal(1, 2, 5, 6), normal(2, 2, 3, 2)]),
    "conv same lower": ('y = Conv<auto_pad="SAME_LOWER">(x0, x1)', [normal(1, 2, 5), normal(2, 2, 4)]),
    "convtranspose": ("y = ConvTranspose<strides=[2], pads=[1, 0]>(x0, x1, x2)",
                      [normal(2, 3, 4), normal(3, 2, 3), normal(2)]),
    "convtranspose groups": ("y = ConvTranspose<strides=[2, 1], group=2, output_padding=[1, 0]>(x0, x1)",
                             [normal(1, 4, 3, 2), normal(4, 2, 3, 2)]),
    # pools
    "averagepool": ("y = AveragePool<kernel_shape=[2, 3], strides=[2, 1], pads=[1, 1, 0, 1]>(x0)",
                    [normal(2, 2, 5, 4)]),
    "averagepool padded": ("y = AveragePool<kernel_shape=[3], strides=[2], pads=[1, 1], count_include_pad=1>(x0)",
                           [normal(2, 2, 6)]),
    "averagepool ceil": ("y = AveragePool<kernel_shape=[3], strides=[2], ceil_mode=1>(x0)", [normal(1, 2, 6)]),
    "maxpool": ("y = MaxPool<kernel_shape=[2, 3], strides=[1, 2], pads=[1, 0, 0, 1]>(x0)", [apart(2, 2, 4, 5)]),
    "maxpool dilated": ("y = MaxPool<kernel_shape=[2], dilations=[2], ceil_mode=1>(x0)", [apart(1, 2, 7)]),
    "globalaveragepool": ("y = GlobalAveragePool(x0)", [normal(2, 3, 2, 2)]),
    "globalmaxpool": ("y = GlobalMaxPool(x0)", [apart(2, 3, 2, 2)]),
    # normalizations
    "layernorm": ("y, m, i = LayerNormalization(x0, x1, x2)", [normal(2, 3, 5), normal(5), normal(5)]),
    "layernorm axis": ("y = LayerNormalization<axis=1>(x0, x1)", [normal(2, 3, 5), normal(3, 5)]),
    "rmsnorm": ("y = RMSNormalization(x0, x1)", [normal(2, 3, 5), normal(5)]),
    "instancenorm": ("y = InstanceNormalization(x0, x1, x2)", [normal(2, 3, 4, 2), normal(3), normal(3)]),
    "groupnorm": ("y = GroupNormalization<num_groups=2>(x0, x1, x2)", [normal(2, 4, 3), normal(4), normal(4)]),
    "batchnorm": ("y = BatchNormalization(x0, x1, x2, x3, x4)",
                  [normal(2, 3, 4), normal(3), normal(3), normal(3), positive(3)]),
    "lpnorm": ("y = LpNormalization<axis=1>(x0)", [normal(2, 3)]),
    "lpnorm 1": ("y = LpNormalization<axis=0, p=1>(x0)", [normal(2, 3)]),
    "mvn": ("y = MeanVarianceNormalization(x0)", [normal(2, 3, 2, 2)]),
    "lrn": ("y = LRN<size=3, alpha=0.2, beta=0.6, bias=1.5>(x0)", [normal(2, 5, 3)]),
    "lrn even": ("y = LRN<size=4, alpha=0.2>(x0)", [normal(1, 5, 2)]),
    # reductions
    "softmax axis": ("y = Softmax<axis=0>(x0)", [normal(2, 3)]),
    "cumsum": ("a = Constant<value_int=1>() y = CumSum<exclusive=1>(x0, a)", [normal(2, 4)]),
    "cumsum reverse": ("a = Constant<value_int=0>() y = CumSum<reverse=1>(x0, a)", [normal(3, 4)]),
    "reduceprod zero": ("z = Constant<value=double[2, 3] {1.0, 0.0, 2.0, 0.0, 0.0, 1.0}>() a = Mul(x0, z) "
                        "n = Constant<value_ints=[1]>() y = ReduceProd(a, n)", [positive(2, 3)]),
    # losses
    "nll": ('t = Constant<value_ints=[1, 0]>() y = NegativeLogLikelihoodLoss<reduction="none">(x0, t)', [normal(2, 3)]),
    "nll weights": ("t = Constant<value=int64[2, 2] {1, -1, 2, 0}>() "
                    "y = NegativeLogLikelihoodLoss<ignore_index=-1>(x0, t, x1)", [normal(2, 3, 2), positive(3)]),
    "cross entropy": ("t = Constant<value_ints=[2, 0]>() y = SoftmaxCrossEntropyLoss(x0, t)", [normal(2, 3)]),
    "cross entropy sum": ('t = Constant<value=int32[2, 2] {1, 1, 2, 0}>() '
                          'y, p = SoftmaxCrossEntropyLoss<reduction="sum">(x0, t)', [normal(2, 3, 2)]),
    # movement
    "reshape": ("s = Constant<value_ints=[3, -1]>() y = Reshape(x0, s)", [normal(2, 3)]),
    "flatten": ("y = Flatten(x0)", [normal(2, 3, 2)]),
    "squeeze": ("y = Squeeze(x0)", [normal(2, 1, 3)]),
    "unsqueeze": ("a = Constant<value_ints=[0, -1]>() y = Unsqueeze(x0, a)", [normal(3)]),
    "transpose": ("y = Transpose<perm=[2, 0, 1]>(x0)", [normal(2, 3, 4)]),
    "transpose all": ("y = Transpose(x0)", [normal(2, 3, 4)]),
    "concat": ("y = Concat<axis=-1>(x0, x1, x0)", [normal(2, 3), normal(2, 1)]),
    "split": ("a, b = Split<axis=1, num_outputs=2>(x0) c = Mul(a, a) y = Concat<axis=0>(c, b)", [normal(2, 4)]),
    "split one": ("a, y = Split<axis=1, num_outputs=2>(x0)", [normal(2, 4)]),
    "slice": ("b = Constant<value_ints=[-1, 0]>() e = Constant<value_ints=[-9, 3]>() n = Constant<value_ints=[1, 0]>() "
              "s = Constant<value_ints=[-2, 1]>() y = Slice(x0, b, e, n, s)", [normal(4, 5)]),
    "gather": ("i = Constant<value=int32[2, 2] {0, 2, -1, 0}>() y = Gather(x0, i)", [normal(3, 2)]),
    "gather axis": ("i = Constant<value_ints=[1, 1]>() y = Gather<axis=1>(x0, i)", [normal(3, 2, 2)]),
    "gatherelements": ("i = Constant<value=int64[1, 3] {1, 0, -1}>() y = GatherElements(x0, i)", [normal(2, 3)]),
    "gathernd": ("i = Constant<value=int64[3, 1] {1, 0, 1}>() y = GatherND(x0, i)", [normal(2, 3)]),
    "scatterelements": ("i = Constant<value=int64[1, 3] {1, 0, 1}>() y = ScatterElements(x0, i, x1)",
                        [normal(2, 3), normal(1, 3)]),
    "scatterelements add": ('i = Constant<value=int64[2, 3] {1, 0, 1, 1, 0, 0}>() '
                            'y = ScatterElements<reduction="add">(x0, i, x1)', [normal(2, 3), normal(2, 3)]),
    "scatternd": ("i = Constant<value=int64[1, 1] {1}>() y = ScatterND(x0, i, x1)", [normal(2, 3), normal(1, 3)]),
    "pad": ("p = Constant<value_ints=[1, -1, 0, 2]>() y = Pad(x0, p)", [normal(2, 3)]),
    "pad reflect": ('p = Constant<value_ints=[1, 1, 0, 2]>() y = Pad<mode="reflect">(x0, p)', [normal(2, 3)]),
    "pad axes": ('p = Constant<value_ints=[1, 2]>() a = Constant<value_ints=[1]>() y = Pad<mode="edge">(x0, p, , a)',
                 [normal(2, 3)]),
    "expand": ("s = Constant<value_ints=[2, 2, 3]>() y = Expand(x0, s)", [normal(2, 1)]),
    "tile": ("r = Constant<value_ints=[2, 1]>() y = Tile(x0, r)", [normal(2, 3)]),
    "depthtospace": ('y = DepthToSpace<blocksize=2, mode="CRD">(x0)', [normal(1, 8, 1, 2)]),
    "spacetodepth": ("y = SpaceToDepth<blocksize=2>(x0)", [normal(1, 2, 2, 4)]),
    "trilu": ("y = Trilu<upper=0>(x0)", [normal(3, 3)]),
    "compress": ("c = Constant<value=bool[3] {1, 0, 1}>() y = Compress<axis=1>(x0, c)", [normal(2, 3)]),
    "reversesequence": ("n = Constant<value_ints=[2, 3]>() y = ReverseSequence<batch_axis=0, time_axis=1>(x0, n)",
                        [normal(2, 3)]),
    "topk": ("k = Constant<value_ints=[2]>() y, i = TopK(x0, k)", [apart(2, 4)]),
    "network": ("a = Conv<pads=[1, 1, 1, 1]>(x0, x1) b = Relu(a) c = GlobalAveragePool(b) d = Flatten(c) "
                "e = Gemm(d, x2) f = LogSoftmax(e) t = Constant<value_ints=[1, 0]>() "
                "y = NegativeLogLikelihoodLoss(f, t)",
                [normal(2, 2, 5, 5), normal(3, 2, 3, 3), normal(3, 4)]),
}
for name in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split():
    kind = positive if name == "LogSum" else apart
    CASES[f"reduce{name} all"] = (f"y = Reduce{name}<keepdims=0>(x0)", [kind(2, 3)])
    CASES[f"reduce{name} axes"] = (f"n = Constant<value_ints=[-1, 0]>() y = Reduce{name}<keepdims=0>(x0, n)",
                                   [kind(2, 3, 4)])
    CASES[f"reduce{name} kept"] = (f"n = Constant<value_ints=[1]>() y = Reduce{name}(x0, n)", [kind(2, 3, 4)])


def values(kinds, seed):
    random, made = np.random.default_rng(seed), []
    for kind, shape in kinds:
        if kind == "positive":
            made.append(random.uniform(0.5, 2, shape))
        elif kind == "apart":
            count = int(np.prod(shape))
            made.append((random.permutation(count) - count / 2 + 0.3 + 0.1 * len(made)).reshape(shape) / 3)
        else:
            made.append(random.standard_normal(shape))
    return [each.astype(np.float64) for each in made]


def model(inputs, outputs, body, header=HEADER):
    return onnx.parser.parse_model(f"{header} g ({inputs}) => ({outputs}) {{ {body} }}").SerializeToString()


def session(serialized, level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    return ort.InferenceSession(serialized, options)


def declared(arrays, symbolic):
    dims = [",".join(f"d{i}_{j}" if symbolic else str(n) for j, n in enumerate(a.shape)) for i, a in enumerate(arrays)]
    return ", ".join(f"double[{text}] x{i}" for i, text in enumerate(dims))


def gradient_node(count):
    names = ", ".join(f'"x{i}"' for i in range(count))
    given = ", ".join(f"x{i}" for i in range(count))
    made = ", ".join(f"g{i}" for i in range(count))
    return f'{made} = {TRAINING}.Gradient<xs=[{names}], y="weighted">({given})'


def differences(run, arrays, weights):
    """The gradient of the weighted sum of the results, by central differences of the fourth order."""
    step, found = 1e-3, []
    for i, array in enumerate(arrays):
        gradient = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            sums = []
            for shift in (-2, -1, 1, 2):
                moved = [each.copy() for each in arrays]
                moved[i][at] += shift * step
                sums.append(np.sum(run(moved) * weights))
            gradient[at] = (sums[0] - 8 * sums[1] + 8 * sums[2] - sums[3]) / (12 * step)
        found.append(gradient)
    return found


CORNERS = [0, 0.5, 0.7, 1, 1.5, 2.5, 3]  # where an elementwise function may bend
# Operators whose derivatives need to know a size beforehand.
FIXED = {name for name in CASES if name.startswith("conv")} | {"squeeze", "network"}


@pytest.mark.parametrize("name", CASES)
def test_derivative(name):
    body, kinds = CASES[name]
    for seed in range(20):  # away from corners, where the derivative jumps
        arrays = values(kinds, seed)
        distances = [np.abs(np.abs(a[..., None]) - CORNERS).min() for a in arrays]
        if sum(a.size for a in arrays) > 24 or min(distances) > 0.004:
            break
    else:
        pytest.fail("all inputs lie at corners")
    feeds = {f"x{i}": a for i, a in enumerate(arrays)}
    tolerance = 1e-3 if "float" in name else 1e-6
    plain = session(model(declared(arrays, False), "double[] y", body))
    used = [{each.name: feeds[each.name] for each in plain.get_inputs()}]
    result = plain.run(None, used[0])[0]
    weights = np.random.default_rng(99).uniform(0.5, 1.5, result.shape)
    want = differences(lambda a: plain.run(None, {f"x{i}": each for i, each in enumerate(a)})[0], arrays, weights)
    for symbolic in (False, True):
        if symbolic and name in FIXED:
            continue
        outputs = ", ".join(f"double[] g{i}" for i in range(len(arrays)))
        shape = f"[{','.join(map(str, weights.shape))}]" if weights.shape else ""
        whole = model(declared(arrays, symbolic) + f", double{shape} weights", outputs,
                      f"{body} weighted = Mul(y, weights) {gradient_node(len(arrays))}")
        for level in (ort.GraphOptimizationLevel.ORT_ENABLE_ALL, ort.GraphOptimizationLevel.ORT_DISABLE_ALL):
            got = session(whole, level).run(None, {**feeds, "weights": weights})
            for i, (g, w) in enumerate(zip(got, want)):
                assert g.shape == w.shape, (i, symbolic)
                np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance / 10,
                                           err_msg=f"x{i}, symbolic: {symbolic}, {level}")


def run(inputs, outputs, body, feeds, header=HEADER):
    return session(model(inputs, outputs, body, header)).run(None, feeds)


def test_derivatives_of_derivatives():
    x = np.array([0.3, -1.2, 2.0])
    node = f"{TRAINING}.Gradient"
    first, second, third = run("double[3] x", "double[3] a, double[3] b, double[3] c",
                               f'y = Sin(x) a = {node}<xs=["x"], y="y">(x) b = {node}<xs=["x"], y="a">(x) '
                               f'd = Mul(b, x) c = {node}<xs=["x"], y="d">(x)', {"x": x})
    np.testing.assert_allclose(first, np.cos(x))
    np.testing.assert_allclose(second, -np.sin(x))
    np.testing.assert_allclose(third, -np.sin(x) - x * np.cos(x))


def test_the_derivative_of_a_convolutions_derivative():
    x, w = values([normal(1, 2, 6), normal(2, 2, 3)], 1)
    body = ('c = Conv<strides=[2], pads=[1, 1]>(x0, x1) y = Mul(c, c) '
            f'a = {TRAINING}.Gradient<xs=["x1"], zs=["x0"], y="y">(x1, x0) weighted = Mul(a, a) ')
    serialized = model(declared([x, w], False), "double[] g0, double[] g1, double[] weighted", body + gradient_node(2))
    made = session(serialized)
    g0, g1, _ = made.run(None, {"x0": x, "x1": w})
    want = differences(lambda a: made.run(["weighted"], {"x0": a[0], "x1": a[1]})[0], [x, w], 1)
    np.testing.assert_allclose(g0, want[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(g1, want[1], rtol=1e-6, atol=1e-6)


def test_other_values_than_those_of_the_graph():
    """The inputs of Gradient say where the derivative is taken; two of them may be the same value."""
    a, b, c = np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.array([7.0, 11.0])
    y, da, db = run("double[2] a, double[2] b, double[2] c", "double[2] y, double[2] da, double[2] db",
                    f'y = Mul(a, b) da, db = {TRAINING}.Gradient<xs=["a", "b"], y="y">(c, c)', {"a": a, "b": b, "c": c})
    np.testing.assert_array_equal(y, a * b)
    np.testing.assert_array_equal(da, c)
    np.testing.assert_array_equal(db, c)


def test_intermediate_values_and_what_does_not_matter():
    x = np.array([1.0, 2.0])
    dh, dn = run("double[2] x, double[2] n", "double[2] dh, double[2] dn",
                 "w = Constant<value=double[2] {3.0, 4.0}>() h = Exp(x) y = Mul(h, w) "
                 f'dh, dn = {TRAINING}.Gradient<xs=["h", "n"], y="y">(h, n)', {"x": x, "n": x})
    np.testing.assert_array_equal(dh, [3, 4])
    np.testing.assert_array_equal(dn, [0, 0])


def test_older_operators():
    header = '<ir_version: 7, opset_import: ["" : 11, "ai.onnx.preview.training" : 1]>'
    x = np.array([[1.0, -2.0, 3.0]], np.float32)
    (g,) = run("float[1, 3] x", "float[1, 3] g",
               f'a = Unsqueeze<axes=[0]>(x) b = ReduceSum<axes=[2]>(a) y = Mul(b, b) '
               f'g = {TRAINING}.Gradient<xs=["x"], y="y">(x)', {"x": x}, header)
    np.testing.assert_array_equal(g, [[4, 4, 4]])


@pytest.mark.parametrize(("body", "message"), [
    (f'y = Exp(x) g = {TRAINING}.Gradient<xs=["z"], y="y">(x)', "attribute 'xs': expected the name of a value"),
    (f'y = Exp(x) g = {TRAINING}.Gradient<xs=["x"], y="q">(x)', "attribute 'y': expected the name of a value"),
    (f'y = Exp(x) g = {TRAINING}.Gradient<xs=["x"], y="y">(x, x)', "found 2 inputs and 1 outputs"),
    (f'y = Shape(x) g = {TRAINING}.Gradient<xs=["x"], y="y">(x)', "expected a tensor of floats, found 'y'"),
    (f'y = Mod<fmod=1>(x, x) g = {TRAINING}.Gradient<xs=["x"], y="y">(x)',
     r"\[Mod\] .*its derivative is not implemented"),
    (f'g = {TRAINING}.Gradient<xs=["x"], y="g">(x)', "a derivative that does not depend on itself"),
])
def test_errors_name_the_node(body, message):
    with pytest.raises(Exception, match=message):
        session(model("double[2] x", "double[2] g", body))


def test_the_documents_example_runs(capsys):
    page = (pathlib.Path(__file__).parents[2] / "docs/gradients.md").read_text()
    exec(page.split("```python\n")[1].split("```")[0], {})
    assert capsys.readouterr().out == "[2. 4. 6.]\n"
