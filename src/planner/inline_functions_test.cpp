// planner/inline_functions_test.cpp - calls become bodies: nested, with attributes, in subgraphs, and not endlessly.
#include "planner/inline_functions.h"

#include "testing/evaluate_op.h"
#include "testing/prepared_graph.h"

namespace sardonyx::planner {
namespace {

using ::sardonyx::testing::Elements;
using ::sardonyx::testing::Floats;

constexpr const char* kHeader = "<ir_version: 10, opset_import: [\"\": 21, \"my\": 1]>\n";
constexpr const char* kFunctionHeader = "\n<domain: \"my\", opset_import: [\"\": 21, \"my\": 1]>\n";

Graph Inlined(const std::string& text, const ops::Registry& registry) {
  const Model model = ParseModel(kHeader + text);
  Graph graph = model.graph;
  ops::ResolveVersions(graph, registry, model);
  InlineFunctions(graph, model, registry);
  ops::Infer(graph, registry);
  return graph;
}

std::vector<float> Compute(const Graph& graph, const ops::Registry& registry, std::vector<Value> inputs) {
  return Elements<float>(ops::EvaluateGraph(graph, registry, inputs)[0]);
}

TEST(InlineFunctions, NestedCallsOfOneFunctionKeepTheirNamesApart) {
  const ops::Registry registry;
  const Graph graph = Inlined(std::string("g (float[2] x) => (float[2] y) { a = my.Outer(x) y = my.Outer(a) }") +
                                  kFunctionHeader + "Outer (p) => (q) { t = my.Inner(p) q = my.Inner(t) }" +
                                  kFunctionHeader + "Inner (p) => (q) { t = Neg(p) q = Add(t, t) }",
                              registry);
  EXPECT_EQ(graph.order.size(), 8u) << ToText(graph);
  EXPECT_EQ(Compute(graph, registry, {Floats({1, -3})}), (std::vector<float>{16, -48}));
}

TEST(InlineFunctions, AttributesComeFromTheCallOrTheDefault) {
  const ops::Registry registry;
  const Graph graph =
      Inlined(std::string("g (float[1] x) => (float[1] y) { a = my.Leak<slope = 0.25>(x) y = my.Leak(a) }") +
                  kFunctionHeader + "Leak <slope: float = 0.5> (p) => (q) { q = LeakyRelu<alpha: float = @slope>(p) }",
              registry);
  EXPECT_EQ(Compute(graph, registry, {Floats({-8})}), (std::vector<float>{-1}));
}

TEST(InlineFunctions, AnAttributeThatIsNotGivenLeavesTheOperatorsDefault) {
  const ops::Registry registry;
  const Graph graph = Inlined(std::string("g (float[1] x) => (float[1] y) { y = my.Leak(x) }") + kFunctionHeader +
                                  "Leak <slope> (p) => (q) { q = LeakyRelu<alpha: float = @slope>(p) }",
                              registry);
  EXPECT_FLOAT_EQ(Compute(graph, registry, {Floats({-8})})[0], -0.08f);
}

TEST(InlineFunctions, RecursionIsAnErrorThatNamesTheFunction) {
  const ops::Registry registry;
  try {
    Inlined(std::string("g (float[1] x) => (float[1] y) { y = my.Self(x) }") + kFunctionHeader +
                "Self (p) => (q) { t = Neg(p) q = my.Self(t) }",
            registry);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidGraph);
    EXPECT_NE(std::string(error.what()).find("does 'Self' call itself?"), std::string::npos) << error.what();
  }
}

TEST(InlineFunctions, AnOutputThatIsAnInputBecomesAnIdentity) {
  const ops::Registry registry;
  const Graph graph = Inlined(std::string("g (float[2] x) => (float[2] y, float[2] z) { y, z = my.Both(x) }") +
                                  kFunctionHeader + "Both (p) => (p, q) { q = Neg(p) }",
                              registry);
  EXPECT_EQ(Compute(graph, registry, {Floats({1, -3})}), (std::vector<float>{1, -3}));
}

TEST(InlineFunctions, ABodyInAFunctionCapturesItsValues) {
  const ops::Registry registry;
  const std::string text = std::string(R"(g (bool c, float[2] x) => (float[2] y) { t = Exp(x) y = my.Choose(c, x) })") +
                           kFunctionHeader + R"(Choose (c, p) => (q) {
  t = Neg(p)
  q = If (c) <then_branch = a () => (float[2] r) { r = Add(t, p) }, else_branch = b () => (float[2] r) { r = Add(t, t) }>
})";
  const Graph graph = Inlined(text, registry);
  EXPECT_EQ(Compute(graph, registry, {Tensor::Of<bool>({true}, Shape{}), Floats({1, -3})}), (std::vector<float>{0, 0}));
  EXPECT_EQ(Compute(graph, registry, {Tensor::Of<bool>({false}, Shape{}), Floats({1, -3})}),
            (std::vector<float>{-2, 6}));
}

