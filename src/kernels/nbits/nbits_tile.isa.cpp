// kernels/nbits/nbits_tile.isa.cpp - weights of 2, 4 and 8 bits unpacked in registers, times bytes or floats.
#include "kernels/nbits/nbits_tile.h"

#include <utility>

#include "kernels/simd/exp2_f32.h"
#include "kernels/simd/math_f32.h"
#include "kernels/simd/vec_i32.h"
#include "kernels/simd/vec_u8.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kVectorBytes = 4 * kLanes;

template <int kBits>
constexpr float kMiddle = 1 << (kBits - 1);

// 0 - 8, 1 - 8, ...: what four bits stand for.
inline Vec FourBits() {
  Vec v = Broadcast(0);
  for (int i = 0; i < kLanes; ++i) v[i] = static_cast<float>(i - 8);
  return v;
}

inline Vec LoadFloats(const std::byte* p) { return Load(reinterpret_cast<const float*>(p)); }
inline Vec LoadHalves(const std::byte* p) { return LoadFloat16(reinterpret_cast<const std::uint16_t*>(p)); }

// Walks over the blocks of a panel. Panels follow each other, and are short: what comes is asked for early.
constexpr ptrdiff_t kAhead = 4096;
struct Block {
  Vec scale, offset;
  const std::byte* groups;
};
template <bool kPrefetch = false>
inline __attribute__((always_inline)) Block ReadBlock(const std::byte** p, bool has_offsets, bool half_scales,
                                                      int64_t groups) {
  Block b;
  b.scale = half_scales ? LoadHalves(*p) : LoadFloats(*p);
  const ptrdiff_t bytes = half_scales ? kVectorBytes / 2 : kVectorBytes;
  *p += bytes;
  b.offset = Broadcast(0);
  if (has_offsets) {
    b.offset = half_scales ? LoadHalves(*p) * b.scale : LoadFloats(*p);
    *p += bytes;
  }
  b.groups = *p;
  *p += groups * kVectorBytes;
  if (kPrefetch)
    for (int64_t i = 0; i <= groups; ++i) Prefetch(reinterpret_cast<const char*>(b.groups) + kAhead + i * kVectorBytes);
  return b;
}

// Asks for the lines that a tile of many rows will write, as long as it computes. In a wide y they lie far apart, and
// the stores of a tile would wait for memory.
template <int R, int P = 1>
inline __attribute__((always_inline)) void FetchResults(const NBitsTileArgs& t) {
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r) PrefetchForWriting(t.y + r * t.y_stride);
  if constexpr (P * kVectorBytes > 64) {
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) PrefetchForWriting(t.y + r * t.y_stride + 16);
  }
}

template <int R>
void StoreRows(const NBitsTileArgs& t, const Vec (&sum)[R], ptrdiff_t first = 0) {
  const Lanes lanes = FirstLanes(t.columns - first);
  const Vec bias = t.bias != nullptr ? Load(t.bias + first, lanes) : Broadcast(0);
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r) Store(t.y + r * t.y_stride + first, sum[r] + bias, lanes);
}

// Sums of bytes are exact; each block's begins with what the middle of the weights adds too much, and becomes a float,
// scaled.
template <int R>
inline void StartBlock(const NBitsTileArgs& t, int64_t i, UintVec (&dots)[R]) {
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r)
    dots[r] = BroadcastInt(static_cast<std::uint32_t>(t.a_starts[i * t.a_block_stride + r]));
}
template <int R, bool kOffsets = true>
inline __attribute__((always_inline)) void AddBlock(const NBitsTileArgs& t, int64_t i, const Block& b,
                                                    const UintVec (&dots)[R], Vec (&sum)[R]) {
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r) {
    const Vec dot = __builtin_convertvector((IntVec)dots[r], Vec);
    sum[r] += b.scale * (Broadcast(t.a_scales[i * t.a_block_stride + r]) * dot);
  }
  if (!kOffsets || !t.has_offsets) return;
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r) {
    const ptrdiff_t at = i * t.a_block_stride + r;
    sum[r] -= b.offset * Broadcast(t.a_scales[at] * t.a_sums[at]);
  }
}

// P panels.
template <int kBits, int R, int P>
void TileInt8(const NBitsTileArgs& t) {
  constexpr std::uint32_t kMask = kBits == 2 ? 0x03030303 : kBits == 4 ? 0x0F0F0F0F : 0xFFFFFFFF;
  constexpr int kParts = 8 / kBits;
  Vec sum[P][R];
#pragma GCC unroll 2
  for (ptrdiff_t q = 0; q < P; ++q)
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) sum[q][r] = Broadcast(0);
  FetchResults<R, P>(t);
  const std::byte *p[P], *a = t.a;
