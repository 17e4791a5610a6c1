// runtime/weight_memory.h - giving back the memory of weights that nobody reads any more.
#pragma once

#include <set>

#include "ir/graph.h"

namespace sardonyx::runtime {

// Whether the bytes lie in a mapped file: then ReleasePages lets their pages leave memory until somebody reads them.
bool IsMapped(const Tensor& tensor);
void ReleasePages(const Tensor& tensor);

// Puts constants that other sessions hold as well (runtime/shared_parts.h; of tensors among attributes their bytes,
// tensor/shared_bytes.h) in the place of the graph's own and of those of its bodies, but for the buffers in `callers`,
// which somebody else may write.
void ShareConstants(Graph& graph, const std::set<const Buffer*>& callers);

// Takes the bytes out of all large constants of the graph and its bodies that are not mapped; whether there were any.
bool DropWeights(Graph& graph);

}  // namespace sardonyx::runtime
