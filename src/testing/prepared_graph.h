// testing/prepared_graph.h - a graph from text as the optimizer sees it: versions resolved, types inferred.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "ir/text.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "testing/tolerance.h"

namespace sardonyx::testing {

inline Graph PreparedGraph(std::string_view text, const ops::Registry& registry) {
  Model model;
  model.graph = ParseGraph(text);
  ops::ResolveVersions(model.graph, registry, model);
  ops::Infer(model.graph, registry);
  return std::move(model.graph);
}

// Both graphs compute the same from `inputs`.
inline void ExpectSameValues(const Graph& got, const Graph& want, const ops::Registry& registry,
                             const std::vector<Value>& inputs) {
  const std::vector<Value> a = ops::EvaluateGraph(got, registry, inputs);
  const std::vector<Value> b = ops::EvaluateGraph(want, registry, inputs);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(AllClose(a[i], b[i])) << "output " << i;
}

}  // namespace sardonyx::testing