#pragma GCC unroll 2
  for (ptrdiff_t q = 0; q < P; ++q) p[q] = t.panel + q * t.panel_bytes;
  const UintVec mask = BroadcastInt(kMask);
  for (int64_t i = 0; i < t.blocks; ++i) {
    Block b[P];
    UintVec acc[P][R];
#pragma GCC unroll 2
    for (ptrdiff_t q = 0; q < P; ++q) {
      b[q] = ReadBlock<true>(&p[q], t.has_offsets, t.half_scales, t.groups);
      StartBlock(t, i, acc[q]);
    }
    for (int64_t g = 0; g < t.groups; ++g) {
      UintVec packed[P];
#pragma GCC unroll 2
      for (ptrdiff_t q = 0; q < P; ++q) packed[q] = LoadInt(b[q].groups + g * kVectorBytes);
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) {
        UintVec w[P];
#pragma GCC unroll 2
        for (ptrdiff_t q = 0; q < P; ++q) w[q] = kBits == 8 ? packed[q] : (packed[q] >> (kBits * part)) & mask;
#pragma GCC unroll 8
        for (ptrdiff_t r = 0; r < R; ++r) {
          std::uint32_t four;
          std::memcpy(&four, a + r * t.a_row_bytes + 4 * part, 4);
          const UintVec x = BroadcastInt(four);
#pragma GCC unroll 2
          for (ptrdiff_t q = 0; q < P; ++q) acc[q][r] = DotBytes(acc[q][r], w[q], x);
        }
      }
      a += 4 * kParts;
    }
#pragma GCC unroll 2
    for (ptrdiff_t q = 0; q < P; ++q) AddBlock(t, i, b[q], acc[q], sum[q]);
  }
#pragma GCC unroll 2
  for (ptrdiff_t q = 0; q < P; ++q) StoreRows<R>(t, sum[q], q * kLanes);
}

// A sum that is made before the next one begins: made into a tree by the compiler, a chain of sums would need all
// products of a tile at once, which sixteen registers do not hold.
inline UintVec InOrder(UintVec sum) {
  asm("" : "+x"(sum));
  return sum;
}

// Groups whose sums of pairs fit into 16 bits: 8 * 2 * 15 * 127 at 4 bits, 16 * 2 * 3 * 127 at 2 bits.
constexpr int64_t kGroupsOfWords = 4;
constexpr int64_t kGroupsOfBytes = 8;  // of a block of 32 weights of 8 bits

// Adds the dot products of `kGroups` groups. Where bytes have no instruction of their own, sums of pairs of products
// are exact in 16 bits: those of few bits stay there for all the groups, those of 8 bits (as signed numbers) go to 32
// bits at once.
template <int kBits, int R, int kGroups>
inline const std::byte* AddGroups(const std::byte* groups, const std::byte* a, ptrdiff_t a_row_bytes,
                                  UintVec (&sum)[R]) {
  constexpr int kParts = 8 / kBits;
  const UintVec mask = BroadcastInt(kBits == 2 ? 0x03030303 : 0x0F0F0F0F);
  UintVec words[R];
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r) words[r] = UintVec{};
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
    const UintVec packed = LoadInt(groups + g * kVectorBytes);
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
      const UintVec w = kBits == 8 ? packed ^ BroadcastInt(0x80808080) : (packed >> (kBits * part)) & mask;
#pragma GCC unroll 8
      for (ptrdiff_t r = 0; r < R; ++r) {
        std::uint32_t four;
        std::memcpy(&four, a + r * a_row_bytes + 4 * part, 4);
        if constexpr (kBits == 8) {
          sum[r] = InOrder(SumPairs(sum[r], PairsOfSignedBytes(w, BroadcastInt(four))));
        } else {
          words[r] = InOrder(AddWords(words[r], PairsOfBytes(w, BroadcastInt(four))));
        }
      }
    }
    a += 4 * kParts;
  }
  if constexpr (kBits != 8) {
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) sum[r] = SumPairs(sum[r], words[r]);
  }
  return a;
}

