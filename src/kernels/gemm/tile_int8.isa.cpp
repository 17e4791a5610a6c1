// kernels/gemm/tile_int8.isa.cpp - the integer tile, shaped like the f32 one, with a group of values in place of each
// float.
#include "kernels/gemm/tile_int8.h"

#include <utility>

#include "kernels/gemm/clipped_rows.h"
#include "kernels/gemm/tile_int8_finish.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr int kRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 4;

constexpr ptrdiff_t kVectorBytes = 4 * kLanes;

struct Words {
  static constexpr int kGroup = 2;
  static constexpr bool kHasStart = false, kMerges = false;
  using Value = std::int16_t;
  static UintVec Dot(UintVec sum, UintVec a, UintVec b) { return DotWords(sum, a, b); }
  static Value Convert(std::uint8_t v, bool is_signed) {
    return static_cast<Value>(is_signed ? static_cast<std::int8_t>(v) : v);
  }
  // A vector of values from consecutive bytes, and their sum added to lanes of `sum`.
  static UintVec ConvertVector(const std::uint8_t* p, bool is_signed) {
    using Half __attribute__((vector_size(kVectorBytes / 2))) = std::uint8_t;
    using SignedHalf __attribute__((vector_size(kVectorBytes / 2))) = std::int8_t;
    using Full __attribute__((vector_size(kVectorBytes))) = std::int16_t;
    Half bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    const Full values =
        is_signed ? __builtin_convertvector((SignedHalf)bytes, Full) : __builtin_convertvector(bytes, Full);
    return (UintVec)values;
  }
  static UintVec AddValues(UintVec sum, UintVec v) { return DotWords(sum, v, BroadcastInt(0x00010001)); }
};

struct Bytes {
  static constexpr int kGroup = 4;
  static constexpr bool kHasStart = false, kMerges = false;
  using Value = std::uint8_t;
  static UintVec Dot(UintVec sum, UintVec a, UintVec b) { return DotBytes(sum, a, b); }
  static Value Convert(std::uint8_t v, bool is_signed) { return static_cast<Value>(is_signed ? v ^ 0x80 : v); }
  static UintVec ConvertVector(const std::uint8_t* p, bool is_signed) {
    return LoadInt(p) ^ BroadcastInt(is_signed ? 0x80808080 : 0);
  }
  static UintVec AddValues(UintVec sum, UintVec v) { return DotBytes(sum, v, BroadcastInt(0x01010101)); }
};

// Bytes on a CPU without VNNI, where sums of two products must fit into 16 bits (clipped_rows.h).
struct ClippedBytes : Bytes {
  static constexpr bool kHasStart = true;
  static UintVec Dot(UintVec sum, UintVec a, UintVec b) { return DotSmallBytes(sum, a, b); }
  static UintVec AddValues(UintVec sum, UintVec v) { return DotSmallBytes(sum, v, BroadcastInt(0x01010101)); }
};

// The same groups with any values of A', at a little over half the speed.
struct AnyBytes : ClippedBytes {
  static UintVec Dot(UintVec sum, UintVec a, UintVec b) {
    sum = DotWords(sum, a & BroadcastInt(0x00FF00FF), EvenBytes(b));
    return DotWords(sum, (a >> 8) & BroadcastInt(0x00FF00FF), OddBytes(b));
  }
};

// Where four such products fit into 16 bits, those of two groups are widened at once.
struct MergedBytes : ClippedBytes {
  static constexpr bool kMerges = true;
};

