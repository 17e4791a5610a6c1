// kernels/conv/implicit_gemm.h - convolution of a channels-last image as a batch-reduce GEMM: a tap is a pointer
// offset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {

using Index3 = std::array<std::int64_t, 3>;  // (depth, height, width)

inline std::int64_t Product(const Index3& v) { return v[0] * v[1] * v[2]; }
inline std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A channels-last image [size][pixel], pixel >= channels floats, with a border of zeros: the original begins at `lead`,
// before this part of it if that is negative.
struct HaloedImage {
  Index3 size;
  Index3 lead;
  std::int64_t channels;
  std::int64_t pixel;
  std::int64_t Floats() const { return Product(size) * pixel; }
  Index3 Pitch() const { return {size[1] * size[2] * pixel, size[2] * pixel, pixel}; }  // floats
};

struct SourceImage {
  const float* data;
  Index3 size;
  ImageLayout layout;
  std::int64_t pixel = 0;  // channels last: floats from a pixel to the next; 0: the channels
};

// Copies an image into its halo, transposing it if it is channels-first; what does not fit is cut off.
void FillHalo(const TileF32Set& tiles, const HaloedImage& halo, const SourceImage& image, float* dst,
              Parallel& parallel);

// Where the taps of a grid read, so that those that read only padding can be left out; kernel[0] = 0: not known.
struct TapGrid {
  Index3 kernel = {0, 0, 0};  // taps = their product, the last running fastest
  Index3 in, lead;            // of the image, its pads
  Index3 stride, dilation;
};

// A grid of output positions computed from one image per `images`, with the same taps everywhere.
struct ImplicitGemm {
  const TileF32Set* tiles;
  const float* x;  // image 0, group 0, what tap offset 0 means for the first position
  std::int64_t images;
  std::int64_t x_image_stride;        // floats
  std::int64_t x_image_floats;        // about how many floats of an image are read: decides the blocking
  Index3 x_step;                      // floats from a position to the next
  const std::ptrdiff_t* tap_offsets;  // [taps] floats
  std::int64_t taps;
  TapGrid grid;
  std::int64_t k;  // consecutive floats per tap
  std::int64_t groups;
  std::int64_t group_in;  // channels of a group
  std::int64_t group_out;
  const float* weights;   // [groups][panels][taps * k][nr]
  Index3 count;           // positions
  float* y;               // image 0
  const float* residual;  // like y, or null
  ImageLayout out_layout;
  std::int64_t out_pixels;                       // of an image of y; channels: groups * group_out
  std::int64_t y_pixel = 0, residual_pixel = 0;  // channels last: floats from a pixel to the next; 0: the channels
  std::int64_t y_start;                          // pixel of the first position
  Index3 y_step;                                 // pixels from a position to the next
  const Epilogue* epilogue;
};

void RunImplicitGemm(const ImplicitGemm& g, Parallel& parallel);

// Floats of the weights of one grid, and their packing: dst[g][panel][t][c][j] = weight(g, c, t, panel * nr + j).
std::int64_t PanelWeightFloats(const TileF32Set& tiles, std::int64_t groups, std::int64_t group_in,
                               std::int64_t group_out, std::int64_t taps);

}  // namespace sardonyx::kernels
