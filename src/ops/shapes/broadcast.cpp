// ops/shapes/broadcast.cpp - collapses broadcast shapes into runs.
#include "ops/shapes/broadcast.h"

#include <algorithm>

#include "base/error.h"

namespace sardonyx::ops {

BroadcastPlan::BroadcastPlan(Dims out, std::span<const Dims> inputs) : inputs_(inputs.size()) {
  if (inputs.size() > kMaxInputs) Fail(Code::kFail, "expected at most ", kMaxInputs, " inputs, found ", inputs.size());
  unsigned last = ~0u;  // which inputs follow the output in the dimension before, a bit each
  std::int64_t strides[kMaxInputs] = {1, 1, 1};
  for (std::size_t back = 1; back <= out.size(); ++back) {
    const std::int64_t size = out[out.size() - back];
    if (size == 1) continue;
    unsigned follows = 0;
    for (std::size_t i = 0; i < inputs_; ++i)
      if (back <= inputs[i].size() && inputs[i][inputs[i].size() - back] != 1) follows |= 1u << i;
    if (follows == last) {
      sizes_[sizes_.rank() - 1] *= size;
    } else {
      sizes_.Append(size);
      for (std::size_t i = 0; i < inputs_; ++i) strides_[i].Append(follows >> i & 1 ? strides[i] : 0);
    }
    for (std::size_t i = 0; i < inputs_; ++i)
      if (follows >> i & 1) strides[i] *= size;
    last = follows;
  }
  if (!sizes_.empty()) return;
  sizes_.Append(1);  // one element everywhere
  for (Shape& stride : strides_) stride.Append(1);
}

void BroadcastPlan::ForRange(std::int64_t begin, std::int64_t end, FunctionRef<void(const BroadcastRun&)> run) const {
  if (begin >= end) return;
  Shape at;  // the index in each dimension
  at.Resize(sizes_.rank(), 0);
  BroadcastRun r = {.out = begin, .in = {}, .count = 0};
  std::int64_t rest = begin;
  for (std::size_t d = 0; d < sizes_.rank(); ++d) {
    at[d] = rest % sizes_[d];
    rest /= sizes_[d];
    for (std::size_t i = 0; i < inputs_; ++i) r.in[i] += at[d] * strides_[i][d];
  }
  for (;;) {
    r.count = std::min(sizes_[0] - at[0], end - r.out);
    run(r);
    r.out += r.count;
    if (r.out >= end) return;
    // The run ended a row: back to its beginning, and one step in the next dimension that has one left.
    for (std::size_t i = 0; i < inputs_; ++i) r.in[i] -= at[0] * strides_[i][0];
    at[0] = 0;
    for (std::size_t d = 1;; ++d) {
      if (++at[d] < sizes_[d]) {
        for (std::size_t i = 0; i < inputs_; ++i) r.in[i] += strides_[i][d];
        break;
      }
      for (std::size_t i = 0; i < inputs_; ++i) r.in[i] -= (sizes_[d] - 1) * strides_[i][d];
      at[d] = 0;
    }
  }
}

}  // namespace sardonyx::ops
