// optimizer/passes/exchange/exchange_images_test.cpp - ONNX Runtime's operators of diffusion models: which graphs
// become NhwcConv, SkipGroupNorm, BiasSplitGelu and packed projections, with equal values.
#include <gtest/gtest.h>

#include "testing/evaluate_op.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using testing::GraphOf;
using testing::Operators;

Graph Upgraded(std::string_view text, const ops::Registry& registry) {
  Graph graph = GraphOf(text, registry);
  ops::Upgrade(graph, registry);
  ops::Infer(graph, registry);
  return graph;
}

// What the passes make of a graph with these optional ones among them.
Graph Made(std::string_view text, const std::vector<std::string_view>& optional, const ops::Registry& registry) {
  Graph graph = Upgraded(text, registry);
  OptimizeOptions options;
  options.level = Level::kExtended;
  options.checks_reports = true;
  for (const std::string_view name : kOptionalExchangePasses)
    if (std::find(optional.begin(), optional.end(), name) == optional.end()) options.disabled_passes.emplace_back(name);
  Optimize(graph, Stage::kForOnnxRuntime, registry, options);
  return graph;
}

// As sessions run it: NhwcConv is a convolution of another domain then.
Graph Runnable(Graph graph, const ops::Registry& registry) {
  PassContext context{registry};
  RunVerified(kExpandJoinedOperators, graph, context);
  EXPECT_EQ(Operators(graph).find("NhwcConv"), std::string::npos);
  return graph;
}

Tensor Image(const Shape& shape, float factor = 0.03f) {
  Tensor image(DType::kFloat, shape);
  for (std::int64_t i = 0; i < image.count(); ++i)
    image.data<float>()[i] = factor * static_cast<float>((i * 11) % 37 - 18);
  return image;
}

const Node& Find(const Graph& graph, std::string_view op_type) {
  for (const NodeId id : graph.order)
    if (graph.node(id).op_type == op_type) return graph.node(id);
  ADD_FAILURE() << op_type << " is not among " << Operators(graph);
  return graph.node(graph.order[0]);
}

constexpr const char* kConvs =
    "g (float[n,2,h,w] x) => (float[n,4,h,w] y, float[n,4,h,w] mid) <float[4,2,1,1] a = {1,2,3,4,5,6,7,8}, "
    "float[4,1,1,3] b = {1,2,3,4,5,6,7,8,9,1,2,3}, float[4] c = {1,2,3,4}> {"
    " mid = Conv(x, a, c) y = Conv<group = 4, pads = [0, 1, 0, 1]>(mid, b) }";

TEST(ExchangeImages, ConvolveChannelsLast) {
  const ops::Registry registry;
  const Graph before = Upgraded(kConvs, registry);
  EXPECT_EQ(Operators(Made(kConvs, {}, registry)), "Conv Conv");
  const Graph made = Made(kConvs, {"spell_nhwc_conv"}, registry);
  EXPECT_EQ(Operators(made), "Transpose NhwcConv Transpose NhwcConv Transpose");
  const Node& first = Find(made, "NhwcConv");
  EXPECT_EQ(first.domain, "com.microsoft");
  EXPECT_EQ(made.value(first.inputs[1]).type.ToText(), "float[4,1,1,2]");
  const Node& last = made.node(made.order[3]);
  EXPECT_EQ(std::get<std::int64_t>(*last.FindAttribute("group")), 4);
  EXPECT_EQ(last.inputs[0], first.outputs[0]);  // no transposition between them
  EXPECT_EQ(made.value(last.inputs[1]).type.ToText(), "float[4,1,3,1]");
  for (const Shape& shape : {Shape{2, 2, 3, 5}, Shape{1, 2, 1, 1}, Shape{0, 2, 3, 5}})
    testing::ExpectSameValues(Runnable(made, registry), before, registry, {Value(Image(shape))});
}

// The sizes behind the author's transposition are known to a run alone.
TEST(ExchangeImages, KeepImagesChannelsLastInFrontOfRows) {
  const ops::Registry registry;
  constexpr const char* kText =
      "g (float[n,2,h,w] x, int64[3] shape) => (float[a,b,c] y) <float[2,2,1,1] w = {1,2,3,4}> {"
      " s = Conv(x, w) t = Transpose<perm = [0,2,3,1]>(s) y = Reshape(t, shape) }";
  const Graph made = Made(kText, {"spell_nhwc_conv"}, registry);
  EXPECT_EQ(Operators(made), "Transpose NhwcConv Reshape");
  Tensor shape(DType::kInt64, Shape{3});
  std::copy_n(std::vector<std::int64_t>{1, 6, 2}.begin(), 3, shape.data<std::int64_t>());
  testing::ExpectSameValues(Runnable(made, registry), Upgraded(kText, registry), registry,
                            {Value(Image(Shape{1, 2, 2, 3})), Value(shape)});
}

