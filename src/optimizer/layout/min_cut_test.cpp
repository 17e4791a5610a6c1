// optimizer/layout/min_cut_test.cpp - minimum cuts against every possible cut of small networks.
#include "optimizer/layout/min_cut.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sardonyx::optimizer {
namespace {

struct Edge {
  int from, to;
  double capacity;
};

double Cost(const std::vector<Edge>& edges, const std::vector<char>& sink_side) {
  double cost = 0;
  for (const Edge& e : edges)
    if (!sink_side[static_cast<std::size_t>(e.from)] && sink_side[static_cast<std::size_t>(e.to)]) cost += e.capacity;
  return cost;
}

TEST(MinCut, CostsTheLeastOfAllCuts) {
  unsigned state = 12345;
  const auto next = [&](unsigned below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  for (int round = 0; round < 200; ++round) {
    constexpr int kNodes = 8;
    MinCut cut;
    for (int i = 2; i < kNodes; ++i) cut.AddNode();
    std::vector<Edge> edges;
    for (int i = 0; i < 20; ++i) {
      edges.push_back({static_cast<int>(next(kNodes)), static_cast<int>(next(kNodes)), static_cast<double>(next(10))});
      cut.AddEdge(edges.back().from, edges.back().to, edges.back().capacity);
    }
    const std::vector<char> got = cut.Solve();
    ASSERT_FALSE(got[MinCut::kSource]);
    ASSERT_TRUE(got[MinCut::kSink]);
    double least = MinCut::kForbidden;
    for (unsigned mask = 0; mask < 1u << (kNodes - 2); ++mask) {
      std::vector<char> side = {0, 1};
      for (int i = 2; i < kNodes; ++i) side.push_back(static_cast<char>(mask >> (i - 2) & 1));
      least = std::min(least, Cost(edges, side));
    }
    EXPECT_EQ(Cost(edges, got), least) << "round " << round;
  }
}

TEST(MinCut, LeavesWhatCostsTheSameWithTheSource) {
  MinCut cut;
  const int a = cut.AddNode(), b = cut.AddNode();
  cut.AddEdge(a, b, 3);
  cut.AddEdge(b, a, 3);
  EXPECT_EQ(cut.Solve(), (std::vector<char>{0, 1, 0, 0}));
}

}  // namespace
}  // namespace sardonyx::optimizer
