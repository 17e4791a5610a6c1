// kernels/gemm/tile_int8_amx.isa.cpp - the integer tile on AMX: up to 32 rows x 32 columns, four products an
// instruction step.
//
// A panel of groups of four bytes (tile_int8.h) is what AMX reads as the right side: 16 groups by 16 columns are a tile
// of 16 rows, 128 bytes apart. So packed weights are the same as those of VNNI. The two runs of rows are two tiles on
// the left, where they lie; four tiles hold the sums, which pass through memory on their way to the epilogue.
#include <utility>

#include "kernels/gemm/tile_int8_finish.h"
#include "kernels/simd/amx.h"

namespace sardonyx::kernels::SDX_ISA {

namespace {

constexpr int64_t kColumns = 32;
constexpr int64_t kMaxRows = 2 * kTileRows;
constexpr int64_t kGroupRow = 4 * kColumns;  // bytes of a row of the panel
constexpr int64_t kFinishRows = 8;           // rows that the epilogue takes at a time

// One call: kTwoRuns is false where there is one row in all or where one tile holds all rows.
template <typename Unit, int V, bool kTwoRuns>
void Step(const std::byte* p, const std::byte* q, ptrdiff_t stride, const std::byte* b) {
  Unit::template Load<kRun0>(p, stride);
  Unit::template Load<kLeft>(b, kGroupRow);
  Unit::template DotBytes<kSum00, kRun0, kLeft>();
  if constexpr (kTwoRuns) {
    Unit::template Load<kRun1>(q, stride);
    Unit::template DotBytes<kSum10, kRun1, kLeft>();
  }
  if constexpr (V == 2) {
    Unit::template Load<kRight>(b + kTileRowBytes, kGroupRow);
    Unit::template DotBytes<kSum01, kRun0, kRight>();
    if constexpr (kTwoRuns) Unit::template DotBytes<kSum11, kRun1, kRight>();
  }
}

// The groups that are left over after whole steps, as a step with zeros.
template <typename Unit, int V, bool kTwoRuns>
void LastStep(const std::byte* p, const std::byte* q, ptrdiff_t stride, const std::byte* b, int64_t groups,
              int64_t run0, int64_t run1) {
  alignas(64) std::byte left[kMaxRows * kTileRowBytes], right[kTileRows * kGroupRow];
  const auto bytes = static_cast<std::size_t>(4 * groups);
  std::memset(left, 0, sizeof left);
  for (int64_t r = 0; r < run0; ++r) std::memcpy(left + r * kTileRowBytes, p + r * stride, bytes);
  for (int64_t r = 0; r < run1; ++r) std::memcpy(left + kTileBytes + r * kTileRowBytes, q + r * stride, bytes);
  std::memcpy(right, b, static_cast<std::size_t>(groups * kGroupRow));
  std::memset(right + groups * kGroupRow, 0, static_cast<std::size_t>((kTileRows - groups) * kGroupRow));
  Step<Unit, V, kTwoRuns>(left, left + kTileBytes, kTileRowBytes, right);
}

template <typename Unit, int V, bool kTwoRuns>
void Sums(const TileInt8Args& t, int64_t run0, int64_t run1) {
  const int64_t depth = StepDepth(t.k_groups);
  ProductShapes<Unit>::Use(run0, run1, depth);
  const ptrdiff_t stride = t.a_row_bytes, fetch_bytes = t.prefetch_step * depth;
  const std::byte* b = t.b;
  const char* prefetch = t.prefetch;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const std::byte *p = t.a0 + t.tap_offsets[tap], *q = t.a1 + t.tap_offsets[tap];
    int64_t g = 0;
    for (; g + depth <= t.k_groups; g += depth) {
      Step<Unit, V, kTwoRuns>(p, q, stride, b);
      for (ptrdiff_t line = 0; line < fetch_bytes; line += 64) Prefetch(prefetch + line);
      prefetch += fetch_bytes;
      p += 4 * depth, q += 4 * depth, b += depth * kGroupRow;
    }
    if (const int64_t rest = t.k_groups - g; rest > 0) {
      LastStep<Unit, V, kTwoRuns>(p, q, stride, b, rest, run0, run1);
      b += rest * kGroupRow;
    }
  }
}

using FinishFn = void(const TileInt8Args&, const std::uint32_t*);

// Adds the terms of columns to sums [R][kColumns] and stores them.
template <int R, int V>
void FinishRows(const TileInt8Args& t, const std::uint32_t* sums) {
  UintVec acc[R][V];
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < V; ++v) {
    const UintVec start = t.column_terms != nullptr
                              ? LoadInt(t.column_terms + v * kLanes, FirstLanes(t.columns - v * kLanes))
                              : UintVec{};
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) acc[r][v] = LoadInt(sums + r * kColumns + v * kLanes) + start;
  }
  Finish(t, acc);
}

