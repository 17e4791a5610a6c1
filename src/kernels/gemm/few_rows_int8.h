// kernels/gemm/few_rows_int8.h - 8-bit products of few rows by a B that is not packed, as attention has them when a
// decoder computes one token: packing B would take many times as long as multiplying by it.
//
// Values of A less their zero points are multiplied as 16-bit numbers, two rows of B at a time, where B lies. Of a B
// that is stored transposed, as the keys of attention are, each row makes dot products with those of A.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm_int8.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {

// Whether a product is computed so: M is 8 at most, N at least a tile's columns, and B is not packed.
bool IsOfFewRows(const GemmInt8Args& g);
// As GemmInt8 and its scratch, of one matrix of the batch.
std::size_t FewRowsInt8ScratchBytes(const GemmInt8Args& g);
void RunFewRowsInt8(const GemmInt8Args& g, Isa isa, std::byte* scratch, Parallel& parallel);

inline constexpr std::int64_t kFewRowsColumns = 16;  // of a tile
inline constexpr std::int64_t kFewRowsValues = 32;   // a whole number of vectors of 16-bit values on every ISA

struct FewRowsInt8Args {
  TileInt8Args t;           // row_terms: sums of the rows of A; column_terms: the bias. Panels of B are not used
  const std::int16_t* a;    // values less their zero points, with zeros behind them up to a_stride
  std::ptrdiff_t a_stride;  // values; a multiple of kFewRowsValues
  const std::uint8_t* b;    // of the first column; 16 bytes of each row are read, or K of 16 rows if transposed
  std::ptrdiff_t b_stride;
  std::int64_t k;
};

// The tile of `rows` rows (1 to 4) and 16 columns.
using FewRowsInt8Fn = void(const FewRowsInt8Args& args, std::int64_t rows, bool b_signed);
#define SDX_DECLARE(isa)                                \
  namespace isa {                                       \
  FewRowsInt8Fn FewRowsInt8Tile, FewRowsInt8Transposed; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
