// kernels/elementwise/convert.isa.cpp - conversions of whole blocks between the common types; compiled once per ISA.
#include "kernels/elementwise/convert.h"

#include <hwy/highway.h>

#include <cstring>

namespace sardonyx::kernels::SDX_ISA {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using U16 = std::uint16_t;
using U32 = std::uint32_t;

// Without a vector unit that knows float16 (the baseline), bits are moved as integers; compilers make vectors of it.
// Highway's own emulation (of EMU128, for one, which clang gets) makes finite numbers of infinities and NaN.
constexpr bool kHasHalf = (HWY_TARGET & (HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_SSE4 | HWY_WASM)) == 0;

template <typename To, typename From>
To Bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  std::memcpy(&y, &x, sizeof(y));
  return y;
}

float HalfBitsToFloat(U16 h) {
  const U32 magnitude = static_cast<U32>(h & 0x7fff) << 13;
  // Exponent 15 becomes 127; a denormal is its fraction times 2^-24. No float on the way is denormal, which the CPU may
  // be told to take for 0.
  const float denormal = static_cast<float>(h & 0x3ff) * 0x1p-24f;
  U32 bits = magnitude < 0x00800000u ? Bits<U32>(denormal) : magnitude + 0x38000000u;
  if (magnitude >= 0x0f800000u) bits |= 0x7f800000u;
  return Bits<float>(bits | static_cast<U32>(h & 0x8000) << 16);
}

U16 FloatToHalfBits(float x) {
  const U32 bits = Bits<U32>(x), magnitude = bits & 0x7fffffffu;
  // Normal results: the exponent is moved, and what is cut off rounds to even. Denormal ones: adding 0.5 lets the adder
  // do it.
  const U32 normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
  const U32 denormal = Bits<U32>(Bits<float>(magnitude) + 0.5f) - 0x3f000000u;
  U32 half = magnitude < 0x38800000u ? denormal : normal;
  half = magnitude >= 0x47800000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : half;
  return static_cast<U16>(half | (bits >> 16 & 0x8000u));
}

void HalvesToFloats(const void* from, std::int64_t begin, std::size_t n, float* y) {
  const U16* x = static_cast<const U16*>(from) + begin;
  std::size_t i = 0;
  if constexpr (kHasHalf) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> dh;
    const std::size_t lanes = hn::Lanes(d);
    const hwy::float16_t* halves = reinterpret_cast<const hwy::float16_t*>(x);
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, halves + i)), d, y + i);
  }
#pragma omp simd
  for (std::size_t k = i; k < n; ++k) y[k] = HalfBitsToFloat(x[k]);
}

void FloatsToHalves(const float* x, std::size_t n, void* to, std::int64_t begin) {
  U16* y = static_cast<U16*>(to) + begin;
  std::size_t i = 0;
  if constexpr (kHasHalf) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> dh;
    const std::size_t lanes = hn::Lanes(d);
    hwy::float16_t* halves = reinterpret_cast<hwy::float16_t*>(y);
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, x + i)), dh, halves + i);
  }
#pragma omp simd
  for (std::size_t k = i; k < n; ++k) y[k] = FloatToHalfBits(x[k]);
}

void BFloatsToFloats(const void* from, std::int64_t begin, std::size_t n, float* y) {
  const U16* x = static_cast<const U16*>(from) + begin;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = Bits<float>(static_cast<U32>(x[i]) << 16);
}

void FloatsToBFloats(const float* x, std::size_t n, void* to, std::int64_t begin) {
  U16* y = static_cast<U16*>(to) + begin;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const U32 bits = Bits<U32>(x[i]);
    const U32 rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    y[i] = static_cast<U16>((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded);
  }
}

template <typename T, typename Y>
void Widen(const void* from, std::int64_t begin, std::size_t n, Y* y) {
  const T* x = static_cast<const T*>(from) + begin;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<Y>(x[i]);
}

// As x86 converts: out of range and NaN become the smallest integer.
std::int32_t Truncate32(float x) {
  return x >= -2147483648.0f && x < 2147483648.0f ? static_cast<std::int32_t>(x) : INT32_MIN;
}
std::int64_t Truncate64(float x) {
  return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? static_cast<std::int64_t>(x) : INT64_MIN;
}

