// ops/hostile_test.h - calls operators that must fail, and checks the message.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "testing/evaluate_op.h"

namespace sardonyx::ops {

inline Tensor NoInts() { return Tensor(DType::kInt64, Shape{0}); }
inline Tensor Ones(const Shape& shape) {
  Tensor ones(DType::kFloat, shape);
  std::fill_n(ones.data<float>(), ones.count(), 1.0f);
  return ones;
}

inline void ExpectError(const testing::OpCall& call, const std::string& part) {
  const std::string found = testing::ErrorOfOp(call);
  EXPECT_NE(found.find(part), std::string::npos) << "expected: " << part << "\nfound: " << found;
}

}  // namespace sardonyx::ops
