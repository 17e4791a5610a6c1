"""Every operator on integers against float64.

- Results of 32 bits (MatMulInteger, MatMulInteger16, ConvInteger) are equal, and so are DynamicQuantizeLinear's.
- Results of 8 bits with scales that are powers of two are the exact numbers rounded to even: equal, where the operator
  adds, multiplies, picks and divides by powers of two. Others (any scales; means, sigmoid, softmax) lie at most
  half a step and 2^-19 of their distance from the zero point (2^-16 for softmax) away from the exact number.
- Results of floats differ by at most 2e-6 of the largest one (of 1 at least); attention, embeddings and LSTM by 5e-6.
  DequantizeLinear is one product, so that its result is the exact one rounded to float32.

Operators with weights in blocks have tests of their own, named in ELSEWHERE."""

import json
import math
import pathlib
import re

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model
from onnx import helper, numpy_helper
from quantized_cases import CASES, Source, convolution, wide

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOOSE = {"QAttention": 5e-6, "QEmbedLayerNormalization": 5e-6, "DynamicQuantizeLSTM": 5e-6}
# Their exact numbers are no multiples of a power of two.
NEVER_EXACT = {"QLinearSigmoid", "QLinearSoftmax", "QLinearAveragePool", "QLinearGlobalAveragePool",
               "QLinearReduceMean", "QLinearLeakyRelu", "QuantizeLinear"}
# ONNX Runtime's kernels add the zero point before they round: halves go to the even of the sums.
ROUNDED_WITH_ZERO = {"QLinearAdd", "QLinearMul"}
UNSIGNED_ONLY = {"DynamicQuantizeLinear", "MatMulInteger16"}
ELSEWHERE = {
    "MatMulNBits": "test_quantized_weights.py: test_product_is_that_of_float64",
    "MatMulNBitsMlp": "test_joined_nbits.py: test_mlp", "MatMulNBitsQkv": "test_joined_nbits.py: test_qkv",
    "MatMulBnb4": "test_four_bit_products.py: test_bnb4", "MatMulFpQ4": "test_four_bit_products.py: test_fp_q4",
    "GatherBlockQuantized": "test_quantized_weights.py: test_gather_of_nibbles", "QMoE": "test_experts.py: test_qmoe",
    "QOrderedMatMul": "test_ordered.py: test_matmul", "QOrderedAttention": "test_ordered.py: test_attention",
    "QOrderedGelu": "test_ordered.py: test_gelu", "QuantizeWithOrder": "test_ordered.py: test_quantize",
    "QOrderedLayerNormalization": "test_ordered.py: test_layer_normalization",
    "QOrderedLongformerAttention": "test_ordered_longformer.py: test_windows_and_global_tokens",
    "DequantizeWithOrder": "test_ordered.py: test_quantize",
    "QLinearConvAdd": "test_quantized_kernels.py: test_sum_behind_a_convolution",
    "Lookup8": "test_quantized_kernels.py: test_functions_by_tables",
}
FORMS = [(operator, form, dtype, is_exact) for operator, forms in CASES.items() for form in forms
         for dtype in (np.uint8, np.int8) if dtype == np.uint8 or operator not in UNSIGNED_ONLY
         for is_exact in (True, False)]


def results(operator, case, constants):
    model = node_model(operator, case.inputs, case.outputs, constants, **case.attributes)
    model.graph.node[0].domain = case.domain
    model.opset_import[0].version = case.opset
    return run_model(sardonyx, model, case.inputs, constants)


def profiled(model, feeds, folder):
    """(results, the operators that ran)."""
    options = sardonyx.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(folder / "profile")
    session = sardonyx.InferenceSession(model.SerializeToString(), options)
    got = session.run(None, feeds)
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    return got, {event["args"]["op_name"] for event in events if "op_name" in event.get("args", {})}


