// runtime/run_outputs.cpp - where the outputs of a run go: memory of the caller, of an enclosing run, or our own.
#include <algorithm>

#include "ops/single_node.h"
#include "ops/tensor_ref.h"
#include "runtime/run_state.h"

namespace sardonyx::runtime {

using ops::Slot;
using ops::TensorRef;
using planner::Delivery;
using planner::PlannedSlot;

bool RunState::OverlapsInput(const void* data, std::size_t bytes, int except) const {
  const auto* begin = static_cast<const std::byte*>(data);
  return std::any_of(facts_.begin(), facts_.end(), [&](const planner::InputFact& fact) {
    const auto* other = static_cast<const std::byte*>(fact.ref.data);
    if (&fact - facts_.data() == except) return false;
    return fact.ref.present() && other != nullptr && begin < other + fact.ref.byte_size() && other < begin + bytes;
  });
}

// Whether the caller gave the memory of an input for output k that updates it: a cache that stays where it is.
bool RunState::IsUpdate(std::size_t k, const void* data) const {
  const int input = plan_->updated_inputs[k];
  return input >= 0 && facts_[static_cast<std::size_t>(input)].ref.data == data;
}

static void CheckTarget(const std::string& name, const OutputTarget& target, DType dtype, Dims shape) {
  if (target.dtype == dtype && Shape::Equal(target.shape, shape)) return;
  Fail(Code::kInvalidArgument, "output '", name, "': expected a tensor for the computed ", Name(dtype), ToText(shape),
       ", found one of ", Name(target.dtype), ToText(target.shape));
}

// Memory for a result of this type in the target; null if it has none of its own.
static void* TargetMemory(const OutputTarget& target, DType dtype, Dims shape,
                          const std::shared_ptr<Allocator>& memory) {
  if (target.data != nullptr) return target.data;
  if (target.slot != nullptr) {
    ops::AllocateDynamic(*target.slot, dtype, shape, memory);
    return target.slot->bytes;
  }
  if (target.value == nullptr) return nullptr;
  const std::size_t bytes = ByteSize(dtype, ElementCount(shape));
  if (!IsString(dtype) && target.value->is_tensor()) {
    const std::shared_ptr<Buffer> buffer = target.value->tensor().buffer();
    if (buffer && buffer.use_count() == 2 && !buffer->read_only() && buffer->size() >= bytes &&
        buffer->device() == memory->device()) {  // the Value's and ours
      *target.value = Tensor(dtype, Shape(shape), buffer);
      return target.value->tensor().raw();
    }
  }
  *target.value = Tensor(dtype, Shape(shape), memory);
  return target.value->tensor().raw();
}

// A custom operator's kernel may write straight into the caller's tensor: its shape is what the kernel will ask for, or
// the run fails.
void RunState::OfferTarget(std::size_t k, const OutputTarget& target) {
  const int slot = program_.outputs()[k];
  const int producer = program_.slots()[slot].producer;
  if (target.data == nullptr || producer < 0 || program_.slots()[slot].memory != 0 || IsString(target.dtype)) return;
  if ((program_.steps()[producer].op->traits & ops::kCustom) == 0) return;
  const std::int64_t count = ElementCount(target.shape);
  if (count == 0 || OverlapsInput(target.data, ByteSize(target.dtype, count))) return;
  slots_[slot].ref = {target.dtype, nullptr, target.shape, count};
  slots_[slot].PlaceAt(target.data);
}

void RunState::PlaceOutputs(std::span<const OutputTarget> targets) {
  for (std::size_t k = 0; k < plan_->deliveries.size(); ++k) {
    copy_spare_[k] = false;
    if (plan_->deliveries[k] == Delivery::kLate) OfferTarget(k, targets[k]);
    if (plan_->deliveries[k] != Delivery::kDirect) continue;
    const int slot = program_.outputs()[k];
    const PlannedSlot& planned = plan_->slots[slot];
    const OutputTarget& target = targets[k];
    if (target.data != nullptr)
      CheckTarget(program_.graph().value(program_.graph().outputs[k]).name, target, planned.dtype, planned.shape);
    const std::size_t bytes = ByteSize(planned.dtype, planned.count);
    const int updated = IsUpdate(k, target.data) ? plan_->updated_inputs[k] : -1;
    const bool spare = target.data != nullptr && OverlapsInput(target.data, bytes, updated);
    void* data = nullptr;
    try {
      if (!spare) data = TargetMemory(target, planned.dtype, planned.shape, AllocatorOf(slot));
      if (data == nullptr) {
        std::shared_ptr<Buffer>& buffer = spare_outputs_[k];
        if (!buffer || buffer->size() < bytes)
          buffer = Buffer::Allocate(std::max<std::size_t>(bytes, 1), AllocatorOf(slot));
        data = buffer->data();
        copy_spare_[k] = spare;
      }
    } catch (const Error& error) {
      throw AtSlot(slot, error);
    }
    for (const int output_slot : (*plan_->output_slots)[k])
      slots_[output_slot].PlaceAt(static_cast<std::byte*>(data) + plan_->slots[output_slot].window);
  }
}

// On devices first: streams have yet to do it.
void RunState::Deliver(std::span<const OutputTarget> targets, bool on_host) {
  for (std::size_t k = 0; k < targets.size(); ++k)
    if ((program_.slots()[program_.outputs()[k]].memory == 0) == on_host) DeliverOne(k, targets[k]);
}

void RunState::DeliverOne(std::size_t k, const OutputTarget& target) {
  if (target.data == nullptr && target.slot == nullptr && target.value == nullptr) return;
  Slot& slot = slots_[program_.outputs()[k]];
  const bool strange = IsStrange(program_.outputs()[k]);
  if (plan_->deliveries[k] == Delivery::kDirect && !strange) {
    if (copy_spare_[k]) CopyOutput(k, target.data);
    return;
  }
  const std::string& name = program_.graph().value(program_.graph().outputs[k]).name;
  if (!slot.ref.present()) {  // a sequence, a map, or an optional without a value
    if (target.data != nullptr)
      Fail(Code::kInvalidArgument, "output '", name, "': expected no tensor for the computed ", slot.value.KindName(),
           ", found one");
    if (target.value != nullptr) *target.value = slot.value;
    if (target.slot != nullptr) {
      target.slot->value = slot.value;
      target.slot->Clear();
    }
    return;
  }
  if (target.data != nullptr) {
    misfit_ = strange && is_body_;  // until CheckTarget has seen it
    CheckTarget(name, target, slot.ref.dtype, slot.ref.shape);
    misfit_ = false;
    if (slot.ref.data == target.data) return;
  }
  // What a late step made is the run's own: it is handed over. Its memory is replaced in the next run.
  const bool own = (strange || plan_->deliveries[k] == Delivery::kLate) && slot.value.is_tensor() &&
                   slot.value.tensor().raw() == slot.ref.data && slot.value.tensor().shape() == Shape(slot.ref.shape) &&
                   slot.value.tensor().buffer().use_count() <= 2;
  if (own && target.data == nullptr && target.value != nullptr) {
    *target.value = slot.value;
    slot.retained.reset();
    return;
  }
  CopyOutput(k, TargetMemory(target, slot.ref.dtype, slot.ref.shape, AllocatorOf(program_.outputs()[k])));
}

}  // namespace sardonyx::runtime
