// planner/plan_refit.cpp - a plan with the places of the plan before, for sizes that differ a little.
//
// Where nothing but sizes differs - the same steps run, the same values share memory, each storage still has room - all
// decisions of the plan before are those that planning anew would take, and its offsets serve again. A decoder's cache
// grows like that. A plan is made anew where the form may depend on the length: a step whose outcome differs or is
// decided each time (bodies of control flow, late steps, custom operators and kernels of other providers), and parallel
// mode, whose tasks are divided by size.
#include <algorithm>
#include <memory>
#include <utility>

#include "planner/plan_builder.h"
#include "planner/updates.h"

namespace sardonyx::planner {
namespace {

constexpr std::size_t kAlignment = 64;  // of places: the bytes up to the next multiple are free
constexpr std::size_t kLeastRoom = 4096;
constexpr std::size_t kMostRoom = std::size_t{1} << 20;  // more than the value needs now

}  // namespace

// The bytes of a place: more than the value needs if it has grown a little since the plan before. The room is a part of
// the size, so that a length that grows to n leaves its place about 8 ln(n) times.
std::size_t PlanBuilder::RoomFor(int slot, std::size_t bytes) const {
  if (before_ == nullptr || !changed_[slot] || bytes == 0 || threads_ > 1) return bytes;
  const PlannedSlot& was = before_->slots[slot];
  if (was.dtype != plan_->slots[slot].dtype) return bytes;
  const std::size_t then = ByteSize(was.dtype, was.count);
  const std::size_t room = std::min(std::max(bytes / 8, kLeastRoom), kMostRoom);
  return bytes <= then || bytes - then > room ? bytes : CheckedAdd(bytes, room, "the room of a value");
}

// Gives the slot its new size and contents. False if they differ in more.
bool PlanBuilder::Resize(int slot) {
  PlannedSlot& planned = plan_->slots[slot];
  const Fact& fact = facts_[slot];
  const bool known = fact.known.is_tensor();
  if (planned.dtype == DType::kUndefined || known != planned.known.defined() || (!known && !fact.is_static))
    return false;
  if (planned.dtype != (known ? fact.known.tensor().dtype() : fact.type.dtype)) return false;
  planned.shape = known ? fact.known.tensor().shape() : fact.type.StaticShape();
  planned.count = ElementCount(planned.shape);
  if (known) planned.known = fact.known.tensor();
  return true;
}

// Whether two slots were of one shape, or one size, and are no longer, or the other way round.
bool PlanBuilder::IsUnlike(int slot, int other) const {
  if (slot == kNoSlot || other == kNoSlot || (!changed_[slot] && !changed_[other])) return false;
  const PlannedSlot &a = before_->slots[slot], &b = before_->slots[other];
  const PlannedSlot &new_a = plan_->slots[slot], &new_b = plan_->slots[other];
  return (a.count == b.count) != (new_a.count == new_b.count) || (a.shape == b.shape) != (new_a.shape == new_b.shape);
}

// Whether all comparisons of sizes by which values came to share memory (LinkViews, ReuseInPlace, UpdatedInput) have
// the results that they had.
bool PlanBuilder::KeepsSharing(const Step& step) const {
  if (step.outputs.empty()) return true;
  for (const auto* slots : {&step.inputs, &step.outputs})  // where a part begins may depend on contents
    for (const int slot : *slots)
      if (slot != kNoSlot && (before_->slots[slot].pitch != 0 || before_->slots[slot].has_parts)) return false;
  if ((step.op->traits & (ops::kView | ops::kMayAlias)) != 0) {
    constexpr std::size_t kMostCompared = 16;  // inputs, each with each
    if (step.inputs.size() > kMostCompared) return false;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (IsUnlike(step.inputs[i], step.outputs[0])) return false;
      for (std::size_t k = 0; k < i; ++k)
        if (IsUnlike(step.inputs[i], step.inputs[k])) return false;
    }
  }
  for (const Update& update : UpdatesOf(*step.op)) {
    if (update.input < step.inputs.size() && update.output < step.outputs.size() &&
        IsUnlike(step.inputs[update.input], step.outputs[update.output]))
      return false;
  }
  return true;
}

