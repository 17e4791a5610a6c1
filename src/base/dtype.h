// base/dtype.h - element types: ONNX's numbers, names, sizes, and the C++ type of each.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/small_float.h"

namespace sardonyx {

// The numbers are those of ONNX's TensorProto.DataType and of ONNXTensorElementDataType.
enum class DType : std::uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUInt4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUInt2 = 25,
  kInt2 = 26,
};
inline constexpr int kDTypeCount = 27;

// ONNX's spelling in the text syntax: "float", "int64", "float8e4m3fn", ... "undefined" for anything else.
std::string_view Name(DType dtype);
DType DTypeFromName(std::string_view name);  // kUndefined if no type has this name
inline bool IsDType(std::int64_t number) { return number > 0 && number < kDTypeCount; }

// Bits of one element; 0 for strings and undefined. Types of 2 and 4 bits are packed, the first element in the low
// bits.
int Bits(DType dtype);
inline bool IsString(DType d) { return d == DType::kString; }
inline bool IsSubByte(DType d) {
  const int b = Bits(d);
  return b != 0 && b < 8;
}
bool IsFloating(DType dtype);  // every float kind, bfloat16 to double; not complex
bool IsInteger(DType dtype);   // signed and unsigned of 2 to 64 bits; not bool
bool IsSigned(DType dtype);    // of integers: may be negative

// Bytes that `count` elements take, packed types rounded up; sizeof(std::string) each for strings. Fails with
// kInvalidArgument if the size overflows.
std::size_t ByteSize(DType dtype, std::int64_t count);

template <typename T>
struct DTypeOf;
#define SDX_DTYPE_OF(T, d)                   \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::d; \
  }
SDX_DTYPE_OF(float, kFloat);
SDX_DTYPE_OF(std::uint8_t, kUInt8);
SDX_DTYPE_OF(std::int8_t, kInt8);
SDX_DTYPE_OF(std::uint16_t, kUInt16);
SDX_DTYPE_OF(std::int16_t, kInt16);
SDX_DTYPE_OF(std::int32_t, kInt32);
SDX_DTYPE_OF(std::int64_t, kInt64);
SDX_DTYPE_OF(std::string, kString);
SDX_DTYPE_OF(bool, kBool);
SDX_DTYPE_OF(Half, kFloat16);
SDX_DTYPE_OF(double, kDouble);
SDX_DTYPE_OF(std::uint32_t, kUInt32);
SDX_DTYPE_OF(std::uint64_t, kUInt64);
SDX_DTYPE_OF(std::complex<float>, kComplex64);
SDX_DTYPE_OF(std::complex<double>, kComplex128);
SDX_DTYPE_OF(BFloat16, kBFloat16);
SDX_DTYPE_OF(Float8E4M3FN, kFloat8E4M3FN);
SDX_DTYPE_OF(Float8E4M3FNUZ, kFloat8E4M3FNUZ);
SDX_DTYPE_OF(Float8E5M2, kFloat8E5M2);
SDX_DTYPE_OF(Float8E5M2FNUZ, kFloat8E5M2FNUZ);
SDX_DTYPE_OF(Float8E8M0, kFloat8E8M0);
#undef SDX_DTYPE_OF
template <typename T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

// Calls f.template operator()<T>() for the T of `dtype` among Ts; false if none of them fits.
//   VisitDType<float, double, Half>(dtype, [&]<typename T>() { Kernel<T>(...); })
template <typename... Ts, typename F>
bool VisitDType(DType dtype, F&& f) {
  return ((dtype == kDTypeOf<Ts> ? (f.template operator()<Ts>(), true) : false) || ...);
}

}  // namespace sardonyx