def check(operator, got, wanted, zero, is_equal):
    if got.dtype == np.int32:
        np.testing.assert_array_equal(got, wanted)
    elif got.dtype.kind == "f":
        if operator in ("DequantizeLinear", "DynamicQuantizeLinear"):
            np.testing.assert_array_equal(got, wanted.astype(np.float32))
        else:
            assert_close(got, wanted, LOOSE.get(operator, 2e-6), operator)
    else:
        limits = np.iinfo(got.dtype)
        if is_equal:
            first = zero if operator in ROUNDED_WITH_ZERO else 0
            whole = np.rint(wanted - zero + first) + zero - first
            np.testing.assert_array_equal(got, np.clip(whole, limits.min, limits.max))
        slack = 2.0 ** (-16 if operator == "QLinearSoftmax" else -19) * (np.abs(wanted - zero) + 1)
        off = np.abs(got - np.clip(wanted, limits.min, limits.max))
        assert (off <= 0.5 + slack).all(), (operator, off.max())


@pytest.mark.parametrize(("operator", "form", "dtype", "is_exact"), FORMS,
                         ids=[f"{o}-{f}-{d.__name__}-{'powers of two' if e else 'any'}" for o, f, d, e in FORMS])
def test_a_kernel_is_that_of_float64(operator, form, dtype, is_exact):
    for seed in range(4):
        source = Source(seed, dtype, is_exact)
        case = CASES[operator][form](source)
        for constants in {(), case.constants}:
            got = results(operator, case, constants)
            for mine, wanted in zip(got, case.wanted, strict=True):
                assert mine.shape == wanted.shape
                is_equal = operator == "DynamicQuantizeLinear" or is_exact and operator not in NEVER_EXACT
                check(operator, mine, wanted, float(source.result_zero), is_equal)


@pytest.mark.parametrize(("opset", "precision", "is_narrow"), [
    (19, None, False), (21, None, False), (23, None, True), (23, 1, False), (23, 10, True)])
def test_quotients_of_half_precision(opset, precision, is_narrow):
    """A float before version 23; then what `precision` says, or the type of the scale: exact in both."""
    inputs = [(np.random.default_rng(0).standard_normal(20000) * 3).astype(np.float16), np.float16(0.0237), np.int8(3)]
    inputs = [np.asarray(one) for one in inputs]
    model = node_model("QuantizeLinear", inputs, [np.int8], **({} if precision is None else {"precision": precision}))
    model.graph.node[0].domain, model.opset_import[0].version = "", opset
    (got,) = run_model(sardonyx, model, inputs)
    x, scale = inputs[:2]
    quotient = x / scale if is_narrow else x.astype(np.float64) / scale.astype(np.float64)
    np.testing.assert_array_equal(got, np.clip(np.rint(quotient.astype(np.float64)) + 3, -128, 127))


class Chain:
    """QLinearConv nodes and what they compute: exact integers, as all scales are powers of two."""

    def __init__(self, dtype, seed):
        self.source, self.dtype, self.nodes, self.weights = Source(seed, dtype, is_exact=True), dtype, [], []

    def constant(self, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.weights)}"))
        return self.weights[-1].name

    def rounded(self, exact, zero):
        limits = np.iinfo(self.dtype)
        return np.clip(np.rint(exact) + float(zero), limits.min, limits.max).astype(self.dtype)

    def conv(self, given, channels, size, group=1):
        """(name, integers, scale, zero point) of a convolution of such a value, of the same rows and columns."""
        name, x, scale, zero = given
        w = self.source.integers(channels, x.shape[1] // group, size, size, dtype=np.int8)
        scales, result, pads = self.source.scale(channels), self.source.result(near=-4), [size // 2] * 4
        made = convolution(wide(x, scale, zero), wide(w, scales, np.zeros(channels), 0), group, (1, 1), pads, (1, 1))
        inputs = [name, *map(self.constant, (scale, zero, w, scales, np.zeros(channels, np.int8), *result))]
        self.nodes.append(helper.make_node("QLinearConv", inputs, [f"y{len(self.nodes)}"], pads=pads, group=group))
        return self.nodes[-1].output[0], self.rounded(made / result[0].astype(np.float64), result[1]), *result

    def add(self, left, right):
        result = self.source.result(near=-4)
        made = sum(wide(*one[1:]) for one in (left, right)) / result[0].astype(np.float64)
        inputs = [*(name for one in (left, right) for name in (one[0], *map(self.constant, one[2:])))]
        self.nodes.append(helper.make_node("QLinearAdd", [*inputs, *map(self.constant, result)],
                                           [f"y{len(self.nodes)}"], domain="com.microsoft"))
        return self.nodes[-1].output[0], self.rounded(made + result[1], 0), *result


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("is_first", [True, False])
def test_sum_behind_a_convolution(tmp_path, dtype, group, is_first):
    """QLinearConvAdd is what the optimizer makes of QLinearConv and QLinearAdd in a network: two roundings, as of the
    two nodes."""
    for seed in range(3):
        chain = Chain(dtype, seed)
        x = chain.source.integers(1, 8, 10, 11)
        first = chain.conv(("x", x, chain.source.scale(), chain.source.zero()), 24, 1)
        second = chain.conv(first, 24, 3, group)
        added = chain.add(second, first) if is_first else chain.add(first, second)
        name, wanted, *_ = chain.conv(added, 12, 1)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        ends = [helper.make_tensor_value_info("x", kind, x.shape)], [helper.make_tensor_value_info(name, kind, None)]
        model = helper.make_model(helper.make_graph(chain.nodes, "g", *ends, chain.weights), ir_version=10,
                                  opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)])
        (got,), ran = profiled(model, {"x": x}, tmp_path)
        assert ran == {"QLinearConv", "QLinearConvAdd"}
        np.testing.assert_array_equal(got, wanted)


