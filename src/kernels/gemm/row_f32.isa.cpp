// kernels/gemm/row_f32.isa.cpp - the row kernels around the tile: packing, epilogues of rows, matrix times vector.
#include "kernels/gemm/row_f32.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kPanel = 2 * kLanes;

void PackTransposed(int64_t k, int64_t columns, const float* b, ptrdiff_t ldb, float* panel) {
  const int64_t whole_k = k - k % kLanes, whole_columns = columns - columns % kLanes;
  for (int64_t i = 0; i < whole_k; i += kLanes) {
    float* out = panel + i * kPanel;
    for (int64_t j = 0; j < whole_columns; j += kLanes) TransposeBlock(b + j * ldb + i, ldb, out + j, kPanel);
    for (int64_t j = whole_columns; j < kPanel; ++j)
      for (int64_t s = 0; s < kLanes; ++s) out[s * kPanel + j] = j < columns ? b[j * ldb + i + s] : 0;
  }
  for (int64_t i = whole_k; i < k; ++i)
    for (int64_t j = 0; j < kPanel; ++j) panel[i * kPanel + j] = j < columns ? b[j * ldb + i] : 0;
}

// Rows of B against a: sums[r] = a . b[r] for r < rows <= 4; the rows from `rows` on repeat the last. Two chains per
// row hide the latency of the FMA.
void DotRows(int64_t k, int64_t rows, const float* a, const float* b, ptrdiff_t ldb, float* sums) {
  const float* row[4];
  for (ptrdiff_t r = 0; r < 4; ++r) row[r] = b + (r < rows ? r : rows - 1) * ldb;
  Vec acc[4][2];
#pragma GCC unroll 4
  for (ptrdiff_t r = 0; r < 4; ++r) acc[r][0] = acc[r][1] = Broadcast(0);
  int64_t i = 0;
  for (; i + 2 * kLanes <= k; i += 2 * kLanes) {
    const Vec a0 = Load(a + i), a1 = Load(a + i + kLanes);
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < 4; ++r) {
      acc[r][0] += a0 * Load(row[r] + i);
      acc[r][1] += a1 * Load(row[r] + i + kLanes);
    }
  }
  for (; i < k; i += kLanes) {
    const Lanes lanes = FirstLanes(k - i);
    const Vec a0 = Load(a + i, lanes);
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < 4; ++r) acc[r][0] += a0 * Load(row[r] + i, lanes);
  }
  const Quad all = SumLanes(acc[0][0] + acc[0][1], acc[1][0] + acc[1][1], acc[2][0] + acc[2][1], acc[3][0] + acc[3][1]);
  StoreFirst(sums, all, rows);
}

// A transposition of so few rows that the result is one stream: dst[c * R + r] = src[r * src_stride + c].
template <int R>
void InterleaveRows(int64_t columns, const float* src, ptrdiff_t src_stride, float* dst) {
  int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    Vec v[R];
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < R; ++r) v[r] = Load(src + r * src_stride + c);
    Interleave(v, dst + c * R);
  }
  for (; c < columns; ++c)
    for (ptrdiff_t r = 0; r < R; ++r) dst[c * R + r] = src[r * src_stride + c];
}

// sums[j] += R rows of B, j < n
template <int R>
void AddRows(int64_t n, const float* a, ptrdiff_t a_stride, const float* b, ptrdiff_t ldb, float* sums) {
  Vec x[R];
  for (ptrdiff_t r = 0; r < R; ++r) x[r] = Broadcast(a[r * a_stride]);
  int64_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
    Vec y0 = Load(sums + j), y1 = Load(sums + j + kLanes);
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) {
      y0 += x[r] * Load(b + r * ldb + j);
      y1 += x[r] * Load(b + r * ldb + j + kLanes);
    }
    Store(sums + j, y0);
    Store(sums + j + kLanes, y1);
  }
  for (; j < n; j += kLanes) {
    const Lanes lanes = FirstLanes(n - j);
    Vec y = Load(sums + j, lanes);
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) y += x[r] * Load(b + r * ldb + j, lanes);
    Store(sums + j, y, lanes);
  }
}

}  // namespace

