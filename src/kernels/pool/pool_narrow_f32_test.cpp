#include "kernels/pool/pool_narrow_f32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "kernels/gemm/kernel_test.h"
#include "kernels/pool/pool_f32.h"

namespace sardonyx::kernels {
namespace {

struct Narrow {
  NarrowWindow window;
  std::int64_t kernel, stride, pad;
};
constexpr Narrow kWindows[] = {{NarrowWindow::kTwoStride2, 2, 2, 0},
                               {NarrowWindow::kThreeStride2, 3, 2, 0},
                               {NarrowWindow::kThreeStride2Pad1, 3, 2, 1},
                               {NarrowWindow::kThreeStride1Pad1, 3, 1, 1}};

float Expected(const PoolShape& p, const float* x, std::int64_t row, std::int64_t column) {
  double sum = 0;
  float greatest = -INFINITY;
  std::int64_t taps = 0;
  for (std::int64_t h = 0; h < p.kernel[1]; ++h) {
    for (std::int64_t w = 0; w < p.kernel[2]; ++w) {
      const std::int64_t y = row * p.stride[1] - p.pad_begin[1] + h, at = column * p.stride[2] - p.pad_begin[2] + w;
      if (y < 0 || y >= p.in[1] || at < 0 || at >= p.in[2]) continue;
      const float v = x[y * p.in[2] + at];
      sum += v, ++taps;
      greatest = v > greatest || v != v ? v : greatest;
    }
  }
  return p.average ? static_cast<float>(sum / static_cast<double>(taps)) : greatest;
}

void Compare(const PoolShape& p, const std::vector<float>& x, std::int64_t planes, Isa isa) {
  Serial serial;
  Scratch scratch(PoolF32ScratchBytes(p, planes));
  std::vector<float> y(static_cast<std::size_t>(planes * p.out[1] * p.out[2]));
  PoolF32(p, planes, x.data(), y.data(), serial, scratch.data(), isa);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
    const std::int64_t plane = i / (p.out[1] * p.out[2]), row = i / p.out[2] % p.out[1], column = i % p.out[2];
    const float want = Expected(p, x.data() + plane * p.in[1] * p.in[2], row, column);
    const float found = y[static_cast<std::size_t>(i)];
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(found));
    else
      EXPECT_NEAR(found, want, p.average ? 1e-6 : 0)
          << Name(isa) << ' ' << p.kernel[1] << 'x' << p.kernel[2] << " width " << p.in[2] << " at " << i;
  }
}

TEST(PoolNarrowF32, EveryWidthHeightAndIsaMatchesTheWindowForm) {
  for (const Narrow& narrow : kWindows) {
    for (std::int64_t width = 1; width <= 70; ++width) {
      for (const std::int64_t kernel_height : {1, 2, 3, 5}) {
        PoolShape p;
        p.in = {1, 4, width}, p.kernel = {1, kernel_height, narrow.kernel}, p.stride = {1, narrow.stride, narrow.stride};
        p.pad_begin = {0, kernel_height / 2, narrow.pad}, p.pad_end = {0, kernel_height / 2, 1};
        for (const std::size_t d : {1, 2}) {
          const std::int64_t room = p.in[d] + p.pad_begin[d] + p.pad_end[d] - p.kernel[d];
          p.out[d] = room < 0 ? 0 : room / p.stride[d] + 1;
        }
        // Windows that lie in pads alone have no average.
        while (p.out[2] > 0 && (p.out[2] - 1) * p.stride[2] - p.pad_begin[2] >= width) --p.out[2];
        if (p.out[1] * p.out[2] == 0) continue;
        ASSERT_EQ(NarrowWindowOf(p), narrow.window);
        std::vector<float> x(static_cast<std::size_t>(2 * 4 * width));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i));
        for (const bool average : {false, true}) {
          p.average = average;
          for (const Isa isa : SupportedIsas()) Compare(p, x, 2, isa);
        }
      }
    }
  }
}

TEST(PoolNarrowF32, ANumberThatIsNoneCountsInEveryWindowItIsIn) {
  for (const Narrow& narrow : kWindows) {
    PoolShape p;
    p.in = {1, 5, 40}, p.kernel = {1, 3, narrow.kernel}, p.stride = {1, narrow.stride, narrow.stride};
    p.pad_begin = {0, 1, narrow.pad};
    p.out = {1, (5 + 1 - 3) / narrow.stride + 1, (40 + narrow.pad - narrow.kernel) / narrow.stride + 1};
    for (std::size_t at = 0; at < 200; at += 7) {
      std::vector<float> x(200, 1.0F);
      x[at] = NAN;
      for (const Isa isa : SupportedIsas()) Compare(p, x, 1, isa);
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
