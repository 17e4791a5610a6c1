// tools/cli/host_tensor.cpp - element types, sizes and single elements of host tensors.
#include "host_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ort.h"

namespace sardonyx::cli {
namespace {

using enum Layout;

constexpr ElementType kElementTypes[] = {
    // type, name, NumPy's descr, ONNX number, bits, layout, exponent bits, mantissa bits, bias, specials
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, "float", "<f4", 1, 32, kFloat, 8, 23, 127},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, "uint8", "|u1", 2, 8, kUnsigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, "int8", "|i1", 3, 8, kSigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, "uint16", "<u2", 4, 16, kUnsigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, "int16", "<i2", 5, 16, kSigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, "int32", "<i4", 6, 32, kSigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, "int64", "<i8", 7, 64, kSigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, "string", "", 8, 0, kString},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "bool", "|b1", 9, 8, kBool},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, "float16", "<f2", 10, 16, kFloat, 5, 10, 15},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, "double", "<f8", 11, 64, kFloat, 11, 52, 1023},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, "uint32", "<u4", 12, 32, kUnsigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, "uint64", "<u8", 13, 64, kUnsigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64, "complex64", "<c8", 14, 64, kComplex},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128, "complex128", "<c16", 15, 128, kComplex},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, "bfloat16", "", 16, 16, kFloat, 8, 7, 127},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, "float8e4m3fn", "", 17, 8, kFloat, 4, 3, 7, Specials::kNanOnly},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, "float8e4m3fnuz", "", 18, 8, kFloat, 4, 3, 8,
     Specials::kNegativeZeroIsNan},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, "float8e5m2", "", 19, 8, kFloat, 5, 2, 15},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, "float8e5m2fnuz", "", 20, 8, kFloat, 5, 2, 16,
     Specials::kNegativeZeroIsNan},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, "uint4", "", 21, 4, kUnsigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, "int4", "", 22, 4, kSigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, "float4e2m1", "", 23, 4, kFloat, 2, 1, 1, Specials::kNone},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, "float8e8m0", "", 24, 8, kFloat, 8, 0, 127, Specials::kExponentOnly},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, "uint2", "", 25, 2, kUnsigned},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, "int2", "", 26, 2, kSigned},
};

std::uint64_t Mask(int bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

std::uint64_t LoadBits(std::span<const std::byte> data, std::size_t index, int bits) {
  if (bits < 8) {
    const std::size_t bit = index * static_cast<std::size_t>(bits);
    return (std::to_integer<std::uint64_t>(data[bit / 8]) >> (bit % 8)) & Mask(bits);
  }
  std::uint64_t value = 0;
  std::memcpy(&value, data.data() + index * static_cast<std::size_t>(bits / 8), static_cast<std::size_t>(bits / 8));
  return value;
}

void StoreBits(std::span<std::byte> data, std::size_t index, int bits, std::uint64_t value) {
  if (bits < 8) {
    const std::size_t bit = index * static_cast<std::size_t>(bits);
    const std::uint64_t mask = Mask(bits) << (bit % 8);
    const auto old = std::to_integer<std::uint64_t>(data[bit / 8]);
    data[bit / 8] = static_cast<std::byte>((old & ~mask) | ((value << (bit % 8)) & mask));
    return;
  }
  std::memcpy(data.data() + index * static_cast<std::size_t>(bits / 8), &value, static_cast<std::size_t>(bits / 8));
}

double DecodeFloat(const ElementType& type, std::uint64_t bits) {
  const std::uint64_t mantissa = bits & Mask(type.mantissa_bits);
  const auto exponent = static_cast<int>((bits >> type.mantissa_bits) & Mask(type.exponent_bits));
  const int highest = static_cast<int>(Mask(type.exponent_bits));
  if (type.specials == Specials::kExponentOnly) {
    return exponent == highest ? std::nan("") : std::ldexp(1.0, exponent - type.bias);
  }
  const bool negative = (bits >> (type.bits - 1)) & 1;
  if (type.specials == Specials::kIeee && exponent == highest) {
    return mantissa ? std::nan("") : negative ? -HUGE_VAL : HUGE_VAL;
  }
  if (type.specials == Specials::kNanOnly && exponent == highest && mantissa == Mask(type.mantissa_bits)) {
    return std::nan("");
  }
  if (type.specials == Specials::kNegativeZeroIsNan && negative && exponent == 0 && mantissa == 0) return std::nan("");
  const double fraction = std::ldexp(static_cast<double>(mantissa), -type.mantissa_bits);
  const double magnitude = std::ldexp(exponent == 0 ? fraction : 1 + fraction, std::max(exponent, 1) - type.bias);
  return negative ? -magnitude : magnitude;
}

// The code whose value is nearest to `value`. Codes are in the order of their magnitudes: binary search.
std::uint64_t EncodeFloat(const ElementType& type, double value) {
  if (type.bits == 64) return std::bit_cast<std::uint64_t>(value);
  if (type.bits == 32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const bool has_sign = type.specials != Specials::kExponentOnly;
  std::uint64_t high = Mask(type.bits - (has_sign ? 1 : 0));
  while (!std::isfinite(DecodeFloat(type, high))) --high;
  std::uint64_t low = 0;
  const double magnitude = std::abs(value);
  while (low < high) {
    const std::uint64_t middle = (low + high + 1) / 2;
    if (DecodeFloat(type, middle) <= magnitude) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const double above = DecodeFloat(type, low + 1);
  if (std::isfinite(above) && above - magnitude < magnitude - DecodeFloat(type, low)) ++low;
  const bool negative = has_sign && value < 0 && (low != 0 || type.specials != Specials::kNegativeZeroIsNan);
  return low | (negative ? std::uint64_t{1} << (type.bits - 1) : 0);
}

}  // namespace

const ElementType& FindElementType(ONNXTensorElementDataType type) {
  for (const ElementType& row : kElementTypes) {
    if (row.type == type) return row;
  }
  throw Failure(ORT_NOT_IMPLEMENTED, "this tool does not know element type " + std::to_string(type));
}

const ElementType* FindOnnxType(std::int64_t onnx) {
  const auto* found = std::ranges::find(kElementTypes, onnx, &ElementType::onnx);
  return found == std::end(kElementTypes) ? nullptr : found;
}

const ElementType* FindNpyType(std::string_view descr) {
  const auto* found = std::ranges::find(kElementTypes, descr, &ElementType::npy);
  return descr.empty() || found == std::end(kElementTypes) ? nullptr : found;
}

std::size_t ElementCount(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0) throw Failure(ORT_INVALID_ARGUMENT, "expected dimensions of at least 0, found " + ShapeText(shape));
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(dim), &count)) {
      throw Failure(ORT_INVALID_ARGUMENT, "a tensor of shape " + ShapeText(shape) + " is too large for this machine");
    }
  }
  return count;
}

