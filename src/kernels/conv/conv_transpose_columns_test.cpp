#include "kernels/conv/conv_transpose_columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/conv/conv_test.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {
namespace {

constexpr Variant<InterleaveRowsFn> kInterleaveVariants[] = {SDX_VARIANTS(InterleaveRows)};

// Windows that do not overlap, then few channels.
const Case kCases[] = {
    {"2x2", 2, 8, 6, 1, {1, 5, 37}, {1, 2, 2}, {1, 2, 2}},
    {"2x2 with pads", 1, 8, 6, 2, {1, 5, 37}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 2}},
    {"beyond the windows", 1, 8, 3, 1, {1, 3, 20}, {1, 2, 3}, {1, 2, 3}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {0, 1, 2}},
    {"negative pads", 1, 8, 3, 1, {1, 3, 20}, {1, 2, 3}, {1, 2, 3}, {1, 1, 1}, {0, -1, -2}, {0, -1, 0}},
    {"4x4", 1, 4, 9, 1, {1, 3, 18}, {1, 4, 4}, {1, 4, 4}},
    {"wide windows", 1, 4, 2, 1, {1, 2, 19}, {1, 1, 5}, {1, 1, 5}, {1, 1, 1}, {0, 0, 2}, {0, 0, 1}},
    {"1-D in blocks", 1, 4, 70, 1, {1, 1, 3000}, {1, 1, 2}, {1, 1, 2}},
    {"blocks inside rows", 1, 4, 70, 1, {1, 9, 150}, {1, 1, 2}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}},
    {"3-D", 1, 6, 5, 1, {3, 4, 17}, {2, 2, 2}, {2, 2, 2}},
    {"few channels", 2, 16, 3, 1, {1, 9, 33}, {1, 4, 4}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"few, stride 1", 1, 16, 1, 1, {1, 9, 33}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"few, a tap left", 1, 16, 3, 1, {1, 9, 33}, {1, 3, 5}, {1, 2, 2}, {1, 1, 1}, {0, 1, 2}, {0, 1, 2}},
    {"few, dilation", 1, 16, 4, 2, {1, 9, 33}, {1, 3, 3}, {1, 2, 2}, {1, 2, 3}, {0, 1, 4}, {0, 1, 1}},
    {"few, far pads", 1, 16, 2, 1, {1, 6, 8}, {1, 7, 9}, {1, 1, 3}, {1, 1, 1}, {0, 5, 8}, {0, 5, 8}},
};

TEST(ConvTransposeColumns, EveryShapeMatchesTheDirectSum) {
  for (const Case& c : kCases) {
    const ConvShape s = Shape(c, true);
    ASSERT_TRUE(ColumnsSuitConvTranspose(s)) << c.name;
    const std::int64_t pixels = Volume(s.out);
    const auto x = Random(s.batch * s.in_channels * Volume(s.in), 1);
    const auto w = Random(s.in_channels * (s.out_channels / s.groups) * Volume(s.kernel), 2);
    const auto bias = Random(s.out_channels, 3);
    const Sums sums = Reference(s, true, x, w);
    std::vector<float> first;
    Serial serial;
    ThreeInTurn threads;
    for (Parallel* parallel : {static_cast<Parallel*>(&serial), static_cast<Parallel*>(&threads)}) {
      Scratch scratch(ConvTransposeColumnsScratchBytes(s, parallel->ThreadCount()));
      std::vector<float> y(static_cast<std::size_t>(s.batch * s.out_channels * pixels), std::nanf(""));
      ConvTransposeColumnsF32(s, x.data(), w.data(), bias.data(), y.data(), *parallel, scratch.data());
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto channel = static_cast<std::int64_t>(i) / pixels % s.out_channels;
        const double want = sums.sum[i] + bias[static_cast<std::size_t>(channel)];
        ASSERT_NEAR(y[i], want, 1e-5 * (sums.magnitude[i] + 1)) << c.name << " at " << i;
      }
      if (first.empty()) first = y;
      EXPECT_EQ(first, y) << c.name << ": bits depend on the threads";
    }
  }
}

TEST(ConvTransposeColumns, EveryIsaPlacesTheSameValues) {
  for (const auto& [isa, run] : Runnable<InterleaveRowsFn>(kInterleaveVariants)) {
    for (const std::int64_t stride : {1, 2, 3, 4, 7}) {
      for (std::int64_t count = 0; count <= 40; ++count) {
        for (const bool add : {false, true}) {
          const auto rows = Random(stride * 50, 4);
          std::vector<float> y(static_cast<std::size_t>(stride * 41), 3.0F);
          run({rows.data(), 50, stride, count, 0.5F, y.data(), add});
          for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
            const float value = rows[static_cast<std::size_t>(i % stride * 50 + i / stride)];
            const float want = i / stride >= count ? 3.0F : value + (add ? 3.0F : 0.5F);
            ASSERT_EQ(y[static_cast<std::size_t>(i)], want) << Name(isa) << " stride " << stride << " at " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
