// kernels/gemm/tile_bf16.h - f32 products on units that multiply bf16: A and B as pairs of bf16, sums in f32.
//
// Exact where A and B hold bf16 numbers; else they are rounded, which the caller must want
// (GemmF32Args::rounds_to_bf16). The units take denormal numbers for zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/gemm/tile_f32.h"
#include "kernels/gemm/tiles_in_use.h"

namespace sardonyx::kernels {

// A tile like that of TileF32Args: `tile` says all but where A and B are. Tap offsets, rows and k count elements of
// bf16. After an odd k, one more element of A is read, which is finite.
struct TileBf16Args {
  TileF32Args tile;
  const std::uint16_t* a0;
  const std::uint16_t* a1;
  std::ptrdiff_t a_row_stride;
  const std::uint16_t* b;  // [taps][(k + 1) / 2][columns of the set][2], zeros beyond k
};

struct TileBf16Set {
  std::int64_t rows;     // the tallest tile
  std::int64_t columns;  // nr, as in the packed panels of the ISA's TileF32Set
  void (*run)(const TileBf16Args& args, std::int64_t rows);
  // dst[i] = src[i] rounded to bf16, halves away from zero, i < count; true if no number changed.
  bool (*round)(std::int64_t count, const float* src, std::uint16_t* dst);
  // Writes B, as in TileBf16Args, from `columns` columns of a panel of floats [k][b_stride]; true if no number changed.
  bool (*pair_panel)(std::int64_t k, const float* b, std::ptrdiff_t b_stride, std::int64_t columns, std::uint16_t* dst);
  // The same from a packed panel of bf16 [k][columns of the set].
  void (*pair_halves)(std::int64_t k, const std::uint16_t* b, std::uint16_t* dst);
  // Around many calls of run on a thread, which then cost less each; null where they would not. See TilesInUse.
  void (*begin)();
  void (*end)();

  std::int64_t PanelElements(std::int64_t taps, std::int64_t k) const { return taps * ((k + 1) / 2) * 2 * columns; }
};

// Null for an ISA without such units. Bf16SetStandIn is Bf16SetAmx on a stand-in for the instructions, for tests.
using TileBf16SetFn = const TileBf16Set*();
#define SDX_DECLARE(isa)                                    \
  namespace isa {                                           \
  TileBf16SetFn Bf16SetDots, Bf16SetAmx, Bf16SetAmxStandIn; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// The set of this CPU, or null if its f32 units are as fast.
const TileBf16Set* BestTilesBf16();

// All that this CPU can run, fast or not, and that of AMX on its stand-in: for tests.
std::vector<const TileBf16Set*> RunnableTilesBf16();

// Whether products [rows, k] x [k, columns] of these tiles are large enough to pay for making the pairs.
bool PaysInBf16(const TileF32Set& tiles, std::int64_t rows, std::int64_t columns, std::int64_t k);

// Runs the tile of `rows` rows, then the activation where it is more than a clamp.
void RunTileBf16(const TileF32Set& tiles, const TileBf16Args& args, std::int64_t rows, const Activation& activation);

}  // namespace sardonyx::kernels
