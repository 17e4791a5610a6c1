// kernels/gemm/split_f32_amx.isa.cpp - f32 tiles of up to 32 rows x 32 columns on AMX, from parts in bf16.
//
// As in tile_int8_amx.isa.cpp, with pairs of bf16 in place of four bytes. In a step of at most 32 k all products of the
// parts follow each other, in an order in which most operands stay in their registers. An instruction sums its products
// among themselves before it adds them to the total, so six times as many products round no more often than a chain of
// fused multiply-adds does.
#include <algorithm>
#include <utility>

#include "kernels/gemm/split_f32.h"
#include "kernels/gemm/tile_f32_finish.h"
#include "kernels/simd/amx.h"
#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

#if defined(__AVX512F__)

namespace {

constexpr int64_t kColumns = 32;
constexpr int64_t kMaxRows = 2 * kTileRows;
constexpr int64_t kPairRow = 4 * kColumns;  // bytes of a row of a plane of B
constexpr int64_t kFinishRows = 8;

// The products of parts a and b, smallest first but for the last, so that each step loads few tiles anew.
struct Term {
  int a, b;
};
constexpr Term kTerms[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {0, 2}};
constexpr int kTermCount = std::size(kTerms);

// The term before kTerms[i] among those of the given numbers of parts; -1: none.
constexpr int Before(int i, int a_parts, int b_parts) {
  for (--i; i >= 0; --i)
    if (kTerms[i].a < a_parts && kTerms[i].b < b_parts) return i;
  return -1;
}

// Where the next step of A and B begins.
struct Place {
  const char* p;
  const char* q;
  ptrdiff_t row, a_part;  // bytes
  const char* b;
  ptrdiff_t b_part;
};

template <typename Unit, int V, bool kTwoRuns, int kAParts, int kBParts, int I>
[[gnu::always_inline]] inline void Multiply(const Place& at) {
  constexpr Term kTerm = kTerms[I];
  if constexpr (kTerm.a < kAParts && kTerm.b < kBParts) {
    constexpr int kBefore = Before(I, kAParts, kBParts);
    constexpr bool kNewA = kBefore < 0 || kTerms[kBefore < 0 ? 0 : kBefore].a != kTerm.a;
    constexpr bool kNewB = kBefore < 0 || kTerms[kBefore < 0 ? 0 : kBefore].b != kTerm.b;
    if constexpr (kNewA) {
      Unit::template Load<kRun0>(at.p + kTerm.a * at.a_part, at.row);
      if constexpr (kTwoRuns) Unit::template Load<kRun1>(at.q + kTerm.a * at.a_part, at.row);
    }
    if constexpr (kNewB) {
      Unit::template Load<kLeft>(at.b + kTerm.b * at.b_part, kPairRow);
      if constexpr (V == 2) Unit::template Load<kRight>(at.b + kTerm.b * at.b_part + kTileRowBytes, kPairRow);
    }
    Unit::template DotBf16<kSum00, kRun0, kLeft>();
    if constexpr (V == 2) Unit::template DotBf16<kSum01, kRun0, kRight>();
    if constexpr (kTwoRuns) Unit::template DotBf16<kSum10, kRun1, kLeft>();
    if constexpr (kTwoRuns && V == 2) Unit::template DotBf16<kSum11, kRun1, kRight>();
  }
}

template <typename Unit, int V, bool kTwoRuns, int kAParts, int kBParts>
[[gnu::always_inline]] inline void Step(const Place& at) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (Multiply<Unit, V, kTwoRuns, kAParts, kBParts, I>(at), ...); }
  (std::make_integer_sequence<int, kTermCount>());
}

// The pairs that are left over after whole steps, as a step with zeros.
template <typename Unit, int V, bool kTwoRuns, int kAParts, int kBParts>
[[gnu::noinline]] void LastStep(const Place& at, int64_t pairs, int64_t run0, int64_t run1) {
  alignas(64) char left[kAParts * kMaxRows * kTileRowBytes], right[kBParts * kTileRows * kPairRow];
  const auto bytes = static_cast<std::size_t>(4 * pairs);
  std::memset(left, 0, sizeof left);
  std::memset(right, 0, sizeof right);
  for (int part = 0; part < kAParts; ++part) {
    char* rows = left + part * kMaxRows * kTileRowBytes;
    for (int64_t r = 0; r < run0; ++r)
      std::memcpy(rows + r * kTileRowBytes, at.p + part * at.a_part + r * at.row, bytes);
    for (int64_t r = 0; r < run1; ++r)
      std::memcpy(rows + kTileBytes + r * kTileRowBytes, at.q + part * at.a_part + r * at.row, bytes);
  }
  for (int part = 0; part < kBParts; ++part)
    std::memcpy(right + part * kTileRows * kPairRow, at.b + part * at.b_part,
                static_cast<std::size_t>(pairs * kPairRow));
  const Place copy = {left, left + kTileBytes, kTileRowBytes, kMaxRows * kTileRowBytes, right, kTileRows * kPairRow};
  Step<Unit, V, kTwoRuns, kAParts, kBParts>(copy);
}

