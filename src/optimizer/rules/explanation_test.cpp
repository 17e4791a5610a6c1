// optimizer/rules/explanation_test.cpp - for every pass a graph that it nearly changes, and the reason that it gives.
#include "optimizer/rules/explanation.h"

#include <map>

#include "testing/pass_example.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::RunPipeline;

struct NearMiss {
  std::string text;
  std::vector<std::string> words;  // of the explanation: the node and the reason
};

// What `pass` says of a graph that the other passes leave alone.
std::string Explained(const std::string& text, const std::string& pass, Level level = Level::kAll,
                      bool consents = true) {
  const ops::Registry registry;
  Graph graph = GraphOf(text, registry);
  Explanation explanation(pass);
  OptimizeOptions options;
  options.level = level;
  options.approximate_gelu = consents;
  options.clean_quantization = consents;
  options.explanation = &explanation;
  for (const PassInfo& info : AllPasses())
    if (info.name != pass) options.disabled_passes.emplace_back(info.name);
  RunPipeline(graph, registry, options);
  return explanation.ToText();
}

// Newer passes have theirs in their own tests (testing/pass_example.h).
const std::map<std::string, NearMiss> kNearMisses = {
    {"approximate_gelu",
     {"g (float[2] x) => (float[2] y) { y = Gelu<approximate = \"tanh\">(x) }",
      {"'y'", "attribute approximate has another value"}}},
    {"change_layout",
     {"g (float[1,4,8,8] x, float[4,4,1,1] w) => (float[1,4,8,8] y) { y = Conv(x, w) }",
      {"(Conv", "would cost more than channels last saves"}}},
    {"eliminate_casts",
     {"g (float[2] x) => (float[2] y) { a = Cast<to = 6>(x) y = Cast<to = 1>(a) }",
      {"'y'", "the inner Cast, from float to int32, may lose digits"}}},
    {"eliminate_common_subexpressions",
     {"g (float[2] x) => (float[2] a, float[2] b) { a = Neg(x) b = Neg(x) }",
      {"output 'b'", "computes the same as node #0", "'b' is an output of the graph"}}},
    {"eliminate_dead_nodes",
     {"g (float[2] x) => (float[2] y) { y = Abs(x) }", {"output 'y'", "it is an output of the graph"}}},
    {"eliminate_dropout",
     {"g (float[2] x) => (float[2] y, bool[2] m) { a, m = Dropout(x) y = Neg(a) }",
      {"'a'", "its further outputs are used"}}},
    {"eliminate_identity",
     {"g (float[2] x) => (float[2] y) { y = Identity(x) }", {"'y'", "both its ends have names that the user knows"}}},
    {"expand_flex_attention",
     {"g (bool c, float[1,2,3,4] f, double[1,2,3,4] d) => (y) {"
      " q = If <then_branch = a () => (float[1,2,3,4] r) { r = Neg(f) },"
      " else_branch = b () => (double[1,2,3,4] s) { s = Neg(d) }> (c)"
      " y = ai.onnx.preview.FlexAttention(q, q, q) }",
      {"FlexAttention, output 'y'", "the element type of its queries is not known"}}},
    {"expand_gradient",
     {"g (bool c, float[2] x, double[2] w) => (dx) {"
      " y = If <then_branch = a () => (float[2] r) { r = Neg(x) },"
      " else_branch = b () => (double[2] s) { s = Neg(w) }> (c)"
      " dx = ai.onnx.preview.training.Gradient<xs = [\"x\"], y = \"y\">(x) }",
      {"Gradient, output 'dx'", "the type of 'y' is not known"}}},
    {"expand_joined_operators",
     {"g (float[3,4] x, float[4,12] w, float[12] b, int32[2,2] o, int32[3] s) => (float[3,4] y) { y = Neg(x)"
      " unread = com.microsoft.PackedAttention <num_heads = 2> (x, w, b, o, s) }",
      {"PackedAttention, output 'unread'", "nobody reads its results"}}},
    {"eliminate_quantization",
     {"g (float[2] x) => (float[2] y) <float s = {0.1}, float t = {0.2}, uint8 z = {3}> {"
      " q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, t, z) y = Neg(d) }",
      {"(QuantizeLinear, output 'q')", "has another scale or zero point"}}},
    {"fold_constants",
     {"g (float[2] x) => (float[2] y) <float[2] s = {1, 2}> { a = RandomNormalLike(s) y = Add(x, a) }",
      {"(RandomNormalLike", "it draws random numbers"}}},
    {"fold_shapes",
     {"g (float[a,b] x, int64[2] s) => (float[c,d] y) { y = Reshape(x, s) }",
      {"(Reshape", "no constant target makes float[c,d] of float[a,b]"}}},
    {"fuse_activations",
     {"g (float[2] x) => (float[2] y, float[2] s) { s = Sigmoid(x) y = Mul(x, s) }",
      {"'y'", "'SiLU' did not fire: 's' is a graph output"}}},
    {"fuse_attention",
     {"g (float[1,2,3,4] q, float[1,2,4,5] k, float[1,2,5,4] v) => (float[1,2,3,4] y, float[1,2,3,5] p) {"
      "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v) }",
      {"(Softmax, output 'p')", "the probabilities are an output"}}},
    {"fuse_block_quantized_bias",
     {"g (float[2,16] x, float[2] b) => (float[2,2] y) <uint8[2,1,8] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, "
      "float[2,1] s = {0.5, 0.25}> { p = com.microsoft.MatMulNBits<K = 16, N = 2, block_size = 16>(x, w, s) y = "
      "Add(p, b) }",
      {"(Add, output 'y')", "expected a constant row for float[2,2], found float[2]"}}},
    {"fuse_block_quantized_product",
     {"g (float[2,2] x) => (float[2,2] y) { y = MatMul(x, x) }",
      {"(MatMul", "its weights are not blocks of integers"}}},
    {"fuse_conv_activation",
     {"g (float[1,1,3,3] x, float[1,1,2,2] w) => (float[1,1,2,2] y, float[1,1,2,2] a) { a = Conv(x, w) y = Relu(a) }",
      {"(Conv, output 'a')", "its result is an output, or several nodes read it"}}},
    {"fuse_conv_batch_norm",
     {"g (float[1,1,3,3] x, float[1,1,1,1] w) => (float[1,1,3,3] y) <float[1] s = {1}> {"
      " a = Conv(x, w) y = BatchNormalization(a, s, s, s, s) }",
      {"(BatchNormalization", "the convolution's weights are not constant"}}},
    {"fuse_conv_quantized_sum",
     {"g (uint8[1,2,3,2] x, uint8[1,2,3,2] v) => (uint8[1,2,3,2] y) <float s = {0.03}, float t = {0.05}, uint8 z = "
      "{120}, float[2] ws = {0.02, 0.01}, int8[2,2,1,1] w = {100, -50, 7, 127}, int8 wz = {0}, int32[2] b = {300, "
      "-400}> { c = com.ms.internal.nhwc.QLinearConv(x, s, z, w, ws, wz, t, z, b)"
      " y = com.microsoft.QLinearAdd(c, s, z, v, s, z, s, z) }",
      {"QLinearConv", "reads it with another scale"}}},
    {"fuse_conv_scale",
     {"g (float[1,1,3,3] x, float[1,1,1] s) => (float[1,1,3,3] y) <float[1,1,1,1] w = {2}> {"
      "a = Conv(x, w) y = Mul(a, s) }",
      {"(Mul", "the other operand is not constant"}}},
    {"fuse_distance",
     {"g (float[N,3] a, float[M,3] b) => (float[M,N] y) { same, y = Scan <num_scan_inputs = 1, body = each"
      " (float[N,3] s, float[3] p) => (float[N,3] kept, float[N] out) <int64[1] axes = {1}> { kept = Identity(s)"
      " d = Sub(s, p) out = ReduceL1 <keepdims = 0> (d, axes) }> (a, b) }",
      {"(Scan", "not the sum of squares"}}},
    {"fuse_dynamic_quantization",
     {"g (float[2,4] x) => (float[2,3] y, int32[2,3] p) <int8[4,3] w = {1,2,-3,4,50,60,70,-80,90,100,11,-128},"
      " float s = {0.02}, int8 z = {0}> { q, qs, qz = DynamicQuantizeLinear(x) p = MatMulInteger(q, w, qz, z)"
      " f = Cast<to = 1>(p) ss = Mul(qs, s) y = Mul(f, ss) }",
      {"(Mul, output 'y')", "'p' is a graph output"}}},
    {"fuse_elementwise",
     {"g (float[2] x) => (float[2] y, float[2] z) <int64 zero = {0}> { a = Neg(x) y = Exp(a) z = CumSum(a, zero) }",
      {"(Neg, output 'a')", "not all of its readers are elementwise nodes of one group"}}},
    {"fuse_embed_layer_norm",
     {"g (int32[b,s] i, float[b,s,2] p) => (float[b,s,2] y) <float[3,2] t = {1,2,3,4,5,6}, float[2] one = {1, 2}> {"
      "e = Gather(t, i) a = Add(e, p) y = LayerNormalization(a, one, one) }",
      {"(LayerNormalization", "'p' is not an embedding"}}},
    {"fuse_gelu",
     {"g (float[2] x, float k) => (float[2] y) { m = Mul(x, k) s = Sigmoid(m) y = Mul(x, s) }",
      {"(Mul, output 'y')", "its factor is not one constant number"}}},
    {"fuse_group_norm",
     {"g (float[2,4,3,5] x, float[2] ones) => (float[2,4,3,5] y) <int64[3] groups = {0, 2, -1},"
      " int64[4] back = {2, 4, 3, 5}> {"
      "a = Reshape(x, groups) b = InstanceNormalization(a, ones, ones) y = Reshape(b, back) }",
      {"(Reshape, output 'y')", "its scale or bias is not constant"}}},
    {"fuse_layer_norm",
     {"g (float[2,n] x) => (float[2,n] y) <float eps = {1e-5}, float two = {2}, int64[1] last = {-1}> {"
      "m = ReduceMean(x, last) d = Sub(x, m) s = Pow(d, two) v = ReduceMean(s, last) e = Add(v, eps) r = Sqrt(e)"
      " y = Div(d, r) }",
      {"(Div", "expected a mean over the last axes, of known sizes"}}},
    {"fuse_lookup",
     {"g (float[2,4] x) => (uint8[2,4] y) <float s = {0.03}, uint8 z = {120}, float[4] f = {1, 2, 3, 4}> {"
      " xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) m = Mul(xd, f) y = QuantizeLinear(m, s, z) }",
      {"(QuantizeLinear, output 'y')", "depends on a constant that is not a single number"}}},
    {"fuse_matmul_add",
     {"g (float[2,2] x, float[2,2,2] c) => (float[2,2,2] y) { a = MatMul(x, x) y = Add(a, c) }",
      {"(Add", "expected matrices", "float[2,2,2]"}}},
    {"fuse_matmul_transpose",
     {"g (float[2,3] x) => (float[2,2] y, float[3,2] t) { t = Transpose<perm = [1, 0]>(x) y = MatMul(x, t) }",
      {"(MatMul", "(Transpose, output 't') before it is also read by others"}}},
    {"fuse_pad",
     {"g (float[1,1,2,2] x, float[1,1,3,3] w) => (float[1,1,2,2] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> {"
      "a = Pad<mode = \"reflect\">(x, p) y = Conv(a, w) }",
      {"(Conv", "attribute mode has another value"}}},
    {"fuse_product_batch_norm",
     {"g (float[3,2] x, float[2,2] w) => (float[3,2] y) <float[2] s = {2, 3}> {"
      " c = MatMul(x, w) y = BatchNormalization(c, s, s, s, s) }",
      {"(BatchNormalization", "with constant weights"}}},
    {"fuse_product_epilogue",
     {"g (float[2,2] x) => (float[2,2] y, float[2,2] a) { a = MatMul(x, x) y = Relu(a) }",
      {"(MatMul", "its result is an output, or several nodes read it"}}},
    {"fuse_quantized_operator",
     {"g (float[2,4] x, float[2,4] v) => (uint8[2,4] y) <float s = {0.03}, uint8 z = {120}> {"
      "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) m = Add(xd, v) y = QuantizeLinear(m, s, z) }",
      {"(Add", "QLinearAdd takes 8-bit operands", "'v' is an input of floats"}}},
    {"fuse_quantized_transpose",
     {"g (uint8[2,4] x, uint8[3,4,1] w) => (uint8[1,2,3] y) <float s = {0.5}, uint8 z = {7}> {"
      " t = Transpose <perm = [2, 1, 0]> (w) y = QLinearMatMul(x, s, z, t, s, z, s, z) }",
      {"(QLinearMatMul", "does not swap the last two axes alone"}}},
    {"fuse_quantized_product",
     {"g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float s = {0.03}, uint8 z = {120},"
      " int8[2,1,1,1] w = {1, -2}, float[2] ws = {0.01, 0.02}> { xq = QuantizeLinear(x, s, z)"
      " xd = DequantizeLinear(xq, s, z) wd = DequantizeLinear<axis = 0>(w, ws) c = Conv<group = 2>(xd, wd)"
      " y = Abs(c) }",
      {"(Conv", "is not read by one QuantizeLinear", "read one channel each is faster in float"}}},
    {"fuse_relu_clip",
     {"g (float[2] x, float l) => (float[2] y) { a = Relu(x) y = Clip(a, l) }",
      {"(Clip", "the lower bound is not constant"}}},
    {"fuse_rotary_embedding",
     {"g (float[b,3,s,4] q, float[b,s,4] c) => (float[b,3,s,4] y) <int64[1] one = {1}, int64[2] halves = {2, 2}> {"
      "co = Cos(c) si = Sin(c) cos = Unsqueeze(co, one) sin = Unsqueeze(si, one)"
      " l, h = Split<axis = -1>(q, halves) n = Neg(h) r = Concat<axis = 3>(n, l)"
      " a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t) }",
      {"(Add", "the cosine is not that of angles which are the same for both"}}},
    {"fuse_skip_layer_norm",
     {"g (float[1,2,3] x, float[3] z) => (float[1,2,3] y) <float[3] s = {1, 2, 3}> {"
      "a = Add(x, z) y = LayerNormalization(a, s, s) }",
      {"(LayerNormalization", "expected two summands of the shape"}}},
    {"inline_bodies",
     {"g (bool c, float[2] x) => (float[2] y) { y = If <then_branch = a () => (float[2] r) { r = Neg(x) },"
      " else_branch = b () => (float[2] s) { s = Exp(x) }> (c) }",
      {"(If, output 'y')", "its condition is not constant"}}},
    {"merge_views",
     {"g (float[2,3] x) => (float[3,2] y, float[3,2,1] z) <int64[1] two = {2}> {"
      " t = Transpose<perm = [1, 0]>(x) z = Unsqueeze(t, two) y = Neg(t) }",
      {"(Unsqueeze, output 'z')", "the chain of 2 views before it"}}},
    {"move_quantization",
     {"g (uint8[2,4] xq) => (float[2,6] y) <float s = {0.03}, uint8 z = {120}, int64[4] pads = {0, 1, 0, 1},"
      " float one = {1}> { xd = DequantizeLinear(xq, s, z) y = Pad(xd, pads, one) }",
      {"(Pad", "it pads with something other than 0"}}},
    {"move_views",
     {"g (float[b,s,2] x) => (float[s,b,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
      "t = Transpose<perm = [1, 0, 2]>(x) a = MatMul(t, w) y = Neg(a) }",
      {"(MatMul", "not only views and selections read its result"}}},
    {"quantize_activations",
     {"g (float[2] x, float l) => (uint8[2] y) <float s = {0.03}, uint8 z = {0}> {"
      "a = Neg(x) r = Clip(a, l) y = QuantizeLinear(r, s, z) }",
      {"(Clip", "its bounds are not constant"}}},
    {"replace_divisions",
     {"g (float[2] x) => (float[2] y) <float three = {3}> { y = Div(x, three) }",
      {"(Div", "3 is not a power of two between"}}},
    {"replace_einsum",
     {"g (float[2,3] a, float[2,3] b) => (float[2] y) { y = Einsum<equation = \"ij,kj->i\">(a, b) }",
      {"(Einsum", "a label is summed up in one operand alone"}}},
    {"simplify_nodes",
     {"g (float[2] x) => (float[1,2] y) <float[1,1] zero = {0}> { y = Add(x, zero) }",
      {"(Add", "the constant adds axes to float[2]"}}},
    {"simplify_slices",
     {"g (float[2] x, int64[1] from, int64[1] to) => (float[n] y) { y = Slice(x, from, to) }",
      {"(Slice", "its starts, ends, axes, steps or its input's rank are not known"}}},
    {"split_batch_norm",
     {"g (float[1,1,3] x, float[1] m) => (float[1,1,3] y) <float[1] s = {2}> { y = BatchNormalization(x, s, s, m, s) }",
      {"(BatchNormalization", "'m' is not constant"}}},
    {"widen_half",
     {"g (float16[2] x) => (float16[2] y) { y = Mul(x, x) }", {"(Mul", "it widens and rounds by itself"}}},
};

