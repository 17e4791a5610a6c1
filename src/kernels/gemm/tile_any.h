// kernels/gemm/tile_any.h - the tile of the other element types: sums[R][nr] of A[R, K] * panel[K][nr].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

template <typename T>
struct TileAny {
  int rows;     // tall[...] has this many rows
  int columns;  // nr
  // sums[r * columns + j] for r < count (1..rows); strides of A in elements; panel rows are `columns` apart.
  void (*run)(std::int64_t count, const T* a, std::ptrdiff_t row_stride, std::ptrdiff_t k_stride, std::int64_t k,
              const T* panel, T* sums);
};

// Signed integers use the unsigned ones: the bits of sums and products are the same.
struct TilesAny {
  TileAny<double> f64;
  TileAny<std::uint32_t> u32;
  TileAny<std::uint64_t> u64;
};

#define SDX_DECLARE(isa)        \
  namespace isa {               \
  const TilesAny& TileSetAny(); \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
