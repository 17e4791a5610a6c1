// optimizer/passes/layout/change_layout_test.cpp - chains of operators that run channels last, what follows them, and
// what stays as it is.
#include <algorithm>

#include "ops/upgrade.h"
#include "optimizer/passes/passes.h"
#include "testing/fusion_matrix.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::PreparedGraph;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::ReplaceAll;

// Runs the pass, checks that the values stay, and returns the graph.
Graph Changed(const std::string& text, const std::vector<Shape>& shapes) {
  const ops::Registry registry;
  Graph graph = GraphOf(text, registry);
  ops::Upgrade(graph, registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kChangeLayout, graph, context);
  RunVerified(kEliminateIdentity, graph, context);
  RandomTensors random;
  std::vector<Value> inputs;
  for (const Shape& shape : shapes) inputs.emplace_back(random.Uniform(DType::kFloat, shape));
  ExpectSameValues(graph, before, registry, inputs);
  return graph;
}

std::string Operators(const Graph& graph) {
  std::string names;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    names += std::string(names.empty() ? "" : " ") + (node.domain.empty() ? "" : "last.") + node.op_type;
  }
  return names;
}

// Two 3x3 convolutions with `between` from a to b, 32 channels, 32 x 32 pixels.
std::string Chain(std::string_view between, std::string_view channels = "32") {
  return "g (float[1,32,32,32] x) => (float[n,c,h,w] y) <int64[4] s = {32, 32, 3, 3}, int64[4] t = {32, " +
         std::string(channels) +
         ", 3, 3}, int64[2] image = {2, 3}, bool[2] both = {1, 1}, int64[1] one = {1}, int64[2] halves = {8, 24}, "
         "int64[8] pads = {0, 1, 0, 2, 0, 0, 3, 0}, float[4] twice = {1, 1, 2, 2}, float[32,1,1] each = {" +
         [] {
           std::string list = "1";
           for (int i = 2; i <= 32; ++i) list += ", " + std::to_string(i);
           return list;
         }() +
         "}, int64[3] spatial = {0, 32, -1}, int64[4] square = {0, 32, 16, -1}> {"
         "w = ConstantOfShape<value = float {0.01}>(s) v = ConstantOfShape<value = float {0.02}>(t)"
         "a = Conv<pads = [1, 1, 1, 1]>(x, w)" +
         std::string(between) + " y = Conv(b, v)}";
}

std::string Between(std::string_view between, std::string_view channels = "32") {
  const std::string all = Operators(Changed(Chain(between, channels), {Shape{1, 32, 32, 32}}));
  EXPECT_EQ(all.find("Transpose"), std::string::npos) << all;
  const std::size_t begin = all.find("last.Conv") + 10, end = all.rfind(" last.Conv");
  return begin > end ? "" : all.substr(begin, end - begin);
}

TEST(ChangeLayout, ChainsOfConvolutionsNeedNoTransposition) {
  const Graph graph = Changed(Chain("b = Relu(a)"), {Shape{1, 32, 32, 32}});
  EXPECT_EQ(Operators(graph), "ConstantOfShape ConstantOfShape last.Conv Relu last.Conv");
  const Node& first = graph.node(graph.order[2]);
  EXPECT_NE(first.FindAttribute("channels_first_input"), nullptr);  // the kernel turns the image around itself
  EXPECT_EQ(graph.value(first.outputs[0]).type.ToText(), "float[1,32,32,32]");
}

TEST(ChangeLayout, PassesThroughElementwiseOperators) {
  EXPECT_EQ(Between("c = Sigmoid(a) b = Mul(a, c)"), "Sigmoid Mul");
  EXPECT_EQ(Between("b = Mul(each, a)"), "Mul");
  EXPECT_EQ(Between("g = GlobalAveragePool(a) b = Mul(a, g)"), "ReduceMean Mul");
}

