// ops/integers.cpp - reads integer inputs of any width as int64.
#include "ops/integers.h"

#include <limits>

namespace sardonyx::ops {
namespace {

// Towards zero; what no int64 holds (infinities, NaN) becomes the smallest one, which no range contains.
std::int64_t Truncated(double value) {
  const bool fits = value > -9.2e18 && value < 9.2e18;
  return fits ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

std::int64_t IntAt(const TensorRef& tensor, std::int64_t i) {
  if (i < 0 || i >= tensor.count)
    Fail(Code::kInvalidArgument, "expected at least ", i + 1, " numbers, found shape ", ToText(tensor.shape));
  switch (tensor.dtype) {
    case DType::kInt64:
      return tensor.As<std::int64_t>()[i];
    case DType::kInt32:
      return tensor.As<std::int32_t>()[i];
    case DType::kInt16:
      return tensor.As<std::int16_t>()[i];
    case DType::kInt8:
      return tensor.As<std::int8_t>()[i];
    case DType::kUInt8:
      return tensor.As<std::uint8_t>()[i];
    case DType::kUInt16:
      return tensor.As<std::uint16_t>()[i];
    case DType::kUInt32:
      return tensor.As<std::uint32_t>()[i];
    case DType::kUInt64:
      return static_cast<std::int64_t>(tensor.As<std::uint64_t>()[i]);
    case DType::kBool:
      return tensor.As<bool>()[i] ? 1 : 0;
    case DType::kFloat:
      return Truncated(tensor.As<float>()[i]);
    case DType::kDouble:
      return Truncated(tensor.As<double>()[i]);
    case DType::kFloat16:
      return Truncated(static_cast<float>(tensor.As<Half>()[i]));
    case DType::kBFloat16:
      return Truncated(static_cast<float>(tensor.As<BFloat16>()[i]));
    default:
      Fail(Code::kNotImplemented, "expected a tensor of numbers, found ", Name(tensor.dtype));
  }
}

bool ConditionOf(const TensorRef& tensor) {
  if (tensor.dtype != DType::kBool || tensor.count != 1) {
    Fail(Code::kInvalidArgument, "expected the condition to be one bool, found ",
         tensor.present() ? Name(tensor.dtype) : "no tensor", tensor.present() ? ToText(tensor.shape) : "");
  }
  return *tensor.As<std::uint8_t>() != 0;
}

Shape IntsOf(const TensorRef& tensor) {
  if (tensor.rank() > 1) {
    Fail(Code::kInvalidArgument, "expected a 1-D tensor of integers, found shape ", ToText(tensor.shape));
  }
  Shape ints;
  ints.Resize(static_cast<std::size_t>(tensor.count), 0);
  for (std::int64_t i = 0; i < tensor.count; ++i) ints[static_cast<std::size_t>(i)] = IntAt(tensor, i);
  return ints;
}

}  // namespace sardonyx::ops