// The two arguments of the first call are one value, those of the second call have each other's names.
TEST(InlineFunctions, ABodyCapturesTheArgumentsOfItsCall) {
  const ops::Registry registry;
  const Graph graph = Inlined(std::string("g (float[1] a, float[1] b, bool yes) => (float[1] y) { "
                                          "s = my.Minus(a, a, yes) d = my.Minus(b, a, yes) y = Add(s, d) }") +
                                  kFunctionHeader +
                                  "Minus (a, b, c) => (q) { q = If (c) <then_branch = t () => (float[1] r) { "
                                  "r = If (c) <then_branch = t2 () => (float[1] r2) { r2 = Sub(a, b) }, "
                                  "else_branch = e2 () => (float[1] r2) { r2 = Neg(b) }> }, "
                                  "else_branch = e () => (float[1] r) { a_1 = Add(a, b) r = Identity(a_1) }> }",
                              registry);
  const auto run = [&](bool yes) {
    std::vector<Value> inputs{Floats({5}), Floats({7})};
    inputs.emplace_back(Tensor::Scalar<bool>(yes));
    return Compute(graph, registry, std::move(inputs));
  };
  EXPECT_EQ(run(true), (std::vector<float>{2})) << ToText(graph);
  EXPECT_EQ(run(false), (std::vector<float>{22})) << ToText(graph);
}

TEST(InlineFunctions, AnAttributeThatABodysOperatorDoesNotKnowIsAnError) {
  const ops::Registry registry;
  const std::string call = "g (float[2,3] x) => (y) { y = my.F<unread = 1>(x) }",
                    none = "g (float[2] x) => (y) { y = Neg(x) }";
  const auto function = [](const std::string& node) {
    return std::string(kFunctionHeader) + "F (a) => (b) { [inner] b = " + node + " }";
  };
  // A function need not read what its caller gives.
  EXPECT_EQ(Inlined(call + function("Softmax<axis = 1>(a)"), registry).order.size(), 1U);
  try {
    Inlined(call + function("Softmax<__flatten = 1>(a)"), registry);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("node 'inner' (Softmax): unknown attribute '__flatten'"), std::string::npos) << message;
  }
  // As in ONNX Runtime nobody looks at a function that is not called.
  EXPECT_EQ(Inlined(none + function("Softmax<__flatten = 1>(a)"), registry).order.size(), 1U);
}

TEST(InlineFunctions, NoCallWithMoreInputsThanTheFunctionTakes) {
  const ops::Registry registry;
  EXPECT_THROW(Inlined(std::string("g (float[1] x) => (float[1] y) { y = my.F(x, x) }") + kFunctionHeader +
                           "F (p) => (q) { q = Neg(p) }",
                       registry),
               Error);
}

}  // namespace
}  // namespace sardonyx::planner
