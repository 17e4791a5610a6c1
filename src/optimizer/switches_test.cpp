// optimizer/switches_test.cpp - every pass does something by itself, nothing if it is switched off, and nothing to
// nodes that another provider has claimed; levels, and what an explanation says.
#include <algorithm>
#include <map>
#include <set>

#include "testing/pass_example.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RunPipeline;

// A graph that the pass alone changes, in the newest opset. Newer passes have theirs in their own tests
// (testing/pass_example.h).
const std::map<std::string, std::string> kExamples = {
    {"approximate_gelu", "g (float[2] x) => (float[2] y) { y = Gelu(x) }"},
    {"change_layout",
     "g (float[1,32,32,32] x) => (float[1,32,30,30] y) <int64[4] s = {32, 32, 3, 3}> {"
     "w = ConstantOfShape<value = float {0.01}>(s) a = Conv<pads = [1, 1, 1, 1]>(x, w) y = Conv(a, w) }"},
    {"eliminate_casts", "g (float[2] x) => (float[2] y) { a = Cast<to = 11>(x) b = Cast<to = 1>(a) y = Neg(b) }"},
    {"eliminate_common_subexpressions", "g (float[2] x) => (float[2] y) { a = Neg(x) b = Neg(x) y = Add(a, b) }"},
    {"eliminate_dead_nodes", "g (float[2] x) => (float[2] y) { a = Neg(x) y = Abs(x) }"},
    {"eliminate_dropout", "g (float[2] x) => (float[2] y) { a = Dropout(x) y = Neg(a) }"},
    {"eliminate_quantization",
     "g (float[2] x) => (float[2] y) <float s = {0.1}, uint8 z = {3}> {"
     " q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Neg(d) }"},
    {"eliminate_identity", "g (float[2] x) => (float[2] y) { a = Identity(x) y = Neg(a) }"},
    {"fold_constants", "g (float[2] x) => (float[2] y) <float a = {1}> { b = Neg(a) y = Add(x, b) }"},
    {"fold_shapes",
     "g (float[b,6] x) => (float[b,2,3] y) <int64[2] tail = {2, 3}> {"
     "s = Shape<start = 0, end = 1>(x) t = Concat<axis = 0>(s, tail) y = Reshape(x, t) }"},
    {"fuse_activations", "g (float[2] x) => (float[2] y) { s = Sigmoid(x) y = Mul(x, s) }"},
    {"fuse_attention",
     "g (float[1,2,3,4] q, float[1,2,4,5] k, float[1,2,5,4] v) => (float[1,2,3,4] y) {"
     "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v) }"},
    {"fuse_block_quantized_bias",
     "g (float[2,16] x) => (float[2,2] y) <uint8[2,1,8] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[2,1] s = "
     "{0.5, 0.25}, float[2] b = {1, 2}> { p = com.microsoft.MatMulNBits<K = 16, N = 2, block_size = 16>(x, w, s) y = "
     "Add(p, b) }"},
    {"fuse_block_quantized_product",
     "g (float[2,16] x) => (float[2,2] y) <int8[16,2] w = "
     "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,1,2,3,4,5,6,7,8,9,10,11,"
     "12,13,14,15,16}, float[1,2] s = {0.5, 0.25}> { d = DequantizeLinear<axis = 0, block_size = 16>(w, s) y = "
     "MatMul(x, d) }"},
    {"fuse_conv_activation",
     "g (float[1,1,3,3] x, float[1,1,2,2] w) => (float[1,1,2,2] y) { a = Conv(x, w) y = Relu(a) }"},
    {"fuse_conv_batch_norm",
     "g (float[1,1,3,3] x) => (float[1,1,3,3] y) <float[1,1,1,1] w = {2}, float[1] s = {1}, float[1] b = {3},"
     " float[1] m = {4}, float[1] v = {5}> { a = Conv(x, w) y = BatchNormalization(a, s, b, m, v) }"},
    {"fuse_conv_quantized_sum",
     "g (uint8[1,2,3,2] x, uint8[1,2,3,2] v) => (uint8[1,2,3,2] y) <float s = {0.03}, float t = {0.05}, uint8 z = "
     "{120},"
     " int8 none = {0}, float[2] ws = {0.02, 0.01}, int8[2,2,1,1] w = {100, -50, 7, 127}, int32[2] b = {300, -400}> {"
     "c = com.ms.internal.nhwc.QLinearConv(x, s, z, w, ws, none, t, z, b)"
     " y = com.microsoft.QLinearAdd(c, t, z, v, s, z, s, z) }"},
    {"expand_flex_attention",
     "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v) => (float[1,2,3,4] y) {"
     " y = ai.onnx.preview.FlexAttention(q, k, v) }"},
    {"expand_gradient",
     "g (float[2] x) => (float[2] y, float[2] dx) { y = Exp(x)"
     " dx = ai.onnx.preview.training.Gradient<xs = [\"x\"], y = \"y\">(x) }"},
    {"expand_joined_operators",
     "g (float[3,4] x, float[4,12] w, float[12] b, int32[2,2] o, int32[3] s) => (float[3,4] y) {"
     " y = com.microsoft.PackedAttention <num_heads = 2> (x, w, b, o, s) }"},
    {"fuse_conv_scale",
     "g (float[1,1,3,3] x) => (float[1,1,3,3] y) <float[1,1,1,1] w = {2}, float[1,1,1] s = {3}> {"
     "a = Conv(x, w) y = Mul(a, s) }"},
    {"fuse_distance",
     "g (float[N,3] a, float[M,3] b) => (float[M,N] y) { same, y = Scan <num_scan_inputs = 1, body = each"
     " (float[N,3] s, float[3] p) => (float[N,3] kept, float[N] out) <int64[1] axes = {1}> { kept = Identity(s)"
     " d = Sub(s, p) out = ReduceSumSquare <keepdims = 0> (d, axes) }> (a, b) }"},
    {"fuse_dynamic_quantization",
     "g (float[2,4] x) => (float[2,3] y) <int8[4,3] w = {1,2,-3,4,50,60,70,-80,90,100,11,-128}, float s = {0.02},"
     " int8 z = {0}> { q, qs, qz = DynamicQuantizeLinear(x) p = MatMulInteger(q, w, qz, z) f = Cast<to = 1>(p)"
     " ss = Mul(qs, s) y = Mul(f, ss) }"},
    {"fuse_elementwise", "g (float[2] x) => (float[2] y) { a = Neg(x) y = Exp(a) }"},
    {"fuse_embed_layer_norm",
     "g (int32[b,s] i, int32[b,s] j) => (float[b,s,2] y) <float[3,2] t = {1,2,3,4,5,6}, float[2] one = {1, 2}> {"
     "e = Gather(t, i) f = Gather(t, j) a = Add(e, f) y = LayerNormalization(a, one, one) }"},
    {"fuse_gelu", "g (float[2] x) => (float[2] y) <float k = {1.702}> { m = Mul(x, k) s = Sigmoid(m) y = Mul(x, s) }"},
    {"fuse_group_norm",
     "g (float[2,4,3,5] x) => (float[2,4,3,5] y) <int64[3] groups = {0, 2, -1}, float[2] ones = {1, 1},"
     " float[2] zeros = {0, 0}, int64[4] back = {2, 4, 3, 5}> {"
     "a = Reshape(x, groups) b = InstanceNormalization(a, ones, zeros) y = Reshape(b, back) }"},
    {"fuse_layer_norm",
     "g (float[2,2] x) => (float[2,2] y) <float eps = {1e-5}, float two = {2}, int64[1] last = {-1}> {"
     "m = ReduceMean(x, last) d = Sub(x, m) s = Pow(d, two) v = ReduceMean(s, last) e = Add(v, eps) r = Sqrt(e)"
     " y = Div(d, r) }"},
    {"fuse_lookup",
     "g (float[2,4] x) => (uint8[2,4] y) <float s = {0.03}, uint8 z = {120}> { xq = QuantizeLinear(x, s, z)"
     " xd = DequantizeLinear(xq, s, z) m = Sigmoid(xd) y = QuantizeLinear(m, s, z) }"},
    {"fuse_matmul_add", "g (float[2,2] x, float[2] c) => (float[2,2] y) { a = MatMul(x, x) y = Add(a, c) }"},
    {"fuse_matmul_transpose",
     "g (float[2,3] x) => (float[2,2] y) { t = Transpose<perm = [1, 0]>(x) y = MatMul(x, t) }"},
    {"fuse_pad",
     "g (float[1,1,2,2] x, float[1,1,3,3] w) => (float[1,1,2,2] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> {"
     "a = Pad(x, p) y = Conv(a, w) }"},
    {"fuse_product_batch_norm",
     "g (float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] s = {2, 3}> {"
     " c = MatMul(x, w) y = BatchNormalization(c, s, s, s, s) }"},
    {"fuse_product_epilogue", "g (float[2,2] x) => (float[2,2] y) { a = MatMul(x, x) y = Relu(a) }"},
    {"fuse_quantized_operator",
     "g (float[2,4] x, float[2,4] v) => (uint8[2,4] y) <float s = {0.03}, uint8 z = {120}> {"
     "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) vq = QuantizeLinear(v, s, z)"
     " vd = DequantizeLinear(vq, s, z) m = Add(xd, vd) y = QuantizeLinear(m, s, z) }"},
    {"fuse_quantized_transpose",
     "g (uint8[2,4] x, uint8[3,4] w) => (uint8[2,3] y) <float s = {0.5}, uint8 z = {7}> { t = Transpose(w)"
     " y = QLinearMatMul(x, s, z, t, s, z, s, z) }"},
    {"fuse_quantized_product",
     "g (float[1,2,3,3] x) => (float[1,1,3,3] y) <float s = {0.03}, uint8 z = {120}, int8[1,2,1,1] w = {1, -2},"
     " float[1] ws = {0.01}, int8[1] wz = {0}> { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
     " wd = DequantizeLinear<axis = 0>(w, ws, wz) c = Conv(xd, wd) yq = QuantizeLinear(c, s, z)"
     " y = DequantizeLinear(yq, s, z) }"},
    {"fuse_relu_clip", "g (float[2] x) => (float[2] y) { a = Relu(x) y = Relu(a) }"},
    {"fuse_rotary_embedding",
     "g (float[b,3,s,4] q, float[b,s,2] f) => (float[b,3,s,4] y) <int64[1] one = {1}, int64[2] halves = {2, 2}> {"
     "c = Concat<axis = -1>(f, f) co = Cos(c) si = Sin(c) cos = Unsqueeze(co, one) sin = Unsqueeze(si, one)"
     " l, h = Split<axis = -1>(q, halves) n = Neg(h) r = Concat<axis = 3>(n, l)"
     " a = Mul(q, cos) t = Mul(r, sin) y = Add(a, t) }"},
    {"fuse_skip_layer_norm",
     "g (float[1,2,3] x, float[1,2,3] z) => (float[1,2,3] y) <float[3] s = {1, 2, 3}> {"
     "a = Add(x, z) y = LayerNormalization(a, s, s) }"},
    {"inline_bodies",
     "g (float[2] x) => (float[2] y) <bool c = {1}> { y = If (c) <then_branch = t () => (float[2] p) { p = Neg(x) },"
     " else_branch = e () => (float[2] q) { q = Abs(x) }> }"},
    {"merge_views",
     "g (float[2,3] x) => (float[2,3] y) { t = Transpose<perm = [1, 0]>(x) u = Transpose<perm = [1, 0]>(t) y = Neg(u) "
     "}"},
    {"move_quantization",
     "g (float[2,4] x) => (uint8[4,2] y) <float s = {0.03}, uint8 z = {120}> { xq = QuantizeLinear(x, s, z)"
     " xd = DequantizeLinear(xq, s, z) m = Transpose<perm = [1, 0]>(xd) y = QuantizeLinear(m, s, z) }"},
    {"move_views",
     "g (float[b,s,2] x) => (float[b,s,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
     "t = Transpose<perm = [1, 0, 2]>(x) a = MatMul(t, w) y = Transpose<perm = [1, 0, 2]>(a) }"},
    {"quantize_activations",
     "g (float[2] x) => (uint8[2] y) <float s = {0.03}, uint8 z = {0}> {"
     "a = Neg(x) r = Relu(a) y = QuantizeLinear(r, s, z) }"},
    {"replace_divisions", "g (float[2] x) => (float[2] y) <float four = {4}> { y = Div(x, four) }"},
    {"replace_einsum",
     "g (float[2,3] x, float[3,4] z) => (float[2,4] y) { y = Einsum<equation = \"ij,jk->ik\">(x, z) }"},
    {"simplify_nodes", "g (float[2] x) => (float[2] y) <float zero = {0}> { a = Add(x, zero) y = Neg(a) }"},
    {"simplify_slices",
     "g (float[2] x) => (float[2] y) <int64[1] from = {0}, int64[1] to = {9}> { a = Slice(x, from, to) y = Neg(a) }"},
    {"split_batch_norm",
     "g (float[1,1,3] x) => (float[1,1,3] y) <float[1] s = {2}> { y = BatchNormalization(x, s, s, s, s) }"},
    {"widen_half", "g (float16[2] x) => (float16[2] y) { a = Mul(x, x) b = Abs(a) y = Neg(b) }"},
};

