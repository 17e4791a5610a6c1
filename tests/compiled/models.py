"""Small models whose kernels pack weights, one for each kind of packing; with weights large enough for the file."""
import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

HEAD = '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>\n'
# name: (graph, {weight: shape or array}, {input: shape or array})
F32, F16, F64, I8, U8 = np.float32, np.float16, np.float64, np.int8, np.uint8


def uniform(shape, dtype=F32, seed=1):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype, endpoint=True)
    return random.uniform(-1, 1, shape).astype(dtype)


def cases():
    """{name: (text, weights, feed)}"""
    u = uniform
    return {
        "MatMul": ("g (float[n,64] x) => (float[n,48] y) { y = MatMul (x, w) }", {"w": u((64, 48))},
                   {"x": u((3, 64))}),
        "MatMul of a batch": ("g (float[2,n,64] x) => (float[2,n,48] y) { y = MatMul (x, w) }",
                              {"w": u((2, 64, 48))}, {"x": u((2, 3, 64))}),
        "MatMul, float16": ("g (float16[n,64] x) => (float16[n,48] y) { y = MatMul (x, w) }",
                            {"w": u((64, 48), F16)}, {"x": u((3, 64), F16)}),
        "MatMul, double": ("g (double[n,64] x) => (double[n,48] y) { y = MatMul (x, w) }", {"w": u((64, 48), F64)},
                           {"x": u((3, 64), F64)}),
        "Gemm": ("""g (float[n,64] x) => (float[n,48] y) { a = Gemm <transB = 1> (x, w, b) y = Relu (a) }""",
                 {"w": u((48, 64)), "b": u((48,))}, {"x": u((3, 64))}),
        "Conv": ("""g (float[n,16,h,h] x) => (float[n,32,h,h] y)
                    { a = Conv <pads = [1, 1, 1, 1]> (x, w, b) y = Relu (a) }""",
                 {"w": u((32, 16, 3, 3)), "b": u((32,))}, {"x": u((1, 16, 12, 12))}),
        "Conv, fixed size": ("""g (float[1,32,56,56] x) => (float[1,32,56,56] y)
                                { y = Conv <pads = [1, 1, 1, 1]> (x, w) }""",
                             {"w": u((32, 32, 3, 3))}, {"x": u((1, 32, 56, 56))}),
        "Conv, depthwise": ("""g (float[1,64,20,20] x) => (float[1,64,20,20] y)
                               { y = Conv <pads = [1, 1, 1, 1], group = 64> (x, w) }""",
                            {"w": u((64, 1, 3, 3))}, {"x": u((1, 64, 20, 20))}),
        "ConvTranspose": ("g (float[n,16,9,9] x) => (float[n,24,10,10] y) { y = ConvTranspose (x, w) }",
                          {"w": u((16, 24, 2, 2))}, {"x": u((1, 16, 9, 9))}),
        "LSTM": ("g (float[t,1,32] x) => (float[t,1,1,24] y) { y = LSTM <hidden_size = 24> (x, w, r) }",
                 {"w": u((1, 96, 32)), "r": u((1, 96, 24))}, {"x": u((5, 1, 32))}),
        "GRU": ("g (float[t,1,32] x) => (float[t,2,1,24] y) "
                '{ y = GRU <hidden_size = 24, direction = "bidirectional"> (x, w, r) }',
                {"w": u((2, 72, 32)), "r": u((2, 72, 24))}, {"x": u((5, 1, 32))}),
        "MatMulInteger": ("g (uint8[n,64] x) => (int32[n,48] y) { y = MatMulInteger (x, w) }", {"w": u((64, 48), I8)},
                          {"x": u((3, 64), U8)}),
        "QLinearConv": ("""g (uint8[1,16,12,12] x) => (uint8[1,32,10,10] y)
                           <float s = {0.5}, uint8 z = {7}, int8 wz = {0}>
                           { y = QLinearConv (x, s, z, w, s, wz, s, z) }""",
                        {"w": u((32, 16, 3, 3), I8)}, {"x": u((1, 16, 12, 12), U8)}),
        "MatMulNBits": ("""g (float[n,128] x) => (float[n,48] y)
            { y = com.microsoft.MatMulNBits <K = 128, N = 48, bits = 4, block_size = 32> (x, w, s, z) }""",
                        {"w": u((48, 4, 16), U8), "s": u((48 * 4,)), "z": u((48 * 2,), U8)}, {"x": u((3, 128))}),
        "MatMulNBits with scales of 16 bits": ("""g (float[n,128] x) => (float[n,48] y)
            { y = com.microsoft.MatMulNBits <K = 128, N = 48, bits = 4, block_size = 32, accuracy_level = 4>
                  (x, w, s, z) }""", {"w": u((48, 4, 16), U8), "s": u((48 * 4,)).astype(np.float16).astype(np.float32),
                                    "z": u((48 * 2,), U8)}, {"x": u((3, 128))}),
        "Attention": ("""g (float[1,n,32] x) => (float[1,n,32] y)
            { y = com.microsoft.Attention <num_heads = 4> (x, w, b) }""",
                      {"w": u((32, 96)), "b": u((96,))}, {"x": u((1, 5, 32))}),
        "CDist": ('g (float[n,24] x) => (float[n,40] y) { y = com.microsoft.CDist <metric = "euclidean"> (x, w) }',
                  {"w": u((40, 24))}, {"x": u((3, 24))}),
        "a body": ("""g (float[n,64] x, bool c) => (float[n,48] y) {
            y = If (c) <then_branch = t () => (float[n,48] a) { a = MatMul (x, w) },
                        else_branch = e () => (float[n,48] b) { m = MatMul (x, w) b = Exp (m) }> }""",
                   {"w": u((64, 48))}, {"x": u((3, 64)), "c": np.array(False)}),
    }


def model(text, weights, domains=None):
    """The model's bytes. `domains`: {domain: version} of custom operators."""
    made = parser.parse_model(HEAD + text)
    made.opset_import.extend(helper.make_opsetid(*domain) for domain in (domains or {}).items())
    made.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    onnx.checker.check_model(made)
    return made.SerializeToString()
