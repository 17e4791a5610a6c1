// optimizer/rules/rule_test.cpp - what the rule language matches, what it must not, and what it says about it.
#include "optimizer/rules/rule.h"

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

TEST(Rule, StopsAtTheLimit) {
  constexpr Rule kRule = {.name = "abs", .match = "Abs(x)", .replace = "Relu(x)"};
  const ops::Registry registry;
  Graph graph = PreparedGraph("g (float[2] x) => (float[2] y) { a = Abs(x) b = Abs(a) y = Abs(b) }", registry);
  EXPECT_EQ(ApplyRules({&kRule, 1}, graph, registry, 2), 2);
  EXPECT_EQ(ToText(graph), "g (float[2] x) => (float[2] y) {\n  a = Relu(x)\n  b = Relu(a)\n  y = Abs(b)\n}\n");
}

}  // namespace
}  // namespace sardonyx::optimizer
