// ops/image/resize_run.h - resizes a tensor, given how each axis is mapped.
#pragma once

#include "ops/image/resize_axis.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

inline constexpr std::size_t kMaxResizeRank = 16;

// Input 0 of `c` resized into `y`, both of rank 1 to kMaxResizeRank and not empty; `axes` has an entry for each
// dimension.
void RunNearest(KernelContext& c, const OutputRef& y, const ResizeAxis* axes, const ResizeOptions& options);
// Linear and cubic, in double for elements that float does not hold, else in float.
void RunInterpolated(KernelContext& c, const OutputRef& y, const ResizeAxis* axes, const ResizeOptions& options);
bool CanInterpolate(DType dtype);

}  // namespace sardonyx::ops
