// kernels/gemm/tile_any.h - the register tile of gemm_any.h: sums[R][nr] of A[R, K] * panel[K][nr].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// sums[r * sums_stride + j] for r < rows and j < nr; strides in elements; rows of the panel are nr apart.
template <typename T>
struct TileAnyArgs {
  std::int64_t rows;  // at least 1
  const T* a;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t k_stride;
  std::int64_t k;
  const T* panel;
  T* sums;
  std::ptrdiff_t sums_stride;
};

template <typename T>
struct TileAny {
  std::int64_t rows;     // the tallest tile
  std::int64_t columns;  // nr
  void (*run)(TileAnyArgs<T> args);
  // sums[j] += a[i * a_step] * b[i * ldb + j], for i < k, j < n: a row of A with rows of B where they lie.
  void (*add_rows)(std::int64_t k, const T* a, std::ptrdiff_t a_step, const T* b, std::ptrdiff_t ldb, std::int64_t n,
                   T* sums);
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
