// testing/elements.cpp - reads and writes single elements.
#include "testing/elements.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace sardonyx::testing {
namespace {

#define SDX_WHOLE_BYTE_TYPES                                                                                 \
  float, double, Half, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0, bool, \
      std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t

template <typename T>
constexpr bool kIsNative = std::is_arithmetic_v<T>;

// The bits of an element of a packed type, and the same with the sign extended.
int PackedBits(const Tensor& tensor, std::int64_t index) {
  const int bits = Bits(tensor.dtype());
  const std::int64_t bit = index * bits;
  return tensor.data<std::uint8_t>()[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
}

int PackedInteger(const Tensor& tensor, std::int64_t index) {
  const int bits = Bits(tensor.dtype()), value = PackedBits(tensor, index);
  return IsSigned(tensor.dtype()) && value >= 1 << (bits - 1) ? value - (1 << bits) : value;
}

void SetPacked(Tensor& tensor, std::int64_t index, int value) {
  const int bits = Bits(tensor.dtype()), mask = (1 << bits) - 1;
  const auto shift = static_cast<int>(index * bits % 8);
  std::uint8_t& byte = tensor.data<std::uint8_t>()[index * bits / 8];
  byte = static_cast<std::uint8_t>((byte & ~(mask << shift)) | (value & mask) << shift);
}

[[noreturn]] void FailType(const Tensor& tensor) {
  Fail(Code::kInvalidArgument, "expected a tensor of numbers, found ", Name(tensor.dtype()));
}

}  // namespace

double GetElement(const Tensor& tensor, std::int64_t index) {
  if (tensor.dtype() == DType::kFloat4E2M1) return Float4ToFloat(static_cast<std::uint8_t>(PackedBits(tensor, index)));
  if (IsSubByte(tensor.dtype())) return PackedInteger(tensor, index);
  double value = 0;
  const bool known = VisitDType<SDX_WHOLE_BYTE_TYPES>(tensor.dtype(), [&]<typename T>() {
    if constexpr (kIsNative<T>) {
      value = static_cast<double>(tensor.data<T>()[index]);
    } else {
      value = static_cast<float>(tensor.data<T>()[index]);
    }
  });
  return known ? value : GetComplex(tensor, index).real();
}

std::int64_t GetInteger(const Tensor& tensor, std::int64_t index) {
  if (IsSubByte(tensor.dtype())) return PackedInteger(tensor, index);
  std::int64_t value = 0;
  const bool known = VisitDType<bool, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                                std::int32_t, std::uint64_t, std::int64_t>(
      tensor.dtype(), [&]<typename T>() { value = std::int64_t{1} * tensor.data<T>()[index]; });
  if (!known) FailType(tensor);
  return value;
}

std::complex<double> GetComplex(const Tensor& tensor, std::int64_t index) {
  if (tensor.dtype() == DType::kComplex64) return tensor.data<std::complex<float>>()[index];
  if (tensor.dtype() != DType::kComplex128) FailType(tensor);
  return tensor.data<std::complex<double>>()[index];
}

void SetElement(Tensor& tensor, std::int64_t index, double value) {
  if (tensor.dtype() == DType::kFloat4E2M1) return SetPacked(tensor, index, Float4FromFloat(static_cast<float>(value)));
  if (IsSubByte(tensor.dtype())) return SetPacked(tensor, index, static_cast<int>(value));
  if (tensor.dtype() == DType::kComplex64) {
    tensor.data<std::complex<float>>()[index] = static_cast<float>(value);
    return;
  }
  if (tensor.dtype() == DType::kComplex128) {
    tensor.data<std::complex<double>>()[index] = value;
    return;
  }
  const bool known = VisitDType<SDX_WHOLE_BYTE_TYPES>(tensor.dtype(), [&]<typename T>() {
    if constexpr (kIsNative<T>) {
      tensor.data<T>()[index] = static_cast<T>(value);
    } else {
      tensor.data<T>()[index] = T(static_cast<float>(value));
    }
  });
  if (!known) FailType(tensor);
}
#undef SDX_WHOLE_BYTE_TYPES

Tensor Wave(Shape shape, float step) {
  Tensor wave(DType::kFloat, std::move(shape));
  for (std::int64_t i = 0; i < wave.count(); ++i) wave.data<float>()[i] = std::sin(step * static_cast<float>(i + 1));
  return wave;
}

Tensor AsDouble(const Tensor& floats) {
  Tensor doubles(DType::kDouble, floats.shape());
  std::copy_n(floats.data<float>(), floats.count(), doubles.data<double>());
  return doubles;
}

}  // namespace sardonyx::testing
