// kernels/conv/conv_int8_loops.h - computes a grid of output positions from one channels-last image of A' with a halo.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/conv/implicit_gemm.h"
#include "kernels/gemm/int8_result.h"
#include "kernels/gemm/paired_tile_int8.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {

struct IntegerConvolution {
  const TileInt8Set* tiles;
  const std::byte* x;                 // what run offset 0 means for the first position of group 0
  std::int64_t x_bytes;               // of the image: decides the blocking
  Index3 x_step;                      // bytes from a position to the next
  const std::ptrdiff_t* run_offsets;  // [runs] bytes
  std::int64_t runs;                  // of consecutive values in a window
  std::int64_t k;                     // values of a run
  std::int64_t groups;
  std::int64_t group_in_bytes;
  std::int64_t group_out;
  const std::byte* panels;         // [groups][panels][runs][groups of k][nr]
  const PairedTilesInt8* paired;   // in place of the tiles' own; null: none
  const std::uint8_t* fits;        // theirs: [groups][panels][runs][groups of k / 2]
  const std::uint32_t* zeros;      // zb [channels]
  const std::uint32_t* terms;      // added to the sums [channels]
  const std::uint32_t* row_terms;  // sum A' - K * za [groups][positions]; null: no zb
  Index3 count;                    // positions
  void* y;
  ImageLayout out_layout;
  std::int64_t out_pixels;
  Int8Result result;
  const float* scales;  // [channels]
  int y_zero;
  bool y_signed;
  Int8Sum sum;  // z like y, or null

  std::int64_t Channels() const { return groups * group_out; }
  std::int64_t ResultBytes() const { return result == Int8Result::kBytes ? 1 : 4; }
  float Low() const { return static_cast<float>(LowestByte(y_signed) - y_zero); }
  float High() const { return static_cast<float>(HighestByte(y_signed) - y_zero); }
  // Of column `column` of row `row` of positions (all depths).
  std::int64_t InputOffset(std::int64_t row, std::int64_t column) const {
    return row / count[1] * x_step[0] + row % count[1] * x_step[1] + column * x_step[2];
  }
};

void RunIntegerConvolution(const IntegerConvolution& g, Parallel& parallel);

}  // namespace sardonyx::kernels
