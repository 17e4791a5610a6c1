// kernels/gemm/paired_tile_int8.isa.cpp - the integer tile that widens the
// products of two groups at once where they fit into 16 bits.
#include "kernels/gemm/paired_tile_int8.h"

#include <utility>

#include "kernels/gemm/tile_int8_finish.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kVectorBytes = 4 * kLanes, kGroupBytes = 2 * kVectorBytes;

// Rows p, p + stride, p + 2 stride and q, q + stride, q + 2 stride of A'; b: a
// group of the panel. kTogether: of two.
template <bool kTogether, int R, int V>
[[gnu::always_inline]] inline void AddGroups(const std::byte* p, const std::byte* q, ptrdiff_t stride,
                                             const std::byte* b, UintVec (&acc)[R][V]) {
  constexpr ptrdiff_t kRun = (R + 1) / 2;
  static_assert(kRun <= 3);
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r) {
    const ptrdiff_t s = r < kRun ? r : r - kRun;
    const std::byte* const x = (r < kRun ? p : q) + (s == 0 ? 0 : s == 1 ? stride : stride * 2);
    const UintVec x0 = BroadcastGroup(x);
    UintVec x1 = x0;
    if constexpr (kTogether) x1 = BroadcastGroup(x + 4);
#pragma GCC unroll 2
    for (ptrdiff_t v = 0; v < V; ++v) {
      UintVec words = PairsFrom(x0, b + v * kVectorBytes);
      if constexpr (kTogether) words = AddWords(words, PairsFrom(x1, b + kGroupBytes + v * kVectorBytes));
      acc[r][v] = SumPairs(acc[r][v], words);
    }
  }
}

template <int R, int V>
[[gnu::always_inline]] inline void OneTile(const TileInt8Args& t, const std::uint8_t* fits, const char* prefetch) {
  UintVec acc[R][V];
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < V; ++v) {
    UintVec start = {};
    if (t.column_terms != nullptr) {
      const std::uint32_t* const terms = t.column_terms + v * kLanes;
      const ptrdiff_t columns = t.columns - v * kLanes;
      start = columns >= kLanes ? LoadInt(terms) : LoadInt(terms, FirstLanes(columns));
    }
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r) acc[r][v] = start;
  }
  const ptrdiff_t stride = t.a_row_bytes, step = t.prefetch_step;
  const std::byte* b = t.b;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const std::byte *p = t.a0 + t.tap_offsets[tap], *q = t.a1 + t.tap_offsets[tap];
    for (int64_t pair = 0; pair < t.k_groups / 2; ++pair) {
      if (*fits++ != 0) {
        AddGroups<true>(p, q, stride, b, acc);
      } else {
        AddGroups<false>(p, q, stride, b, acc);
        AddGroups<false>(p + 4, q + 4, stride, b + kGroupBytes, acc);
      }
      Prefetch(prefetch);
      Prefetch(prefetch + step);
      prefetch += 2 * step;
      p += 8;
      q += 8;
      b += 2 * kGroupBytes;
    }
    if (t.k_groups % 2 != 0) {
      AddGroups<false>(p, q, stride, b, acc);
      Prefetch(prefetch);
      prefetch += step;
      b += kGroupBytes;
    }
  }
  Finish(t, acc);
}

// The next R rows.
template <int R>
void Advance(TileInt8Args* t) {
  t->a0 += R * t->a_row_bytes, t->a1 += R * t->a_row_bytes;
  if (t->row_terms0 != nullptr) t->row_terms0 += R, t->row_terms1 += R;
  const ptrdiff_t elements = R * t->c_row_stride, bytes = elements * (t->result == Int8Result::kBytes ? 1 : 4);
  t->c0 = static_cast<std::byte*>(t->c0) + bytes, t->c1 = static_cast<std::byte*>(t->c1) + bytes;
  if (t->z0 != nullptr) t->z0 += elements, t->z1 += elements;
}

template <int R, int V>
void PairedTiles(const TileInt8Args& first, int64_t count, const std::uint8_t* fits) {
  if (count == 1) return OneTile<R, V>(first, fits, first.prefetch);
  TileInt8Args t = first;
  const ptrdiff_t fetched = t.taps * t.k_groups * t.prefetch_step;
  for (int64_t i = 0; i < count; ++i, Advance<R>(&t)) OneTile<R, V>(t, fits, first.prefetch + i * fetched);
}

template <int V, int... I>
constexpr auto MakeTable(std::integer_sequence<int, I...>) {
  struct Table {
    PairedTilesInt8Fn* run[sizeof...(I)];
  };
  return Table{{PairedTiles<I + 1, V>...}};
}

}  // namespace

const PairedTilesInt8* PairedTileSet() {
  if constexpr (kHasSmallBytes) {
    constexpr int kRows = 6;
    static constexpr auto kWide = MakeTable<2>(std::make_integer_sequence<int, kRows>());
    static constexpr auto kNarrow = MakeTable<1>(std::make_integer_sequence<int, kRows>());
    static constexpr PairedTilesInt8 kSet = {kWide.run, kNarrow.run};
    return &kSet;
  } else {
    return nullptr;
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
