// optimizer/passes/fuse/fuse_distance_test.cpp - a loop over points that computes distances becomes CDist; other loops
// stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

std::string Loop(std::string_view difference, std::string_view rest, std::string_view outputs = "float[M,N] y",
                 std::string_view attributes = "", int axes = 1) {
  return "distances (float[N,3] a, float[M,3] b) => (" + std::string(outputs) + ") {\n  same, " + std::string(rest) +
         " = Scan <num_scan_inputs = 1" + std::string(attributes) + R"(, body = each (float[N,3] s, float[3] p) =>
    (float[N,3] kept, float[N] out) <int64[1] axes = {)" +
         std::to_string(axes) + R"(}> {
    kept = Identity(s)
    d = )" +
         std::string(difference) + R"(
    sum = ReduceSumSquare <keepdims = 0> (d, axes)
    out = Identity(sum)
  }> (a, b)
)";
}

const std::vector<Value> kInputs = {
    Tensor::Of<float>({1, 2, 3, -1, 0, 4}, Shape{2, 3}),
    Tensor::Of<float>({0, 0, 0, 1, 2, 3, 5, -6, 7}, Shape{3, 3}),
};

void ExpectFused(const std::string& text, std::string_view found, std::size_t nodes = 1) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(text, registry);
  const Graph before = graph;
  PassContext context{registry};
  EXPECT_TRUE(RunVerified(kFuseDistance, graph, context));
  ASSERT_EQ(graph.order.size(), nodes) << ToText(graph);
  EXPECT_NE(ToText(graph).find(found), std::string::npos) << ToText(graph);
  ExpectSameValues(graph, before, registry, kInputs);
}

void ExpectLeft(const std::string& text) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(text, registry);
  const std::string before = ToText(graph);
  PassContext context{registry};
  EXPECT_FALSE(RunVerified(kFuseDistance, graph, context));
  EXPECT_EQ(ToText(graph), before);
}

TEST(FuseDistance, OfALoopOverPointsInEitherOrderOfTheDifference) {
  ExpectFused(Loop("Sub(s, p)", "y") + "}", "(b, a)");
  ExpectFused(Loop("Sub(p, s)", "y") + "}", "(b, a)");
}

TEST(FuseDistance, ATranspositionBehindItSwapsTheOperands) {
  ExpectFused(Loop("Sub(s, p)", "z", "float[N,M] y") + "  y = Transpose <perm = [1, 0]> (z)\n}", "(a, b)");
}

TEST(FuseDistance, WhoReadsTheStateReadsThePoints) {
  ExpectFused(Loop("Sub(s, p)", "y", "float[M,N] y, float[N,3] same") + "}", "same = Identity(a)", 2);
  ExpectFused(Loop("Sub(s, p)", "y", "float[M,N] y, float[N,3] n") + "  n = Neg(same)\n}", "n = Neg(a)", 2);
}

TEST(FuseDistance, LeavesOtherLoopsAlone) {
  ExpectLeft(Loop("Add(s, p)", "y") + "}");
  ExpectLeft(Loop("Sub(s, s)", "y") + "}");
  ExpectLeft(Loop("Sub(s, p)", "y", "float[M,N] y", ", scan_input_directions = [1]") + "}");
  std::string columns = Loop("Sub(s, p)", "y", "float[M,3] y", "", 0) + "}";
  columns.replace(columns.find("float[N] out"), 12, "float[3] out");
  ExpectLeft(columns);
}

}  // namespace
}  // namespace sardonyx::optimizer
