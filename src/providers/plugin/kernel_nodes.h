// providers/plugin/kernel_nodes.h - nodes that run by a kernel of a plug-in's registry.
#pragma once

#include <memory>

#include "capi/handles/kernel_info.h"
#include "capi/handles/kernel_registry.h"
#include "ops/op_def.h"
#include "providers/plugin/ep.h"

namespace sardonyx::plugin {

// What a kernel may know of `node`: its attributes as they are there, and inputs and outputs of `shown`, which has as
// many (the fused node that stands for it). The two may be the same.
std::shared_ptr<const capi::KernelFacts> FactsOf(const Graph& graph, const Node& shown, const Node& node,
                                                 std::shared_ptr<const capi::KernelSession> session);

// Has the plug-in make its kernel. Fails with what it says.
ops::Prepared MakeKernel(const std::shared_ptr<Ep>& ep, const OrtKernelRegistry::Entry& entry,
                         std::shared_ptr<const capi::KernelFacts> facts);

}  // namespace sardonyx::plugin
