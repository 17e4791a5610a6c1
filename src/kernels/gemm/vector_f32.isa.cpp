// kernels/gemm/vector_f32.isa.cpp - products with one small dimension: few rows times packed panels, a few columns, a
// short K.
#include <type_traits>

#include "kernels/gemm/row_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kPanel = 2 * kLanes;

struct FloatPanels {
  using Element = float;
  static constexpr bool kFetches = true;
  static Vec LoadVec(const float* p) { return Load(p); }
};
struct CachedPanels : FloatPanels {
  static constexpr bool kFetches = false;
};
struct Float16Panels {
  using Element = std::uint16_t;
  static constexpr bool kFetches = true;
  static Vec LoadVec(const std::uint16_t* p) { return LoadFloat16(p); }
};
struct BFloat16Panels {
  using Element = std::uint16_t;
  static constexpr bool kFetches = true;
  static Vec LoadVec(const std::uint16_t* p) { return LoadBFloat16(p); }
};

// R rows and P panels side by side: 2 R P independent sums hide the latency of the FMA, and memory sees P streams.
template <typename Panels, int R, int P, bool kFetches = Panels::kFetches>
void PanelsOfRows(const RowPanelsArgs& t, const typename Panels::Element* b, float* sums, bool continues = false) {
  const ptrdiff_t panel = t.k * kPanel;
  // Weights that come from memory: the next pages are asked for early, because finding a page takes longer than reading
  // it, and the prefetchers of the hardware stop at its end.
  constexpr ptrdiff_t kElement = sizeof(typename Panels::Element), kAhead = 8192 / kElement;
  constexpr ptrdiff_t kStepBytes = kPanel * kElement;
  Vec acc[R][P][2];
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (ptrdiff_t p = 0; p < P; ++p) {
      const float* sum = sums + r * t.stride + p * kPanel;
      acc[r][p][0] = continues ? Load(sum) : Broadcast(0);
      acc[r][p][1] = continues ? Load(sum + kLanes) : Broadcast(0);
    }
  const float* a = t.a;
#pragma GCC unroll 2
  for (int64_t i = 0; i < t.k; ++i) {
    Vec x[R];
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) x[r] = Broadcast(a[r * t.row_stride]);
#pragma GCC unroll 4
    for (ptrdiff_t p = 0; p < P; ++p) {
      const Vec low = Panels::LoadVec(b + p * panel), high = Panels::LoadVec(b + p * panel + kLanes);
#pragma GCC unroll 8
      for (ptrdiff_t r = 0; r < R; ++r) {
        acc[r][p][0] = MulAdd(x[r], low, acc[r][p][0]);
        acc[r][p][1] = MulAdd(x[r], high, acc[r][p][1]);
      }
      // Every line, since many rows leave the processor no room to look ahead itself.
      for (ptrdiff_t line = 0; kFetches && line < kStepBytes; line += 64)
        Prefetch(reinterpret_cast<const char*>(b + p * panel + kAhead) + line);
    }
    a += t.k_stride;
    b += kPanel;
  }
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (ptrdiff_t p = 0; p < P; ++p) {
      Store(sums + r * t.stride + p * kPanel, acc[r][p][0]);
      Store(sums + r * t.stride + p * kPanel + kLanes, acc[r][p][1]);
    }
}

// With more rows, one panel has sums enough, and one stream is read faster than several (78 against 62 % of memory's
// rate with four rows).
constexpr int PanelsAtOnce(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }

template <typename Panels, int R>
void PanelsOf(const RowPanelsArgs& t, const typename Panels::Element* b) {
  constexpr int kMost = PanelsAtOnce(R);
  int64_t p = 0;
  const auto run = [&]<int P>(std::integral_constant<int, P>) {
    for (; p + P <= t.panels; p += P) PanelsOfRows<Panels, R, P>(t, b + p * t.k * kPanel, t.sums + p * kPanel);
  };
  if constexpr (kMost >= 4) {
    run(std::integral_constant<int, 4>{});
    run(std::integral_constant<int, 3>{});
  }
  if constexpr (kMost >= 2) run(std::integral_constant<int, 2>{});
  run(std::integral_constant<int, 1>{});
}

