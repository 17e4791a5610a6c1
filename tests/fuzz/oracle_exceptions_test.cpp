// tests/fuzz/oracle_exceptions_test.cpp - what the table of exceptions names, and what lies on the way to an output.
#include "fuzz/oracle_exceptions.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/text.h"
#include "ops/schema/schema.h"

namespace sardonyx::fuzz {
namespace {

// The operator before the first output, "" if there is none.
std::string Before(std::string_view text, bool jumps = false) {
  const Graph graph = ParseGraph(text);
  const std::string found = ExceptionBefore(graph, graph.outputs[0], jumps);
  return found.substr(0, found.find(':'));
}

TEST(OracleExceptions, NameOperatorsOfOnnxOnceAndWithAReason) {
  std::set<std::string_view> names;
  for (const OracleException& row : OracleExceptions()) {
    EXPECT_TRUE(names.insert(row.op_type).second) << row.op_type;
    EXPECT_NE(ops::FindSchema("", row.op_type), nullptr) << row.op_type;
    EXPECT_FALSE(row.reason.empty()) << row.op_type;
    EXPECT_EQ(FindException(row.op_type), &row);
  }
  EXPECT_EQ(FindException("Relu"), nullptr);
}

TEST(OracleExceptions, LieOnTheWayToTheOutput) {
  EXPECT_EQ(Before("g (float[2, 2] x) => (float[2, 2] y) { a = MatMul(x, x) b = Log(a) y = Neg(b) }"), "MatMul");
  EXPECT_EQ(Before("g (float[2, 2] x) => (float[2, 2] y) { a = Softmax(x) b = MatMul(a, x) y = Neg(b) }"), "MatMul");
  // What computes the same in every form of a graph.
  EXPECT_EQ(Before("g (float[2, 2] x) => (float[2, 2] y) { a = Sqrt(x) b = Mul(a, x) c = Neg(b) y = Log(c) }"), "");
  // What another output needs.
  EXPECT_EQ(Before("g (float[2, 2] x) => (float[2, 2] y, float[2, 2] z) { z = MatMul(x, x) y = Log(x) }"), "");
  // An operator of another domain that has the name.
  EXPECT_EQ(Before("g (float[2, 2] x) => (float[2, 2] y) { y = other.domain.MatMul(x, x) }"), "");
}

TEST(OracleExceptions, SayTheReason) {
  const Graph graph = ParseGraph("g (float[2, 2] x) => (float[2, 2] y) { y = MatMul(x, x) }");
  EXPECT_EQ(ExceptionBefore(graph, graph.outputs[0], false), "MatMul: " + std::string(FindException("MatMul")->reason));
}

TEST(OracleExceptions, OnlyJumpsChangeShapes) {
  EXPECT_EQ(Before("g (float[2, 2] x) => (float[n] y) { a = ReduceSum<keepdims = 0>(x) y = Range(a, a, a) }", true),
            "");
  EXPECT_EQ(Before("g (float[2] x, float[2] z) => (int64[n] y) { a = Less(x, z) y = NonZero(a) }", true), "Less");
}

TEST(OracleExceptions, ACastJumpsToIntegersAndOverflowsInHalves) {
  EXPECT_EQ(Before("g (float[2] x) => (int64[2] y) { y = Cast<to = 7>(x) }", true), "Cast");
  EXPECT_EQ(Before("g (float[2] x) => (double[2] y) { y = Cast<to = 11>(x) }"), "");
  EXPECT_EQ(Before("g (float[2] x) => (float[2] y) { a = Cast<to = 10>(x) y = Cast<to = 1>(a) }"), "float16");
  EXPECT_EQ(Before("g (float[2] x) => (float[2] y) { a = Cast<to = 16>(x) y = Cast<to = 1>(a) }"), "float16");
  EXPECT_EQ(Before("g (float[2] x) => (float[2] y) { a = Cast<to = 10>(x) y = Cast<to = 1>(a) }", true), "");
  EXPECT_EQ(Before("g (float16[2] x) => (float16[2] y) { y = Neg(x) }"), "float16");
  EXPECT_EQ(Before("g (float16[2] x) => (float16[2] y) { y = Neg(x) }", true), "");
}

TEST(OracleExceptions, LieInBodies) {
  constexpr std::string_view kText = R"(g (bool c, float[2, 2] x) => (float[2, 2] y) {
    y = If(c) <then_branch = t () => (float[2, 2] a) { a = MatMul(x, x) },
               else_branch = e () => (float[2, 2] b) { b = Neg(x) }> })";
  EXPECT_EQ(Before(kText), "MatMul");
  EXPECT_EQ(Before(R"(g (bool c, float[2, 2] x) => (float[2, 2] y) {
    m = MatMul(x, x)
    y = If(c) <then_branch = t () => (float[2, 2] a) { a = Neg(m) },
               else_branch = e () => (float[2, 2] b) { b = Neg(x) }> })"),
            "MatMul");
}

}  // namespace
}  // namespace sardonyx::fuzz
