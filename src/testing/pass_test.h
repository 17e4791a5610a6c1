// testing/pass_test.h - what tests of passes share: graphs from text, passes by name in both stages, and the operators
// that are left.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ops/upgrade.h"
#include "optimizer/passes/passes.h"
#include "optimizer/pipeline.h"
#include "testing/prepared_graph.h"

namespace sardonyx::testing {

// The operators of a graph in order, those of bodies not included.
inline std::string Operators(const Graph& graph) {
  std::string names;
  for (const NodeId id : graph.order) names += (names.empty() ? "" : " ") + graph.node(id).op_type;
  return names;
}

// A graph from the text of a graph or of a model with its opset, in the author's spelling.
inline Graph GraphOf(std::string_view text, const ops::Registry& registry) {
  if (text.substr(0, 1) != "<") return PreparedGraph(text, registry);
  Model model = ParseModel(text);
  ops::ResolveVersions(model.graph, registry, model);
  ops::Infer(model.graph, registry);
  return std::move(model.graph);
}

// What a session does to a graph before it runs.
inline void RunPipeline(Graph& graph, const ops::Registry& registry, optimizer::OptimizeOptions options) {
  options.checks_reports = true;
  optimizer::Optimize(graph, optimizer::Stage::kBeforeUpgrade, registry, options);
  ops::Upgrade(graph, registry);
  optimizer::Optimize(graph, optimizer::Stage::kAfterUpgrade, registry, options);
}

// The operators left by the passes, which must not change the values.
inline std::string OperatorsAfter(std::string_view text, const std::vector<const optimizer::Pass*>& passes,
                                  const std::vector<std::vector<Value>>& runs) {
  const ops::Registry registry;
  Graph graph = GraphOf(text, registry);
  ops::Upgrade(graph, registry);
  ops::Infer(graph, registry);
  const Graph before = graph;
  optimizer::PassContext context{registry};
  context.checks_reports = true;
  for (const optimizer::Pass* pass : passes) {
    optimizer::RunVerified(*pass, graph, context);
  }
  for (const std::vector<Value>& inputs : runs) ExpectSameValues(graph, before, registry, inputs);
  return Operators(graph);
}

}  // namespace sardonyx::testing
