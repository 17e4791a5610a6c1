// capi/handles/kernel_context.cpp - shows the slots of a run as values.
#include "capi/handles/kernel_context.h"

#include "base/error.h"
#include "capi/handles/sync_stream.h"
#include "ops/tensor_ref.h"

using sardonyx::Buffer;
using sardonyx::Code;
using sardonyx::Device;
using sardonyx::Dims;
using sardonyx::Shape;
using sardonyx::Tensor;
using sardonyx::Type;
using sardonyx::TypeKind;
using sardonyx::Value;
using sardonyx::capi::KernelValues;
using sardonyx::ops::OutputRef;
using sardonyx::ops::Slot;

namespace {

bool Owns(const Slot& slot, const void* data, Dims shape) {
  return slot.value.is_tensor() && slot.value.tensor().raw() == data &&
         Shape::Equal(slot.value.tensor().shape(), shape);
}

// Whether a value of an earlier call is a view of exactly this tensor.
bool IsViewOf(const KernelValues::Entry& entry, sardonyx::DType dtype, const void* data, Dims shape) {
  if (!entry.is_view) return false;
  const Tensor& tensor = entry.value.tensor();
  return tensor.raw() == data && tensor.dtype() == dtype && Shape::Equal(tensor.shape(), shape);
}

bool IsTensorType(const Type& type) { return type.is_none() || type.kind == TypeKind::kTensor; }

// Shows a slot's tensor; its bytes stay where they are.
void Show(const Slot& slot, const Device& place, KernelValues::Entry& entry) {
  if (Owns(slot, slot.ref.data, slot.ref.shape)) {
    entry = {slot.value};
  } else if (!IsViewOf(entry, slot.ref.dtype, slot.ref.data, slot.ref.shape)) {
    const std::size_t bytes = slot.ref.byte_size();
    auto buffer = place == Device{} ? Buffer::ReadOnly(slot.ref.data, bytes, nullptr)
                                    : Buffer::View(const_cast<void*>(slot.ref.data), bytes, nullptr, place);
    entry = {Tensor(slot.ref.dtype, Shape(slot.ref.shape), std::move(buffer)), true};
  }
}

}  // namespace

OrtKernelContext::OrtKernelContext(sardonyx::ops::KernelContext& kernel, const sardonyx::capi::KernelFacts& facts,
                                   Aliases aliases, sardonyx::capi::SpareValues* spare)
    : kernel_(kernel),
      facts_(facts),
      aliases_(aliases),
      stream_(dynamic_cast<OrtSyncStream*>(sardonyx::CurrentStream())),
      spare_(spare) {
  if (spare_ != nullptr) values_ = spare_->Take();
  if (values_ == nullptr) values_ = std::make_unique<KernelValues>();
  auto& [inputs, outputs] = *values_;
  inputs.resize(kernel.InputCount());
  outputs.resize(kernel.OutputCount());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Slot* slot = kernel.HasInput(i) ? kernel.inputs()[i] : nullptr;
    if (slot != nullptr && slot->ref.present()) {
      Show(*slot, i < facts.inputs.size() ? facts.PlaceOf(facts.inputs[i]) : Device{}, inputs[i]);
    } else {
      inputs[i] = {slot != nullptr ? slot->value : Value()};
    }
  }
  for (KernelValues::Entry& output : outputs) output.made = false;
}

// What owns memory is not kept.
OrtKernelContext::~OrtKernelContext() {
  if (spare_ == nullptr) return;
  for (auto* entries : {&values_->inputs, &values_->outputs})
    for (KernelValues::Entry& entry : *entries)
      if (!entry.is_view) entry.value = Value();
  spare_->Give(std::move(values_));
}

const Value* OrtKernelContext::Input(std::size_t i) const {
  const auto& inputs = values_->inputs;
  return i < inputs.size() && inputs[i].value.has_value() ? &inputs[i].value : nullptr;
}

Value* OrtKernelContext::Output(std::size_t i, Dims shape) {
  if (i >= OutputCount() || !kernel_.HasOutput(i)) return nullptr;
  KernelValues::Entry& entry = values_->outputs[i];
  if (!IsTensorType(facts_.outputs[i].type)) {
    if (!entry.made) entry = {Value()};
    entry.made = true;
    return &entry.value;
  }
  const OutputRef ref = kernel_.Output(i, shape, facts_.outputs[i].type.dtype);
  const bool again = entry.made && entry.value.is_tensor() && entry.value.tensor().raw() == ref.data &&
                     Shape::Equal(entry.value.tensor().shape(), ref.shape);
  if (again) return &entry.value;
  const Slot& slot = *kernel_.outputs()[i];
  if (Owns(slot, ref.data, ref.shape)) {
    entry = {slot.value};
  } else if (!IsViewOf(entry, ref.dtype, ref.data, ref.shape)) {
    auto buffer = Buffer::View(ref.data, ref.byte_size(), nullptr, facts_.PlaceOf(facts_.outputs[i]));
    entry = {Tensor(ref.dtype, Shape(ref.shape), std::move(buffer)), true};
  }
  entry.made = true;
  for (const auto& [input, output] : aliases_) {
    if (output != i || input >= InputCount() || !values_->inputs[input].value.is_tensor()) continue;
    const Tensor& from = values_->inputs[input].value.tensor();
    if (from.dtype() != ref.dtype || from.count() != ref.count) {
      sardonyx::Fail(Code::kInvalidArgument, "output ", i, ", an alias of input ", input, ": expected ", from.count(),
                     " elements of type ", Name(from.dtype()), ", found ", ref.count, " of type ", Name(ref.dtype));
    }
    if (from.raw() != ref.data) sardonyx::ops::CopyTensor(sardonyx::ops::RefOf(from), ref.data);
  }
  return &entry.value;
}

Value* OrtKernelContext::PreallocatedOutput(std::size_t i) {
  if (i >= OutputCount() || !kernel_.HasOutput(i)) return nullptr;
  if (HasMade(i)) return &values_->outputs[i].value;
  const Slot& slot = *kernel_.outputs()[i];
  return slot.ref.present() && slot.bytes != nullptr ? Output(i, slot.ref.shape) : nullptr;
}

void OrtKernelContext::CheckMade(const std::string& callee) const {
  for (std::size_t i = 0; i < OutputCount(); ++i) {
    if (!kernel_.HasOutput(i) || HasMade(i) || facts_.outputs[i].type.kind == sardonyx::TypeKind::kOptional) continue;
    sardonyx::Fail(Code::kEpFail, callee, ": expected a call of KernelContext_GetOutput for output ", i, " ('",
                   facts_.outputs[i].name, "'), found none");
  }
}

void OrtKernelContext::Finish() {
  for (std::size_t i = 0; i < OutputCount(); ++i)
    if (HasMade(i) && !IsTensorType(facts_.outputs[i].type)) kernel_.SetOutput(i, std::move(values_->outputs[i].value));
}
