// kernels/sample/bilinear.h - f32 images [H, W] sampled at points between their pixels: where the four pixels of each
// point lie is found once for a block of points, and read for one channel after the other.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// How ONNX GridSample writes points: (x, y), -1 and 1 being the centres of the outer pixels (align_corners) or the
// edges of the image.
struct PointsOfImage {
  std::int64_t height = 0, width = 0;  // height * width is at most 2^30
  bool align_corners = false;
  bool border = false;  // beyond the image its border counts, else 0
};

// A block of points: the pixel of each corner, -1 for one that counts as 0, and its weight.
struct BilinearBlock {
  static constexpr std::int64_t kPoints = 128;
  std::int64_t count = 0;
  bool all_inside = true;  // no pixel is -1
  std::int32_t at[4][kPoints];
  float weight[4][kPoints];
};

using FindBilinearFn = void(const PointsOfImage& image, const float* points, BilinearBlock& block);
// y[i] = the sum over the corners of weight[corner][i] * plane[at[corner][i]], i < block.count.
using ReadBilinearFn = void(const BilinearBlock& block, const float* plane, float* y);

#define SDX_DECLARE(isa)       \
  namespace isa {              \
  FindBilinearFn FindBilinear; \
  ReadBilinearFn ReadBilinear; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// The best of this process. `points`: block.count of them.
void FindBilinear(const PointsOfImage& image, const float* points, BilinearBlock& block);
void ReadBilinear(const BilinearBlock& block, const float* plane, float* y);

}  // namespace sardonyx::kernels
