// optimizer/fusion_rows_test.cpp - each fusion as a row: its graph, what must be left of it, and what makes it a near
// miss; tried in several opsets, element types and sizes, with swapped operands, and with values compared each time.
//
// To cover another fusion: a row (the markup is that of testing/fusion_matrix.h). Attention has its own table.
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

struct Row {
  std::string name, text, wanted;
  std::vector<std::string> gone;
  std::string miss_from, miss_to;  // what makes it something else, if that replaces this
  int since = 11, until = 99;      // opsets
  bool also_half = true;           // also of float16 and bfloat16; their values are compared in any case
};

const std::string kNorm =
    "m = ReduceMean<axes = [-1]>(a) d = Sub(a, m) q = Pow(d, two) v = ReduceMean<axes = [-1]>(q)"
    " e = ~Add(v, eps) r = Sqrt(e) z = Div(d, r) u = ~Mul(z, c) y = ~Add(u, c)";
const std::string kConv =
    "g ($t[b,$h,7,7] x) => ($t[b,$h,n,k] y) <int64[4] ws = {$h, $h, 3, 3}, int64[4] ks = {1, $h, 1, 1},"
    " $t point = {0.25}, $t zero = {0.0}, $t six = {6.0}, $t three = {3.0}> {"
    " w0 = ConstantOfShape<value = float {0.125}>(ws) w = CastLike(w0, point)"
    " s0 = ConstantOfShape<value = float {2.0}>(ks) s = CastLike(s0, point) ";

// r = (-q1, q0, -q3, q2, ..).
const std::string kPairs =
    "int64[1] one = {1}, int64[1] none = {0}, int64[1] two = {2}, int64[1] all = {9223372036854775807}, int64[1] last "
    "= {-1}, int64[4] twice = {1, 1, 1, 2}> {"
    "odd = Slice(q, one, all, last, two) even = Slice(q, none, all, last, two) n = Neg(odd) n1 = Unsqueeze(n, last)"
    " e1 = Unsqueeze(even, last) st = Concat<axis = -1>(n1, e1) r = Reshape(st, flat) ";

