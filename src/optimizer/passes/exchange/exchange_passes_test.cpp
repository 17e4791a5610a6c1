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

TEST(ExchangePasses, FindTheMaskThatHidesByTheLowestNumber) {
  const ops::Registry registry;
  OptimizeOptions options = Usual();
  options.exchange.padding = PaddingForm::kLength;
  const auto mask = [&](std::string summand) {
    std::string text = AttentionText(summand.append(" m = Unsqueeze(l, axes) s = Add(t, m)"));
    text.replace(text.find("-10000"), 6, "-3.4028235e38");
    const Graph graph = Made(text, options, registry);
    const Node& node = graph.node(graph.order.back());
    EXPECT_EQ(node.op_type, "Attention") << Operators(graph);
    return node.inputs.size() > 3 && node.inputs[3] != kNoValue ? graph.value(node.inputs[3]).type.ToText() : "none";
  };
  EXPECT_EQ(mask("f = Cast<to = 1>(ones) i = Sub(one, f) l = Mul(i, low)"), "int32[b]");
  EXPECT_EQ(mask("f = Cast<to = 1>(ones) i = Sub(one, f) h = Mul(i, low) l = Add(h, h)"), "none");  // -infinity
}

// The mask as torch's vmap spells it: mask[batch, key] in the flattened mask, and a condition that is always true.
// %: what the places of the keys are taken from.
constexpr const char* kGathered =
    "shape = Shape(ones) bn = Gather(shape, zero) sn = Gather(shape, next) sl = Unsqueeze(sn, first) "
    "br = Range(zero, bn, next) sr = Range(zero, sn, next) b4 = Unsqueeze(br, after) q4 = Unsqueeze(sr, around) "
    "k4 = Unsqueeze(sr, before) f = Cast<to = 9>(ones) flat = Flatten<axis = 2>(f) row = Mul(b4, sl) "
    "at = Add(%, row) g = Gather(flat, at) gd = Squeeze(g, last) all = GreaterOrEqual(q4, zero) keep = And(all, gd) "
    "m = Where(keep, none, low) s = Add(t, m)";

std::string GatheredText(std::string_view keys) {
  std::string mask = kGathered, text = AttentionText(mask.replace(mask.find('%'), 1, keys));
  const std::string constants =
      "<int64 zero = {0}, int64 next = {1}, int64[1] first = {0}, int64[3] after = {1, 2, 3}, int64[3] around = {0, 1, "
      "3}, "
      "int64[3] before = {0, 1, 2}, int64[1] last = {4}, float none = {0}, ";
  return text.replace(text.find('<'), 1, constants);
}

TEST(ExchangePasses, FindTheMaskInIndicesThatCountPlaces) {
  const ops::Registry registry;
  OptimizeOptions options = Usual();
  options.exchange.padding = PaddingForm::kMask;
  const auto mask = [&](const std::string& text) {
    const Graph graph = Made(text, options, registry);
    const Node& node = graph.node(graph.order.back());
    EXPECT_EQ(node.op_type, "Attention") << Operators(graph);
    return node.inputs.size() > 3 && node.inputs[3] != kNoValue ? graph.value(node.inputs[3]).type.ToText() : "none";
  };
  EXPECT_EQ(mask(GatheredText("k4")), "int32[b,s]");
  std::string shifted = GatheredText("k4");  // the key behind: no mask of padding
  shifted.replace(shifted.find("sr = Range(zero, sn, next)"), 26, "z = Range(zero, sn, next) sr = Neg(z)");
  EXPECT_EQ(mask(shifted), "none");
  std::string hidden = GatheredText("k4");  // rows behind the first see nothing
  hidden.replace(hidden.find("all = GreaterOrEqual(q4, zero)"), 30,
                 "n4 = Mul(q4, less) all = GreaterOrEqual(n4, zero)");
  hidden.replace(hidden.find("<int64 zero"), 1, "<int64 less = {-1}, ");
  EXPECT_EQ(mask(hidden), "none");
  Graph before = GraphOf(GatheredText("k4"), registry);
  ops::Upgrade(before, registry);
  Tensor ones(DType::kInt64, Shape{2, 3}), x(DType::kFloat, Shape{2, 3, 4});
  std::copy_n(std::vector<std::int64_t>{1, 1, 0, 0, 1, 1}.begin(), 6, ones.data<std::int64_t>());
  for (int i = 0; i < 24; ++i) x.data<float>()[i] = 0.01f * static_cast<float>((i * 7) % 24);
  for (const PaddingForm form : {PaddingForm::kMask, PaddingForm::kLengthAndStart}) {
    options.exchange.padding = form;
    const Graph after = Made(GatheredText("k4"), options, registry);
    testing::ExpectSameValues(after, before, registry, {Value(x), Value(ones)});
  }
}

