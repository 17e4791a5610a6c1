// runtime/weight_memory.h - frees the memory of weights that nobody reads any more.
#pragma once

#include <set>

#include "ir/graph.h"

namespace sardonyx::runtime {

// Whether the bytes lie in a mapped file. If so, ReleasePages lets the system drop their pages until somebody reads
// them.
bool IsMapped(const Tensor& tensor);
void ReleasePages(const Tensor& tensor);

// Replaces constants of the graph and its bodies by equal ones that other sessions hold (runtime/sharing/shared_parts.h; for
// tensors in attributes only their bytes, tensor/shared_bytes.h), except for the buffers in `callers`, which somebody
// else may write.
void ShareConstants(Graph& graph, const std::set<const Buffer*>& callers);

// Drops the bytes of all large constants of the graph and its bodies that are not mapped. Returns whether there were
// any.
bool DropWeights(Graph& graph);

}  // namespace sardonyx::runtime
