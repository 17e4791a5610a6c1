// ops/quantized/quantized_conv_test.cpp - QLinearConv and ConvInteger through the operators: layouts, rounding,
// refusals.
#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using IntList = std::vector<std::int64_t>;

template <typename T>
Tensor Counting(Shape shape, int start, int step) {
  Tensor t(kDTypeOf<T>, std::move(shape));
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<T>()[i] = static_cast<T>(start + step * static_cast<int>(i % 1000));
  return t;
}

// x [1, 3, 4, 5] in the layout of the domain or the attribute.
std::vector<std::uint8_t> Convolved(std::string_view domain, bool last, std::vector<Attribute> attributes) {
  const Tensor first = Counting<std::uint8_t>(Shape{1, 3, 4, 5}, 7, 13);
  Tensor x = first;
  if (last) {
    x = Tensor(DType::kUInt8, Shape{1, 4, 5, 3});
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t p = 0; p < 20; ++p) x.data<std::uint8_t>()[p * 3 + c] = first.data<std::uint8_t>()[c * 20 + p];
  }
  attributes.push_back({"pads", IntList{1, 1, 1, 1}});
  const Value y = EvaluateOp(
      {"QLinearConv",
       domain.empty() ? 10 : 1,
       {x, Tensor::Scalar(0.5f), Tensor::Scalar<std::uint8_t>(100), Counting<std::int8_t>(Shape{2, 3, 3, 3}, -60, 5),
        testing::Floats({0.25f, 0.125f}), Tensor::Of<std::int8_t>({0, 3}, Shape{2}), Tensor::Scalar(40.0f),
        Tensor::Scalar<std::uint8_t>(128), Tensor::Of<std::int32_t>({1000, -2000}, Shape{2})},
       attributes,
       1,
       domain})[0];
  const auto made = Elements<std::uint8_t>(y);
  if (!last) return made;
  std::vector<std::uint8_t> turned(made.size());
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t p = 0; p < 20; ++p) turned[c * 20 + p] = made[p * 2 + c];
  return turned;
}

TEST(QLinearConv, IsTheSameInEveryLayout) {
  const auto first = Convolved("", false, {});
  EXPECT_NE(first, std::vector<std::uint8_t>(first.size(), first[0]));
  EXPECT_EQ(Convolved("com.ms.internal.nhwc", true, {}), first);
  EXPECT_EQ(Convolved("com.microsoft", true, {{"channels_last", std::int64_t{1}}}), first);
  EXPECT_EQ(Convolved("com.microsoft", false, {}), first);
}

// A channels-last QLinearConv of x [1, 9, 9, C] by weights that are constants, and so packed, or not.
std::vector<std::uint8_t> ByConstants(const Tensor& w, std::int64_t groups, float scale, bool constant) {
  Graph graph;
  Node node;
  node.domain = "com.ms.internal.nhwc", node.op_type = "QLinearConv", node.since_version = 1;
  if (w.shape()[2] == 3) node.attributes.emplace_back("pads", IntList{1, 1, 1, 1});
  node.attributes.emplace_back("group", groups);
  const std::vector<Value> inputs = {Counting<std::uint8_t>(Shape{1, 9, 9, w.shape()[1] * groups}, 7, 13),
                                     Tensor::Scalar(0.5f),
                                     Tensor::Scalar<std::uint8_t>(100),
                                     w,
                                     Tensor::Scalar(0.25f),
                                     Tensor::Scalar<std::int8_t>(0),
                                     Tensor::Scalar(scale),
                                     Tensor::Scalar<std::uint8_t>(128)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i].tensor();
    const std::string name = "x" + std::to_string(i);
    node.inputs.push_back(constant && i > 0 ? graph.AddConstant(name, t)
                                            : graph.AddInput(name, Type::TensorOf(t.dtype(), t.shape())));
  }
  node.outputs.push_back(graph.AddValue("y"));
  const NodeId id = graph.AddNode(std::move(node));
  return Elements<std::uint8_t>(ops::EvaluateNode(graph, graph.node(id), ops::Registry(), inputs)[0]);
}