// A mask [row, key] with as many rows as there are sequences.
TEST(ExchangePasses, DoNotTakeRowsForSequences) {
  const ops::Registry registry;
  OptimizeOptions options = Usual();
  options.exchange.padding = PaddingForm::kMask;
  for (const std::string with : {"all = And(f, every)", "all = Expand(f, four)"}) {
    std::string text = AttentionText("f = Cast<to = 9>(ones) " + with + " m = Where(all, none, low) s = Add(t, m)");
    text.replace(text.find('<'), 1,
                 "<float none = {0}, bool[3,1,1,3] every = {1,1,1,1,1,1,1,1,1}, int64[4] four = {3, 1, 3, 3}, ");
    const std::string open = "g (float[b,s,4] x, int64[b,s] ones) => (float[b,s,4] y)";
    text.replace(text.find(open), open.size(), "g (float[3,3,4] x, int64[3,3] ones) => (float[3,3,4] y)");
    const Graph graph = Made(text, options, registry);
    const Node& node = graph.node(graph.order.back());
    EXPECT_EQ(node.op_type, "Attention") << Operators(graph);
    EXPECT_TRUE(node.inputs.size() < 4 || node.inputs[3] == kNoValue) << with;
  }
}

// Embeddings of words and positions, whose sizes other nodes read, in front of attention.
std::string EmbeddingsText(std::string_view positions) {
  std::string text = AttentionText(kPadding);
  const std::string from = "g (float[b,s,4] x, int64[b,s] ones)", where = "qm = MatMul";
  text.replace(text.find(from), from.size(), "g (int64[b,s] ids, int64[b,s] ones)");
  text.replace(text.find(" => (float[b,s,4] y)"), 20, " => (float[b,s,4] y, int64[k] sizes, int64[l] tail)");
  text.replace(text.find('<'), 1,
               "<float[5,4] words = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2}, int64[1,5] count = {0,1,2,3,4}, "
               "int64[1] zero = {0}, int64[1] first = {1}, ");
  return text.replace(
      text.find(where), 0,
      "e = Gather(words, ids) sizes = Shape(e) tail = Shape<start = 2>(e) n = Shape<start = 1, end = 2>(e) " +
          std::string(positions) +
          " f0 = Gather(words, at) f1 = Add(e, f0) x = LayerNormalization<epsilon = 0.25>(f1, c, c) ");
}

TEST(ExchangePasses, EmbeddingsCountTheMaskAndTheirPlaces) {
  const ops::Registry registry;
  OptimizeOptions options = Usual();
  options.exchange.padding = PaddingForm::kLength;
  const auto embedding = [&](const Graph& graph) {
    for (const NodeId id : graph.order)
      if (graph.node(id).op_type == "EmbedLayerNormalization") return graph.node(id);
    ADD_FAILURE() << Operators(graph);
    return Node();
  };
  Tensor ones(DType::kInt64, Shape{2, 3}), ids(DType::kInt64, Shape{2, 3});
  std::copy_n(std::vector<std::int64_t>{1, 1, 0, 1, 1, 1}.begin(), 6, ones.data<std::int64_t>());
  std::copy_n(std::vector<std::int64_t>{4, 1, 0, 2, 3, 1}.begin(), 6, ids.data<std::int64_t>());
  const std::string counted = EmbeddingsText("at = Slice(count, zero, n, first)");
  const Graph graph = Made(counted, options, registry);
  const Node node = embedding(graph);
  ASSERT_EQ(node.inputs.size(), 8u);  // no indices of positions
  EXPECT_EQ(graph.value(node.inputs[7]).type.ToText(), "int32[b,s]");
  EXPECT_EQ(std::get<float>(*node.FindAttribute("epsilon")), 0.25f);
  EXPECT_EQ(graph.node(graph.value(graph.outputs[0]).producer).inputs[3], node.outputs[1]);
  const std::string other = EmbeddingsText("at = Neg(ids)");
  const Graph with_indices = Made(other, options, registry);
  EXPECT_EQ(embedding(with_indices).inputs.size(), 9u);
  for (const auto& [text, made] : {std::pair(counted, &graph), std::pair(other, &with_indices)}) {
    Graph before = GraphOf(text, registry);
    ops::Upgrade(before, registry);
    testing::ExpectSameValues(*made, before, registry, {Value(ids), Value(ones)});
  }
}

TEST(ExchangePasses, EmbeddingsDoNotCountAMaskThatIsMadeOfThem) {
  const ops::Registry registry;
  OptimizeOptions options = Usual();
  options.exchange.padding = PaddingForm::kLength;
  std::string text = EmbeddingsText("at = Slice(count, zero, n, first)");
  text.replace(text.find("f = Cast<to = 1>(ones)"), 22,
               "u = ReduceMax<keepdims = 0>(x, twos) d = Cast<to = 9>(u) h = Cast<to = 9>(ones) o = And(d, h) f = "
               "Cast<to = 1>(o)");
  text.replace(text.find('<'), 1, "<int64[1] twos = {2}, ");
  const Graph graph = Made(text, options, registry);
  EXPECT_NE(Operators(graph).find("ReduceSum"), std::string::npos) << Operators(graph);
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
