// optimizer/rules/rule_test.cpp - what the rule language matches, what it must not match, and the reasons it reports.
#include "optimizer/rules/rule.h"

#include <ctime>

#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::PreparedGraph;

// How often the rule fires; the explanations go to `explain`.
int Fires(const Rule& rule, std::string_view text, Explanation* explain = nullptr) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(text, registry);
  return ApplyRules({&rule, 1}, graph, registry, -1, explain);
}

constexpr Rule kSoftsign = {.name = "quotient", .match = "Div(x, Add(1, Abs(x)))", .replace = "Softsign(x)"};

std::string Quotient(std::string_view sum, std::string_view outputs = "float[2] y", std::string_view one = "{1}") {
  return "g (float[2] x, float[2] z) => (" + std::string(outputs) + ") <float one = " + std::string(one) +
         ">\n{\n  size = Abs(x)\n  sum = " + std::string(sum) + "\n  y = Div(x, sum)\n}";
}

TEST(Rule, TriesBothOrdersOfCommutativeOperands) {
  EXPECT_EQ(Fires(kSoftsign, Quotient("Add(one, size)")), 1);
  EXPECT_EQ(Fires(kSoftsign, Quotient("Add(size, one)")), 1);
}

TEST(Rule, KeepsTheOrderOfOtherOperands) {
  constexpr Rule kRule = {.name = "difference", .match = "Sub(x, 1)", .replace = "Relu(x)"};
  EXPECT_EQ(Fires(kRule, "g (float[2] x) => (float[2] y) <float one = {1}> { y = Sub(x, one) }"), 1);
  EXPECT_EQ(Fires(kRule, "g (float[2] x) => (float[2] y) <float one = {1}> { y = Sub(one, x) }"), 0);
}

TEST(Rule, CapturesOfOneNameMustAgree) {
  constexpr Rule kRule = {.name = "square", .match = "Mul(Abs(x), Abs(x))", .replace = "Mul(x, x)"};
  EXPECT_EQ(Fires(kRule, "g (float[2] x) => (float[2] y) { a = Abs(x) b = Abs(x) y = Mul(a, b) }"), 1);
  EXPECT_EQ(Fires(kRule, "g (float[2] x, float[2] z) => (float[2] y) { a = Abs(x) b = Abs(z) y = Mul(a, b) }"), 0);
}

TEST(Rule, EqualConstantsAreOneCapture) {
  constexpr Rule kRule = {.name = "twice", .match = "Add(Mul(x, c), c)", .replace = "Mul(x, c)"};
  const std::string head = "g (float[2] x) => (float[2] y) <float[2] c = {2, 3}, float[2] d = ";
  EXPECT_EQ(Fires(kRule, head + "{2, 3}> { a = Mul(x, c) y = Add(a, d) }"), 1);
  EXPECT_EQ(Fires(kRule, head + "{2, 4}> { a = Mul(x, c) y = Add(a, d) }"), 0);
}

TEST(Rule, ConstantsMatchWithinTheTolerance) {
  EXPECT_EQ(Fires(kSoftsign, Quotient("Add(one, size)", "float[2] y", "{1.000005}")), 1);
  EXPECT_EQ(Fires(kSoftsign, Quotient("Add(one, size)", "float[2] y", "{1.0001}")), 0);
  EXPECT_EQ(Fires(kSoftsign, Quotient("Add(z, size)")), 0) << "an input is no constant";
}

TEST(Rule, AttributesHaveTheirDefaults) {
  constexpr Rule kRule = {.name = "last", .match = "Softmax(x; axis=-1)", .replace = "Relu(x)"};
  EXPECT_EQ(Fires(kRule, "g (float[2,2] x) => (float[2,2] y) { y = Softmax(x) }"), 1);
  EXPECT_EQ(Fires(kRule, "g (float[2,2] x) => (float[2,2] y) { y = Softmax<axis = -1>(x) }"), 1);
  EXPECT_EQ(Fires(kRule, "g (float[2,2] x) => (float[2,2] y) { y = Softmax<axis = 0>(x) }"), 0);
}

