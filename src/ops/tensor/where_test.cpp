// ops/tensor/where_test.cpp - Where and Identity.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;
using testing::Ints;

Tensor Flags(std::initializer_list<bool> flags) {
  return Tensor::Of<bool>(flags, Shape{static_cast<std::int64_t>(flags.size())});
}

TEST(Where, BroadcastsAllThreeAndStringsToo) {
  const Tensor condition = Tensor::Of<bool>({true, false}, Shape{2, 1});
  EXPECT_EQ(Elements<float>(EvaluateOp({"Where", 16, {condition, Floats({1, 2, 3}), Tensor::Scalar(9.0f)}})[0]),
            (std::vector<float>{1, 2, 3, 9, 9, 9}));
  const Tensor a = Tensor::Of<std::string>({"a", "b"}, Shape{2}), b = Tensor::Of<std::string>({"c"}, Shape{1});
  EXPECT_EQ(Elements<std::string>(EvaluateOp({"Where", 16, {Flags({false, true}), a, b}})[0]),
            (std::vector<std::string>{"c", "b"}));
  const std::string message = ErrorOfOp({"Where", 16, {condition, Floats({1, 2, 3}), Floats({1, 2})}});
  EXPECT_NE(message.find("do not broadcast"), std::string::npos) << message;
}

TEST(Identity, HandsOnTensorsAndSequences) {
  EXPECT_EQ(Elements<float>(EvaluateOp({"Identity", 25, {Floats({1, 2})}})[0]), (std::vector<float>{1, 2}));
  const Value sequence = Sequence{DType::kFloat, {Value(Floats({1}))}};
  EXPECT_EQ(EvaluateOp({"Identity", 25, {sequence}})[0].sequence().items.size(), 1u);
}

}  // namespace
}  // namespace sardonyx::ops
