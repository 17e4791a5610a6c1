// ops/quantized/quantize_layout.h - which scale belongs to which element: per tensor, per axis, or per block along an
// axis.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "base/shape.h"

namespace sardonyx::ops {

// Elements [begin, begin + count) of the tensor; their scales begin at `scale`, one each or (repeated) one for all.
struct ScaleRun {
  std::int64_t begin, count, scale;
  bool repeated;
};

class QuantizeLayout {
 public:
  // x [..., D, ...] with D at `axis`, which only counts for scales of more than one element; block_size 0: not blocked.
  // Fails with kInvalidArgument, naming both shapes, if the scales do not fit.
  QuantizeLayout(Dims x, Dims scale, std::int64_t axis, std::int64_t block_size);
  // Calls `run` for the elements [begin, end), in order.
  void ForRange(std::int64_t begin, std::int64_t end, FunctionRef<void(const ScaleRun&)> run) const;

 private:
  ScaleRun RunAt(std::int64_t begin, std::int64_t end) const;

  bool per_tensor_ = false;
  std::int64_t axis_size_ = 1, inner_ = 1;
  std::int64_t block_ = 0, blocks_ = 0;  // 0: per axis
};

}  // namespace sardonyx::ops
