// ops/math/matmul_test.cpp - MatMul, Gemm and their fused and quantized forms: broadcasting, packing, types and
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

const Tensor kA = Tensor::Of<float>({1, 2, 3, 4, 5, 6}, Shape{2, 3});
const Tensor kB = Tensor::Of<float>({1, 0, 0, 1, 1, 1}, Shape{3, 2});

TEST(MatMul, MultipliesMatricesAndVectors) {
  EXPECT_EQ(Elements<float>(EvaluateOp({"MatMul", 13, {kA, kB}})[0]), (std::vector<float>{4, 5, 10, 11}));
  const Value row = EvaluateOp({"MatMul", 13, {Floats({1, 1}), kA}})[0];
  EXPECT_EQ(Elements<float>(row), (std::vector<float>{5, 7, 9}));
  EXPECT_EQ(row.tensor().shape(), (Shape{3}));
  const Value dot = EvaluateOp({"MatMul", 13, {Floats({1, 2}), Floats({3, 4})}})[0];
  EXPECT_EQ(Elements<float>(dot), (std::vector<float>{11}));
  EXPECT_EQ(dot.tensor().shape(), Shape{});
}

TEST(MatMul, BroadcastsTheBatchOfBothSides) {
  const Tensor a = Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 1, 1, 2});
  const Tensor b = Tensor::Of<float>({1, 1, 10, 10, 0, 1}, Shape{3, 2, 1});
  const Value y = EvaluateOp({"MatMul", 13, {a, b}})[0];
  EXPECT_EQ(y.tensor().shape(), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(Elements<float>(y), (std::vector<float>{3, 30, 2, 7, 70, 4}));
}

TEST(MatMul, OfNothingIsZero) {
  const Value y =
      EvaluateOp({"MatMul", 13, {Tensor(DType::kFloat, Shape{2, 0}), Tensor(DType::kFloat, Shape{0, 1})}})[0];
  EXPECT_EQ(Elements<float>(y), (std::vector<float>{0, 0}));
  EXPECT_EQ(EvaluateOp({"MatMul", 13, {Tensor(DType::kFloat, Shape{0, 2}), kA}})[0].tensor().count(), 0);
}

TEST(MatMul, TakesIntegersDoublesAndHalves) {
  const Tensor i = Tensor::Of<std::int64_t>({1, 2, 3, 4}, Shape{2, 2});
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"MatMul", 13, {i, i}})[0]), (std::vector<std::int64_t>{7, 10, 15, 22}));
  const Tensor d = Tensor::Of<double>({1, 2, 3, 4}, Shape{2, 2});
  EXPECT_EQ(Elements<double>(EvaluateOp({"MatMul", 13, {d, d}})[0]), (std::vector<double>{7, 10, 15, 22}));
  const Tensor h = Tensor::Of<Half>({Half(1), Half(2), Half(3), Half(4)}, Shape{2, 2});
  EXPECT_EQ(Elements<Half>(EvaluateOp({"MatMul", 13, {h, h}})[0])[3], Half(22));
}

TEST(MatMul, RefusesInnerSizesThatDiffer) {
  EXPECT_NE(ErrorOfOp({"MatMul", 13, {kA, kA}}).find("inner dimensions differ"), std::string::npos);
}

TEST(FusedMatMul, TransposesAndScales) {
  const std::vector<Attribute> attributes = {{"transA", std::int64_t{1}}, {"alpha", 2.0f}};
  const Value y = EvaluateOp({"FusedMatMul", 1, {kA, kA}, attributes, 1, "com.microsoft"})[0];
  EXPECT_EQ(y.tensor().shape(), (Shape{3, 3}));
  EXPECT_EQ(Elements<float>(y)[0], 34);
}

Value BiasedProduct(const Tensor& bias, const Tensor& residual) {
  const std::vector<Attribute> attributes = {{"activation", std::string("Relu")}, {"alpha", 2.0f}};
  return EvaluateOp({"FusedMatMul", 1, {kA, kB, bias, residual}, attributes, 1, "ai.sardonyx"})[0];
}

TEST(FusedMatMul, AddsBiasAndResidualBeforeTheActivation) {
  const Tensor residual = Tensor::Of<float>({-100, 1, 2, 3}, Shape{2, 2});
  EXPECT_EQ(Elements<float>(BiasedProduct(Floats({1, -1}), residual)), (std::vector<float>{0, 10, 23, 24}));
}

TEST(FusedMatMul, RefusesABiasOrResidualOfAnotherSize) {
  const auto error = [](const Tensor& bias, const Tensor& residual) {
    return ErrorOfOp({"FusedMatMul", 1, {kA, kB, bias, residual}, {}, 1, "ai.sardonyx"});
  };
  const Tensor residual(DType::kFloat, Shape{2, 2});
  EXPECT_NE(error(Floats({1, 2, 3}), residual).find("bias"), std::string::npos);
  EXPECT_NE(error(Floats({1, 2}), Tensor(DType::kFloat, Shape{1, 2})).find("residual"), std::string::npos);
}

std::vector<float> Gemm(Tensor c, float beta) {
  return Elements<float>(EvaluateOp({"Gemm", 13, {kA, kB, std::move(c)}, {{"beta", beta}, {"alpha", 0.5f}}})[0]);
}

TEST(Gemm, BroadcastsEveryFormOfC) {
  EXPECT_EQ(Gemm(Tensor::Scalar<float>(2), 3), (std::vector<float>{8, 8.5f, 11, 11.5f}));
  EXPECT_EQ(Gemm(Floats({1, 2}), 1), (std::vector<float>{3, 4.5f, 6, 7.5f}));
  EXPECT_EQ(Gemm(Tensor::Of<float>({1, 2}, Shape{2, 1}), 1), (std::vector<float>{3, 3.5f, 7, 7.5f}));
  EXPECT_EQ(Gemm(Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 2}), 2), (std::vector<float>{4, 6.5f, 11, 13.5f}));
}

