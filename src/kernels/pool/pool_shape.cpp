// kernels/pool/pool_shape.cpp - counts the taps of a window that contribute to an average.
#include "kernels/pool/pool_shape.h"

namespace sardonyx::kernels {

std::int64_t PoolTaps(const PoolShape& p, int axis, std::int64_t out) {
  const std::int64_t low = p.count_include_pad ? -p.pad_begin[axis] : 0;
  const std::int64_t high = p.in[axis] + (p.count_include_pad ? p.pad_end[axis] : 0);
  const PoolTapRange taps(p, axis, out, low, high);
  return std::max<std::int64_t>(0, taps.last - taps.first);
}

}  // namespace sardonyx::kernels
