// ops/quantized/quantized_gemm_test.cpp - com.microsoft's 8-bit products: scales, biases, transpositions, batches and
// refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;

constexpr std::string_view kContrib = "com.microsoft";

const Tensor& A() {
  static const Tensor a = Tensor::Of<std::uint8_t>({1, 2, 255, 4, 0, 9}, Shape{2, 3});
  return a;
}
const Tensor& B() {
  static const Tensor b = Tensor::Of<std::int8_t>({1, -1, 2, 127, -128, 3}, Shape{3, 2});
  return b;
}

TEST(MatMulIntegerToFloat, ScalesColumnsAndAddsTheBias) {
  const Tensor a_zero = Tensor::Scalar<std::uint8_t>(2);
  const Tensor b_zero = Tensor::Of<std::int8_t>({0, 1}, Shape{2});
  // (A - 2) = [-1 0 253; 2 -2 7], (B - [0 1]) = [1 -2; 2 126; -128 2]
  EXPECT_EQ(
      Elements<float>(EvaluateOp({"MatMulIntegerToFloat",
                                  1,
                                  {A(), B(), Tensor::Scalar(0.5f), Floats({1, 2}), a_zero, b_zero, Floats({1, 2})},
                                  {},
                                  1,
                                  kContrib})[0]),
      (std::vector<float>{-32385 * 0.5f + 1, 508 + 2, -898 * 0.5f + 1, -242 + 2}));
}

TEST(MatMulIntegerToFloat, TakesABatchAndRefusesAWrongBias) {
  Tensor a(DType::kUInt8, Shape{2, 2, 3});
  for (int i = 0; i < 12; ++i) a.data<std::uint8_t>()[i] = A().data<std::uint8_t>()[i % 6];
  const auto y = Elements<float>(EvaluateOp(
      {"MatMulIntegerToFloat", 1, {a, B(), Tensor::Scalar(1.0f), Tensor::Scalar(1.0f)}, {}, 1, kContrib})[0]);
  EXPECT_EQ(y, (std::vector<float>{-32635, 1018, -1148, 23, -32635, 1018, -1148, 23}));
  const std::string error =
      ErrorOfOp({"MatMulIntegerToFloat",
                 1,
                 {A(), B(), Tensor::Scalar(1.0f), Tensor::Scalar(1.0f), Value(), Value(), Floats({1, 2, 3})},
                 {},
                 1,
                 kContrib});
  EXPECT_NE(error.find("expected a bias of 2 values, found [3]"), std::string::npos) << error;
}

TEST(DynamicQuantizeMatMul, IsTheProductOfTheQuantizedInput) {
  const Tensor x = Tensor::Of<float>({0, 2, -3, -2.5f, 1.34f, 0.5f}, Shape{2, 3});
  const auto q = EvaluateOp({.op = "DynamicQuantizeLinear", .version = 11, .inputs = {x}, .outputs = 3});
  const Tensor scale = Floats({0.25f, 4}), zero = Tensor::Of<std::int8_t>({1, -1}, Shape{2}), bias = Floats({3, 4});
  const auto want = Elements<float>(
      EvaluateOp({"MatMulIntegerToFloat", 1, {q[0], B(), q[1], scale, q[2], zero, bias}, {}, 1, kContrib})[0]);
  EXPECT_EQ(Elements<float>(EvaluateOp({"DynamicQuantizeMatMul", 1, {x, B(), scale, zero, bias}, {}, 1, kContrib})[0]),
            want);
}

TEST(DynamicQuantizeMatMul, SurvivesInfinityAndNothing) {
  const Tensor x = Tensor::Of<float>({INFINITY, -INFINITY, NAN}, Shape{1, 3});
  EvaluateOp({"DynamicQuantizeMatMul", 1, {x, B(), Tensor::Scalar(1.0f)}, {}, 1, kContrib});
  const Value none = EvaluateOp({"DynamicQuantizeMatMul",
                                 1,
                                 {Tensor(DType::kFloat, Shape{0, 3}), B(), Tensor::Scalar(1.0f)},
                                 {},
                                 1,
                                 kContrib})[0];
  EXPECT_EQ(none.tensor().shape(), (Shape{0, 2}));
}

Tensor Turned(const Tensor& x) {
  Tensor y(x.dtype(), Shape{x.shape()[1], x.shape()[0]});
  for (std::int64_t r = 0; r < x.shape()[0]; ++r)
    for (std::int64_t c = 0; c < x.shape()[1]; ++c)
      static_cast<std::uint8_t*>(y.raw())[c * x.shape()[0] + r] =
          static_cast<const std::uint8_t*>(x.raw())[r * x.shape()[1] + c];
  return y;
}

Value Gemm(const Tensor& a, const Tensor& b, Value addend, Value y_scale, Value y_zero,
           std::vector<Attribute> attributes) {
  return EvaluateOp(
      {"QGemm",
       1,
       {a, Tensor::Scalar(0.5f), Tensor::Scalar<std::uint8_t>(2), b, Floats({1, 2}),
        Tensor::Of<std::int8_t>({0, 1}, Shape{2}), std::move(addend), std::move(y_scale), std::move(y_zero)},
       std::move(attributes),
       1,
       kContrib})[0];
}

// The sums are [-32385 508; -898 -242].
TEST(QGemm, GivesFloatsWithoutAnOutputScale) {
  const std::vector<float> want = {-32385 * 0.5f, 508, -898 * 0.5f, -242};
  EXPECT_EQ(Elements<float>(Gemm(A(), B(), Value(), Value(), Value(), {})), want);
  EXPECT_EQ(Elements<float>(Gemm(Turned(A()), B(), Value(), Value(), Value(), {{"transA", std::int64_t{1}}})), want);
  EXPECT_EQ(Elements<float>(Gemm(A(), Turned(B()), Value(), Value(), Value(), {{"transB", std::int64_t{1}}})), want);
}

TEST(QGemm, AddsEveryFormOfCAndQuantizes) {
  const Tensor scale = Tensor::Scalar(128.0f), zero = Tensor::Scalar<std::uint8_t>(130);
  const auto run = [&](Tensor addend) {
    return Elements<std::uint8_t>(Gemm(A(), B(), std::move(addend), scale, zero, {}));
  };
  EXPECT_EQ(run(Tensor::Scalar<std::int32_t>(0)), (std::vector<std::uint8_t>{3, 134, 126, 128}));
  EXPECT_EQ(run(Tensor::Of<std::int32_t>({256, 1000}, Shape{2})), (std::vector<std::uint8_t>{4, 142, 127, 136}));
  EXPECT_EQ(run(Tensor::Of<std::int32_t>({256, 1000}, Shape{2, 1})), (std::vector<std::uint8_t>{4, 136, 130, 136}));
  EXPECT_EQ(run(Tensor::Of<std::int32_t>({256, 1000, 0, 100000}, Shape{2, 2})),
            (std::vector<std::uint8_t>{4, 142, 126, 255}));
}

TEST(QGemm, RefusesACThatDoesNotBroadcast) {
  const std::string error =
      ErrorOfOp({"QGemm",
                 1,
                 {A(), Tensor::Scalar(0.5f), Tensor::Scalar<std::uint8_t>(2), B(), Tensor::Scalar(1.0f),
                  Tensor::Scalar<std::int8_t>(0), Tensor::Of<std::int32_t>({1, 2, 3}, Shape{3})},
                 {},
                 1,
                 kContrib});
  EXPECT_NE(error.find("expected an input C that broadcasts to [2, 2], found [3]"), std::string::npos) << error;
}

}  // namespace
}  // namespace sardonyx