template <int V, int... I>
constexpr auto FinishTable(std::integer_sequence<int, I...>) {
  struct Table {
    FinishFn* run[sizeof...(I)];
  };
  return Table{{FinishRows<I + 1, V>...}};
}

// Stores one run of rows, of which t.c0 is the first; `sums` as FinishRows has them.
template <int V>
void FinishRun(TileInt8Args t, int64_t rows, const std::uint32_t* sums) {
  static constexpr auto kTable = FinishTable<V>(std::make_integer_sequence<int, kFinishRows>());
  const ptrdiff_t size = t.result == Int8Result::kBytes ? 1 : 4;
  auto* c = static_cast<std::byte*>(t.c0);
  for (int64_t row = 0; row < rows; row += kFinishRows) {
    const int64_t count = rows - row < kFinishRows ? rows - row : kFinishRows, half = (count + 1) / 2;
    t.c0 = c + row * t.c_row_stride * size;
    t.c1 = c + (row + half) * t.c_row_stride * size;
    t.z1 = t.z0 != nullptr ? t.z0 + half * t.c_row_stride : nullptr;
    t.row_terms1 = t.row_terms0 != nullptr ? t.row_terms0 + half : nullptr;
    kTable.run[count - 1](t, sums + row * kColumns);
    if (t.z0 != nullptr) t.z0 += count * t.c_row_stride;
    if (t.row_terms0 != nullptr) t.row_terms0 += count;
    if (t.row_scales != nullptr) t.row_scales += count;
    if (t.a_zero != nullptr) t.a_zero += count;
  }
}

template <typename Unit, int V>
void Run(const TileInt8Args& t, int64_t rows) {
  const int64_t run = (rows + 1) / 2;
  const bool together = rows <= kTileRows && t.a1 == t.a0 + run * t.a_row_bytes;
  const int64_t run0 = together ? rows : run, run1 = rows - run0;
  alignas(64) std::uint32_t sums[kMaxRows * kColumns];
  run1 > 0 ? Sums<Unit, V, true>(t, run0, run1) : Sums<Unit, V, false>(t, run0, run1);
  Unit::template Store<kSum00>(sums, kGroupRow);
  if constexpr (V == 2) Unit::template Store<kSum01>(sums + kLanes, kGroupRow);
  if (run1 > 0) {
    Unit::template Store<kSum10>(sums + run0 * kColumns, kGroupRow);
    if constexpr (V == 2) Unit::template Store<kSum11>(sums + run0 * kColumns + kLanes, kGroupRow);
  }
  ProductShapes<Unit>::Leave();
  FinishRun<V>(t, run, sums);
  if (rows == run) return;
  TileInt8Args second = t;
  second.c0 = t.c1, second.z0 = t.z1, second.row_terms0 = t.row_terms1;
  if (t.row_scales != nullptr) second.row_scales += run;
  if (t.a_zero != nullptr) second.a_zero += run;
  FinishRun<V>(second, rows - run, sums + run * kColumns);
}

template <typename Unit, int R, int V>
void Tile(const TileInt8Args& t) {
  Run<Unit, V>(t, R);
}

// Few rows leave most of a tile empty, so vectors do those as fast.
constexpr int kVectorRows = 2;

template <typename Unit>
const TileInt8Set* MakeSet() {
  struct Tables {
    TileInt8Fn *wide[kMaxRows], *narrow[kMaxRows];
  };
  static const Tables tables = []<int... I>(std::integer_sequence<int, I...>) {
    Tables all{{Tile<Unit, I + 1, 2>...}, {Tile<Unit, I + 1, 1>...}};
    for (int row = 0; row < kVectorRows; ++row)
      all.wide[row] = TileSetBytes()->wide[row], all.narrow[row] = TileSetBytes()->narrow[row];
    return all;
  }
  (std::make_integer_sequence<int, kMaxRows>());
  static const TileInt8Set set = [] {
    TileInt8Set s = *TileSetBytes();
    s.rows = kMaxRows;
    s.wide = tables.wide, s.narrow = tables.narrow;
    s.begin = ProductShapes<Unit>::Begin, s.end = ProductShapes<Unit>::End;
    return s;
  }();
  return &set;
}

}  // namespace

const TileInt8Set* TileSetAmx() {
  if constexpr (kMayHaveAmx)
    return MakeSet<AmxUnit>();
  else
    return nullptr;
}

const TileInt8Set* TileSetStandIn() {
  if constexpr (kMayHaveAmx)
    return MakeSet<StandInForAmx>();
  else
    return nullptr;
}

}  // namespace sardonyx::kernels::SDX_ISA
