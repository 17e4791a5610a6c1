// ops/shapes/broadcast.h - walks an output, and the inputs that broadcast to it, in runs of contiguous elements.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "base/shape.h"

namespace sardonyx::ops {

// `count` output elements from `out` on; those of input i begin at in[i] and follow each other, or
// (BroadcastPlan::repeats) are one element for the whole run.
struct BroadcastRun {
  std::int64_t out;
  std::int64_t in[3];
  std::int64_t count;
};

// Neighbouring dimensions in which each input either follows the output or is repeated are one, so most shapes become
// one run or a few long ones. No heap memory up to 8 such dimensions.
class BroadcastPlan {
 public:
  static constexpr std::size_t kMaxInputs = 3;

  // Each of `inputs` (at most 3) must broadcast to `out`; `out` must not be empty of elements if ForRange is to be
  // called.
  BroadcastPlan(Dims out, std::span<const Dims> inputs);

  // True if a run reads one element of input i, again and again.
  bool repeats(std::size_t i) const { return strides_[i][0] == 0; }
  // Calls `run` for the output elements [begin, end), in order.
  void ForRange(std::int64_t begin, std::int64_t end, FunctionRef<void(const BroadcastRun&)> run) const;

 private:
  std::size_t inputs_;
  Shape sizes_;  // innermost first
  Shape strides_[kMaxInputs];
};

}  // namespace sardonyx::ops
