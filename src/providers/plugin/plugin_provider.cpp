// providers/plugin/plugin_provider.cpp - asks an OrtEp which nodes it takes.
#include "providers/plugin/plugin_provider.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "capi/handles/call_out.h"
#include "capi/handles/graph_support_info.h"
#include "capi/handles/graph_view.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/sync_stream.h"
#include "capi/handles/value.h"
#include "ir/detour.h"
#include "providers/plugin/compiled_nodes.h"
#include "providers/plugin/kernel_nodes.h"
#include "providers/plugin/plugin_allocator.h"
#include "tensor/reserved_buffer.h"

namespace sardonyx::plugin {
namespace {

std::shared_ptr<const capi::ModelFacts> FactsOfModel(const Model* model) {
  return model != nullptr ? capi::FactsOf(*model) : std::make_shared<const capi::ModelFacts>();
}

// What a plug-in claims of nodes that are not its to claim (another provider was asked first) is left out, as a whole
// group: what it would compile without them is not what it asked for.
void AddGroup(const providers::GraphView& view, providers::Group group, providers::Claims& claims) {
  const auto taken = std::find_if(group.nodes.begin(), group.nodes.end(), [&](NodeId id) {
    return std::find(view.nodes.begin(), view.nodes.end(), id) == view.nodes.end();
  });
  if (taken == group.nodes.end()) {
    claims.groups.push_back(std::move(group));
    return;
  }
  const std::string other = Describe(view.graph, view.graph.node(*taken));
  for (const NodeId id : group.nodes)
    claims.refusals.push_back({id, "claims it only together with " + other + ", which another provider runs"});
}

std::shared_ptr<Allocator> LentOrOwn(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo& info,
                                     const PluginProvider::Lend& lend) {
  if (lend != nullptr)
    if (std::shared_ptr<Allocator> lent = lend(info)) return lent;
  return std::make_shared<PluginAllocator>(ep, info);
}

std::shared_ptr<Allocator> AllocatorFor(const std::shared_ptr<Ep>& ep, const PluginProvider::Lend& lend) {
  const OrtMemoryInfo* info = ep->devices().front()->memory;
  if (const auto get_device = ep->Find(&OrtEp::GetDefaultMemoryDevice)) {
    const OrtMemoryDevice* device = nullptr;
    capi::CallOut(ep->Callee("GetDefaultMemoryDevice").c_str(), get_device, static_cast<const OrtEp*>(ep->handle()),
                  &device);
    if (device != nullptr) {  // NULL leaves the choice to the runtime, as a provider without the function does
      if (capi::DeviceOf(*device).type == DeviceType::kCpu) return HostAllocator();
      info = nullptr;
      for (const OrtEpDevice* candidate : ep->devices())
        for (const OrtMemoryInfo* memory : {candidate->memory, candidate->host_accessible_memory})
          if (memory != nullptr && memory->device == capi::DeviceOf(*device)) info = memory;
      if (info == nullptr)
        Fail(Code::kEpFail, ep->Callee("GetDefaultMemoryDevice"),
             ": expected memory of one of the provider's devices, ",
             "which are to say what memory they have (EpDevice_AddAllocatorInfo), found that of another");
    }
  }
  if (info == nullptr || info->device.type == DeviceType::kCpu) return HostAllocator();
  return LentOrOwn(ep, *info, lend);
}

// `own`: where its kernels' values lie, which may be the same.
std::shared_ptr<Allocator> HostAccessibleFor(const std::shared_ptr<Ep>& ep, const std::shared_ptr<Allocator>& own,
                                             const PluginProvider::Lend& lend) {
  for (const OrtEpDevice* device : ep->devices())
    if (device->host_accessible_memory != nullptr && device->host_accessible_memory->device == own->device())
      return own;
  for (const OrtEpDevice* device : ep->devices())
    if (device->host_accessible_memory != nullptr) return LentOrOwn(ep, *device->host_accessible_memory, lend);
  return nullptr;
}

// The device's memory, where its kernels' values lie in host memory that it reaches; else null.
std::shared_ptr<Allocator> OtherMemoryFor(const std::shared_ptr<Ep>& ep, const std::shared_ptr<Allocator>& own,
                                          const PluginProvider::Lend& lend) {
  if (own->device().memory != MemoryKind::kHostAccessible) return nullptr;
  const OrtMemoryInfo* info = ep->devices().front()->memory;
  return info != nullptr ? LentOrOwn(ep, *info, lend) : nullptr;
}

// A tensor of bytes that lie on `device`.
Value BytesOn(const Device& device, const void* data, std::size_t bytes) {
  return Tensor(DType::kUInt8, Shape{static_cast<std::int64_t>(bytes)},
                Buffer::View(const_cast<void*>(data), bytes, nullptr, device));
}

}  // namespace

PluginProvider::PluginProvider(std::shared_ptr<Ep> ep, const SessionNeeds& needs, const Lend& lend)
    : ep_(std::move(ep)),
      needs_(needs),
      kernels_(FindKernels()),
      allocator_(AllocatorFor(ep_, lend)),
      host_accessible_memory_(HostAccessibleFor(ep_, allocator_, lend)),
      layout_(FindLayout()) {
  if (needs_.weightless) CheckWeightless();
  auto session = std::make_shared<capi::KernelSession>();
  session->logger = {{}, ep_->logger()};
  session->ep = ep_->handle();
  session->provider = ep_->name();
  if (allocator_ != HostAllocator()) session->device_memory = allocator_;
  session->host_accessible_memory = host_accessible_memory_;
  session->other_memory = OtherMemoryFor(ep_, allocator_, lend);
  if (const auto supports = ep_->Find(&OrtEp::IsConcurrentRunSupported))
    capi::CallOut(ep_->Callee("IsConcurrentRunSupported").c_str(), supports, ep_->handle(), &runs_side_by_side_);
  session_ = std::move(session);
  if (const auto enabled = ep_->Find(&OrtEp::IsGraphCaptureEnabled))
    captures_graphs_ =
        capi::CallOut(ep_->Callee("IsGraphCaptureEnabled").c_str(), enabled, static_cast<const OrtEp*>(ep_->handle()));
  if (captures_graphs_ &&
      (ep_->Find(&OrtEp::IsGraphCaptured) == nullptr || ep_->Find(&OrtEp::ReplayGraph) == nullptr)) {
    Fail(Code::kEpFail, ep_->Callee("IsGraphCaptureEnabled"), ": expected functions IsGraphCaptured and ReplayGraph, ",
         "which a provider that captures graphs has to have, found NULL for one of them");
  }
}

bool PluginProvider::cpu_computes_shapes() const {
  const auto policy = ep_->Find(&OrtEp::GetGraphCaptureNodeAssignmentPolicy);
  return policy != nullptr && capi::CallOut(ep_->Callee("GetGraphCaptureNodeAssignmentPolicy").c_str(), policy,
                                            static_cast<const OrtEp*>(ep_->handle())) ==
                                  OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES;
}

bool PluginProvider::IsCaptured(int graph) const {
  return capi::CallOut(ep_->Callee("IsGraphCaptured").c_str(), ep_->Find(&OrtEp::IsGraphCaptured),
                       static_cast<const OrtEp*>(ep_->handle()), graph);
}

void PluginProvider::Replay(int graph) {
  capi::CallOut(ep_->Callee("ReplayGraph").c_str(), ep_->Find(&OrtEp::ReplayGraph), ep_->handle(), graph);
}

void PluginProvider::ReleaseCaptured(int graph) {
  if (const auto release = ep_->Find(&OrtEp::ReleaseCapturedGraph))
    capi::CallOut(ep_->Callee("ReleaseCapturedGraph").c_str(), release, ep_->handle(), graph);
}

const OrtKernelRegistry* PluginProvider::FindKernels() const {
  const auto get_registry = ep_->Find(&OrtEp::GetKernelRegistry);
  const OrtKernelRegistry* kernels = nullptr;
  if (get_registry != nullptr)
    capi::CallOut(ep_->Callee("GetKernelRegistry").c_str(), get_registry, ep_->handle(), &kernels);
  return kernels;
}

// As in ONNX Runtime a provider that fails, or wants to fuse what cannot be fused, takes nothing.
providers::Claims PluginProvider::ClaimNothing(const providers::GraphView& view, const std::string& why) const {
  ep_->logger().Log(Severity::kError, why, "; the providers after it run its nodes");
  providers::Claims claims;
  for (const NodeId id : view.nodes) claims.refusals.push_back({id, why});
  return claims;
}

// A node that is to run by a kernel.
void PluginProvider::ClaimNode(const providers::GraphView& view, const OrtNode& claimed, providers::Group group,
                               providers::Claims& claims) const {
  const Node& node = view.graph.node(group.nodes.front());
  const OrtKernelRegistry::Entry* entry =
      kernels_ != nullptr ? capi::FindKernel(*kernels_, claimed, ep_->name()) : nullptr;
  if (entry == nullptr) {
    claims.refusals.push_back({node.id, "claims it but has no kernel for it"});
  } else if (node.Subgraphs().empty()) {
    AddGroup(view, std::move(group), claims);
  } else if (!LeavesToExecutor(ep_, *entry, FactsOf(view.graph, node, node, session_))) {
    claims.refusals.push_back({node.id, "kernels of its own for control flow are not implemented"});
  } else {
    AddGroup(view, {.nodes = {node.id}, .control_flow = true}, claims);
  }
}

providers::Claims PluginProvider::Claim(const providers::GraphView& view) {
  const auto get_capability = ep_->Find(&OrtEp::GetCapability);
  if (get_capability == nullptr) return {};  // it takes nothing
  const std::shared_ptr<const capi::ModelFacts> facts = FactsOfModel(view.model);
  const std::unique_ptr<OrtGraph> graph = view.outer != nullptr
                                              ? capi::ViewBody(view.graph, *view.outer, view.parent, facts)
                                              : capi::ViewGraph(view.graph, facts);
  OrtEpGraphSupportInfo info;
  info.graph = graph.get();
  info.kernels = kernels_;
  info.provider = ep_->name();
  const std::string callee = ep_->Callee("GetCapability");
  try {
    capi::CallOut(callee.c_str(), get_capability, ep_->handle(), static_cast<const OrtGraph*>(graph.get()), &info);
  } catch (const Error& error) {
    return ClaimNothing(view, error.what());
  }
  providers::Claims claims;
  std::set<NodeId> taken;
  for (const OrtEpGraphSupportInfo::Group& claimed : info.groups) {
    providers::Group group{.fused = true, .keeps_constants = !claimed.drop_constants, .as_written = !claimed.fused};
    for (const OrtNode* node : claimed.nodes) group.nodes.push_back(static_cast<NodeId>(node->id));
    const std::set<NodeId> nodes(group.nodes.begin(), group.nodes.end());
    group.nodes.assign(nodes.begin(), nodes.end());  // each once
    if (const std::optional<Detour> detour = FindDetour(view.graph, nodes)) {
      return ClaimNothing(view, callee + ": it claims " + Describe(view.graph, view.graph.node(detour->entered_at)) +
                                    " together with nodes that it depends on through " +
                                    Describe(view.graph, view.graph.node(detour->left_at)) + ", which it leaves out");
    }
    const auto again = std::find_if(nodes.begin(), nodes.end(), [&](NodeId id) { return taken.count(id) != 0; });
    if (again != nodes.end()) {
      ep_->logger().Warn(callee, ": it claims ", Describe(view.graph, view.graph.node(*again)),
                         " twice; the second claim is left out");
      continue;
    }
    taken.insert(nodes.begin(), nodes.end());
    if (claimed.fused) {
      AddGroup(view, std::move(group), claims);
    } else {
      ClaimNode(view, *claimed.nodes.front(), std::move(group), claims);
    }
  }
  for (const NodeId id : view.nodes)
    if (taken.count(id) == 0) claims.refusals.push_back({id, "does not claim it"});
  return claims;
}

std::vector<providers::CompiledGroup> PluginProvider::Compile(std::span<const providers::FusedNode> groups,
                                                              const Model* model) {
  const std::shared_ptr<const capi::ModelFacts> facts = FactsOfModel(model);
  std::vector<providers::FusedNode> compiled;
  for (const providers::FusedNode& group : groups)
    if (!group.as_written) compiled.push_back(group);
  std::vector<providers::CompiledGroup> made;
  if (!compiled.empty()) {
    CheckContextData();
    made = CompileNodes(ep_, compiled, facts, session_, needs_.contexts);
  }
  std::vector<providers::CompiledGroup> all;
  std::size_t next = 0;
  for (const providers::FusedNode& group : groups) {
    if (group.as_written) {
      all.push_back({MakeNodeKernel(group, facts)});
    } else {
      all.push_back(std::move(made[next++]));
    }
  }
  return all;
}

ops::Prepared PluginProvider::MakeNodeKernel(const providers::FusedNode& group,
                                             const std::shared_ptr<const capi::ModelFacts>& facts) {
  const std::unique_ptr<OrtGraph> body = capi::ViewGraph(group.body, facts);
  const Node& fused = group.graph.node(group.node);
  const OrtKernelRegistry::Entry* entry = capi::FindKernel(*kernels_, *body->nodes.front(), ep_->name());
  if (entry == nullptr) {
    Fail(Code::kEpFail, ep_->name(), ": expected the kernel for ", fused.name,
         " that was there when the node was claimed, found none");
  }
  definitions_[fused.op_type] = &entry->definition;
  const Node& node = group.body.node(group.body.order.front());
  Packing packing{needs_.packs, allocator_, needs_.shared_weights, {}};
  packing.place = [&](std::size_t input, const Value& constant) {
    const Tensor& tensor = constant.tensor();
    if (allocator_ == HostAllocator() || InputOnHost(fused, input)) return constant;
    auto buffer = ReserveBuffer(std::max<std::size_t>(tensor.byte_size(), 1), allocator_);
    CopyBytes(tensor.raw(), Device{}, buffer->data(), device(), tensor.byte_size());
    return Value(Tensor(tensor.dtype(), tensor.shape(), std::move(buffer)));
  };
  return MakeKernel(ep_, *entry, FactsOf(group.graph, fused, node, session_, &entry->definition), packing);
}

ops::Prepared PluginProvider::Prepare(ops::PrepareContext& context) {
  Fail(Code::kFail, "provider '", name(), "': expected nodes that it has compiled, found ", context.op_type());
}

bool PluginProvider::InputOnHost(const Node& node, std::size_t input) const {
  const auto found = definitions_.find(node.op_type);
  return found != definitions_.end() && found->second->input_memory.count(input) != 0 &&
         found->second->input_memory.at(input) != OrtMemTypeDefault;
}

bool PluginProvider::OutputOnHost(const Node& node, std::size_t output) const {
  const auto found = definitions_.find(node.op_type);
  return found != definitions_.end() && found->second->output_memory.count(output) != 0 &&
         found->second->output_memory.at(output) != OrtMemTypeDefault;
}

bool PluginProvider::HasStreams() const {
  const OrtEpFactory* factory = ep_->factory().handle();
  if (device().IsHost()) return false;
  const auto is_aware = FieldOf(factory, &OrtEpFactory::IsStreamAware);
  return is_aware != nullptr &&
         capi::CallOut((ep_->name() + ": OrtEpFactory::IsStreamAware").c_str(), is_aware, factory) &&
         (ep_->Find(&OrtEp::CreateSyncStreamForDevice) != nullptr ||
          FieldOf(factory, &OrtEpFactory::CreateSyncStreamForDevice) != nullptr);
}

// The provider's own function comes before its factory's.
std::shared_ptr<Stream> PluginProvider::MakeStream() {
  const Device on = device();
  OrtSyncStreamImpl* made = nullptr;
  const char* made_by = "OrtEp::CreateSyncStreamForDevice";
  if (const auto create = ep_->Find(&OrtEp::CreateSyncStreamForDevice)) {
    capi::CallOut(ep_->Callee("CreateSyncStreamForDevice").c_str(), create, ep_->handle(), capi::AsHandle(&on), &made);
  } else {
    made_by = "OrtEpFactory::CreateSyncStreamForDevice";
    OrtEpFactory* factory = ep_->factory().handle();
    const OrtKeyValuePairs* options = nullptr;
    capi::CallOut((ep_->name() + ": " + made_by).c_str(),
                  FieldOf(static_cast<const OrtEpFactory*>(factory), &OrtEpFactory::CreateSyncStreamForDevice), factory,
                  capi::AsHandle(&on), options, &made);
  }
  return std::make_shared<OrtSyncStream>(ep_, ep_->library().get(), on, ep_->name(), made_by, made, ep_->logger());
}

void PluginProvider::Sync() {
  if (const auto sync = ep_->Find(&OrtEp::Sync)) capi::CallOut(ep_->Callee("Sync").c_str(), sync, ep_->handle());
}

void PluginProvider::CopyBytes(const void* from, Device from_device, void* to, Device to_device, std::size_t bytes) {
  if (from_device.IsHost() && to_device.IsHost()) {  // of which one is memory that the device reaches
    std::memcpy(to, from, bytes);
    return;
  }
  if (!ep_->factory().CanCopy(from_device, to_device)) {
    Fail(Code::kEpFail, name(), ": OrtDataTransferImpl::CanCopy: expected a provider with memory of its own to copy ",
         "from and to the host, found that it cannot");
  }
  const Value source = BytesOn(from_device, from, bytes);
  Value target = BytesOn(to_device, to, bytes);
  const OrtValue* sources[] = {capi::AsHandle(&source)};
  OrtValue* targets[] = {capi::AsHandle(&target)};
  auto* stream = dynamic_cast<OrtSyncStream*>(CurrentStream());
  ep_->factory().CopyTensors(sources, targets, stream != nullptr ? &stream : nullptr, 1);
}

}  // namespace sardonyx::plugin
