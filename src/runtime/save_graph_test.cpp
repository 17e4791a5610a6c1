// runtime/save_graph_test.cpp - opsets, domains and names of saved models, which can be loaded again.
#include <gtest/gtest.h>

#include <filesystem>

#include "ir/text.h"
#include "model/load.h"
#include "runtime/build.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/evaluate_op.h"
#include "testing/selective_provider.h"

namespace sardonyx::runtime {
namespace {

using ::sardonyx::testing::Elements;
using ::sardonyx::testing::Floats;

std::unique_ptr<Session> Open(Model model, SessionOptions options = {}) {
  return Session::FromModel(testing::TestEnvironment(), std::make_shared<Model>(std::move(model)), std::move(options));
}

// What a session of the level saves.
Model Saved(const std::string& text, OptimizationLevel level) {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("sdx_save_graph_test.onnx");
  SessionOptions options;
  options.optimization_level = level;
  options.optimized_model_path = path.string();
  Open(ParseModel(text), options);
  Model model = model::LoadFile(path.string());
  std::filesystem::remove(path);
  return model;
}

const Node& OnlyNode(const Model& model) {
  EXPECT_EQ(model.graph.order.size(), 1u) << ToText(model);
  return model.graph.node(model.graph.order[0]);
}

std::string Product(const std::string& activation) {
  return "<ir_version: 8, opset_import: [\"\": 17]> g (float[2,2] x) => (float[2,2] y)"
         "<float[2,2] w = {1, -2, 3, -4}, float[2] b = {-1, 9}> { p = Gemm(x, w, b) y = " +
         activation + "(p) }";
}

TEST(SaveGraph, ActivationsThatOnnxRuntimeLacksAreInOurDomain) {
  for (const auto& [activation, domain] : {std::pair("Relu", "com.microsoft"), std::pair("HardSwish", "ai.sardonyx"),
                                           std::pair("Tanh", "com.microsoft"), std::pair("Selu", "com.microsoft")}) {
    Model model = Saved(Product(activation), OptimizationLevel::kExtended);
    EXPECT_EQ(OnlyNode(model).domain, domain) << activation;
    EXPECT_EQ(OnlyNode(model).op_type, "FusedGemm");
    EXPECT_EQ(model.graph.OpsetVersion(domain), 1) << activation;
    const std::vector<std::pair<std::string, Value>> inputs = {{"x", Tensor::Of<float>({1, 2, -3, 4}, Shape{2, 2})}};
    const auto want = Open(ParseModel(Product(activation)))->Run(RunOptions(), inputs, std::vector<std::string>{"y"});
    const auto got = Open(std::move(model))->Run(RunOptions(), inputs, std::vector<std::string>{"y"});
    EXPECT_EQ(Elements<float>(got[0]), Elements<float>(want[0])) << activation;
  }
}

TEST(SaveGraph, KeepsTheAuthorsOpsetWhereItSaysTheSame) {
  const auto opset = [](const std::string& nodes, OptimizationLevel level) {
    const std::string text =
        "<ir_version: 8, opset_import: [\"\": 13]> g (float[2,3] x) => (float[3,2] y) { " + nodes + " }";
    return Saved(text, level).graph.OpsetVersion("");
  };
  const std::string transpose = "y = Transpose<perm = [1, 0]>(x)";  // version 25 adds element types
  EXPECT_EQ(opset(transpose, OptimizationLevel::kExtended), 13);
  EXPECT_EQ(opset(transpose, OptimizationLevel::kBasic), 13);
  // ReduceMean has its axes as an input since version 18, whose spelling the extended level uses.
  const std::string mean = "m = ReduceMean<axes = [1]>(x) s = Sub(x, m) y = Transpose<perm = [1, 0]>(s)";
  EXPECT_EQ(opset(mean, OptimizationLevel::kExtended), 18);
  EXPECT_EQ(opset(mean, OptimizationLevel::kBasic), 13);
}

// "m" in the branch is another value than the graph's, and the inner branch reads the branch's.
TEST(SaveGraph, ValuesOfBodiesHaveNamesOfTheirOwn) {
  const Model model = Saved(
      "<ir_version: 8, opset_import: [\"\": 17]> g (bool c, float[2] x) => (float[2] y, float[2] m) { m = Neg(x) y = If"
      " <then_branch = t () => (float[2] r) { m = Exp(x) r = If <then_branch = u () => (float[2] s) { s = Abs(m) },"
      " else_branch = v () => (float[2] w) { w = Neg(m) }> (c) }, else_branch = e () => (float[2] q) { q = Abs(x) }> "
      "(c) }",
      OptimizationLevel::kBasic);
  const std::string text = ToText(model);
  EXPECT_NE(text.find("m_1 = Exp(x)"), std::string::npos) << text;
  EXPECT_NE(text.find("Abs(m_1)"), std::string::npos) << text;
  EXPECT_NE(text.find("Neg(m_1)"), std::string::npos) << text;
  EXPECT_NE(text.find("m = Neg(x)"), std::string::npos) << text;
}

// Groups whose provider makes no context nodes stand in the written model as what they were.
TEST(ContextModel, HoldsTheNodesOfGroupsWithoutContexts) {
  const Model model = ParseModel(R"(
<ir_version: 8, opset_import: ["" : 12]>
g (bool c, float[N] x) => (float[N] y) <float[1] w = {3}> {
  a = Add(x, w)  b = Mul(a, a)  s = Abs(b)
  y = If(c) <then_branch = t () => (float[N] r) { q = Add(s, b)  r = Relu(q) },
             else_branch = e () => (float[N] z) { z = Neg(s) }>
})");
  const auto& environment = testing::TestEnvironment();
  SessionOptions options;
  options.providers = {{testing::kSelectiveName, {{"fuse", "1"}}}};
  providers::ProviderSet set = MakeProviders(*environment, options, Logger());
  Model written;
  BuildGraph(*environment, model, options, set, Logger(), &written);
  EXPECT_EQ(set.compiled.size(), 2u);
  const std::string text = ToText(written);
  EXPECT_EQ(text.find(testing::kSelectiveName), std::string::npos) << text;
  const std::vector<std::pair<std::string, Value>> inputs = {{"c", Tensor::Of<bool>({true}, Shape{})},
                                                             {"x", Tensor::Of<float>({1, 2}, Shape{2})}};
  const auto want = Open(model)->Run(RunOptions(), inputs, std::vector<std::string>{"y"});
  const auto got = Open(std::move(written))->Run(RunOptions(), inputs, std::vector<std::string>{"y"});
  EXPECT_EQ(Elements<float>(got[0]), Elements<float>(want[0]));
}

TEST(SaveGraph, RefusesTheDomainOfANewerVersion) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\": 17, \"ai.sardonyx\": 2]>"
      "g (float[2,2] x) => (float[2,2] y) { y = ai.sardonyx.FusedMatMul(x, x) }";
  try {
    Open(ParseModel(text));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidGraph);
    for (const char* part : {"version 1 to 1 of domain 'ai.sardonyx', found 2", "newer Sardonyx"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sardonyx::runtime
