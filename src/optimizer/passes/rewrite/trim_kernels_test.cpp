// optimizer/passes/rewrite/trim_kernels_test.cpp - taps that read nothing but padding, and those that may not go.
#include <random>

#include "optimizer/passes/passes.h"
#include "testing/pass_example.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::OperatorsAfter;

const testing::PassExample kExample("trim_kernels",
                                    {.changed = "g (float[1,1,4] x) => (float[1,1,4] y) <float[1,1,3] w = {1, 2, 3}> "
                                                "{ y = Conv<dilations = [4], pads = [4, 4]>(x, w) }",
                                     .left = "g (float[1,1,n] x) => (float[1,1,m] y) <float[1,1,3] w = {1, 2, 3}> "
                                             "{ y = Conv<dilations = [4], pads = [4, 4]>(x, w) }",
                                     .reasons = {"(Conv, output 'y')", "the size of the image is not known"}});

template <typename T>
Tensor Image(const Shape& shape) {
  Tensor x(kDTypeOf<T>, shape);
  std::mt19937 engine(1);
  for (std::int64_t i = 0; i < x.count(); ++i) x.template data<T>()[i] = static_cast<T>(engine() % 100);
  return x;
}

// The shape of the weights after the pass, given those of image and weights; values must not change.
std::string Trimmed(const std::string& attributes, const Shape& x, const Shape& w, const std::string& group = "1") {
  const auto text = [](const Shape& s) {
    std::string dims;
    for (const std::int64_t dim : s) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    return "[" + dims + "]";
  };
  std::string numbers;
  for (std::int64_t i = 0; i < ElementCount(w); ++i) numbers += (i == 0 ? "" : ", ") + std::to_string(i % 13 - 6);
  const std::string graph = "<ir_version: 8, opset_import: [\"\" : 18]> g (float" + text(x) +
                            " x) => (float y) <float" + text(w) + " w = {" + numbers + "}> { y = Conv<" + attributes +
                            ", group = " + group + ">(x, w) }";
  EXPECT_EQ(OperatorsAfter(graph, {&kTrimKernels}, {{Image<float>(x)}}), "Conv");
  const ops::Registry registry;
  Graph after = GraphOf(graph, registry);
  ops::Upgrade(after, registry);
  ops::Infer(after, registry);
  PassContext context{registry};
  RunVerified(kTrimKernels, after, context);
  return text(after.value(after.node(after.value(*after.Find("y")).producer).inputs[1]).constant()->shape());
}

TEST(TrimKernels, TakesAwayWhatReadsPaddingAlone) {
  const Shape w{2, 3, 3, 3};
  EXPECT_EQ(Trimmed("dilations = [24, 24], pads = [24, 24, 24, 24]", {1, 3, 16, 16}, w), "[2,3,1,1]");
  EXPECT_EQ(Trimmed("dilations = [16, 15], pads = [16, 15, 16, 15]", {2, 3, 16, 16}, w), "[2,3,1,3]");
  EXPECT_EQ(Trimmed("dilations = [5, 1], pads = [5, 1, 0, 1]", {1, 3, 9, 4}, w), "[2,3,2,3]");
  EXPECT_EQ(Trimmed("pads = [2, 2, 1, 0]", {1, 3, 1, 9}, w), "[2,3,2,3]");
  EXPECT_EQ(Trimmed("strides = [3, 2], dilations = [4, 1], pads = [4, 0, 4, 0]", {1, 3, 3, 7}, w), "[2,3,1,3]");
  EXPECT_EQ(Trimmed("dilations = [2, 2], pads = [2, 2, 2, 2]", {1, 3, 3, 3}, w), "[2,3,3,3]");
  EXPECT_EQ(Trimmed("dilations = [9, 9], pads = [9, 9, 9, 9]", {1, 4, 8, 8}, {4, 1, 3, 3}, "4"), "[4,1,1,1]");
  EXPECT_EQ(Trimmed("dilations = [2, 9, 2], pads = [2, 9, 2, 2, 9, 2]", {1, 2, 3, 8, 1}, {3, 2, 3, 3, 3}),
            "[3,2,3,1,1]");
}

TEST(TrimKernels, LeavesPadsThatAreNotNegative) {
  EXPECT_EQ(Trimmed("dilations = [1], pads = [0, 5]", {1, 1, 4}, {1, 1, 7}), "[1,1,4]");
  EXPECT_EQ(Trimmed("dilations = [3], pads = [5, 5], strides = [9]", {1, 1, 3}, {1, 1, 3}), "[1,1,2]");
}

TEST(TrimKernels, TakesIntegersToo) {
  const std::string body = " <int8[1,1,3] w = {1, -2, 3}, uint8 zero = {9}, float s = {0.5}, int8 wz = {0}> ";
  const std::vector<std::vector<Value>> runs = {{Image<std::uint8_t>({1, 1, 4})}};
  for (const std::string node : {"QLinearConv<dilations = [4], pads = [4, 4]>(x, s, zero, w, s, wz, s, zero)",
                                 "ConvInteger<dilations = [4], pads = [4, 4]>(x, w, zero)"}) {
    const std::string type = node.starts_with("Q") ? "uint8" : "int32", name = node.substr(0, node.find('<'));
    const std::string graph = "<ir_version: 8, opset_import: [\"\" : 18]> g (uint8[1,1,4] x) => (" + type +
                              "[1,1,4] y)" + body + "{ y = " + node + " }";
    EXPECT_EQ(OperatorsAfter(graph, {&kTrimKernels}, runs), name);
    const ops::Registry registry;
    Graph after = GraphOf(graph, registry);
    ops::Infer(after, registry);
    EXPECT_EQ(ApplyRules(kTrimKernels.rules, after, registry), 1);
  }
}

TEST(TrimKernels, LeavesWeightsThatAreNotFinite) {
  const ops::Registry registry;
  for (const bool is_finite : {true, false}) {
    Graph graph =
        GraphOf(std::string("<ir_version: 8, opset_import: [\"\" : 18]> g (float[1,1,4] x) => (float[1,1,4] y) "
                            "<float[1,1,3] w = {1, 2, ") +
                    (is_finite ? "3" : "inf") + "}> { y = Conv<dilations = [4], pads = [4, 4]>(x, w) }",
                registry);
    ops::Infer(graph, registry);
    EXPECT_EQ(ApplyRules(kTrimKernels.rules, graph, registry), is_finite ? 1 : 0);
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
