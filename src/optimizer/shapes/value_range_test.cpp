// optimizer/shapes/value_range_test.cpp - values that may contain an infinity, such as masks that may hide a whole row,
// and values that are finite.
#include "optimizer/shapes/value_range.h"

#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

bool MayBe(const std::string& body) {
  const ops::Registry registry;
  const Graph graph = testing::PreparedGraph(
      "g (float[2] x, bool[2] b, int64[2] i) => (float[2] y) <float one = {1}, float minus = {-10000},"
      " float lowest = {-3.4028235e38}, float inf = {-inf}, float[2] mask = {0, -inf}> { " +
          body + " }",
      registry);
  return MayBeNegativeInfinity(graph, graph.outputs[0]);
}

TEST(ValueRange, FindsWhereAnInfinityMayComeFrom) {
  EXPECT_TRUE(MayBe("y = Neg(x)")) << "an input";
  EXPECT_TRUE(MayBe("y = Where(b, one, inf)"));
  EXPECT_TRUE(MayBe("y = Where(b, mask, one)"));
  EXPECT_TRUE(MayBe("a = Cast<to = 1>(b) y = Log(a)"));
  EXPECT_TRUE(MayBe("c = Cast<to = 1>(i) a = Sub(one, c) y = Mul(a, lowest)")) << "an integer beside 0 and 1";
  EXPECT_TRUE(MayBe("a = Where(b, one, lowest) y = Add(a, a)")) << "twice the lowest number";
}
TEST(ValueRange, KnowsWhatIsFinite) {
  EXPECT_FALSE(MayBe("c = Cast<to = 1>(b) a = Sub(one, c) y = Mul(a, lowest)"));
  EXPECT_FALSE(MayBe("c = Cast<to = 1>(i) a = Sub(one, c) y = Mul(a, minus)"));
  EXPECT_FALSE(MayBe("y = Where(b, one, lowest)"));
  EXPECT_FALSE(MayBe("a = Softmax(x) y = Mul(a, minus)")) << "what is computed from data is ordinary";
  EXPECT_FALSE(MayBe("a = Where(b, one, lowest) y = Sub(one, a)"));
}

}  // namespace
}  // namespace sardonyx::optimizer
