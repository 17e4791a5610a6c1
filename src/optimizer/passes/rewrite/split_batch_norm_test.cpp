// optimizer/passes/rewrite/split_batch_norm_test.cpp - BatchNormalization becomes a product and a sum, or stays.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;
using ::sardonyx::testing::RandomTensors;

std::string Split(std::string_view body, std::string_view outputs, int opset = 15) {
  RandomTensors random;
  return OperatorsAfter(
      "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> g (float[2,3,4] x, float[3] given) => (" +
          std::string(outputs) +
          ") <float[3] scale = {2, 3, -1}, float[3] shift = {0.5, -1, 0}, float[3] mean = {1, -2, 0},"
          "float[3] variance = {4, 0.25, 1}> {" +
          std::string(body) + "}",
      {&kSplitBatchNorm},
      {{random.Uniform(DType::kFloat, Shape{2, 3, 4}), random.Uniform(DType::kFloat, Shape{3}, 0.5, 1)}});
}

TEST(SplitBatchNorm, BecomesAProductAndASum) {
  EXPECT_EQ(Split("y = BatchNormalization<epsilon = 0.01>(x, scale, shift, mean, variance)", "float[2,3,4] y"),
            "Mul Add");
  EXPECT_EQ(Split("y = BatchNormalization(x, scale, shift, mean, variance)", "float[2,3,4] y", 9), "Mul Add");
}

TEST(SplitBatchNorm, LeavesTrainingAndGivenStatisticsAlone) {
  EXPECT_EQ(Split("y = BatchNormalization(x, scale, shift, mean, given)", "float[2,3,4] y"), "BatchNormalization");
  EXPECT_EQ(Split("y, m, v = BatchNormalization<training_mode = 1>(x, scale, shift, mean, variance)",
                  "float[2,3,4] y, float[3] m, float[3] v"),
            "BatchNormalization");
}

}  // namespace
}  // namespace sardonyx::optimizer