template <typename Unit, int V, bool kTwoRuns, int kAParts, int kBParts>
void Sums(const SplitF32Args& s, int64_t run0, int64_t run1) {
  const TileF32Args& t = s.tile;
  const int64_t pairs = (t.k + 1) / 2, depth = StepDepth(pairs);
  ProductShapes<Unit>::Use(run0, run1, depth);
  const ptrdiff_t fetch_bytes = t.prefetch_step * 2 * depth;
  const char* prefetch = t.prefetch;
  Place at = {nullptr,
              nullptr,
              2 * s.a_row_stride,
              2 * s.a_part_stride,
              reinterpret_cast<const char*>(s.b),
              2 * s.b_part_stride};
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    at.p = reinterpret_cast<const char*>(s.a0 + t.tap_offsets[tap]);
    at.q = reinterpret_cast<const char*>(s.a1 + t.tap_offsets[tap]);
    int64_t i = 0;
    for (; i + depth <= pairs; i += depth) {
      Step<Unit, V, kTwoRuns, kAParts, kBParts>(at);
      for (ptrdiff_t line = 0; line < fetch_bytes; line += 64) Prefetch(prefetch + line);
      prefetch += fetch_bytes;
      at.p += 4 * depth, at.q += 4 * depth, at.b += depth * kPairRow;
    }
    if (const int64_t rest = pairs - i; rest > 0) {
      LastStep<Unit, V, kTwoRuns, kAParts, kBParts>(at, rest, run0, run1);
      at.b += rest * kPairRow;
    }
  }
}

using SumsFn = void(const SplitF32Args&, int64_t, int64_t);

template <typename Unit, int V, bool kTwoRuns>
SumsFn* SumsOf(int a_parts, int b_parts) {
  static constexpr SumsFn* kTable[kMostParts][kMostParts] = {
      {Sums<Unit, V, kTwoRuns, 1, 1>, Sums<Unit, V, kTwoRuns, 1, 2>, Sums<Unit, V, kTwoRuns, 1, 3>},
      {Sums<Unit, V, kTwoRuns, 2, 1>, Sums<Unit, V, kTwoRuns, 2, 2>, Sums<Unit, V, kTwoRuns, 2, 3>},
      {Sums<Unit, V, kTwoRuns, 3, 1>, Sums<Unit, V, kTwoRuns, 3, 2>, Sums<Unit, V, kTwoRuns, 3, 3>},
  };
  return kTable[a_parts - 1][b_parts - 1];
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
    const int64_t count = std::min(kFinishRows, rows - row), half = (count + 1) / 2;
    t.c1 = t.c0 + half * t.c_row_stride;
    t.residual1 = t.residual0 != nullptr ? t.residual0 + half * t.residual_row_stride : nullptr;
    kTable.run[count - 1](t, sums + row * kColumns);
    t.c0 += count * t.c_row_stride;
    if (t.residual0 != nullptr) t.residual0 += count * t.residual_row_stride;
    if (t.bias_m != nullptr) t.bias_m += count;
  }
}