TEST(ChangeLayout, MapsAxes) {
  EXPECT_EQ(Between("b = Concat<axis = 1>(a, a)", "64"), "Concat");
  EXPECT_EQ(Between("c, d = Split<axis = -3>(a, halves) b = Concat<axis = 1>(d, c)"), "Split Concat");
  EXPECT_EQ(Between("b = Softmax<axis = 1>(a)"), "Softmax");
  EXPECT_EQ(Between("m = ReduceMax(a, image) b = Sub(a, m)"), "ReduceMax Sub");
  EXPECT_EQ(Between("b = Slice(a, image, halves, image)"), "Slice");
  EXPECT_EQ(Between("i = Compress(image, both) b = Slice(a, i, halves, image)"),
            "Compress Slice");  // who knows how many
  EXPECT_EQ(Between("b = Pad(a, pads)", "33"), "Pad");
  EXPECT_EQ(Between("b = Resize(a, , twice)"), "Resize");
}

// An operator whose versions differ by nothing in their spelling is the newest one, too.
TEST(ChangeLayout, MovesResizesOfOlderOpsets) {
  for (const char* opset : {"11", "13", "18", "19"}) {
    const std::string model = "<ir_version: 8, opset_import: [\"\" : " + std::string(opset) + "]> ";
    const std::string text = Chain("b = Resize(a, none, twice)");
    const std::string all = Operators(
        Changed(model + ReplaceAll(text, "int64[1] one", "float[0] none = {}, int64[1] one"), {Shape{1, 32, 32, 32}}));
    EXPECT_EQ(all, "ConstantOfShape ConstantOfShape last.Conv Resize last.Conv") << opset;
  }
}

TEST(ChangeLayout, KnowsImages) {
  EXPECT_EQ(Between("b = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(a)"), "last.MaxPool");
  EXPECT_EQ(Between("b = AveragePool<kernel_shape = [2, 2]>(a)"), "last.AveragePool");
  EXPECT_EQ(Between("b = DepthToSpace<blocksize = 2, mode = \"CRD\">(a)", "8"), "last.DepthToSpace");
  EXPECT_EQ(Between("b = DepthToSpace<blocksize = 2>(a)", "8"), "last.DepthToSpace");
  EXPECT_EQ(Between("b = SpaceToDepth<blocksize = 2>(a)", "128"), "last.SpaceToDepth");
}

TEST(ChangeLayout, ReadsShapesInTheAuthorsOrder) {
  EXPECT_EQ(
      Between("c = Shape<start = 1, end = 3>(a) d = Cast<to = 1>(c) e = ReduceMax<keepdims = 0>(d) b = Mul(a, e)"),
      "Shape Gather Cast ReduceMax Mul");
}

TEST(ChangeLayout, MovesReshapesOfTheSpatialAxes) {
  EXPECT_EQ(Between("c = Reshape(a, spatial) d = Relu(c) b = Reshape(d, square)"), "Reshape Relu Reshape");
}

TEST(ChangeLayout, UsesTheAuthorsTranspositions) {
  const std::string text =
      "g (float[1,16,16,32] x) => (float[1,16,16,32] y) <int64[4] s = {32, 32, 3, 3}> {"
      "w = ConstantOfShape<value = float {0.01}>(s) v = ConstantOfShape<value = float {0.02}>(s)"
      "a = Transpose<perm = [0, 3, 1, 2]>(x) b = Conv<pads = [1, 1, 1, 1]>(a, w) c = Relu(b)"
      "d = Conv<pads = [1, 1, 1, 1]>(c, v) y = Transpose<perm = [0, 2, 3, 1]>(d)}";
  EXPECT_EQ(Operators(Changed(text, {Shape{1, 16, 16, 32}})),
            "ConstantOfShape ConstantOfShape last.Conv Relu last.Conv");
}

TEST(ChangeLayout, ServesReadersOfBothLayoutsWithOneTransposition) {
  std::string text = Chain(
      "r = Relu(a) m = Conv<pads = [1, 1, 1, 1]>(r, w) b = Relu(m) p = Conv(b, w) q = Conv(b, v) u = Flatten(b) z = "
      "Flatten<axis = 2>(b)");
  text.replace(text.find("float[n,c,h,w] y"), 16,
               "float[n,c,h,w] y, float[n,c,h,w] p, float[n,c,h,w] q, float[1,k] u, float[32,l] z");
  EXPECT_EQ(Operators(Changed(text, {Shape{1, 32, 32, 32}})),
            "ConstantOfShape ConstantOfShape last.Conv Relu last.Conv Relu last.Conv last.Conv last.Conv "
            "Transpose Flatten Flatten");
}

