// kernels/gemm/tile_any.isa.cpp - register tiles of f64 and of 32 and 64-bit integers: rows x 2 vectors.
#include "kernels/gemm/tile_any.h"

#include "kernels/simd/vec_any.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename T>
constexpr int kRows = kLanes == 16                               ? 12
                      : kLanes == 8 && std::is_same_v<T, double> ? 6
                                                                 : 4;

// The first R rows; the rest is left for the next call.
template <typename T, int R>
void Tile(TileAnyArgs<T>* t) {
  using Type = typename VecOf<T>::Type;
  constexpr ptrdiff_t kCount = VecOf<T>::kCount;
  Type acc[R][2];
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r) acc[r][0] = acc[r][1] = Type{};
  // Two base addresses and the strides times 1, 3 and 5 reach 12 rows without a register each.
  constexpr ptrdiff_t kRun = (R + 1) / 2;
  const T* panel = t->panel;
  const ptrdiff_t row_stride = t->row_stride, step = t->k_stride;
  const T *p = t->a, *q = t->a + kRun * row_stride;
  const ptrdiff_t three = 3 * row_stride, five = 5 * row_stride;
  for (int64_t i = 0; i < t->k; ++i) {
    const Type b0 = LoadAny(panel), b1 = LoadAny(panel + kCount);
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r) {
      const ptrdiff_t s = r < kRun ? r : r - kRun;
      const ptrdiff_t offset = s == 3 ? three : s == 5 ? five : s * row_stride;
      const T x = (r < kRun ? p : q)[offset];
      acc[r][0] += x * b0;
      acc[r][1] += x * b1;
    }
    p += step;
    q += step;
    panel += 2 * kCount;
  }
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r) std::memcpy(t->sums + r * t->sums_stride, acc[r], sizeof acc[r]);
  t->rows -= R;
  t->a += R * row_stride;
  t->sums += R * t->sums_stride;
}

template <typename T>
void Run(TileAnyArgs<T> t) {
  while (t.rows >= kRows<T>) Tile<T, kRows<T>>(&t);
  if constexpr (kRows < T >> 8)
    if (t.rows >= 8) Tile<T, 8>(&t);
  if (t.rows >= 4) Tile<T, 4>(&t);
  if (t.rows >= 2) Tile<T, 2>(&t);
  if (t.rows >= 1) Tile<T, 1>(&t);
}

template <typename T>
void AddRows(int64_t k, const T* a, ptrdiff_t a_step, const T* b, ptrdiff_t ldb, int64_t n, T* sums) {
  int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    const T a0 = a[i * a_step], a1 = a[(i + 1) * a_step], a2 = a[(i + 2) * a_step], a3 = a[(i + 3) * a_step];
    const T *b0 = b + i * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) sums[j] = (sums[j] + a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
  }
  for (; i < k; ++i) {
    const T x = a[i * a_step];
    const T* row = b + i * ldb;
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) sums[j] += x * row[j];
  }
}

template <typename T>
constexpr TileAny<T> MakeTile() {
  return {kRows<T>, 2 * VecOf<T>::kCount, Run<T>, AddRows<T>};
}
constexpr TilesAny kTiles = {MakeTile<double>(), MakeTile<std::uint32_t>(), MakeTile<std::uint64_t>()};

}  // namespace

const TilesAny& TileSetAny() { return kTiles; }

}  // namespace sardonyx::kernels::SDX_ISA
