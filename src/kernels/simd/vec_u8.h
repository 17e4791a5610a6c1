// kernels/simd/vec_u8.h - converts 32-bit sums and floats to bytes, the last step of quantizing kernels.
//
// Include only from *.isa.cpp.
#pragma once

#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

// kLanes bytes as 32-bit integers, written out: compilers convert bytes to a vector four times as wide one by one.
inline UintVec WidenBytes(const std::uint8_t* p) {
#if defined(__AVX512F__)
  return (UintVec)_mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#elif defined(__AVX2__)
  return (UintVec)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
#else
  UintVec v;
  for (ptrdiff_t i = 0; i < kLanes; ++i) v[i] = p[i];
  return v;
#endif
}

inline Vec ToFloat(UintVec sums) { return __builtin_convertvector((IntVec)sums, Vec); }

// Rounds to whole numbers within bounds, halves to even, and adds the zero point.
class ByteBounds {
 public:
  // Bounds before the zero point is added; zero as bits of a 32-bit integer.
  ByteBounds(float low, float high, std::uint32_t zero)
      : low_(Broadcast(low)), high_(Broadcast(high)), zero_(BroadcastInt(zero - kRounderBits)) {}
  // In the low byte of each lane; NaN gives no particular value.
  UintVec Quantize(Vec x) const {
    const Vec inside = Min(high_, Max(low_, x));
    return (UintVec)(inside + Broadcast(kRounder)) + zero_;
  }
  // The whole number within bounds, as a float without the zero point.
  Vec Round(Vec x) const {
    Vec sum = Min(high_, Max(low_, x)) + Broadcast(kRounder);
    return sum - Broadcast(kRounder);
  }

 private:
  // What float additions round to a whole number, halves to even, for |x| < 2^22: it stands in the low bits of the sum.
  static constexpr float kRounder = 12582912.0f;
  static constexpr std::uint32_t kRounderBits = 0x4B400000;
  Vec low_, high_;
  UintVec zero_;
};

// Stores the low byte of the first lanes, `count` of them if that is less than all.
inline void StoreAsBytes(std::uint8_t* to, UintVec values, ptrdiff_t count) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xFFFF, (__m512i)values);
  if (count >= kLanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  } else if (count > 0) {
    _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << count) - 1), bytes);
  }
#else
  using Narrow __attribute__((vector_size(kLanes))) = std::uint8_t;
#if defined(__AVX2__)
  const __m256i first = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                         0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i quads = _mm256_shuffle_epi8((__m256i)values, first);
  const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1));
  Narrow bytes;
  _mm_storel_epi64(reinterpret_cast<__m128i*>(&bytes), both);
#else
  const Narrow bytes = __builtin_convertvector(values, Narrow);
#endif
  if (count >= kLanes) {
    std::memcpy(to, &bytes, sizeof bytes);
  } else {
    for (ptrdiff_t i = 0; i < count; ++i) to[i] = bytes[i];
  }
#endif
}

// kLanes bytes as floats less a zero point; signed bytes are read as unsigned ones 128 higher.
class ByteReader {
 public:
  ByteReader(bool is_signed, float zero)
      : flip_(is_signed ? 0x80 : 0), zero_(Broadcast(is_signed ? zero + 128 : zero)) {}
  Vec Load(const std::uint8_t* p) const {
#if defined(__AVX512F__)
    const __m128i bytes = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), _mm_set1_epi8(flip_));
    return ToFloat((UintVec)_mm512_maskz_cvtepu8_epi32(0xFFFF, bytes)) - zero_;
#else
    return ToFloat(WidenBytes(p) ^ BroadcastInt(static_cast<std::uint8_t>(flip_))) - zero_;
#endif
  }
  Vec LoadFirst(const std::uint8_t* p, ptrdiff_t count) const {
    std::uint8_t bytes[kLanes] = {};
    for (ptrdiff_t i = 0; i < count && i < kLanes; ++i) bytes[i] = p[i];
    return Load(bytes);
  }

 private:
  char flip_;
  Vec zero_;
};

