// capi/graph/editor.h - graphs and models that the model editor makes from parts, and the models they become.
//
// A graph links its parts by name as they come, in any order, so that the functions that read graphs may be called at
// any time. What is missing or wrong is found when a session is made.
#pragma once

#include <memory>
#include <vector>

#include "capi/handles/graph_view.h"
#include "capi/handles/kind.h"
#include "ir/graph.h"

struct OrtModel {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kModel> mark;
  std::vector<sardonyx::OpsetImport> opsets;
  std::unique_ptr<OrtGraph> graph;
};

namespace sardonyx::capi {

// The IR version of models made here: what ONNX Runtime of the same API version gives them, and can read.
constexpr int kEditorIrVersion = 13;

std::unique_ptr<OrtGraph> NewGraph();
// Each takes its part over; what is refused stays the caller's.
void SetInputs(OrtGraph& graph, std::span<OrtValueInfo*> inputs);
void SetOutputs(OrtGraph& graph, std::span<OrtValueInfo*> outputs);
void AddNode(OrtGraph& graph, OrtNode* node);
void AddInitializer(OrtGraph& graph, std::string_view name, Value* tensor, bool external);

// The model that the parts make. Fails with kInvalidArgument without a graph or an opset of ai.onnx, and with
// kInvalidGraph for a graph that contradicts itself.
Model MakeModel(const OrtModel& parts);
// `model` with the parts added: nodes and initializers besides its own, inputs and outputs in place of its own if the
// parts have some. Opsets may only be added.
Model Augmented(Model model, const OrtModel& parts);

}  // namespace sardonyx::capi
