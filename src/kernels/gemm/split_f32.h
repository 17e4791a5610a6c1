// kernels/gemm/split_f32.h - f32 products on units that multiply bf16: each number is the sum of up to three bf16
// numbers.
//
// x = x1 + x2 + x3, each the rest of the one before rounded to bf16, holds all 24 bits of a float. Of the nine products
// of parts the six largest are summed in f32; what is left out is below 2^-24 of |x y|. Numbers that are fp16 have two
// parts, those that are bf16 one, so products of such matrices cost less. (G. Henry, P. T. P. Tang, A. Heinecke,
// "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", ARITH 2019.)
// bf16 units take denormal numbers for zero and know no exact Inf * 0.5: see SplitFacts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dispatch.h"
#include "kernels/gemm/tile_f32.h"
#include "kernels/gemm/tiles_in_use.h"

namespace sardonyx::kernels {

inline constexpr int kMostParts = 3;

// What is known of split numbers, from their bits.
struct SplitFacts {
  std::uint32_t largest = 0;  // the largest magnitude
  std::uint32_t second = 0;   // the bits of all second parts together, without the sign
  std::uint32_t third = 0;

  void Join(const SplitFacts& other) {
    largest = largest > other.largest ? largest : other.largest;
    second |= other.second, third |= other.third;
  }
  int Parts() const { return third != 0 ? 3 : second != 0 ? 2 : 1; }
};

// Whether products of two such matrices are as exact on bf16 units as f32 products: no number that is Inf, NaN or close
// to overflow, and no products so small that those of the parts are denormal.
bool MayMultiplyParts(const SplitFacts& a, const SplitFacts& b);

// Whether products [rows, k] x [k, columns] of these tiles are large enough to pay for making the parts.
bool PaysToSplit(const TileF32Set& tiles, std::int64_t rows, std::int64_t columns, std::int64_t k);

// A tile like that of TileF32Args: `tile` says all but where A and B are. The parts of a matrix are planes, part_stride
// elements apart; tap offsets, rows and k count elements of a plane. After an odd k, one more element of A is read.
struct SplitF32Args {
  TileF32Args tile;
  const std::uint16_t* a0;
  const std::uint16_t* a1;
  std::ptrdiff_t a_row_stride;
  std::ptrdiff_t a_part_stride;
  int a_parts;
  const std::uint16_t* b;  // planes [taps][(k + 1) / 2][columns of the set][2]
  std::ptrdiff_t b_part_stride;
  int b_parts;
};

struct SplitF32Set {
  std::int64_t rows;     // the tallest tile
  std::int64_t columns;  // nr, as in the packed panels of the ISA's TileF32Set
  void (*run)(const SplitF32Args& args, std::int64_t rows);
  // Writes the parts of src[i], i < count, to dst[p * part_stride + i].
  SplitFacts (*split)(std::int64_t count, const float* src, std::uint16_t* dst, std::ptrdiff_t part_stride);
  // Writes the planes of B, as in SplitF32Args, of a panel of floats [taps * k][b_stride].
  SplitFacts (*split_panel)(std::int64_t taps, std::int64_t k, const float* b, std::ptrdiff_t b_stride,
                            std::int64_t columns, std::uint16_t* dst, std::ptrdiff_t part_stride);
  // Around many calls of run on a thread, which then cost less each; see TilesInUse.
  void (*begin)();
  void (*end)();

  // Elements of a plane of B.
  std::int64_t PanelPlane(std::int64_t taps, std::int64_t k) const { return taps * ((k + 1) / 2) * 2 * columns; }
};

// Null for an ISA without AMX. SplitSetStandIn runs the same code on a stand-in for the instructions, for tests.
using SplitF32SetFn = const SplitF32Set*();
#define SDX_DECLARE(isa)                      \
  namespace isa {                             \
  SplitF32SetFn SplitSetAmx, SplitSetStandIn; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// Runs the tile of `rows` rows on parts, then the activation where it is more than a clamp.
void RunTileSplit(const TileF32Set& tiles, const SplitF32Args& args, std::int64_t rows, const Activation& activation);

// The set of this CPU, or null if f32 products are faster on its f32 units.
const SplitF32Set* BestSplitF32();

}  // namespace sardonyx::kernels