// Two rows of two vectors of floats to bytes at once: saturating packs do what bounds do one vector at a time.
#if defined(__AVX512F__)

class RowPacker {
 public:
  // The highest byte before the zero point is added. Signed bytes are packed as unsigned ones 128 higher.
  RowPacker(float high, std::uint32_t zero, bool is_signed) : high_(Broadcast(high)) {
    zero_ = _mm512_set1_epi16(static_cast<short>(static_cast<std::int32_t>(zero) + (is_signed ? 128 : 0)));
    flip_ = _mm512_set1_epi8(is_signed ? -128 : 0);
  }
  void Store(const Vec (&a)[2], std::uint8_t* to_a, const Vec (&b)[2], std::uint8_t* to_b) const {
    const __m512i in_lanes = _mm512_xor_si512(_mm512_packus_epi16(Pack(a), Pack(b)), flip_);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i rows = _mm512_maskz_permutexvar_epi32(0xFFFF, order, in_lanes);
    const auto high = __builtin_shufflevector((Longs)rows, (Longs)rows, 4, 5, 6, 7);
    const auto low = __builtin_shufflevector((Longs)rows, (Longs)rows, 0, 1, 2, 3);
    std::memcpy(to_a, &low, sizeof low);
    std::memcpy(to_b, &high, sizeof high);
  }

 private:
  using Longs __attribute__((vector_size(64))) = long long;
  // Only the upper bound is needed: conversions give the least integer for what is out of range.
  __m512i Round(Vec x) const { return _mm512_maskz_cvtps_epi32(0xFFFF, Min(high_, x)); }
  __m512i Pack(const Vec (&row)[2]) const {
    return _mm512_adds_epi16(_mm512_packs_epi32(Round(row[0]), Round(row[1])), zero_);
  }

  Vec high_;
  __m512i zero_, flip_;
};

#elif defined(__AVX2__)

class RowPacker {
 public:
  // The highest byte before the zero point is added. Signed bytes are packed as unsigned ones 128 higher.
  RowPacker(float high, std::uint32_t zero, bool is_signed) : high_(Broadcast(high)) {
    zero_ = _mm256_set1_epi16(static_cast<short>(static_cast<std::int32_t>(zero) + (is_signed ? 128 : 0)));
    flip_ = _mm256_set1_epi8(is_signed ? -128 : 0);
  }
  void Store(const Vec (&a)[2], std::uint8_t* to_a, const Vec (&b)[2], std::uint8_t* to_b) const {
    const __m256i in_lanes = _mm256_xor_si256(_mm256_packus_epi16(Pack(a), Pack(b)), flip_);
    const __m256i rows = _mm256_permutevar8x32_epi32(in_lanes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to_a), _mm256_castsi256_si128(rows));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to_b), _mm256_extracti128_si256(rows, 1));
  }

 private:
  // Only the upper bound is needed: conversions give the least integer for what is out of range.
  __m256i Round(Vec x) const { return _mm256_cvtps_epi32(Min(high_, x)); }
  __m256i Pack(const Vec (&row)[2]) const {
    return _mm256_adds_epi16(_mm256_packs_epi32(Round(row[0]), Round(row[1])), zero_);
  }

  Vec high_;
  __m256i zero_, flip_;
};

#else

class RowPacker {
 public:
  RowPacker(float high, std::uint32_t zero, bool) : bounds_(high - 255, high, zero) {}
  void Store(const Vec (&a)[2], std::uint8_t* to_a, const Vec (&b)[2], std::uint8_t* to_b) const {
    StoreRow(a, to_a);
    StoreRow(b, to_b);
  }

 private:
  void StoreRow(const Vec (&row)[2], std::uint8_t* to) const {
    StoreAsBytes(to, bounds_.Quantize(row[0]), kLanes);
    StoreAsBytes(to + kLanes, bounds_.Quantize(row[1]), kLanes);
  }
  ByteBounds bounds_;
};

#endif

}  // namespace sardonyx::kernels::SDX_ISA