// The graph's text after all passes but the named ones.
std::string TextWithout(const std::string& text, const std::vector<std::string>& disabled) {
  const ops::Registry registry;
  Graph graph = GraphOf(text, registry);
  OptimizeOptions options;
  options.disabled_passes = disabled;
  options.approximate_gelu = true;
  options.clean_quantization = true;
  RunPipeline(graph, registry, options);
  return ToText(graph);
}

std::map<std::string, std::string> AllExamples() {
  std::map<std::string, std::string> all = kExamples;
  for (const auto& [pass, graphs] : testing::PassExamples()) all.emplace(pass, graphs.changed);
  return all;
}

TEST(Switches, EachPassWorksAloneAndCanBeSwitchedOff) {
  const auto examples = AllExamples();
  std::vector<std::string> all;
  for (const PassInfo& info : AllPasses()) all.emplace_back(info.name);
  for (const std::string& name : all) {
    const auto example = examples.find(name);
    ASSERT_NE(example, examples.end()) << "no example for pass " << name;
    std::vector<std::string> others = all;
    std::erase(others, name);
    const std::string nothing = TextWithout(example->second, all);
    EXPECT_NE(TextWithout(example->second, others), nothing) << name << " does nothing alone";
  }
}

TEST(Switches, SwitchedOffMeansThatNoOtherPassDoesIt) {
  const auto operators = [](const std::string& text, const std::string& disabled) {
    const ops::Registry registry;
    Graph graph = GraphOf(text, registry);
    OptimizeOptions options;
    options.disabled_passes = {disabled};
    RunPipeline(graph, registry, options);
    return Operators(graph);
  };
  // Passes that clean up after others see these nodes, too.
  for (const auto& [pass, kept] : std::map<std::string, std::string>{{"eliminate_identity", "Identity"},
                                                                     {"eliminate_dropout", "Dropout"},
                                                                     {"eliminate_casts", "Cast"},
                                                                     {"fuse_attention", "Softmax"},
                                                                     {"merge_views", "Transpose"},
                                                                     {"simplify_slices", "Slice"},
                                                                     {"split_batch_norm", "BatchNormalization"}}) {
    EXPECT_NE(operators(kExamples.at(pass), pass).find(kept), std::string::npos) << pass;
    EXPECT_EQ(operators(kExamples.at(pass), "").find(kept), std::string::npos) << pass;
  }
}

