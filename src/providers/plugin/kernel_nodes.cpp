// providers/plugin/kernel_nodes.cpp - makes and runs kernels of a plug-in's registry.
#include "providers/plugin/kernel_nodes.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "capi/handles/allocator.h"
#include "capi/handles/call_release.h"
#include "capi/handles/control_flow_kernel.h"
#include "capi/handles/kernel_context.h"
#include "capi/handles/value.h"
#include "ops/errors/late_errors.h"
#include "ops/kernel_context.h"

namespace sardonyx::plugin {
namespace {

using capi::CallOut;

struct KernelReleaser {
  const Ep* ep = nullptr;
  void operator()(OrtKernelImpl* kernel) const noexcept {
    if (kernel->Release == nullptr) return;  // nobody can give it back
    capi::CallRelease(ep->logger(), ep->name() + ": OrtKernelImpl::Release", kernel->Release, kernel);
  }
};

struct AllocatorReleaser {
  void operator()(OrtAllocator* allocator) const noexcept { capi::FreeAllocator(allocator); }
};

struct KernelNode {
  std::shared_ptr<const Ep> ep;  // the kernel must not outlive it
  std::shared_ptr<const capi::KernelFacts> facts;
  OrtKernelRegistry::Entry entry;
  std::unique_ptr<OrtKernelInfo> info;                              // kernels may keep the pointer
  std::vector<std::shared_ptr<const capi::PackedBuffers>> packed;   // shared with kernels of other sessions
  std::unique_ptr<OrtAllocator, AllocatorReleaser> packing_memory;  // kernels may keep the pointer
  std::unique_ptr<OrtKernelImpl, KernelReleaser> kernel;            // gone before what it has packed
  std::string callee;
  mutable capi::SpareValues spare;
};

void RunKernel(ops::KernelContext& context) {
  const auto& node = context.state<KernelNode>();
  OrtKernelContext handle(context, *node.facts, node.entry.definition.aliases, &node.spare);
  CallOut(node.callee.c_str(), node.kernel->Compute, node.kernel.get(), &handle);
  handle.CheckMade(node.callee);
  handle.Finish();
}

}  // namespace

std::shared_ptr<const capi::KernelFacts> FactsOf(const Graph& graph, const Node& shown, const Node& node,
                                                 std::shared_ptr<const capi::KernelSession> session,
                                                 const OrtKernelDef* definition) {
  auto facts = std::make_shared<capi::KernelFacts>();
  facts->session = std::move(session);
  facts->node_name = node.name;
  Node authors = node;
  ops::Restore(authors);
  facts->domain = authors.domain;
  facts->op_type = authors.op_type;
  facts->since_version = authors.since_version;
  facts->attributes = std::move(authors.attributes);
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
  if (definition == nullptr) return facts;
  const auto mark = [](const std::map<std::size_t, OrtMemType>& memory, std::vector<capi::KernelFacts::Port>& ports) {
    for (const auto& [at, type] : memory)
      if (at < ports.size()) ports[at].on_host = type != OrtMemTypeDefault;
  };
  mark(definition->input_memory, facts->inputs);
  mark(definition->output_memory, facts->outputs);
  return facts;
}

std::string Describe(const capi::KernelFacts& facts) {
  const std::string op = facts.domain.empty() ? facts.op_type : facts.domain + "." + facts.op_type;
  if (!facts.node_name.empty()) return "node '" + facts.node_name + "' (" + op + ")";
  return "node (" + op + (facts.outputs.empty() ? ")" : ", output '" + facts.outputs.front().name + "')");
}

namespace {

std::shared_ptr<KernelNode> NewKernel(const std::shared_ptr<Ep>& ep, const OrtKernelRegistry::Entry& entry,
                                      std::shared_ptr<const capi::KernelFacts> facts) {
  auto node = std::make_shared<KernelNode>();
  node->ep = ep;
  node->entry = entry;
  node->facts = std::move(facts);
  node->info = std::make_unique<OrtKernelInfo>(OrtKernelInfo{{}, node->facts});
  node->callee = ep->name() + ": OrtKernelImpl::Compute";
  OrtKernelImpl* made = nullptr;
  const std::string callee = ep->name() + ": OrtKernelCreateFunc: " + Describe(*node->facts);
  CallOut(callee.c_str(), entry.create, entry.state, static_cast<const OrtKernelInfo*>(node->info.get()), &made);
  node->kernel = {made, KernelReleaser{ep.get()}};  // whatever it is, it is to be released
  if (made == nullptr || made->Compute == nullptr || made->Release == nullptr)
    Fail(Code::kEpFail, callee, ": expected a kernel with functions Compute and Release, found ",
         made == nullptr ? "none" : "NULL for one of them");
  return node;
}

// Kernels of one operator and version pack an input in the same way.
std::string KindOf(const Ep& ep, const capi::KernelFacts& facts, std::size_t input) {
  return ep.name() + "/" + facts.domain + "." + facts.op_type + "-" + std::to_string(facts.since_version) + "/" +
         std::to_string(input);
}

void PackWeights(KernelNode& node, const Packing& packing) {
  OrtKernelImpl& kernel = *node.kernel;
  constexpr std::uint32_t kFirst = 24;  // the version with PrePackWeight
  if (!packing.allowed || kernel.ort_version_supported < kFirst || kernel.PrePackWeight == nullptr) return;
  const bool on_host = packing.memory->device().IsHost();
  const bool ordinary = packing.memory == HostAllocator();
  if (!ordinary) node.packing_memory.reset(capi::NewAllocator(packing.memory));
  OrtAllocator* allocator = ordinary ? capi::DefaultAllocator() : node.packing_memory.get();
  const std::string callee = node.ep->name() + ": OrtKernelImpl::", place = ": " + Describe(*node.facts) + ", input ";
  for (std::size_t i = 0; i < node.facts->inputs.size(); ++i) {
    if (!node.facts->inputs[i].constant.is_tensor()) continue;
    const Value weight = packing.place(i, node.facts->inputs[i].constant);
    OrtSharedPrePackedWeightCache cache{{}, allocator, {}, {}};
    OrtSharedPrePackedWeightCache* shared = packing.shared != nullptr && on_host ? &cache : nullptr;
    bool is_packed = false;
    const std::string input = place + std::to_string(i);
    CallOut((callee + "PrePackWeight" + input).c_str(), kernel.PrePackWeight, &kernel, capi::AsHandle(&weight),
            static_cast<int>(i), allocator, shared, &is_packed);
    if (cache.data.empty()) continue;
    auto stored = std::make_shared<const capi::PackedBuffers>(std::move(cache));
    if (!is_packed || kernel.SetSharedPrePackedWeight == nullptr) {
      Fail(Code::kEpFail, callee, "PrePackWeight", input,
           ": expected a packed weight and a function SetSharedPrePackedWeight where weights are stored to be shared");
    }
    node.packed.push_back(packing.shared->Share(KindOf(*node.ep, *node.facts, i), std::move(stored)));
    const capi::PackedBuffers& buffers = *node.packed.back();
    CallOut((callee + "SetSharedPrePackedWeight" + input).c_str(), kernel.SetSharedPrePackedWeight, &kernel,
            const_cast<const void* const*>(buffers.data().data()), buffers.sizes().data(), buffers.sizes().size(),
            static_cast<int>(i));
  }
}

}  // namespace

ops::Prepared MakeKernel(const std::shared_ptr<Ep>& ep, const OrtKernelRegistry::Entry& entry,
                         std::shared_ptr<const capi::KernelFacts> facts, const Packing& packing) {
  std::shared_ptr<KernelNode> node = NewKernel(ep, entry, std::move(facts));
  PackWeights(*node, packing);
  return {RunKernel, std::move(node)};
}

bool LeavesToExecutor(const std::shared_ptr<Ep>& ep, const OrtKernelRegistry::Entry& entry,
                      std::shared_ptr<const capi::KernelFacts> facts) {
  return capi::IsControlFlowKernel(*NewKernel(ep, entry, std::move(facts))->kernel);
}

}  // namespace sardonyx::plugin
