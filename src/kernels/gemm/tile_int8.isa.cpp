// kernels/gemm/tile_int8.isa.cpp - the integer tile, shaped like the f32 one with a group of values in place of one.
#include "kernels/gemm/tile_int8.h"

#include <utility>

#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr int kRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 4;

constexpr ptrdiff_t kVectorBytes = 4 * kLanes;

struct Words {
  static constexpr int kGroup = 2;
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
  using Value = std::uint8_t;
  static UintVec Dot(UintVec sum, UintVec a, UintVec b) { return DotBytes(sum, a, b); }
  static Value Convert(std::uint8_t v, bool is_signed) { return static_cast<Value>(is_signed ? v ^ 0x80 : v); }
  static UintVec ConvertVector(const std::uint8_t* p, bool is_signed) {
    return LoadInt(p) ^ BroadcastInt(is_signed ? 0x80808080 : 0);
  }
  static UintVec AddValues(UintVec sum, UintVec v) { return DotBytes(sum, v, BroadcastInt(0x01010101)); }
};

template <typename Kind, int R>
void Tile(const TileInt8Args& t) {
  UintVec acc[R][2];
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r) acc[r][0] = acc[r][1] = UintVec{};
  const std::byte *a = t.a, *b = t.b;
  const ptrdiff_t row = t.a_row_bytes, half = (R + 1) / 2 * row;
#pragma GCC unroll 2
  for (int64_t g = 0; g < t.k_groups; ++g) {
    const UintVec b0 = LoadInt(b), b1 = LoadInt(b + 4 * kLanes);
    const std::byte* second = a + half;
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r) {
      std::uint32_t group;
      std::memcpy(&group, r < (R + 1) / 2 ? a + r * row : second + (r - (R + 1) / 2) * row, 4);
      const UintVec x = BroadcastInt(group);
      acc[r][0] = Kind::Dot(acc[r][0], x, b0);
      acc[r][1] = Kind::Dot(acc[r][1], x, b1);
    }
    a += 4;
    b += 8 * kLanes;
  }
  for (ptrdiff_t v = 0; v < 2; ++v) {
    const Lanes lanes = FirstLanes(t.columns - v * kLanes);
    const UintVec sums = LoadInt(t.b_sums + v * kLanes, lanes);
    const UintVec zero = t.b_zero != nullptr ? LoadInt(t.b_zero + v * kLanes, lanes) : UintVec{};
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r) {
      UintVec y = (v == 0 ? acc[r][0] : acc[r][1]) - BroadcastInt(t.a_zero[r]) * sums;
      if (t.b_zero != nullptr) y -= BroadcastInt(t.row_terms[r]) * zero;
      StoreInt(t.c + r * t.c_row_stride + v * kLanes, y, lanes);
    }
  }
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
  for (; i % Kind::kGroup != 0; ++i) values[i] = 0;
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

template <typename Kind, int... I>
constexpr auto MakeTable(std::integer_sequence<int, I...>) {
  struct Table {
    TileInt8Fn* run[sizeof...(I)];
  };
  return Table{{Tile<Kind, I + 1>...}};
}

template <typename Kind>
struct Sets {
  static constexpr auto kTable = MakeTable<Kind>(std::make_integer_sequence<int, kRows>());
  static constexpr TileInt8Set kSet = {Isa::SDX_ISA, Kind::kGroup == 4, kRows,          2 * kLanes,
                                       kTable.run,   PackRow<Kind>,     PackGroup<Kind>};
};

}  // namespace

const TileInt8Set* TileSetWords() { return &Sets<Words>::kSet; }

const TileInt8Set* TileSetBytes() {
  if constexpr (kMayHaveVnni)
    return &Sets<Bytes>::kSet;
  else
    return nullptr;
}

}  // namespace sardonyx::kernels::SDX_ISA
