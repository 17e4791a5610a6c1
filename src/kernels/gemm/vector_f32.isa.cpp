// kernels/gemm/vector_f32.isa.cpp - products with one small dimension: one row times packed panels, a few columns, a
// short K.
#include "kernels/gemm/row_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kPanel = 2 * kLanes;

struct FloatPanels {
  using Element = float;
  static Vec LoadVec(const float* p) { return Load(p); }
};
struct Float16Panels {
  using Element = std::uint16_t;
  static Vec LoadVec(const std::uint16_t* p) { return LoadFloat16(p); }
};
struct BFloat16Panels {
  using Element = std::uint16_t;
  static Vec LoadVec(const std::uint16_t* p) { return LoadBFloat16(p); }
};

// P panels side by side: 2 P independent sums hide the latency of the FMA, and memory sees P streams.
template <typename Panels, int P>
void PanelRow(int64_t k, const float* a, ptrdiff_t a_stride, const typename Panels::Element* b, float* sums) {
  const ptrdiff_t panel = k * kPanel;
  // Weights that come from memory: the next pages are asked for early, because finding a page takes longer than reading
  // it, and the prefetchers of the hardware stop at its end.
  constexpr ptrdiff_t kAhead = 8192 / static_cast<ptrdiff_t>(sizeof(typename Panels::Element));
  Vec acc[P][2];
#pragma GCC unroll 4
  for (ptrdiff_t p = 0; p < P; ++p) acc[p][0] = acc[p][1] = Broadcast(0);
#pragma GCC unroll 2
  for (int64_t i = 0; i < k; ++i) {
    const Vec x = Broadcast(a[i * a_stride]);
#pragma GCC unroll 4
    for (ptrdiff_t p = 0; p < P; ++p) {
      acc[p][0] += x * Panels::LoadVec(b + p * panel);
      acc[p][1] += x * Panels::LoadVec(b + p * panel + kLanes);
      Prefetch(reinterpret_cast<const char*>(b + p * panel + kAhead));
    }
    b += kPanel;
  }
#pragma GCC unroll 4
  for (ptrdiff_t p = 0; p < P; ++p) {
    Store(sums + p * kPanel, acc[p][0]);
    Store(sums + p * kPanel + kLanes, acc[p][1]);
  }
}

template <typename Panels>
void PanelRows(int64_t k, int64_t panels, const float* a, ptrdiff_t a_stride, const typename Panels::Element* b,
               float* sums) {
  switch (panels) {
    case 1:
      return PanelRow<Panels, 1>(k, a, a_stride, b, sums);
    case 2:
      return PanelRow<Panels, 2>(k, a, a_stride, b, sums);
    case 3:
      return PanelRow<Panels, 3>(k, a, a_stride, b, sums);
    default:
      return PanelRow<Panels, 4>(k, a, a_stride, b, sums);
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

void RowPanels(int64_t k, int64_t panels, const float* a, ptrdiff_t a_stride, const float* b, float* sums) {
  PanelRows<FloatPanels>(k, panels, a, a_stride, b, sums);
}

// NOLINTNEXTLINE(readability-function-size): the parameters of BLAS
void RowPanelsHalf(HalfKind kind, int64_t k, int64_t panels, const float* a, ptrdiff_t a_stride, const std::uint16_t* b,
                   float* sums) {
  if (kind == HalfKind::kFloat16) return PanelRows<Float16Panels>(k, panels, a, a_stride, b, sums);
  PanelRows<BFloat16Panels>(k, panels, a, a_stride, b, sums);
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
