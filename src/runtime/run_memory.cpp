// runtime/run_memory.cpp - which memory values have, how much of it a run state keeps for the next run, and when it
// frees it.
#include <algorithm>
#include <utility>

#include "base/memory/free_memory.h"
#include "runtime/run_state.h"

namespace sardonyx::runtime {

using ops::Slot;
using planner::PlannedSlot;
using Place = PlannedSlot::Place;

namespace {

constexpr int kFirstWindow = 64;  // runs
constexpr int kLongestWindow = 1 << 20;
constexpr std::size_t kNotWorthIt = std::size_t{64} << 10;  // bytes of a run state
constexpr std::size_t kWorthATrim = std::size_t{1} << 20;   // bytes of the process

std::size_t SizeOf(const std::shared_ptr<Buffer>& buffer) { return buffer ? buffer->size() : 0; }

}  // namespace

// Of the plan bound before only sizes differ. What does not differ goes on showing shapes of the plan that was bound as
// a whole.
void RunState::BindSizes(std::shared_ptr<const planner::Plan> plan) {
  const std::shared_ptr<const planner::Plan> last = std::exchange(plan_, std::move(plan));
  waits_for_last_ = false;
  for (const int slot : last->resized.size() > plan_->resized.size() ? last->resized : plan_->resized) BindSlot(slot);
}

void RunState::BindSlot(std::size_t i) {
  const PlannedSlot& planned = plan_->slots[i];
  Slot& slot = slots_[i];
  slot.value = Value();
  slot.ref = {planned.dtype, nullptr, planned.shape, planned.count, planned.pitch};
  slot.bytes = nullptr;
  switch (planned.place) {
    case Place::kConstant: {
      const int source = planned.source >= 0 ? planned.source : static_cast<int>(i);
      const Tensor& tensor =
          plan_->slots[source].known.defined() ? plan_->slots[source].known : *program_.slots()[source].constant;
      slot.ref.data = tensor.raw();
      break;
    }
    case Place::kArena:
      if (const auto& arena = arenas_[planned.memory])
        slot.PlaceAt(static_cast<std::byte*>(arena->data()) + planned.offset);
      break;
    case Place::kLate:
    case Place::kNone:
      slot.Clear();
      break;
    case Place::kInput:
    case Place::kOutput:
      break;  // each run
  }
}

void RunState::Need::Cover(const Need& run) {
  memory = std::max(memory, run.memory);
  scratch = std::max(scratch, run.scratch);
}

bool RunState::HoldsMoreThan(const Need& need) const {
  std::size_t held = 0, scratch = 0;
  for (const std::shared_ptr<Buffer>& arena : arenas_) held += SizeOf(arena);
  for (const Slot& slot : slots_) held += SizeOf(slot.retained);
  for (const std::shared_ptr<Buffer>& buffer : scratch_) scratch += SizeOf(buffer);
  return held > need.memory + need.memory / 8 + kNotWorthIt ||
         scratch > need.scratch * scratch_.size() + need.scratch / 8 + kNotWorthIt;
}

// Shapes that come and go leave memory of the largest behind. What a few runs of one shape do not need goes soon. Of
// shapes that change, what a window of runs did not need between them goes; each time it went the next look is twice as
// far away, so that shapes that keep changing are not punished.
void RunState::CountUse() {
  Need run{0, run_scratch_.exchange(0, std::memory_order_relaxed)};
  for (const std::size_t bytes : plan_->arena_bytes) run.memory += bytes;
  for (const int i : late_slots_)
    if (const ops::TensorRef& ref = slots_[i].ref; ref.present() && !IsString(ref.dtype)) run.memory += ref.byte_size();
  window_need_.Cover(run);
  repeated_need_.Cover(run);
  if (repeated_runs_.Count()) {
    if (HoldsMoreThan(repeated_need_)) ReleaseMemory();
    if (!is_body_) ReturnNewFreeMemory(kWorthATrim);
  }
  if (++window_runs_ < (window_ == 0 ? kFirstWindow : window_)) return;
  const bool excess = HoldsMoreThan(window_need_);
  window_runs_ = 0;
  window_need_ = {};
  if (!excess) return;
  window_ = std::min(kLongestWindow, 2 * std::max(window_, kFirstWindow));
  ReleaseMemory();
  ReturnFreeMemory(kNotWorthIt);
}

void RunState::ReleaseMemory() {
  if (own_streams_ != nullptr) own_streams_->Flush();
  arenas_.clear();
  spare_outputs_.assign(spare_outputs_.size(), nullptr);
  scratch_.assign(scratch_.size(), nullptr);
  for (Slot& slot : slots_) slot.retained.reset();
  for (auto& bodies : children_) bodies.clear();
  plan_.reset();  // bound anew, in memory of its size
  bound_.reset();
}

}  // namespace sardonyx::runtime
