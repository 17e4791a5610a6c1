// optimizer/passes/exchange/exchange_passes_test.cpp - graphs that are made for ONNX Runtime: their operators, equal
// values, and what stays as it is.
#include <gtest/gtest.h>

#include "testing/evaluate_op.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using testing::Floats;
using testing::GraphOf;
using testing::Operators;

// All passes, as OptimizeModel runs them.
Graph Made(std::string_view text, const OptimizeOptions& options, const ops::Registry& registry) {
  Graph graph = GraphOf(text, registry);
  ops::Upgrade(graph, registry);
  ops::Infer(graph, registry);
  OptimizeOptions all = options;
  all.level = Level::kExtended;
  all.checks_reports = true;
  Optimize(graph, Stage::kForOnnxRuntime, registry, all);
  return graph;
}

OptimizeOptions Usual() {
  OptimizeOptions options;
  for (const std::string_view name : kOptionalExchangePasses) options.disabled_passes.emplace_back(name);
  return options;
}

// Attention of [batch, row, 4] in two heads of 2, with the three projections' biases, and a mask where there is a `%`.
std::string AttentionText(std::string_view mask) {
  std::string text =
      "g (float[b,s,4] x, int64[b,s] ones) => (float[b,s,4] y) <float[4,4] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, "
      "float[4,4] w2 = {2,1,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, float[4,4] w3 = {3,2,1,4,5,6,7,8,9,1,2,3,4,5,6,7}, "
      "float[4] c = {1,2,3,4}, float half = {0.70710678}, int64[4] in = {0,0,2,2}, int64[3] out = {0,0,4}, "
      "float one = {1}, float low = {-10000}, int64[2] axes = {1, 2}> {"
      "qm = MatMul(x, w) qb = Add(qm, c) km = MatMul(x, w2) kb = Add(c, km) vm = MatMul(x, w3) "
      "qr = Reshape(qb, in) q = Transpose<perm = [0,2,1,3]>(qr) kr = Reshape(kb, in) k = Transpose<perm = "
      "[0,2,3,1]>(kr) "
      "vr = Reshape(vm, in) v = Transpose<perm = [0,2,1,3]>(vr) a = MatMul(q, k) t = Mul(a, half) % "
      "p = Softmax(s) r = MatMul(p, v) rt = Transpose<perm = [0,2,1,3]>(r) y = Reshape(rt, out) }";
  return text.replace(text.find('%'), 1, mask);
}

constexpr const char* kPadding =
    "f = Cast<to = 1>(ones) i = Sub(one, f) l = Mul(i, low) m = Unsqueeze(l, axes) s = Add(t, m)";

TEST(ExchangePasses, JoinTheProjectionsOfOneSource) {
  const ops::Registry registry;
  const Graph graph = Made(AttentionText("s = Identity(t)"), Usual(), registry);
  ASSERT_EQ(Operators(graph), "Attention");
  const Node& node = graph.node(graph.order[0]);
  EXPECT_EQ(node.domain, "com.microsoft");
  EXPECT_EQ(graph.value(node.inputs[1]).type.ToText(), "float[4,12]");
  EXPECT_EQ(graph.value(node.inputs[2]).type.ToText(), "float[12]");
  EXPECT_EQ(node.FindAttribute("scale"), nullptr);  // what it is without the attribute
}

TEST(ExchangePasses, TellWhatAttentionReadsOfAMask) {
  const ops::Registry registry;
  OptimizeOptions options = Usual();
  const auto mask = [&](PaddingForm form) {
    options.exchange.padding = form;
    const Graph graph = Made(AttentionText(kPadding), options, registry);
    const Node& node = graph.node(graph.order.back());
    EXPECT_EQ(node.op_type, "Attention") << Operators(graph);
    return node.inputs.size() > 3 ? graph.value(node.inputs[3]).type.ToText() : "none";
  };
  EXPECT_EQ(mask(PaddingForm::kMask), "int32[b,s]");
  EXPECT_EQ(mask(PaddingForm::kLength), "int32[b]");
  EXPECT_EQ(mask(PaddingForm::kNone), "none");
}