TEST(Rule, HandsCapturedAttributesOn) {
  constexpr Rule kRule = {.name = "elu", .match = "LeakyRelu(x; alpha=$a)", .replace = "Elu(x; alpha=$a)"};
  const ops::Registry registry;
  Graph graph = PreparedGraph("g (float[2] x) => (float[2] y) { y = LeakyRelu<alpha = 0.5>(x) }", registry);
  EXPECT_EQ(ApplyRules({&kRule, 1}, graph, registry), 1);
  EXPECT_EQ(ToText(graph), "g (float[2] x) => (float[2] y) {\n  y = Elu <alpha = 0.5> (x)\n}\n");
}

TEST(Rule, InnerValuesUsedElsewhereOrAsOutputsDoNotMatch) {
  EXPECT_EQ(Fires(kSoftsign, Quotient("Add(one, size)", "float[2] y, float[2] sum")), 0);
  EXPECT_EQ(Fires(kSoftsign,
                  "g (float[2] x) => (float[2] y, float[2] w) <float one = {1}> {\n"
                  "  size = Abs(x) sum = Add(one, size) y = Div(x, sum) w = Neg(size) }"),
            0);
}

// What the rule says of a graph, of all candidates (`pass` names it) or of those that come near ("*").
std::string Explained(const Rule& rule, std::string_view text, const std::string& pass) {
  Explanation explanation(pass);
  explanation.Begin("rules");
  Fires(rule, text, &explanation);
  explanation.End("", {});
  return explanation.ToText();
}

TEST(Rule, ExplainsWhyItDidNotFire) {
  const std::string is_output = Quotient("Add(one, size)", "float[2] y, float[2] sum");
  for (const char* pass : {"*", "rules"}) {
    const std::string text = Explained(kSoftsign, is_output, pass);
    EXPECT_NE(text.find("'quotient' did not fire: 'sum' is a graph output"), std::string::npos) << text;
  }
  const std::string far = "g (float[2] x, float[2] z) => (float[2] y) { y = Div(x, z) }";
  EXPECT_NE(Explained(kSoftsign, far, "rules").find("'z' is not made by Add"), std::string::npos);
  EXPECT_EQ(Explained(kSoftsign, far, "*").find("not changed"), std::string::npos);
}

TEST(Rule, AReplacementOfAnotherTypeIsTakenBack) {
  constexpr Rule kRule = {.name = "cast", .match = "Abs(x)", .replace = "Cast(x; to=7)"};
  const ops::Registry registry;
  const std::string text = "g (float[2] x) => (float[2] y) { y = Abs(x) }";
  Graph graph = PreparedGraph(text, registry);
  EXPECT_EQ(ApplyRules({&kRule, 1}, graph, registry), 0);
  EXPECT_EQ(ToText(graph), "g (float[2] x) => (float[2] y) {\n  y = Abs(x)\n}\n");
  EXPECT_NE(Explained(kRule, text, "*").find("the replacement has another type"), std::string::npos);
}

// With x of rank 0, x + {1} has rank 1, but Softsign(x) has not.
TEST(Rule, ANumberWithAxesNeedsKnownRanks) {
  const auto quotient = [](const std::string& x, const std::string& one) {
    return "g (" + x + " x) => (" + x + " y) <" + one + "> { size = Abs(x) sum = Add(one, size) y = Div(x, sum) }";
  };
  EXPECT_EQ(Fires(kSoftsign, quotient("float[]", "float one = {1}")), 1);
  EXPECT_EQ(Fires(kSoftsign, quotient("float[]", "float[1] one = {1}")), 0);
  EXPECT_EQ(Fires(kSoftsign, quotient("float[n]", "float[1] one = {1}")), 1);
  EXPECT_EQ(Fires(kSoftsign,
                  "g (float[] x) => (float[m,n] y) <float[1,1] one = {1}> { size = Abs(x) sum = Add(one, "
                  "size) y = Div(x, sum) }"),
            0)
      << "the declared rank is the old result's";
}

constexpr Rule kHalfSum = {.name = "half of a sum", .match = "Mul(0.5, x, Add(1, Abs(x)))", .replace = "Relu(x)"};

