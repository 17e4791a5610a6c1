// kernels/region/region_test.cpp - boxes that overlap, and averages of regions, in every variant.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/region/overlap.h"
#include "kernels/region/roi_align.h"

namespace sardonyx::kernels {
namespace {

BoxBlock RandomBlock(std::mt19937& random, std::int64_t count) {
  std::uniform_real_distribution<float> at(0, 10), size(0.5f, 4);
  BoxBlock block = {};
  for (std::int64_t i = 0; i < kBlockBoxes; ++i) {
    block.y1[i] = block.x1[i] = std::numeric_limits<float>::infinity();
    if (i >= count) continue;
    block.y1[i] = at(random), block.x1[i] = at(random);
    block.y2[i] = block.y1[i] + size(random), block.x2[i] = block.x1[i] + size(random);
    block.area[i] = (block.y2[i] - block.y1[i]) * (block.x2[i] - block.x1[i]);
  }
  return block;
}

double Iou(const BoxBlock& b, std::int64_t i, const SearchedBox& box) {
  const double height = std::min<double>(b.y2[i], box.y2) - std::max<double>(b.y1[i], box.y1);
  const double width = std::min<double>(b.x2[i], box.x2) - std::max<double>(b.x1[i], box.x1);
  if (!(height > 0 && width > 0)) return 0;
  return height * width / (double{b.area[i]} + box.area - height * width);
}

TEST(Overlap, EveryVariantFindsTheFirstBlockWithAnOverlappingBox) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<BoxBlock> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(RandomBlock(random, i == 4 ? 3 : kBlockBoxes));
    const BoxBlock one = RandomBlock(random, 1);
    const SearchedBox box = {one.y1[0], one.x1[0], one.y2[0], one.x2[0], one.area[0]};
    const float threshold = 0.35f;
    for (const Isa isa : SupportedIsas()) {
      std::int32_t near[kBlockBoxes];
      const std::int64_t found = FindOverlapFunction(isa)(blocks.data(), 0, 5, box, threshold, near);
      for (std::int64_t b = 0; b < std::min<std::int64_t>(found + 1, 5); ++b) {
        for (std::int64_t i = 0; i < kBlockBoxes; ++i) {
          const double iou = Iou(blocks[static_cast<std::size_t>(b)], i, box);
          if (std::abs(iou - threshold) < 1e-5) continue;  // rounding decides
          EXPECT_EQ(b == found && near[i] != 0, iou > threshold) << Name(isa) << " block " << b << " box " << i;
        }
      }
    }
  }
}

// The mean of bilinear samples, sample by sample in float64.
double Mean(const std::vector<float>& plane, std::int64_t height, std::int64_t width, double y, double x, double bin_h,
            double bin_w, std::int64_t rows, std::int64_t columns) {
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double v = y + (static_cast<double>(r) + 0.5) * bin_h / static_cast<double>(rows);
      double u = x + (static_cast<double>(c) + 0.5) * bin_w / static_cast<double>(columns);
      if (v < -1 || v > static_cast<double>(height) || u < -1 || u > static_cast<double>(width)) continue;
      v = std::clamp(v, 0.0, static_cast<double>(height - 1));
      u = std::clamp(u, 0.0, static_cast<double>(width - 1));
      const auto y0 = static_cast<std::int64_t>(v), x0 = static_cast<std::int64_t>(u);
      const std::int64_t y1 = std::min(y0 + 1, height - 1), x1 = std::min(x0 + 1, width - 1);
      const double fy = v - static_cast<double>(y0), fx = u - static_cast<double>(x0);
      const auto at = [&](std::int64_t i, std::int64_t j) {
        return double{plane[static_cast<std::size_t>(i * width + j)]};
      };
      sum += (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x1)) + fy * ((1 - fx) * at(y1, x0) + fx * at(y1, x1));
    }
  }
  return sum / static_cast<double>(rows * columns);
}

struct Case {
  std::int64_t height, width, bins_h, bins_w, rows, columns;
  double y, x, bin_h, bin_w;
};

TEST(AlignPlane, EveryVariantGivesTheMeanOfTheSamples) {
  const Case cases[] = {
      {20, 33, 7, 7, 2, 2, 1.3, 2.7, 1.9, 3.4},     // a common region
      {20, 33, 3, 2, 2, 3, -4.0, 25.0, 9.1, 8.3},   // over the edges
      {20, 33, 2, 5, 9, 11, 3.0, 30.0, 0.3, -5.0},  // many samples a pixel; from right to left
      {1, 1, 2, 2, 1, 1, -0.4, -0.4, 0.5, 0.5},     // one pixel
  };
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(-1, 1);
  for (const Case& c : cases) {
    std::vector<float> plane(static_cast<std::size_t>(c.height * c.width)), line(static_cast<std::size_t>(c.width));
    for (float& v : plane) v = value(random);
    std::vector<std::byte> row_memory(static_cast<std::size_t>(AlignAxisBytes(c.bins_h, c.height)));
    std::vector<std::byte> column_memory(static_cast<std::size_t>(AlignAxisBytes(c.bins_w, c.width)));
    const AlignAxis rows = MakeAlignAxis(c.bins_h, c.height, row_memory.data());
    const AlignAxis columns = MakeAlignAxis(c.bins_w, c.width, column_memory.data());
    FillAlignAxis(c.y, c.bin_h, c.rows, rows);
    FillAlignAxis(c.x, c.bin_w, c.columns, columns);
    for (const Isa isa : SupportedIsas()) {
      std::vector<float> y(static_cast<std::size_t>(c.bins_h * c.bins_w));
      AlignPlaneFunction(isa)(rows, columns, plane.data(), line.data(), y.data());
      for (std::int64_t i = 0; i < c.bins_h * c.bins_w; ++i) {
        const double want =
            Mean(plane, c.height, c.width, c.y + static_cast<double>(i / c.bins_w) * c.bin_h,
                 c.x + static_cast<double>(i % c.bins_w) * c.bin_w, c.bin_h, c.bin_w, c.rows, c.columns);
        EXPECT_NEAR(y[static_cast<std::size_t>(i)], want, 2e-6) << Name(isa) << " bin " << i;
      }
    }
  }
}

TEST(AlignPlane, PixelsBetweenTheSamplesAreNotRead) {
  std::vector<float> plane(20, std::numeric_limits<float>::quiet_NaN()), line(20);
  plane[0] = 1;
  plane[19] = 3;
  std::vector<std::byte> row_memory(static_cast<std::size_t>(AlignAxisBytes(1, 1)));
  std::vector<std::byte> column_memory(static_cast<std::size_t>(AlignAxisBytes(1, 20)));
  const AlignAxis rows = MakeAlignAxis(1, 1, row_memory.data()), columns = MakeAlignAxis(1, 20, column_memory.data());
  FillAlignAxis(0, 1, 1, rows);
  FillAlignAxis(-9.5, 38, 2, columns);  // samples at 0 and 19
  float y = 0;
  AlignPlaneFunction()(rows, columns, plane.data(), line.data(), &y);
  EXPECT_FLOAT_EQ(y, 2);
}

}  // namespace
}  // namespace sardonyx::kernels