TEST(Explanation, EveryPassSaysWhyItLeavesANearMissAlone) {
  std::map<std::string, NearMiss> near_misses = kNearMisses;
  for (const auto& [pass, graphs] : testing::PassExamples()) near_misses[pass] = {graphs.left, graphs.reasons};
  for (const PassInfo& info : AllPasses()) {
    const std::string name(info.name);
    const auto row = near_misses.find(name);
    ASSERT_NE(row, near_misses.end()) << "no near miss for pass " << name;
    const std::string text = Explained(row->second.text, name);
    EXPECT_NE(text.find(name + ": no change"), std::string::npos) << name << " changes its near miss:\n" << text;
    EXPECT_NE(text.find(": not changed: "), std::string::npos) << text;
    for (const std::string& word : row->second.words)
      EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' in:\n" << text;
  }
}

constexpr const char* kTwoGates =
    "g (float[2] x) => (float[2] y) { s = Sigmoid(x) a = Mul(x, s) t = Sigmoid(a) y = Mul(a, t) }";

TEST(Explanation, NamesTheAuthorsNodesOfEachRewrite) {
  const std::string text = Explained(kTwoGates, "fuse_activations");
  EXPECT_NE(text.find("fuse_activations: Mul 2 -> 0, Sigmoid 2 -> 0, Swish 0 -> 2"), std::string::npos) << text;
  EXPECT_NE(text.find("node #0 (Sigmoid, output 's'), node #1 (Mul, output 'a') -> "), std::string::npos) << text;
  EXPECT_NE(text.find("node #2 (Sigmoid, output 't'), node #3 (Mul, output 'y') -> "), std::string::npos) << text;
}

