// optimizer/passes/rewrite/move_before_concat_test.cpp - what stands behind a Concat of convolutions is done by these.
#include "optimizer/passes/passes.h"
#include "testing/pass_example.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;
using ::sardonyx::testing::RandomTensors;

std::string TwoConvs(std::string_view body, std::string_view outputs = "float[1,3,5] y") {
  return "g (float[1,2,5] x, float[3] given) => (" + std::string(outputs) + R"() <float[1,2,1] u = {1, -2},
 float[2,2,1] w = {0.5, -1, 2, 1}, float[3] scale = {2, 3, -1}, float[3] shift = {0.5, -1, 0}, float[3] mean = {1, -2, 3},
 float[3] variance = {4, 0.25, 1}> { a = Conv(x, u) b = Conv(x, w) )" +
         std::string(body) + "}";
}

const testing::PassExample kExample("move_before_concat",
                                    {.changed = TwoConvs("c = Concat<axis = 1>(a, b) y = Relu(c)"),
                                     .left = TwoConvs("c = Concat<axis = 1>(a, b) y = Softmax(c)"),
                                     .reasons = {"(Concat, output 'c')", "is not an activation"}});

std::string After(std::string_view body, std::string_view outputs = "float[1,3,5] y") {
  RandomTensors random;
  return OperatorsAfter(
      TwoConvs(body, outputs),
      {&kFuseActivations, &kMoveBeforeConcat, &kFuseConvBatchNorm, &kMoveBeforeConcat, &kFuseConvActivation},
      {{random.Uniform(DType::kFloat, Shape{1, 2, 5}), random.Uniform(DType::kFloat, Shape{3}, 0.5, 1)}});
}

TEST(MoveBeforeConcat, ActivationsGoIntoTheConvolutions) {
  EXPECT_EQ(After("c = Concat<axis = 1>(a, b) y = Relu(c)"), "FusedConv FusedConv Concat");
  EXPECT_EQ(After("c = Concat<axis = -2>(a, b) s = Sigmoid(c) y = Mul(c, s)"), "FusedConv FusedConv Concat");
  EXPECT_EQ(After("c = Concat<axis = 1>(b, a) y = LeakyRelu<alpha = 0.3>(c)"), "FusedConv FusedConv Concat");
}

TEST(MoveBeforeConcat, EachConvolutionTakesItsChannelsOfTheNormalization) {
  EXPECT_EQ(After("c = Concat<axis = 1>(a, b) y = BatchNormalization(c, scale, shift, mean, variance)"),
            "Conv Conv Concat");
  EXPECT_EQ(After("c = Concat<axis = 1>(b, a) n = BatchNormalization<epsilon = 0.01>(c, scale, shift, mean, variance) "
                  "y = Relu(n)"),
            "FusedConv FusedConv Concat");
}

TEST(MoveBeforeConcat, WhatOthersReadOrMakeStays) {
  EXPECT_EQ(After("c = Concat<axis = 1>(a, b) y = Relu(c)", "float[1,3,5] y, float[1,3,5] c"), "Conv Conv Concat Relu");
  EXPECT_EQ(After("c = Concat<axis = 1>(a, b) y = Relu(c)", "float[1,3,5] y, float[1,2,5] b"), "Conv Conv Concat Relu");
  EXPECT_EQ(After("c = Concat<axis = 1>(a, a, a) y = Relu(c)"), "Conv Conv Concat Relu");
  EXPECT_EQ(After("t = Tanh(b) c = Concat<axis = 1>(a, t) y = Relu(c)"), "Conv FusedConv Concat Relu");
  EXPECT_EQ(After("c = Concat<axis = 1>(a, b) y = BatchNormalization(c, scale, shift, given, variance)"),
            "Conv Conv Concat BatchNormalization");
  EXPECT_EQ(After("c = Concat<axis = 1>(a, b) y, m, v = BatchNormalization<training_mode = 1>(c, scale, shift, mean, "
                  "variance)",
                  "float[1,3,5] y, float[3] m, float[3] v"),
            "Conv Conv Concat BatchNormalization");
}

}  // namespace
}  // namespace sardonyx::optimizer
