// kernels/sample/bilinear.isa.cpp - points between pixels, one source for every ISA.
#include "kernels/sample/bilinear.h"

#include "kernels/simd/gather_f32.h"

namespace sardonyx::kernels::SDX_ISA {
using std::int32_t;

namespace {

constexpr int64_t kPoints = BilinearBlock::kPoints;

// The lower pixel of each point along an axis (-1 for one outside), the upper one, and the weight of the upper one.
struct AxisPixels {
  int32_t low[kPoints], high[kPoints];
  float part[kPoints];
};

// Plain loops: the compiler makes vectors of them. What is NaN or far away counts as outside, like -2.
void FindAxis(const PointsOfImage& image, int64_t size, const float* points, int64_t count, AxisPixels& axis) {
  const auto n = static_cast<float>(size);
  const float scale = image.align_corners ? n - 1 : n, shift = image.align_corners ? 0 : 1;
  const float least = image.border ? 0 : -2, most = image.border ? n - 1 : n + 1;
  const auto last = static_cast<int32_t>(size - 1);
  for (int64_t i = 0; i < count; ++i) {
    float x = ((points[2 * i] + 1) * scale - shift) * 0.5F;
    x = x >= least ? x : least;  // NaN, too
    x = x <= most ? x : most;
    auto low = static_cast<int32_t>(x);
    low -= static_cast<float>(low) > x ? 1 : 0;
    axis.part[i] = x - static_cast<float>(low);
    int32_t high = low + 1;
    if (image.border) high = high < last ? high : last;
    axis.low[i] = low >= 0 && low <= last ? low : -1;
    axis.high[i] = high >= 0 && high <= last ? high : -1;
  }
}

}  // namespace

void FindBilinear(const PointsOfImage& image, const float* points, BilinearBlock& block) {
  AxisPixels x, y;
  FindAxis(image, image.width, points, block.count, x);
  FindAxis(image, image.height, points + 1, block.count, y);
  const auto width = static_cast<int32_t>(image.width);
  int32_t outside = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    const float right = x.part[i], below = y.part[i];
    block.weight[0][i] = (1 - below) * (1 - right);
    block.weight[1][i] = (1 - below) * right;
    block.weight[2][i] = below * (1 - right);
    block.weight[3][i] = below * right;
    // A negative pixel of either axis makes the place negative.
    block.at[0][i] = (y.low[i] | x.low[i]) < 0 ? -1 : y.low[i] * width + x.low[i];
    block.at[1][i] = (y.low[i] | x.high[i]) < 0 ? -1 : y.low[i] * width + x.high[i];
    block.at[2][i] = (y.high[i] | x.low[i]) < 0 ? -1 : y.high[i] * width + x.low[i];
    block.at[3][i] = (y.high[i] | x.high[i]) < 0 ? -1 : y.high[i] * width + x.high[i];
    outside |= block.at[0][i] | block.at[1][i] | block.at[2][i] | block.at[3][i];
  }
  block.all_inside = outside >= 0;
}

void ReadBilinear(const BilinearBlock& block, const float* plane, float* y) {
  const int64_t count = block.count;
  int64_t i = 0;
  if constexpr (kGathers) {
    for (; i + kLanes <= count; i += kLanes) {
      Vec sum = Broadcast(0);
      for (int corner = 0; corner < 4; ++corner)
        sum = AddGathered(sum, plane, block.at[corner] + i, block.weight[corner] + i);
      Store(y + i, sum);
    }
  } else if (block.all_inside) {
    for (; i < count; ++i) {
      y[i] = (block.weight[0][i] * plane[block.at[0][i]] + block.weight[1][i] * plane[block.at[1][i]]) +
             (block.weight[2][i] * plane[block.at[2][i]] + block.weight[3][i] * plane[block.at[3][i]]);
    }
  }
  for (; i < count; ++i) {
    float sum = 0;
    for (int corner = 0; corner < 4; ++corner)
      if (block.at[corner][i] >= 0) sum += block.weight[corner][i] * plane[block.at[corner][i]];
    y[i] = sum;
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
