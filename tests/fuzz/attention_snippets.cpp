// tests/fuzz/attention_snippets.cpp - attention, rotary embeddings and embeddings as exporters write them.
#include "fuzz/snippets.h"

namespace sardonyx::fuzz {
namespace {

constexpr const char* kSnippets[] = {
    // BERT: projections with bias, a scale by division, an added mask.
    R"(g (float[b,s,$n] x, float[$n,$hd] wq, float[$n,$hd] wk, float[$n,$hd] wv, float[$hd] wa, float[$hd] wb,
          float[b,1,1,s] m) => (float[b,s,$hd] y)
      <int64[4] heads = {0, 0, $h, $d}, int64[3] whole = {0, 0, $hd}, float root = {2}> {
      q0 = MatMul(x, wq) q1 = Add(q0, wa) q2 = Reshape(q1, heads) q = Transpose<perm = [0, 2, 1, 3]>(q2)
      k0 = MatMul(x, wk) k1 = Add(wb, k0) k2 = Reshape(k1, heads) k = Transpose<perm = [0, 2, 3, 1]>(k2)
      v0 = MatMul(x, wv) v2 = Reshape(v0, heads) v = Transpose<perm = [0, 2, 1, 3]>(v2)
      a = MatMul(q, k) c = Div(a, root) e = Add(c, m) p = Softmax<axis = -1>(e)
      o = MatMul(p, v) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) })",
    // ViT: the root of the scale on queries and keys, no mask, the residual sum behind the projection.
    R"(g (float[b,s,$hd] x, float[$hd,$hd] wq, float[$hd,$hd] wk, float[$hd,$hd] wv, float[$hd,$hd] wo)
        => (float[b,s,$hd] y)
      <int64[4] heads = {0, 0, $h, $d}, int64[3] whole = {0, 0, $hd}, float root = {0.75}> {
      q0 = MatMul(x, wq) q1 = Reshape(q0, heads) q2 = Transpose<perm = [0, 2, 1, 3]>(q1) q = Mul(q2, root)
      k0 = MatMul(x, wk) k1 = Reshape(k0, heads) k2 = Transpose<perm = [0, 2, 1, 3]>(k1)
      k3 = Transpose<perm = [0, 1, 3, 2]>(k2) k = Mul(k3, root)
      v0 = MatMul(x, wv) v1 = Reshape(v0, heads) v = Transpose<perm = [0, 2, 1, 3]>(v1)
      a = MatMul(q, k) p = Softmax(a) o = MatMul(p, v) o1 = Transpose<perm = [0, 2, 1, 3]>(o) o2 = Reshape(o1, whole)
      o3 = MatMul(o2, wo) y = Add(x, o3) })",
    // GPT-2: one product for queries, keys and values, a causal mask by Where.
    R"(g (float[b,3,$n] x, float[$n,$3hd] w, float[$3hd] wb) => (float[b,3,$hd] y)
      <int64[3] parts = {$hd, $hd, $hd}, int64[4] heads = {0, 0, $h, $d}, int64[3] whole = {0, 0, $hd},
       bool[1,1,3,3] causal = {1, 0, 0, 1, 1, 0, 1, 1, 1}, float low = {-3.4028235e38}, float root = {1.5}> {
      all0 = MatMul(x, w) all = Add(all0, wb) q0, k0, v0 = Split<axis = 2>(all, parts)
      q1 = Reshape(q0, heads) q = Transpose<perm = [0, 2, 1, 3]>(q1)
      k1 = Reshape(k0, heads) k2 = Transpose<perm = [0, 2, 1, 3]>(k1) k = Transpose<perm = [0, 1, 3, 2]>(k2)
      v1 = Reshape(v0, heads) v = Transpose<perm = [0, 2, 1, 3]>(v1)
      a0 = MatMul(q, k) a1 = Div(a0, root) a2 = Where(causal, a1, low) p = Softmax<axis = 3>(a2)
      o = MatMul(p, v) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) })",
    // CLIP: batch and heads joined in one axis.
    R"(g (float[2,3,$hd] x, float[$hd,$hd] wq, float[$hd,$hd] wk, float[$hd,$hd] wv, float[2,1,3,3] m)
        => (float[2,3,$hd] y)
      <int64[4] heads = {2, 3, $h, $d}, int64[3] joined = {$2h, 3, $d}, int64[4] apart = {2, $h, 3, 3},
       int64[3] rows = {$2h, 3, 3}, int64[4] back = {2, $h, 3, $d}, int64[3] whole = {2, 3, $hd}, float s = {0.4}> {
      q0 = MatMul(x, wq) q1 = Mul(q0, s) q2 = Reshape(q1, heads) q3 = Transpose<perm = [0, 2, 1, 3]>(q2)
      q = Reshape(q3, joined)
      k0 = MatMul(x, wk) k1 = Reshape(k0, heads) k2 = Transpose<perm = [0, 2, 1, 3]>(k1) k3 = Reshape(k2, joined)
      k = Transpose<perm = [0, 2, 1]>(k3)
      v0 = MatMul(x, wv) v1 = Reshape(v0, heads) v2 = Transpose<perm = [0, 2, 1, 3]>(v1) v = Reshape(v2, joined)
      a = MatMul(q, k) a4 = Reshape(a, apart) b4 = Add(a4, m) b3 = Reshape(b4, rows) p = Softmax(b3)
      o = MatMul(p, v) o4 = Reshape(o, back) o1 = Transpose<perm = [0, 2, 1, 3]>(o4) y = Reshape(o1, whole) })",
    // Swin: five axes, parts by Gather, a bias of positions and a mask of windows.
    R"(g (float[$2b,4,$n] x, float[$n,$3hd] w, float[1,$h,4,4] wp, float[2,4,4] m) => (float[$2b,4,$hd] y)
      <int64[5] five = {$2b, 4, 3, $h, $d}, int64 zero = {0}, int64 one = {1}, int64 two = {2}, float s = {0.6},
       int64[5] windows = {$b, 2, $h, 4, 4}, int64[2] outer = {0, 2}, int64[4] back = {-1, $h, 4, 4},
       int64[3] whole = {$2b, 4, $hd}> {
      all0 = MatMul(x, w) all1 = Reshape(all0, five) all = Transpose<perm = [2, 0, 3, 1, 4]>(all1)
      q0 = Gather<axis = 0>(all, zero) k0 = Gather<axis = 0>(all, one) v = Gather<axis = 0>(all, two)
      q = Mul(q0, s) k = Transpose<perm = [0, 1, 3, 2]>(k0) a0 = MatMul(q, k) a1 = Add(a0, wp)
      a2 = Reshape(a1, windows) m1 = Unsqueeze(m, outer) a3 = Add(a2, m1) a4 = Reshape(a3, back) p = Softmax(a4)
      o = MatMul(p, v) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) })",
    // T5: no scale, a bias of positions, cross attention to another sequence.
    R"(g (float[b,s,$n] x, float[b,t,$n] z, float[$n,$hd] wq, float[$n,$hd] wk, float[$n,$hd] wv, float[1,$h,s,t] p0)
        => (float[b,s,$hd] y) <int64[4] heads = {0, -1, $h, $d}, int64[3] whole = {0, -1, $hd}> {
      q0 = MatMul(x, wq) q1 = Reshape(q0, heads) q = Transpose<perm = [0, 2, 1, 3]>(q1)
      k0 = MatMul(z, wk) k1 = Reshape(k0, heads) k2 = Transpose<perm = [0, 2, 1, 3]>(k1)
      k = Transpose<perm = [0, 1, 3, 2]>(k2)
      v0 = MatMul(z, wv) v1 = Reshape(v0, heads) v = Transpose<perm = [0, 2, 1, 3]>(v1)
      a0 = MatMul(q, k) a1 = Add(a0, p0) p = Softmax(a1) o = MatMul(p, v)
      o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) })",
    // Llama: rotated queries and keys, fewer heads of keys and values.
    R"(g (float[b,s,$n] x, float[b,s,$d] f, float[$n,$4hd] wq, float[$n,$2hd] wk, float[$n,$2hd] wv, float[b,1,s,s] m)
        => (float[b,s,$4hd] y)
      <int64[4] many = {0, 0, $2h, $2d}, int64[4] few = {0, 0, $h, $2d}, int64[1] one = {1}, int64[1] two = {2},
       int64[1] zero = {0}, int64[1] half = {$d}, int64[1] end = {9223372036854775807}, int64[1] last = {3},
       int64[5] groups = {1, 1, 2, 1, 1}, int64[4] joined = {0, $2h, -1, $2d}, int64[3] whole = {0, 0, $4hd},
       float scale = {0.7}> {
      c = Concat<axis = -1>(f, f) co = Cos(c) si = Sin(c) cos = Unsqueeze(co, one) sin = Unsqueeze(si, one)
      q0 = MatMul(x, wq) q1 = Reshape(q0, many) q2 = Transpose<perm = [0, 2, 1, 3]>(q1)
      ql = Slice(q2, zero, half, last) qh = Slice(q2, half, end, last) qn = Neg(qh) qr = Concat<axis = -1>(qn, ql)
      qa = Mul(q2, cos) qt = Mul(qr, sin) q = Add(qa, qt)
      k0 = MatMul(x, wk) k1 = Reshape(k0, few) k2 = Transpose<perm = [0, 2, 1, 3]>(k1)
      kl = Slice(k2, zero, half, last) kh = Slice(k2, half, end, last) kn = Neg(kh) kr = Concat<axis = 3>(kn, kl)
      ka = Mul(k2, cos) kt = Mul(kr, sin) k3 = Add(ka, kt)
      k4 = Unsqueeze(k3, two) k5 = Expand(k4, groups) k6 = Reshape(k5, joined) k = Transpose<perm = [0, 1, 3, 2]>(k6)
      v0 = MatMul(x, wv) v1 = Reshape(v0, few) v2 = Transpose<perm = [0, 2, 1, 3]>(v1)
      v4 = Unsqueeze(v2, two) v5 = Expand(v4, groups) v = Reshape(v5, joined)
      a0 = MatMul(q, k) a1 = Mul(a0, scale) a2 = Add(a1, m) p = Softmax(a2) o = MatMul(p, v)
      o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) })",
    // Whisper: a cache of keys and values in front of the new ones.
    R"(g (float[b,s,$n] x, float[b,$h,p,$d] pk, float[b,$h,p,$d] pv, float[$n,$hd] wq, float[$n,$hd] wk,
          float[$n,$hd] wv) => (float[b,s,$hd] y, float[b,$h,t,$d] nk, float[b,$h,t,$d] nv)
      <int64[4] heads = {0, 0, $h, $d}, int64[3] whole = {0, 0, $hd}, float scale = {0.3}> {
      q0 = MatMul(x, wq) q1 = Mul(scale, q0) q2 = Reshape(q1, heads) q = Transpose<perm = [0, 2, 1, 3]>(q2)
      k0 = MatMul(x, wk) k1 = Reshape(k0, heads) k2 = Transpose<perm = [0, 2, 1, 3]>(k1) nk = Concat<axis = 2>(pk, k2)
      v0 = MatMul(x, wv) v1 = Reshape(v0, heads) v2 = Transpose<perm = [0, 2, 1, 3]>(v1) nv = Concat<axis = -2>(pv, v2)
      k = Transpose<perm = [0, 1, 3, 2]>(nk) a = MatMul(q, k) pr = Softmax(a)
      o = MatMul(pr, nv) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) })",
    // DeBERTa: what is masked is filled in before Softmax and set to zero behind it.
    R"(g (float[b,$h,s,$d] q, float[b,$h,t,$d] k0, float[b,$h,t,$d] v, bool[b,1,s,t] n) => (float[b,$h,s,$d] y)
      <float low = {-3.4028235e38}, float zero = {0}, float s = {0.5}> {
      k = Transpose<perm = [0, 1, 3, 2]>(k0) a0 = MatMul(q, k) a = Mul(a0, s) c = Where(n, low, a) p0 = Softmax(c)
      p = Where(n, zero, p0) y = MatMul(p, v) })",
    // PyTorch's scaled_dot_product_attention: guarded against NaN; the mask is made from a boolean one.
    R"(g (float[b,$h,s,$d] q, float[b,$h,t,$d] k0, float[b,$h,t,$d] v, bool[b,1,s,t] n) => (float[b,$h,s,$d] y)
      <float low = {-inf}, float zero = {0}, float root = {0.8}> {
      bias = Where(n, zero, low) q1 = Mul(q, root) kt = Transpose<perm = [0, 1, 3, 2]>(k0) k = Mul(kt, root)
      a0 = MatMul(q1, k) a = Add(a0, bias) p0 = Softmax<axis = -1>(a) e = IsNaN(p0) p = Where(e, zero, p0)
      y = MatMul(p, v) })",
    // A mask of 0 and 1 made into one to add, as old BERT exports have it.
    R"(g (float[b,$h,s,$d] q, float[b,$h,t,$d] k0, float[b,$h,t,$d] v, int64[b,t] i) => (float[b,$h,s,$d] y)
      <int64[2] axes = {1, 2}, float one = {1}, float low = {-10000}, float s = {0.5}> {
      i4 = Unsqueeze(i, axes) f = Cast<to = 1>(i4) r = Sub(one, f) m = Mul(r, low)
      k = Transpose<perm = [0, 1, 3, 2]>(k0) a0 = MatMul(q, k) a1 = Mul(a0, s) a = Add(a1, m) p = Softmax(a)
      y = MatMul(p, v) })",
    // Attention along one head only, and with the scale behind the mask.
    R"(g (float[s,$d] q, float[t,$d] k0, float[t,$n] v, float[s,t] m) => (float[s,$n] y) <float s0 = {0.25}> {
      k = Transpose<perm = [1, 0]>(k0) a0 = MatMul(q, k) a1 = Add(a0, m) a = Mul(a1, s0) p = Softmax(a)
      y = MatMul(p, v) })",
    // A rotation alone, halves by Split.
    R"(g (float[b,$h,s,$2d] q, float[b,s,$d] f) => (float[b,$h,s,$2d] y) <int64[1] one = {1}, int64[2] halves = {$d, $d}> {
      c = Concat<axis = -1>(f, f) co = Cos(c) si = Sin(c) cos = Unsqueeze(co, one) sin = Unsqueeze(si, one)
      l, h = Split<axis = -1>(q, halves) n = Neg(h) r = Concat<axis = 3>(n, l)
      a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t) })",
    // A rotation of a projection, with a factor on the angles' functions.
    R"(g (float[b,s,$n] x, float[b,s,$d] f, float[$n,$2hd] w) => (float[b,$h,s,$2d] y)
      <int64[4] heads = {0, 0, $h, $2d}, int64[1] one = {1}, int64[2] halves = {$d, $d}, float k = {1.25}> {
      c = Concat<axis = 2>(f, f) co = Cos(c) si = Sin(c) co1 = Mul(co, k) si1 = Mul(k, si)
      cos = Unsqueeze(co1, one) sin = Unsqueeze(si1, one)
      q0 = MatMul(x, w) q1 = Reshape(q0, heads) q = Transpose<perm = [0, 2, 1, 3]>(q1)
      l, h = Split<axis = -1>(q, halves) n = Neg(h) r = Concat<axis = -1>(n, l)
      a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t) })",
    // Embeddings of tokens, segments and positions, normalized.
    R"(g (int64[b,s] i, int64[b,s] i1, float[$5n,$2n] w, float[2,$2n] w1, float[$2n] wg, float[$2n] wb)
        => (float[b,s,$2n] y) { e = Gather(w, i) f = Gather(w1, i1) a = Add(e, f) y = LayerNormalization(a, wg, wb) })",
    R"(g (int32[b,3] i, int64[b,3] i1, float[$5n,$2n] w, float[2,$2n] w1, float[1,3,$2n] w2, float[$2n] wg, float[$2n] wb)
        => (float[b,3,$2n] y, float[b,3,$2n] z) {
      e = Gather(w, i) f = Gather(w1, i1) a = Add(e, f) c = Add(w2, a) y = LayerNormalization(c, wg, wb) z = Neg(c) })",
    // Positions cut from a table.
    R"(g (int64[b,s] i, float[$5n,$2n] w, float[6,$2n] w1, float[$2n] wg, float[$2n] wb) => (float[b,s,$2n] y)
      <int64[1,6] all = {0, 1, 2, 3, 4, 5}, int64[1] zero = {0}, int64[1] one = {1}> {
      n = Shape<start = 1, end = 2>(i) positions = Slice(all, zero, n, one) e = Gather(w, i) f = Gather(w1, positions)
      a = Add(e, f) y = LayerNormalization(a, wg, wb) })",
};

}  // namespace

std::span<const char* const> AttentionSnippets() { return kSnippets; }

}  // namespace sardonyx::fuzz