TEST(Explanation, CountsEqualRewritesAndReasonsWhenAllPassesAreAsked) {
  const ops::Registry registry;
  Graph graph = GraphOf(kTwoGates, registry);
  Explanation explanation;
  OptimizeOptions options;
  options.level = Level::kExtended;
  options.explanation = &explanation;
  RunPipeline(graph, registry, options);
  const std::string text = explanation.ToText();
  EXPECT_NE(text.find("fuse_activations: 2 times Sigmoid, Mul -> Swish: node #1"), std::string::npos) << text;
  EXPECT_NE(text.find(", change_layout (its level is layout)"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing to do: "), std::string::npos) << text;
  EXPECT_EQ(text.find("fuse_attention:"), std::string::npos) << text;

  Explanation reasons;
  reasons.Begin("pass");
  for (const char* node : {"node 'a'", "node 'b'", "node 'c'"})
    reasons.Left(node, std::string("'") + node[6] + "' is not constant", true);
  reasons.Left("node 'd'", "far away", false);
  reasons.End("", {"node 'c'"});
  EXPECT_EQ(reasons.ToText(), "pass: no change\npass: node 'a' and 1 more: not changed: 'a' is not constant\n");
}

TEST(Explanation, SaysWhatBecameOfNodesThatAreGone) {
  EXPECT_NE(Explained("g (float[2] x) => (float[2] y) { a = Identity(x) y = Neg(a) }", "eliminate_identity")
                .find("(Identity, output 'a') -> its readers read 'x'"),
            std::string::npos);
  EXPECT_NE(Explained("g (float[2] x) => (float[2] y) <float a = {1}> { b = Neg(a) y = Add(x, b) }", "fold_constants")
                .find("(Neg, output 'b') -> constant"),
            std::string::npos);
  EXPECT_NE(Explained("g (float[2] x) => (float[2] y) { a = Neg(x) y = Abs(x) }", "eliminate_dead_nodes")
                .find("(Neg, output 'a') -> nothing, as nobody reads it"),
            std::string::npos);
}

TEST(Explanation, SaysWhyAPassDidNotRun) {
  EXPECT_NE(Explained(kTwoGates, "fuse_activations", Level::kBasic).find("not run: its level is extended"),
            std::string::npos);
  const std::string gelu = "g (float[2] x) => (float[2] y) { y = Gelu(x) }";
  EXPECT_NE(Explained(gelu, "approximate_gelu", Level::kAll, false)
                .find("not run: only where 'optimization.enable_gelu_approximation' is 1"),
            std::string::npos);
  EXPECT_NE(Explained(gelu, "eliminate_quantization", Level::kAll, false)
                .find("not run: only where 'session.enable_quant_qdq_cleanup' is 1"),
            std::string::npos);
}

}  // namespace
}  // namespace sardonyx::optimizer