template <typename Kind, int R, int V>
void Tile(const TileInt8Args& t) {
  constexpr ptrdiff_t kRun = (R + 1) / 2;
  UintVec acc[R][V];
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < V; ++v) {
    UintVec start = {};
    if (t.column_terms != nullptr) {  // whole vectors apart: partial ones take as long as several groups of a sum
      const std::uint32_t* const terms = t.column_terms + v * kLanes;
      const ptrdiff_t columns = t.columns - v * kLanes;
      start = columns >= kLanes ? LoadInt(terms) : LoadInt(terms, FirstLanes(columns));
    }
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r) acc[r][v] = start;
  }
  if (Kind::kHasStart && t.start != nullptr) {
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r)
      for (ptrdiff_t v = 0; v < V; ++v) acc[r][v] = LoadInt(t.start + (2 * r + v) * kLanes);
  }
  const ptrdiff_t l1 = t.a_row_bytes, l3 = 3 * l1, l5 = 5 * l1, prefetch_step = t.prefetch_step;
  const std::byte* b = t.b;
  const char* prefetch = t.prefetch;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const std::byte *p = t.a0 + t.tap_offsets[tap], *q = t.a1 + t.tap_offsets[tap];
    int64_t g = 0;
    if constexpr (Kind::kMerges) {
      static_assert(!kHasSmallBytes || kRun <= 3);
      for (; g + 2 <= t.k_groups; g += 2) {
#pragma GCC unroll 16
        for (ptrdiff_t r = 0; r < R; ++r) {
          const ptrdiff_t s = r < kRun ? r : r - kRun;
          const std::byte* const x = (r < kRun ? p : q) + (s == 0 ? 0 : s == 1 ? l1 : l1 * 2);
          const UintVec x0 = BroadcastGroup(x), x1 = BroadcastGroup(x + 4);
#pragma GCC unroll 2
          for (ptrdiff_t v = 0; v < V; ++v) {
            const UintVec first = PairsFrom(x0, b + v * kVectorBytes);
            acc[r][v] = SumPairs(acc[r][v], AddWords(first, PairsFrom(x1, b + (2 + v) * kVectorBytes)));
          }
        }
        Prefetch(prefetch);
        Prefetch(prefetch + prefetch_step);
        prefetch += 2 * prefetch_step;
        p += 8;
        q += 8;
        b += 4 * kVectorBytes;
      }
    }
#pragma GCC unroll 2
    for (; g < t.k_groups; ++g) {
      UintVec bv[V];
#pragma GCC unroll 2
      for (ptrdiff_t v = 0; v < V; ++v) bv[v] = LoadInt(b + v * kVectorBytes);
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
        std::uint32_t group;
        std::memcpy(&group, (r < kRun ? p : q) + offset, 4);
        const UintVec x = BroadcastInt(group);
#pragma GCC unroll 2
        for (ptrdiff_t v = 0; v < V; ++v) acc[r][v] = Kind::Dot(acc[r][v], x, bv[v]);
      }
      Prefetch(prefetch);
      prefetch += prefetch_step;
      p += 4;
      q += 4;
      b += 2 * kVectorBytes;
    }
  }
  Finish(t, acc);
}

