// runtime/save_graph.h - the graph of a session as a model file of its own.
#pragma once

#include "ir/graph.h"
#include "ops/registry.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

// Writes `graph`, the functions of `model` inlined, to options.optimized_model_path with the model's names and
// metadata. A model imports one opset of each domain: the author's where the nodes follow it. Where they are in their
// newest spelling (`newest`), or follow several opsets as those of functions may and are raised to it first, the oldest
// one in which all nodes mean the same, so that most runtimes read it. Weights beyond what a protobuf holds go into a
// file beside it, whether the options name one or not. Fails as model::SaveFile.
void SaveGraph(const Graph& graph, const Model& model, bool newest, const ops::Registry& registry,
               const SessionOptions& options);

}  // namespace sardonyx::runtime
