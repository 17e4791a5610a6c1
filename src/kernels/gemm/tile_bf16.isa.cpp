// kernels/gemm/tile_bf16.isa.cpp - the register tile of tile_f32.isa.cpp with pairs of bf16 in place of floats, on
// VDPBF16PS.
#include "kernels/gemm/tile_bf16.h"

#include <utility>

#include "kernels/gemm/tile_f32_finish.h"
#include "kernels/simd/bf16.h"

namespace sardonyx::kernels::SDX_ISA {

namespace {

constexpr int kRows = 14;  // for 16 lanes, as in tile_f32.isa.cpp
constexpr int kVectors = 2;

template <int R, int V>
void Tile(const TileBf16Args& s) {
  const TileF32Args& t = s.tile;
  constexpr ptrdiff_t kRun = (R + 1) / 2;
  Vec acc[R][V];
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r)
    for (ptrdiff_t v = 0; v < V; ++v) acc[r][v] = Broadcast(0);
  const int64_t pairs = (t.k + 1) / 2;
  const ptrdiff_t l1 = s.a_row_stride * 2, l3 = 3 * l1, l5 = 5 * l1;
  const auto* b = reinterpret_cast<const char*>(s.b);
  const char* prefetch = t.prefetch;
  const ptrdiff_t prefetch_step = 2 * t.prefetch_step;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const char* p = reinterpret_cast<const char*>(s.a0 + t.tap_offsets[tap]);
    const char* q = reinterpret_cast<const char*>(s.a1 + t.tap_offsets[tap]);
    for (int64_t i = 0; i < pairs; ++i) {
      UintVec bv[V];
#pragma GCC unroll 4
      for (ptrdiff_t v = 0; v < V; ++v) bv[v] = LoadInt(b + v * 4 * kLanes);
#pragma GCC unroll 16
      for (ptrdiff_t r = 0; r < R; ++r) {
        const ptrdiff_t row = r < kRun ? r : r - kRun;
        const ptrdiff_t offset = row == 0   ? 0
                                 : row == 1 ? l1
                                 : row == 2 ? l1 * 2
                                 : row == 3 ? l3
                                 : row == 4 ? l1 * 4
                                 : row == 5 ? l5
                                            : l3 * 2;
        std::uint32_t pair;
        std::memcpy(&pair, (r < kRun ? p : q) + offset, 4);
        const UintVec x = BroadcastInt(pair);
#pragma GCC unroll 4
        for (ptrdiff_t v = 0; v < V; ++v) acc[r][v] = DotPairs(acc[r][v], x, bv[v]);
      }
      Prefetch(prefetch);
      prefetch += prefetch_step;
      p += 4;
      q += 4;
      b += kVectors * 4 * kLanes;
    }
  }
  Vec sums[R][V];  // a copy, so that the accumulators themselves need no memory
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r)
    for (ptrdiff_t v = 0; v < V; ++v) sums[r][v] = acc[r][v];
  StoreTile<R, V>(t, false, sums);
}

using TileFn = void(const TileBf16Args&);

template <int V, int... I>
constexpr auto MakeTable(std::integer_sequence<int, I...>) {
  struct Table {
    TileFn* run[sizeof...(I)];
  };
  return Table{{Tile<I + 1, V>...}};
}

void Run(const TileBf16Args& args, int64_t rows) {
  static constexpr auto kWide = MakeTable<kVectors>(std::make_integer_sequence<int, kRows>());
  static constexpr auto kNarrow = MakeTable<1>(std::make_integer_sequence<int, kRows>());
  (args.tile.columns > kLanes ? kWide.run : kNarrow.run)[rows - 1](args);
}

constexpr TileBf16Set kSet = {.rows = kRows,
                              .columns = kVectors * kLanes,
                              .run = Run,
                              .round = RoundRow,
                              .pair_panel = PairPanel,
                              .pair_halves = PairHalves,
                              .begin = nullptr,
                              .end = nullptr};

}  // namespace

const TileBf16Set* Bf16SetDots() {
  if constexpr (kMayHaveBf16)
    return &kSet;
  else
    return nullptr;
}

}  // namespace sardonyx::kernels::SDX_ISA
