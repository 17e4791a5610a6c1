// ops/nn/conv_test.cpp - convolutions and pools through the operators: pads, groups, types, indices and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/pool/pool_f32.h"
#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using IntList = std::vector<std::int64_t>;

Tensor Counting(Shape shape) {
  Tensor t(DType::kFloat, std::move(shape));
  std::iota(t.data<float>(), t.data<float>() + t.count(), 0.0f);
  return t;
}
Tensor Filled(Shape shape, float value) {
  Tensor t(DType::kFloat, std::move(shape));
  std::fill_n(t.data<float>(), t.count(), value);
  return t;
}
Tensor AsDouble(const Tensor& t) {
  Tensor d(DType::kDouble, t.shape());
  std::copy_n(t.data<float>(), t.count(), d.data<double>());
  return d;
}

// Every form in float must agree with the double form, which is a different algorithm.
void ExpectSameInDouble(std::string_view op, const Tensor& x, const Tensor& w,
                        const std::vector<Attribute>& attributes) {
  const Value f = EvaluateOp({op, 22, {x, w}, attributes})[0];
  const Value d = EvaluateOp({op, 22, {AsDouble(x), AsDouble(w)}, attributes})[0];
  ASSERT_EQ(f.tensor().shape(), d.tensor().shape());
  for (std::int64_t i = 0; i < f.tensor().count(); ++i) {
    const double want = d.tensor().data<double>()[i];
    EXPECT_NEAR(static_cast<double>(f.tensor().data<float>()[i]), want, 1e-5 * std::abs(want) + 1e-4) << i;
  }
}

TEST(Conv, AgreesWithItsDoubleForm) {
  const IntList two = {2, 2}, pads = {1, 0, 2, 1};
  ExpectSameInDouble("Conv", Counting({1, 4, 7, 6}), Counting({6, 2, 3, 3}),
                     {{"group", std::int64_t{2}}, {"strides", two}, {"pads", pads}});
  ExpectSameInDouble("Conv", Counting({2, 3, 9}), Counting({4, 3, 2}), {{"dilations", IntList{3}}});
  ExpectSameInDouble("Conv", Counting({1, 2, 4, 5, 4}), Counting({3, 2, 2, 3, 2}), {});
  ExpectSameInDouble("Conv", Counting({1, 5, 8, 8}), Counting({5, 1, 3, 3}),
                     {{"group", std::int64_t{5}}, {"auto_pad", std::string("SAME_UPPER")}, {"strides", two}});
}

TEST(ConvTranspose, AgreesWithItsDoubleForm) {
  const IntList two = {2, 2};
  ExpectSameInDouble("ConvTranspose", Counting({1, 4, 3, 4}), Counting({4, 3, 3, 2}),
                     {{"strides", two}, {"output_padding", IntList{1, 0}}, {"pads", IntList{1, 0, 0, 1}}});
  ExpectSameInDouble("ConvTranspose", Counting({2, 4, 5}), Counting({4, 2, 3}), {{"group", std::int64_t{2}}});
  ExpectSameInDouble("ConvTranspose", Counting({1, 2, 3, 3}), Counting({2, 2, 3, 3}),
                     {{"strides", two}, {"output_shape", IntList{8, 8}}});
}

TEST(Conv, OfAnEmptyBatchIsEmptyAndOfNoChannelsTheBias) {
  EXPECT_EQ(EvaluateOp({"Conv", 22, {Tensor(DType::kFloat, {0, 2, 3}), Filled({4, 2, 1}, 1)}})[0].tensor().shape(),
            (Shape{0, 4, 3}));
  const Value y = EvaluateOp(
      {"Conv", 22, {Tensor(DType::kFloat, {1, 0, 2}), Tensor(DType::kFloat, {1, 0, 1}), testing::Floats({5})}})[0];
  EXPECT_EQ(Elements<float>(y), (std::vector<float>{5, 5}));
}

// A window that is larger than the image by its stride has no place in it.
TEST(Conv, OfAnImageTooSmallForTheWindowIsEmpty) {
  for (const auto& [rows, columns] : {std::pair{5, 2}, {2, 5}, {2, 2}})
    for (const std::int64_t stride : {1, 2}) {
      const Value y = EvaluateOp({"Conv",
                                  22,
                                  {Filled({8, 8, rows, columns}, 1), Filled({16, 8, 3, 3}, 1)},
                                  {{"strides", IntList{stride, stride}}, {"pads", IntList{0, 0, 0, 0}}}})[0];
      EXPECT_EQ(y.tensor().count(), 0) << y.tensor().shape()[2] << " x " << y.tensor().shape()[3];
    }
}

