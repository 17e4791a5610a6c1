// kernels/gemm/tile_bf16_amx.isa.cpp - f32 tiles of up to 32 rows x 32 columns on AMX, from bf16: as in
// tile_int8_amx.isa.cpp, with pairs of bf16 in place of four bytes.
#include <utility>

#include "kernels/gemm/tile_bf16.h"
#include "kernels/gemm/tile_f32_finish.h"
#include "kernels/simd/amx.h"
#include "kernels/simd/bf16.h"

namespace sardonyx::kernels::SDX_ISA {

namespace {

constexpr int64_t kColumns = 32;
constexpr int64_t kMaxRows = 2 * kTileRows;
constexpr int64_t kPairRow = 4 * kColumns;  // bytes of a row of a plane of B
constexpr int64_t kFinishRows = 8;

// Where the next step of A and B begins.
struct Place {
  const char* p;
  const char* q;
  ptrdiff_t row;  // bytes
  const char* b;
};

template <typename Unit, int V, bool kTwoRuns>
[[gnu::always_inline]] inline void Step(const Place& at) {
  Unit::template Load<kRun0>(at.p, at.row);
  Unit::template Load<kLeft>(at.b, kPairRow);
  Unit::template DotBf16<kSum00, kRun0, kLeft>();
  if constexpr (kTwoRuns) {
    Unit::template Load<kRun1>(at.q, at.row);
    Unit::template DotBf16<kSum10, kRun1, kLeft>();
  }
  if constexpr (V == 2) {
    Unit::template Load<kRight>(at.b + kTileRowBytes, kPairRow);
    Unit::template DotBf16<kSum01, kRun0, kRight>();
    if constexpr (kTwoRuns) Unit::template DotBf16<kSum11, kRun1, kRight>();
  }
}

// The pairs that are left over after whole steps, as a step with zeros.
template <typename Unit, int V, bool kTwoRuns>
[[gnu::noinline]] void LastStep(const Place& at, int64_t pairs, int64_t run0, int64_t run1) {
  alignas(64) char left[kMaxRows * kTileRowBytes], right[kTileRows * kPairRow];
  const auto bytes = static_cast<std::size_t>(4 * pairs);
  std::memset(left, 0, sizeof left);
  std::memset(right, 0, sizeof right);
  for (int64_t r = 0; r < run0; ++r) std::memcpy(left + r * kTileRowBytes, at.p + r * at.row, bytes);
  for (int64_t r = 0; r < run1; ++r) std::memcpy(left + kTileBytes + r * kTileRowBytes, at.q + r * at.row, bytes);
  std::memcpy(right, at.b, static_cast<std::size_t>(pairs * kPairRow));
  Step<Unit, V, kTwoRuns>({left, left + kTileBytes, kTileRowBytes, right});
}

template <typename Unit, int V, bool kTwoRuns>
void Sums(const TileBf16Args& s, int64_t run0, int64_t run1) {
  const TileF32Args& t = s.tile;
  const int64_t pairs = (t.k + 1) / 2, depth = StepDepth(pairs);
  ProductShapes<Unit>::Use(run0, run1, depth);
  const ptrdiff_t fetch_bytes = t.prefetch_step * 2 * depth;
  const char* prefetch = t.prefetch;
  Place at = {nullptr, nullptr, 2 * s.a_row_stride, reinterpret_cast<const char*>(s.b)};
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    at.p = reinterpret_cast<const char*>(s.a0 + t.tap_offsets[tap]);
    at.q = reinterpret_cast<const char*>(s.a1 + t.tap_offsets[tap]);
    int64_t i = 0;
    for (; i + depth <= pairs; i += depth) {
      Step<Unit, V, kTwoRuns>(at);
      for (ptrdiff_t line = 0; line < fetch_bytes; line += 64) Prefetch(prefetch + line);
      prefetch += fetch_bytes;
      at.p += 4 * depth, at.q += 4 * depth, at.b += depth * kPairRow;
    }
    if (const int64_t rest = pairs - i; rest > 0) {
      LastStep<Unit, V, kTwoRuns>(at, rest, run0, run1);
      at.b += rest * kPairRow;
    }
  }
}

using FinishFn = void(const TileF32Args&, const float*);

template <int R, int V>
void FinishRows(const TileF32Args& t, const float* sums) {
  Vec acc[R][V];
  ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) { acc[r][v] = Load(sums + r * kColumns + v * kLanes); });
  StoreTile<R, V>(t, false, acc);
}