const std::vector<Row> kRows = {
    {"rotary embedding",
     "g ($t[b,$h,s,$2d] q, $t[b,s,$d] f) => ($t[b,$h,s,$2d] y) <int64[1] one = {1}, int64[1] none = {0}, int64[1] half "
     "= "
     "{$d}, int64[1] all = {$2d}, int64[1] last = {-1}> {"
     "c = Concat<axis = -1>(f, f) co = Cos(c) si = Sin(c) cos = Unsqueeze(co, one) sin = Unsqueeze(si, one)"
     " l = Slice(q, none, half, last) h = Slice(q, half, all, last) n = Neg(h) r = Concat<axis = -1>(n, l)"
     " a = ~Mul(q, cos) t = ~Mul(r, sin) y = ~Add(a, t) }",
     "RotaryEmbedding",
     {"Neg", "Mul"},
     "Concat<axis = -1>(n, l)",
     "Concat<axis = -1>(l, n)",
     13,
     99,
     false},
    {"GPT-J: neighbours are turned, heads behind the rows",
     "g ($t[b,s,$h,$2d] q, $t[b,s,$d] f) => ($t[b,s,$h,$2d] y) <int64[4] rows = {0, 0, 1, $2d}, int64[4] flat = {0, "
     "0, $h, $2d}, " +
         kPairs +
         "co = Cos(f) si = Sin(f) c1 = Unsqueeze(co, last) s1 = Unsqueeze(si, last) c2 = Tile(c1, twice) s2 = Tile(s1, "
         "twice) cos = Reshape(c2, rows) sin = Reshape(s2, rows) a = ~Mul(q, cos) t = ~Mul(r, sin) y = ~Add(a, t) }",
     "RotaryEmbedding",
     {"Neg", "Mul", "Tile"},
     "Concat<axis = -1>(n1, e1)",
     "Concat<axis = -1>(e1, n1)",
     13,
     99,
     false},
    {"Cohere: neighbours are turned, by factors of repeated angles",
     "g ($t[b,$h,s,$2d] q, $t[b,s,$d] f) => ($t[b,$h,s,$2d] y) <int64[3] rows = {0, 0, $2d}, int64[4] flat = {0, "
     "$h, -1, $2d}, " +
         kPairs +
         "f1 = Unsqueeze(f, last) f2 = Concat<axis = -1>(f1, f1) f3 = Reshape(f2, rows) co = Cos(f3) si = Sin(f3)"
         " cos = Unsqueeze(co, one) sin = Unsqueeze(si, one) a = ~Mul(q, cos) t = ~Mul(r, sin) y = ~Add(a, t) }",
     "RotaryEmbedding",
     {"Neg", "Mul"},
     "Concat<axis = -1>(f1, f1)",
     "Concat<axis = 2>(f1, f1)",
     13,
     99,
     false},
    {"GPT-NeoX: only the first elements of heads are turned",
     "g ($t[b,$h,s,$2d] whole, $t[b,s,2] f) => ($t[b,$h,s,$2d] y) <int64[1] one = {1}, int64[1] none = {0}, int64[1] "
     "two = {2}, int64[1] four = {4}, int64[1] all = {9223372036854775807}, int64[1] last = {-1}> {"
     "q = Slice(whole, none, four, last) rest = Slice(whole, four, all, last)"
     "c = Concat<axis = -1>(f, f) co = Cos(c) si = Sin(c) cos = Unsqueeze(co, one) sin = Unsqueeze(si, one)"
     " l = Slice(q, none, two, last) h = Slice(q, two, all, last) n = Neg(h) r = Concat<axis = -1>(n, l)"
     " a = ~Mul(q, cos) t = ~Mul(r, sin) z = ~Add(a, t) y = Concat<axis = -1>(z, rest) }",
     "RotaryEmbedding",
     {"Neg", "Mul"},
     "Concat<axis = -1>(z, rest)",
     "Concat<axis = -1>(rest, z)",
     13,
     99,
     false},
    {"group normalization",
     "g ($t[b,$w,5,3] x, $t[$w,1,1] g1, $t[$w,1,1] c) => ($t[b,$w,5,3] y) <int64[3] groups = {0, $h, -1},"
     " int64[1] n = {$h}, int64[4] back = {-1, $w, 5, 3}, $t k = {1.0}> {"
     "o0 = ConstantOfShape<value = float {1.0}>(n) o = CastLike(o0, k) z0 = ConstantOfShape(n) z = CastLike(z0, k)"
     " a = Reshape(x, groups) i = InstanceNormalization<epsilon = 0.001>(a, o, z) u = Reshape(i, back)"
     " v = ~Mul(u, g1) y = ~Add(v, c) }",
     "GroupNormalization",
     {"InstanceNormalization"},
     "int64[3] groups = {0, $h, -1}",
     "int64[3] groups = {-1, $h, 15}",
     15,
     99,
     false},
    {"layer normalization with a residual sum and its bias",
     "g ($t[b,s,$w] x, $t[b,s,$w] k, $t[$w] bias, $t[$w] c) => ($t[b,s,$w] y, $t[b,s,$w] o) <$t eps = {0.01}, $t two = "
     "{2.0}> {"
     "a0 = ~Add(x, bias) a = ~Add(a0, k) " +
         kNorm + " p = Abs(a) o = Neg(p) }",
     "SkipLayerNormalization",
     {"Sub", "Sqrt", "Add"},
     "v = ReduceMean<axes = [-1]>(q)",
     "v = ReduceMean<axes = [-2]>(q)",
     11,
     17,
     false},
    {"convolution with scale, sum and activation",
     kConv + "a = Conv(x, w) p = ~Mul(a, s) q = ~Add(p, s) y = Relu(q) }",
     "FusedConv",
     {"Mul", "Add", "Relu"},
     "y = Relu(q)",
     "y = Exp(q)",
     15},
    {"convolution with Clip",
     kConv + "a = Conv(x, w) r = Relu(a) y = Clip(r, zero, six) }",
     "FusedConv",
     {"Relu", "Clip"},
     "Clip(r, zero, six)",
     "Exp(r)",
     15},
    {"convolution with a residual sum",
     kConv + "a = Conv<pads = [1, 1, 1, 1]>(x, w) r = ~Add(a, x) y = Relu(r) }",
     "FusedConv",
     {"Add", "Relu"},
     "~Add(a, x)",
     "Sub(a, x)",
     15},
    {"convolution with SiLU",
     kConv + "a = Conv(x, w) r = Sigmoid(a) y = ~Mul(a, r) }",
     "FusedConv",
     {"Mul", "Sigmoid"},
     "r = Sigmoid(a)",
     "r0 = Sigmoid(a) r = Exp(r0)",
     15},
    {"convolution with HardSwish",
     kConv + "a = Conv(x, w) r = ~Add(a, three) c = Clip(r, zero, six) m = ~Mul(a, c) y = Div(m, six) }",
     "FusedConv",
     {"Mul", "Clip", "Div"},
     "Div(m, six)",
     "Div(m, three)",
     15},
    {"Pad before Conv",
     kConv + "i = CastLike(pads0, ks) p = Pad(x, i) y = Conv(p, w) }",
     "Conv",
     {"Pad"},
     "Pad(x, i)",
     "Pad<mode = \"reflect\">(x, i)",
     15},
    {"Pad before MaxPool",
     "g ($t[b,$h,7,7] x) => ($t[b,$h,n,k] y) <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}, $t low = {-inf}> {"
     "p = Pad(x, pads, low) y = MaxPool<kernel_shape = [3, 3]>(p) }",
     "MaxPool",
     {"Pad"},
     "-inf",
     "0.0",
     11},
    {"Pad before AveragePool",
     "g ($t[b,$h,7,7] x) => ($t[b,$h,n,k] y) <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> {"
     "p = Pad(x, pads) y = AveragePool<kernel_shape = [3, 3], count_include_pad = 1>(p) }",
     "AveragePool",
     {"Pad"},
     "{0, 0, 1, 1, 0, 0, 1, 1}",
     "{0, 1, 1, 1, 0, 0, 1, 1}",
     11},
    {"matrix product with a bias and an activation",
     "g ($t[s,$w] x, $t[$w,$d] w, $t[$d] c) => ($t[s,$d] y) { a = MatMul(x, w) u = ~Add(a, c) y = Tanh(u) }",
     "FusedGemm",
     {"MatMul", "Add", "Tanh"},
     "y = Tanh(u)",
     "y = Exp(u)"},
    {"Gemm with an activation",
     "g ($t[s,$w] x, $t[$d,$w] w, $t[$d] c) => ($t[s,$d] y) { a = Gemm<transB = 1>(x, w, c) y = Relu(a) }",
     "FusedGemm",
     {"Gemm", "Relu"},
     "Relu(a)",
     "Exp(a)"},
    {"matrix product with both operands transposed and a quotient",
     "g ($t[b,$d,s] x, $t[b,t,$d] w) => ($t[b,s,t] y) <$t k = {3.0}> { u = Transpose<perm = [0, 2, 1]>(x)"
     " v = Transpose<perm = [0, 2, 1]>(w) a = MatMul(u, v) y = Div(a, k) }",
     "FusedMatMul",
     {"Div", "Transpose"},
     "Div(a, k)",
     "Div(k, a)",
     11,
     99,
     false},
    {"matrix product with a residual sum",
     "g ($t[b,s,$w] x, $t[$w,$w] w, $t[$w] c, $t[b,s,$w] k) => ($t[b,s,$w] y) { a = MatMul(x, w) u = ~Add(a, c)"
     " y = ~Add(u, k) }",
     "FusedMatMul",
     {"Add"},
     "y = ~Add(u, k)",
     "y = Sub(k, u)"},
    {"batch normalization behind a matrix product",
     "g ($t[s,$w] x, $t k) => ($t[s,$d] y) <int64[2] ws = {$w, $d}, int64[1] n = {$d}> {"
     "w0 = ConstantOfShape<value = float {0.25}>(ws) w = CastLike(w0, k) s0 = ConstantOfShape<value = float {2.0}>(n)"
     " c = CastLike(s0, k) a = MatMul(x, w) y = BatchNormalization(a, c, c, c, c) }",
     "Gemm",
     {"BatchNormalization", "Mul"},
     "a = MatMul(x, w)",
     "a0 = MatMul(x, w) a = Exp(a0)",
     15,
     99,
     false},
    {"Mish",
     "g ($t[b,$w] x) => ($t[b,$w] y) { p = Softplus(x) t1 = Tanh(p) y = ~Mul(x, t1) }",
     "Mish",
     {"Softplus"},
     "Tanh(p)",
     "Sigmoid(p)",
     22,
     99,
     false},
};

