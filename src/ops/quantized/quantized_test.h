// ops/quantized/quantized_test.h - random bytes, and the bytes that an 8-bit operator should make of exact results.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "testing/evaluate_op.h"

namespace sardonyx::ops {

template <typename T>
Tensor Bytes(Shape shape, std::uint32_t seed) {
  Tensor tensor(kDTypeOf<T>, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    seed = seed * 1664525 + 1013904223;
    tensor.data<T>()[i] = static_cast<T>(seed >> 24);
  }
  return tensor;
}

template <typename T>
int Quantized(double value, int zero) {
  const double whole = std::nearbyint(value) + zero;
  return static_cast<int>(std::fmin(std::fmax(whole, std::numeric_limits<T>::min()), std::numeric_limits<T>::max()));
}

// At most one quantum apart, where a rounding of the scales decides.
template <typename T>
void ExpectClose(const Value& got, const std::vector<double>& want, double scale, int zero) {
  const auto elements = testing::Elements<T>(got);
  ASSERT_EQ(elements.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double exact = want[i] / scale;
    const bool tie = std::abs(std::abs(exact - std::floor(exact)) - 0.5) < 1e-3;
    EXPECT_NEAR(elements[i], Quantized<T>(exact, zero), tie ? 1 : 0) << "element " << i;
  }
}

struct Scaled {
  Tensor data;
  float scale;
  int zero;
};

template <typename T>
std::vector<Value> Inputs(std::initializer_list<Scaled> tensors, float scale, int zero) {
  std::vector<Value> inputs;
  for (const Scaled& t : tensors) {
    inputs.emplace_back(t.data);
    inputs.emplace_back(Tensor::Scalar(t.scale));
    inputs.emplace_back(Tensor::Scalar(static_cast<T>(t.zero)));
  }
  inputs.emplace_back(Tensor::Scalar(scale));
  inputs.emplace_back(Tensor::Scalar(static_cast<T>(zero)));
  return inputs;
}

inline std::vector<Value> Compute8(std::string_view op, const std::vector<Value>& inputs,
                                   const std::vector<Attribute>& attributes = {}) {
  return testing::EvaluateOp(
      {.op = op, .version = 1, .inputs = inputs, .attributes = attributes, .domain = "com.microsoft"});
}

}  // namespace sardonyx::ops
