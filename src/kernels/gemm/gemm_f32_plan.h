// kernels/gemm/gemm_f32_plan.h - what the parts of the f32 product share: its paths, what is decided from the shape
// alone, and small helper functions.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tile_bf16.h"
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels::gemm_f32 {

using std::int64_t;

enum class BMode : std::uint8_t {
  kPacked,  // by the caller
  kWhole,   // packed into scratch first
  kHalf,    // by the caller, in 16 bits: each unit widens its panel
  kPanel,   // each unit packs its panel; with few rows it reads full panels of row-major B where they lie
};

enum class Path : std::uint8_t {
  kNothing,
  kGemv,        // M = 1, row-major B
  kPackedRows,  // few rows, packed B
  kDots,        // few rows, transposed B
  kColumn,      // N = 1
  kThin,        // K of a few
  kTiles,
};

// What is decided from the shape before any work.
struct Plan {
  Path path = Path::kNothing;
  BMode mode = BMode::kPacked;
  int64_t blocks_k = 1;
  int64_t block_k = 0;
  int64_t panels = 0;
  int64_t chunks = 1;
  int64_t slot_floats = 0;  // scratch of one thread in kPanel and kHalf
  bool pad_a = false;       // A is first copied to rows of k + kAliasPadding floats
  bool bf16 = false;        // A is first rounded to bf16, and each panel of B when it is used
};

inline constexpr int64_t kAliasPadding = 16;
inline constexpr int64_t kDotRows = 4;  // at most so many rows of A go through dot products when B is transposed

inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline const TileF32Set& Tiles(const TileF32Set* tiles) { return tiles != nullptr ? *tiles : BestTilesF32(); }
inline int64_t AOffset(const GemmF32Args& g, int64_t i) {
  return g.a_batch_offsets ? g.a_batch_offsets[i] : i * g.a_batch_stride;
}
inline int64_t BOffset(const GemmF32Args& g, int64_t i) {
  return g.b_batch_offsets ? g.b_batch_offsets[i] : i * g.b_batch_stride;
}

// How many columns of the last panel are packed by columns, [count][k], because a tile would mostly compute zeros:
// 0 to TileF32Set::kMaxColumns.
int64_t FewColumns(int64_t k, int64_t n, const TileF32Set& tiles);

// A batch that shares B and whose A and C follow each other is one product with batch * M rows.
GemmF32Args Collapse(const GemmF32Args& args);
Plan MakePlan(const GemmF32Args& g, int64_t threads);
// False where threads would cost more than they give.
bool PaysThreads(const GemmF32Args& g);
std::size_t PaddedABytes(const GemmF32Args& g, const Plan& plan);
std::size_t ScratchBytes(const GemmF32Args& g, const Plan& plan, int threads);

// Scratch of a product in bf16: what threads found out, A, then a slot of each thread.
struct Bf16Layout {
  Bf16Layout(const GemmF32Args& g, const Plan& plan, int threads);
  int64_t row;              // elements from a row of A to the next
  std::size_t facts;        // bytes: a bool of each thread, whether its rows of A were bf16 already
  std::size_t a;            // bytes
  std::size_t slot;         // bytes: a panel of floats, then its pairs
  std::size_t slot_floats;  // bytes of the former
};

// The epilogue of row `row` of batch element `item` from column `column` on.
RowEpilogue RowOf(const GemmF32Args& g, int64_t item, int64_t row, int64_t column);
// Stores sums[(row - first) * columns + j], row in [first, first + rows), as columns [column, column + columns) of C.
void FinishColumns(const GemmF32Args& g, int64_t item, int64_t first, int64_t rows, int64_t column, int64_t columns,
                   const float* sums);

void RunTiles(GemmF32Args g, const Plan& plan, Parallel& parallel, std::byte* scratch);
void RunThin(const GemmF32Args& g, const Plan& plan, Parallel& parallel, std::byte* scratch);
// The paths kGemv to kColumn: one side is a vector or close to it.
void RunVectors(const GemmF32Args& g, const Plan& plan, Parallel& parallel);

}  // namespace sardonyx::kernels::gemm_f32