TEST(Rule, FindsTheFactorsOfAChainInAnyOrderAndAssociation) {
  for (const char* product : {"p = Mul(x, half) y = Mul(p, s)", "p = Mul(half, s) y = Mul(x, p)",
                              "p = Mul(s, x) y = Mul(p, half)", "p = Mul(s, x) y = Mul(half, p)"})
    EXPECT_EQ(Fires(kHalfSum,
                    "g (float[2] x) => (float[2] y) <float one = {1}, float half = {0.5}> { a = Abs(x) "
                    "s = Add(a, one) " +
                        std::string(product) + "}"),
              1)
        << product;
}

TEST(Rule, AChainLeavesAnotherFactorOutside) {
  const std::string head =
      "g (float[2] x, float[2] z) => (float[2] y) <float one = {1}, float half = {0.5}> { a = Abs(x) s = Add(a, one) ";
  EXPECT_EQ(Fires(kHalfSum, head + "p = Mul(x, half) q = Mul(p, s) y = Mul(q, z) }"), 1);
  EXPECT_EQ(Fires(kHalfSum, head + "p = Mul(x, half) q = Mul(p, z) y = Mul(q, s) }"), 0) << "z is in the middle";
  EXPECT_EQ(Fires(kHalfSum, head + "p = Mul(z, half) y = Mul(p, s) }"), 0) << "another x";
}

// Each of n products is tried in a bounded number of ways, however long the chain is: these two could be read in
// millions of ways at every node.
TEST(Rule, LongChainsTakeTimeInProportionToTheirLength) {
  constexpr Rule kDeep = {
      .name = "deep", .match = "Mul(a, b, c, Mul(d, e, f, Mul(g, h, i, Mul(j, k, l, 0.5))))", .replace = "Relu(a)"};
  constexpr Rule kWide = {.name = "wide", .match = "Mul(Mul(a, b, c), Mul(d, e, f), Mul(g, h, 0.5))", .replace = "a"};
  std::string text = "g (float[2] x) => (float[2] y) { v0 = Mul(x, x) ";
  for (int i = 1; i < 300; ++i)
    text += "v" + std::to_string(i) + " = Mul(v" + std::to_string(i - 1) + ", v" + std::to_string(i / 2) + ") ";
  text += "y = Neg(v299) }";
  const ops::Registry registry;
  Graph graph = PreparedGraph(text, registry);
  const std::clock_t start = std::clock();
  EXPECT_EQ(ApplyRules({&kDeep, 1}, graph, registry), 0);
  EXPECT_EQ(ApplyRules({&kWide, 1}, graph, registry), 0);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 60) << "seconds of the processor";
}

TEST(Rule, TriesAlternativesAndTakesThemBack) {
  constexpr Rule kRule = {.name = "choice", .match = "Div(Abs(x) | Neg(x), Sqrt(x) | Abs(x))", .replace = "Relu(x)"};
  const auto fires = [&](const std::string& body) {
    return Fires(kRule, "g (float[2] x, float[2] z) => (float[2] y) {" + body + "}");
  };
  EXPECT_EQ(fires("a = Abs(x) b = Sqrt(x) y = Div(a, b)"), 1);
  EXPECT_EQ(fires("a = Neg(x) b = Abs(x) y = Div(a, b)"), 1);
  EXPECT_EQ(fires("a = Neg(x) b = Abs(z) y = Div(a, b)"), 0);
  EXPECT_EQ(fires("a = Exp(x) b = Abs(x) y = Div(a, b)"), 0);
}

TEST(Rule, APatternMayBeginWithAlternatives) {
  constexpr Rule kRule = {.name = "roots", .match = "y:(Abs(x) | Neg(x))", .replace = "$y(Relu(x))"};
  const ops::Registry registry;
  Graph graph = PreparedGraph("g (float[2] x) => (float[2] a, float[2] b) { a = Abs(x) b = Neg(x) }", registry);
  EXPECT_EQ(ApplyRules({&kRule, 1}, graph, registry, 2), 2);
  std::string operators;
  for (const NodeId id : graph.order) operators += graph.node(id).op_type + " ";
  EXPECT_EQ(operators, "Relu Abs Relu Neg ");
}

