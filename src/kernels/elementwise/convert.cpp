// kernels/elementwise/convert.cpp - dispatch of the conversions, and conversions of 8-bit floats, packed types and
// double.
#include "kernels/elementwise/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sardonyx::kernels {
namespace {

constexpr Variant<ConvertTableFn> kVariants[] = {SDX_VARIANTS(Conversions)};

const ConvertTable& BestTable() {
  static const ConvertTable best = Best(kVariants)();
  return best;
}

// Element i of a packed type of kBits bits: the first in the low bits of a byte.
template <int kBits>
unsigned GetPacked(const void* x, std::int64_t i) {
  constexpr int kPerByte = 8 / kBits;
  const unsigned byte = static_cast<const std::uint8_t*>(x)[i / kPerByte];
  return byte >> (i % kPerByte * kBits) & ((1u << kBits) - 1);
}
template <int kBits>
void SetPacked(void* y, std::int64_t i, unsigned value) {
  constexpr int kPerByte = 8 / kBits;
  constexpr unsigned kMask = (1u << kBits) - 1;
  std::uint8_t& byte = static_cast<std::uint8_t*>(y)[i / kPerByte];
  const int shift = static_cast<int>(i % kPerByte) * kBits;
  // The first element of a byte clears what was there: the last byte's unused bits end up zero.
  const unsigned kept = shift == 0 ? 0 : byte & ~(kMask << shift);
  byte = static_cast<std::uint8_t>(kept | (value & kMask) << shift);
}

template <int kBits, bool kSigned>
std::int64_t GetInt(const void* x, std::int64_t i) {
  const unsigned u = GetPacked<kBits>(x, i);
  return kSigned && (u >> (kBits - 1)) ? static_cast<std::int64_t>(u) - (1 << kBits) : u;
}

std::int64_t Truncate64(double x) { return x >= -0x1p63 && x < 0x1p63 ? static_cast<std::int64_t>(x) : INT64_MIN; }
std::int32_t Truncate32(double x) { return x > -2147483649.0 && x < 0x1p31 ? static_cast<std::int32_t>(x) : INT32_MIN; }
// x86 code for unsigned 64 bits: values from 2^63 on keep their bits, negative ones wrap.
std::uint64_t TruncateU64(double x) {
  if (x >= 0x1p63) return x < 0x1p64 ? static_cast<std::uint64_t>(x - 0x1p63) + (std::uint64_t{1} << 63) : 0;
  return static_cast<std::uint64_t>(Truncate64(x));
}

// The float nearest to zero's side of x with its last bit set where x has no float: rounding it again to a narrower
// type gives what rounding x once would.
float RoundToOdd(double x) {
  const float f = static_cast<float>(x);
  if (static_cast<double>(f) == x || x != x) return f;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  if (std::abs(static_cast<double>(f)) > std::abs(x)) --bits;
  return std::bit_cast<float>(bits | 1);
}

template <Float8Kind kKind>
void Float8sToFloats(const void* x, std::int64_t begin, std::size_t n, float* y) {
  const std::uint8_t* from = static_cast<const std::uint8_t*>(x) + begin;
  for (std::size_t i = 0; i < n; ++i) y[i] = Float8ToFloat(kKind, from[i]);
}
template <Float8Kind kKind, bool kSaturate>
void FloatsToFloat8s(const float* x, std::size_t n, void* y, std::int64_t begin) {
  std::uint8_t* to = static_cast<std::uint8_t*>(y) + begin;
  for (std::size_t i = 0; i < n; ++i) to[i] = Float8FromFloat(kKind, x[i], kSaturate);
}

// A power of two: 2^(bits - 127), 255 is NaN. Negative values lose their sign (ONNX leaves them open).
std::uint8_t ToE8M0(float x, bool saturate, Rounding8 rounding) {
  if (x != x) return 0xff;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
  if (bits == 0x7f800000u) return saturate ? 0xfe : 0xff;
  if (bits == 0) return saturate ? 0x00 : 0xff;
  std::uint32_t exponent = bits >> 23, fraction = bits & 0x7fffffu;
  if (exponent == 0) {  // below 2^-126: 2^-127 is 0x400000
    const bool up =
        rounding == Rounding8::kUp ? fraction > 0x400000u : rounding == Rounding8::kNearest && fraction >= 0x600000u;
    if (fraction < 0x400000u && !saturate) return 0xff;
    return up ? 1 : 0;
  }
  const bool up = rounding == Rounding8::kUp ? fraction != 0 : rounding == Rounding8::kNearest && fraction >= 0x400000u;
  if (up) ++exponent;
  if (exponent < 255) return static_cast<std::uint8_t>(exponent);
  return saturate ? 0xfe : 0xff;
}
template <bool kSaturate, Rounding8 kRounding>
void FloatsToE8M0(const float* x, std::size_t n, void* y, std::int64_t begin) {
  std::uint8_t* to = static_cast<std::uint8_t*>(y) + begin;
  for (std::size_t i = 0; i < n; ++i) to[i] = ToE8M0(x[i], kSaturate, kRounding);
}

template <int kBits, bool kSigned, typename Y>
void PackedToAny(const void* x, std::int64_t begin, std::size_t n, Y* y) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] = static_cast<Y>(GetInt<kBits, kSigned>(x, begin + static_cast<std::int64_t>(i)));
}
template <int kBits, typename X>
void AnyToPacked(const X* x, std::size_t n, void* y, std::int64_t begin) {
  for (std::size_t i = 0; i < n; ++i)
    SetPacked<kBits>(y, begin + static_cast<std::int64_t>(i),
                     static_cast<unsigned>(Truncate32(static_cast<double>(x[i]))));
}
template <int kBits>
void IntsToPacked(const std::int64_t* x, std::size_t n, void* y, std::int64_t begin) {
  for (std::size_t i = 0; i < n; ++i)
    SetPacked<kBits>(y, begin + static_cast<std::int64_t>(i), static_cast<unsigned>(x[i] & 0xff));
}
void Float4sToFloats(const void* x, std::int64_t begin, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] = Float4ToFloat(static_cast<std::uint8_t>(GetPacked<4>(x, begin + static_cast<std::int64_t>(i))));
}
void FloatsToFloat4s(const float* x, std::size_t n, void* y, std::int64_t begin) {
  for (std::size_t i = 0; i < n; ++i) SetPacked<4>(y, begin + static_cast<std::int64_t>(i), Float4FromFloat(x[i]));
}

