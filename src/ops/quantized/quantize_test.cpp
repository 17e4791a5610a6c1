// ops/quantized/quantize_test.cpp - granularities, rounding, packed types and errors of the quantization operators.
#include "kernels/elementwise/quantize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;

Attribute Int(std::string name, std::int64_t value) { return {std::move(name), value}; }

TEST(Quantize, HalvesGoToEvenAndValuesSaturate) {
  const Tensor x = Floats({1, 3, 5, -1, 1000, -1000, INFINITY, -INFINITY}), scale = Tensor::Scalar(2.0f);
  EXPECT_EQ(
      Elements<std::uint8_t>(EvaluateOp({"QuantizeLinear", 25, {x, scale, Tensor::Scalar<std::uint8_t>(128)}})[0]),
      (std::vector<std::uint8_t>{128, 130, 130, 128, 255, 0, 255, 0}));
  EXPECT_EQ(Elements<std::int8_t>(EvaluateOp({"QuantizeLinear", 25, {x, scale, Tensor::Scalar<std::int8_t>(0)}})[0]),
            (std::vector<std::int8_t>{0, 2, 2, 0, 127, -128, 127, -128}));
}

TEST(Quantize, EveryLengthAndVariantAgreesWithDouble) {
  for (const auto& [isa, table] : kernels::Runnable(kernels::QuantizeVariants())) {
    for (std::size_t n = 0; n < 70; ++n) {
      std::vector<float> x(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(static_cast<float>(i)) * 300;
      std::vector<std::uint8_t> y(n + 1, 77);
      const float scale = 0.75f, zero = 100;
      table().quantize(DType::kUInt8, true)(x.data(), &scale, &zero, 0, 255, n, y.data());
      for (std::size_t i = 0; i < n; ++i) {
        const double want = std::clamp(std::nearbyint(x[i] / scale) + zero, 0.0f, 255.0f);
        ASSERT_EQ(y[i], want) << kernels::Name(isa) << " " << i;
      }
      ASSERT_EQ(y[n], 77);
    }
  }
}

TEST(Quantize, SumsWithTheZeroPointAreRoundedAsAWhole) {
  for (const auto& [isa, table] : kernels::Runnable(kernels::QuantizeVariants())) {
    for (std::size_t n = 0; n < 70; ++n) {
      std::vector<float> x(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = 0.25f * static_cast<float>(i) - 4.5f;
      if (n > 40) x[40] = 1e30f, x[39] = -INFINITY, x[38] = NAN;
      std::vector<std::uint8_t> y(n + 1, 77);
      const float scale = 0.5f, zero = 7;
      table().quantize_sum(false)(x.data(), &scale, &zero, 0, 255, n, y.data());
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(y[i], std::fmin(std::fmax(std::nearbyint(x[i] / scale + zero), 0.0f), 255.0f)) << kernels::Name(isa);
      ASSERT_EQ(y[n], 77);
      table().quantize_sum(true)(x.data(), &scale, &zero, -128, 127, n, y.data());
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(static_cast<std::int8_t>(y[i]),
                  std::fmin(std::fmax(std::nearbyint(x[i] / scale + zero), -128.0f), 127.0f));
    }
  }
}

// Axis 0, 1, 2 and -1 of [2, 3, 4], with the scale of each element written out.
TEST(Quantize, PerAxisAndBlockedUseTheScaleOfEachElement) {
  Tensor x(DType::kInt8, Shape{2, 3, 5});
  for (int i = 0; i < 30; ++i) x.data<std::int8_t>()[i] = static_cast<std::int8_t>(i - 10);
  for (const std::int64_t axis : {0, 1, 2}) {
    for (const std::int64_t block : {0, 2, 4}) {
      Shape shape{2, 3, 5};
      const auto at = static_cast<std::size_t>(axis);
      shape[at] = block == 0 ? shape[at] : (shape[at] + block - 1) / block;
      if (block == 0) shape = Shape{x.shape()[at]};
      Tensor scale(DType::kFloat, shape), zero(DType::kInt8, shape);
      for (std::int64_t i = 0; i < scale.count(); ++i) {
        scale.data<float>()[i] = 0.5f * static_cast<float>(i + 1);
        zero.data<std::int8_t>()[i] = static_cast<std::int8_t>(i);
      }
      const Value y =
          EvaluateOp({"DequantizeLinear", 25, {x, scale, zero}, {Int("axis", axis), Int("block_size", block)}})[0];
      for (std::int64_t i = 0; i < 30; ++i) {
        std::int64_t index[] = {i / 15, i / 5 % 3, i % 5};
        std::int64_t p = index[at];
        if (block != 0) {
          index[at] /= block;
          p = (index[0] * shape[1] + index[1]) * shape[2] + index[2];
        }
        const float want = static_cast<float>(i - 10 - p) * 0.5f * static_cast<float>(p + 1);
        ASSERT_EQ(y.tensor().data<float>()[i], want) << "axis " << axis << " block " << block << " element " << i;
      }
      const Value back =
          EvaluateOp({"QuantizeLinear", 25, {y, scale, zero}, {Int("axis", axis), Int("block_size", block)}})[0];
      EXPECT_EQ(Elements<std::int8_t>(back), Elements<std::int8_t>(x)) << "axis " << axis << " block " << block;
    }
  }
}

TEST(Quantize, PackedTypesOfOddLengthGoThereAndBack) {
  const Tensor x = Floats({-8, -3, 0, 4, 7, 100, -100});
  for (const DType dtype :
       {DType::kInt4, DType::kUInt4, DType::kInt2, DType::kUInt2, DType::kFloat4E2M1, DType::kFloat8E4M3FN}) {
    const Value q = EvaluateOp(
        {"QuantizeLinear", 25, {x, Tensor::Scalar(1.0f)}, {Int("output_dtype", static_cast<int>(dtype))}})[0];
    EXPECT_EQ(q.tensor().dtype(), dtype);
    const auto y = Elements<float>(EvaluateOp({"DequantizeLinear", 25, {q, Tensor::Scalar(1.0f)}})[0]);
    EXPECT_EQ(y[2], 0) << Name(dtype);
    if (dtype == DType::kInt4) {
      EXPECT_EQ(y, (std::vector<float>{-8, -3, 0, 4, 7, 7, -8}));
    }
    if (dtype == DType::kUInt2) {
      EXPECT_EQ(y, (std::vector<float>{0, 0, 0, 3, 3, 3, 0}));
    }
    if (dtype == DType::kFloat4E2M1) {
      EXPECT_EQ(y, (std::vector<float>{-6, -3, 0, 4, 6, 6, -6}));
    }
  }
}

TEST(Quantize, HalfScalesDivideInHalf) {
  const Tensor x = Tensor::Of<Half>({Half(100.3f)}, Shape{1}), scale = Tensor::Scalar(Half(0.7f));
  const auto y =
      Elements<std::uint8_t>(EvaluateOp({"QuantizeLinear", 25, {x, scale, Tensor::Scalar<std::uint8_t>(0)}})[0]);
  const float quotient = static_cast<float>(Half(static_cast<float>(Half(100.3f)) / static_cast<float>(Half(0.7f))));
  EXPECT_EQ(y[0], static_cast<std::uint8_t>(std::nearbyint(quotient)));
}

TEST(Quantize, DynamicRangeIncludesZeroAndConstantsWork) {
  const auto y = EvaluateOp(
      {.op = "DynamicQuantizeLinear", .version = 11, .inputs = {Floats({0, 2, -3, -2.5f, 1.34f, 0.5f})}, .outputs = 3});
  EXPECT_EQ(Elements<std::uint8_t>(y[0]), (std::vector<std::uint8_t>{153, 255, 0, 26, 221, 179}));
  EXPECT_FLOAT_EQ(Elements<float>(y[1])[0], 5.0f / 255);
  EXPECT_EQ(Elements<std::uint8_t>(y[2])[0], 153);
  const auto zero =
      EvaluateOp({.op = "DynamicQuantizeLinear", .version = 11, .inputs = {Floats({0, 0})}, .outputs = 3});
  EXPECT_EQ(Elements<std::uint8_t>(zero[0]), (std::vector<std::uint8_t>{0, 0}));
  EXPECT_EQ(
      EvaluateOp(
          {.op = "DynamicQuantizeLinear", .version = 11, .inputs = {Tensor(DType::kFloat, Shape{0})}, .outputs = 3})[0]
          .tensor()
          .count(),
      0);
}

TEST(Quantize, ScalesThatDoNotFitAreNamed) {
  const Tensor x(DType::kInt8, Shape{2, 3});
  const std::string axis = ErrorOfOp({"DequantizeLinear", 25, {x, Floats({1, 2})}});
  EXPECT_NE(axis.find("expected one element or the shape [3] (axis 1 of [2, 3]), found [2]"), std::string::npos)
      << axis;
  const std::string block = ErrorOfOp({"DequantizeLinear", 25, {x, Floats({1, 2})}, {Int("block_size", 2)}});
  EXPECT_NE(block.find("with blocks of 2 along axis 1"), std::string::npos) << block;
  const std::string type = ErrorOfOp({"QuantizeLinear",
                                      25,
                                      {Floats({1}), Tensor::Scalar(1.0f), Tensor::Scalar<std::int8_t>(0)},
                                      {Int("output_dtype", 2)}});
  EXPECT_NE(type.find("expected the zero point's type int8, found uint8"), std::string::npos) << type;
}

}  // namespace
}  // namespace sardonyx::ops