TEST(ExchangeImages, LeaveOtherConvolutions) {
  const ops::Registry registry;
  EXPECT_EQ(Operators(Made("g (float[1,2,5] x) => (float[1,1,5] y) <float[1,2,1] w = {1,2}> { y = Conv(x, w) }",
                           {"spell_nhwc_conv"}, registry)),
            "Conv");
  EXPECT_EQ(Operators(Made("g (float[1,2,5,5] x, float[1,2,1,1] w) => (float[1,1,5,5] y) { y = Conv(x, w) }",
                           {"spell_nhwc_conv"}, registry)),
            "Conv");
}

const std::vector<std::string_view> kGroups = {"fuse_group_norm", "spell_group_norm", "fuse_skip_group_norm"};

// A sum of x and `skip` [%], group normalization, and, if `reads`, an output that is the sum.
std::string GroupText(std::string_view skip, bool reads) {
  std::string text =
      "g (float[n,4,h,w] x, float[%] skip) => (float[n,4,h,w] y#) <float[4] c = {1,2,3,4}, float[4] d = {4,3,2,1}> {"
      " s = Add(skip, x) g = GroupNormalization<num_groups = 2, epsilon = 0.25>(s, c, d) q = Sigmoid(g) y = Mul(g, q)"
      " @ }";
  text.replace(text.find('@'), 1, reads ? "t = Neg(s)" : "");
  text.replace(text.find('#'), 1, reads ? ", float[n,4,h,w] t" : "");
  return text.replace(text.find('%'), 1, skip);
}

TEST(ExchangeImages, NormalizeGroupsOfASum) {
  const ops::Registry registry;
  for (const bool reads : {false, true}) {
    for (const std::string_view skip : {"n,4,h,w", "n,4,1,1"}) {
      const std::string text = GroupText(skip, reads);
      const Graph before = Upgraded(text, registry), made = Made(text, kGroups, registry);
      const Node& node = Find(made, "SkipGroupNorm");
      EXPECT_EQ(Operators(made).find("Add"), std::string::npos);
      EXPECT_EQ(node.outputs.size(), reads ? 2u : 1u);
      EXPECT_EQ(node.domain, "com.microsoft");
      EXPECT_EQ(std::get<std::int64_t>(*node.FindAttribute("groups")), 2);
      EXPECT_EQ(std::get<std::int64_t>(*node.FindAttribute("activation")), 1);
      EXPECT_EQ(std::get<float>(*node.FindAttribute("epsilon")), 0.25f);
      EXPECT_EQ(node.inputs.size(), 4u);
      EXPECT_EQ(made.value(node.inputs[0]).type.ToText(), "float[n,h,w,4]");  // the one that is not repeated
      for (const Shape& shape : {Shape{2, 4, 3, 5}, Shape{1, 4, 1, 1}, Shape{0, 4, 3, 5}, Shape{2, 4, 3, 0}}) {
        const Shape added = skip == "n,4,1,1" ? Shape{shape[0], 4, 1, 1} : shape;
        testing::ExpectSameValues(made, before, registry, {Value(Image(shape)), Value(Image(added, 0.05f))});
      }
    }
  }
}

TEST(ExchangeImages, LeaveSumsThatRepeatOtherwise) {
  const ops::Registry registry;
  for (const std::string_view skip : {"1,4,h,w", "n,1,1,1", "n,4,h,1", "m,4,k,l"})
    EXPECT_NE(Operators(Made(GroupText(skip, false), kGroups, registry)).find(" GroupNorm"), std::string::npos) << skip;
  EXPECT_NE(Operators(Made(GroupText("n,4,h,w", false),
                           {"fuse_group_norm", "spell_group_norm_channels_first", "fuse_skip_group_norm"}, registry))
                .find("Add GroupNorm"),
            std::string::npos);  // ONNX Runtime's tool makes none channels first
}

// A projection of `rows` columns whose bias stands in front of images.
std::string ProjectedText(std::string_view more) {
  std::string text =
      "g (float[n,6,4] p, float[n,4,2,3] x) => (float[n,4,2,3] y#) <float[4] c = {1,2,3,4}, float[4] d = {4,3,2,1}, "
      "float[4,4] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, int64[4] in = {0,2,3,4}> {"
      " m = MatMul(p, w) b = Add(m, d) r = Reshape(b, in) i = Transpose<perm = [0,3,1,2]>(r) s = Add(i, x)"
      " y = GroupNormalization<num_groups = 2>(s, c, d) @ }";
  text.replace(text.find('@'), 1, more.empty() ? "" : "t = Neg(" + std::string(more) + ")");
  return text.replace(text.find('#'), 1, more == "b" ? ", float[n,6,4] t" : more == "i" ? ", float[n,4,2,3] t" : "");
}