// Blocks of several groups of words: each adds to sums of 32 bits. `kBlock` groups a block, or as many as the call says
// if that is 0: with a number, nothing is counted and no address is kept in memory between the blocks.
template <int kBits, int R, int kGroups, int kBlock = 0, bool kOffsets = true>
inline void TilePairs(const NBitsTileArgs& t) {
  Vec sum[R];
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r) sum[r] = Broadcast(0);
  FetchResults<R>(t);
  const std::byte *p = t.panel, *a = t.a;
  const int64_t groups = kBlock > 0 ? kBlock : t.groups;
  for (int64_t i = 0; i < t.blocks; ++i) {
    const Block b = ReadBlock<true>(&p, kOffsets && t.has_offsets, t.half_scales, groups);
    UintVec dots[R];
    StartBlock(t, i, dots);
#pragma GCC unroll 4
    for (int64_t g = 0; g < groups; g += kGroups)
      a = AddGroups<kBits, R, kGroups>(b.groups + g * kVectorBytes, a, t.a_row_bytes, dots);
    AddBlock<R, kOffsets>(t, i, b, dots, sum);
  }
  StoreRows<R>(t, sum);
}

// Blocks whose sums of pairs fit into 16 bits, what the middle of the weights adds too much being there from the start
// (HasHalves).
template <int kBits, int R, int kGroups, bool kOffsets>
inline void TileWords(const NBitsTileArgs& t) {
  constexpr int kParts = 8 / kBits;
  Vec sum[R];
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r) sum[r] = Broadcast(0);
  FetchResults<R>(t);
  const std::byte *p = t.panel, *a = t.a;
  const UintVec mask = BroadcastInt(kBits == 2 ? 0x03030303 : 0x0F0F0F0F);
  for (int64_t i = 0; i < t.blocks; ++i) {
    const Block b = ReadBlock<true>(&p, kOffsets, t.half_scales, kGroups);
    UintVec words[R];
    StartBlock(t, i, words);
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const UintVec packed = LoadInt(b.groups + g * kVectorBytes);
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) {
        const UintVec w = (packed >> (kBits * part)) & mask;
#pragma GCC unroll 8
        for (ptrdiff_t r = 0; r < R; ++r) {
          std::uint32_t four;
          std::memcpy(&four, a + r * t.a_row_bytes + 4 * (part + kParts * g), 4);
          words[r] = InOrder(AddWords(words[r], PairsOfBytes(w, BroadcastInt(four))));
        }
      }
    }
    a += 4 * kParts * kGroups;
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) words[r] = SumPairs(UintVec{}, words[r]);
    AddBlock<R, kOffsets>(t, i, b, words, sum);
  }
  StoreRows<R>(t, sum);
}

// Whether a_starts are two halves of 16 bits, for the two sums of pairs of a lane: -middle times the bytes 0 and 1 of
// each four, and 2 and 3. Such a sum ends below 16 * 8 * 127; what wraps on the way does not matter.
inline bool HasHalves(int64_t block, std::int32_t middle) {
  return kHasSmallBytes && middle != 0 && block * (middle == 2 ? 2 : 4) / 32 == kGroupsOfWords;
}

// As TileInt8, with the same sums.
template <int kBits, int R>
void TileInt8Pairs(const NBitsTileArgs& t) {
  if constexpr (kBits != 8) {
    if (t.groups == kGroupsOfWords)
      return t.has_offsets ? TileWords<kBits, R, kGroupsOfWords, true>(t)
                           : TileWords<kBits, R, kGroupsOfWords, false>(t);
  } else if (t.groups == kGroupsOfBytes) {
    return t.has_offsets ? TilePairs<kBits, R, kGroupsOfWords, kGroupsOfBytes, true>(t)
                         : TilePairs<kBits, R, kGroupsOfWords, kGroupsOfBytes, false>(t);
  }
  if (t.groups % kGroupsOfWords == 0) return TilePairs<kBits, R, kGroupsOfWords>(t);
  t.groups % 2 == 0 ? TilePairs<kBits, R, 2>(t) : TilePairs<kBits, R, 1>(t);
}

// The weight of kBits from bit `shift` of each lane, minus the middle of the range.
template <int kBits>
inline Vec Unpack(UintVec packed, int shift) {
  if constexpr (kHasLookUp && kBits == 4) return LookUp(FourBits(), packed >> shift);
  const UintVec w = (packed >> shift) & BroadcastInt((1u << kBits) - 1);
  return __builtin_convertvector((IntVec)w, Vec) - Broadcast(kMiddle<kBits>);
}

