// kernels/nbits/nbits_tile.h - rows of activations times a panel of packed weights, one set per ISA.
//
// A panel holds `lanes` columns. For each block of K: [lanes] scales; [lanes] offsets (zero - 2^(bits-1)) * scale if
// there are zero points, or with scales of 16 bits zero - 2^(bits-1), which has 16 bits, too; then groups [lanes] of 32
// bits. A group holds 32 / bits weights of its column: weight 4 i + j
// has the bits from bits * i of byte j, so that one shift and one mask give four bytes of neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

inline constexpr int kNBitsRows = 8;         // rows of one call, at most
inline constexpr int kNBitsRowsOfPairs = 6;  // with two panels

struct NBitsTileArgs {
  const std::byte* panel = nullptr;
  std::ptrdiff_t panel_bytes = 0;  // from the first panel to the second, where there are two
  std::int64_t blocks = 0;
  std::int64_t groups = 0;  // of a block
  bool has_offsets = false;
  bool half_scales = false;
  const std::byte* a = nullptr;  // int8: [rows][a_row_bytes] bytes, blocks * groups * 32 / bits of them; f32: floats
  std::ptrdiff_t a_row_bytes = 0;
  // Numbers of the blocks of a, [blocks][a_block_stride], the rows of a block beside each other: one address reaches
  // all.
  const float* a_scales = nullptr;  // int8
  const float* a_sums = nullptr;    // (int8: of its bytes)
  // int8: the sums times -NBitsSet::middle; where int8 adds products in 16 bits, both halves of a word in it have their
  // own
  const std::int32_t* a_starts = nullptr;
  std::ptrdiff_t a_block_stride = 0;
  float* y = nullptr;
  std::ptrdiff_t y_stride = 0;
  std::int64_t columns = 0;     // 1..lanes of each panel
  const float* bias = nullptr;  // [columns] or null
};
using NBitsTileFn = void(const NBitsTileArgs&);

struct NBitsSet {
  Isa isa;
  std::int64_t lanes;
  bool has_int8;                             // false: no call of int8
  NBitsTileFn* int8[3][kNBitsRows];          // by bits (2, 4, 8) and rows - 1
  std::int32_t middle[3];                    // what int8 must take away from the weights as it reads them
  bool has_pairs;                            // false: no call of pairs
  NBitsTileFn* pairs[3][kNBitsRowsOfPairs];  // int8 with two panels that share what is loaded of a
  std::int64_t f32_rows;                     // of one call of f32: as many sums as the registers hold
  NBitsTileFn* f32[3][kNBitsRows];
  // dst[k * dst_stride + column] = the weights of blocks [0, blocks) as floats
  void (*widen[3])(const std::byte* panel, std::int64_t blocks, std::int64_t groups, bool has_offsets, bool half_scales,
                   float* dst, std::ptrdiff_t dst_stride);
  // A row as blocks of bytes with scales max|a| / 127 (NaN where a block has one), the sums of the bytes, and these
  // times -middle, each `stride` after the one before; zeros behind k.
  void (*round_row)(const float* a, std::int64_t k, std::int64_t block, std::int32_t middle, std::int8_t* out,
                    float* scales, float* sums, std::int32_t* starts, std::ptrdiff_t stride);
  // The sums of the blocks of a row.
  void (*sum_row)(const float* a, std::int64_t k, std::int64_t block, float* sums, std::ptrdiff_t stride);
};

inline int NBitsIndex(int bits) { return bits == 2 ? 0 : bits == 4 ? 1 : 2; }

#define SDX_DECLARE(isa)               \
  namespace isa {                      \
  const NBitsSet& NBitsSetOfIsa();     \
  const NBitsSet& NBitsSetWithBytes(); \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

const NBitsSet& NBitsOf(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