template <typename T, typename Y>
void WidenTo(const void* x, std::int64_t begin, std::size_t n, Y* y) {
  const T* from = static_cast<const T*>(x) + begin;
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<Y>(from[i]);
}
template <typename T, auto kConvert, typename X>
void Convert(const X* x, std::size_t n, void* y, std::int64_t begin) {
  T* to = static_cast<T*>(y) + begin;
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<T>(kConvert(x[i]));
}

FromFloatsFn* FromFloatsToE8M0(Float8Rules rules) {
  if (rules.e8m0 == Rounding8::kUp)
    return rules.saturate ? FloatsToE8M0<true, Rounding8::kUp> : FloatsToE8M0<false, Rounding8::kUp>;
  if (rules.e8m0 == Rounding8::kDown)
    return rules.saturate ? FloatsToE8M0<true, Rounding8::kDown> : FloatsToE8M0<false, Rounding8::kDown>;
  return rules.saturate ? FloatsToE8M0<true, Rounding8::kNearest> : FloatsToE8M0<false, Rounding8::kNearest>;
}

template <Float8Kind kKind>
FromFloatsFn* FromFloatsTo8(Float8Rules rules) {
  return rules.saturate ? FloatsToFloat8s<kKind, true> : FloatsToFloat8s<kKind, false>;
}

// Doubles to the narrow float types: to floats that round to odd, then by the writer of floats.
template <FromFloatsFn* (*kWriter)(DType, Float8Rules), DType kTo, bool kSaturate, Rounding8 kRounding>
void DoublesThroughFloats(const double* x, std::size_t n, void* y, std::int64_t begin) {
  constexpr std::size_t kBlock = 256;
  FromFloatsFn* const write = kWriter(kTo, {kSaturate, kRounding});
  float block[kBlock];
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t count = n - i < kBlock ? n - i : kBlock;
    for (std::size_t k = 0; k < count; ++k) block[k] = RoundToOdd(x[i + k]);
    write(block, count, y, begin + static_cast<std::int64_t>(i));
  }
}
template <DType kTo>
FromDoublesFn* DoublesTo(Float8Rules rules) {
  if (kTo == DType::kFloat8E8M0 && rules.e8m0 == Rounding8::kDown)
    return rules.saturate ? DoublesThroughFloats<FromFloats, kTo, true, Rounding8::kDown>
                          : DoublesThroughFloats<FromFloats, kTo, false, Rounding8::kDown>;
  if (kTo == DType::kFloat8E8M0 && rules.e8m0 == Rounding8::kNearest)
    return rules.saturate ? DoublesThroughFloats<FromFloats, kTo, true, Rounding8::kNearest>
                          : DoublesThroughFloats<FromFloats, kTo, false, Rounding8::kNearest>;
  return rules.saturate ? DoublesThroughFloats<FromFloats, kTo, true, Rounding8::kUp>
                        : DoublesThroughFloats<FromFloats, kTo, false, Rounding8::kUp>;
}

