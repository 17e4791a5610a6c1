// optimizer/rules/unused_constants.cpp - frees the memory of constants that a rewrite left without readers.
#include "optimizer/rules/unused_constants.h"

#include "base/mapped_file.h"

namespace sardonyx::optimizer {
void DropIfUnused(Graph& graph, ValueId value) {
  const ValueInfo& info = graph.value(value);
  const Tensor* constant = info.constant();
  if (constant == nullptr || info.is_input || info.is_captured || graph.UseCount(value) != 0) return;
  // Others may still read the bytes: mapped pages come back when they do.
  if (constant->buffer())
    MappedFile::ReleaseBehind(constant->buffer()->owner(), constant->raw(), constant->byte_size());
  graph.SetInitializer(value, nullptr);
}

void DropUnusedConstants(Graph& graph) {
  for (ValueId value = 0; value < graph.values.size(); ++value) DropIfUnused(graph, value);
  for (const NodeId id : graph.order)
    for (Graph* body : graph.node(id).Subgraphs()) DropUnusedConstants(*body);
}

}  // namespace sardonyx::optimizer
