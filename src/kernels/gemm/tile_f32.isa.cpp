// kernels/gemm/tile_f32.isa.cpp - the register tile: 14 x 2 vectors on AVX-512, 6 x 2 on AVX2, 4 x 2 on ISAs with four
// lanes.
//
// B streams from the second cache level, and A is broadcast from where it lies: A is not packed, and B is not blocked
// for the first level. Accumulators, two vectors of B and one broadcast fill the registers exactly.
#include "kernels/gemm/tile_f32.h"

#include <utility>

#include "kernels/gemm/row_f32.h"
#include "kernels/gemm/tile_f32_finish.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr int kRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 4;
constexpr int kVectors = 2;
// Rows of a tile of one vector. Few sums at once would wait for each other, and a load of B would serve few of them.
constexpr int kNarrowRows = kLanes == 16 ? kRows : 2 * kRows;

// Short sums start from the bias: adding it later would cost as much as a step. Long ones would lose accuracy to a
// large bias.
constexpr int64_t kShortSum = 64;
bool StartsFromBias(const TileF32Args& t) { return t.alpha == 1 && t.taps * t.k <= kShortSum; }

// Asks for the lines that the tile will write, and for those that it adds to them. In a wide C they lie far apart, so
// that the CPU would not fetch them by itself: the stores of a tile, and with them the next tile, would wait for
// memory. A row that does not begin at the start of a line ends in a further one; that is fetched, too,
// unless the sums are so short that it would take longer than it saves.
constexpr ptrdiff_t kLineFloats = 16;

template <int R>
inline __attribute__((always_inline)) void FetchResults(const TileF32Args& t) {
  constexpr ptrdiff_t kRun = (R + 1) / 2;
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r)
    PrefetchForWriting(r < kRun ? t.c0 + r * t.c_row_stride : t.c1 + (r - kRun) * t.c_row_stride);
  if (t.c_row_stride % kLineFloats != 0 && t.taps * t.k > kShortSum) {
    const ptrdiff_t last = t.columns - 1;
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r)
      PrefetchForWriting((r < kRun ? t.c0 + r * t.c_row_stride : t.c1 + (r - kRun) * t.c_row_stride) + last);
  }
  if (t.residual0 == nullptr) return;
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r)
    Prefetch(r < kRun ? t.residual0 + r * t.residual_row_stride : t.residual1 + (r - kRun) * t.residual_row_stride);
}

template <int R, int V>
void Tile(const TileF32Args& t) {
  constexpr ptrdiff_t kRun = (R + 1) / 2;
  Vec acc[R][V], start[V];
  for (ptrdiff_t v = 0; v < V; ++v) start[v] = StartsFromBias(t) ? BiasOf(t, v) : Broadcast(0);
  ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) { acc[r][v] = start[v]; });
  const ptrdiff_t l1 = t.a_row_stride * 4, l3 = 3 * l1, l5 = 5 * l1, step = t.a_k_stride * 4, b_stride = t.b_stride;
  FetchResults<R>(t);
  const float* b = t.b;
  const char* prefetch = t.prefetch;
  const ptrdiff_t prefetch_step = t.prefetch_step;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const char* p = reinterpret_cast<const char*>(t.a0 + t.tap_offsets[tap]);
    const char* q = reinterpret_cast<const char*>(t.a1 + t.tap_offsets[tap]);
#pragma GCC unroll 2
    for (int64_t i = 0; i < t.k; ++i) {
      Vec bv[V];
#pragma GCC unroll 4
      for (ptrdiff_t v = 0; v < V; ++v) bv[v] = Load(b + v * kLanes);
#pragma GCC unroll 16
      for (ptrdiff_t r = 0; r < R; ++r) {
        const ptrdiff_t s = r < kRun ? r : r - kRun;
        const ptrdiff_t offset = s == 0   ? 0
                                 : s == 1 ? l1
                                 : s == 2 ? l1 * 2
                                 : s == 3 ? l3
                                 : s == 4 ? l1 * 4
                                 : s == 5 ? l5
                                          : l3 * 2;
        const Vec x = Broadcast(*reinterpret_cast<const float*>((r < kRun ? p : q) + offset));
#pragma GCC unroll 4
        for (ptrdiff_t v = 0; v < V; ++v) acc[r][v] += x * bv[v];
      }
      Prefetch(prefetch);
      prefetch += prefetch_step;
      p += step;
      q += step;
      b += b_stride;
    }
  }
  StoreTile<R, V>(t, StartsFromBias(t), acc);
}

template <int V, int... I>
constexpr auto MakeTable(std::integer_sequence<int, I...>) {
  struct Table {
    TileF32Fn* run[sizeof...(I)];
  };
  return Table{{Tile<I + 1, V>...}};
}

constexpr auto kWide = MakeTable<kVectors>(std::make_integer_sequence<int, kRows>());
constexpr auto kNarrow = MakeTable<kVectors / 2>(std::make_integer_sequence<int, kNarrowRows>());
constexpr Isa kIsa = Isa::SDX_ISA;
constexpr TileF32Set kSet = {
    .isa = kIsa,
    .rows = kRows,
    .columns = kVectors * kLanes,
    .wide = kWide.run,
    .narrow = kNarrow.run,
    .narrow_rows = kNarrowRows,
    .pack_panel = PackPanel,
    .activate = Activate,
    .finish_row = FinishRow,
    .gemv = Gemv,
    .dots = Dots,
    .row_panels = RowPanels,
    .row_panels_half = RowPanelsHalf,
    .widen = Widen,
    .columns_of = ColumnsOf,
    .thin = Thin,
    .thin_k = 8,
    .transpose = Transpose,
    .depthwise_plane = DepthwisePlane,
    .split_pairs = SplitPairs,
};

}  // namespace

const TileF32Set& TileSetF32() { return kSet; }

}  // namespace sardonyx::kernels::SDX_ISA