template <typename Kind>
std::uint32_t PackRow(const std::uint8_t* a, int64_t k, bool is_signed, std::byte* out) {
  using Value = typename Kind::Value;
  constexpr ptrdiff_t kCount = kVectorBytes / static_cast<ptrdiff_t>(sizeof(Value));
  auto* values = reinterpret_cast<Value*>(out);
  UintVec sums = {};
  int64_t i = 0;
  for (; i + kCount <= k; i += kCount) {
    const UintVec v = Kind::ConvertVector(a + i, is_signed);
    sums = Kind::AddValues(sums, v);
    std::memcpy(values + i, &v, sizeof v);
  }
  std::uint32_t sum = 0;
  for (ptrdiff_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  for (; i < k; ++i) {
    values[i] = Kind::Convert(a[i], is_signed);
    sum += static_cast<std::uint32_t>(values[i]);
  }
  return sum;
}

template <typename Kind>
std::uint32_t SumRow(const std::byte* a, int64_t k) {
  using Value = typename Kind::Value;
  constexpr ptrdiff_t kCount = kVectorBytes / static_cast<ptrdiff_t>(sizeof(Value));
  const auto* values = reinterpret_cast<const Value*>(a);
  UintVec sums = {};
  int64_t i = 0;
  for (; i + kCount <= k; i += kCount) sums = Kind::AddValues(sums, LoadInt(values + i));
  std::uint32_t sum = 0;
  for (ptrdiff_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  for (; i < k; ++i) sum += static_cast<std::uint32_t>(values[i]);
  return sum;
}

template <typename Kind>
void PackGroup(const std::uint8_t* const* rows, bool is_signed, std::byte* out, std::uint32_t* sums) {
  constexpr ptrdiff_t kColumns = 2 * kLanes;
  constexpr int kBits = 32 / Kind::kGroup;
  constexpr std::uint32_t kMask = kBits == 8 ? 0xFF : 0xFFFF;
  // Sign extension, or for bytes the shift of unsigned values by 128: both as (value ^ flip) - offset.
  const std::uint32_t flip = is_signed ? 0x80 : 0, offset = is_signed || kBits == 8 ? 0x80 : 0;
  std::uint32_t groups[kColumns] = {}, totals[kColumns] = {};
  for (int r = 0; r < Kind::kGroup; ++r) {
    const std::uint8_t* row = rows[r];
    for (ptrdiff_t j = 0; j < kColumns; ++j) {
      const std::uint32_t value = (row[j] ^ flip) - offset;
      groups[j] |= (value & kMask) << (kBits * r);
      totals[j] += value;
    }
  }
  for (ptrdiff_t j = 0; j < kColumns; ++j) sums[j] += totals[j];
  std::memcpy(out, groups, sizeof groups);
}

using Bytes16 = std::uint8_t __attribute__((vector_size(16)));

// One of four equal steps that together transpose 16 x 16 bytes.
void Interleave(const Bytes16 (&from)[16], Bytes16 (&to)[16]) {
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    to[2 * i] = __builtin_shufflevector(from[i], from[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    to[2 * i + 1] =
        __builtin_shufflevector(from[i], from[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
}

void TransposeBytes(int64_t rows, int64_t columns, const std::uint8_t* src, ptrdiff_t src_stride, std::uint8_t* dst,
                    ptrdiff_t dst_stride) {
  if (rows < 16 || columns < 16) {
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = 0; r < rows; ++r) dst[c * dst_stride + r] = src[r * src_stride + c];
    return;
  }
  // The last tile of either direction overlaps the one before it where 16 does not divide the size.
  for (int64_t r = 0; r < rows; r = r + 16 < rows && r + 32 > rows ? rows - 16 : r + 16)
    for (int64_t c = 0; c < columns; c = c + 16 < columns && c + 32 > columns ? columns - 16 : c + 16) {
      Bytes16 a[16], b[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) std::memcpy(&a[i], src + (r + i) * src_stride + c, 16);
      Interleave(a, b);
      Interleave(b, a);
      Interleave(a, b);
      Interleave(b, a);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) std::memcpy(dst + (c + i) * dst_stride + r, &a[i], 16);
    }
}

template <typename Kind, int V, int... I>
constexpr auto MakeTable(std::integer_sequence<int, I...>) {
  struct Table {
    TileInt8Fn* run[sizeof...(I)];
  };
  return Table{{Tile<Kind, I + 1, V>...}};
}

template <typename Kind>
struct Sets {
  static constexpr auto kWide = MakeTable<Kind, 2>(std::make_integer_sequence<int, kRows>());
  static constexpr auto kNarrow = MakeTable<Kind, 1>(std::make_integer_sequence<int, kRows>());
  static constexpr TileInt8Set kSet = {.isa = Isa::SDX_ISA,
                                       .bytes = Kind::kGroup == 4,
                                       .rows = kRows,
                                       .columns = 2 * kLanes,
                                       .wide = kWide.run,
                                       .narrow = kNarrow.run,
                                       .pack_row = PackRow<Kind>,
                                       .sum_row = SumRow<Kind>,
                                       .pack_group = PackGroup<Kind>,
                                       .transpose = TransposeBytes};
};

}  // namespace

const TileInt8Set* TileSetWords() { return &Sets<Words>::kSet; }

const TileInt8Set* TileSetBytes() {
  if constexpr (kMayHaveVnni)
    return &Sets<Bytes>::kSet;
  else
    return nullptr;
}

const TileInt8Set* TileSetClipped() {
  if constexpr (kHasSmallBytes) {
    static constexpr TileInt8Set kSet = [] {
      TileInt8Set set = Sets<ClippedBytes>::kSet;
      set.clipped = &kClippedRowLoops;
      set.any_wide = Sets<AnyBytes>::kWide.run, set.any_narrow = Sets<AnyBytes>::kNarrow.run;
      set.merged_wide = Sets<MergedBytes>::kWide.run, set.merged_narrow = Sets<MergedBytes>::kNarrow.run;
      return set;
    }();
    return &kSet;
  } else {
    return nullptr;
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
