// optimizer/attention_matrix_test.cpp - attention in every spelling of exporters becomes Attention, with several
// numbers and sizes of heads, opsets, element types and lengths, and with swapped operands; near misses stay.
//
// To cover another spelling: a row in kSpellings (the markup is that of testing/fusion_matrix.h).
#include "testing/fusion_matrix.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::FusionSetting;
using ::sardonyx::testing::HasOperator;
using ::sardonyx::testing::kFusionSettings;
using ::sardonyx::testing::OptimizedFor;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::ReplaceAll;
using ::sardonyx::testing::Sizes;
using ::sardonyx::testing::TextFor;

struct Spelling {
  std::string name, text;
  int since = 11;                  // opset
  std::string miss_from, miss_to;  // what makes it something else, if that replaces this
  bool in_half = true;             // also with elements of 16 bits
};

const std::string kThree = "g ($t[b,s,$w] x, $t[b,t,$w] u, $t[b,t,$w] w";
const std::string kConstants =
    ") => ($t[b,s,$w] y) <int64[4] heads = {0, 0, $h, $d}, int64[3] whole = {0, 0, $w}, $t scale = {0.5}, $t four = "
    "{4.0}, $t low = {-10000.0}, $t zero = {0.0}> {\n";
const std::string kHeads =
    "q0 = Reshape(x, heads) q = Transpose<perm = [0, 2, 1, 3]>(q0)\n"
    "k0 = Reshape(u, heads) k = Transpose<perm = [0, 2, 1, 3]>(k0) kt = Transpose<perm = [0, 1, 3, 2]>(k)\n"
    "v0 = Reshape(w, heads) v = Transpose<perm = [0, 2, 1, 3]>(v0)\n";
const std::string kBack = " o = MatMul(p, v) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) }";

// Scaled scores `c` behind a cache, with the numbers of new, old and all rows.
const std::string kCached =
    "g ($t[b,2,s,$d] q, $t[b,2,s,$d] k0, $t[b,2,s,$d] v0, $t[b,2,p,$d] pk, $t[b,2,p,$d] pv)"
    " => ($t[b,2,s,$d] y, $t[b,2,n,$d] nk, $t[b,2,n,$d] nv) <$t scale = {0.5}, $t low = {-10000.0}, $t zero = {0.0},"
    " $t[1,1,8,8] tri = {TRIANGLE}, int64[1] none = {0}, int64[1] two = {2}, int64[1] three = {3},"
    " int64[1] end = {9223372036854775807}> {"
    "nk = Concat<axis = 2>(pk, k0) nv = Concat<axis = -2>(pv, v0) kt = Transpose<perm = [0, 1, 3, 2]>(nk)"
    " a = MatMul(q, kt) c = ~Mul(a, scale) qs = Shape(q) s1 = Gather(qs, two) ps = Shape(pk) p1 = Gather(ps, two)"
    " n1 = ~Add(p1, s1) ";

// Scores `a` [batch * heads, rows, keys] with a slope for each of "total" keys, behind a cache.
const std::string kBloom =
    "g ($t[b,$h,s,$d] q, $t[b,$h,s,$d] k0, $t[b,$h,s,$d] v0, $t[b,$h,p,$d] pk, $t[b,$h,p,$d] pv, $t[b,$h,total] alibi,"
    " bool[b,1,s,total] m) => ($t[b,$h,u,$d] y, $t[b,$h,n,$d] nk, $t[b,$h,n,$d] nv) <int64[1] i0 = {0}, int64[1] i1 ="
    " {1}, int64[1] i2 = {2}, int64[1] hs = {$h}, int64[1] ds = {$d}, int64[1] one = {1}, int64[1] rest = {-1}, $t"
    " scale = {0.5}, $t low = {-10000.0}> { nk = Concat<axis = 2>(pk, k0) nv = Concat<axis = -2>(pv, v0)"
    " qs = Shape(q) b1 = Gather(qs, i0) s1 = Gather(qs, i2) as = Shape(alibi) t1 = Gather(as, i2) bh = ~Mul(b1, hs)"
    " qd = Concat<axis = 0>(bh, rest, ds) ad = Concat<axis = 0>(bh, one, t1) od = Concat<axis = 0>(b1, hs, rest, ds)"
    " four4 = Concat<axis = 0>(b1, hs, s1, rest) three = Concat<axis = 0>(bh, s1, rest)"
    " q3 = Reshape(q, qd) k3 = Reshape(nk, qd) v3 = Reshape(nv, qd) kt3 = Transpose<perm = [0, 2, 1]>(k3)"
    " a0 = MatMul(q3, kt3) a1 = ~Mul(a0, scale) slopes = Reshape(alibi, ad) a = ~Add(slopes, a1) ";
