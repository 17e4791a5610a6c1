// kernels/conv/window_reader.h - hands the bytes of a convolution's windows to the product that clips them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/conv/implicit_gemm.h"
#include "kernels/gemm/clipped_product.h"

namespace sardonyx::kernels {

// Reads the window of an output position, run after run from `first_run` to before `last_run`; padding reads the zero
// point.
class WindowReader {
 public:
  // Runs have k values, and are rows of the window if `merged_taps`. x: the image, from the first channel of the group.
  WindowReader(const ConvShape& s, std::int64_t k, bool merged_taps, int zero, const std::uint8_t* x,
               std::int64_t first_run, std::int64_t last_run)
      : s_(s),
        k_(k),
        taps_(merged_taps ? s.kernel[2] : 1),
        first_run_(first_run),
        last_run_(last_run),
        zero_(static_cast<std::uint8_t>(zero)),
        x_(x) {}

  void Read(std::int64_t position, ClippedRow& out) const {
    if (Product(s_.kernel) == 1 && s_.out == s_.in && Product(s_.stride) == 1 && s_.pad_begin == Index3{0, 0, 0})
      return out.Take(x_ + position * s_.in_channels, k_);
    Index3 from = {position / s_.out[2] / s_.out[1], position / s_.out[2] % s_.out[1], position % s_.out[2]};
    for (int i = 0; i < 3; ++i) from[i] = from[i] * s_.stride[i] - s_.pad_begin[i];
    const std::int64_t of_row = s_.kernel[2] / taps_;
    for (std::int64_t run = first_run_; run < last_run_; ++run) {
      const std::int64_t d = run / of_row / s_.kernel[1], h = run / of_row % s_.kernel[1], w = run % of_row;
      ReadRun(from[0] + d * s_.dilation[0], from[1] + h * s_.dilation[1], from[2] + w * s_.dilation[2], out);
    }
  }

 private:
  static constexpr std::int64_t kBlock = 512;

  void ReadRun(std::int64_t d, std::int64_t h, std::int64_t w, ClippedRow& out) const {
    const std::int64_t channels = s_.in_channels, pixel = (d * s_.in[1] + h) * s_.in[2] + w;
    const bool inside = d >= 0 && d < s_.in[0] && h >= 0 && h < s_.in[1];
    if (inside && w >= 0 && w + taps_ <= s_.in[2]) return out.Take(x_ + pixel * channels, k_);
    // Values [first, last) of the run lie inside the image.
    const std::int64_t first = inside ? std::clamp<std::int64_t>(-w, 0, taps_) * channels : k_;
    const std::int64_t last = inside ? std::clamp<std::int64_t>(s_.in[2] - w, 0, taps_) * channels : k_;
    std::uint8_t block[kBlock];
    for (std::int64_t k = 0; k < k_; k += kBlock) {
      const std::int64_t count = std::min(kBlock, k_ - k);
      const std::int64_t begin = std::clamp<std::int64_t>(first - k, 0, count),
                         end = std::clamp(last - k, begin, count);
      std::memset(block, zero_, static_cast<std::size_t>(count));
      if (begin < end)
        std::memcpy(block + begin, x_ + pixel * channels + k + begin, static_cast<std::size_t>(end - begin));
      out.Take(block, count);
    }
  }

  const ConvShape& s_;
  std::int64_t k_, taps_, first_run_, last_run_;
  std::uint8_t zero_;
  const std::uint8_t* x_;
};

}  // namespace sardonyx::kernels
