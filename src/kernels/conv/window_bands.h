// kernels/conv/window_bands.h - which runs of a convolution's windows read nothing but padding, where dilations are
// wide.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/conv/implicit_gemm.h"

namespace sardonyx::kernels {

class WindowBands {
 public:
  // Rows [first, last) of positions that need runs [first_run, last_run) of their windows.
  struct Band {
    std::int64_t first, last, first_run, last_run;
  };

  // Runs are taps, or rows of taps if `merged_taps`. All rows and runs are one band unless `may_skip` and leaving out
  // runs saves a quarter.
  WindowBands(const ConvShape& s, bool merged_taps, bool may_skip)
      : s_(s),
        merged_taps_(merged_taps),
        runs_(s.kernel[0] * s.kernel[1] * (merged_taps ? 1 : s.kernel[2])),
        skips_(may_skip && Saves()) {}

  // The band that begins with row `first`.
  Band Next(std::int64_t first) const {
    if (!skips_) return {0, Rows(), 0, runs_};
    const auto runs = RunsThatRead(first);
    std::int64_t last = first + 1;
    while (last < Rows() && RunsThatRead(last) == runs) ++last;
    return {first, last, runs.first, runs.second};
  }

 private:
  std::int64_t Rows() const { return s_.out[0] * s_.out[1]; }

  // From the first run that reads something for this row of positions to the last one; one run if none does.
  std::pair<std::int64_t, std::int64_t> RunsThatRead(std::int64_t row) const {
    const Index3 position = {row / s_.out[1], row % s_.out[1], 0};
    Index3 first = {0, 0, 0}, last = s_.kernel;
    for (int i = 0; i < 3; ++i) {
      const auto reads = [&](std::int64_t tap) {
        const std::int64_t at = tap * s_.dilation[i] - s_.pad_begin[i] + position[i] * s_.stride[i];
        const std::int64_t to = i < 2 ? at : at + (s_.out[2] - 1) * s_.stride[2];  // for the last column
        return to >= 0 && at < s_.in[i];
      };
      while (first[i] + 1 < last[i] && !reads(first[i])) ++first[i];
      while (first[i] + 1 < last[i] && !reads(last[i] - 1)) --last[i];
    }
    if (merged_taps_) first[2] = 0, last[2] = 1;
    const std::int64_t of_row = merged_taps_ ? 1 : s_.kernel[2];
    return {(first[0] * s_.kernel[1] + first[1]) * of_row + first[2],
            ((last[0] - 1) * s_.kernel[1] + last[1] - 1) * of_row + last[2]};
  }

  bool Saves() const {
    std::int64_t needed = 0;
    for (std::int64_t row = 0; row < Rows(); ++row) {
      const auto [first, last] = RunsThatRead(row);
      needed += last - first;
    }
    return 4 * needed <= 3 * Rows() * runs_;
  }

  const ConvShape& s_;
  bool merged_taps_;
  std::int64_t runs_;
  bool skips_;
};

}  // namespace sardonyx::kernels
