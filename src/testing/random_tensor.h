// testing/random_tensor.h - random tensors of every type; the seed is printed with every failure in its scope.
//
//   RandomTensors random;                                            // SDX_TEST_SEED=7 in the environment overrides
//   const Tensor x = random.Uniform(DType::kFloat, Shape{2, 3}, -1, 1);
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "tensor/value.h"

namespace sardonyx::testing {

class RandomTensors {
 public:
  explicit RandomTensors(std::uint64_t seed = 1);
  RandomTensors(const RandomTensors&) = delete;
  RandomTensors& operator=(const RandomTensors&) = delete;

  // Elements in [low, high]; integers hit both ends. Booleans: both values, whatever the range. Strings: up to 4
  // letters.
  Tensor Uniform(DType dtype, const Shape& shape, double low = -1, double high = 1);
  // Normally distributed; floating types only.
  Tensor Normal(DType dtype, const Shape& shape, double mean = 0, double deviation = 1);
  // The same tensor with about `fraction` of its elements replaced by NaN, infinities, zeros of both signs and the
  // largest and smallest numbers; floating types only.
  Tensor WithSpecialValues(const Tensor& tensor, double fraction = 0.1);
  std::int64_t Integer(std::int64_t low, std::int64_t high);  // in [low, high]
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t Next();
  double Unit();  // in [0, 1)

  std::uint64_t seed_, state_;
  ::testing::ScopedTrace trace_;
};

}  // namespace sardonyx::testing