template <typename Unit, int V>
void RunTile(const SplitF32Args& s, int64_t rows) {
  const TileF32Args& t = s.tile;
  const int64_t run = (rows + 1) / 2;
  const bool together = rows <= kTileRows && s.a1 == s.a0 + run * s.a_row_stride;
  const int64_t run0 = together ? rows : run, run1 = rows - run0;
  alignas(64) float sums[kMaxRows * kColumns];
  (run1 > 0 ? SumsOf<Unit, V, true>(s.a_parts, s.b_parts) : SumsOf<Unit, V, false>(s.a_parts, s.b_parts))(s, run0,
                                                                                                          run1);
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
void Run(const SplitF32Args& s, int64_t rows) {
  s.tile.columns > kLanes ? RunTile<Unit, 2>(s, rows) : RunTile<Unit, 1>(s, rows);
}

// The bits of x rounded to bf16, halves away from zero, in the upper half of each lane; x is finite.
inline UintVec RoundToBf16(Vec x) { return ((UintVec)x + 0x8000) & 0xFFFF0000; }

// The parts of a vector, in the upper halves of lanes. What two parts leave of 24 bits is a bf16 number.
struct Parts {
  UintVec first, second, third;
  [[gnu::always_inline]] explicit Parts(Vec x) {
    first = RoundToBf16(x);
    x -= (Vec)first;
    second = RoundToBf16(x);
    third = (UintVec)(x - (Vec)second);
  }
};

inline UintVec Largest(UintVec a, UintVec b) { return (UintVec)_mm512_maskz_max_epu32(0xFFFF, (__m512i)a, (__m512i)b); }

// What is known of the numbers seen so far, lane by lane.
struct Seen {
  UintVec largest = {}, second = {}, third = {};
  [[gnu::always_inline]] void Add(Vec x, const Parts& parts) {
    largest = Largest(largest, (UintVec)x & 0x7FFFFFFF);
    second |= parts.second;
    third |= parts.third;
  }
  SplitFacts Facts() const {
    std::uint32_t lanes[3][kLanes];
    std::memcpy(lanes[0], &largest, sizeof largest);
    std::memcpy(lanes[1], &second, sizeof second);
    std::memcpy(lanes[2], &third, sizeof third);
    SplitFacts facts;
    for (ptrdiff_t i = 0; i < kLanes; ++i)
      facts.Join({lanes[0][i], lanes[1][i] & 0x7FFFFFFF, lanes[2][i] & 0x7FFFFFFF});
    return facts;
  }
};

// The upper halves of 32 lanes, in order.
inline UintVec UpperHalves(UintVec a, UintVec b) {
  using Halves __attribute__((vector_size(64))) = std::uint16_t;
  return (UintVec)__builtin_shufflevector((Halves)a, (Halves)b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29,
                                          31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
}

void StoreHalves(std::uint16_t* dst, UintVec a, UintVec b, int64_t count) {
  const UintVec halves = UpperHalves(a, b);
  if (count >= 2 * kLanes)
    std::memcpy(dst, &halves, sizeof halves);
  else
    std::memcpy(dst, &halves, 2 * static_cast<std::size_t>(count));
}

SplitFacts Split(int64_t count, const float* src, std::uint16_t* dst, ptrdiff_t part_stride) {
  Seen seen;
  for (int64_t i = 0; i < count; i += 2 * kLanes) {
    const int64_t rest = count - i;
    const bool whole = rest >= 2 * kLanes;
    const Vec x = whole ? Load(src + i) : Load(src + i, FirstLanes(rest));
    const Vec y = whole ? Load(src + i + kLanes) : Load(src + i + kLanes, FirstLanes(rest - kLanes));
    const Parts of_x(x), of_y(y);
    seen.Add(x, of_x);
    seen.Add(y, of_y);
    StoreHalves(dst + i, of_x.first, of_y.first, rest);
    StoreHalves(dst + part_stride + i, of_x.second, of_y.second, rest);
    StoreHalves(dst + 2 * part_stride + i, of_x.third, of_y.third, rest);
  }
  return seen.Facts();
}

// A row of pairs of a plane: the halves of x and y side by side.
inline void StorePairs(std::uint16_t* dst, UintVec x, UintVec y) {
  const UintVec pairs = (x >> 16) | y;
  std::memcpy(dst, &pairs, sizeof pairs);
}

SplitFacts SplitPanel(int64_t taps, int64_t k, const float* b, ptrdiff_t b_stride, int64_t columns, std::uint16_t* dst,
                      ptrdiff_t part_stride) {
  Seen seen;
  const Lanes lanes[2] = {FirstLanes(columns), FirstLanes(columns - kLanes)};
  for (int64_t tap = 0; tap < taps; ++tap, b += k * b_stride)
    for (int64_t i = 0; i < k; i += 2, dst += 2 * kColumns) {
      const float* row = b + i * b_stride;
#pragma GCC unroll 2
      for (ptrdiff_t v = 0; v < 2; ++v) {
        const Vec x = Load(row + v * kLanes, lanes[v]);
        const Vec y = i + 1 < k ? Load(row + b_stride + v * kLanes, lanes[v]) : Broadcast(0);
        const Parts of_x(x), of_y(y);
        seen.Add(x, of_x);
        seen.Add(y, of_y);
        std::uint16_t* to = dst + v * 2 * kLanes;
        StorePairs(to, of_x.first, of_y.first);
        StorePairs(to + part_stride, of_x.second, of_y.second);
        StorePairs(to + 2 * part_stride, of_x.third, of_y.third);
      }
    }
  return seen.Facts();
}

template <typename Unit>
constexpr SplitF32Set kSet = {.rows = kMaxRows,
                              .columns = kColumns,
                              .run = Run<Unit>,
                              .split = Split,
                              .split_panel = SplitPanel,
                              .begin = ProductShapes<Unit>::Begin,
                              .end = ProductShapes<Unit>::End};

}  // namespace

const SplitF32Set* SplitSetAmx() { return &kSet<AmxUnit>; }
const SplitF32Set* SplitSetStandIn() { return &kSet<StandInForAmx>; }

#else

const SplitF32Set* SplitSetAmx() { return nullptr; }
const SplitF32Set* SplitSetStandIn() { return nullptr; }

#endif

}  // namespace sardonyx::kernels::SDX_ISA