// Constant weights are packed in the form that suits them; what they are multiplied to does not change.
TEST(QLinearConv, PacksConstantWeightsAsTheyAllow) {
  const auto expect_equal = [](const Tensor& w, std::int64_t groups, float scale) {
    const auto packed = ByConstants(w, groups, scale, true);
    EXPECT_NE(packed, std::vector<std::uint8_t>(packed.size(), packed[0]));
    EXPECT_EQ(packed, ByConstants(w, groups, scale, false));
  };
  expect_equal(Counting<std::int8_t>(Shape{32, 32, 3, 3}, -128, 37), 1, 300);
  expect_equal(Counting<std::int8_t>(Shape{32, 128, 3, 3}, 127, 0), 1,
               9000);  // sums too large for Winograd's algorithm
  const auto halved = [](Tensor w) {
    for (std::int64_t i = 0; i < w.count(); ++i) w.data<std::int8_t>()[i] /= 2;
    return w;
  };
  Tensor small = halved(Counting<std::int8_t>(Shape{40, 24, 1, 1}, 0, 37));
  expect_equal(small, 1, 100);
  expect_equal(halved(Counting<std::int8_t>(Shape{32, 8, 3, 3}, 0, 37)), 4, 100);
  small.data<std::int8_t>()[5] = 65;
  expect_equal(small, 1, 100);
}

// QLinearConvAdd of x [1, 4, 5, C] and the two operators that it stands for.
TEST(QLinearConvAdd, IsTheConvolutionAndTheSum) {
  for (const std::int64_t channels : {0, 3}) {
    const Tensor x = Counting<std::uint8_t>(Shape{1, 4, 5, channels}, 7, 13),
                 z = Counting<std::uint8_t>(Shape{1, 4, 5, 2}, 3, 29);
    const Tensor scale = Tensor::Scalar(40.0f), zero = Tensor::Scalar<std::uint8_t>(128);
    const Tensor z_scale = Tensor::Scalar(23.0f), z_zero = Tensor::Scalar<std::uint8_t>(5);
    const Tensor y_scale = Tensor::Scalar(61.0f), y_zero = Tensor::Scalar<std::uint8_t>(99);
    std::vector<Value> inputs = {x,
                                 Tensor::Scalar(0.5f),
                                 Tensor::Scalar<std::uint8_t>(100),
                                 Counting<std::int8_t>(Shape{2, channels, 3, 3}, -60, 5),
                                 testing::Floats({0.25f, 0.125f}),
                                 Tensor::Of<std::int8_t>({0, 3}, Shape{2}),
                                 scale,
                                 zero,
                                 Tensor::Of<std::int32_t>({1000, -2000}, Shape{2})};
    const std::vector<Attribute> pads = {{"pads", IntList{1, 1, 1, 1}}};
    const Value conv = EvaluateOp({"QLinearConv", 1, inputs, pads, 1, "com.ms.internal.nhwc"})[0];
    const Value want = EvaluateOp(
        {"QLinearAdd", 1, {conv, scale, zero, z, z_scale, z_zero, y_scale, y_zero}, {}, 1, "com.microsoft"})[0];
    for (const Tensor& t : {z, z_scale, z_zero, y_scale, y_zero}) inputs.emplace_back(t);
    EXPECT_EQ(Elements<std::uint8_t>(EvaluateOp({"QLinearConvAdd", 1, inputs, pads, 1, "ai.sardonyx"})[0]),
              Elements<std::uint8_t>(want));
    inputs[9] = Counting<std::uint8_t>(Shape{1, 4, 5, 1}, 0, 1);
    EXPECT_NE(
        ErrorOfOp({"QLinearConvAdd", 1, inputs, pads, 1, "ai.sardonyx"}).find("input Z of the shape [1, 4, 5, 2]"),
        std::string::npos);
  }
}

// Decimal scales leave sums beside halves, where the order of the float operations decides.
TEST(QLinearConvAdd, AddsInTheOrderOfTheSummands) {
  const Tensor x = Counting<std::uint8_t>(Shape{1, 100, 103, 2}, 7, 91), z = Counting<std::uint8_t>(x.shape(), 3, 57);
  const Tensor zero = Tensor::Scalar<std::uint8_t>(77), z_zero = Tensor::Scalar<std::uint8_t>(100);
  const Tensor y_zero = Tensor::Scalar<std::uint8_t>(99), none = Tensor::Scalar<std::int8_t>(0);
  const Tensor one = Tensor::Scalar(1.0f), identity = Tensor::Of<std::int8_t>({1, 0, 0, 1}, Shape{2, 2, 1, 1});
  for (int k = 1; k < 60; ++k) {
    const Tensor scale = Tensor::Scalar(0.01f * static_cast<float>(k)), z_scale = Tensor::Scalar(0.05f);
    const Tensor y_scale = Tensor::Scalar(0.01f * static_cast<float>(k + 7));
    for (const bool z_first : {false, true}) {
      const std::vector<Value> summands = z_first
                                              ? std::vector<Value>{z, z_scale, z_zero, x, scale, zero, y_scale, y_zero}
                                              : std::vector<Value>{x, scale, zero, z, z_scale, z_zero, y_scale, y_zero};
      const Value want = EvaluateOp({"QLinearAdd", 1, summands, {}, 1, "com.microsoft"})[0];
      const Value got =
          EvaluateOp({"QLinearConvAdd",
                      1,
                      {x, scale, zero, identity, one, none, scale, zero, Value(), z, z_scale, z_zero, y_scale, y_zero},
                      {{"z_first", std::int64_t{z_first}}},
                      1,
                      "ai.sardonyx"})[0];
      EXPECT_EQ(Elements<std::uint8_t>(got), Elements<std::uint8_t>(want)) << k << " " << z_first;
    }
  }
}

