// testing/evaluate_op.h - one operator on given values, for the tests of operator families.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace sardonyx::testing {

struct OpCall {
  std::string_view op;
  int version;                // a since_version of the operator
  std::vector<Value> inputs;  // Value() where an optional one is missing
  std::vector<Attribute> attributes = {};
  std::size_t outputs = 1;
  std::string_view domain = "";
};

// Infers, prepares and runs the operator; old versions are upgraded first.
std::vector<Value> EvaluateOp(OpCall call);

// The message of the Error that the call fails with; "" if it does not fail.
std::string ErrorOfOp(OpCall call);

// The elements of a tensor, for EXPECT_EQ; fails if the type differs.
template <typename T>
std::vector<T> Elements(const Value& value) {
  const Tensor& t = value.tensor();
  if (t.dtype() != kDTypeOf<T>)
    Fail(Code::kInvalidArgument, "expected ", Name(kDTypeOf<T>), ", found ", Name(t.dtype()));
  return std::vector<T>(t.data<T>(), t.data<T>() + t.count());
}

// 1-D tensors.
inline Tensor Ints(std::initializer_list<std::int64_t> values) {
  return Tensor::Of<std::int64_t>(values, Shape{static_cast<std::int64_t>(values.size())});
}
inline Tensor Floats(std::initializer_list<float> values) {
  return Tensor::Of<float>(values, Shape{static_cast<std::int64_t>(values.size())});
}

}  // namespace sardonyx::testing
