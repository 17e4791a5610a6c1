// capi/model_edit/edited_model.h - SardonyxModel: a model in memory that tools read and change.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capi/handles/kind.h"
#include "ir/graph.h"
#include "model/save.h"
#include "optimizer/pipeline.h"
#include "sardonyx_c_api.h"

struct SardonyxModel {
  // Where a graph is nested; no node for the model's own graph.
  struct Place {
    sardonyx::Graph* graph;  // null once the node that holds it is gone
    std::size_t parent = 0;  // number of the enclosing graph
    sardonyx::NodeId node = sardonyx::kNoNode;
    std::string attribute;
  };

  explicit SardonyxModel(sardonyx::Model loaded);
  SardonyxModel(const SardonyxModel&) = delete;
  SardonyxModel& operator=(const SardonyxModel&) = delete;

  // Numbers all graphs anew, from the model's own on.
  void NumberGraphs();
  // Numbers the graphs in the attributes of a node, and the graphs inside them.
  void NumberBodies(std::size_t graph, sardonyx::NodeId node);
  // Forgets the graphs of a node that goes. Their numbers are not given again.
  void DropBodies(std::size_t graph, sardonyx::NodeId node);
  // What a body reads of the graphs around it is noted in each of them, from the inside out.
  void RefreshCaptures(std::size_t graph);
  // Sorts the nodes of all graphs, and checks what they say of each other; fails with kInvalidGraph.
  void Finish();

  sardonyx::capi::Mark<sardonyx::capi::Kind::kModelInMemory> mark;
  sardonyx::Model model;
  std::vector<Place> graphs;  // by number; 0 is the model's own
  sardonyx::model::NamesAsNumbers as_numbers;
};

namespace sardonyx::capi {

// The model as JSON (SardonyxApi::ModelJson).
std::string DescribeModel(const SardonyxModel& model);

// Runs the passes that come before the upgrade, unless the level is kDisable, and then, if so asked, those that make a
// model for ONNX Runtime. Calls of the model's functions are inlined. All graphs and nodes are others then.
void OptimizeModel(SardonyxModel& model, const optimizer::OptimizeOptions& options, bool for_onnx_runtime);

// Applies SardonyxApi::EditModel's list; returns its results.
std::string ApplyEdits(SardonyxModel& model, std::string_view edits, std::span<const Tensor> tensors);

}  // namespace sardonyx::capi
