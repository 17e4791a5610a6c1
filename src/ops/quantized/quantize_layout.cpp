// ops/quantized/quantize_layout.cpp - finds the runs of elements that share a scale.
#include "ops/quantized/quantize_layout.h"

#include <algorithm>

#include "base/error.h"

namespace sardonyx::ops {

QuantizeLayout::QuantizeLayout(Dims x, Dims scale, std::int64_t axis, std::int64_t block_size) {
  per_tensor_ = block_size == 0 && (scale.empty() || (scale.size() == 1 && scale[0] == 1));
  if (per_tensor_) return;
  const std::size_t at = NormalizeAxis(axis, x.size());
  axis_size_ = x[at];
  inner_ = ElementCount(x, at + 1, x.size());
  if (block_size == 0) {
    if (scale.size() != 1 || scale[0] != axis_size_)
      Fail(Code::kInvalidArgument, "scale: expected one element or the shape [", axis_size_, "] (axis ", at, " of ",
           ToText(x), "), found ", ToText(scale));
    return;
  }
  block_ = block_size;
  blocks_ = scale.size() == x.size() ? scale[at] : 0;
  bool fits = scale.size() == x.size() && blocks_ == axis_size_ / block_ + (axis_size_ % block_ != 0);
  for (std::size_t i = 0; fits && i < x.size(); ++i) fits = i == at || scale[i] == x[i];
  if (!fits)
    Fail(Code::kInvalidArgument, "scale: expected the shape ", ToText(x), " with blocks of ", block_, " along axis ",
         at, ", found ", ToText(scale));
}

ScaleRun QuantizeLayout::RunAt(std::int64_t begin, std::int64_t end) const {
  if (per_tensor_) return {begin, end - begin, 0, true};
  if (inner_ == 1) {
    const std::int64_t row = begin / axis_size_, at = begin % axis_size_;
    if (block_ == 0) return {begin, std::min(axis_size_ - at, end - begin), at, false};
    const std::int64_t block = at / block_;
    const std::int64_t stop = axis_size_ - block * block_ > block_ ? (block + 1) * block_ : axis_size_;
    return {begin, std::min(stop - at, end - begin), row * blocks_ + block, true};
  }
  const std::int64_t row = begin / inner_, in = begin % inner_;
  const std::int64_t count = std::min(inner_ - in, end - begin), at = row % axis_size_;
  if (block_ == 0) return {begin, count, at, true};
  return {begin, count, (row / axis_size_ * blocks_ + at / block_) * inner_ + in, false};
}

void QuantizeLayout::ForRange(std::int64_t begin, std::int64_t end, FunctionRef<void(const ScaleRun&)> run) const {
  while (begin < end) {
    const ScaleRun r = RunAt(begin, end);
    run(r);
    begin += r.count;
  }
}

}  // namespace sardonyx::ops
