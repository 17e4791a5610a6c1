"""Graphs of DequantizeLinear, an operator and QuantizeLinear, compared with ONNX Runtime without optimizations.

The operators are all those that a pass of the optimizer replaces by integer operators, in several opsets and in both
8-bit types, with and without QuantizeLinear after them. There are also graphs that must stay in float.
"""
import itertools

import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx

QUANTUM = 0.05
TYPES = {"uint8": np.uint8, "int8": np.int8}
# name: (operator, shape of a, shape of b or None, since opset)
OPERATORS = {
    "add": ("Add(a, b)", [2, 6, 5, 7], [2, 6, 5, 7], 10),
    "add_broadcast": ("Add(a, b)", [2, 6, 5, 7], [6, 1, 1], 10),
    "add_broadcast_first": ("Add(b, a)", [2, 6, 5, 7], [7], 10),
    "average_pool": ("AveragePool<kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 1]>(a)", [2, 6, 9, 7],
                     None, 10),
    "concat": ("Concat<axis = 1>(a, b)", [2, 6, 5, 7], [2, 3, 5, 7], 10),
    "conv": ("Conv<pads = [1, 1, 1, 1]>(a, w)", [1, 6, 9, 7], None, 10),
    "conv_bias": ("Conv<strides = [2, 2]>(a, w, bias)", [3, 6, 9, 7], None, 10),
    "conv_grouped": ("Conv<group = 3, dilations = [2, 1]>(a, w2)", [1, 6, 9, 7], None, 10),
    "conv_depthwise": ("Conv<group = 6>(a, w1)", [1, 6, 9, 7], None, 10),
    "div": ("Div(a, half)", [2, 6, 5, 7], None, 10),
    "gelu": ("Mul(a, g3)", [2, 6, 5, 7], None, 10),
    "global_average_pool": ("GlobalAveragePool(a)", [2, 6, 9, 7], None, 10),
    "hard_sigmoid": ("HardSigmoid(a)", [2, 6, 5, 7], None, 10),
    "leaky_relu": ("LeakyRelu<alpha = 0.2>(a)", [2, 6, 5, 7], None, 10),
    "matmul": ("MatMul(a, b)", [2, 6, 5, 7], [2, 6, 7, 4], 10),
    "matmul_weights": ("MatMul(a, m)", [2, 6, 5, 7], None, 10),
    "max_pool": ("MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(a)", [2, 6, 9, 7], None, 12),
    "mul": ("Mul(a, b)", [2, 6, 5, 7], [2, 6, 1, 1], 10),
    "relu": ("Relu(a)", [2, 6, 5, 7], None, 10),
    "reshape": ("Reshape(a, shape)", [2, 6, 5, 7], None, 10),
    "sigmoid": ("Sigmoid(a)", [2, 6, 5, 7], None, 10),
    "softmax": ("Softmax<axis = -1>(a)", [2, 6, 5, 7], None, 13),
    "softmax_channels": ("Softmax<axis = 1>(a)", [2, 6, 5, 7], None, 13),
    "softmax_old": ("Softmax<axis = 1>(a)", [2, 6, 5, 7], None, 10),
    "transpose": ("Transpose<perm = [0, 2, 3, 1]>(a)", [2, 6, 5, 7], None, 10),
    "where": ("Where(which, a, b)", [2, 6, 5, 7], [2, 6, 5, 7], 10),
}


def numbers(shape, low, high):
    count = int(np.prod(shape))
    return ", ".join(str(low + (i * 37 + i * i) % (high - low + 1)) for i in range(count))


