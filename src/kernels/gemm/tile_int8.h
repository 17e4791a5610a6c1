// kernels/gemm/tile_int8.h - the integer tile: rows x nr sums of products of 8-bit values, exact in 32 bits.
//
// Values travel in groups of 32 bits: four bytes (u8 of A times s8 of B, VNNI) or two 16-bit values. The tile
// multiplies A' = A + a_shift by B' = B - b_shift; a shift is 128 where VNNI wants the other signedness, else 0. B'
// lies in panels [N / nr][k_groups][nr] of groups and is zero beyond K; the values of A' there do not matter, but they
// are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/gemm/int8_result.h"
#include "kernels/gemm/tiles_in_use.h"

namespace sardonyx::kernels {

struct TileInt8Args {
  // The first (rows + 1) / 2 rows of A' begin at a0, the others at a1; each sum runs over `taps` runs of k_groups.
  const std::byte* a0;
  const std::byte* a1;
  std::ptrdiff_t a_row_bytes;
  const std::ptrdiff_t* tap_offsets;  // [taps] bytes
  std::int64_t taps;
  std::int64_t k_groups;
  const std::byte* b;    // one panel, 64-byte aligned
  const char* prefetch;  // a valid address, moved by prefetch_step with every group
  std::ptrdiff_t prefetch_step;
  std::int64_t columns;  // 1..nr
  // sum + column_terms[column] - a_zero[row] * b_sums[column] - row_terms[row] * b_zero[column]; null: no such term.
  // row_terms like rows of A'.
  const std::uint32_t* column_terms;
  const std::uint32_t* start;  // [rows][nr] in place of column_terms, or null; sets with `clipped` only
  const std::uint32_t* a_zero;
  const std::uint32_t* b_sums;
  const std::uint32_t* row_terms0;
  const std::uint32_t* row_terms1;
  const std::uint32_t* b_zero;
  // What becomes of it (int8_result.h): the rows of c like those of A'.
  Int8Result result;
  void* c0;
  void* c1;
  std::ptrdiff_t c_row_stride;  // elements
  const float* scales;          // [columns]
  const float* row_scales;      // [rows]; null: 1
  const float* bias;            // [columns]; null: 0; kFloats only
  float low, high;              // kBytes: bounds before zero is added; see SetBytes
  std::uint32_t zero;
  bool c_signed;
  // kBytes: what is added, rows like those of c; z0 null: nothing. Scales and zero points are those of sum.
  const std::uint8_t* z0;
  const std::uint8_t* z1;
  const Int8Sum* sum;

  // kBytes of this type and zero point.
  void SetBytes(bool is_signed, int zero_point) {
    c_signed = is_signed, zero = static_cast<std::uint32_t>(zero_point);
    low = static_cast<float>(LowestByte(is_signed) - zero_point);
    high = static_cast<float>(HighestByte(is_signed) - zero_point);
  }
};

using TileInt8Fn = void(const TileInt8Args&);

struct ClippedRowsSet;  // kernels/gemm/clipped_rows.h

struct TileInt8Set {
  Isa isa;
  bool bytes;                 // groups of four bytes, else of two 16-bit values
  std::int64_t rows;          // the tallest tile
  std::int64_t columns;       // nr
  TileInt8Fn* const* wide;    // wide[r - 1]: r rows x nr columns
  TileInt8Fn* const* narrow;  // r rows x the first nr / 2 columns of a panel
  // Writes k values of A' and returns their sum.
  std::uint32_t (*pack_row)(const std::uint8_t* a, std::int64_t k, bool is_signed, std::byte* out);
  // The sum of k values of A'.
  std::uint32_t (*sum_row)(const std::byte* a, std::int64_t k);
  // Writes nr groups of B' from 4 (or 2) rows of nr values each, and adds the values to sums[nr].
  void (*pack_group)(const std::uint8_t* const* rows, bool is_signed, std::byte* out, std::uint32_t* sums);
  // dst[c * dst_stride + r] = src[r * src_stride + c]
  void (*transpose)(std::int64_t rows, std::int64_t columns, const std::uint8_t* src, std::ptrdiff_t src_stride,
                    std::uint8_t* dst, std::ptrdiff_t dst_stride);
  // Not null: sums of two products must fit into 16 bits, so A' is clipped and what was clipped is added elsewhere
  // (clipped_product.h). The tiles any_wide and any_narrow take every A'; merged_wide and merged_narrow add products of
  // two groups in 16 bits.
  const ClippedRowsSet* clipped = nullptr;
  TileInt8Fn* const* any_wide = nullptr;
  TileInt8Fn* const* any_narrow = nullptr;
  TileInt8Fn* const* merged_wide = nullptr;
  TileInt8Fn* const* merged_narrow = nullptr;

  // Around many calls on a thread, which then cost less each; null where they would not. See TilesInUse.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;

  std::int64_t GroupValues() const { return bytes ? 4 : 2; }
  std::int64_t ValueBytes() const { return bytes ? 1 : 2; }
  std::int64_t GroupCount(std::int64_t k) const { return (k + GroupValues() - 1) / GroupValues(); }
  // What is added to values of A, and taken from those of B.
  int AShift(bool a_signed) const { return bytes && a_signed ? 128 : 0; }
  int BShift(bool b_signed) const { return bytes && !b_signed ? 128 : 0; }
  void Run(const TileInt8Args& t, std::int64_t rows_of_tile) const {
    (2 * t.columns <= columns ? narrow : wide)[rows_of_tile - 1](t);
  }
  void RunAny(const TileInt8Args& t, std::int64_t rows_of_tile) const {
    (2 * t.columns <= columns ? any_narrow : any_wide)[rows_of_tile - 1](t);
  }
  void RunMerged(const TileInt8Args& t, std::int64_t rows_of_tile) const {
    (2 * t.columns <= columns ? merged_narrow : merged_wide)[rows_of_tile - 1](t);
  }
};

// TileSetBytes, TileSetClipped, TileSetAmx: null for an ISA without them. TileSetStandIn is TileSetAmx on a stand-in
// for the instructions, so that tests run its code on other CPUs.
using TileInt8SetFn = const TileInt8Set*();
#define SDX_DECLARE(isa)                                                                \
  namespace isa {                                                                       \
  TileInt8SetFn TileSetWords, TileSetBytes, TileSetClipped, TileSetAmx, TileSetStandIn; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

std::span<const Variant<TileInt8SetFn>> TileInt8Variants();
const TileInt8Set& BestTilesInt8();
const TileInt8Set& BestTilesWithoutClipping();
// Those of 16-bit values, of this ISA or a lesser one.
const TileInt8Set& WordTilesInt8(Isa isa);
// Those that this CPU can run, and those of AMX on the stand-in for its instructions: for tests.
std::vector<const TileInt8Set*> RunnableTilesInt8();

}  // namespace sardonyx::kernels
