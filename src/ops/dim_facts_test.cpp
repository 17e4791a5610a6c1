// ops/dim_facts_test.cpp - what holds for symbolic dimensions in every run, and the shapes that follow from it.
#include "ops/dim_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "testing/prepared_graph.h"

namespace sardonyx::ops {
namespace {

const Dim kN = Dim::Symbol("n"), kM = Dim::Symbol("m");

TEST(DimFacts, PartsOfOneThingMakeItAgain) {
  for (const std::int64_t cut : {1, 2, 512}) {
    EXPECT_EQ(JoinedSize(Min(cut, kN), Max(kN - cut, 0)), kN) << cut;
    EXPECT_EQ(JoinedSize(Max(kN * 2 - cut, 0), Min(cut, kN * 2)), kN * 2) << cut;
  }
  EXPECT_EQ(JoinedSize(Min(2, FloorDiv(kN + 1, 3)), Max(FloorDiv(kN + 1, 3) - 2, 0)), FloorDiv(kN + 1, 3));
  // Of other cuts, or of other things.
  EXPECT_EQ(JoinedSize(Min(1, kN), Max(kN - 2, 0)), Min(1, kN) + Max(kN - 2, 0));
  EXPECT_EQ(JoinedSize(Min(1, kN), Max(kM - 1, 0)), Min(1, kN) + Max(kM - 1, 0));
  EXPECT_EQ(JoinedSize(kN, 3), kN + 3);
  EXPECT_TRUE(JoinedSize(Dim(), kN).unknown());
}

TEST(DimFacts, TheLastOneOfAnAxisThatBeginsTwice) {
  EXPECT_EQ(WithoutLast(kN + Min(1, kN), 1), kN);
  EXPECT_EQ(WithoutLast(kN + 4, 1), kN + 3);
  EXPECT_EQ(WithoutLast(kN, 1), Max(kN - 1, 0));
  EXPECT_EQ(WithoutLast(kN + Min(2, kN), 2), Max(kN + Min(2, kN) - 2, 0));  // n = 1 leaves 0
}

TEST(DimFacts, ANumberThenTheShorterTextSaysMore) {
  EXPECT_EQ(Simpler(Max(kN - 1, 0) + 1, kN), kN);
  EXPECT_EQ(Simpler(kN, Max(kN - 1, 0) + 1), kN);
  EXPECT_EQ(Simpler(kN, 7), Dim(7));
  EXPECT_EQ(Simpler(Dim(), kN), kN);
  EXPECT_EQ(Simpler(kN, Dim()), kN);
}

// The size that inference says of the output, and the one that a run with this n gives.
void ExpectSizes(const std::string& nodes, const std::string& inferred, std::int64_t (*size)(std::int64_t)) {
  const std::string text =
      "g (float[1,1,n,2] x) => (float[a,b,?,2] y) <int64[1] two = {2}, int64[1] begin = {0}, int64[1] one = {1},"
      " int64[1] three = {3}, int64[1] last = {-1}, int64[1] end = {9223372036854775807}> { " +
      nodes + " }";
  const Registry registry;
  const Graph graph = testing::PreparedGraph(text, registry);
  EXPECT_EQ(graph.value(graph.outputs[0]).type.dims[2].ToText(), inferred) << text;
  for (const std::int64_t n : {1, 2, 3, 4, 7, 8}) {
    const std::vector<Value> inputs = {Value(Tensor(DType::kFloat, Shape{1, 1, n, 2}))};
    EXPECT_EQ(EvaluateGraph(graph, registry, inputs)[0].tensor().shape()[2], size(n)) << text << " n = " << n;
  }
}

TEST(DimFacts, ABoundBroadcastsWithWhatItBounds) {
  for (const Dim& size : {kN, kN * 2, kN + 1})
    for (const std::int64_t bound : {1, 30, 512}) EXPECT_EQ(BoundedBroadcast(Min(bound, size), size), size);
  EXPECT_TRUE(BoundedBroadcast(Min(30, kN), kM).unknown());
}

// T5 cuts a bias for all keys to the rows of the queries, x[-n:], and adds it to the scores of these rows.
TEST(DimFacts, TheLastElementsBroadcastWithWhatCountsThem) {
  const Dim last = LastElements(kN, kN + kM);
  EXPECT_EQ(last.ToText(), "last(n, m + n)");  // m + n of them if n is 0
  EXPECT_EQ(BoundedBroadcast(last, kN), kN);
  EXPECT_EQ(BoundedBroadcast(kN, last), kN);
  EXPECT_TRUE(BoundedBroadcast(kM, last).unknown());
  EXPECT_TRUE(BoundedBroadcast(last * last, kN).unknown());
  EXPECT_EQ(LastElements(kN, kN), kN);
  EXPECT_TRUE(LastElements(kN, kM).unknown());
  EXPECT_TRUE(LastElements(kN - 1, kN).unknown());
  const std::string count = "sx = Shape<start = 2, end = 3>(x) minus = Neg(sx) ";
  ExpectSizes(count + "y = Slice(x, minus, end, two)", "n", [](std::int64_t n) { return n; });
  ExpectSizes(count + "xx = Concat<axis = 2>(x, x) y = Slice(xx, minus, end, two)", "last(n, 2*n)",
              [](std::int64_t n) { return n; });
  ExpectSizes(count + "xx = Concat<axis = 2>(x, x) z = Slice(xx, minus, end, two) y = Add(x, z)", "n",
              [](std::int64_t n) { return n; });
  ExpectSizes(count + "half = Div(minus, two) from = Neg(half) y = Slice(x, begin, from, two)", "min(floor(n/2), n)",
              [](std::int64_t n) { return n / 2; });  // towards zero on both sides of it
}

// GPT-2 cuts the rows of the new tokens and the columns of all of them out of a square, for scores [rows, columns].
TEST(DimFacts, RowsOfASquareAreNamedWhereItsColumnsAre) {
  const Dim all = kN + kM, rows = Min(256, all) - Min(256, kM);
  const auto broadcast = [&](const std::vector<Dim>& part) {
    std::vector<Dim> out = {Dim(), BoundedBroadcast(part[1], all)};
    NameRowsOfSquare({kN, all}, part, out);
    return out;
  };
  EXPECT_EQ(broadcast({rows, Min(256, all)}), (std::vector<Dim>{kN, all}));
  EXPECT_TRUE(broadcast({rows, Min(512, all)})[0].unknown()) << "256 < m + n: there may be no row";
  EXPECT_TRUE(broadcast({rows, 1})[0].unknown());
  EXPECT_TRUE(broadcast({Min(1, all) - Min(1, kM), Min(1, all)})[0].unknown()) << "one column broadcasts";
  ExpectSizes(
      "sx = Shape<start = 2, end = 3>(x) xx = Concat<axis = 2>(x, x) twice = Add(sx, sx)"
      " y = Slice(xx, sx, twice, two)",
      "n", [](std::int64_t n) { return n; });
  ExpectSizes("sx = Shape<start = 2, end = 3>(x) twice = Add(sx, sx) y = Slice(x, sx, twice, two)", "min(2*n, n) - n",
              [](std::int64_t) { return std::int64_t{0}; });
}

TEST(DimFacts, SlicesInSteps) {
  using Size = std::int64_t;
  ExpectSizes("y = Slice(x, one, end, two, two)", "floor((max(0, n - 1) + 1)/2)", [](Size n) { return n / 2; });
  ExpectSizes("y = Slice(x, begin, last, two, three)", "floor((max(0, n - 1) + 2)/3)",
              [](Size n) { return (n + 1) / 3; });
  ExpectSizes("y = Slice(x, begin, three, two)", "min(3, n)", [](Size n) { return std::min<Size>(n, 3); });
  ExpectSizes("y = Slice(x, last, end, two)", "min(1, n)", [](Size n) { return std::min<Size>(n, 1); });
  ExpectSizes("y = Slice(x, one, last, two)", "max(0, n - 2)", [](Size n) { return std::max<Size>(n - 2, 0); });
}

TEST(DimFacts, SlicesThatAreJoined) {
  const auto same = [](std::int64_t n) { return n; };
  ExpectSizes("a = Slice(x, begin, one, two) b = Slice(x, one, end, two) y = Concat<axis = 2>(a, b)", "n", same);
  ExpectSizes(
      "a = Slice(x, begin, one, two) b = Slice(x, begin, last, two) c = Concat<axis = 2>(a, b) y = Concat<axis = "
      "0>(c, x)",
      "n", same);
  ExpectSizes("a = Slice(x, begin, one, two) b = Concat<axis = 2>(a, x) y = Slice(b, begin, last, two)", "n", same);
}

TEST(DimFacts, PoolsThatRoundUp) {
  ExpectSizes("y = AveragePool<kernel_shape = [2, 1], strides = [2, 1], ceil_mode = 1>(x)", "floor((n + 1)/2)",
              [](std::int64_t n) { return (n + 1) / 2; });
  // A window could begin behind the last element here: the size is not said.
  ExpectSizes("y = AveragePool<kernel_shape = [1, 1], strides = [3, 1], ceil_mode = 1>(x)", "?",
              [](std::int64_t n) { return (n + 2) / 3; });
}

}  // namespace
}  // namespace sardonyx::ops
