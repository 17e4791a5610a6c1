// runtime/run_memory.cpp - how much memory a run state keeps for the next run, and when it gives it back.
#include <algorithm>

#include "base/free_memory.h"
#include "runtime/run_state.h"

namespace sardonyx::runtime {

using ops::Slot;

namespace {

constexpr int kFirstWindow = 64;  // runs
constexpr int kLongestWindow = 1 << 20;
constexpr std::size_t kNotWorthIt = std::size_t{64} << 10;  // bytes

std::size_t SizeOf(const std::shared_ptr<Buffer>& buffer) { return buffer ? buffer->size() : 0; }

}  // namespace

// Shapes that come and go leave memory of the largest behind. What the last runs did not need between them goes; each
// time it went the next look is twice as far away, so that shapes that keep changing are not punished.
void RunState::CountUse() {
  std::size_t need = 0;
  for (const std::size_t bytes : plan_->arena_bytes) need += bytes;
  for (const int i : late_slots_)
    if (const ops::TensorRef& ref = slots_[i].ref; ref.present() && !IsString(ref.dtype)) need += ref.byte_size();
  window_need_ = std::max(window_need_, need);
  if (++window_runs_ < (window_ == 0 ? kFirstWindow : window_)) return;
  std::size_t held = 0, scratch = 0;
  for (const std::shared_ptr<Buffer>& arena : arenas_) held += SizeOf(arena);
  for (const Slot& slot : slots_) held += SizeOf(slot.retained);
  for (const std::shared_ptr<Buffer>& buffer : scratch_) scratch += SizeOf(buffer);
  const bool excess = held > window_need_ + window_need_ / 8 + kNotWorthIt ||
                      scratch > window_scratch_ * scratch_.size() + window_scratch_ / 8 + kNotWorthIt;
  window_runs_ = 0;
  window_need_ = window_scratch_ = 0;
  if (!excess) return;
  window_ = std::min(kLongestWindow, 2 * std::max(window_, kFirstWindow));
  ReleaseMemory();
  ReturnFreeMemory(kNotWorthIt);
}

void RunState::ReleaseMemory() {
  arenas_.clear();
  spare_outputs_.assign(spare_outputs_.size(), nullptr);
  scratch_.assign(scratch_.size(), nullptr);
  for (Slot& slot : slots_) slot.retained.reset();
  for (auto& bodies : children_) bodies.clear();
  plan_.reset();  // bound anew, in memory of its size
}

}  // namespace sardonyx::runtime
