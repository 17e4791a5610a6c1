// testing/random_tensor.cpp - the same numbers on every platform: no std distribution, whose results are not specified.
#include "testing/random_tensor.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/error.h"
#include "testing/elements.h"

namespace sardonyx::testing {
namespace {

std::uint64_t SeedOr(std::uint64_t seed) {
  const char* wanted = std::getenv("SDX_TEST_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : seed;
}

void ExpectFloating(DType dtype) {
  if (!IsFloating(dtype)) Fail(Code::kInvalidArgument, "expected a floating type, found ", Name(dtype));
}

}  // namespace

RandomTensors::RandomTensors(std::uint64_t seed)
    : seed_(SeedOr(seed)),
      state_(seed_),
      trace_(__FILE__, __LINE__, "random tensors of seed " + std::to_string(seed_) + " (SDX_TEST_SEED sets another)") {}

std::uint64_t RandomTensors::Next() {  // SplitMix64 (Steele, Lea, Flood 2014)
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double RandomTensors::Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

std::int64_t RandomTensors::Integer(std::int64_t low, std::int64_t high) {
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = span == 0 ? Next() : Next() % span;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

Tensor RandomTensors::Uniform(DType dtype, const Shape& shape, double low, double high) {
  Tensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    if (IsString(dtype)) {
      std::string& text = tensor.data<std::string>()[i];
      for (std::int64_t letters = Integer(0, 4); letters != 0; --letters) text += static_cast<char>(Integer('a', 'z'));
    } else if (dtype == DType::kBool) {
      SetElement(tensor, i, static_cast<double>(Next() >> 63));
    } else if (IsInteger(dtype)) {
      const auto first = static_cast<std::int64_t>(std::ceil(low)), last = static_cast<std::int64_t>(std::floor(high));
      SetElement(tensor, i, static_cast<double>(Integer(first, last)));
    } else if (dtype == DType::kComplex64) {
      const double real = low + Unit() * (high - low);
      tensor.data<std::complex<float>>()[i] =
          std::complex<float>(static_cast<float>(real), static_cast<float>(low + Unit() * (high - low)));
    } else if (dtype == DType::kComplex128) {
      const double real = low + Unit() * (high - low);
      tensor.data<std::complex<double>>()[i] = {real, low + Unit() * (high - low)};
    } else {
      SetElement(tensor, i, low + Unit() * (high - low));
    }
  }
  return tensor;
}

Tensor RandomTensors::Normal(DType dtype, const Shape& shape, double mean, double deviation) {
  ExpectFloating(dtype);
  Tensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {  // Box and Muller; 1 - [0, 1) is never zero
    const double radius = std::sqrt(-2 * std::log(1 - Unit()));
    SetElement(tensor, i, mean + deviation * radius * std::cos(6.283185307179586 * Unit()));
  }
  return tensor;
}

Tensor RandomTensors::WithSpecialValues(const Tensor& tensor, double fraction) {
  ExpectFloating(tensor.dtype());
  const bool is_double = tensor.dtype() == DType::kDouble;
  const double largest = is_double ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const double smallest =
      is_double ? std::numeric_limits<double>::denorm_min() : std::numeric_limits<float>::denorm_min();
  const double infinity = std::numeric_limits<double>::infinity();
  const double specials[] = {
      std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 0.0, -0.0, largest, -largest, smallest, -smallest};
  Tensor result = tensor.Clone();
  for (std::int64_t i = 0; i < result.count(); ++i) {
    if (Unit() < fraction) SetElement(result, i, specials[Integer(0, std::size(specials) - 1)]);
  }
  return result;
}

}  // namespace sardonyx::testing