template <int kBits, int R>
void TileF32(const NBitsTileArgs& t) {
  constexpr int kParts = 8 / kBits;
  Vec sum[R];
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; ++r) sum[r] = Broadcast(0);
  const std::byte* p = t.panel;
  const float* a = reinterpret_cast<const float*>(t.a);
  const ptrdiff_t row = t.a_row_bytes / 4;
  for (int64_t i = 0; i < t.blocks; ++i) {
    const Block b = ReadBlock(&p, t.has_offsets, t.half_scales, t.groups);
    Vec acc[R][2];
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) acc[r][0] = acc[r][1] = Broadcast(0);
    for (int64_t g = 0; g < t.groups; ++g) {
      const UintVec packed = LoadInt(b.groups + g * kVectorBytes);
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part)
#pragma GCC unroll 4
        for (int byte = 0; byte < 4; ++byte) {
          const Vec w = Unpack<kBits>(packed, 8 * byte + kBits * part);
#pragma GCC unroll 8
          for (ptrdiff_t r = 0; r < R; ++r) acc[r][byte & 1] += Broadcast(a[r * row + 4 * part + byte]) * w;
        }
      a += 4 * kParts;
    }
#pragma GCC unroll 8
    for (ptrdiff_t r = 0; r < R; ++r) {
      sum[r] += b.scale * (acc[r][0] + acc[r][1]);
      if (t.has_offsets) sum[r] -= b.offset * Broadcast(t.a_sums[i * t.a_block_stride + r]);
    }
  }
  StoreRows<R>(t, sum);
}

template <int kBits>
void Widen(const std::byte* panel, int64_t blocks, int64_t groups, bool has_offsets, bool half_scales, float* dst,
           ptrdiff_t dst_stride) {
  constexpr int kParts = 8 / kBits;
  for (int64_t i = 0; i < blocks; ++i) {
    const Block b = ReadBlock(&panel, has_offsets, half_scales, groups);
    for (int64_t g = 0; g < groups; ++g) {
      const UintVec packed = LoadInt(b.groups + g * kVectorBytes);
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part)
#pragma GCC unroll 4
        for (int byte = 0; byte < 4; ++byte) {
          Store(dst, b.scale * Unpack<kBits>(packed, 8 * byte + kBits * part) - b.offset);
          dst += dst_stride;
        }
    }
  }
}

// Lane i of the result is lane i ^ D.
template <ptrdiff_t D, ptrdiff_t... I>
inline Vec SwapLanes(Vec v, std::integer_sequence<ptrdiff_t, I...>) {
  return __builtin_shufflevector(v, v, (I ^ D)...);
}
template <ptrdiff_t D>
inline Vec SwapLanes(Vec v) {
  return SwapLanes<D>(v, std::make_integer_sequence<ptrdiff_t, kLanes>());
}

// f over all lanes, in every lane: shuffles, so that the blocks of a row overlap.
template <ptrdiff_t D = kLanes / 2, typename F>
inline Vec OverLanes(Vec v, F f) {
  if constexpr (D == 0) return v;
  if constexpr (D > 0) return OverLanes<D / 2>(f(v, SwapLanes<D>(v)), f);
}

// The sums of the lanes whose bytes go to the low half of a word, in lane 0, and of the others, in lane 2.
template <ptrdiff_t D = kLanes / 2>
inline Vec OverHalves(Vec v) {
  if constexpr (D < 4) return v + SwapLanes<1>(v);
  if constexpr (D >= 4) return OverHalves<D / 2>(v + SwapLanes<D>(v));
}

// Numbers of a block that `left` of are there; the others are zeros.
template <bool kWhole>
inline Vec LoadOf(const float* a, int64_t left) {
  if constexpr (kWhole) return Load(a);
  return Load(a, FirstLanes(left));
}

// The bytes of a block, of which `left` numbers are there, and their sums in the lanes of *sum. Returns the largest
// magnitude.
template <bool kWhole>
inline float RoundBlock(const float* a, int64_t block, int64_t left, std::int8_t* out, Vec* sum) {
  Vec max = Broadcast(0);
  for (int64_t i = 0; i < block; i += kLanes) max = Max(max, Abs(LoadOf<kWhole>(a + i, left - i)));
  const float largest = OverLanes(max, [](Vec x, Vec y) { return Max(x, y); })[0];
  const float factor = largest == 0 ? 0 : 127 / largest;
  *sum = Broadcast(0);
  for (int64_t i = 0; i < block; i += kLanes) {
    const Vec q = RoundToInteger(LoadOf<kWhole>(a + i, left - i) * Broadcast(factor));
    *sum += q;
    StoreAsBytes(reinterpret_cast<std::uint8_t*>(out + i), (UintVec) __builtin_convertvector(q, IntVec), kLanes);
  }
  return largest;
}

