// tests/fuzz/float_snippets.cpp - normalizations, convolutions, products, views and shape computations of float models.
#include "fuzz/snippets.h"

namespace sardonyx::fuzz {
namespace {

constexpr const char* kSnippets[] = {
    // Residual sums in front of normalizations, with the sum read again, a bias, and RMS.
    R"(g (float[b,s,$n] x, float[b,s,$n] z, float[$n] wg, float[$n] wb) => (float[b,s,$n] y, float[b,s,$n] u) {
      a = Add(x, z) y = LayerNormalization(a, wg, wb) u = Add(a, y) })",
    R"(g (float[b,s,$n] x, float[b,s,$m] z, float[$m,$n] w, float[$n] w0, float[$n] wg) => (float[b,s,$n] y) {
      p = MatMul(z, w) q = Add(p, w0) a = Add(q, x) y = LayerNormalization(a, wg) })",
    R"(g (float[b,s,$n] x, float[b,s,$n] z, float[$n] wg) => (float[b,s,$n] y, float[b,s,$n] a)
      <float eps = {1e-5}, float two = {2}, int64[1] last = {-1}> {
      a = Add(x, z) s2 = Pow(a, two) v = ReduceMean(s2, last) e = Add(v, eps) r = Sqrt(e) d = Reciprocal(r)
      c = Mul(a, d) y = Mul(wg, c) })",
    R"(g (float[b,s,$n] x, float[b,s,$n] z, float[b,s,$n] t, float[$n] wg) => (float[b,s,$n] y) {
      a = Add(x, z) c = Add(a, t) y = RMSNormalization(c, wg) })",
    // Spelled out over two axes, with a cube of constants as scale.
    R"(g (float[b,$n,$m] x, float[$n,$m] wg, float[$n,$m] wb) => (float[b,$n,$m] y)
      <float eps = {1e-6}, float half = {0.5}, int64[2] axes = {1, 2}> {
      m = ReduceMean(x, axes) d = Sub(x, m) s = Mul(d, d) v = ReduceMean(s, axes) e = Add(eps, v) r = Pow(e, half)
      c = Div(d, r) g1 = Mul(c, wg) y = Add(wb, g1) })",
    // Two differences, as TensorFlow writes it; 1 / Sqrt.
    R"(g (float[b,s,$n] x, float[$n] wg, float[$n] wb) => (float[b,s,$n] y)
      <float eps = {1e-3}, float one = {1}, int64[1] axes = {2}> {
      m = ReduceMean(x, axes) d = Sub(x, m) d2 = Sub(x, m) s = Mul(d, d2) v = ReduceMean(s, axes) e = Add(v, eps)
      r = Sqrt(e) i = Div(one, r) c = Mul(i, d) g1 = Mul(c, wg) y = Add(g1, wb) })",
    // In float16 around float.
    R"(g (float16[b,s,$n] x, float16[$n] wg) => (float16[b,s,$n] y) <float eps = {1e-5}, float two = {2}, int64[1] last = {-1}> {
      f = Cast<to = 1>(x) q = Pow(f, two) v = ReduceMean(q, last) e = Add(v, eps) r = Sqrt(e) c = Div(f, r)
      h = Cast<to = 10>(c) y = Mul(h, wg) })",
    // Chains of float16.
    R"(g (float16[b,$n] x, float16[$n,$m] w, float16[$m] wb) => (float16[b,$m] y) {
      a = MatMul(x, w) c = Add(a, wb) d = Sigmoid(c) e = Mul(c, d) y = Softmax(e) })",
    R"(g (float[b,$n] x, float16[$n,$n] w) => (float[b,$n] y) {
      h = Cast<to = 10>(x) a = MatMul(h, w) t = Transpose<perm = [1, 0]>(a) r = Relu(t) u = Transpose<perm = [1, 0]>(r)
      c = Add(u, h) y = Cast<to = 1>(c) })",
    R"(g (float16[b,3,$k,$k] x, float16[4,3,1,1] w, float16[4] wb) => (float16[b,4] y) {
      c = Conv(x, w, wb) r = Relu(c) p = GlobalAveragePool(r) y = Flatten(p) })",
    // Groups: InstanceNormalization between views.
    R"(g (float[b,$2n,$k,$m] x, float[$2n,1,1] w, float[$2n,1,1] wb) => (float[b,$2n,$k,$m] y)
      <int64[3] groups = {0, $n, -1}, int64[4] back = {0, $2n, $k, $m}, float one = {1}, int64[1] size = {$n}> {
      ones = Expand(one, size) zeros = Sub(ones, ones) a = Reshape(x, groups) c = InstanceNormalization(a, ones, zeros)
      d = Reshape(c, back) e = Mul(d, w) y = Add(wb, e) })",
    // Products with a BatchNormalization behind.
    R"(g (float[b,$n] x, float[$n,$m] w, float[$m] w0, float[$m] ws, float[$m] wm) => (float[b,$m] y)
      <float one = {1}> { v0 = Mul(ws, ws) v = Add(v0, one) p = MatMul(x, w) q = Add(p, w0)
      y = BatchNormalization(q, ws, w0, wm, v) })",
    R"(g (float[b,$n] x, float[$m,$n] w, float[$m] w0, float[$m] ws) => (float[b,$m] y) <float one = {1}> {
      v0 = Mul(ws, ws) v = Add(v0, one) p = Gemm<transB = 1>(x, w, w0) y = BatchNormalization<epsilon = 0.01>(p, ws, w0, ws, v) })",
    // A BatchNormalization alone, and with an activation.
    R"(g (float[b,$n,$k] x, float[$n] w, float[$n] wb, float[$n] wm) => (float[b,$n,$k] y) <float one = {1}> {
      v0 = Abs(wm) v = Add(v0, one) a = BatchNormalization(x, w, wb, wm, v) y = Relu(a) })",
    // Convolutions: BatchNormalization, factors and summands, activations, residual sums, depthwise, transposed.
    R"(g (float[b,$2n,6,6] x, float[$4n,$2n,3,3] w, float[$4n] ws, float[$4n] wb, float[$4n,$4n,1,1] w1)
        => (float[b,$4n,3,3] y) <float one = {1}, float zero = {0}, float six = {6}> {
      v0 = Mul(ws, ws) v = Add(v0, one) a = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w)
      n = BatchNormalization(a, ws, wb, ws, v) r = Clip(n, zero, six) c = Conv(r, w1) d = Add(c, r) y = Relu(d) })",
    R"(g (float[b,$2n,5,7] x, float[$2n,1,3,3] w, float[$2n] wb, float[$2n,1,1] wf, float[1,$2n,1,1] wg)
        => (float[b,$2n,5,7] y) {
      a = Conv<group = $2n, pads = [1, 1, 1, 1]>(x, w, wb) c = Mul(a, wf) d = Add(c, wg) y = HardSwish(d) })",
    R"(g (float[b,$n,3,3] x, float[$n,$2m,2,2] w, float[$2m,1,1] wf, float[$2m] wb) => (float[b,$2m,6,6] y) {
      a = ConvTranspose<strides = [2, 2]>(x, w, wb) c = Div(a, wf) y = LeakyRelu<alpha = 0.1>(c) })",
    R"(g (float[b,$n,9] x, float[$n,$n,3] w, float[$n,$n,3] w1, float[$n,1] wf) => (float[b,$n,9] y) {
      a = Conv<dilations = [2], pads = [2, 2]>(x, w) e = Elu(a) c = Conv<pads = [1, 1]>(e, w1) d = Sub(c, wf) y = Add(x, d) })",
    // Squeeze and excitation.
    R"(g (float[b,$2n,4,4] x, float[$2n,$2n,3,3] w, float[$n,$2n,1,1] w1, float[$2n,$n,1,1] w2, float[$n] wb)
        => (float[b,$2n,4,4] y) {
      a0 = Conv<pads = [1, 1, 1, 1]>(x, w) a = Swish(a0) p = GlobalAveragePool(a) c = Conv(p, w1, wb) r = Relu(c) d = Conv(r, w2)
      s = HardSigmoid(d) m = Mul(a, s) y = Add(m, x) })",
    // Wide enough for the layout with channels last; what moves between both layouts.
    R"(g (float[1,$8n,8,8] x, float[$8n,$8n,3,3] w, float[$8n,$8n,1,1] w1, float[$8n] wb) => (float[1,$8n,4,4] y)
      <float[4] scales = {1, 1, 2, 2}> {
      a = Conv<pads = [1, 1, 1, 1]>(x, w, wb) r = Relu(a) c = Conv(r, w1) p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c)
      q = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(r) s = Add(p, q) u = Resize<mode = "nearest">(s, , scales)
      d = Conv<strides = [2, 2]>(u, w1) e = Sigmoid(d) y = Mul(d, e) })",
    R"(g (float[1,6,6,16] x, float[16,16,3,3] w, float[32,16,1,1] w1) => (float[1,36,32] y)
      <int64[3] rows = {1, 32, 36}> {
      t = Transpose<perm = [0, 3, 1, 2]>(x) a = Conv<pads = [1, 1, 1, 1]>(t, w) r = Relu(a) c = Conv(r, w1)
      f = Reshape(c, rows) y = Transpose<perm = [0, 2, 1]>(f) })",
    R"(g (float[1,16,6,6] x, float[16,16,3,3] w, float[16,16,1,1] w1) => (float[1,48,6,6] y, float[1,16] z)
      <int64[2] halves = {8, 8}, int64[2] hw = {2, 3}> {
      a = Conv<pads = [1, 1, 1, 1]>(x, w) l, h = Split<axis = 1>(a, halves) j = Concat<axis = 1>(h, l) c = Conv(j, w1)
      y = Concat<axis = 1>(a, c, x) z = ReduceMean<keepdims = 0>(c, hw) })",
    // Pads in front of convolutions and pools.
    R"(g (float[b,$n,4,5] x, float[$m,$n,3,3] w) => (float[b,$m,4,5] y)
      <int64[8] p = {0, 0, 1, 0, 0, 0, 1, 2}> { a = Pad(x, p) y = Conv(a, w) })",
    R"(g (float[b,$n,4,5] x) => (float[b,$n,u,v] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float low = {-inf}> {
      r = Relu(x) a = Pad(r, p, low) y = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(a) })",
    R"(g (float[b,$n,6] x) => (float[b,$n,u] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> {
      a = Pad(x, p) y = AveragePool<kernel_shape = [2], strides = [2], count_include_pad = 1>(a) })",
    // Transposed factors, factors of scale, activations behind products.
    R"(g (float[b,$n,$k] x, float[b,$m,$k] z) => (float[b,$n,$m] y) <float s = {0.5}> {
      t = Transpose<perm = [0, 2, 1]>(z) u = Mul(x, s) p = MatMul(u, t) y = Mul(p, s) })",
    R"(g (float[$k,$n] x, float[$m,$k] z, float[$m] w) => (float[$n,$m] y) {
      t = Transpose<perm = [1, 0]>(x) u = Transpose<perm = [1, 0]>(z) p = Gemm(t, u, w) y = Tanh(p) })",
    R"(g (float[b,s,$n] x, float[$n,$4n] w, float[$4n] wb, float[$4n,$n] w1, float[$n] wc) => (float[b,s,$n] y) {
      a = MatMul(x, w) c = Add(wb, a) d = Gelu(c) e = MatMul(d, w1) f = Add(e, wc) y = Add(f, x) })",
    R"(g (float[b,s,$n] x, float[$n,$m] w, float[$n,$m] w1, float[$m,$n] w2) => (float[b,s,$n] y) {
      a = MatMul(x, w) u = MatMul(x, w1) e = Sigmoid(a) d = Mul(a, e) f = Mul(d, u) g0 = MatMul(f, w2) y = Add(x, g0) })",
    R"(g (float[$m,$n] x, float[$n,$k] w, float[$k] wb, float[$m,$k] z) => (float[$m,$k] y) {
      a = MatMul(x, w) c = Add(a, wb) d = Add(c, z) y = HardSigmoid<alpha = 0.25>(d) })",
    // Views: around products, of shapes, chains that cancel.
    R"(g (float[b,s,$n] x, float[$n,$n] w, float[$n] wb) => (float[s,b,$n] y) {
      t = Transpose<perm = [1, 0, 2]>(x) a = MatMul(t, w) c = Add(a, wb) u = Transpose<perm = [1, 0, 2]>(c)
      d = Relu(u) y = Transpose<perm = [1, 0, 2]>(d) })",
    R"(g (float[b,$2n,$k] x, float[$k,$m] w) => (float[b,$n,$m] y) <int64[1] zero = {0}, int64[1] end = {$n}, int64[1] one = {1}> {
      a = MatMul(x, w) c = Sigmoid(a) y = Slice(c, zero, end, one) })",
    R"(g (float[b,s,$hd] x, float[$hd,$2d] w) => (float[u,$2d] y) <int64[2] rows = {-1, $hd}, int64[3] three = {-1, $h, $d},
        int64[3] flat = {-1, 1, $hd}> {
      a = Reshape(x, three) c = Reshape(a, flat) d = Reshape(c, rows) y = MatMul(d, w) })",
    R"(g (float[b,$n,$m,$k] x) => (float[b,u] y) <int64[1] one = {1}, int64[1] two = {2}> {
      t = Transpose<perm = [0, 2, 3, 1]>(x) u = Unsqueeze(t, one) v = Squeeze(u, one) w = Transpose<perm = [0, 3, 1, 2]>(v)
      f = Flatten(w) g0 = Unsqueeze(f, two) y = Squeeze(g0, two) })",
    R"(g (float[b,s,$n] x) => (float[b,s,$n] y) {
      a = Shape<start = 0, end = 1>(x) c = Shape<start = 1, end = 2>(x) d = Concat<axis = 0>(a, c, e) f = Shape(x) e0 = Mul(c, a)
      e1 = Concat<axis = 0>(e0, e) r = Reshape(x, e1) t = Neg(r) y = Reshape(t, d) e = Slice(f, i2, i3) i2 = Cast<to = 7>(j2)
      i3 = Cast<to = 7>(j3) j2 = Constant<value_ints = [2]>() j3 = Constant<value_ints = [3]>() })",
    R"(g (float[b,s,$n] x) => (float[b,s,$n] y) <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] first = {0}> {
      f = Shape(x) a = Gather(f, zero) c = Gather(f, one) d = Gather(f, two) e = Mul(a, c) e1 = Unsqueeze(e, first)
      d1 = Unsqueeze(d, first) t = Concat<axis = 0>(e1, d1) r = Reshape(x, t) s0 = Softmax(r) a1 = Unsqueeze(a, first)
      c1 = Unsqueeze(c, first) t1 = Concat<axis = 0>(a1, c1, d1) y = Reshape(s0, t1) })",
    R"(g (float[b,s] x) => (float[b,s] y) <int64 zero = {0}, int64 one = {1}> {
      f = Shape(x) n = Gather(f, one) r = Range(zero, n, one) g0 = Cast<to = 1>(r) e = Expand(g0, f) y = Add(x, e) })",
    // Slices of slices, parts put together, all parts of a whole.
    R"(g (float[b,$8n] x) => (float[b,$4n] y, float[b,$4n] z) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] half = {$4n},
        int64[1] all = {$8n}, int64[1] two = {2}, int64[1] quarter = {$2n}> {
      l = Slice(x, zero, half, one) h = Slice(x, half, all, one) q = Slice(h, zero, quarter, one) r = Slice(h, quarter, half, one)
      c = Concat<axis = 1>(q, r) y = Add(l, c) k = Slice(x, one, all, one, two) k0 = Slice(x, zero, all, one, two)
      z = Sub(k, k0) })",
    R"(g (float[b,$3n] x) => (float[b,$3n] y) <int64[3] parts = {$n, $n, $n}> {
      p, q, r = Split<axis = 1>(x, parts) c = Concat<axis = 1>(p, q) y = Concat<axis = 1>(c, r) })",
    R"(g (float[b,$n,$m] x) => (float[b,$m] y, float[b,$m] z) <int64 zero = {0}, int64 one = {-1}> {
      y = Gather<axis = 1>(x, zero) z = Gather<axis = 1>(x, one) })",
    // Chains of elementwise operators that read one another, with values that broadcast.
    R"(g (float[b,$n,$m] x, float[b,1,$m] z, float[$m] w) => (float[b,$n,$m] y, float[b,$n,$m] u) {
      a = Neg(x) c = Exp(a) d = Add(c, z) e = Mul(d, w) f = Tanh(e) h = Max(f, x) y = Sub(h, a) u = Sqrt(c) })",
    R"(g (float[b,$n] x) => (float[b,$n] y) <float lo = {-1}, float hi = {1}, float three = {3}, float six = {6}, float zero = {0}> {
      a = Clip(x, lo, hi) s = Add(a, three) c = Clip(s, zero, six) d = Div(c, six) e = Mul(a, d) f = Less(e, x)
      y = Where(f, e, x) })",
    // Equal nodes, also over constants that are equal only.
    R"(g (float[b,$n] x) => (float[b,$n] y) <float one = {1}, float eins = {1}> {
      a = Add(x, one) c = Add(eins, x) d = Sigmoid(a) e = Sigmoid(c) f = Mul(d, e) y = Dropout(f) })",
    // Distances between points.
    R"(g (float[s,3] a, float[t,3] c) => (float[t,s] y) { same, y = Scan<num_scan_inputs = 1, body = each
      (float[S,3] p, float[3] q) => (float[S,3] kept, float[S] out) <int64[1] axes = {1}> { kept = Identity(p)
      d = Sub(p, q) out = ReduceSumSquare<keepdims = 0>(d, axes) }>(a, c) })",
    R"(g (float[s,4] a, float[t,4] c) => (float[t,s] y) { same, z = Scan<num_scan_inputs = 1, body = each
      (float[S,4] p, float[4] q) => (float[S,4] kept, float[S] out) <int64[1] axes = {1}> { kept = Identity(p)
      d = Sub(p, q) out = ReduceSumSquare<keepdims = 0>(d, axes) }>(a, c) y = Sqrt(z) })",
    // Products and rearrangements as equations.
    R"(g (float[b,s,$n] x, float[$n,$hd] w, float[b,s,$hd] z) => (float[b,s,s] y) {
      a = Einsum<equation = "bsn,nk->bsk">(x, w) c = Add(a, z) y = Einsum<equation = "bik,bjk->bij">(c, a) })",
    R"(g (float[b,$h,s,$d] x, float[b,$h,t,$d] z) => (float[s,b,t] y) {
      a = Einsum<equation = "bhsd,bhtd->bhst">(x, z) p = Softmax(a) c = Einsum<equation = "bhst->bst">(p)
      d = Einsum<equation = "bst->sbt">(c) y = Relu(d) })",
    R"(g (float[b,$n] x, float[b,$m] z) => (float[b] y) {
      a = Einsum<equation = "bi,bj->bij">(x, z) c = Einsum<equation = "bij,bij->b">(a, a) y = Sqrt(c) })",
    // Reductions and scalars around views.
    R"(g (float[b,s,$n] x) => (float[b,$n] y) <int64[1] one = {1}, float ten = {0.125}> {
      a = ReduceSum(x, one) c = Mul(a, ten) d = Squeeze(c, one) e = Div(x, a) f = ReduceMax<keepdims = 0>(e, one)
      y = Add(d, f) })",
};

}  // namespace

std::span<const char* const> FloatSnippets() { return kSnippets; }

}  // namespace sardonyx::fuzz