// Four rows, then R others, of parts of a panel that the first cache level holds.
template <typename Panels, int R>
void PanelsInParts(const RowPanelsArgs& t, const typename Panels::Element* b) {
  constexpr int64_t kPart = 8192 / static_cast<int64_t>(kPanel * sizeof(typename Panels::Element));
  for (int64_t p = 0; p < t.panels; ++p) {
    int64_t first = 0;
    do {  // without terms the sums are 0
      RowPanelsArgs part = t;
      part.k = t.k - first < kPart ? t.k - first : kPart;
      part.a = t.a + first * t.k_stride;
      const typename Panels::Element* from = b + (p * t.k + first) * kPanel;
      float* sums = t.sums + p * kPanel;
      PanelsOfRows<Panels, 4, 1>(part, from, sums, first > 0);
      part.a += 4 * t.row_stride;
      PanelsOfRows<Panels, R, 1, false>(part, from, sums + 4 * t.stride, first > 0);
      first += kPart;
    } while (first < t.k);
  }
}

// More rows than there are registers for take each part of a panel twice.
template <typename Panels>
void RowsOf(const RowPanelsArgs& t, const typename Panels::Element* b) {
  using Fn = void(const RowPanelsArgs&, const typename Panels::Element*);
  if constexpr (kLanes == 16) {
    static constexpr Fn* kByRows[] = {PanelsOf<Panels, 1>, PanelsOf<Panels, 2>, PanelsOf<Panels, 3>,
                                      PanelsOf<Panels, 4>, PanelsOf<Panels, 5>, PanelsOf<Panels, 6>,
                                      PanelsOf<Panels, 7>, PanelsOf<Panels, 8>};
    kByRows[t.rows - 1](t, b);
  } else {
    static constexpr Fn* kByRows[] = {PanelsOf<Panels, 1>, PanelsOf<Panels, 2>, PanelsOf<Panels, 3>,
                                      PanelsOf<Panels, 4>, PanelsOf<Panels, 5>, PanelsOf<Panels, 6>};
    if (t.rows <= 6) return kByRows[t.rows - 1](t, b);
    if (t.rows == 7) return PanelsInParts<Panels, 3>(t, b);
    return PanelsInParts<Panels, 4>(t, b);
  }
}

template <typename Panels>
void WidenAll(int64_t count, const std::uint16_t* src, float* dst) {
  for (int64_t i = 0; i < count; i += kPanel) {
    Store(dst + i, Panels::LoadVec(src + i));
    Store(dst + i + kLanes, Panels::LoadVec(src + i + kLanes));
  }
}

// Four rows of A (the rows from `rows` on repeat the last) against C rows of B.
template <int C>
void FourRows(int64_t k, int64_t rows, const float* a, ptrdiff_t lda, const float* b, ptrdiff_t ldb, float* sums) {
  const float* row[4];
  for (ptrdiff_t r = 0; r < 4; ++r) row[r] = a + (r < rows ? r : rows - 1) * lda;
  Vec acc[4][C];
#pragma GCC unroll 4
  for (ptrdiff_t r = 0; r < 4; ++r)
#pragma GCC unroll 4
    for (ptrdiff_t c = 0; c < C; ++c) acc[r][c] = Broadcast(0);
  const auto step = [&](int64_t i, auto load) {
    Vec y[C];
#pragma GCC unroll 4
    for (ptrdiff_t c = 0; c < C; ++c) y[c] = load(b + c * ldb + i);
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < 4; ++r) {
      const Vec x = load(row[r] + i);
#pragma GCC unroll 4
      for (ptrdiff_t c = 0; c < C; ++c) acc[r][c] += x * y[c];
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) step(i, [](const float* p) { return Load(p); });
  if (i < k) {
    const Lanes lanes = FirstLanes(k - i);
    step(i, [=](const float* p) { return Load(p, lanes); });
  }
  for (ptrdiff_t c = 0; c < C; ++c) {
    const Quad all = SumLanes(acc[0][c], acc[1][c], acc[2][c], acc[3][c]);
    for (int64_t r = 0; r < rows && r < 4; ++r) sums[r * C + c] = all[r];
  }
}

