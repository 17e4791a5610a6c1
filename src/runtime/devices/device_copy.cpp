// runtime/devices/device_copy.cpp - copies bytes between devices, through the provider.
#include "runtime/devices/device_copy.h"

#include "ops/kernel_context.h"

namespace sardonyx::runtime {
namespace {

struct CopyState {
  providers::Provider* provider;
  Device from, to;
};

void RunCopy(ops::KernelContext& c) {
  const auto& state = c.state<CopyState>();
  const ops::TensorRef& from = c.Input(0);
  const ops::OutputRef to = c.Output(0, from.shape, from.dtype);
  if (from.count != 0) state.provider->CopyBytes(from.data, state.from, to.data, state.to, from.byte_size());
}

}  // namespace

ops::Prepared PrepareCopy(providers::Provider& provider, const Graph& graph, const Node& node) {
  const CopyState state{&provider, graph.value(node.inputs[0]).device, graph.value(node.outputs[0]).device};
  return {RunCopy, std::make_shared<const CopyState>(state)};
}

}  // namespace sardonyx::runtime