void PackPanel(int64_t k, int64_t columns, const float* b, ptrdiff_t ldb, bool trans, float* panel) {
  if (trans) return PackTransposed(k, columns, b, ldb, panel);
  const Lanes first = FirstLanes(columns), second = FirstLanes(columns - kLanes);
  for (int64_t i = 0; i < k; ++i) {
    Store(panel + i * kPanel, Load(b + i * ldb, first));
    Store(panel + i * kPanel + kLanes, Load(b + i * ldb + kLanes, second));
  }
}

void FinishRow(const float* sums, int64_t count, const RowEpilogue& e, float* y) {
  const Vec alpha = Broadcast(e.alpha), beta = Broadcast(e.beta), scale = Broadcast(e.bias_scale);
  const Vec bias = Broadcast(e.bias);
  // Clamps are applied on the way, the other activations in a second pass.
  const UnaryKind kind = e.activation.kind;
  const bool clip = kind == UnaryKind::kClip;
  const float infinity = __builtin_inff();
  const Vec low = Broadcast(clip ? e.activation.alpha : kind == UnaryKind::kRelu ? 0.0f : -infinity);
  const Vec high = Broadcast(clip ? e.activation.beta : infinity);
  for (int64_t i = 0; i < count; i += kLanes) {
    const Lanes lanes = FirstLanes(count - i);
    Vec x = alpha * Load(sums + i, lanes);
    x += scale * (e.bias_n != nullptr ? bias + Load(e.bias_n + i, lanes) : bias);
    if (e.residual != nullptr) x += beta * Load(e.residual + i, lanes);
    Store(y + i, Min(high, Max(low, x)), lanes);
  }
  if (!clip && kind != UnaryKind::kRelu) Activate(y, 1, count, count, e.activation);
}

// NOLINTNEXTLINE(readability-function-size): the parameters of BLAS
void Gemv(int64_t k, int64_t n, const float* a, ptrdiff_t a_stride, const float* b, ptrdiff_t ldb, float* sums) {
  for (int64_t j = 0; j < n; j += kLanes) Store(sums + j, Broadcast(0), FirstLanes(n - j));
  int64_t i = 0;
  for (; i + 8 <= k; i += 8) AddRows<8>(n, a + i * a_stride, a_stride, b + i * ldb, ldb, sums);
  for (; i < k; ++i) AddRows<1>(n, a + i * a_stride, a_stride, b + i * ldb, ldb, sums);
}

void Dots(int64_t k, int64_t n, const float* a, const float* b, ptrdiff_t ldb, float* sums) {
  for (int64_t j = 0; j < n; j += 4) DotRows(k, n - j < 4 ? n - j : 4, a, b + j * ldb, ldb, sums + j);
}

// Sixteen columns at a time: whole cache lines of src are read, and sixteen lines of dst stay open.
void Transpose(int64_t rows, int64_t columns, const float* src, ptrdiff_t src_stride, float* dst,
               ptrdiff_t dst_stride) {
  if (rows == dst_stride && rows >= 2 && rows <= 4) {
    if (rows == 2) return InterleaveRows<2>(columns, src, src_stride, dst);
    if (rows == 3) return InterleaveRows<3>(columns, src, src_stride, dst);
    return InterleaveRows<4>(columns, src, src_stride, dst);
  }
  const int64_t whole_rows = rows - rows % kLanes, whole_columns = columns - columns % kLanes;
  for (int64_t first = 0; first < whole_columns; first += 16) {
    const int64_t end = first + 16 < whole_columns ? first + 16 : whole_columns;
    for (int64_t r = 0; r < whole_rows; r += kLanes)
      for (int64_t c = first; c < end; c += kLanes)
        TransposeBlock(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
  }
  TransposeRest(whole_rows, columns - whole_columns, src + whole_columns, src_stride, dst + whole_columns * dst_stride,
                dst_stride);
  TransposeRest(rows - whole_rows, columns, src + whole_rows * src_stride, src_stride, dst + whole_rows, dst_stride);
}

}  // namespace sardonyx::kernels::SDX_ISA