template <int C>
void AllRows(int64_t k, int64_t rows, const float* a, ptrdiff_t lda, const float* b, ptrdiff_t ldb, float* sums) {
  for (int64_t r = 0; r < rows; r += 4) FourRows<C>(k, rows - r, a + r * lda, lda, b, ldb, sums + r * C);
}

// R rows, K terms: the values of A stay in registers as far as there are enough.
template <int K, int R>
void ThinRows(const ThinArgs& t, int64_t row) {
  Vec x[R][K];
#pragma GCC unroll 4
  for (ptrdiff_t r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (ptrdiff_t i = 0; i < K; ++i) x[r][i] = Broadcast(t.a[(row + r) * t.row_stride + i * t.k_stride]);
  float* c = t.c + row * t.ldc;
  const auto vector = [&](const float* b, int64_t j, auto store) {
    Vec y[R];
    const Vec first = Load(b);
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < R; ++r) y[r] = x[r][0] * first;
#pragma GCC unroll 8
    for (ptrdiff_t i = 1; i < K; ++i) {
      const Vec term = Load(b + i * kPanel);
#pragma GCC unroll 4
      for (ptrdiff_t r = 0; r < R; ++r) y[r] += x[r][i] * term;
    }
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < R; ++r) store(c + r * t.ldc + j, y[r]);
  };
  int64_t j = 0;
  const float* b = t.b;
  const auto whole = [](float* p, Vec v) { Store(p, v); };
  for (; j + kPanel <= t.columns; j += kPanel, b += K * kPanel) {
    vector(b, j, whole);
    vector(b + kLanes, j + kLanes, whole);
  }
  for (; j < t.columns; j += kLanes, b += kLanes) {
    const Lanes lanes = FirstLanes(t.columns - j);
    vector(b, j, [=](float* p, Vec v) { Store(p, v, lanes); });
  }
}

template <int K>
void ThinOf(const ThinArgs& t) {
  constexpr int kRows = kLanes == 16 || K <= 3 ? 4 : 2;
  int64_t row = 0;
  for (; row + kRows <= t.rows; row += kRows) ThinRows<K, kRows>(t, row);
  for (; row < t.rows; ++row) ThinRows<K, 1>(t, row);
}

}  // namespace

void RowPanels(const RowPanelsArgs& t, const float* b) {
  if (t.cached) return RowsOf<CachedPanels>(t, b);
  RowsOf<FloatPanels>(t, b);
}

void RowPanelsHalf(const RowPanelsArgs& t, HalfKind kind, const std::uint16_t* b) {
  if (kind == HalfKind::kFloat16) return RowsOf<Float16Panels>(t, b);
  RowsOf<BFloat16Panels>(t, b);
}

void Widen(HalfKind kind, int64_t count, const std::uint16_t* src, float* dst) {
  if (kind == HalfKind::kFloat16) return WidenAll<Float16Panels>(count, src, dst);
  WidenAll<BFloat16Panels>(count, src, dst);
}

// NOLINTNEXTLINE(readability-function-size): the parameters of BLAS
void ColumnsOf(int64_t k, int64_t rows, int64_t columns, const float* a, ptrdiff_t lda, const float* b, ptrdiff_t ldb,
               float* sums) {
  if (columns == 1) return Dots(k, rows, b, a, lda, sums);
  if (columns == 2) return AllRows<2>(k, rows, a, lda, b, ldb, sums);
  return AllRows<3>(k, rows, a, lda, b, ldb, sums);
}

void Thin(const ThinArgs& t) {
  using Fn = void(const ThinArgs&);
  static constexpr Fn* kByK[] = {ThinOf<1>, ThinOf<2>, ThinOf<3>, ThinOf<4>,
                                 ThinOf<5>, ThinOf<6>, ThinOf<7>, ThinOf<8>};
  kByK[t.k - 1](t);
}

}  // namespace sardonyx::kernels::SDX_ISA
