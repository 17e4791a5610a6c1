// kernels/gemm/tile_int8.h - the integer tile: rows x nr sums of products of 8-bit values, exact in 32 bits.
//
// Values travel in groups of 32 bits: four bytes (u8 of A times s8 of B, VNNI) or two 16-bit values. So A' = A +
// a_shift and B' = B - b_shift are what is multiplied, the shifts being 128 where VNNI wants the other signedness and
// else 0. A' lies in rows of k_groups groups, B' in panels [N / nr][k_groups][nr] of groups; both are zero beyond K.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

struct TileInt8Args {
  const std::byte* a;
  std::ptrdiff_t a_row_bytes;
  std::int64_t k_groups;
  const std::byte* b;  // one panel, 64-byte aligned
  std::int32_t* c;
  std::ptrdiff_t c_row_stride;
  std::int64_t columns;  // 1..nr
  // c = sum - a_zero[row] * b_sums[column] - row_terms[row] * b_zero[column]; b_zero null: no last term
  const std::uint32_t* a_zero;
  const std::uint32_t* row_terms;
  const std::uint32_t* b_sums;
  const std::uint32_t* b_zero;
};

using TileInt8Fn = void(const TileInt8Args&);

struct TileInt8Set {
  Isa isa;
  bool bytes;               // groups of four bytes, else of two 16-bit values
  std::int64_t rows;        // the tallest tile
  std::int64_t columns;     // nr
  TileInt8Fn* const* tile;  // tile[r - 1]: r rows x nr columns
  // Writes k_groups groups of one row of A' and returns its sum.
  std::uint32_t (*pack_row)(const std::uint8_t* a, std::int64_t k, bool is_signed, std::byte* out);
  // Writes nr groups of B' from 4 (or 2) rows of nr values each, and adds the values to sums[nr].
  void (*pack_group)(const std::uint8_t* const* rows, bool is_signed, std::byte* out, std::uint32_t* sums);
};

#define SDX_DECLARE(isa)             \
  namespace isa {                    \
  const TileInt8Set* TileSetWords(); \
  const TileInt8Set* TileSetBytes(); \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// The sets this CPU can run, best first; `count` receives how many (at most 4).
const TileInt8Set* const* TilesInt8(int* count);

}  // namespace sardonyx::kernels