TEST(ExchangePasses, MakeMultiHeadAttentionWhereAskedTo) {
  const ops::Registry registry;
  OptimizeOptions options = Usual();
  options.exchange.joins_projections = false;
  EXPECT_EQ(Operators(Made(AttentionText("s = Identity(t)"), options, registry)),
            "MatMul MatMul MatMul MultiHeadAttention");
  options.exchange.multi_head_bias = false;
  EXPECT_EQ(Operators(Made(AttentionText("s = Identity(t)"), options, registry)),
            "MatMul Add MatMul Add MatMul MultiHeadAttention");
}

TEST(ExchangePasses, KeepTheValuesOfAttention) {
  const ops::Registry registry;
  for (const char* mask : {"s = Identity(t)", kPadding}) {
    for (const bool joins : {true, false}) {
      OptimizeOptions options = Usual();
      options.exchange.joins_projections = joins;
      Graph before = GraphOf(AttentionText(mask), registry);
      ops::Upgrade(before, registry);
      const Graph after = Made(AttentionText(mask), options, registry);
      Tensor ones(DType::kInt64, Shape{1, 3});
      std::copy_n(std::vector<std::int64_t>{1, 1, 0}.begin(), 3, ones.data<std::int64_t>());
      Tensor x(DType::kFloat, Shape{1, 3, 4});
      for (int i = 0; i < 12; ++i) x.data<float>()[i] = 0.01f * static_cast<float>((i * 7) % 12);
      testing::ExpectSameValues(after, before, registry, {Value(x), Value(ones)});
    }
  }
}

TEST(ExchangePasses, LeaveAttentionWithSharedHeadsAsItIs) {
  const ops::Registry registry;
  const Graph graph = Made(
      "g (float[1,3,8] q, float[1,3,4] k) => (float[1,3,8] y) { y = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, "
      "k) }",
      Usual(), registry);
  EXPECT_EQ(graph.node(graph.order[0]).domain, "");
}

TEST(ExchangePasses, FuseGeluWithItsBias) {
  const ops::Registry registry;
  constexpr const char* kText =
      "g (float[2,3] x) => (float[2,3] y) <float[3] c = {1,2,3}> { s = Add(c, x) y = Gelu % (s) }";
  const auto made = [&](std::string_view attribute, const OptimizeOptions& options) {
    std::string text = kText;
    return Operators(Made(text.replace(text.find('%'), 1, attribute), options, registry));
  };
  EXPECT_EQ(made("", Usual()), "BiasGelu");
  EXPECT_EQ(made("<approximate = \"tanh\">", Usual()), "FastGelu");
  OptimizeOptions options = Usual();
  options.disabled_passes.emplace_back("fuse_bias_gelu");
  EXPECT_EQ(made("", options), "Add Gelu");
  options.disabled_passes.emplace_back("no_such_pass");
  EXPECT_THROW(made("", options), Error);
}

TEST(ExchangePasses, SpellNormalizations) {
  const ops::Registry registry;
  EXPECT_EQ(Operators(Made("g (float[2,3] x) => (float[2,3] y) <float[3] c = {1,2,3}> { y = RMSNormalization(x, c) }",
                           Usual(), registry)),
            "SimplifiedLayerNormalization");
}

TEST(ExchangePasses, MakeOperatorsOfImagesOnlyWhereAskedTo) {
  const ops::Registry registry;
  constexpr const char* kText =
      "g (float[1,4,5,5] x) => (float[1,4,5,5] y) <float[4] c = {1,2,3,4}> {"
      " n = GroupNormalization<num_groups = 2>(x, c, c) s = Sigmoid(n) y = Mul(n, s) }";
  EXPECT_EQ(Operators(Made(kText, Usual(), registry)), "GroupNormalization Sigmoid Mul");
  OptimizeOptions options;
  options.disabled_passes = {"spell_group_norm_channels_first"};
  EXPECT_EQ(Operators(Made(kText, options, registry)), "Transpose GroupNorm Transpose");
  options.disabled_passes = {"spell_group_norm"};
  EXPECT_EQ(Operators(Made(kText, options, registry)), "GroupNorm");
}

}  // namespace
}  // namespace sardonyx::optimizer