TEST(Switches, DisableLeavesTheAuthorsNodes) {
  const ops::Registry registry;
  for (const auto& [name, text] : AllExamples()) {
    if (name == "widen_half") continue;         // float16 is computed in float at every level
    if (name.starts_with("expand_")) continue;  // it has no kernel of its own
    Graph graph = GraphOf(text, registry);
    const std::string before = Operators(graph);
    OptimizeOptions options;
    options.level = Level::kDisable;
    RunPipeline(graph, registry, options);
    EXPECT_EQ(Operators(graph), before) << name;
  }
}

// ---- Nodes of other providers

constexpr const char* kOther = "OtherExecutionProvider";

template <typename Visit>
void ForEachNodeOf(Graph& graph, const Visit& visit) {
  for (const NodeId id : graph.order) {
    visit(graph, graph.node(id));
    for (Graph* body : graph.node(id).Subgraphs()) ForEachNodeOf(*body, visit);
  }
}

// What makes the node what it is; the values that it reads may be made otherwise.
std::string Portrait(const Graph& graph, const Node& node) {
  std::string text = node.domain + "." + node.op_type + "-" + std::to_string(node.since_version) + "(";
  for (const ValueId input : node.inputs)
    text += (input == kNoValue ? "none" : std::string(Name(graph.value(input).type.dtype))) + ",";
  text += ")";
  for (const ValueId output : node.outputs)
    text += (output == kNoValue ? "none" : std::string(Name(graph.value(output).type.dtype))) + ",";
  for (const Attribute& attribute : node.attributes) text += attribute.name + ",";
  return text;
}