FromDoublesFn* DoublesToFloatType(DType to, Float8Rules rules) {
  switch (to) {
    case DType::kFloat16:
      return DoublesTo<DType::kFloat16>(rules);
    case DType::kBFloat16:
      return DoublesTo<DType::kBFloat16>(rules);
    case DType::kFloat8E4M3FN:
      return DoublesTo<DType::kFloat8E4M3FN>(rules);
    case DType::kFloat8E4M3FNUZ:
      return DoublesTo<DType::kFloat8E4M3FNUZ>(rules);
    case DType::kFloat8E5M2:
      return DoublesTo<DType::kFloat8E5M2>(rules);
    case DType::kFloat8E5M2FNUZ:
      return DoublesTo<DType::kFloat8E5M2FNUZ>(rules);
    case DType::kFloat8E8M0:
      return DoublesTo<DType::kFloat8E8M0>(rules);
    case DType::kFloat4E2M1:
      return DoublesTo<DType::kFloat4E2M1>(rules);
    default:
      return nullptr;
  }
}

}  // namespace

std::span<const Variant<ConvertTableFn>> ConvertVariants() { return kVariants; }

ToFloatsFn* ToFloats(DType from) {
  switch (from) {
    case DType::kFloat8E4M3FN:
      return Float8sToFloats<Float8Kind::kE4M3FN>;
    case DType::kFloat8E4M3FNUZ:
      return Float8sToFloats<Float8Kind::kE4M3FNUZ>;
    case DType::kFloat8E5M2:
      return Float8sToFloats<Float8Kind::kE5M2>;
    case DType::kFloat8E5M2FNUZ:
      return Float8sToFloats<Float8Kind::kE5M2FNUZ>;
    case DType::kFloat8E8M0:
      return Float8sToFloats<Float8Kind::kE8M0>;
    case DType::kFloat4E2M1:
      return Float4sToFloats;
    case DType::kInt4:
      return PackedToAny<4, true, float>;
    case DType::kUInt4:
      return PackedToAny<4, false, float>;
    case DType::kInt2:
      return PackedToAny<2, true, float>;
    case DType::kUInt2:
      return PackedToAny<2, false, float>;
    default:
      return BestTable().to_floats(from);
  }
}

FromFloatsFn* FromFloats(DType to, Float8Rules rules) {
  switch (to) {
    case DType::kFloat8E4M3FN:
      return FromFloatsTo8<Float8Kind::kE4M3FN>(rules);
    case DType::kFloat8E4M3FNUZ:
      return FromFloatsTo8<Float8Kind::kE4M3FNUZ>(rules);
    case DType::kFloat8E5M2:
      return FromFloatsTo8<Float8Kind::kE5M2>(rules);
    case DType::kFloat8E5M2FNUZ:
      return FromFloatsTo8<Float8Kind::kE5M2FNUZ>(rules);
    case DType::kFloat8E8M0:
      return FromFloatsToE8M0(rules);
    case DType::kFloat4E2M1:
      return FloatsToFloat4s;
    case DType::kInt4:
    case DType::kUInt4:
      return AnyToPacked<4, float>;
    case DType::kInt2:
    case DType::kUInt2:
      return AnyToPacked<2, float>;
    case DType::kUInt64:
      return Convert<std::uint64_t, TruncateU64, float>;
    default:
      return BestTable().from_floats(to);
  }
}

namespace {

// Through floats, which hold every number of a smaller type.
template <DType kFrom>
void FloatsToDoubles(const void* from, std::int64_t begin, std::size_t n, double* y) {
  constexpr std::size_t kBlock = 256;
  float block[kBlock];
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t count = std::min(kBlock, n - i);
    ToFloats(kFrom)(from, begin + static_cast<std::int64_t>(i), count, block);
    std::copy_n(block, count, y + i);
  }
}

}  // namespace

