// kernels/pool/pool_shape.h - sizes of a pool, and which taps of a window lie in the image.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sardonyx::kernels {

// Spatial arrays are (depth, height, width). Pads at the end are implied by `out`, but for average counts.
struct PoolShape {
  std::array<std::int64_t, 3> in = {1, 1, 1};
  std::array<std::int64_t, 3> out = {1, 1, 1};
  std::array<std::int64_t, 3> kernel = {1, 1, 1};
  std::array<std::int64_t, 3> stride = {1, 1, 1};
  std::array<std::int64_t, 3> dilation = {1, 1, 1};
  std::array<std::int64_t, 3> pad_begin = {0, 0, 0};
  std::array<std::int64_t, 3> pad_end = {0, 0, 0};
  // Channels last: elements from a pixel of x, or y, to the next, as parts of wider images; 0: the channels.
  std::int64_t in_pixel = 0, out_pixel = 0;
  bool average = false;            // else the maximum
  bool count_include_pad = false;  // averages divide by the taps in the padded input, not in the input
};

// The taps of the window at `out` along `axis` that lie in the image, [first, last), and where tap 0 is. A window may
// be far larger than the image.
struct PoolTapRange {
  PoolTapRange(const PoolShape& p, int axis, std::int64_t out) : PoolTapRange(p, axis, out, 0, p.in[axis]) {}
  // Those that lie in [low, high).
  PoolTapRange(const PoolShape& p, int axis, std::int64_t out, std::int64_t low, std::int64_t high)
      : input(out * p.stride[axis] - p.pad_begin[axis]) {
    const std::int64_t dilation = p.dilation[axis];
    first = input < low ? (low - input + dilation - 1) / dilation : 0;
    const std::int64_t room = high - 1 - input;
    const std::int64_t steps = dilation == 1 ? room : room / dilation;  // a division takes as long as a few taps
    last = room < 0 ? 0 : std::min(p.kernel[axis], steps + 1);
  }
  std::int64_t input, first, last;
};

// The most taps of a window that lie in the image: at most as many as the image has pixels.
inline std::int64_t PoolTapsInImage(const PoolShape& p) {
  std::int64_t taps = 1;
  for (std::size_t d = 0; d < 3; ++d) taps *= std::min(p.kernel[d], p.in[d]);
  return taps;
}

// How many taps of the window at `out` along `axis` count.
std::int64_t PoolTaps(const PoolShape& p, int axis, std::int64_t out);

}  // namespace sardonyx::kernels