TEST(Rule, NodesMayBeMissing) {
  constexpr Rule kRule = {
      .name = "optional", .match = "Relu(Add?(Neg?(Abs(x)), bias))", .replace = "Clip(x, ?bias)", .when = [](Match& m) {
        return m.Has("x");
      }};
  const auto result = [&](const std::string& body) {
    const ops::Registry registry;
    Graph graph = PreparedGraph("g (float[2] x, float b) => (float[2] y) {" + body + "}", registry);
    ApplyRules({&kRule, 1}, graph, registry);
    const std::string text = ToText(graph);
    return text.substr(text.find("\n  ") + 3, text.rfind("\n}") - text.find("\n  ") - 3);
  };
  EXPECT_EQ(result("a = Abs(x) y = Relu(a)"), "y = Clip(x)");
  EXPECT_EQ(result("a = Abs(x) n = Neg(a) y = Relu(n)"), "y = Clip(x)");
  EXPECT_EQ(result("a = Abs(x) n = Neg(a) s = Add(b, n) y = Relu(s)"), "y = Clip(x, b)");
  EXPECT_EQ(result("a = Exp(x) y = Relu(a)"), "a = Exp(x)\n  y = Relu(a)");
}

TEST(Rule, TheLargestFormOfAPatternWins) {
  constexpr Rule kRule = {.name = "grows", .match = "Mul?(Neg?(Abs(x)), c)", .replace = "Sub(x, ?c)"};
  const std::string head = "g (float[2] x) => (float[2] y) <float c = {2}> {";
  EXPECT_EQ(Fires(kRule, head + "a = Abs(x) n = Neg(a) y = Mul(n, c) }"), 1);
}

TEST(Rule, AConditionChoosesBetweenTheOrdersOfOperands) {
  constexpr Rule kRule = {.name = "scaled", .match = "Mul(x, c)", .replace = "Pow(x, c)", .when = [](Match& m) {
                            return m.constant("c") != nullptr || m.No("c is not constant");
                          }};
  EXPECT_EQ(Fires(kRule, "g (float[2] x) => (float[2] y) <float c = {2}> { y = Mul(x, c) }"), 1);
  EXPECT_EQ(Fires(kRule, "g (float[2] x) => (float[2] y) <float c = {2}> { y = Mul(c, x) }"), 1);
  EXPECT_EQ(Fires(kRule, "g (float[2] x, float c) => (float[2] y) { y = Mul(c, x) }"), 0);
}

TEST(Rule, AConditionComputesConstantsForTheReplacement) {
  constexpr Rule kRule = {.name = "inverse", .match = "Div(x, c)", .replace = "Mul(x, c)", .when = [](Match& m) {
                            const auto c = m.scalar("c");
                            if (!c) return m.No("not constant");
                            m.SetConstant("c", Tensor::Scalar<float>(static_cast<float>(1 / *c)));
                            return true;
                          }};
  const ops::Registry registry;
  Graph graph = PreparedGraph("g (float[2] x) => (float[2] y) <float c = {4}> { y = Div(x, c) }", registry);
  EXPECT_EQ(ApplyRules({&kRule, 1}, graph, registry), 1);
  EXPECT_NE(ToText(graph).find("= {0.25}"), std::string::npos) << ToText(graph);
}

TEST(Rule, NamedNodesGiveTheirAttributesOn) {
  constexpr Rule kRule = {
      .name = "like", .match = "Relu(pool:(MaxPool(x) | AveragePool(x)))", .replace = "$pool(Relu(x); ceil_mode=1)"};
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[1,1,4] x) => (float[1,1,2] y) { p = AveragePool<kernel_shape = [2], strides = [2]>(x) y = Relu(p) }",
      registry);
  EXPECT_EQ(ApplyRules({&kRule, 1}, graph, registry, 1), 1);
  EXPECT_NE(ToText(graph).find("y = AveragePool <kernel_shape = [2], strides = [2], ceil_mode = 1> ("),
            std::string::npos)
      << ToText(graph);
}

