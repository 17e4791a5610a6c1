// kernels/gemm/gemm_f32_vectors.cpp - f32 products in which one side is a vector, or K is small: one pass over memory,
// without tiles.
#include <algorithm>

#include "kernels/gemm/gemm_f32_plan.h"

namespace sardonyx::kernels::gemm_f32 {
namespace {

constexpr int64_t kGemvColumns = 4096;             // columns of B that one pass of the matrix-vector path covers
constexpr int64_t kThinBytes = int64_t{16} << 10;  // of packed B that the thin path keeps in the first cache level

// Splits batch x columns over the threads in blocks of `columns` and calls body(item, first column, count).
template <typename F>
void ForColumns(const GemmF32Args& g, int64_t extent, int64_t columns, Parallel& parallel, F body) {
  const int64_t blocks = CeilDiv(extent, columns), units = g.batch * blocks;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t first = u % blocks * columns;
      body(u / blocks, first, std::min(columns, extent - first));
    }
  };
  const int64_t threads = parallel.ThreadCount();
  if (threads == 1 || !PaysThreads(g)) return run(0, units);
  parallel.For(units, std::max<int64_t>(1, units / (16 * threads)), run);
}

// M = 1, B row-major: eight rows of B at a time are added into sums that stay in the first cache level.
void RunGemv(const GemmF32Args& g, Parallel& parallel) {
  const TileF32Set& tiles = Tiles(g.tiles);
  const int64_t threads = parallel.ThreadCount(), share = CeilDiv(g.n, threads == 1 ? 1 : 2 * threads);
  const int64_t columns = std::clamp<int64_t>((share + 63) & ~int64_t{63}, 64, kGemvColumns);
  ForColumns(g, g.n, columns, parallel, [&](int64_t item, int64_t first, int64_t count) {
    float sums[kGemvColumns];
    tiles.gemv(g.k, count, g.a + AOffset(g, item), g.trans_a ? g.lda : 1, g.b + BOffset(g, item) + first, g.ldb, sums);
    tiles.finish_row(sums, count, RowOf(g, item, 0, first), g.c + item * g.c_batch_stride + first);
  });
}

// Few rows of A, B stored by columns: dot products; the rows of A share each group of columns while it is cached.
void RunDots(const GemmF32Args& g, Parallel& parallel) {
  const TileF32Set& tiles = Tiles(g.tiles);
  constexpr int64_t kColumns = 16;
  ForColumns(g, g.n, kColumns, parallel, [&](int64_t item, int64_t first, int64_t count) {
    float sums[kDotRows][kColumns];
    for (int64_t j = 0; j < count; j += 4)
      for (int64_t row = 0; row < g.m; ++row)
        tiles.dots(g.k, std::min<int64_t>(4, count - j), g.a + AOffset(g, item) + row * g.lda,
                   g.b + BOffset(g, item) + (first + j) * g.ldb, g.ldb, sums[row] + j);
    for (int64_t row = 0; row < g.m; ++row)
      tiles.finish_row(sums[row], count, RowOf(g, item, row, first),
                       g.c + item * g.c_batch_stride + row * g.ldc + first);
  });
}

// N = 1: C is a column of dot products of the rows of A.
void RunColumn(const GemmF32Args& g, Parallel& parallel) {
  const TileF32Set& tiles = Tiles(g.tiles);
  constexpr int64_t kRows = 64;
  ForColumns(g, g.m, kRows, parallel, [&](int64_t item, int64_t first, int64_t count) {
    float sums[kRows];
    tiles.dots(g.k, count, g.b + BOffset(g, item), g.a + AOffset(g, item) + first * g.lda, g.lda, sums);
    FinishColumns(g, item, first, count, 0, 1, sums);
  });
}

// Few rows, packed B: groups of panels are read side by side, so that several sums run at once and memory sees several
// streams. The groups are a multiple of the threads, so that all end at once.
void RunPackedRows(const GemmF32Args& g, const Plan& plan, Parallel& parallel) {
  const TileF32Set& tiles = Tiles(g.tiles);
  const int64_t few = plan.mode == BMode::kHalf ? 0 : FewColumns(g.k, g.n, tiles);
  const int64_t panels = plan.panels - (few > 0 ? 1 : 0);
  constexpr int64_t kMaxWidth = 64, kStride = RowPanelsArgs::kPanels * kMaxWidth;
  const int64_t threads = parallel.ThreadCount();
  const int64_t groups = std::min(panels, CeilDiv(CeilDiv(panels, RowPanelsArgs::kPanels), threads) * threads);
  ForColumns(g, groups + (few > 0 ? 1 : 0), 1, parallel, [&](int64_t item, int64_t group, int64_t) {
    float sums[RowPanelsArgs::kRows * kStride];
    const float* a = g.a + AOffset(g, item);
    const int64_t begin = group == groups ? panels : panels * group / groups;
    const int64_t end = group == groups ? panels : panels * (group + 1) / groups;
    const int64_t first = begin * tiles.columns, at = BOffset(g, item) + first * g.k;
    const int64_t count = group == groups ? few : std::min((end - begin) * tiles.columns, g.n - first);
    const int64_t row_stride = g.trans_a ? 1 : g.lda, k_stride = g.trans_a ? g.lda : 1;
    const RowPanelsArgs t = {g.k, g.m, end - begin, a, row_stride, k_stride, sums, kStride};
    if (group == groups) {
      for (int64_t row = 0; row < g.m; ++row)
        for (int64_t j = 0; j < few; ++j)
          tiles.gemv(g.k, 1, a + row * row_stride, k_stride, g.packed_b + at + j * g.k, 1, sums + row * kStride + j);
    } else if (plan.mode == BMode::kHalf) {
      tiles.row_panels_half(t, g.half_kind, g.packed_half + at);
    } else {
      tiles.row_panels(t, g.packed_b + at);
    }
    for (int64_t row = 0; row < g.m; ++row)
      tiles.finish_row(sums + row * kStride, count, RowOf(g, item, row, first),
                       g.c + item * g.c_batch_stride + row * g.ldc + first);
  });
}

