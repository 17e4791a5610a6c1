// providers/plugin/kernel_nodes.cpp - makes and runs kernels of a plug-in's registry.
#include "providers/plugin/kernel_nodes.h"

#include <utility>

#include "base/error.h"
#include "capi/handles/call_out.h"
#include "capi/handles/kernel_context.h"
#include "ops/kernel_context.h"

namespace sardonyx::plugin {
namespace {

using capi::CallOut;

struct KernelReleaser {
  void operator()(OrtKernelImpl* kernel) const noexcept {
    if (kernel->Release == nullptr) return;
    capi::FreeStatus(capi::Guard([&] { CallOut("OrtKernelImpl::Release", kernel->Release, kernel); }));
  }
};

struct KernelNode {
  std::shared_ptr<const Ep> ep;  // the kernel must not outlive it
  std::shared_ptr<const capi::KernelFacts> facts;
  OrtKernelRegistry::Entry entry;
  std::unique_ptr<OrtKernelInfo> info;  // kernels may keep the pointer
  std::unique_ptr<OrtKernelImpl, KernelReleaser> kernel;
  std::string callee;
  mutable capi::SpareValues spare;
};

void RunKernel(ops::KernelContext& context) {
  const auto& node = context.state<KernelNode>();
  OrtKernelContext handle(context, *node.facts, node.entry.definition.aliases, &node.spare);
  CallOut(node.callee.c_str(), node.kernel->Compute, node.kernel.get(), &handle);
  handle.Finish();
}

}  // namespace

std::shared_ptr<const capi::KernelFacts> FactsOf(const Graph& graph, const Node& shown, const Node& node,
                                                 std::shared_ptr<const capi::KernelSession> session) {
  auto facts = std::make_shared<capi::KernelFacts>();
  facts->session = std::move(session);
  facts->node_name = node.name;
  facts->domain = node.domain;
  facts->op_type = node.op_type;
  facts->since_version = node.since_version;
  facts->attributes = node.attributes;
  const auto port = [&](ValueId id) {
    capi::KernelFacts::Port made;
    if (id == kNoValue) return made;
    const ValueInfo& value = graph.value(id);
    made = {value.name, value.type, true, {}};
    if (value.constant() != nullptr) made.constant = *value.constant();
    return made;
  };
  for (const ValueId id : shown.inputs) facts->inputs.push_back(port(id));
  for (const ValueId id : shown.outputs) facts->outputs.push_back(port(id));
  return facts;
}

ops::Prepared MakeKernel(const std::shared_ptr<Ep>& ep, const OrtKernelRegistry::Entry& entry,
                         std::shared_ptr<const capi::KernelFacts> facts) {
  auto node = std::make_shared<KernelNode>();
  node->ep = ep;
  node->entry = entry;
  node->facts = std::move(facts);
  node->info = std::make_unique<OrtKernelInfo>(OrtKernelInfo{node->facts});
  node->callee = ep->name() + ": OrtKernelImpl::Compute";
  OrtKernelImpl* made = nullptr;
  CallOut((ep->name() + ": OrtKernelCreateFunc").c_str(), entry.create, entry.state,
          static_cast<const OrtKernelInfo*>(node->info.get()), &made);
  if (made == nullptr || made->Compute == nullptr) {
    Fail(Code::kEpFail, ep->name(), ": OrtKernelCreateFunc: node '", node->facts->node_name,
         "': expected a kernel with a function Compute, found ", made == nullptr ? "none" : "NULL");
  }
  node->kernel.reset(made);
  return {RunKernel, std::move(node)};
}

}  // namespace sardonyx::plugin
