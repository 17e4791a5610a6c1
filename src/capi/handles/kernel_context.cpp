// capi/handles/kernel_context.cpp - shows the slots of a run as values.
#include "capi/handles/kernel_context.h"

#include "base/error.h"
#include "capi/handles/sync_stream.h"
#include "ops/tensor_ref.h"

using sardonyx::Buffer;
using sardonyx::Code;
using sardonyx::Dims;
using sardonyx::Shape;
using sardonyx::Tensor;
using sardonyx::Type;
using sardonyx::TypeKind;
using sardonyx::Value;
using sardonyx::ops::OutputRef;
using sardonyx::ops::Slot;

namespace {

bool Owns(const Slot& slot, const void* data, Dims shape) {
  return slot.value.is_tensor() && slot.value.tensor().raw() == data &&
         Shape::Equal(slot.value.tensor().shape(), shape);
}

// The slot's tensor; its bytes stay where they are.
Value TensorOf(const Slot& slot) {
  if (Owns(slot, slot.ref.data, slot.ref.shape)) return slot.value;
  return Tensor(slot.ref.dtype, Shape(slot.ref.shape), Buffer::ReadOnly(slot.ref.data, slot.ref.byte_size(), nullptr));
}

bool IsTensorType(const Type& type) { return type.is_none() || type.kind == TypeKind::kTensor; }

}  // namespace

OrtKernelContext::OrtKernelContext(sardonyx::ops::KernelContext& kernel, const sardonyx::capi::KernelFacts& facts,
                                   Aliases aliases)
    : kernel_(kernel),
      facts_(facts),
      aliases_(aliases),
      stream_(dynamic_cast<OrtSyncStream*>(sardonyx::CurrentStream())),
      inputs_(kernel.InputCount()),
      outputs_(kernel.OutputCount()) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!kernel.HasInput(i)) continue;
    const Slot& slot = *kernel.inputs()[i];
    inputs_[i] = slot.ref.present() ? TensorOf(slot) : slot.value;
  }
}

const Value* OrtKernelContext::Input(std::size_t i) const {
  return i < inputs_.size() && inputs_[i].has_value() ? &inputs_[i] : nullptr;
}

Value* OrtKernelContext::Output(std::size_t i, Dims shape) {
  if (i >= outputs_.size() || !kernel_.HasOutput(i)) return nullptr;
  Value& value = outputs_[i];
  if (!IsTensorType(facts_.outputs[i].type)) return &value;
  const OutputRef ref = kernel_.Output(i, shape, facts_.outputs[i].type.dtype);
  if (value.is_tensor() && value.tensor().raw() == ref.data && Shape::Equal(value.tensor().shape(), ref.shape))
    return &value;
  const Slot& slot = *kernel_.outputs()[i];
  if (Owns(slot, ref.data, ref.shape)) {
    value = slot.value;
  } else {
    value = Tensor(ref.dtype, Shape(ref.shape), Buffer::View(ref.data, ref.byte_size()));
  }
  for (const auto& [input, output] : aliases_) {
    if (output != i || input >= inputs_.size() || !inputs_[input].is_tensor()) continue;
    const Tensor& from = inputs_[input].tensor();
    if (from.dtype() != ref.dtype || from.count() != ref.count) {
      sardonyx::Fail(Code::kInvalidArgument, "output ", i, ", an alias of input ", input, ": expected ", from.count(),
                     " elements of type ", Name(from.dtype()), ", found ", ref.count, " of type ", Name(ref.dtype));
    }
    if (from.raw() != ref.data) sardonyx::ops::CopyTensor(sardonyx::ops::RefOf(from), ref.data);
  }
  return &value;
}

Value* OrtKernelContext::PreallocatedOutput(std::size_t i) {
  if (i >= outputs_.size() || !kernel_.HasOutput(i)) return nullptr;
  if (outputs_[i].has_value()) return &outputs_[i];
  const Slot& slot = *kernel_.outputs()[i];
  return slot.ref.present() && slot.bytes != nullptr ? Output(i, slot.ref.shape) : nullptr;
}

void OrtKernelContext::Finish() {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].has_value() && !IsTensorType(facts_.outputs[i].type)) kernel_.SetOutput(i, std::move(outputs_[i]));
}
