// optimizer/shapes/unknown_sizes.cpp - gives names to unknown sizes, so that passes see which of them are equal.
#include "optimizer/shapes/unknown_sizes.h"

#include <algorithm>

#include "base/limits.h"
#include "optimizer/rules/infer_again.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::string_view kPrefix = "unknown_size_";

bool IsOurs(const Dim& dim) { return dim.symbolic() && dim.ToText().find(kPrefix) != std::string::npos; }

bool HasUnknown(const Graph& graph) {
  return std::any_of(graph.values.begin(), graph.values.end(), [](const ValueInfo& value) {
    return value.type.is_tensor() && value.type.has_rank &&
           std::any_of(value.type.dims.begin(), value.type.dims.end(), [](const Dim& d) { return d.unknown(); });
  });
}

void Name(Graph& graph, ValueId id) {
  Type& type = graph.value(id).type;
  if (!type.is_tensor() || !type.has_rank) return;
  for (std::size_t i = 0; i < type.rank(); ++i)
    if (type.dims[i].unknown())
      type.dims[i] = Dim::Symbol(std::string(kPrefix) + std::to_string(id) + "_" + std::to_string(i));
}

}  // namespace

void NameUnknownSizes(Graph& graph, const ops::Registry& registry) {
  if (!HasUnknown(graph)) return;
  for (const ValueInfo& value : graph.values)  // an author's symbol must not be taken for ours
    if (std::any_of(value.type.dims.begin(), value.type.dims.end(), IsOurs)) return;
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.value(id).producer == kNoNode) Name(graph, id);
  for (const NodeId id : graph.order) {
    CheckTime();
    InferAgain(graph, id, registry);
    for (const ValueId output : graph.node(id).outputs)
      if (output != kNoValue) Name(graph, output);
  }
}

void ForgetUnknownSizes(Graph& graph) {
  for (ValueInfo& value : graph.values) {
    for (Dim& dim : value.type.dims)
      if (IsOurs(dim)) dim = Dim();
    if (!value.shape_data) continue;
    for (Dim& dim : *value.shape_data)
      if (IsOurs(dim)) dim = Dim();
  }
  for (const NodeId id : graph.order)
    for (Graph* body : graph.node(id).Subgraphs()) ForgetUnknownSizes(*body);
}

}  // namespace sardonyx::optimizer