std::size_t DataSize(const ElementType& type, std::size_t count) {
  std::size_t bits = 0;
  if (__builtin_mul_overflow(count, static_cast<std::size_t>(type.bits), &bits) || bits > SIZE_MAX - 7) {
    throw Failure(ORT_INVALID_ARGUMENT, "a tensor of " + std::to_string(count) + " elements is too large");
  }
  return (bits + 7) / 8;
}

double ElementValue(const ElementType& type, std::span<const std::byte> data, std::size_t index) {
  if (type.layout == kComplex) {
    const ElementType& part =
        FindElementType(type.bits == 64 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE);
    return std::hypot(ElementValue(part, data, 2 * index), ElementValue(part, data, 2 * index + 1));
  }
  const std::uint64_t bits = LoadBits(data, index, type.bits);
  if (type.layout == kFloat) return DecodeFloat(type, bits);
  if (type.layout == kSigned)
    return static_cast<double>(static_cast<std::int64_t>(bits << (64 - type.bits)) >> (64 - type.bits));
  return static_cast<double>(bits);
}

void SetElement(const ElementType& type, std::span<std::byte> data, std::size_t index, double value) {
  if (type.layout == kComplex) {
    const ElementType& part =
        FindElementType(type.bits == 64 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE);
    SetElement(part, data, 2 * index, value);
    return SetElement(part, data, 2 * index + 1, 0);
  }
  if (type.layout == kFloat) return StoreBits(data, index, type.bits, EncodeFloat(type, value));
  if (type.layout == kBool) return StoreBits(data, index, 8, value != 0);
  const bool is_signed = type.layout == kSigned;
  const double highest = std::ldexp(1.0, type.bits - (is_signed ? 1 : 0));
  const double lowest = is_signed ? -highest : 0;
  std::uint64_t bits = 0;
  if (value >= highest) {
    bits = Mask(type.bits - (is_signed ? 1 : 0));
  } else if (value < 0) {
    bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(std::max(value, lowest)));
  } else {
    bits = static_cast<std::uint64_t>(value);
  }
  StoreBits(data, index, type.bits, bits);
}

std::string ShapeText(std::span<const std::int64_t> shape) {
  std::string text;
  for (const std::int64_t dim : shape) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

}  // namespace sardonyx::cli
