// planner/place_copies.cpp - walks each graph once and puts copies before the nodes that need them.
#include "planner/place_copies.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "planner/copy_nodes.h"
#include "planner/foreign_steps.h"
#include "planner/passed_on.h"
#include "tensor/reserved_buffer.h"

namespace sardonyx::planner {
namespace {

using providers::Provider;
using providers::ProviderSet;

class CopyPlacer {
 public:
  CopyPlacer(Graph& graph, const ProviderSet& set, CopyPlacer* outer) : graph_(graph), set_(set), outer_(outer) {}

  void Run() {
    for (const Capture& capture : graph_.captures)
      graph_.value(capture.inner).device = outer_->graph_.value(capture.outer).device;
    for (const NodeId id : std::vector<NodeId>(graph_.order)) Place(id);
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) BringHome(graph_.outputs[k]);
    if (changed_) graph_.SortTopologically();
  }

 private:
  void Place(NodeId id) {
    if (IsControlFlow(graph_.node(id))) return PlaceControlFlow(id);
    Provider* provider = set_.Find(graph_.node(id).provider);
    const Device device = provider->device();
    for (std::size_t i = 0; i < graph_.node(id).inputs.size(); ++i)
      PlaceInput(id, i, provider->InputOnHost(graph_.node(id), i) ? Device{} : device);
    const Node& node = graph_.node(id);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      ValueInfo& value = graph_.value(node.outputs[i]);
      const bool tensor = value.type.is_tensor() && !IsString(value.type.dtype);
      value.device = tensor && !provider->OutputOnHost(node, i) ? device : Device{};
    }
  }

  void PlaceInput(NodeId id, std::size_t index, const Device& wanted) {
    const ValueId input = graph_.node(id).inputs[index];
    if (input == kNoValue || !graph_.value(input).type.is_tensor()) return;
    if (!(graph_.value(input).device == wanted)) graph_.SetInput(id, index, On(input, wanted));
  }

  // What the bodies read and make lies on the host, but for what may stay on a device.
  void PlaceControlFlow(NodeId id) {
    for (Graph* body : graph_.node(id).Subgraphs()) CopyPlacer(*body, set_, this).Run();
    const PassedOn devices = MovePassedOn(graph_.node(id));
    for (std::size_t i = 0; i < devices.inputs.size(); ++i) PlaceInput(id, i, devices.inputs[i]);
    graph_.RefreshCaptures(id);
    for (std::size_t i = 0; i < devices.outputs.size(); ++i)
      if (const ValueId output = graph_.node(id).outputs[i]; output != kNoValue)
        graph_.value(output).device = devices.outputs[i];
  }

  // The same contents on another device.
  ValueId On(ValueId id, const Device& device) {
    for (const auto& entry : copies_)
      if (entry.first == id && graph_.value(entry.second).device == device) return entry.second;
    const ValueInfo& value = graph_.value(id);
    ValueId copy = kNoValue;
    if (value.is_captured) {
      copy = CaptureOn(id, device);
    } else if (value.constant() != nullptr) {
      copy = ConstantOn(id, device);
    } else if (!IsOrdinary(value.device) && !IsOrdinary(device) && Copier(value.device, device) == nullptr) {
      return On(On(id, Device{}), device);  // two devices that know nothing of each other meet on the host
    } else {
      copy = AddCopy(id, device);
    }
    graph_.value(copy).device = device;
    copies_.emplace_back(id, copy);
    return copy;
  }

  ValueId CaptureOn(ValueId id, const Device& device) {
    const auto outer = outer_->graph_.Find(graph_.value(id).name);
    const ValueId there = outer_->On(*outer, device);
    const ValueId here = graph_.AddCaptured(outer_->graph_.value(there).name);
    graph_.value(here).type = graph_.value(id).type;
    return here;
  }