std::map<std::string, std::string> Claimed(Graph& graph) {
  std::map<std::string, std::string> nodes;
  ForEachNodeOf(graph, [&](const Graph& each, const Node& node) {
    if (node.provider == kOther) nodes[node.name.substr(node.name.rfind('/') + 1)] = Portrait(each, node);
  });
  return nodes;
}

// The nodes that may be claimed, by name; each gets one of its own.
std::vector<std::string> NameNodes(Graph& graph) {
  std::vector<std::string> names;
  int number = 0;
  ForEachNodeOf(graph, [&](const Graph&, Node& node) {
    node.name = "n" + std::to_string(number++);
    if (node.Subgraphs().empty()) names.push_back(node.name);
  });
  return names;
}

// All subsets of a few nodes; of many each one, each two and all.
std::vector<std::vector<std::string>> ChoicesOf(const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> choices;
  if (names.size() <= 6) {
    for (std::size_t bits = 1; bits < std::size_t{1} << names.size(); ++bits) {
      choices.emplace_back();
      for (std::size_t i = 0; i < names.size(); ++i)
        if ((bits >> i & 1) != 0) choices.back().push_back(names[i]);
    }
    return choices;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t k = i; k < names.size(); ++k) choices.push_back({names[i], names[k]});
  choices.push_back(names);
  return choices;
}