void RoundRow(const float* a, int64_t k, int64_t block, std::int32_t middle, std::int8_t* out, float* scales,
              float* sums, std::int32_t* starts, ptrdiff_t stride) {
  for (int64_t begin = 0; begin < k; begin += block, scales += stride, sums += stride, starts += stride) {
    Vec sum;
    const int64_t left = k - begin;
    const auto round = left < block ? RoundBlock<false> : RoundBlock<true>;
    const float largest = round(a + begin, block, left, out + begin, &sum);
    const Vec half = OverHalves(sum);
    const float all = half[0] + half[2];
    *sums = all;
    *scales = largest / 127 + (all - all);  // NaN if the sum is
    if (!(all == all)) {
      *starts = 0;
    } else if (HasHalves(block, middle)) {
      const auto start = [&](float bytes) { return static_cast<std::uint32_t>(-middle * static_cast<int>(bytes)); };
      *starts = static_cast<std::int32_t>((start(half[0]) & 0xFFFFu) | start(half[2]) << 16);
    } else {
      *starts = -middle * static_cast<std::int32_t>(all);
    }
  }
}

void SumRow(const float* a, int64_t k, int64_t block, float* sums, ptrdiff_t stride) {
  for (int64_t begin = 0; begin < k; begin += block, sums += stride) {
    Vec sum = Broadcast(0);
    for (int64_t i = begin; i < begin + block; i += kLanes) sum += Load(a + i, FirstLanes(k - i));
    *sums = Sum(sum);
  }
}

template <int kBits, int R>
constexpr NBitsTileFn* Int8() {
  if constexpr (kHasSmallBytes) return TileInt8Pairs<kBits, R>;
  return TileInt8<kBits, R, 1>;
}

// With small bytes nothing is gained: sixteen registers hold the sums of one panel.
constexpr bool kHasPairs = kMayHaveVnni;
template <int kBits, int R>
constexpr NBitsTileFn* Pairs() {
  if constexpr (kHasPairs && R <= kNBitsRowsOfPairs) return TileInt8<kBits, R, 2>;
  return nullptr;
}

// Two vectors of sums for each row, beside what unpacks the weights.
constexpr int kRowsF32 = kLanes == 16 ? 8 : 4;
template <int kBits, int R>
constexpr NBitsTileFn* F32() {
  if constexpr (R <= kRowsF32) return TileF32<kBits, R>;
  return nullptr;
}

template <int... I, int... J>
constexpr NBitsSet MakeSet(bool has_int8, std::integer_sequence<int, I...>, std::integer_sequence<int, J...>) {
  return {.isa = Isa::SDX_ISA,
          .lanes = kLanes,
          .has_int8 = has_int8,
          .int8 = {{Int8<2, I + 1>()...}, {Int8<4, I + 1>()...}, {Int8<8, I + 1>()...}},
          .middle = {2, 8, kHasSmallBytes ? 0 : 128},  // small bytes take 8 bits as signed numbers
          .has_pairs = kHasPairs,
          .pairs = {{Pairs<2, J + 1>()...}, {Pairs<4, J + 1>()...}, {Pairs<8, J + 1>()...}},
          .f32_rows = kRowsF32,
          .f32 = {{F32<2, I + 1>()...}, {F32<4, I + 1>()...}, {F32<8, I + 1>()...}},
          .widen = {Widen<2>, Widen<4>, Widen<8>},
          .round_row = RoundRow,
          .sum_row = SumRow};
}

constexpr std::make_integer_sequence<int, kNBitsRows> kRows;
constexpr std::make_integer_sequence<int, kNBitsRowsOfPairs> kRowsOfPairs;
constexpr NBitsSet kOfIsa = MakeSet(kHasSmallBytes, kRows, kRowsOfPairs);
constexpr NBitsSet kBytes = MakeSet(kMayHaveVnni, kRows, kRowsOfPairs);

}  // namespace

const NBitsSet& NBitsSetOfIsa() { return kOfIsa; }
const NBitsSet& NBitsSetWithBytes() { return kBytes; }

}  // namespace sardonyx::kernels::SDX_ISA