TEST(Rule, ReadsAndMakesFurtherOutputs) {
  constexpr Rule kRule = {
      .name = "outputs", .match = "Mul(q:DynamicQuantizeLinear(x), q[2])", .replace = "DynamicQuantizeLinear(x)"};
  const char* kText = "g (float[2] x) => (uint8[2] y%) { q, s, z = DynamicQuantizeLinear(x) y = %(q, z) }";
  const auto fires = [&](std::string op, std::string outputs) {
    std::string text = kText;
    text.replace(text.rfind('%'), 1, op).replace(text.find('%'), 1, outputs);
    return Fires(kRule, text);
  };
  EXPECT_EQ(fires("Mul", ""), 1);
  EXPECT_EQ(fires("Mul", ", float s"), 0) << "its scale is an output";

  constexpr Rule kSum = {.name = "sum",
                         .match = "LayerNormalization(sum:Add(x, z), scale)",
                         .replace = "com.microsoft.SkipLayerNormalization(x, z, scale) -> _, _, _, sum"};
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[1,2,2] x, float[1,2,2] z, float[2] s) => (float[1,2,2] y, float[1,2,2] w) {\n"
      "a = Add(x, z) y = LayerNormalization(a, s) w = Neg(a) }",
      registry);
  EXPECT_EQ(ApplyRules({&kSum, 1}, graph, registry), 1);
  EXPECT_NE(ToText(graph).find("w = Neg(a)"), std::string::npos) << ToText(graph);
  EXPECT_NE(ToText(graph).find(", a = com.microsoft.SkipLayerNormalization(x, z, s)"), std::string::npos)
      << ToText(graph);
}

TEST(Rule, SharedValuesStayWhereARuleAllowsThem) {
  constexpr Rule kRule = {.name = "shares", .match = "Neg(Abs(x))", .replace = "Relu(x)", .shares = true};
  const ops::Registry registry;
  Graph graph =
      PreparedGraph("g (float[2] x) => (float[2] y, float[2] w) { a = Abs(x) y = Neg(a) w = Exp(a) }", registry);
  EXPECT_EQ(ApplyRules({&kRule, 1}, graph, registry), 1);
  EXPECT_EQ(graph.order.size(), 3u) << ToText(graph);
}

TEST(Rule, WhatIsLeftAloneMayGetTheNameOfAnOutput) {
  constexpr Rule kRule = {.name = "identity", .match = "Identity(x)", .replace = "x"};
  EXPECT_EQ(Fires(kRule, "g (float[2] x) => (float[2] y) { a = Abs(x) y = Identity(a) }"), 1);
  EXPECT_EQ(Fires(kRule, "g (float[2] x) => (float[2] y) { y = Identity(x) }"), 0) << "both names are the user's";
}

// The same parser runs in the compiler, so that none of these could stand in a rule.
TEST(Rule, MistakesInExpressionsAreFound) {
  EXPECT_THROW(ParseTerm("Add(x, y"), Error);
  EXPECT_THROW(ParseTerm("Add(x, Y)"), Error);
  EXPECT_THROW(ParseTerm("Mul(a, b, c, d, e)"), Error);
  EXPECT_THROW(ParseTerm("Add(x, d) where d = Neg(d)"), Error);
  EXPECT_THROW(ParseTerm("y:x"), Error);
  EXPECT_EQ(ParseTerm("0.79788456").number, 0.79788456);
  EXPECT_EQ(ParseTerm("-1.5e-3").number, -1.5e-3);
}

TEST(Rule, StopsAtTheLimit) {
  constexpr Rule kRule = {.name = "abs", .match = "Abs(x)", .replace = "Relu(x)"};
  const ops::Registry registry;
  Graph graph = PreparedGraph("g (float[2] x) => (float[2] y) { a = Abs(x) b = Abs(a) y = Abs(b) }", registry);
  EXPECT_EQ(ApplyRules({&kRule, 1}, graph, registry, 2), 2);
  EXPECT_EQ(ToText(graph), "g (float[2] x) => (float[2] y) {\n  a = Relu(x)\n  b = Relu(a)\n  y = Abs(b)\n}\n");
}

}  // namespace
}  // namespace sardonyx::optimizer