const std::string kBloomEnd = " o3 = MatMul(p, v3) y = Reshape(o3, od) }";

const std::vector<Spelling> kSpellings = {
    {"BERT: a quotient and a summand",
     kThree + ", $t[b,1,1,t] m" + kConstants + kHeads +
         "a = MatMul(q, kt) c = Div(a, four) e = ~Add(c, m) p = Softmax<axis = -1>(e)" + kBack,
     11, "Div(a, four)", "Div(four, a)"},
    {"no mask and no scale", kThree + kConstants + kHeads + "a = MatMul(q, kt) p = Softmax<axis = 3>(a)" + kBack, 11,
     "axis = 3", "axis = 2"},
    {"queries and keys are scaled, NaN becomes 0",
     kThree + ", bool[b,1,s,t] m" + ReplaceAll(kConstants, "-10000.0", "-inf") + kHeads +
         "q2 = ~Mul(q, scale) k2 = ~Mul(kt, scale) a = MatMul(q2, k2) e = Where(m, a, low)"
         " p0 = Softmax<axis = -1>(e) n = IsNaN(p0) p = Where(n, zero, p0)" +
         kBack,
     11, "Where(m, a, low)", "Where(m, a, scale)"},
    {"GPT-2: a filled mask",
     kThree + ", bool[1,1,s,t] m" + kConstants + kHeads +
         "a = MatMul(q, kt) c = Div(a, four) e = Where(m, c, low) p = Softmax<axis = -1>(e)" + kBack,
     11, "Where(m, c, low)", "Where(m, c, scale)"},
    {"the first GPT-2: scores times a triangle, minus 1e4 where it is 0",
     kThree +
         ReplaceAll(kConstants, "$t scale",
                    "$t[1,1,8,8] tri = {TRIANGLE}, int64[1] none = {0}, int64[1] i1 = {1}, int64[1] two = {2}, "
                    "int64[1] three = {3}, $t one = {1.0}, $t big = {10000.0}, $t scale") +
         kHeads +
         "xs = Shape(x) s1 = Gather(xs, i1) us = Shape(u) t1 = Gather(us, i1) tr = Slice(tri, none, s1, two)"
         " b0 = Slice(tr, none, t1, three) a = MatMul(q, kt) c = Div(a, four) g0 = ~Mul(c, b0) r = Sub(one, b0) r2 = "
         "~Mul(r, big)"
         " e = Sub(g0, r2) p = Softmax<axis = -1>(e)" +
         kBack,
     11, "r = Sub(one, b0)", "r = Sub(four, b0)"},
    {"T5: a bias of the positions and a mask",
     kThree + ", $t[1,$h,s,t] bias, $t[b,1,1,t] m" + kConstants + kHeads +
         "a = MatMul(q, kt) n = ~Add(bias, m) e = ~Add(a, n) p = Softmax<axis = -1>(e)" + kBack,
     11, "p = Softmax<axis = -1>(e)", "r = Softmax<axis = -1>(e) p = Add(r, bias)"},
    {"a mask of 0 and 1, subtracted",
     kThree + ", $t[b,1,1,t] m" + kConstants + kHeads +
         "a = MatMul(q, kt) h1 = ~Mul(m, four) e = Sub(a, h1) p = Softmax<axis = -1>(e)" + kBack,
     11, "Sub(a, h1)", "Sub(h1, a)"},
    {"DeBERTa: what is masked is 0 behind Softmax once more",
     kThree + ", bool[b,1,s,t] m" + kConstants + kHeads +
         "a = MatMul(q, kt) c = Div(a, four) n = Not(m) e = Where(n, low, c) p0 = Softmax<axis = -1>(e) p = Where(n, "
         "zero, p0)" +
         kBack,
     11, "Where(n, zero, p0)", "Where(m, zero, p0)"},
    {"a factor for each head",
     kThree + ", $t[$h,1,1] f, $t[1,$h,s,t] bias" + kConstants + kHeads +
         "a = MatMul(q, kt) c = ~Mul(a, f) e = ~Add(c, bias) p = Softmax<axis = -1>(e)" + kBack,
     11, "c = ~Mul(a, f) e = ~Add(c, bias)", "c = ~Add(a, bias) e = ~Mul(c, f)"},
    {"values times probabilities",
     kThree + kConstants + kHeads +
         "vt = Transpose<perm = [0, 1, 3, 2]>(v) a = MatMul(q, kt) c = ~Mul(a, scale)"
         " p = Softmax<axis = -1>(c) pt = Transpose<perm = [0, 1, 3, 2]>(p)"
         " o = MatMul(vt, pt) o1 = Transpose<perm = [0, 3, 1, 2]>(o) y = Reshape(o1, whole) }",
     11, "Softmax<axis = -1>(c)", "Softmax<axis = -2>(c)"},
    {"CLIP: batch and heads in one axis",
     kThree + ", $t[b,1,s,t] m" +
         ReplaceAll(kConstants, "$t scale",
                    "int64[3] joined = {-1, 0, $d}, int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] "
                    "hs = {$h}, int64[1] ds = {$d}, $t scale") +
         "xs = Shape(x) b1 = Gather(xs, i0) s1 = Gather(xs, i1) us = Shape(u) t1 = Gather(us, i1)"
         " bh = ~Mul(b1, hs) qd = Concat<axis = 0>(bh, s1, ds) kd = Concat<axis = 0>(bh, t1, ds)"
         " four4 = Concat<axis = 0>(b1, hs, s1, t1) three = Concat<axis = 0>(bh, s1, t1)"
         " od = Concat<axis = 0>(b1, hs, s1, ds)\n" +
         kHeads +
         "q3 = Reshape(q, qd) k3 = Reshape(k, kd) v3 = Reshape(v, kd) kt3 = Transpose<perm = [0, 2, 1]>(k3)"
         " q4 = ~Mul(q3, scale) a = MatMul(q4, kt3) a4 = Reshape(a, four4) e = ~Add(a4, m) e3 = Reshape(e, three)"
         " p = Softmax<axis = -1>(e3) o3 = MatMul(p, v3) o = Reshape(o3, od) o1 = Transpose<perm = [0, 2, 1, 3]>(o)"
         " y = Reshape(o1, whole) }",
     11, "Softmax<axis = -1>(e3)", "Softmax<axis = 1>(e3)"},
    {"ViT: one projection for all",
     "g ($t[b,s,z] x0, $t[z,z2] w0) => ($t[b,s,$w] y) <int64[5] parts = {0, 0, 3, $h, $d}, int64[3] whole = {0, 0, $w},"
     " int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, $t scale = {0.5}> {\n"
     "x = MatMul(x0, w0) r = Reshape(x, parts) c = Transpose<perm = [2, 0, 3, 1, 4]>(r)"
     " q = Gather(c, i0) k = Gather(c, i1) v = Gather(c, i2) kt = Transpose<perm = [0, 1, 3, 2]>(k)"
     " q2 = ~Mul(q, scale) a = MatMul(q2, kt) p = Softmax<axis = -1>(a)" +
         kBack,
     11, "a = MatMul(q2, kt)", "a0 = MatMul(q2, kt) a = Mul(a0, a0)"},
    {"Swin: windows with a bias and a mask of the shift",
     "g ($t[b,4,49,$w] x0, $t[1,$h,49,49] bias) => ($t[n,49,$w] y) <int64[3] flat = {-1, 49, $w}, int64[4] heads = {0, "
     "0, $h, $d},"
     " int64[3] whole = {0, 0, $w}, $t scale = {0.5}, int64[4] sm = {4, 1, 49, 49}, int64[5] wide = {-1, 4, $h, 49, "
     "49},"
     " int64[4] slim = {-1, $h, 49, 49}, int64[1] none = {0}, $t low = {-100.0}> {\n"
     "z = ConstantOfShape<value = float {-3.0}>(sm) zt = CastLike(z, low) mask = Unsqueeze(zt, none)"
     " x = Reshape(x0, flat) q0 = Reshape(x, heads) q = Transpose<perm = [0, 2, 1, 3]>(q0) kt = Transpose<perm = [0, "
     "2, 3, 1]>(q0)"
     " v = Transpose<perm = [0, 2, 1, 3]>(q0) q2 = ~Mul(q, scale) a = MatMul(q2, kt) e = ~Add(a, bias)"
     " e5 = Reshape(e, wide) f5 = ~Add(e5, mask) f = Reshape(f5, slim) p = Softmax<axis = -1>(f)" +
         kBack,
     15, "p = Softmax<axis = -1>(f)", "p = Softmax<axis = 1>(f)"},
    {"windows and heads as axes of their own",
     "g ($t[b,s,$h,5,$d] q, $t[b,s,$h,5,$d] k, $t[b,s,$h,5,$d] v, $t[$h,5,5] bias) => ($t[b,s,$h,5,$d] y)"
     " <$t scale = {0.5}> { kt = Transpose<perm = [0, 1, 2, 4, 3]>(k) q2 = ~Mul(q, scale) a = MatMul(q2, kt)"
     " e = ~Add(a, bias) p = Softmax<axis = -1>(e) y = MatMul(p, v) }",
     11, "e = ~Add(a, bias) p", "g1 = ~Add(a, bias) e = ~Mul(g1, g1) p"},
    {"Keras: Einsum",
     kThree + ", $t[b,1,1,t] m" + kConstants +
         "q0 = Reshape(x, heads) k0 = Reshape(u, heads) v0 = Reshape(w, heads) q = ~Mul(q0, scale)"
         " a = Einsum<equation = \"aecd,abcd->acbe\">(k0, q) e = ~Add(a, m) p = Softmax<axis = -1>(e)"
         " o = Einsum<equation = \"acbe,aecd->abcd\">(p, v0) y = Reshape(o, whole) }",
     12, "aecd,abcd->acbe", "aecd,abcf->acbe"},
    {"BLOOM: a slope for each key, added in three axes",
     kThree + ", $t[b,$h,t] alibi, bool[b,1,s,t] m" +
         ReplaceAll(kConstants, "$t scale",
                    "int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] hs = {$h}, int64[1] ds = "
                    "{$d}, int64[1] one = {1}, int64[1] rest = {-1}, $t scale") +
         "xs = Shape(x) b1 = Gather(xs, i0) s1 = Gather(xs, i1) us = Shape(u) t1 = Gather(us, i1) bh = ~Mul(b1, hs)"
         " qd = Concat<axis = 0>(bh, s1, ds) kd = Concat<axis = 0>(bh, t1, ds) ad = Concat<axis = 0>(bh, one, t1)"
         " four4 = Concat<axis = 0>(b1, hs, s1, rest) three = Concat<axis = 0>(bh, s1, rest)"
         " od = Concat<axis = 0>(b1, hs, s1, ds)\n" +
         kHeads +
         "q3 = Reshape(q, qd) k3 = Reshape(k, kd) v3 = Reshape(v, kd) kt3 = Transpose<perm = [0, 2, 1]>(k3)"
         " a0 = MatMul(q3, kt3) a1 = ~Mul(a0, scale) slopes = Reshape(alibi, ad) a = ~Add(slopes, a1)"
         " a4 = Reshape(a, four4) e = Where(m, a4, low) p4 = Softmax<axis = -1>(e) p = Reshape(p4, three)"
         " o3 = MatMul(p, v3) o = Reshape(o3, od) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) }",
     11, "Where(m, a4, low)", "Where(m, a4, scale)"},
    {"BLOOM behind a cache: slopes for as many keys as an input says",
     kBloom + "a4 = Reshape(a, four4) e = Where(m, a4, low) p4 = Softmax<axis = -1>(e) p = Reshape(p4, three)" +
         kBloomEnd,
     11, "Where(m, a4, low)", "Where(m, a4, scale)", false},  // caches of 16 bits are widened behind the Reshape
    {"one head of keys for all of the queries",
     "g ($t[b,$h,s,$d] q, $t[b,1,t,$d] k, $t[b,1,t,$d] v, $t[b,1,s,t] m) => ($t[b,$h,s,$d] y) <$t scale = {0.5}> {"
     "kt = Transpose<perm = [0, 1, 3, 2]>(k) a = MatMul(q, kt) c = ~Mul(a, scale) e = ~Add(c, m)"
     " p = Softmax<axis = -1>(e) y = MatMul(p, v) }",
     11, "Softmax<axis = -1>", "Softmax<axis = 0>"},
    {"keys and values repeated for groups of heads, behind a cache",
     "g ($t[b,6,s,$d] q, $t[b,2,s,$d] k0, $t[b,2,s,$d] v0, $t[b,2,p,$d] pk, $t[b,2,p,$d] pv, $t[b,1,s,\"p + s\"] m)"
     " => ($t[b,6,s,$d] y, $t[b,2,n,$d] nk, $t[b,2,n,$d] nv) <$t scale = {0.5}, int64[1] two = {2},"
     " int64[5] r = {1, 1, 3, 1, 1}, int64[4] j = {0, 6, -1, $d}> {"
     "nk = Concat<axis = 2>(pk, k0) nv = Concat<axis = -2>(pv, v0)"
     " k1 = Unsqueeze(nk, two) k2 = Expand(k1, r) k = Reshape(k2, j)"
     " v1 = Unsqueeze(nv, two) v2 = Expand(v1, r) v = Reshape(v2, j)"
     " kt = Transpose<perm = [0, 1, 3, 2]>(k) a = MatMul(q, kt) c = ~Mul(a, scale) e = ~Add(c, m)"
     " p = Softmax<axis = -1>(e) y = MatMul(p, v) }",
     13, "e = ~Add(c, m)", "c2 = Softmax<axis = -1>(c) e = ~Add(c2, m)"},
    {"the same by Tile, as torch.repeat_interleave is written",
     "g ($t[b,6,s,$d] q, $t[b,2,s,$d] k0, $t[b,2,s,$d] v0, $t[b,2,p,$d] pk, $t[b,2,p,$d] pv, $t[b,1,s,\"p + s\"] m)"
     " => ($t[b,6,s,$d] y, $t[b,2,n,$d] nk, $t[b,2,n,$d] nv) <$t scale = {0.5}, int64[1] two = {2},"
     " int64[5] r = {1, 1, 3, 1, 1}, int64[4] j = {0, 6, -1, $d}> {"
     "nk = Concat<axis = 2>(pk, k0) nv = Concat<axis = -2>(pv, v0)"
     " k1 = Unsqueeze(nk, two) k2 = Tile(k1, r) k = Reshape(k2, j)"
     " v1 = Unsqueeze(nv, two) v2 = Tile(v1, r) v = Reshape(v2, j)"
     " kt = Transpose<perm = [0, 1, 3, 2]>(k) a = MatMul(q, kt) c = ~Mul(a, scale) e = ~Add(c, m)"
     " p = Softmax<axis = -1>(e) y = MatMul(p, v) }",
     13, "e = ~Add(c, m)", "c2 = Softmax<axis = -1>(c) e = ~Add(c2, m)"},
    {"groups of heads in an axis of their own, behind a cache",
     "g ($t[b,4,s,$d] q0, $t[b,2,s,$d] k0, $t[b,2,s,$d] v0, $t[b,2,p,$d] pk, $t[b,2,p,$d] pv, $t[b,1,s,\"p + s\"] m)"
     " => ($t[b,4,s,$d] y, $t[b,2,n,$d] nk, $t[b,2,n,$d] nv) <$t scale = {0.5}, int64[1] one = {1},"
     " int64[1] two = {2}, int64[5] groups = {0, 2, 2, -1, $d}, int64[4] j = {0, 4, -1, $d}> {"
     "nk = Concat<axis = 2>(pk, k0) nv = Concat<axis = -2>(pv, v0) q = Reshape(q0, groups)"
     " k = Unsqueeze(nk, two) v = Unsqueeze(nv, two) kt = Transpose<perm = [0, 1, 2, 4, 3]>(k) a = MatMul(q, kt)"
     " c = ~Mul(a, scale) m5 = Unsqueeze(m, one) e = ~Add(c, m5) p = Softmax<axis = -1>(e) o = MatMul(p, v)"
     " y = Reshape(o, j) }",
     13, "k = Unsqueeze(nk, two)", "k = Unsqueeze(nk, one)"},
    {"GPT-OSS: a sink for each head, behind a cache",
     "g ($t[b,6,s,$d] q, $t[b,2,s,$d] k0, $t[b,2,s,$d] v0, $t[b,2,p,$d] pk, $t[b,2,p,$d] pv, $t[b,1,s,\"p + s\"] m,"
     " $t[6] sinks) => ($t[b,6,s,$d] y, $t[b,2,n,$d] nk, $t[b,2,n,$d] nv) <$t scale = {0.5}, int64[1] two = {2},"
     " int64[5] r = {1, 1, 3, 1, 1}, int64[4] j = {0, 6, -1, $d}, int64[4] each = {1, 6, 1, 1}, int64[1] six = {6},"
     " int64[1] none = {0}, int64[1] one = {1}, int64[1] three = {3}, int64[1] cut = {-1}> {"
     "nk = Concat<axis = 2>(pk, k0) nv = Concat<axis = -2>(pv, v0)"
     " k1 = Unsqueeze(nk, two) k2 = Expand(k1, r) k = Reshape(k2, j)"
     " v1 = Unsqueeze(nv, two) v2 = Expand(v1, r) v = Reshape(v2, j)"
     " kt = Transpose<perm = [0, 1, 3, 2]>(k) a = MatMul(q, kt) c = ~Mul(a, scale) e = ~Add(c, m)"
     " s4 = Reshape(sinks, each) qs = Shape(q) b1 = Gather(qs, none) s1 = Gather(qs, two)"
     " to = Concat<axis = 0>(b1, six, s1, one) s5 = Expand(s4, to) joined = Concat<axis = -1>(e, s5)"
     " p0 = Softmax<axis = -1>(joined) p = Slice(p0, none, cut, three) y = MatMul(p, v) }",
     13, "Concat<axis = -1>(e, s5)", "Concat<axis = -1>(s5, e)"},
    {"torch.nn.MultiheadAttention: rows before batches, a mask for each key",
     "g ($t[s,b,$w] x, $t[t,b,$w] u, $t[t,b,$w] w, bool[b,1,1,t] m) => ($t[s,b,$w] y) <int64[1] i0 = {0}, int64[1] i1 "
     "= {1}, int64[1] "
     "hs = {$h}, int64[1] ds = {$d}, int64[1] ws = {$w}, int64[1] one = {1}, int64[4] grow = {1, $h, 1, 1}, $t scale = "
     "{0.5}, $t low = {-inf}, $t zero = {0.0}> {"
     "xs = Shape(x) s1 = Gather(xs, i0) b1 = Gather(xs, i1) us = Shape(u) t1 = Gather(us, i0) bh = ~Mul(b1, hs)"
     " qd = Concat<axis = 0>(s1, bh, ds) kd = Concat<axis = 0>(t1, bh, ds) od = Concat<axis = 0>(s1, b1, ws)"
     " md = Concat<axis = 0>(bh, one, t1) q0 = Reshape(x, qd) q = Transpose<perm = [1, 0, 2]>(q0) k0 = Reshape(u, kd)"
     " kt = Transpose<perm = [1, 2, 0]>(k0) v0 = Reshape(w, kd) v = Transpose<perm = [1, 0, 2]>(v0)"
     " f = Where(m, zero, low) f1 = Expand(f, grow) f3 = Reshape(f1, md) q2 = ~Mul(q, scale) a = MatMul(q2, kt)"
     " e = ~Add(a, f3) p = Softmax<axis = -1>(e) o = MatMul(p, v) o1 = Transpose<perm = [1, 0, 2]>(o) y = Reshape(o1, "
     "od) }",
     11, "Softmax<axis = -1>", "Softmax<axis = 1>"},
    {"Whisper: keys and values from the encoder's cache",
     "g ($t[b,s,$w] x, $t[b,$h,t,$d] k, $t[b,$h,t,$d] v) => ($t[b,s,$w] y) <int64[4] heads = {0, 0, $h, $d},"
     " int64[3] whole = {0, 0, $w}, $t scale = {0.5}> { x1 = ~Mul(x, scale) q0 = Reshape(x1, heads)"
     " q = Transpose<perm = [0, 2, 1, 3]>(q0) kt = Transpose<perm = [0, 1, 3, 2]>(k) a = MatMul(q, kt)"
     " p = Softmax<axis = -1>(a)" +
         kBack,
     11, "Softmax<axis = -1>", "LogSoftmax<axis = -1>"},
    {"MobileBERT: each row beside the one behind it",
     kThree + ", $t[b,1,1,t] m, $t[twice,$w] w0" +
         ReplaceAll(kConstants, "$t scale",
                    "int64[1] i1 = {1}, int64[1] end = {9223372036854775807}, int64[6] pads = {0, 0, 0, 0, 1, 0}, $t "
                    "scale") +
         "x1 = Slice(x, i1, end, i1) x2 = Pad(x1, pads) x3 = Concat<axis = 2>(x2, x) x4 = MatMul(x3, w0)\n" +
         ReplaceAll(kHeads, "Reshape(x, heads)", "Reshape(x4, heads)") +
         "a = MatMul(q, kt) c = Div(a, four) e = ~Add(c, m) p = Softmax<axis = -1>(e)" + kBack,
     11, "axis = -1", "axis = 1"},
    {"SqueezeBERT: heads before rows, as convolutions leave them",
     "g ($t[b,$w,s] x, $t[b,$w,t] u, $t[b,$w,t] w, $t[b,1,1,t] m) => ($t[b,$w,s] y) <int64[1] i0 = {0}, int64[1] i2 = "
     "{2},"
     " int64[1] hs = {$h}, int64[1] ds = {$d}, int64[1] ws = {$w}, $t four = {4.0}> {"
     "xs = Shape(x) b1 = Gather(xs, i0) s1 = Gather(xs, i2) us = Shape(u) t1 = Gather(us, i2)"
     " qd = Concat<axis = 0>(b1, hs, ds, s1) kd = Concat<axis = 0>(b1, hs, ds, t1) od = Concat<axis = 0>(b1, ws, s1)"
     " q0 = Reshape(x, qd) q = Transpose<perm = [0, 1, 3, 2]>(q0) k = Reshape(u, kd) v0 = Reshape(w, kd)"
     " v = Transpose<perm = [0, 1, 3, 2]>(v0) a = MatMul(q, k) c = Div(a, four) e = ~Add(c, m)"
     " p = Softmax<axis = -1>(e) o = MatMul(p, v) o1 = Transpose<perm = [0, 1, 3, 2]>(o) y = Reshape(o1, od) }",
     11, "Softmax<axis = -1>", "Softmax<axis = -2>"},
    {"Gemma 2: scores capped by Tanh before the mask",
     kThree + ", $t[b,1,s,t] m" + kConstants + kHeads +
         "a = MatMul(q, kt) c = ~Mul(a, scale) c1 = Div(c, four) c2 = Tanh(c1) c3 = ~Mul(c2, four) e = ~Add(c3, m)"
         " p = Softmax<axis = -1>(e)" +
         kBack,
     11, "Tanh(c1)", "Atan(c1)"},
    {"a mask joined of an input of its own length and of a computed one",
     kThree + ", $t[b,1,1,total] m, bool[1,1,s,t] n" + kConstants + kHeads +
         "a = MatMul(q, kt) c = ~Mul(a, scale) j = Where(n, m, low) e = ~Add(c, j) p = Softmax<axis = -1>(e)" + kBack,
     11, "e = ~Add(c, j)", "e = ~Mul(c, j)"},
    {"a mask whose length has a name of its own",
     kThree + ", $t[b,1,s,total] m" + kConstants + kHeads +
         "a = MatMul(q, kt) c = ~Mul(a, scale) e = ~Add(c, m) p = Softmax<axis = -1>(e)" + kBack,
     11, "e = ~Add(c, m)", "e = ~Mul(c, m)"},
    {"such a mask behind a cache",
     ReplaceAll(kCached, "$t[b,2,p,$d] pv", "$t[b,2,p,$d] pv, bool[b,1,s,total] m") +
         "e = Where(m, c, low) p = Softmax<axis = -1>(e) y = MatMul(p, nv) }",
     11, "Where(m, c, low)", "Where(m, c, zero)"},
    {"GPT-2 with a cache: rows and columns of a square",
     kCached +
         "tr = Slice(tri, p1, n1, two) b0 = Slice(tr, none, n1, three) bits = Greater(b0, zero) e = Where(bits, c, low)"
         " p = Softmax<axis = -1>(e) y = MatMul(p, nv) }",
     11, "Where(bits, c, low)", "Where(bits, c, zero)"},
    {"T5 with a cache: the bias of the last rows",
     ReplaceAll(kCached, "$t[b,2,p,$d] pv", "$t[b,2,p,$d] pv, $t[1,2,\"p + s\",\"p + s\"] bias") +
         "from = Neg(s1) last = Slice(bias, from, end, two) e = ~Add(c, last) p = Softmax<axis = -1>(e)"
         " y = MatMul(p, nv) }",
     11, "e = ~Add(c, last)", "e = ~Mul(c, last)"},
};