bool IsPlain(const Epilogue& e) {
  return e.alpha == 1 && e.bias == 0 && e.bias_n == nullptr && e.bias_m == nullptr && e.residual == nullptr &&
         e.activation.kind == UnaryKind::kNone;
}

}  // namespace

RowEpilogue RowOf(const GemmF32Args& g, int64_t item, int64_t row, int64_t column) {
  const Epilogue& e = g.epilogue;
  RowEpilogue r;
  r.alpha = e.alpha;
  r.beta = e.beta;
  r.bias_scale = e.bias_scale;
  r.bias = e.bias + (e.bias_m != nullptr ? e.bias_m[row] : 0);
  r.bias_n = e.bias_n != nullptr ? e.bias_n + column : nullptr;
  if (e.residual != nullptr)
    r.residual = e.residual + item * g.residual_batch_stride + row * e.residual_stride + column;
  r.activation = e.activation;
  return r;
}

void FinishColumns(const GemmF32Args& g, int64_t item, int64_t first, int64_t rows, int64_t column, int64_t columns,
                   const float* sums) {
  const TileF32Set& tiles = Tiles(g.tiles);
  const Epilogue& e = g.epilogue;
  float* c = g.c + item * g.c_batch_stride + first * g.ldc + column;
  if (columns > 1 || g.ldc != 1 || (e.residual != nullptr && e.residual_stride != 1)) {
    for (int64_t r = 0; r < rows; ++r)
      tiles.finish_row(sums + r * columns, columns, RowOf(g, item, first + r, column), c + r * g.ldc);
    return;
  }
  // C is one column without gaps: a row of a transposed product, whose bias_n is our bias_m.
  RowEpilogue r = RowOf(g, item, first, column);
  r.bias = e.bias + (e.bias_n != nullptr ? e.bias_n[column] : 0);
  r.bias_n = e.bias_m != nullptr ? e.bias_m + first : nullptr;
  tiles.finish_row(sums, rows, r, c);
}

// K of a few: a block of rows against as much of B as the first cache level holds. C is written row by row.
void RunThin(const GemmF32Args& g, const Plan& plan, Parallel& parallel, std::byte* scratch) {
  const TileF32Set& tiles = Tiles(g.tiles);
  const float* packed = g.packed_b;
  if (plan.mode == BMode::kWhole) {
    float* copy = reinterpret_cast<float*>(scratch);
    PackGemmF32B(g.k, g.n, g.b, g.ldb, g.trans_b, copy, parallel, g.tiles);
    packed = copy;
  }
  const int64_t width = std::max<int64_t>(1, kThinBytes / 4 / (g.k * tiles.columns)) * tiles.columns;
  const int64_t blocks = CeilDiv(g.n, width), rows_per_unit = 32, row_units = CeilDiv(g.m, rows_per_unit);
  const int64_t units = g.batch * blocks * row_units;
  const bool plain = IsPlain(g.epilogue);
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t first = u % blocks * width, count = std::min(width, g.n - first), item = u / blocks / row_units;
      const int64_t row0 = u / blocks % row_units * rows_per_unit, rows = std::min(rows_per_unit, g.m - row0);
      const int64_t row_stride = g.trans_a ? 1 : g.lda, k_stride = g.trans_a ? g.lda : 1;
      const float* b = packed + (plan.mode == BMode::kPacked ? BOffset(g, item) : 0) + first * g.k;
      float* c = g.c + item * g.c_batch_stride + row0 * g.ldc + first;
      const float* a = g.a + AOffset(g, item) + row0 * row_stride;
      if (g.epilogue.residual == nullptr) {
        tiles.thin({g.k, rows, count, a, row_stride, k_stride, b, c, g.ldc});
        for (int64_t r = 0; r < rows && !plain; ++r)
          tiles.finish_row(c + r * g.ldc, count, RowOf(g, item, row0 + r, first), c + r * g.ldc);
        continue;
      }
      for (int64_t r = 0; r < rows; ++r) {  // the residual may be C itself: sums must not lie there
        float sums[kThinBytes / 4];
        tiles.thin({g.k, 1, count, a + r * row_stride, row_stride, k_stride, b, sums, 0});
        tiles.finish_row(sums, count, RowOf(g, item, row0 + r, first), c + r * g.ldc);
      }
    }
  };
  const int64_t threads = parallel.ThreadCount();
  if (threads == 1 || !PaysThreads(g)) return run(0, units);
  parallel.For(units, std::max<int64_t>(1, units / (16 * threads)), run);
}

void RunVectors(const GemmF32Args& g, const Plan& plan, Parallel& parallel) {
  switch (plan.path) {
    case Path::kGemv:
      return RunGemv(g, parallel);
    case Path::kPackedRows:
      return RunPackedRows(g, plan, parallel);
    case Path::kDots:
      return RunDots(g, parallel);
    case Path::kColumn:
      return RunColumn(g, parallel);
    case Path::kNothing:
    case Path::kThin:
    case Path::kTiles:
      return;
  }
}

}  // namespace sardonyx::kernels::gemm_f32