TEST(Conv, RefusesChannelsThatDoNotFit) {
  const std::string error = ErrorOfOp({"Conv", 22, {Filled({1, 3, 4}, 1), Filled({1, 2, 1}, 1)}});
  EXPECT_NE(error.find("expected 2 input channels"), std::string::npos) << error;
}

TEST(FusedConv, AddsAndActivates) {
  const Tensor z = Tensor::Of<float>({-10, 1}, Shape{1, 1, 2});
  const std::vector<Attribute> relu = {{"activation", std::string("Relu")}};
  const Value y = EvaluateOp(
      {"FusedConv", 1, {Filled({1, 1, 2}, 2), Filled({1, 1, 1}, 3), Value(), z}, relu, 1, "com.microsoft"})[0];
  EXPECT_EQ(Elements<float>(y), (std::vector<float>{0, 7}));
}

// One parameter is what ONNX Runtime writes; models that we saved before have a zero behind it.
TEST(FusedConv, ReadsTheParameterOfLeakyReluInBothForms) {
  for (const std::vector<float>& params : {std::vector<float>{0.25f}, {0.25f, 0.0f}}) {
    const std::vector<Attribute> leaky = {{"activation", std::string("LeakyRelu")}, {"activation_params", params}};
    const Value y =
        EvaluateOp({"FusedConv", 1, {Filled({1, 1, 2}, -2), Filled({1, 1, 1}, 4)}, leaky, 1, "com.microsoft"})[0];
    EXPECT_EQ(Elements<float>(y), (std::vector<float>{-2, -2})) << params.size() << " parameters";
  }
}

TEST(ConvInteger, PadsWithTheZeroPoint) {
  const Tensor x = Tensor::Of<std::uint8_t>({3, 4}, Shape{1, 1, 2}),
               w = Tensor::Of<std::uint8_t>({1, 1, 1}, Shape{1, 1, 3});
  const Value y =
      EvaluateOp({"ConvInteger", 10, {x, w, Tensor::Scalar<std::uint8_t>(2)}, {{"pads", IntList{1, 1}}}})[0];
  EXPECT_EQ(Elements<std::int32_t>(y), (std::vector<std::int32_t>{3, 3}));
}

TEST(Pool, OfChannelsLastBytesIsThatOfPlanes) {
  Tensor planes(DType::kInt8, Shape{2, 3, 5, 4}), pixels(DType::kInt8, Shape{2, 5, 4, 3});
  for (std::int64_t i = 0; i < 120; ++i) {
    const auto value = static_cast<std::int8_t>(i * 37 % 256 - 128);
    planes.data<std::int8_t>()[i] = value;
    pixels.data<std::int8_t>()[i / 60 * 60 + i % 20 * 3 + i / 20 % 3] = value;
  }
  const std::vector<Attribute> attributes = {
      {"kernel_shape", IntList{3, 2}}, {"strides", IntList{2, 1}}, {"pads", IntList{1, 1, 1, 0}}};
  const Value first = EvaluateOp({"MaxPool", 22, {planes}, attributes})[0];
  const Value last = EvaluateOp({"MaxPool", 1, {pixels}, attributes, 1, "com.ms.internal.nhwc"})[0];
  ASSERT_EQ(first.tensor().shape(), (Shape{2, 3, 3, 4}));
  ASSERT_EQ(last.tensor().shape(), (Shape{2, 3, 4, 3}));
  for (std::int64_t i = 0; i < 72; ++i)
    EXPECT_EQ(first.tensor().data<std::int8_t>()[i],
              last.tensor().data<std::int8_t>()[i / 36 * 36 + i % 12 * 3 + i / 12 % 3]);
}

TEST(Pool, EveryVariantMatchesTheWindowForm) {
  const Tensor x = Counting({1, 2, 9, 37});
  for (const IntList& stride : {IntList{1, 1}, IntList{2, 2}, IntList{1, 3}}) {
    for (const IntList& kernel : {IntList{2, 2}, IntList{3, 5}}) {
      for (const std::string_view op : {"MaxPool", "AveragePool"}) {
        const std::vector<Attribute> attributes = {
            {"kernel_shape", kernel}, {"strides", stride}, {"pads", IntList{1, 1, 1, 1}}, {"dilations", IntList{1, 2}}};
        const Value f = EvaluateOp({op, 22, {x}, attributes})[0];
        const Value d = EvaluateOp({op, 22, {AsDouble(x)}, attributes})[0];
        for (std::int64_t i = 0; i < f.tensor().count(); ++i) {
          EXPECT_NEAR(static_cast<double>(f.tensor().data<float>()[i]), d.tensor().data<double>()[i], 1e-3) << op << i;
        }
      }
    }
  }
}

