// tests/fuzz/quantized_snippets.cpp - graphs as quantizers write them: operators between DequantizeLinear and
// QuantizeLinear, and input scales that are computed during the run.
#include "fuzz/snippets.h"

namespace sardonyx::fuzz {
namespace {

#define SDX_QX "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) "
#define SDX_QV "vq = QuantizeLinear(v, t, k) vd = DequantizeLinear(vq, t, k) "
#define SDX_QY " yq = QuantizeLinear(m, t, k) y = DequantizeLinear(yq, t, k)"
#define SDX_PARAMETERS "float s = {@s}, uint8 z = {@u}, float t = {@s}, uint8 k = {@u}"
// One or two tensors [b, n, l] in, one out.
#define SDX_UNARY(node)                                                                                               \
  "g (float[b,$n,$l] x) => (float[p,q,r] y) <" SDX_PARAMETERS                                                         \
  ", int64[1] last = {-1}, int64[2] picked = {0, 0}, "                                                                \
  "int64[2] shape = {0, -1}, int64[6] pads = {0, 1, 0, 0, 0, 2}, int64[3] repeats = {1, 2, 1}, int64[1] one = {1}, "  \
  "float[3] scales = {1, 2, 2}, int64[1] zero = {0}, float c0 = {0}, float c6 = {0.6}, float c3 = {3}> {" SDX_QX node \
      SDX_QY "}"
#define SDX_SAME(node)                                                                                                 \
  "g (float[b,$n,$l] x) => (float[p,q,r] y) <float s = {@s}, int8 z = {@i}, int64[1] last = {-1}, "                    \
  "int64[2] picked = {0, 0}, int64[2] shape = {0, -1}, int64[6] pads = {0, 1, 0, 0, 0, 2}, int64[3] repeats = {1, 2, " \
  "1}, "                                                                                                               \
  "int64[1] one = {1}, float[3] scales = {1, 2, 2}, int64[1] zero = {0}> {" SDX_QX node                                \
  " yq = QuantizeLinear(m, s, z) y = DequantizeLinear(yq, s, z) }"
#define SDX_BINARY(node)                                                                          \
  "g (float[b,$n,$l] x, float[b,$n,$l] v, bool[$n,1] which) => (float[p,q,r] y) <" SDX_PARAMETERS \
  "> {" SDX_QX SDX_QV node SDX_QY "}"

constexpr const char* kSnippets[] = {
    // Operators with an integer form, and tables.
    SDX_BINARY("m = Add(xd, vd)"),
    SDX_BINARY("m = Mul(xd, vd)"),
    SDX_BINARY("m = Concat<axis = -1>(xd, vd)"),
    SDX_BINARY("m = Where(which, xd, vd)"),
    SDX_UNARY("m = Softmax<axis = -1>(xd)"),
    SDX_UNARY("m = Softmax<axis = 1>(xd)"),
    SDX_UNARY("m = AveragePool<kernel_shape = [2], pads = [1, 1]>(xd)"),
    SDX_UNARY("m = GlobalAveragePool(xd)"),
    SDX_UNARY("m = ReduceMean(xd, last)"),
    SDX_UNARY("m = Sigmoid(xd)"),
    SDX_UNARY("m = Pow(xd, c3)"),
    SDX_UNARY("a = Add(xd, c3) c = Clip(a, c0, c6) d = Mul(c, xd) m = Tanh(d)"),
    SDX_UNARY("m = LeakyRelu<alpha = 0.2>(xd)"),
    SDX_UNARY("e = HardSigmoid(xd) eq = QuantizeLinear(e, s, z) ed = DequantizeLinear(eq, s, z) m = Mul(xd, ed)"),
    SDX_UNARY("n = IsNaN(xd) m = Where(n, c0, xd)"),
    SDX_UNARY("m = Identity(xd)"),
    SDX_UNARY("m = Neg(xd)"),
    // What moves elements, between equal parameters and between others.
    SDX_SAME("m = Transpose<perm = [2, 0, 1]>(xd)"),
    SDX_SAME("m = Slice(xd, zero, one, last)"),
    SDX_SAME("m = Gather<axis = 1>(xd, picked)"),
    SDX_SAME("m = Pad(xd, pads)"),
    SDX_SAME("m = Tile(xd, repeats)"),
    SDX_SAME("m = Resize<mode = \"nearest\">(xd, , scales)"),
    SDX_SAME("m = MaxPool<kernel_shape = [2], pads = [1, 0]>(xd)"),
    SDX_SAME("m = Reshape(xd, shape)"),
    SDX_SAME("m = Unsqueeze(xd, one)"),
    SDX_SAME("m = Flatten<axis = 2>(xd)"),
    SDX_SAME("r = Relu(xd) m = Transpose<perm = [0, 2, 1]>(r)"),
    SDX_UNARY("m = Transpose<perm = [1, 0, 2]>(xd)"),
    SDX_UNARY("m = MaxPool<kernel_shape = [3], pads = [1, 1]>(xd)"),
    SDX_SAME("m = Expand(xd, shape3) shape3 = Shape(xd)"),
    // Moved in front of the first QuantizeLinear and behind the last DequantizeLinear.
    "g (float[b,$n,$m] x) => (float[p,q,r] y) <float s = {@s}, int8 z = {@i}> { a = Exp(x) t = Transpose<perm = [2, 1, "
    "0]>(a)"
    " q = QuantizeLinear(t, s, z) y = DequantizeLinear(q, s, z) }",
    "g (float[b,$n,$2m] x) => (float[p,q,r] y, float[p,q,r] u) <" SDX_PARAMETERS "> {" SDX_QX
    "a, c = Split<axis = 2, num_outputs = 2>(xd) y = Abs(a) u = Transpose(c) }",
    // Activations in front of QuantizeLinear that its limits make superfluous.
    "g (float[b,$n] x, float[$n,$m] w) => (float[b,$m] y) <float t = {@s}, uint8 k = {0}> {"
    "a = MatMul(x, w) m = Relu(a)" SDX_QY "}",
    "g (float[b,$n] x, float[b,$n] z) => (float[b,$n] y) <float t = {@s}, uint8 k = {@u}, float lo = {0}, float hi = "
    "{6}> {"
    "a = Add(x, z) m = Clip(a, lo, hi)" SDX_QY "}",
    // Convolutions: scales by channel or one, bias of integers, of floats or none, activation, residual sum.
    "g (float[b,$n,4,4] x, int8[$2m,$n,3,3] w, int32[$2m] wb) => (float[b,$2m,4,4] y) <" SDX_PARAMETERS
    ", float ws = {@s}> {" SDX_QX
    "one = Mul(s, ws) wd = DequantizeLinear(w, ws) bd = DequantizeLinear(wb, one)"
    " c = Conv<pads = [1, 1, 1, 1]>(xd, wd, bd) m = Relu(c)" SDX_QY "}",
    "g (float[b,2,4,4] x, int8[2,2,2,2] w) => (float[b,2,2,2] y) <" SDX_PARAMETERS
    ", float[2] ws = {@s, @s}, int8[2] wz = {0, 0}, float[2] fb = {0.031, -1.2}> {" SDX_QX
    "wd = DequantizeLinear<axis = 0>(w, ws, wz) m = Conv<strides = [2, 2]>(xd, wd, fb)" SDX_QY "}",
    "g (float[b,4,4,4] x, int8[4,1,3,3] w, float[b,4,4,4] v) => (float[b,4,4,4] y) <" SDX_PARAMETERS
    ", float ws = {@s}, int8 wz = {0}> {" SDX_QX SDX_QV
    "wd = DequantizeLinear(w, ws, wz)"
    " c = Conv<group = 4, pads = [1, 1, 1, 1]>(xd, wd) cq = QuantizeLinear(c, t, z) cd = DequantizeLinear(cq, t, z)"
    " m = Add(cd, vd)" SDX_QY "}",
    "g (float[1,8,6,6] x, int8[16,8,3,3] w, int8[16,16,1,1] w1) => (float[1,16,6,6] y) <" SDX_PARAMETERS
    ", float ws = {@s}> {" SDX_QX
    "wd = DequantizeLinear(w, ws) c = Conv<pads = [1, 1, 1, 1]>(xd, wd) a = Relu(c)"
    " aq = QuantizeLinear(a, t, k) ad = DequantizeLinear(aq, t, k) w1d = DequantizeLinear(w1, ws) d = Conv(ad, w1d)"
    " dq = QuantizeLinear(d, t, k) dd = DequantizeLinear(dq, t, k) m = Add(dd, ad)" SDX_QY "}",
    // Products: to integers, to floats, with bias; Gemm; weights transposed; both operands activations.
    "g (float[b,s0,$n] x, int8[$n,$m] w, float[$m] wb) => (float[b,s0,$m] y) <" SDX_PARAMETERS
    ", float ws = {@s}> {" SDX_QX "wd = DequantizeLinear(w, ws) p = MatMul(xd, wd) m = Add(p, wb)" SDX_QY "}",
    "g (float[b,s0,$n] x, int8[$n,$m] w, float[$m] wb) => (float[b,s0,$m] y) <" SDX_PARAMETERS
    ", float ws = {@s}, int8 wz = {@i}> {" SDX_QX
    "wd = DequantizeLinear(w, ws, wz) p = MatMul(xd, wd) y = Add(p, wb) }",
    "g (float[b,s0,$n] x, int8[$n,2] w) => (float[b,s0,2] y) <" SDX_PARAMETERS ", float[2] ws = {@s, @s}> {" SDX_QX
    "wd = DequantizeLinear<axis = 1>(w, ws) m = MatMul(xd, wd)" SDX_QY "}",
    "g (float[b,$n] x, int8[$m,$n] w, float[$m] wb) => (float[b,$m] y) <" SDX_PARAMETERS ", float ws = {@s}> {" SDX_QX
    "wd = DequantizeLinear(w, ws) m = Gemm<transB = 1>(xd, wd, wb)" SDX_QY "}",
    "g (float[b,$n] x, int8[$m,$n] w) => (float[b,$m] y) <" SDX_PARAMETERS ", float ws = {@s}> {" SDX_QX
    "wd = DequantizeLinear(w, ws) wt = Transpose(wd) p = MatMul(xd, wt) y = Gelu(p) }",
    "g (float[b,$n,$m] x, float[b,$m,$l] v) => (float[b,$n,$l] y) <" SDX_PARAMETERS "> {" SDX_QX SDX_QV
    "m = MatMul(xd, vd)" SDX_QY "}",
    // Weights of 4 bits, of blocks, and embeddings of 8 bits.
    "g (float[b,8] x, int8[8,$m] w) => (float[b,$m] y) <float s = {@s}> {"
    "sh = Shape(w) o = ConstantOfShape<value = float[1] {0.05}>(h) h = Div(sh, f) f = Constant<value_ints = [4, 1]>()"
    " wd = DequantizeLinear<axis = 0, block_size = 4>(w, o) y = MatMul(x, wd) }",
    "g (int64[b,s0] i, uint8[4,$m] w) => (float[b,s0,$m] y) <float s = {@s}, uint8 z = {@u}> {"
    "wd = DequantizeLinear(w, s, z) e = Gather(wd, i) y = Neg(e) }",
    // Quantized in the run.
    "g (float[b,$n] x, int8[$n,$m] w, float[$m] wb) => (float[b,$m] y) <float ws = {@s}, int8 wz = {0}> {"
    "q, qs, qz = DynamicQuantizeLinear(x) p = MatMulInteger(q, w, qz, wz) f = Cast<to = 1>(p) ss = Mul(qs, ws) a = "
    "Mul(f, ss)"
    " y = Add(a, wb) }",
    "g (float[b,s0,$n] x, int8[$n,$m] w, int8[$n,$m] w1) => (float[b,s0,$m] y, float[b,s0,$m] u) <float ws = {@s}> {"
    "q, qs, qz = DynamicQuantizeLinear(x) p = MatMulInteger(q, w, qz) f = Cast<to = 1>(p) ss = Mul(ws, qs) y = Mul(ss, "
    "f)"
    " p1 = MatMulInteger(q, w1, qz) f1 = Cast<to = 1>(p1) u = Mul(f1, ss) }",
    "g (float[b,$n,4,4] x, int8[$m,$n,3,3] w) => (float[b,$m,2,2] y) <float ws = {@s}, int8 wz = {0}> {"
    "q, qs, qz = DynamicQuantizeLinear(x) p = ConvInteger(q, w, qz, wz) f = Cast<to = 1>(p) ss = Mul(qs, ws) y = "
    "Mul(f, ss) }",
    // GELU, normalization and attention with quantized products around.
    "g (float[b,s0,$n] x, int8[$n,$m] w, float[$n] wg) => (float[b,s0,$m] y) <" SDX_PARAMETERS
    ", float ws = {@s}, float root = {1.4142135}, float half = {0.5}, float one = {1}> {"
    "x0 = LayerNormalization(x, wg) xq = QuantizeLinear(x0, s, z) xd = DequantizeLinear(xq, s, z) wd = "
    "DequantizeLinear(w, ws)"
    " p = MatMul(xd, wd) pq = QuantizeLinear(p, t, k) pd = DequantizeLinear(pq, t, k) d = Div(pd, root) e = Erf(d) a = "
    "Add(e, one)"
    " g0 = Mul(pd, a) m = Mul(g0, half)" SDX_QY "}",
};

#undef SDX_QX
#undef SDX_QV
#undef SDX_QY
#undef SDX_PARAMETERS
#undef SDX_UNARY
#undef SDX_SAME
#undef SDX_BINARY

}  // namespace

std::span<const char* const> QuantizedSnippets() { return kSnippets; }

}  // namespace sardonyx::fuzz