// The claimed nodes that are gone after the passes; the others must be as they were.
std::size_t CountGone(const Graph& graph, const std::vector<std::string>& claimed, const OptimizeOptions& options,
                      const ops::Registry& registry) {
  Graph copy = graph;
  ForEachNodeOf(copy, [&](const Graph&, Node& node) {
    if (std::find(claimed.begin(), claimed.end(), node.name) != claimed.end()) node.provider = kOther;
  });
  auto before = Claimed(copy);
  Optimize(copy, Stage::kBeforeUpgrade, registry, options);
  Optimize(copy, Stage::kAfterUpgrade, registry, options);
  const auto after = Claimed(copy);
  const std::size_t gone = std::erase_if(before, [&](const auto& node) { return after.count(node.first) == 0; });
  EXPECT_EQ(after, before) << ToText(graph) << ToText(copy);
  return gone;
}

TEST(Switches, EveryPassLeavesNodesOfOtherProvidersAlone) {
  // Nobody reads the nodes any more: what they make is known before the run, or their branch is never taken.
  const std::set<std::string> unread = {"eliminate_dead_nodes", "fold_shapes", "inline_bodies"};
  const ops::Registry registry;
  for (const auto& [name, text] : kExamples) {
    SCOPED_TRACE(name);
    Graph graph = GraphOf(text, registry);
    ops::Upgrade(graph, registry);
    ops::Infer(graph, registry);
    OptimizeOptions all;
    all.approximate_gelu = all.clean_quantization = all.checks_reports = true;
    OptimizeOptions alone = all;
    for (const PassInfo& info : AllPasses())
      if (info.name != name) alone.disabled_passes.emplace_back(info.name);
    std::size_t gone = 0;
    for (const std::vector<std::string>& claimed : ChoicesOf(NameNodes(graph)))
      gone += CountGone(graph, claimed, all, registry) + CountGone(graph, claimed, alone, registry);
    EXPECT_EQ(gone != 0, unread.count(name) != 0);
  }
}

TEST(Switches, RefusesNamesThatAreNoPass) {
  try {
    TextWithout(kExamples.at("fuse_gelu"), {"fuse_gelo"});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("'fuse_gelo'; did you mean 'fuse_gelu'?"), std::string::npos)
        << error.what();
  }
}

// The lines that begin with the name of the pass.
std::string Explained(const std::string& text, const std::string& pass) {
  const ops::Registry registry;
  Graph graph = GraphOf(text, registry);
  Explanation explanation(pass);
  OptimizeOptions options;
  options.explanation = &explanation;
  RunPipeline(graph, registry, options);
  return explanation.ToText();
}

TEST(Switches, ExplainsWhatAPassDidAndWhyNot) {
  EXPECT_EQ(Explained(kExamples.at("fuse_gelu"), "fuse_gelu").substr(0, 10), "fuse_gelu:");
  const std::string fused = Explained(kExamples.at("fuse_attention"), "fuse_attention");
  EXPECT_NE(fused.find("became Attention"), std::string::npos) << fused;
  EXPECT_NE(fused.find("fuse_attention: Attention 0 -> 1, MatMul 2 -> 0, Softmax 1 -> 0"), std::string::npos) << fused;
  const std::string left = Explained(
      "g (float[1,2,3,4] q, float[1,2,4,5] k, float[1,2,5,4] v) => (float[1,2,3,4] y, float[1,2,3,5] p) {"
      "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v) }",
      "*");
  EXPECT_NE(left.find("fuse_attention: node #1 (Softmax, output 'p'): not changed: the probabilities are an output"),
            std::string::npos)
      << left;
  EXPECT_NE(left.find("fuse_attention: no change"), std::string::npos) << left;
}

}  // namespace
}  // namespace sardonyx::optimizer