// False if a storage no longer has room, has bytes for the first time, or so much room that it is a waste.
bool PlanBuilder::ResizeBuffers() {
  plan_->buffers = before_->buffers;
  for (PlannedBuffer& buffer : plan_->buffers) {
    if (!changed_[buffer.slot]) continue;
    const PlannedSlot& planned = plan_->slots[buffer.slot];
    const std::size_t bytes = ByteSize(planned.dtype, planned.count);
    const std::size_t room = CheckedAdd(buffer.room, kAlignment - 1, "the room of a value") / kAlignment * kAlignment;
    if (bytes == 0 || bytes > room || room - bytes > std::max(bytes / 4, 2 * kLeastRoom)) return false;
    buffer.bytes = bytes;
  }
  return true;
}

// The plan to make: one with the places of the plan before that nobody needs any more, or a new one. A length that
// grows allocates nothing that way, and copies only what may differ.
std::shared_ptr<Plan> PlanBuilder::Reusable(PlanFacts& before) {
  const std::shared_ptr<Plan> spare = std::exchange(before.spare, nullptr);
  if (spare == nullptr || before.plan == nullptr || !spare->HasPlacesOf(*before.plan)) return std::make_shared<Plan>();
  spare->input_shapes.clear();
  spare->contents.clear();
  spare->steps.clear();
  return spare;
}

void PlanBuilder::TakeSlotsBefore() {
  if (!plan_->HasPlacesOf(*before_)) {
    plan_->slots = before_->slots;
    return;
  }
  for (const int slot : before_->resized) plan_->slots[slot] = before_->slots[slot];
}

// Adds what changed, and what shows its contents, to what had changed before.
void PlanBuilder::NoteResized() {
  const auto is_new = [&](int slot) {
    const PlannedSlot& planned = plan_->slots[slot];
    const bool shows = planned.place == PlannedSlot::Place::kConstant && planned.source >= 0;
    return changed_[slot] || (shows && changed_[planned.source]);
  };
  plan_->resized.clear();
  std::size_t known = 0;
  for (int slot = 0; slot < static_cast<int>(changed_.size()); ++slot) {
    const bool was = known < before_->resized.size() && before_->resized[known] == slot;
    if (was) ++known;
    if (was || is_new(slot)) plan_->resized.push_back(slot);
  }
}

// Whether the plan has the places of the plan before; if not, it has none yet.
bool PlanBuilder::Refit() {
  if (before_ != nullptr && same_outcomes_ && threads_ <= 1 && RefitInto()) return true;
  Plan none;
  none.input_shapes = std::move(plan_->input_shapes);
  none.contents = std::move(plan_->contents);
  none.steps = std::move(plan_->steps);
  *plan_ = std::move(none);
  return false;
}

// What is left over where that fails belongs to neither.
bool PlanBuilder::RefitInto() {
  TakeSlotsBefore();
  for (int slot = 0; slot < static_cast<int>(changed_.size()); ++slot) {
    if (!changed_[slot]) continue;
    if (before_->slots[slot].pitch != 0 || before_->slots[slot].has_parts || !Resize(slot)) return false;
    // A value without bytes has no place that it could grow in.
    if ((plan_->slots[slot].count == 0) != (before_->slots[slot].count == 0)) return false;
  }
  const bool keeps =
      std::all_of(walked_.begin(), walked_.end(), [&](int step) { return KeepsSharing(outline_.steps()[step]); });
  if (!keeps || !ResizeBuffers()) return false;
  NoteResized();
  plan_->steps = before_->steps;  // without the views that have nothing to do
  if (!plan_->HasPlacesOf(*before_)) {
    plan_->input_slots = before_->input_slots;
    plan_->output_slots = before_->output_slots;
    plan_->deliveries = before_->deliveries;
    plan_->updated_inputs = before_->updated_inputs;
    plan_->arena_bytes = before_->arena_bytes;
  }
  plan_->has_room = true;  // at least where a value is smaller than it was
  return true;
}

}  // namespace sardonyx::planner