// A fill that a factor behind it makes too small to hide anything.
TEST(AttentionMatrix, LeavesFillsThatDoNotHide) {
  RandomTensors random;
  for (const auto& [factor, fused] : {std::pair("0.0001", false), std::pair("2.0", true)}) {
    const std::string text = TextFor(
        ReplaceAll(kThree + ", bool[1,1,s,t] m" + kConstants + kHeads +
                       "a = MatMul(q, kt) e0 = Where(m, a, low) e = Mul(e0, scale) p = Softmax<axis = -1>(e)" + kBack,
                   "scale = {0.5}", "scale = {" + std::string(factor) + "}"),
        {});
    const std::string left = OptimizedFor(text, {{{"b", 2}, {"s", 4}, {"t", 7}}}, random);
    EXPECT_EQ(HasOperator(left, "Attention"), fused) << left << " in\n" << text;
  }
}

// Slopes for more keys than there are make more scores: views on the way may turn them into rows.
TEST(AttentionMatrix, LeavesSlopesOfMoreKeysThatBecomeRows) {
  RandomTensors random;
  for (const auto& [target, fused] : {std::pair("bh, s1, rest", true), std::pair("bh, rest, nkeys", false)}) {
    const std::string text =
        TextFor(kBloom + "ns = Shape(nk) nkeys = Gather(ns, i2) wanted = Concat<axis = 0>(" + std::string(target) +
                    ") e = Reshape(a, wanted) p = Softmax<axis = -1>(e)" + kBloomEnd,
                {});
    std::vector<Sizes> lengths = {{{"b", 2}, {"s", 3}, {"p", 2}, {"total", 5}}};
    if (!fused) lengths.push_back({{"b", 2}, {"s", 1}, {"p", 0}, {"total", 4}});
    const std::string left = OptimizedFor(text, lengths, random);
    EXPECT_EQ(HasOperator(left, "Attention"), fused) << left << " in\n" << text;
  }
}