TEST(ExchangeImages, TakeABiasIn) {
  const ops::Registry registry;
  for (const std::string_view more : {"", "b", "i"}) {
    const std::string text = ProjectedText(more);
    const Graph before = Upgraded(text, registry), made = Made(text, kGroups, registry);
    const Node& node = Find(made, "SkipGroupNorm");
    EXPECT_EQ(node.inputs.size(), more.empty() ? 5u : 4u) << more;  // others read what has the bias
    EXPECT_EQ(Operators(made).find("Add") == std::string::npos, more.empty());
    for (const std::int64_t batch : {2, 0})
      testing::ExpectSameValues(made, before, registry,
                                {Value(Image(Shape{batch, 6, 4})), Value(Image(Shape{batch, 4, 2, 3}, 0.05f))});
  }
}

// MultiHeadAttention over two heads of 2: of x alone, or with keys and values of c.
std::string HeadsText(std::string_view source, std::string_view rest = "") {
  std::string text =
      "g (float[b,s,4] x, float[b,t,3] c) => (float[b,s,4] y) <float[4,4] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, "
      "float[4,4] xk = {2,1,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, float[4,4] xv = {3,2,1,4,5,6,7,8,9,1,2,3,4,5,6,7}, "
      "float[3,4] ck = {2,1,3,4,5,6,7,8,9,1,2,3}, float[3,4] cv = {3,2,1,4,5,6,7,8,9,1,2,3}, float[12] n = "
      "{1,2,3,4,5,6,7,8,9,1,2,3}> { q = MatMul(x, w) k = MatMul(%, %k) v = MatMul(%, %v)"
      " y = com.microsoft.MultiHeadAttention<num_heads = 2, scale = 0.25>(q, k, v#) }";
  text.replace(text.find('#'), 1, rest);
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%')) text.replace(at, 1, source);
  return text;
}

TEST(ExchangeImages, PackProjections) {
  const ops::Registry registry;
  const std::vector<std::string_view> both = {"pack_projections", "pack_keys_and_values"};
  const std::string alone = HeadsText("x"), two = HeadsText("c");
  EXPECT_EQ(Operators(Made(alone, {"pack_keys_and_values"}, registry)), "MatMul MatMul MatMul MultiHeadAttention");
  EXPECT_EQ(Operators(Made(two, {"pack_projections"}, registry)), "MatMul MatMul MatMul MultiHeadAttention");
  EXPECT_EQ(Operators(Made(HeadsText("x", ", n"), both, registry)), "MatMul MatMul MatMul MultiHeadAttention");
  for (const std::string& text : {alone, two}) {
    const Graph before = Upgraded(text, registry), made = Made(text, both, registry);
    const Node& node = Find(made, "MultiHeadAttention");
    EXPECT_EQ(made.value(node.inputs.back()).type.ToText(), text == alone ? "float[b,s,2,3,2]" : "float[b,t,2,2,2]");
    EXPECT_EQ(node.inputs.size(), text == alone ? 1u : 2u);
    EXPECT_EQ(std::get<float>(*node.FindAttribute("scale")), 0.25f);
    for (const auto& [batch, rows] : {std::pair(2, 5), std::pair(1, 1), std::pair(0, 3), std::pair(2, 0)})
      testing::ExpectSameValues(made, before, registry,
                                {Value(Image(Shape{batch, rows, 4})), Value(Image(Shape{batch, 3, 3}))});
  }
}

TEST(ExchangeImages, SplitHalvesInFrontOfGelu) {
  const ops::Registry registry;
  const auto text = [](std::string_view axis) {
    std::string all =
        "g (float[b,s,4] x) => (float[b,s,2] y) <float[4] c = {1,2,3,4}, int64[1] none = {0}, int64[1] half = {2}, "
        "int64[1] end = {4}, int64[1] axis = {%}> { s = Add(x, c) f = Slice(s, none, half, axis)"
        " l = Slice(s, half, end, axis) g = Gelu(l) y = Mul(f, g) }";
    return all.replace(all.find('%'), 1, axis);
  };
  for (const std::string_view axis : {"2", "-1"}) {
    const Graph before = Upgraded(text(axis), registry), made = Made(text(axis), {"fuse_bias_split_gelu"}, registry);
    EXPECT_EQ(Operators(made), "BiasSplitGelu") << axis;
    testing::ExpectSameValues(made, before, registry, {Value(Image(Shape{2, 3, 4}))});
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