TEST(ChangeLayout, KeepsSymbolicSizes) {
  const std::string text =
      "g (float[batch,8,h,w] x) => (float[batch,8,p,q] y) <int64[4] s = {8, 8, 3, 3}> {"
      "k = ConstantOfShape<value = float {0.1}>(s) a = Conv(x, k) b = Relu(a) y = Conv(b, k)}";
  const Graph graph = Changed(text, {Shape{2, 8, 9, 7}});
  EXPECT_NE(Operators(graph).find("last.Conv Relu last.Conv"), std::string::npos) << Operators(graph);
}

TEST(ChangeLayout, ChangesBodiesToo) {
  const std::string text = R"(g (float[1,16,20,20] x, bool c) => (float[1,16,16,16] y) <int64[4] s = {16, 16, 3, 3}> {
  w = ConstantOfShape<value = float {0.01}>(s)
  y = If(c) <then_branch = t () => (float[1,16,16,16] p) {
      p0 = Conv(x, w) p1 = Relu(p0) p = Conv(p1, w)
    }, else_branch = e () => (float[1,16,16,16] q) { q0 = Conv(x, w) q1 = Tanh(q0) q = Conv(q1, w) }>
})";
  const ops::Registry registry;
  Graph graph = PreparedGraph(text, registry);
  const Graph before = graph;
  PassContext context{registry};
  EXPECT_TRUE(RunVerified(kChangeLayout, graph, context));
  RandomTensors random;
  const Tensor x = random.Uniform(DType::kFloat, Shape{1, 16, 20, 20});
  for (const bool condition : {true, false})
    ExpectSameValues(graph, before, registry, {x, Tensor::Scalar<bool>(condition)});
}

// The graph as the pass leaves it is the graph it got.
void ExpectUnchanged(const std::string& text) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(text, registry);
  ops::Upgrade(graph, registry);
  const std::string before = ToText(graph);
  PassContext context{registry};
  EXPECT_FALSE(RunVerified(kChangeLayout, graph, context)) << ToText(graph);
  EXPECT_EQ(ToText(graph), before);
}

// Groups of 34 output channels would be computed as 48.
TEST(ChangeLayout, LeavesNarrowGroupsOfPointwiseConvolutionsAlone) {
  const auto operators = [](int channels) {
    const std::string c = std::to_string(channels), all = std::to_string(4 * channels);
    return Operators(Changed("g (float[1," + all + ",20,20] x) => (float[n,c,h,w] y) <int64[4] s = {" + all + ", " + c +
                                 ", 1, 1}> { w = ConstantOfShape<value = float {0.01}>(s)"
                                 "a = Conv<group = 4>(x, w) b = Conv<group = 4>(a, w) y = Conv<group = 4>(b, w) }",
                             {Shape{1, 4 * channels, 20, 20}}));
  };
  EXPECT_EQ(operators(34), "ConstantOfShape Conv Conv Conv");
  EXPECT_EQ(operators(64), "ConstantOfShape last.Conv last.Conv last.Conv");
}

TEST(ChangeLayout, LeavesALoneConvolutionAlone) {
  ExpectUnchanged(
      "g (float[1,64,256] x, float[256,256] m, float[64,64,3] w) => (float[1,64,256] y) {"
      "a = MatMul(x, m) b = Conv<pads = [1, 1]>(a, w) y = MatMul(b, m)}");
}

TEST(ChangeLayout, LeavesElementwiseGraphsAndOtherTypesAlone) {
  ExpectUnchanged("g (float[1,8,16,16] x) => (float[1,8,16,16] y) { a = Relu(x) y = Add(a, x)}");
  ExpectUnchanged(
      "g (double[1,8,16,16] x, double[8,8,3,3] w) => (double[1,8,12,12] y) {"
      "a = Conv(x, w) b = Relu(a) y = Conv(b, w)}");
}

}  // namespace
}  // namespace sardonyx::optimizer