TEST(PoolF32, EveryIsaGivesTheSameMaximum) {
  kernels::PoolShape shape;
  shape.in = {1, 5, 70}, shape.kernel = {1, 3, 3}, shape.stride = {1, 2, 2}, shape.pad_begin = {0, 1, 1};
  shape.out = {1, 3, 35};
  std::vector<float> x(5 * 70);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  x[3] = NAN;
  Serial serial;
  const Tensor scratch(DType::kUInt8, Shape{static_cast<std::int64_t>(kernels::PoolF32ScratchBytes(shape, 1))});
  for (const kernels::Isa isa : kernels::SupportedIsas()) {
    std::vector<float> y(3 * 35);
    Tensor memory = scratch;
    kernels::PoolF32(shape, 1, x.data(), y.data(), serial, static_cast<std::byte*>(memory.raw()), isa);
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t column = 0; column < 35; ++column) {
        float want = -INFINITY;
        for (std::int64_t h = std::max<std::int64_t>(0, 2 * row - 1); h <= std::min<std::int64_t>(4, 2 * row + 1);
             ++h) {
          for (std::int64_t w = std::max<std::int64_t>(0, 2 * column - 1); w <= 2 * column + 1; ++w) {
            const float v = x[h * 70 + w];
            want = v > want || v != v ? v : want;
          }
        }
        const float found = y[row * 35 + column];
        EXPECT_TRUE(found == want || (found != found && want != want)) << Name(isa) << row << ' ' << column;
      }
    }
  }
}

TEST(MaxPool, GivesIndicesThatMaxUnpoolTakesBack) {
  const Tensor x = Tensor::Of<float>({1, 5, 2, 3, 4, 0, 7, 6, 8}, Shape{1, 1, 3, 3});
  const std::vector<Attribute> attributes = {{"kernel_shape", IntList{2, 2}}};
  const std::vector<Value> y = EvaluateOp({"MaxPool", 22, {x}, attributes, 2});
  EXPECT_EQ(Elements<float>(y[0]), (std::vector<float>{5, 5, 7, 8}));
  EXPECT_EQ(Elements<std::int64_t>(y[1]), (std::vector<std::int64_t>{1, 1, 6, 8}));
  const Value back = EvaluateOp({"MaxUnpool", 22, {y[0], y[1]}, attributes})[0];
  EXPECT_EQ(Elements<float>(back), (std::vector<float>{0, 5, 0, 0, 0, 0, 7, 0, 8}));
}

TEST(MaxPool, RefusesAWindowLargerThanTheInput) {
  const std::string error = ErrorOfOp({"MaxPool", 22, {Filled({1, 1, 2}, 1)}, {{"kernel_shape", IntList{4}}}});
  EXPECT_NE(error.find("at least 4"), std::string::npos) << error;
}

TEST(GlobalPool, ReducesEachPlane) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, -4}, Shape{1, 2, 2});
  EXPECT_EQ(Elements<float>(EvaluateOp({"GlobalAveragePool", 22, {x}})[0]), (std::vector<float>{1.5f, -0.5f}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"GlobalMaxPool", 22, {x}})[0]), (std::vector<float>{2, 3}));
  EXPECT_FLOAT_EQ(Elements<float>(EvaluateOp({"GlobalLpPool", 22, {x}})[0])[1], 5);
}

TEST(LpPool, VersionOneHasAPowerOfFloat) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, -4}, Shape{1, 2, 2});
  EXPECT_FLOAT_EQ(Elements<float>(EvaluateOp({"GlobalLpPool", 1, {x}, {{"p", 1.0f}}})[0])[1], 7);
  const std::vector<std::int64_t> kernel = {1};
  for (const float power : {2.5f, 1e30f, INFINITY, NAN}) {
    const auto expect = [&](const testing::OpCall& call) {
      EXPECT_NE(ErrorOfOp(call).find("attribute 'p': expected a 32-bit integer"), std::string::npos) << ErrorOfOp(call);
    };
    expect({"GlobalLpPool", 1, {x}, {{"p", power}}});
    expect({"LpPool", 1, {x}, {{"p", power}, {"kernel_shape", kernel}}});
  }
}

}  // namespace
}  // namespace sardonyx