FUNCTIONS = {"Exp": np.exp, "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Neg": np.negative,
             "Gelu": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))), "Abs": np.abs,
             "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "Softplus": lambda x: np.log1p(np.exp(x)),
             "Sqrt": lambda x: np.sqrt(np.maximum(x, 0)), "Relu": lambda x: np.maximum(x, 0)}


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("operator", FUNCTIONS)
def test_functions_by_tables(tmp_path, operator, dtype):
    """A function of one value between integers is a table of its 256 results (Lookup8)."""
    zero = np.array(0 if operator == "Sqrt" and dtype == np.uint8 else 7 if dtype == np.int8 else 140, dtype)
    limits = np.iinfo(dtype)
    x = np.arange(0 if operator == "Sqrt" else limits.min, limits.max + 1).astype(dtype)
    x = x[x >= zero] if operator == "Sqrt" else x
    scale, result = np.float32(0.0173), [np.float32(0.0311), np.array(3, dtype)]
    inputs = [x, scale, zero, *map(np.asarray, result)]
    model = node_model("DequantizeLinear", inputs, [dtype], (1, 2, 3, 4))
    model.opset_import[0].version = 21
    model.graph.node[0].CopyFrom(helper.make_node("DequantizeLinear", ["x0", "x1", "x2"], ["a"]))
    model.graph.node.append(helper.make_node(operator, ["a"], ["b"]))
    model.graph.node.append(helper.make_node("QuantizeLinear", ["b", "x3", "x4"], ["y0"]))
    (got,), ran = profiled(model, {"x0": x}, tmp_path)
    assert ran == {"Lookup8"}
    exact = FUNCTIONS[operator]((x.astype(np.float64) - float(zero)) * float(scale)) / float(result[0]) + 3
    off = np.abs(got - np.clip(exact, limits.min, limits.max))
    assert (off <= 0.5 + 2.0**-16).all(), off.max()


def quantized_operators():
    """Names in docs/operators.md that say integers or blocks of them."""
    rows = re.findall(r"^\| (\w+) \|", (ROOT / "docs/operators.md").read_text(), re.MULTILINE)
    pattern = (r"^(QLinear|QGemm|QAttention|QEmbed|QOrdered|QMoE|DynamicQuant|(De)?[Qq]uantize|Lookup8)"
               r"|Integer|NBits|Bnb4|Q4$|BlockQ")
    return {name for name in rows if re.search(pattern, name)}


def test_no_operator_is_forgotten():
    assert quantized_operators() - set(CASES) == set(ELSEWHERE)
    for place in ELSEWHERE.values():
        file, name = place.split(": ")
        assert f"def {name}(" in (pathlib.Path(__file__).parent / file).read_text(), place