TEST(Gemm, RefusesACThatDoesNotBroadcast) {
  EXPECT_NE(ErrorOfOp({"Gemm", 13, {kA, kB, Floats({1, 2, 3})}}).find("[3]"), std::string::npos);
}

TEST(Gemm, RefusesFactorsThatNoIntegerIs) {
  const Tensor a = Tensor::Of<std::int32_t>({1, 2, 3, 4}, Shape{2, 2});
  for (const float factor : {0.5f, 2147483648.0f, 1e30f, INFINITY, NAN}) {
    for (const char* name : {"alpha", "beta"}) {
      EXPECT_NE(
          ErrorOfOp({"Gemm", 13, {a, a, a}, {{name, factor}}}).find("that cannot be represented in inputs of type"),
          std::string::npos)
          << name << " " << factor;
    }
  }
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Gemm", 13, {a, a, a}, {{"alpha", -2.0f}, {"beta", 3.0f}}})[0]),
            (std::vector<std::int32_t>{-11, -14, -21, -32}));
  const Tensor zero = Tensor::Of<std::int32_t>({0}, Shape{1, 1});
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Gemm", 13, {zero, zero}, {{"alpha", -2147483648.0f}}})[0])[0], 0);
}

TEST(FusedGemm, AppliesItsActivation) {
  const std::vector<Attribute> attributes = {{"activation", std::string("Relu")}, {"alpha", -1.0f}};
  EXPECT_EQ(Elements<float>(EvaluateOp({"FusedGemm", 1, {kA, kB}, attributes, 1, "com.microsoft"})[0]),
            (std::vector<float>{0, 0, 0, 0}));
}

// One element as the sum: -3 to 3 through every activation whose parameters have names or defaults.
TEST(FusedGemm, ReadsTheParametersOfItsActivation) {
  const Tensor one = Tensor::Of<float>({1}, Shape{1, 1});
  const auto value = [&](float x, const std::string& activation, std::vector<Attribute> attributes) {
    attributes.push_back({"activation", activation});
    const Tensor sum = Tensor::Of<float>({x}, Shape{1, 1});
    return Elements<float>(EvaluateOp({"FusedGemm", 1, {sum, one}, attributes, 1, "com.microsoft"})[0])[0];
  };
  const std::vector<Attribute> alpha = {{"activation_alpha", 0.5f}};
  const std::vector<Attribute> gamma = {{"activation_alpha", 0.5f}, {"activation_gamma", 3.0f}};
  const std::vector<Attribute> beta = {{"activation_alpha", 0.5f}, {"activation_beta", 0.25f}};
  EXPECT_FLOAT_EQ(value(-2, "Elu", {}), -0.86466472f);
  EXPECT_FLOAT_EQ(value(-2, "Elu", alpha), -0.43233236f);
  EXPECT_FLOAT_EQ(value(3, "Elu", alpha), 3);
  EXPECT_FLOAT_EQ(value(-2, "Selu", {}), -1.5201665f);
  EXPECT_FLOAT_EQ(value(2, "Selu", {}), 2.1014020f);
  EXPECT_FLOAT_EQ(value(-2, "Selu", gamma), -1.2969971f);
  EXPECT_FLOAT_EQ(value(-2, "Softplus", {}), 0.12692801f);
  EXPECT_FLOAT_EQ(value(3, "Softsign", {}), 0.75f);
  EXPECT_FLOAT_EQ(value(0.75f, "ThresholdedRelu", {}), 0);
  EXPECT_FLOAT_EQ(value(0.75f, "ThresholdedRelu", alpha), 0.75f);
  EXPECT_FLOAT_EQ(value(-2, "LeakyRelu", {}), -0.02f);
  EXPECT_FLOAT_EQ(value(1, "HardSigmoid", {}), 0.7f);
  EXPECT_FLOAT_EQ(value(1, "HardSigmoid", beta), 0.75f);
  EXPECT_NE(ErrorOfOp({"FusedGemm", 1, {one, one}, {{"activation", std::string("Exp")}}, 1, "com.microsoft"})
                .find("activation 'Exp'"),
            std::string::npos);
}

TEST(MatMulInteger, SubtractsZeroPointsOfRows) {
  const Tensor a = Tensor::Of<std::uint8_t>({1, 2, 255, 4}, Shape{2, 2});
  const Tensor b = Tensor::Of<std::int8_t>({1, -1, 1, 1}, Shape{2, 2});
  const Tensor zero = Tensor::Of<std::uint8_t>({1, 4}, Shape{2});
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"MatMulInteger", 10, {a, b, zero}})[0]),
            (std::vector<std::int32_t>{1, 1, 251, -251}));
}

TEST(QLinearMatMul, RoundsToEvenAndSaturates) {
  const Tensor a = Tensor::Of<std::uint8_t>({1, 3, 200}, Shape{3, 1}), b = Tensor::Of<std::uint8_t>({1}, Shape{1, 1});
  const Tensor one = Tensor::Scalar<float>(1), two = Tensor::Scalar<float>(2), zero = Tensor::Scalar<std::uint8_t>(0);
  const Tensor y_zero = Tensor::Scalar<std::uint8_t>(200);
  EXPECT_EQ(Elements<std::uint8_t>(EvaluateOp({"QLinearMatMul", 21, {a, one, zero, b, one, zero, two, y_zero}})[0]),
            (std::vector<std::uint8_t>{200, 202, 255}));
}

}  // namespace
}  // namespace sardonyx
