// capi/model_edit/optimize.cpp - the optimizer's passes on a model in memory, without a session.
#include <utility>

#include "capi/model_edit/edited_model.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/upgrade.h"
#include "planner/inline_functions.h"
#include "runtime/save_graph.h"

namespace sardonyx::capi {

void OptimizeModel(SardonyxModel& edited, const optimizer::OptimizeOptions& options, bool for_onnx_runtime) {
  edited.Finish();
  const ops::Registry registry;
  Graph graph = edited.model.graph;
  ops::ResolveVersions(graph, registry, edited.model, ops::UnknownOperators::kLeftAlone);
  planner::InlineFunctions(graph, edited.model, registry);
  ops::Infer(graph, registry);
  if (options.level >= optimizer::Level::kBasic)
    optimizer::Optimize(graph, optimizer::Stage::kBeforeUpgrade, registry, options);
  if (for_onnx_runtime) {
    ops::Upgrade(graph, registry);
    optimizer::OptimizeOptions all = options;
    all.level = optimizer::Level::kExtended;
    optimizer::Optimize(graph, optimizer::Stage::kForOnnxRuntime, registry, all);
  }
  edited.model = runtime::SavedModel(graph, edited.model, for_onnx_runtime, registry);
  edited.NumberGraphs();
}

}  // namespace sardonyx::capi
