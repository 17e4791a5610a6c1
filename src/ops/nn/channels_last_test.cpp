// ops/nn/channels_last_test.cpp - every operator of com.ms.internal.nhwc against ONNX's operator of the same name.
#include "ops/channels_last.h"

#include <gtest/gtest.h>

#include "testing/evaluate_op.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx {
namespace {

using testing::AllClose;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::RandomTensors;
using IntList = std::vector<std::int64_t>;

Value Permuted(const Value& x, bool to_last) {
  const std::size_t rank = x.tensor().shape().rank();
  IntList perm = {0};
  if (!to_last) perm.push_back(static_cast<std::int64_t>(rank) - 1);
  for (std::size_t i = 2; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(to_last ? i : i - 1));
  if (to_last) perm.push_back(1);
  return EvaluateOp({"Transpose", 21, {x}, {{"perm", perm}}})[0];
}

// The operator on [N, spatial..., C] must be the operator on [N, C, spatial...]. `images`: which inputs are images.
void ExpectSame(std::string_view op, int version, const std::vector<Value>& inputs,
                const std::vector<std::size_t>& images, const std::vector<Attribute>& attributes = {},
                std::string_view domain = "") {
  const Value want = EvaluateOp({op, version, inputs, attributes, 1, domain})[0];
  std::vector<Value> last = inputs;
  for (const std::size_t i : images) last[i] = Permuted(inputs[i], true);
  const Value got = EvaluateOp({op, 1, last, attributes, 1, ops::kChannelsLastDomain})[0];
  EXPECT_TRUE(AllClose(Permuted(got, false), want)) << op;
}

TEST(ChannelsLast, ConvolutionsOfEveryRank) {
  RandomTensors random;
  const auto x = [&](Shape shape) { return Value(random.Uniform(DType::kFloat, shape)); };
  ExpectSame("Conv", 22, {x({2, 3, 9}), x({5, 3, 3}), x({5})}, {0}, {{"pads", IntList{1, 0}}});
  ExpectSame("Conv", 22, {x({2, 6, 7, 5}), x({4, 3, 3, 2})}, {0},
             {{"group", std::int64_t{2}}, {"strides", IntList{2, 1}}});
  ExpectSame("Conv", 22, {x({1, 6, 8, 9}), x({6, 1, 3, 3}), x({6})}, {0},
             {{"group", std::int64_t{6}}, {"pads", IntList{1, 2, 0, 1}}, {"dilations", IntList{1, 2}}});
  ExpectSame("Conv", 22, {x({1, 2, 4, 5, 4}), x({3, 2, 2, 3, 2})}, {0}, {{"auto_pad", std::string("SAME_LOWER")}});
  ExpectSame("ConvTranspose", 22, {x({1, 4, 3, 4}), x({4, 3, 3, 2}), x({3})}, {0},
             {{"strides", IntList{2, 2}}, {"output_padding", IntList{1, 0}}, {"pads", IntList{1, 0, 0, 1}}});
  ExpectSame("FusedConv", 1, {x({1, 3, 6, 6}), x({8, 3, 3, 3}), x({8}), x({1, 8, 6, 6})}, {0, 3},
             {{"pads", IntList{1, 1, 1, 1}}, {"activation", std::string("Relu")}}, "com.microsoft");
}

TEST(ChannelsLast, AConvolutionMayKeepOneSideChannelsFirst) {
  RandomTensors random;
  const Value x = random.Uniform(DType::kFloat, Shape{2, 3, 8, 7}),
              w = random.Uniform(DType::kFloat, Shape{5, 3, 3, 3});
  const Value want = EvaluateOp({"Conv", 22, {x, w}})[0];
  const std::string_view domain = ops::kChannelsLastDomain;
  const std::vector<Attribute> input = {{"channels_first_input", std::int64_t{1}}},
                               output = {{"channels_first_output", std::int64_t{1}}};
  EXPECT_TRUE(AllClose(Permuted(EvaluateOp({"Conv", 1, {x, w}, input, 1, domain})[0], false), want));
  EXPECT_TRUE(AllClose(EvaluateOp({"Conv", 1, {Permuted(x, true), w}, output, 1, domain})[0], want));
}

TEST(ChannelsLast, Pools) {
  RandomTensors random;
  const Value x = random.Uniform(DType::kFloat, Shape{2, 5, 9, 8});
  for (const char* op : {"MaxPool", "AveragePool"}) {
    ExpectSame(op, 22, {x}, {0},
               {{"kernel_shape", IntList{3, 2}}, {"strides", IntList{2, 2}}, {"pads", IntList{1, 0, 1, 1}}});
    ExpectSame(op, 22, {x}, {0},
               {{"kernel_shape", IntList{2, 2}}, {"strides", IntList{3, 3}}, {"ceil_mode", std::int64_t{1}}});
  }
  const Value line = random.Uniform(DType::kDouble, Shape{3, 4, 7});
  const Value half = random.Uniform(DType::kFloat16, Shape{1, 3, 2, 3, 2});
  for (const char* op : {"GlobalMaxPool", "GlobalAveragePool"})
    for (const Value& image : {x, line, half}) ExpectSame(op, 22, {image}, {0});
}

TEST(ChannelsLast, Normalizations) {
  RandomTensors random;
  const Value x = random.Uniform(DType::kFloat, Shape{2, 6, 5, 7});
  const Value scale = random.Uniform(DType::kFloat, Shape{6}), bias = random.Uniform(DType::kFloat, Shape{6});
  ExpectSame("InstanceNormalization", 22, {x, scale, bias}, {0}, {{"epsilon", 0.01f}});
  ExpectSame("GroupNormalization", 21, {x, scale, bias}, {0}, {{"num_groups", std::int64_t{3}}});
}

TEST(ChannelsLast, BlocksOfPixels) {
  RandomTensors random;
  const Value x = random.Uniform(DType::kFloat, Shape{2, 12, 4, 6});
  for (const char* mode : {"DCR", "CRD"})
    ExpectSame("DepthToSpace", 13, {x}, {0}, {{"blocksize", std::int64_t{2}}, {"mode", std::string(mode)}});
  ExpectSame("SpaceToDepth", 13, {x}, {0}, {{"blocksize", std::int64_t{2}}});
}

TEST(ChannelsLast, SmallFloatsAndEmptyBatches) {
  RandomTensors random;
  const Value w = random.Uniform(DType::kFloat16, Shape{4, 3, 1, 1});
  ExpectSame("Conv", 22, {random.Uniform(DType::kFloat16, Shape{1, 3, 4, 4}), w}, {0});
  ExpectSame("Conv", 22, {Tensor(DType::kFloat16, Shape{0, 3, 4, 4}), w}, {0});
  ExpectSame("MaxPool", 22, {Tensor(DType::kFloat, Shape{0, 3, 4, 4})}, {0}, {{"kernel_shape", IntList{2, 2}}});
}

TEST(ChannelsLast, RefusesWhatDoesNotFit) {
  RandomTensors random;
  const Value x = random.Uniform(DType::kFloat, Shape{1, 4, 4, 5}),
              w = random.Uniform(DType::kFloat, Shape{4, 3, 1, 1});
  EXPECT_NE(ErrorOfOp({"Conv", 1, {x, w}, {}, 1, ops::kChannelsLastDomain}).find("3 input channels"),
            std::string::npos);
  const Value d = random.Uniform(DType::kDouble, Shape{1, 4, 4, 3});
  EXPECT_NE(
      ErrorOfOp({"MaxPool", 1, {d}, {{"kernel_shape", IntList{2, 2}}}, 1, ops::kChannelsLastDomain}).find("double"),
      std::string::npos);
}

}  // namespace
}  // namespace sardonyx
