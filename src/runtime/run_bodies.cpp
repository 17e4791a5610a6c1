// runtime/run_bodies.cpp - control flow that passes values on on a device: their memory, as its kernels see it.
#include <algorithm>
#include <vector>

#include "ops/single_node.h"
#include "ops/tensor_ref.h"
#include "planner/copy_nodes.h"
#include "runtime/run_state.h"

namespace sardonyx::runtime {

using ops::Slot;
using ops::TensorRef;

// The kernel gets values of the run's memory on devices, which it may give to bodies, but not keep: copying them is for
// the device, and seldom needed.
std::vector<Slot*> RunState::LendInputs(const ops::KernelContext& context, std::vector<Slot>& lent) const {
  const planner::Step& step = program_.steps()[context.step()];
  std::vector<Slot*> inputs(context.inputs().begin(), context.inputs().end());
  lent.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !inputs[i]->ref.present() || program_.slots()[step.inputs[i]].memory == 0) continue;
    const TensorRef& ref = inputs[i]->ref;
    const Device device = AllocatorOf(step.inputs[i])->device();
    lent[i].ref = ref;
    lent[i].value = Tensor(ref.dtype, Shape(ref.shape),
                           Buffer::View(const_cast<void*>(ref.data), ref.byte_size(), nullptr, device));
    inputs[i] = &lent[i];
  }
  return inputs;
}

// Whether it is a device's memory of an input, which goes with the input.
bool RunState::IsBorrowed(const ops::KernelContext& context, const Value& value) {
  if (!value.is_tensor() || value.tensor().buffer() == nullptr ||
      planner::IsOrdinary(value.tensor().buffer()->device()))
    return false;
  return std::any_of(context.inputs().begin(), context.inputs().end(), [&](const Slot* input) {
    return input != nullptr && input->ref.present() && input->ref.data == value.tensor().raw();
  });
}

void RunState::CopyLate(int slot, const Tensor& tensor) {
  ops::AllocateDynamic(slots_[slot], tensor.dtype(), tensor.shape(), AllocatorOf(slot));
  CopyInto(slot, ops::RefOf(tensor), slots_[slot].bytes);
}

// Into memory where the slot's lies.
void RunState::CopyInto(int slot, const TensorRef& from, void* to) {
  if (program_.slots()[slot].memory == 0) return ops::CopyTensor(from, to);
  if (from.count != 0) CopyOn(AllocatorOf(slot)->device(), from.data, to, from.byte_size());
}

void RunState::CopyOn(const Device& device, const void* from, void* to, std::size_t bytes) const {
  for (const auto& provider : program_.providers()->providers)
    if (provider->device() == device) return provider->CopyBytes(from, device, to, device, bytes);
}

}  // namespace sardonyx::runtime