def graph(operator, a, b, opset, dtype, quantized, scales):
    """scales: of a, b and y; quantized: whether a QuantizeLinear follows."""
    low, high = (0, 255) if dtype == "uint8" else (-128, 127)
    inputs = f"float[{','.join(map(str, a))}] x" + (f", float[{','.join(map(str, b))}] v" if b else "")
    second = "vq = QuantizeLinear(v, sb, zb)  b = DequantizeLinear(vq, sb, zb)" if b else ""
    gelu = "g1 = Div(a, root)  g2 = Erf(g1)  g3 = Add(g2, half)" if "g3" in operator else ""
    weights = "".join(
        f"{name} = DequantizeLinear({name}q, sw)  " for name in ("w", "w1", "w2", "m", "bias") if
        f" {name}" in operator.replace("(", " "))
    return f"""<ir_version: 8, opset_import: ["" : {opset}]>
        g ({inputs}) => ({dtype if quantized else "float"}[] y) <
          float sa = {{{scales[0]}}}, {dtype} za = {{{low + 120}}}, float sb = {{{scales[1]}}},
          {dtype} zb = {{{low + 99}}},
          float sy = {{{scales[2]}}}, {dtype} zy = {{{low + 110}}}, float sw = {{0.01}}, float half = {{0.5}},
          float root = {{1.4142135}}, int64[3] shape = {{2, -1, 10}}, bool[6,1,1] which = {{1, 0, 0, 1, 1, 0}},
          int8[4,6,3,2] wq = {{{numbers([4, 6, 3, 2], -128, 127)}}},
          int8[6,1,3,3] w1q = {{{numbers([6, 1, 3, 3], -127, 127)}}},
          int8[3,2,2,2] w2q = {{{numbers([3, 2, 2, 2], -127, 127)}}}, int8[7,5] mq = {{{numbers([7, 5], -128, 127)}}},
          int32[4] biasq = {{-300, 20, 1000, 7}}
        > {{
          xq = QuantizeLinear(x, sa, za)  a = DequantizeLinear(xq, sa, za)  {second} {weights} {gelu}
          {"r" if quantized else "y"} = {operator}  {"y = QuantizeLinear(r, sy, zy)" if quantized else ""}
        }}"""


def run(module, model, feeds, level):
    options = module.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = level
    session = module.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


# Below opset 13 Softmax joins all axes behind the one that it names.
CASES = [(name, opset) for name in sorted(OPERATORS) for opset in (10, 13, 19, 21)
         if opset >= OPERATORS[name][3] and (name != "softmax_old" or opset < 13)]


@pytest.mark.parametrize(("name", "opset"), CASES)
def test_integer_operators_are_within_a_quantum_of_the_float_ones(name, opset):
    operator, a, b, _ = OPERATORS[name]
    generator = np.random.default_rng(7)
    feeds = {"x": generator.normal(size=a).astype(np.float32) * 2}
    if b:
        feeds["v"] = generator.normal(size=b).astype(np.float32) * 2
    compared = 0
    for dtype, quantized, equal in itertools.product(TYPES, [True, False], [True, False]):
        scales = (0.03, 0.03, 0.03) if equal else (0.03, 0.041, QUANTUM)
        text = graph(operator, a, b, opset, dtype, quantized, scales)
        try:
            model = onnx.parser.parse_model(text).SerializeToString()
            want = run(onnxruntime, model, feeds, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            continue  # a type that ONNX Runtime does not have
        got = run(sardonyx, model, feeds, sardonyx.GraphOptimizationLevel.ORT_ENABLE_ALL)
        assert got.dtype == want.dtype and got.shape == want.shape
        difference = np.abs(got.astype(np.float64) - want.astype(np.float64)).max()
        assert difference <= (1 if quantized else 1e-4), (dtype, quantized, equal)
        compared += 1
    assert compared >= 4


FLOAT = {
    "int16": "<float s = {0.001}, int16 z = {5}> { q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)  "
             "y = Add(d, d) }",
    "blocks": "<float[3,2] s = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}> { q = QuantizeLinear<axis = 1, block_size = 2>(x, s)  "
              "d = DequantizeLinear<axis = 1, block_size = 2>(q, s)  y = MatMul(d, d) }",
    "int4": "<float s = {0.5}, int4 z = {1}> { q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)  "
            "y = Mul(d, d) }",
}


@pytest.mark.parametrize("name", sorted(FLOAT))
def test_other_quantizations_stay_in_float(name):
    text = f'<ir_version: 10, opset_import: ["" : 21]> g (float[3,3] x) => (float[3,3] y) {FLOAT[name]}'
    model = onnx.parser.parse_model(text).SerializeToString()
    feeds = {"x": np.linspace(-2, 2, 9, dtype=np.float32).reshape(3, 3)}
    want = run(onnxruntime, model, feeds, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    got = run(sardonyx, model, feeds, sardonyx.GraphOptimizationLevel.ORT_ENABLE_ALL)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