// torch's newer exporter says that the sum has as many keys as the scores.
TEST(AttentionMatrix, TakesSlopesOfKeysThatTheAuthorSaysAreTheSame) {
  RandomTensors random;
  const std::string text =
      TextFor(ReplaceAll(kBloom, "<int64[1] i0", "<$t[\"2*b\",s,\"p + s\"] a, int64[1] i0") +
                  "a4 = Reshape(a, four4) p4 = Softmax<axis = -1>(a4) p = Reshape(p4, three)" + kBloomEnd,
              {});
  for (const std::int64_t total : {5, 1}) {
    const std::string left = OptimizedFor(text, {{{"b", 2}, {"s", 3}, {"p", 2}, {"total", total}}}, random);
    EXPECT_TRUE(HasOperator(left, "Attention")) << left << " in\n" << text;
  }
}

const std::vector<Sizes> kLengths = {
    {{"b", 2}, {"s", 4}, {"t", 7}, {"p", 3}, {"p + s", 7}, {"total", 7}, {"z", 5}},
    {{"b", 1}, {"s", 1}, {"t", 1}, {"p", 0}, {"p + s", 1}, {"total", 1}, {"z", 3}},
};

std::vector<Sizes> LengthsFor(const FusionSetting& s) {
  std::vector<Sizes> lengths = kLengths;
  for (Sizes& sizes : lengths)
    sizes["z2"] = 3 * s.heads * s.size, sizes["twice"] = 2 * s.heads * s.size;  // of joint projections
  return lengths;
}

