// runtime/save_graph.h - saves the graph of a session as a model file.
#pragma once

#include "ir/graph.h"
#include "ops/registry.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

// `graph`, the functions of `model` inlined, as a model with the model's names and metadata. A model imports one opset
// of each domain: the author's if the nodes follow it. If they are in their newest spelling (`newest`), or follow
// several opsets (as nodes of functions may) and are raised to it first, it is the oldest opset in which all nodes mean
// the same, so that most runtimes can read the model.
Model SavedModel(const Graph& graph, const Model& model, bool newest, const ops::Registry& registry);

// Writes that model to options.optimized_model_path. Weights beyond what a protobuf holds go into a file beside it,
// whether the options name one or not. Fails like model::SaveFile.
void SaveGraph(const Graph& graph, const Model& model, bool newest, const ops::Registry& registry,
               const SessionOptions& options);

}  // namespace sardonyx::runtime
