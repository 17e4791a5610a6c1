// providers/plugin/kernel_nodes.h - nodes that run by a kernel of a plug-in's registry.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "capi/handles/kernel_info.h"
#include "capi/handles/kernel_registry.h"
#include "capi/handles/shared_weights.h"
#include "ops/op_def.h"
#include "providers/plugin/ep.h"
#include "tensor/allocator.h"
#include "tensor/value.h"

namespace sardonyx::plugin {

// What a kernel may know of `node`: its attributes as they are there, and inputs and outputs of `shown`, which has as
// many (the fused node that stands for it). The two may be the same. `definition` says which lie on the host.
std::shared_ptr<const capi::KernelFacts> FactsOf(const Graph& graph, const Node& shown, const Node& node,
                                                 std::shared_ptr<const capi::KernelSession> session,
                                                 const OrtKernelDef* definition = nullptr);

// "node 'enc/qk' (MatMul)": how errors name the node of a kernel.
std::string Describe(const capi::KernelFacts& facts);

// How a kernel may pack the weights that it reads.
struct Packing {
  bool allowed = true;
  std::shared_ptr<Allocator> memory;                                     // of the provider's device
  std::shared_ptr<capi::SharedWeights> shared;                           // null: each kernel keeps its own
  std::function<Value(std::size_t input, const Value& constant)> place;  // a weight where the kernel reads it
};

// Has the plug-in make its kernel, and pack its weights. Fails with what it says.
ops::Prepared MakeKernel(const std::shared_ptr<Ep>& ep, const OrtKernelRegistry::Entry& entry,
                         std::shared_ptr<const capi::KernelFacts> facts, const Packing& packing);

// Whether the kernel that the plug-in makes for control flow is the one that it gets from us.
bool LeavesToExecutor(const std::shared_ptr<Ep>& ep, const OrtKernelRegistry::Entry& entry,
                      std::shared_ptr<const capi::KernelFacts> facts);

}  // namespace sardonyx::plugin
