// capi/handles/kernel_info.cpp - collects what a kernel info shows.
#include "capi/handles/kernel_info.h"

#include <utility>

namespace sardonyx::capi {

Device KernelFacts::PlaceOf(const Port& port) const {
  const bool there = session != nullptr && session->device_memory != nullptr && !port.on_host &&
                     !(port.type.is_tensor() && IsString(port.type.dtype));
  return there ? session->device_memory->device() : Device{};
}

std::shared_ptr<Allocator> KernelSession::FindMemory(const Device& device) const {
  for (const auto& memory : {device_memory, host_accessible_memory, other_memory})
    if (memory != nullptr && memory->device() == device) return memory;
  return device.type == DeviceType::kCpu ? HostAllocator() : nullptr;
}

const AttributeValue* KernelFacts::FindAttribute(std::string_view name) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == name) return &attribute.value;
  return nullptr;
}

std::shared_ptr<const KernelFacts> FactsOf(const ops::PrepareContext& context,
                                           std::shared_ptr<const KernelSession> session) {
  const Graph& graph = context.graph();
  const Node& node = context.node();
  auto facts = std::make_shared<KernelFacts>();
  facts->session = std::move(session);
  facts->node_name = node.name;
  facts->domain = ops::AuthorsDomain(node.domain);
  facts->op_type = node.op_type;
  facts->since_version = node.since_version;
  facts->attributes = node.attributes;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    KernelFacts::Port& port = facts->inputs.emplace_back();
    port.present = context.HasInput(i);
    port.type = context.InputType(i);
    if (node.inputs[i] != kNoValue) port.name = graph.value(node.inputs[i]).name;
    if (const Tensor* constant = context.Constant(i)) port.constant = *constant;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    KernelFacts::Port& port = facts->outputs.emplace_back();
    port.present = context.HasOutput(i);
    port.type = context.OutputType(i);
    if (node.outputs[i] != kNoValue) port.name = graph.value(node.outputs[i]).name;
  }
  return facts;
}

}  // namespace sardonyx::capi