ToDoublesFn* ToDoubles(DType from) {
  switch (from) {
    case DType::kFloat16:
      return FloatsToDoubles<DType::kFloat16>;
    case DType::kBFloat16:
      return FloatsToDoubles<DType::kBFloat16>;
    case DType::kFloat8E4M3FN:
      return FloatsToDoubles<DType::kFloat8E4M3FN>;
    case DType::kFloat8E4M3FNUZ:
      return FloatsToDoubles<DType::kFloat8E4M3FNUZ>;
    case DType::kFloat8E5M2:
      return FloatsToDoubles<DType::kFloat8E5M2>;
    case DType::kFloat8E5M2FNUZ:
      return FloatsToDoubles<DType::kFloat8E5M2FNUZ>;
    case DType::kFloat8E8M0:
      return FloatsToDoubles<DType::kFloat8E8M0>;
    case DType::kFloat4E2M1:
      return FloatsToDoubles<DType::kFloat4E2M1>;
    case DType::kFloat:
      return WidenTo<float, double>;
    case DType::kDouble:
      return WidenTo<double, double>;
    case DType::kInt8:
      return WidenTo<std::int8_t, double>;
    case DType::kBool:
    case DType::kUInt8:
      return WidenTo<std::uint8_t, double>;
    case DType::kInt16:
      return WidenTo<std::int16_t, double>;
    case DType::kUInt16:
      return WidenTo<std::uint16_t, double>;
    case DType::kInt32:
      return WidenTo<std::int32_t, double>;
    case DType::kUInt32:
      return WidenTo<std::uint32_t, double>;
    case DType::kInt64:
      return WidenTo<std::int64_t, double>;
    case DType::kUInt64:
      return WidenTo<std::uint64_t, double>;
    case DType::kInt4:
      return PackedToAny<4, true, double>;
    case DType::kUInt4:
      return PackedToAny<4, false, double>;
    case DType::kInt2:
      return PackedToAny<2, true, double>;
    case DType::kUInt2:
      return PackedToAny<2, false, double>;
    default:
      return nullptr;
  }
}

FromDoublesFn* FromDoubles(DType to, Float8Rules rules) {
  switch (to) {
    case DType::kFloat:
      return Convert<float, [](double x) { return x; }, double>;
    case DType::kDouble:
      return Convert<double, [](double x) { return x; }, double>;
    case DType::kBool:
      return Convert<std::uint8_t, [](double x) { return x != 0; }, double>;
    case DType::kInt8:
    case DType::kUInt8:
      return Convert<std::uint8_t, Truncate32, double>;
    case DType::kInt16:
    case DType::kUInt16:
      return Convert<std::uint16_t, Truncate32, double>;
    case DType::kInt32:
      return Convert<std::int32_t, Truncate32, double>;
    case DType::kUInt32:
      return Convert<std::uint32_t, Truncate64, double>;
    case DType::kInt64:
      return Convert<std::int64_t, Truncate64, double>;
    case DType::kUInt64:
      return Convert<std::uint64_t, TruncateU64, double>;
    case DType::kInt4:
    case DType::kUInt4:
      return AnyToPacked<4, double>;
    case DType::kInt2:
    case DType::kUInt2:
      return AnyToPacked<2, double>;
    default:
      return DoublesToFloatType(to, rules);
  }
}

ToIntsFn* ToInts(DType from) {
  switch (from) {
    case DType::kInt4:
      return PackedToAny<4, true, std::int64_t>;
    case DType::kUInt4:
      return PackedToAny<4, false, std::int64_t>;
    case DType::kInt2:
      return PackedToAny<2, true, std::int64_t>;
    case DType::kUInt2:
      return PackedToAny<2, false, std::int64_t>;
    default:
      return BestTable().to_ints(from);
  }
}

FromIntsFn* FromInts(DType to) {
  switch (to) {
    case DType::kInt4:
    case DType::kUInt4:
      return IntsToPacked<4>;
    case DType::kInt2:
    case DType::kUInt2:
      return IntsToPacked<2>;
    default:
      return BestTable().from_ints(to);
  }
}

}  // namespace sardonyx::kernels
