// kernels/gemm/gemm_f32.cpp - the entry points of the f32 product: packing, scratch, and which path a shape takes.
#include <algorithm>

#include "kernels/gemm/gemm_f32_plan.h"

namespace sardonyx::kernels {

using std::int64_t;

std::size_t GemmF32PackedCount(int64_t k, int64_t n, const TileF32Set* tiles) {
  const TileF32Set& t = gemm_f32::Tiles(tiles);
  const int64_t few = gemm_f32::FewColumns(k, n, t);
  const int64_t panels = few > 0 ? n / t.columns : gemm_f32::CeilDiv(n, t.columns);
  return static_cast<std::size_t>(panels * t.columns * k + (few * k + 15) / 16 * 16);
}

// NOLINTNEXTLINE(readability-function-size): the parameters of BLAS
void PackGemmF32B(int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed, Parallel& parallel,
                  const TileF32Set* tiles) {
  const TileF32Set& t = gemm_f32::Tiles(tiles);
  const int64_t few = gemm_f32::FewColumns(k, n, t), panels = gemm_f32::CeilDiv(n, t.columns);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, k * t.columns));
  parallel.For(panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t j = p * t.columns;
      const float* from = b + (trans_b ? j * ldb : j);
      float* to = packed + j * k;
      if (few == 0 || p + 1 < panels) {
        t.pack_panel(k, std::min<int64_t>(t.columns, n - j), from, ldb, trans_b, to);
      } else if (trans_b) {
        for (int64_t c = 0; c < few; ++c) std::copy_n(from + c * ldb, k, to + c * k);
      } else {
        t.transpose(k, few, from, ldb, to, k);
      }
    }
  });
}

std::size_t GemmHalfPackedCount(int64_t k, int64_t n, const TileF32Set* tiles) {
  const int64_t columns = gemm_f32::Tiles(tiles).columns;
  return static_cast<std::size_t>(gemm_f32::CeilDiv(n, columns) * columns * k);
}

// NOLINTNEXTLINE(readability-function-size): the parameters of BLAS
void PackGemmHalfB(int64_t k, int64_t n, const std::uint16_t* b, int64_t ldb, bool trans_b, std::uint16_t* packed,
                   Parallel& parallel, const TileF32Set* tiles) {
  const int64_t columns = gemm_f32::Tiles(tiles).columns, panels = gemm_f32::CeilDiv(n, columns);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, k * columns));
  parallel.For(panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p * columns, here = std::min(columns, n - first);
      std::uint16_t* to = packed + first * k;
      if (here < columns) std::fill_n(to, columns * k, std::uint16_t{0});
      if (!trans_b) {
        for (int64_t i = 0; i < k; ++i) std::copy_n(b + i * ldb + first, here, to + i * columns);
        continue;
      }
      for (int64_t j = 0; j < here; ++j)
        for (int64_t i = 0; i < k; ++i) to[i * columns + j] = b[(first + j) * ldb + i];
    }
  });
}

std::size_t GemmF32ScratchBytes(const GemmF32Args& args, int threads) {
  const GemmF32Args g = gemm_f32::Collapse(args);
  return gemm_f32::ScratchBytes(g, gemm_f32::MakePlan(g, threads), threads);
}

void GemmF32(const GemmF32Args& args, Parallel& parallel, std::byte* scratch) {
  const GemmF32Args g = gemm_f32::Collapse(args);
  const gemm_f32::Plan plan = gemm_f32::MakePlan(g, parallel.ThreadCount());
  if (plan.path == gemm_f32::Path::kTiles) return gemm_f32::RunTiles(g, plan, parallel, scratch);
  if (plan.path == gemm_f32::Path::kThin) return gemm_f32::RunThin(g, plan, parallel, scratch);
  gemm_f32::RunVectors(g, plan, parallel);
}

}  // namespace sardonyx::kernels