// [1, 1, 8, 8] with ones up to the diagonal.
std::string Triangle() {
  std::string text;
  for (int i = 0; i < 64; ++i) text += (i == 0 ? "" : ", ") + std::string(i % 8 <= i / 8 ? "1.0" : "0.0");
  return text;
}

TEST(AttentionMatrix, EverySpellingBecomesAttention) {
  RandomTensors random;
  for (const Spelling& spelling : kSpellings) {
    for (const FusionSetting& setting : kFusionSettings) {
      if (setting.opset < spelling.since || (setting.dtype != "float" && !spelling.in_half)) continue;
      if (setting.dtype == "bfloat16" && spelling.text.find("Einsum") != std::string::npos) continue;  // not in ONNX
      SCOPED_TRACE(spelling.name + ", " + setting.dtype + ", opset " + std::to_string(setting.opset));
      const std::string text = TextFor(ReplaceAll(spelling.text, "TRIANGLE", Triangle()), setting);
      const std::string left = OptimizedFor(text, LengthsFor(setting), random);
      const bool sinks = spelling.text.find("sinks") != std::string::npos;
      // One head of each sequence may as well be the heads of one sequence, behind a cache with exchanged axes.
      const bool fused = sinks ? HasOperator(left, "SinkAttention")
                               : HasOperator(left, "Attention") || HasOperator(left, "CachedAttention");
      EXPECT_TRUE(fused) << left << " in\n" << text;
      EXPECT_FALSE(HasOperator(left, "Softmax")) << left << " in\n" << text;
    }
  }
}

TEST(AttentionMatrix, NearMissesStay) {
  RandomTensors random;
  for (const Spelling& spelling : kSpellings) {
    SCOPED_TRACE(spelling.name);
    ASSERT_NE(spelling.text.find(spelling.miss_from), std::string::npos);
    FusionSetting setting;
    setting.heads = setting.size = 4;  // so that what is no attention is at least a product
    Spelling miss = spelling;
    miss.text = ReplaceAll(spelling.text, spelling.miss_from, spelling.miss_to);
    const std::string text = TextFor(ReplaceAll(miss.text, "TRIANGLE", Triangle()), setting);
    const std::string left = OptimizedFor(text, {LengthsFor(setting)[0]}, random);
    for (const char* made : {"Attention", "SinkAttention"})
      EXPECT_FALSE(HasOperator(left, made)) << left << " in\n" << text;
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
