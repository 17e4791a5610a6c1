// base/dtype.cpp - the table of element types.
#include "base/dtype.h"

#include "base/error.h"
#include "base/shape.h"

namespace sardonyx {
namespace {

enum Class : std::uint8_t { kOther, kFloatingPoint, kUnsigned, kSigned };

struct Facts {
  std::string_view name;
  std::uint8_t bits;
  Class kind;
};

constexpr Facts kFacts[kDTypeCount] = {
    {"undefined", 0, kOther},
    {"float", 32, kFloatingPoint},
    {"uint8", 8, kUnsigned},
    {"int8", 8, kSigned},
    {"uint16", 16, kUnsigned},
    {"int16", 16, kSigned},
    {"int32", 32, kSigned},
    {"int64", 64, kSigned},
    {"string", 0, kOther},
    {"bool", 8, kOther},
    {"float16", 16, kFloatingPoint},
    {"double", 64, kFloatingPoint},
    {"uint32", 32, kUnsigned},
    {"uint64", 64, kUnsigned},
    {"complex64", 64, kOther},
    {"complex128", 128, kOther},
    {"bfloat16", 16, kFloatingPoint},
    {"float8e4m3fn", 8, kFloatingPoint},
    {"float8e4m3fnuz", 8, kFloatingPoint},
    {"float8e5m2", 8, kFloatingPoint},
    {"float8e5m2fnuz", 8, kFloatingPoint},
    {"uint4", 4, kUnsigned},
    {"int4", 4, kSigned},
    {"float4e2m1", 4, kFloatingPoint},
    {"float8e8m0", 8, kFloatingPoint},
    {"uint2", 2, kUnsigned},
    {"int2", 2, kSigned},
};

const Facts& FactsOf(DType dtype) {
  const auto number = static_cast<std::size_t>(dtype);
  return kFacts[number < kDTypeCount ? number : 0];
}

}  // namespace

std::string_view Name(DType dtype) { return FactsOf(dtype).name; }

DType DTypeFromName(std::string_view name) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (kFacts[i].name == name) return static_cast<DType>(i);
  }
  return DType::kUndefined;
}

int Bits(DType dtype) { return FactsOf(dtype).bits; }
bool IsFloating(DType dtype) { return FactsOf(dtype).kind == kFloatingPoint; }
bool IsInteger(DType dtype) { return FactsOf(dtype).kind == kUnsigned || FactsOf(dtype).kind == kSigned; }
bool IsSigned(DType dtype) { return FactsOf(dtype).kind == kSigned; }

std::size_t ByteSize(DType dtype, std::int64_t count) {
  if (count < 0) Fail(Code::kInvalidArgument, "expected at least 0 elements, found ", count);
  const auto n = static_cast<std::size_t>(count);
  if (IsString(dtype)) return CheckedMul(n, sizeof(std::string), "the size of a string tensor");
  const auto bits = static_cast<std::size_t>(Bits(dtype));
  if (bits >= 8) return CheckedMul(n, bits / 8, "the size of a tensor");
  if (bits == 0) return 0;
  const std::size_t per_byte = 8 / bits;
  return n / per_byte + (n % per_byte != 0);
}

}  // namespace sardonyx