template <typename T>
void FromFloats32(const float* x, std::size_t n, void* to, std::int64_t begin) {
  T* y = static_cast<T*>(to) + begin;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(Truncate32(x[i]));
}
template <typename T>
void FromFloats64(const float* x, std::size_t n, void* to, std::int64_t begin) {
  T* y = static_cast<T*>(to) + begin;
  constexpr std::size_t kBlock = 32;
  // Only AVX-512 has an instruction for 64 bits; blocks of numbers that 32 bits hold, nearly all, go without it.
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    U32 outside = 0;
#pragma omp simd reduction(| : outside)
    for (std::size_t k = 0; k < kBlock; ++k)
      outside |= static_cast<U32>((Bits<U32>(x[i + k]) & 0x7fffffffu) >= 0x4f000000u);  // NaN, too
    if (outside != 0) {
      for (std::size_t k = i; k < i + kBlock; ++k) y[k] = static_cast<T>(Truncate64(x[k]));
      continue;
    }
#pragma omp simd
    for (std::size_t k = i; k < i + kBlock; ++k) y[k] = static_cast<T>(static_cast<std::int32_t>(x[k]));
  }
  for (; i < n; ++i) y[i] = static_cast<T>(Truncate64(x[i]));
}
void FloatsToDoubles(const float* x, std::size_t n, void* to, std::int64_t begin) {
  double* y = static_cast<double*>(to) + begin;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i];
}
// bool tensors hold bytes of 0 and 1.
template <typename X>
void ToBools(const X* x, std::size_t n, void* to, std::int64_t begin) {
  std::uint8_t* y = static_cast<std::uint8_t*>(to) + begin;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] != 0;
}

template <typename T>
void Narrow(const std::int64_t* x, std::size_t n, void* to, std::int64_t begin) {
  T* y = static_cast<T*>(to) + begin;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(x[i]);
}

ToFloatsFn* ToFloatsOf(DType from) {
  switch (from) {
    case DType::kFloat:
      return Widen<float, float>;
    case DType::kDouble:
      return Widen<double, float>;
    case DType::kFloat16:
      return HalvesToFloats;
    case DType::kBFloat16:
      return BFloatsToFloats;
    case DType::kInt8:
      return Widen<std::int8_t, float>;
    case DType::kBool:
    case DType::kUInt8:
      return Widen<std::uint8_t, float>;
    case DType::kInt16:
      return Widen<std::int16_t, float>;
    case DType::kUInt16:
      return Widen<std::uint16_t, float>;
    case DType::kInt32:
      return Widen<std::int32_t, float>;
    case DType::kUInt32:
      return Widen<std::uint32_t, float>;
    case DType::kInt64:
      return Widen<std::int64_t, float>;
    case DType::kUInt64:
      return Widen<std::uint64_t, float>;
    default:
      return nullptr;
  }
}

FromFloatsFn* FromFloatsOf(DType to) {
  switch (to) {
    case DType::kFloat:
      return [](const float* x, std::size_t n, void* y, std::int64_t begin) {
        if (n > 0) std::memcpy(static_cast<float*>(y) + begin, x, n * sizeof(float));
      };
    case DType::kDouble:
      return FloatsToDoubles;
    case DType::kFloat16:
      return FloatsToHalves;
    case DType::kBFloat16:
      return FloatsToBFloats;
    case DType::kBool:
      return ToBools<float>;
    case DType::kInt8:
      return FromFloats32<std::int8_t>;
    case DType::kUInt8:
      return FromFloats32<std::uint8_t>;
    case DType::kInt16:
      return FromFloats32<std::int16_t>;
    case DType::kUInt16:
      return FromFloats32<std::uint16_t>;
    case DType::kInt32:
      return FromFloats32<std::int32_t>;
    case DType::kUInt32:
      return FromFloats64<std::uint32_t>;
    case DType::kInt64:
      return FromFloats64<std::int64_t>;
    default:
      return nullptr;
  }
}

ToIntsFn* ToIntsOf(DType from) {
  switch (from) {
    case DType::kInt8:
      return Widen<std::int8_t, std::int64_t>;
    case DType::kBool:
    case DType::kUInt8:
      return Widen<std::uint8_t, std::int64_t>;
    case DType::kInt16:
      return Widen<std::int16_t, std::int64_t>;
    case DType::kUInt16:
      return Widen<std::uint16_t, std::int64_t>;
    case DType::kInt32:
      return Widen<std::int32_t, std::int64_t>;
    case DType::kUInt32:
      return Widen<std::uint32_t, std::int64_t>;
    case DType::kInt64:
    case DType::kUInt64:
      return Widen<std::int64_t, std::int64_t>;
    default:
      return nullptr;
  }
}

FromIntsFn* FromIntsOf(DType to) {
  switch (to) {
    case DType::kBool:
      return ToBools<std::int64_t>;
    case DType::kInt8:
    case DType::kUInt8:
      return Narrow<std::uint8_t>;
    case DType::kInt16:
    case DType::kUInt16:
      return Narrow<std::uint16_t>;
    case DType::kInt32:
    case DType::kUInt32:
      return Narrow<std::uint32_t>;
    case DType::kInt64:
    case DType::kUInt64:
      return Narrow<std::uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

ConvertTable Conversions() { return {ToFloatsOf, FromFloatsOf, ToIntsOf, FromIntsOf}; }

}  // namespace sardonyx::kernels::SDX_ISA