const std::vector<Sizes> kLengths = {
    {{"b", 2}, {"s", 4}, {"t", 7}, {"n", 0}, {"k", 0}},
    {{"b", 1}, {"s", 1}, {"t", 1}, {"n", 0}, {"k", 0}},
};

// Axes of reductions are an input since opset 18.
std::string Spelled(std::string text, const FusionSetting& s) {
  text = ReplaceAll(text, "CastLike(pads0, ks)", "Concat<axis = 0>(none4, ones2, none4, ones2)");
  if (text.find("none4") != std::string::npos)
    text = ReplaceAll(text, "<int64[4] ws", "<int64[2] none4 = {0, 0}, int64[2] ones2 = {1, 1}, int64[4] ws");
  return TextFor(text, s);
}

bool IsValid(const std::string& text) {
  const ops::Registry registry;
  try {
    testing::GraphOf(text, registry);
  } catch (const Error&) {
    return false;
  }
  return true;
}

TEST(FusionRows, EveryRowIsFused) {
  RandomTensors random;
  for (const Row& row : kRows) {
    for (const FusionSetting& setting : kFusionSettings) {
      if (setting.opset < row.since || setting.opset > row.until) continue;
      SCOPED_TRACE(row.name + ", " + setting.dtype + ", opset " + std::to_string(setting.opset));
      const std::string text = Spelled(row.text, setting);
      if (setting.dtype == "bfloat16" && !IsValid(text)) continue;  // operators of the graph do not have it
      const std::string left = OptimizedFor(text, kLengths, random);
      if (setting.dtype != "float" && !(row.also_half && setting.dtype != "double")) continue;
      if (setting.dtype == "bfloat16" && row.wanted == "FusedGemm") continue;  // FusedGemm takes none
      EXPECT_TRUE(HasOperator(left, row.wanted)) << left << " in\n" << text;
      for (const std::string& gone : row.gone) EXPECT_FALSE(HasOperator(left, gone)) << left << " in\n" << text;
    }
  }
}

TEST(FusionRows, NearMissesStay) {
  RandomTensors random;
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    ASSERT_NE(row.text.find(row.miss_from), std::string::npos);
    FusionSetting setting;
    setting.opset = std::min(std::max(row.since, 17), row.until);
    const std::string text = Spelled(ReplaceAll(row.text, row.miss_from, row.miss_to), setting);
    const std::string left = OptimizedFor(text, {kLengths[0]}, random);
    const std::string fused = OptimizedFor(Spelled(row.text, setting), {kLengths[0]}, random);
    EXPECT_NE(left, fused) << text;
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
