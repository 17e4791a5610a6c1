// runtime/save_graph.h - saves the graph of a session as a model file, also with what providers have compiled.
#pragma once

#include <string>

#include "ir/graph.h"
#include "model/compiled_file.h"
#include "ops/registry.h"
#include "providers/provider.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

// `graph`, the functions of `model` inlined, as a model with the model's names and metadata. A model imports one opset
// of each domain: the author's if the nodes follow it. If they are in their newest spelling (`newest`), or follow
// several opsets (as nodes of functions may) and are raised to it first, it is the oldest opset in which all nodes mean
// the same, so that most runtimes can read the model.
Model SavedModel(const Graph& graph, const Model& model, bool newest, const ops::Registry& registry);

// How a session writes its model: by the entry session.save_model_format or, without it, by the end of the path.
enum class ModelFormat { kOnnx, kOrt, kCompiled };
// Fails with kInvalidArgument for an unknown format.
ModelFormat FormatOf(const SessionOptions& options);

// Whether the session is to be written as a compiled model (docs/compiled_models.md).
bool Compiles(const SessionOptions& options);
// `graph` as a session runs it, as a model to be compiled: every node in its newest spelling. Fails with
// kNotImplemented if a provider other than the CPU runs nodes.
Model CompiledModel(const Graph& graph, const Model& model, const ops::Registry& registry,
                    const providers::ProviderSet& set);
// The options for building that model again; what changes the graph has been done.
SessionOptions OptionsOfCompiled(const SessionOptions& options);
// Writes the compiled model to the options' path or sink.
void SaveCompiled(const Model& model, const model::CompiledParts& parts, const SessionOptions& options);

// Writes what SavedModel makes to options.optimized_model_path. Weights beyond what a protobuf holds go into a file
// beside it, whether the options name one or not. Fails like model::SaveFile.
void SaveGraph(const Graph& graph, const Model& model, bool newest, const ops::Registry& registry,
               const SessionOptions& options);

// EPContext models (context_model.cpp): a graph in which nodes that providers have compiled hold the result.
bool WritesContexts(const SessionOptions& options);
// Where such a model is written. Fails with kInvalidArgument if nothing says where, with kFail if the file exists.
std::string ContextPath(const Model& model, const SessionOptions& options);
// `graph` as the planner's Partition left it, as a model that says which providers compiled it.
Model ContextModel(const Graph& graph, const Model& model, providers::ProviderSet& set, const ops::Registry& registry);
void SaveContexts(const Model& written, const std::string& path, const SessionOptions& options);
// Fails with kFail where a provider of the session says that the model, which it has compiled once,
// does not fit it.
void CheckCompatibility(const Model& model, const providers::ProviderSet& set, const SessionOptions& options,
                        const Logger& logger);

}  // namespace sardonyx::runtime