Value OnePixel(const Tensor& x, const Tensor& w, const Tensor& y_zero, float scale) {
  return EvaluateOp({"QLinearConv",
                     10,
                     {x, Tensor::Scalar(scale), Tensor::Scalar<std::uint8_t>(0), w, Tensor::Scalar(1.0f),
                      Tensor::Scalar<std::int8_t>(0), Tensor::Scalar(1.0f), y_zero}})[0];
}

TEST(QLinearConv, RoundsHalvesToEvenAndSaturates) {
  const Tensor x = Tensor::Of<std::uint8_t>({1, 3, 5, 255}, Shape{1, 1, 4});
  const Tensor w = Tensor::Of<std::int8_t>({1, -1, 127}, Shape{3, 1, 1});
  EXPECT_EQ(Elements<std::uint8_t>(OnePixel(x, w, Tensor::Scalar<std::uint8_t>(1), 0.5f)),
            (std::vector<std::uint8_t>{1, 3, 3, 129, 1, 0, 0, 0, 65, 191, 255, 255}));
  EXPECT_EQ(Elements<std::int8_t>(OnePixel(x, w, Tensor::Scalar<std::int8_t>(0), 0.5f)),
            (std::vector<std::int8_t>{0, 2, 2, 127, 0, -2, -2, -128, 64, 127, 127, 127}));
}

TEST(QLinearConv, OverNoChannelsIsTheBias) {
  const Value y = EvaluateOp(
      {"QLinearConv",
       10,
       {Tensor(DType::kUInt8, Shape{1, 0, 2}), Tensor::Scalar(1.0f), Tensor::Scalar<std::uint8_t>(0),
        Tensor(DType::kInt8, Shape{2, 0, 1}), Tensor::Scalar(0.5f), Tensor::Scalar<std::int8_t>(0),
        Tensor::Scalar(1.0f), Tensor::Scalar<std::uint8_t>(3), Tensor::Of<std::int32_t>({20, -2}, Shape{2})}})[0];
  EXPECT_EQ(Elements<std::uint8_t>(y), (std::vector<std::uint8_t>{13, 13, 2, 2}));
}

TEST(QLinearConv, OfAnEmptyBatchIsEmpty) {
  const Tensor w = Tensor::Of<std::int8_t>({1}, Shape{1, 1, 1});
  EXPECT_EQ(OnePixel(Tensor(DType::kUInt8, Shape{0, 1, 4}), w, Tensor::Scalar<std::uint8_t>(0), 1).tensor().shape(),
            (Shape{0, 1, 4}));
}

TEST(QLinearConv, RefusesZeroPointsThatDoNotFit) {
  const auto error = [](const Tensor& x_zero, const Tensor& w_zero) {
    return ErrorOfOp(
        {"QLinearConv",
         10,
         {Tensor(DType::kUInt8, Shape{1, 1, 4}), Tensor::Scalar(1.0f), x_zero, Tensor(DType::kInt8, Shape{2, 1, 1}),
          Tensor::Scalar(1.0f), w_zero, Tensor::Scalar(1.0f), Tensor::Scalar<std::uint8_t>(0)}});
  };
  const Tensor zero = Tensor::Scalar<std::uint8_t>(0), w_zero = Tensor::Scalar<std::int8_t>(0);
  EXPECT_NE(error(Tensor(DType::kUInt8, Shape{2}), w_zero).find("one zero point of the input, found [2]"),
            std::string::npos);
  EXPECT_NE(error(zero, Tensor(DType::kInt8, Shape{3})).find("1 or 2 zero points of the weights, found 3"),
            std::string::npos);
  EXPECT_NE(error(zero, zero).find("zero point of the weights: expected type int8, found uint8"), std::string::npos);
}

}  // namespace
}  // namespace sardonyx
