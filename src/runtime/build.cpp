// runtime/build.cpp - the stages between a loaded model and a program; each line is one folder's face.
#include "runtime/build.h"

#include "ops/infer.h"
#include "ops/upgrade.h"

namespace sardonyx::runtime {
namespace {

// AddInitializer: the caller's tensor takes the place of the model's, and is a constant whether it had a default or
// not.
void ReplaceInitializers(Graph& graph, const std::map<std::string, Value>& replacements, bool must_be_external) {
  for (const auto& [name, value] : replacements) {
    const auto id = graph.Find(name);
    if (!id || !graph.value(*id).initializer) {
      std::vector<std::string> names;
      for (const ValueInfo& info : graph.values)
        if (info.initializer && !info.is_captured) names.push_back(info.name);
      const std::string closest = ClosestName(name, names);
      Fail(Code::kInvalidArgument, "the model has no initializer '", name, "' to replace",
           closest.empty() ? "" : "; did you mean '" + closest + "'?");
    }
    const Initializer& old = *graph.value(*id).initializer;
    if (!value.is_tensor())
      Fail(Code::kInvalidArgument, "initializer '", name, "': expected a tensor, found a ", value.KindName());
    const Tensor& tensor = value.tensor();
    if (tensor.dtype() != old.tensor.dtype() || !(tensor.shape() == old.tensor.shape())) {
      Fail(Code::kInvalidArgument, "initializer '", name, "': the model has ", Name(old.tensor.dtype()),
           ToText(old.tensor.shape()), ", found ", Name(tensor.dtype()), ToText(tensor.shape()));
    }
    auto replaced = std::make_shared<Initializer>();
    replaced->tensor = tensor;
    if (must_be_external) replaced->file = old.file;
    graph.SetInitializer(*id, std::move(replaced));
  }
}

void OverrideDimensions(Graph& graph, const SessionOptions& options) {
  for (const auto& [name, number] : options.free_dimensions_by_name)
    if (number < 0) Fail(Code::kInvalidArgument, "free dimension '", name, "': expected 0 or more, found ", number);
  for (const ValueId id : graph.inputs) {
    for (Dim& dim : graph.value(id).type.dims) {
      dim = dim.Substitute([&](const std::string& symbol) -> std::optional<std::int64_t> {
        for (const auto& [name, number] : options.free_dimensions_by_name)
          if (name == symbol) return number;
        return std::nullopt;
      });
    }
  }
}

}  // namespace

Graph BuildGraph(Environment& environment, const Model& model, const SessionOptions& options, const Logger& logger) {
  const ops::Registry& registry = environment.registry();
  Graph graph = model.graph;
  ReplaceInitializers(graph, options.initializers, false);
  ReplaceInitializers(graph, options.external_initializers, true);
  OverrideDimensions(graph, options);
  ops::ResolveVersions(graph, registry, model);
  ops::Infer(graph, registry, {.logger = &logger});
  ops::Upgrade(graph, registry);
  return graph;
}

}  // namespace sardonyx::runtime
