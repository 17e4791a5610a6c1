// ops/math/fused_elementwise_test.cpp - ai.sardonyx.FusedElementwise against the single operators.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"
#include "testing/tolerance.h"

namespace sardonyx::testing {
namespace {

Tensor Numbers(const Shape& shape, float scale = 0.37f) {
  Tensor t(DType::kFloat, shape);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = scale * static_cast<float>(i * 7 % 23 - 11);
  return t;
}

OpCall Tape(std::vector<Value> inputs, std::vector<std::string> steps, std::vector<std::int64_t> operands,
            std::vector<float> parameters = {}) {
  if (parameters.empty()) parameters.assign(2 * steps.size(), 0.0f);
  return {.op = "FusedElementwise",
          .version = 1,
          .inputs = std::move(inputs),
          .attributes = {{"steps", steps}, {"operands", operands}, {"parameters", parameters}},
          .domain = "ai.sardonyx"};
}
Tensor One(OpCall call) { return EvaluateOp(call)[0].tensor(); }
Tensor Binary(const char* op, const Tensor& a, const Tensor& b) {
  return One({.op = op, .version = 14, .inputs = {a, b}});
}

// x * sigmoid(x + c) - c for every way that c may broadcast, across the edges of blocks.
TEST(FusedElementwise, HasTheBitsOfTheSingleOperators) {
  const std::pair<Shape, Shape> kShapes[] = {
      {{2, 3, 5}, {}},        {{2, 3, 5}, {5}}, {{2, 3, 5}, {3, 1}}, {{2, 3, 700}, {3, 1}},  {{2, 3, 700}, {2, 1, 700}},
      {{2, 3, 5}, {2, 1, 1}}, {{1, 1}, {1}},    {{3000}, {1}},       {{2, 1, 4}, {2, 1, 4}}, {{0, 3}, {3}}};
  for (const auto& [x_shape, c_shape] : kShapes) {
    const Tensor x = Numbers(x_shape), c = Numbers(c_shape, 0.11f);
    const Tensor sum = Binary("Add", x, c);
    const Tensor want = Binary("Sub", Binary("Mul", x, One({.op = "Sigmoid", .version = 13, .inputs = {sum}})), c);
    const Tensor got =
        One(Tape({x, c}, {"Add", "Sigmoid", "Mul", "Sub"}, {0, 1, -1, -1, 0, -2, -3, 1}, {0, 0, 1, 0, 0, 0, 0, 0}));
    EXPECT_TRUE(SameBits(got, want)) << ToText(x_shape) << ToText(c_shape);
  }
}

Tensor As(DType to, const Tensor& x) {
  return One({.op = "Cast", .version = 13, .inputs = {x}, .attributes = {{"to", static_cast<std::int64_t>(to)}}});
}

// Gates of channels that lie last: short rows are joined, across the edges of blocks and of the parts of threads.
TEST(FusedElementwise, JoinsRowsOfFewChannels) {
  for (const std::int64_t channels : {1, 2, 3, 16, 40, 255, 256, 257})
    for (const std::int64_t batch : {1, 2})
      for (const std::int64_t positions : {0, 1, 7, 150}) {
        const Tensor x = Numbers({batch, positions, channels}), gate = Numbers({batch, 1, channels}, 0.11f),
                     bias = Numbers({channels}, 0.21f), scale = Numbers({1, 1, channels}, 0.7f), one = Floats({1.5f});
        const Tensor gated = Binary("Mul", x, gate), sum = Binary("Add", gated, one);
        const auto text = ToText(x.shape());
        EXPECT_TRUE(SameBits(One(Tape({x, gate, one}, {"Mul", "Add"}, {0, 1, -1, 2})), sum)) << text;
        EXPECT_TRUE(SameBits(One(Tape({gate, x, bias}, {"Mul", "Add"}, {0, 1, -1, 2})), Binary("Add", gated, bias)))
            << text;
        const Tensor three = Binary("Mul", Binary("Add", gated, bias), scale);  // more than are written out
        EXPECT_TRUE(SameBits(One(Tape({x, gate, bias, scale}, {"Mul", "Add", "Mul"}, {0, 1, -1, 2, -2, 3})), three))
            << text;
        const Tensor x16 = As(DType::kFloat16, x), gate16 = As(DType::kFloat16, gate);
        const Tensor halves = Binary("Mul", As(DType::kFloat, x16), As(DType::kFloat, gate16));
        EXPECT_TRUE(SameBits(One(Tape({x16, gate16}, {"Mul"}, {0, 1})), halves)) << text;
      }
}

TEST(FusedElementwise, JoinsRowsOfBytes) {
  Tensor x(DType::kUInt8, {2, 90, 40}), gate(DType::kInt8, {2, 1, 40});
  for (std::int64_t i = 0; i < x.count(); ++i) x.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37 % 251);
  for (std::int64_t i = 0; i < gate.count(); ++i) gate.data<std::int8_t>()[i] = static_cast<std::int8_t>(i * 5 % 127);
  OpCall call = Tape({x, gate}, {"Mul"}, {0, 1});
  call.attributes.emplace_back("input_scales", std::vector<float>{0.02f, 0.005f});
  call.attributes.emplace_back("input_zeros", std::vector<float>{120, -3});
  const auto floats = [](const Tensor& q, float scale_value, const Tensor& zero) {
    Tensor scale(DType::kFloat, {});
    scale.data<float>()[0] = scale_value;
    return One({.op = "DequantizeLinear", .version = 13, .inputs = {q, scale, zero}});
  };
  Tensor x_zero(DType::kUInt8, {}), gate_zero(DType::kInt8, {});
  x_zero.data<std::uint8_t>()[0] = 120;
  gate_zero.data<std::int8_t>()[0] = -3;
  EXPECT_TRUE(SameBits(One(call), Binary("Mul", floats(x, 0.02f, x_zero), floats(gate, 0.005f, gate_zero))));
}

// Positions beside channels, with gates of a position, and of a row of positions.
TEST(FusedElementwise, GoesThroughRowsThatOtherAxesRepeat) {
  const Tensor x = Numbers({3, 5, 6, 4});
  for (const Shape& shape : {Shape{3, 1, 6, 4}, Shape{3, 5, 1, 4}, Shape{3, 5, 6, 1}, Shape{5, 1, 4}, Shape{6, 1}}) {
    const Tensor c = Numbers(shape, 0.11f);
    EXPECT_TRUE(SameBits(One(Tape({x, c}, {"Mul", "Sub"}, {0, 1, -1, 1})), Binary("Sub", Binary("Mul", x, c), c)))
        << ToText(shape);
  }
}

TEST(FusedElementwise, KeepsNaNAndInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> y =
      Elements<float>(One(Tape({Floats({std::nanf(""), infinity, -infinity})}, {"Neg", "Relu"}, {0, 0, -1, -1})));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], infinity);
}

TEST(FusedElementwise, RefusesWrongTapes) {
  const Tensor x = Floats({1, 2});
  EXPECT_NE(ErrorOfOp(Tape({x}, {"Conv"}, {0, 0})).find("expected a known function, found 'Conv'"), std::string::npos);
  EXPECT_NE(ErrorOfOp(Tape({x}, {"Relu"}, {-1, 0})).find("found operand -1"), std::string::npos);
  EXPECT_NE(ErrorOfOp(Tape({x}, {"Relu"}, {0})).find("two operands"), std::string::npos);
  EXPECT_NE(ErrorOfOp(Tape({Ints({1})}, {"Relu"}, {0, 0})).find("int64"), std::string::npos);
}

}  // namespace
}  // namespace sardonyx::testing
