// runtime/repeated_runs.h - decides when a run state that repeats one shape frees the memory that earlier shapes
// needed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sardonyx::runtime {

// Counts runs of one shape. After a few of them the memory of other shapes is unlikely to be needed soon. If shapes
// come back so early that allocating again costs more than the memory was worth, it waits longer.
class RepeatedRuns {
 public:
  // Counts a run with the shapes of the one before. Returns true if memory that the repeated runs do not need should be
  // freed now: once for each shape, not again while the shape lasts.
  bool Count() { return ++runs_ == wanted_; }

  // To be called when the next run has other shapes.
  void End() {
    if (runs_ >= wanted_) wanted_ = runs_ < kWorthIt * wanted_ ? std::min(2 * wanted_, kMost) : kLeast;
    runs_ = 0;
  }

  static constexpr std::int64_t kLeast = 8, kMost = 1024;

 private:
  static constexpr std::int64_t kWorthIt = 32;  // shapes change rarely if they last this many times the runs waited for
  std::int64_t runs_ = 0;
  std::int64_t wanted_ = kLeast;
};

}  // namespace sardonyx::runtime