  ValueId ConstantOn(ValueId id, const Device& device) {
    const Tensor& tensor = *graph_.value(id).constant();
    if (IsString(tensor.dtype()))
      Fail(Code::kNotImplemented, "strings on a device are not implemented ('", graph_.value(id).name, "')");
    Provider& provider = At(device);
    const std::shared_ptr<Buffer> buffer =
        ReserveBuffer(std::max<std::size_t>(tensor.byte_size(), 1), provider.allocator());
    provider.CopyBytes(tensor.raw(), Device{}, buffer->data(), device, tensor.byte_size());
    auto copy = std::make_shared<Initializer>();
    copy->tensor = Tensor(tensor.dtype(), tensor.shape(), buffer);
    const ValueId value =
        graph_.AddValue(graph_.FreshName(graph_.value(id).name + "/on_device"), graph_.value(id).type);
    graph_.SetInitializer(value, std::move(copy));
    return value;
  }

  ValueId AddCopy(ValueId id, const Device& to) {
    const ValueInfo& value = graph_.value(id);
    const bool from_host = IsOrdinary(value.device), across = !from_host && !IsOrdinary(to);
    Node node;
    node.op_type = across ? kCopyAcross : from_host ? kCopyFromHost : kCopyToHost;
    node.domain = kCopyDomain;
    node.since_version = 1;
    node.provider = across ? Copier(value.device, to)->name() : At(from_host ? to : value.device).name();
    node.name = graph_.FreshName(value.name + (IsOrdinary(to) ? "/to_host" : "/to_device"));
    node.inputs = {id};
    node.outputs = {graph_.AddValue(node.name, value.type)};
    const ValueId copy = node.outputs[0];
    graph_.AddNode(std::move(node));
    changed_ = true;
    return copy;
  }

  // An output keeps its name: what its node makes on the device gets another. Who reads it on the host reads the
  // output.
  void BringHome(ValueId output) {
    if (IsOrdinary(graph_.value(output).device)) return;
    const NodeId producer = graph_.value(output).producer;
    if (producer == kNoNode)
      Fail(Code::kNotImplemented, "a body that returns a value on a device unchanged is not implemented ('",
           graph_.value(output).name, "')");
    auto& outputs = graph_.node(producer).outputs;
    const auto at = static_cast<std::size_t>(std::find(outputs.begin(), outputs.end(), output) - outputs.begin());
    const ValueId made =
        graph_.AddValue(graph_.FreshName(graph_.value(output).name + "/on_device"), graph_.value(output).type);
    graph_.value(made).device = graph_.value(output).device;
    ValueId copy = kNoValue;
    for (const auto& entry : copies_)
      if (entry.first == output && IsOrdinary(graph_.value(entry.second).device)) copy = entry.second;
    graph_.ReplaceUses(output, made);
    graph_.value(output).device = Device{};
    if (copy == kNoValue) {
      copy = AddCopy(made, Device{});
    } else {
      graph_.ReplaceUses(copy, output);
    }
    const NodeId copier = graph_.value(copy).producer;
    graph_.MoveOutput(copier, 0, output);
    graph_.MoveOutput(producer, at, made);
  }

  // The provider that copies from one device to another; null: none does.
  Provider* Copier(const Device& from, const Device& to) const {
    for (const Device& device : {to, from})
      if (Provider& provider = At(device); provider.CanCopy(from, to)) return &provider;
    return nullptr;
  }

  Provider& At(const Device& device) const {
    for (const auto& provider : set_.providers)
      if (provider->device() == device) return *provider;
    Fail(Code::kFail, "expected a provider of this session for each value's device, found a device without one");
  }

  Graph& graph_;
  const ProviderSet& set_;
  CopyPlacer* outer_;
  std::vector<std::pair<ValueId, ValueId>> copies_;  // a value and the same elsewhere
  bool changed_ = false;
};

}  // namespace

void PlaceCopies(Graph& graph, const ProviderSet& set) {
  const bool devices = std::any_of(set.providers.begin(), set.providers.end(),
                                   [](const auto& provider) { return !IsOrdinary(provider->device()); });
  if (devices) CopyPlacer(graph, set, nullptr).Run();
}

}  // namespace sardonyx::planner
