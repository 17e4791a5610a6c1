// kernels/gemm/tile_any.isa.cpp - register tiles of f64 and of 32 and 64-bit integers: rows x 2 vectors.
#include "kernels/gemm/tile_any.h"

#include "kernels/simd/vec_any.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr int kRows = kLanes == 16 ? 12 : 4;

template <typename T, int R>
void Tile(const T* a, ptrdiff_t row_stride, ptrdiff_t k_stride, int64_t k, const T* panel, T* sums) {
  using Type = typename VecOf<T>::Type;
  constexpr int kCount = VecOf<T>::kCount;
  Type acc[R][2];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) acc[r][0] = acc[r][1] = Type{};
  for (int64_t i = 0; i < k; ++i) {
    const Type b0 = LoadAny(panel), b1 = LoadAny(panel + kCount);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const T x = a[r * row_stride];
      acc[r][0] += x * b0;
      acc[r][1] += x * b1;
    }
    a += k_stride;
    panel += 2 * kCount;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) std::memcpy(sums + r * 2 * kCount, acc[r], sizeof acc[r]);
}

template <typename T>
void Run(int64_t count, const T* a, ptrdiff_t row_stride, ptrdiff_t k_stride, int64_t k, const T* panel, T* sums) {
  constexpr int kColumns = 2 * VecOf<T>::kCount;
  const auto step = [&](auto rows) {
    a += rows * row_stride;
    sums += rows * kColumns;
    count -= rows;
  };
  while (count > 0) {
    if (count >= kRows)
      Tile<T, kRows>(a, row_stride, k_stride, k, panel, sums), step(kRows);
    else if (count >= 4)
      Tile<T, 4>(a, row_stride, k_stride, k, panel, sums), step(4);
    else if (count >= 2)
      Tile<T, 2>(a, row_stride, k_stride, k, panel, sums), step(2);
    else
      Tile<T, 1>(a, row_stride, k_stride, k, panel, sums), step(1);
  }
}

template <typename T>
constexpr TileAny<T> MakeTile() {
  return {kRows, 2 * VecOf<T>::kCount, Run<T>};
}
constexpr TilesAny kTiles = {MakeTile<double>(), MakeTile<std::uint32_t>(), MakeTile<std::uint64_t>()};

}  // namespace

const TilesAny& TileSetAny() { return kTiles; }

}  // namespace sardonyx::kernels::SDX_ISA
