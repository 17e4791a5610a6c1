// ops/nn/conv_reduce_max_test.cpp - ConvReduceMax against Conv and ReduceMax.
#include <gtest/gtest.h>

#include <limits>

#include "ops/channels_last.h"
#include "testing/evaluate_op.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx {
namespace {

using testing::AllClose;
using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::RandomTensors;

Value Maximum(const std::vector<Value>& inputs, const std::vector<Attribute>& attributes) {
  return EvaluateOp({"ConvReduceMax", 1, inputs, attributes, 1, "ai.sardonyx"})[0];
}

std::string ErrorOf(const std::vector<Value>& inputs, const std::vector<Attribute>& attributes = {}) {
  return ErrorOfOp({"ConvReduceMax", 1, inputs, attributes, 1, "ai.sardonyx"});
}

Value Axes(std::initializer_list<std::int64_t> axes) {
  Tensor t(DType::kInt64, Shape{static_cast<std::int64_t>(axes.size())});
  std::copy(axes.begin(), axes.end(), t.data<std::int64_t>());
  return Value(std::move(t));
}

TEST(ConvReduceMax, ReducesTheLastAxesOfPositions) {
  RandomTensors random;
  const Value x = random.Uniform(DType::kFloat, Shape{3, 12, 5, 7}), bias = random.Uniform(DType::kFloat, Shape{20}),
              w = random.Uniform(DType::kFloat, Shape{20, 7, 1, 1});
  const Value image = EvaluateOp({"Conv", 1, {x, w, bias}, {}, 1, ops::kChannelsLastDomain})[0];
  for (const std::int64_t axes : {1, 2, 3})
    for (const std::int64_t keepdims : {0, 1}) {
      const Value reduced = axes == 1 ? Axes({2}) : axes == 2 ? Axes({1, 2}) : Axes({0, 1, 2});
      const Value want = EvaluateOp({"ReduceMax", 20, {image, reduced}, {{"keepdims", keepdims}}})[0];
      const Value got = Maximum({x, w, bias}, {{"position_axes", axes}, {"keepdims", keepdims}});
      EXPECT_EQ(got.tensor().shape(), want.tensor().shape());
      EXPECT_TRUE(AllClose(got, want)) << axes << " axes";
    }
}

TEST(ConvReduceMax, OfNothingIsMinusInfinityOrNothing) {
  RandomTensors random;
  const Value w = random.Uniform(DType::kFloat, Shape{2, 3});
  const float most = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Elements<float>(Maximum({random.Uniform(DType::kFloat, Shape{1, 0, 3}), w}, {})),
            (std::vector<float>{-most, -most}));
  const Value empty = Maximum({random.Uniform(DType::kFloat, Shape{0, 5, 3}), w}, {});
  EXPECT_EQ(empty.tensor().shape(), (Shape{0, 1, 2}));
}

TEST(ConvReduceMax, SaysWhatIsWrong) {
  RandomTensors random;
  const auto x = [&](Shape shape) { return Value(random.Uniform(DType::kFloat, shape)); };
  const auto error = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  error(ErrorOf({x({2, 3}), x({4, 3})}, {{"position_axes", std::int64_t{2}}}), "more than 2 axes");
  error(ErrorOf({x({2, 3}), x({4, 3})}, {{"position_axes", std::int64_t{0}}}), "at least 1, found 0");
  error(ErrorOf({x({2, 3}), x({4, 3, 2})}), "expected weights [M, C, 1, ...]");
  error(ErrorOf({x({2, 3}), x({4, 2})}), "expected weights for 3 channels");
  error(ErrorOf({x({2, 0}), x({4, 0})}), "C > 0");
  error(ErrorOf({x({2, 3}), x({4, 3}), x({3})}), "expected a bias of 4 values");
}

}  // namespace
}  // namespace sardonyx