template <int V, int... I>
constexpr auto FinishTable(std::integer_sequence<int, I...>) {
  struct Table {
    FinishFn* run[sizeof...(I)];
  };
  return Table{{FinishRows<I + 1, V>...}};
}

// Stores one run of rows, of which t.c0 is the first; sums: [rows][kColumns].
template <int V>
void FinishRun(TileF32Args t, int64_t rows, const float* sums) {
  static constexpr auto kTable = FinishTable<V>(std::make_integer_sequence<int, kFinishRows>());
  for (int64_t row = 0; row < rows; row += kFinishRows) {
    const int64_t count = rows - row < kFinishRows ? rows - row : kFinishRows, half = (count + 1) / 2;
    t.c1 = t.c0 + half * t.c_row_stride;
    t.residual1 = t.residual0 != nullptr ? t.residual0 + half * t.residual_row_stride : nullptr;
    kTable.run[count - 1](t, sums + row * kColumns);
    t.c0 += count * t.c_row_stride;
    if (t.residual0 != nullptr) t.residual0 += count * t.residual_row_stride;
    if (t.bias_m != nullptr) t.bias_m += count;
  }
}

template <typename Unit, int V>
void RunTile(const TileBf16Args& s, int64_t rows) {
  const TileF32Args& t = s.tile;
  const int64_t run = (rows + 1) / 2;
  const bool together = rows <= kTileRows && s.a1 == s.a0 + run * s.a_row_stride;
  const int64_t run0 = together ? rows : run, run1 = rows - run0;
  alignas(64) float sums[kMaxRows * kColumns];
  run1 > 0 ? Sums<Unit, V, true>(s, run0, run1) : Sums<Unit, V, false>(s, run0, run1);
  Unit::template Store<kSum00>(sums, kPairRow);
  if constexpr (V == 2) Unit::template Store<kSum01>(sums + kLanes, kPairRow);
  if (run1 > 0) {
    Unit::template Store<kSum10>(sums + run0 * kColumns, kPairRow);
    if constexpr (V == 2) Unit::template Store<kSum11>(sums + run0 * kColumns + kLanes, kPairRow);
  }
  ProductShapes<Unit>::Leave();
  FinishRun<V>(t, run, sums);
  if (rows == run) return;
  TileF32Args second = t;
  second.c0 = t.c1, second.residual0 = t.residual1;
  if (t.bias_m != nullptr) second.bias_m += run;
  FinishRun<V>(second, rows - run, sums + run * kColumns);
}

template <typename Unit>
void Run(const TileBf16Args& s, int64_t rows) {
  s.tile.columns > kLanes ? RunTile<Unit, 2>(s, rows) : RunTile<Unit, 1>(s, rows);
}

template <typename Unit>
constexpr TileBf16Set kSet = {.rows = kMaxRows,
                              .columns = kColumns,
                              .run = Run<Unit>,
                              .round = RoundRow,
                              .pair_panel = PairPanel,
                              .pair_halves = PairHalves,
                              .begin = ProductShapes<Unit>::Begin,
                              .end = ProductShapes<Unit>::End};

}  // namespace

const TileBf16Set* Bf16SetAmx() {
  if constexpr (kMayHaveAmx)
    return &kSet<AmxUnit>;
  else
    return nullptr;
}

const TileBf16Set* Bf16SetAmxStandIn() {
  if constexpr (kMayHaveAmx)
    return &kSet<StandInForAmx>;
  else
    return nullptr;
}

}  // namespace sardonyx::kernels::SDX_ISA
