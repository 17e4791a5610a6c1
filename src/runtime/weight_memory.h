// runtime/weight_memory.h - frees the memory of weights that nobody reads any more.
#pragma once

#include <memory>
#include <set>

#include "base/logging.h"
#include "ir/graph.h"
#include "model/compiled_file.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

// Whether the bytes lie in a mapped file. If so, ReleasePages lets the system drop their pages until somebody reads
// them.
bool IsMapped(const Tensor& tensor);
void ReleasePages(const Tensor& tensor);

// Of the tensors that the options hand to the session: the caller may write to them.
std::set<const Buffer*> CallersBuffers(const SessionOptions& options);
// The packed weights of a compiled model. Its weights are in it in two forms, so none can be replaced: fails with
// kInvalidArgument if the options ask for that.
std::shared_ptr<CompiledWeights> WeightsOfCompiled(model::CompiledParts parts, const SessionOptions& options,
                                                   const Logger& logger);

// Replaces constants of the graph and its bodies by equal ones that other sessions hold
// (runtime/sharing/shared_parts.h; for tensors in attributes only their bytes, tensor/shared_bytes.h), except for the
// buffers in `callers`, which somebody else may write.
void ShareConstants(Graph& graph, const std::set<const Buffer*>& callers);

// Drops the bytes of all large constants of the graph and its bodies that are not mapped. Returns whether there were
// any.
bool DropWeights(Graph& graph);

}  // namespace sardonyx::runtime
