// ops/nn/hostile_images_test.cpp - absurd windows, regions and sizes of images, which operators must refuse or survive.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/text.h"
#include "ops/hostile_test.h"
#include "testing/environment.h"
#include "testing/tolerance.h"

namespace sardonyx::ops {
namespace {

using testing::Ints;
using testing::OpCall;

TEST(HostileImages, BlocksOfAnImageThatIsTooLarge) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max() - 1;
  const std::string of_axis = "expected image, block, stride, dilation and pads of axis 1 up to 2147483648, found ";
  const auto call = [](Tensor image, Tensor block, std::vector<std::int64_t> dilations) {
    return OpCall{"Col2Im", 18, {Ones(Shape{1, 4, 9}), image, block}, {{"dilations", std::move(dilations)}}};
  };
  ExpectError(call(Ints({4, 4}), Ints({2, huge}), {1, 2}), of_axis + std::to_string(huge));
  ExpectError(call(Ints({4, huge}), Ints({2, 2}), {1, 1}), std::to_string(huge));
  ExpectError(call(Ints({4, 4}), Ints({2, 2}), {1, huge}), of_axis + std::to_string(huge));
  // Of channels, too, before anyone computes with them.
  ExpectError(call(Ints({4, 4}), Ints({2, -2}), {1, 1}),
              "expected dimensions of at least 0, found shape [1, -1, 4, 4]");
  ExpectError(call(Ints({4, 4, 4}), Ints({1 << 30, 1 << 30, 1 << 30}), {1, 1, 1}), "1073741824");
}

TEST(HostileImages, RegionsThatAreNoNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const char* mode : {"max", "avg"}) {
    for (const float bad : {nan, inf, -inf}) {
      const Tensor rois = Tensor::Of<float>({bad, bad, 2, 2, 0, 0, bad, bad}, Shape{2, 4});
      const auto y = testing::EvaluateOp({"RoiAlign",
                                          16,
                                          {Ones(Shape{1, 1, 3, 3}), rois, Ints({0, 0})},
                                          {{"mode", std::string(mode)}, {"sampling_ratio", std::int64_t{2}}}});
      EXPECT_EQ(y[0].tensor().count(), 2);
    }
  }
  ExpectError({"MaxRoiPool",
               1,
               {Ones(Shape{1, 1, 3, 3}), Tensor::Of<float>({nan, 0, 0, 1, 1}, Shape{1, 5})},
               {{"pooled_shape", std::vector<std::int64_t>{1, 1}}}},
              "expected a batch index for region 0, found NaN");
  const auto y =
      testing::EvaluateOp({"MaxRoiPool",
                           1,
                           {Ones(Shape{1, 1, 3, 3}), Tensor::Of<float>({0, nan, nan, inf, -inf}, Shape{1, 5})},
                           {{"pooled_shape", std::vector<std::int64_t>{1, 1}}}});
  EXPECT_EQ(y[0].tensor().count(), 1);
  ExpectError({"RoiAlign",
               16,
               {Ones(Shape{1, 1, 3, 3}), Ones(Shape{1, 4}), Ints({0})},
               {{"sampling_ratio", std::numeric_limits<std::int64_t>::max()}}},
              "attribute 'sampling_ratio': expected at most");
}

// Taps outside of the image are counted, not visited: 2^31 for each output would take minutes.
TEST(HostileImages, WindowsFarLargerThanTheImage) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  const Tensor row = Tensor::Of<float>({1, 2, 4}, Shape{1, 1, 1, 3});
  const Tensor exact = Tensor::Of<double>({1, 2, 4}, Shape{1, 1, 1, 3});
  const std::vector<Attribute> window = {{"kernel_shape", std::vector<std::int64_t>{kHuge, kHuge}},
                                         {"auto_pad", std::string("SAME_UPPER")}};
  const auto pool = [&](std::string_view op, const Tensor& x, std::int64_t counts_pads) {
    std::vector<Attribute> attributes = window;
    if (counts_pads != 0) attributes.push_back({"count_include_pad", counts_pads});
    return testing::EvaluateOp({op, 22, {x}, attributes})[0];
  };
  using testing::Elements;
  EXPECT_EQ(Elements<float>(pool("MaxPool", row, 0)), (std::vector<float>{4, 4, 4}));
  EXPECT_EQ(Elements<float>(pool("AveragePool", row, 0)), (std::vector<float>(3, 7.0f / 3)));
  EXPECT_EQ(Elements<double>(pool("AveragePool", exact, 0)), (std::vector<double>(3, 7.0 / 3)));
  EXPECT_EQ(Elements<float>(pool("LpPool", row, 0)), (std::vector<float>(3, std::sqrt(21.0f))));
  const double taps = static_cast<double>(kHuge) * static_cast<double>(kHuge);
  EXPECT_EQ(Elements<float>(pool("AveragePool", row, 1))[0], static_cast<float>(7 / taps));
  EXPECT_EQ(Elements<double>(pool("AveragePool", exact, 1))[0], 7 / taps);
}

TEST(HostileImages, BlocksOfHugeImages) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const auto call = [](const char* op, Shape shape, std::int64_t block) {
    return OpCall{op, 13, {Tensor(DType::kFloat, std::move(shape))}, {{"blocksize", block}}};
  };
  for (const char* op : {"DepthToSpace", "SpaceToDepth"}) {
    ExpectError(call(op, Shape{1, 4, 2, 2}, kHuge),
                "attribute 'blocksize': expected 1 to 2147483647, found 1099511627776");
  }
  ExpectError(call("DepthToSpace", Shape{1, 0, kHuge, 2}, 1 << 30), "found 1099511627776 * 1073741824");
  ExpectError(call("SpaceToDepth", Shape{1, kHuge, 0, 0}, 1 << 30), "found 1099511627776 * 1152921504606846976");
}

TEST(HostileImages, WindowsBeyondAllImages) {
  using IntList = std::vector<std::int64_t>;
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  const Tensor image = Ones(Shape{1, 1, 5, 5}), weights = Ones(Shape{1, 1, 3, 3});
  // One window: the stride does not matter.
  const auto one = testing::EvaluateOp({"Conv", 11, {image, weights}, {{"strides", IntList{kHuge, kHuge}}}});
  EXPECT_EQ(testing::Elements<float>(one[0]), std::vector<float>{9});
  ExpectError({"Conv",
               11,
               {image, weights},
               {{"strides", IntList{kHuge, kHuge}}, {"pads", IntList{kHuge, kHuge, kHuge, kHuge}}}},
              "expected an image with its pads below 2^60 bytes");
  ExpectError({"ConvTranspose",
               11,
               {image, weights},
               {{"output_shape", IntList{10, 8}}, {"output_padding", IntList{std::int64_t{1} << 62, 0}}}},
              "attribute 'output_padding': expected at least 0 and at most 2^31, found [4611686018427387904, 0]");
  ExpectError({"Conv", 11, {image, weights}, {{"group", std::int64_t{1} << 62}}}, "at most 2^31");
  ExpectError({"DeformConv",
               19,
               {image, weights, Ones(Shape{1, 18, 3, 3})},
               {{"offset_group", std::numeric_limits<std::int64_t>::max()}}},
              "expected channels divisible by offset_group 9223372036854775807, found 1");
}

// Where no shape stands in the model, the weights' rank says how many there must be.
TEST(HostileImages, FewerStridesThanDimensions) {
  const auto error = [](const std::string& node, const Shape& shape) -> std::string {
    auto model = std::make_shared<Model>(
        ParseModel("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> g "
                   "(float x, float w, uint8 b) => (y) <float[1,1,"
                   "1,1,1] k = {2}, float f = {1}, uint8 z = {0}, uint8[1] r = {3}> { [it] y = " +
                   node + " }"));
    model->graph.value(*model->graph.Find("x")).type = Type::TensorOf(DType::kFloat);
    model->graph.value(*model->graph.Find("w")).type = Type::TensorOf(DType::kFloat);
    try {
      auto session = runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), {});
      session->Run({}, {{"x", Ones(shape)}, {"w", Ones(Shape{1, 1, 1, 1})}, {"b", Tensor(DType::kUInt8, Shape{})}},
                   std::vector<std::string>{"y"});
    } catch (const Error& found) {
      return found.what();
    }
    return "no error";
  };
  const auto expect = [&](const std::string& node, const Shape& shape, const std::string& part) {
    EXPECT_NE(error(node, shape).find(part), std::string::npos) << node << ": " << error(node, shape);
  };
  const Shape volume{1, 1, 2, 2, 2}, image{1, 1, 2, 2};
  expect("Conv<strides = [1]>(x, k)", volume,
         "attribute 'strides': expected 3 values for 3 spatial dimensions, found 1");
  expect("ConvTranspose<dilations = [1, 1]>(x, k)", volume, "attribute 'dilations': expected 3 values");
  expect("Conv<strides = [1]>(x, w)", image, "attribute 'strides': expected 2 values");
  expect("MaxPool<kernel_shape = [1, 1], strides = [1]>(x)", image, "attribute 'strides': expected 2 values");
  expect("AveragePool<kernel_shape = [1, 1, 1, 1]>(x)", Shape{1, 1, 2, 2, 2, 2},
         "attribute 'kernel_shape': expected at most 3 values, found 4");
  expect("com.microsoft.QLinearConcat<axis = 0>(f, z, r, r, r)", image, "expected a scale of type float, found uint8");
}

TEST(HostileImages, WeightsWithoutElements) {
  const Tensor image(DType::kUInt8, Shape{1, 1, 2, 2}), none(DType::kUInt8, Shape{1, 1, 1, 0});
  const Tensor one = Tensor::Scalar<float>(1), zero = Tensor::Scalar<std::uint8_t>(7);
  const std::string part = "expected a kernel of at least one element, found weights uint8[1,1,1,0]";
  const std::string sums = testing::ErrorOfOp({"ConvInteger", 10, {image, none}});
  EXPECT_NE(sums.find(part), std::string::npos) << sums;
  const std::string bytes = testing::ErrorOfOp({"QLinearConv", 10, {image, one, zero, none, one, zero, one, zero}});
  EXPECT_NE(bytes.find(part), std::string::npos) << bytes;
}

// Of a square region from (0, 0) on a 3 x 3 image of ones.
template <typename T>
T AlignedSquare(T side, const char* mode) {
  const Tensor image = Tensor::Of<T>({1, 1, 1, 1, 1, 1, 1, 1, 1}, Shape{1, 1, 3, 3});
  const Tensor rois = Tensor::Of<T>({0, 0, side, side}, Shape{1, 4});
  const auto y = testing::EvaluateOp({"RoiAlign", 16, {image, rois, Ints({0})}, {{"mode", std::string(mode)}}});
  return testing::Elements<T>(y[0])[0];
}

// Samples outside of the image are counted, not visited: 1e12 of them would take hours.
TEST(HostileImages, RegionsFarLargerThanTheImage) {
  // At 0, 1, 2 and 3 of 2,000 per axis.
  EXPECT_NEAR(AlignedSquare<float>(2000, "avg"), 16 / 4e6, 1e-10);
  EXPECT_NEAR(AlignedSquare<double>(2000, "avg"), 16 / 4e6, 1e-10);
  EXPECT_EQ(AlignedSquare<float>(2000, "max"), 1);
  EXPECT_EQ(AlignedSquare<float>(1e9f, "max"), 0);
  EXPECT_EQ(AlignedSquare<double>(1e9, "avg"), 0);
}

TEST(HostileImages, RegionsOfAnImageWithoutPixels) {
  for (const char* mode : {"max", "avg"}) {
    const auto y = testing::EvaluateOp({"RoiAlign",
                                        16,
                                        {Ones(Shape{1, 1, 0, 3}), Ones(Shape{1, 4}), Ints({0})},
                                        {{"mode", std::string(mode)}, {"sampling_ratio", std::int64_t{2}}}});
    EXPECT_EQ(testing::Elements<float>(y[0]), std::vector<float>{0});
  }
}

// The pads alone make the image: its sums are 0, and the activation behind them still counts.
TEST(HostileImages, AnImageWithoutPixelsHasItsActivation) {
  const auto run = [](const std::string& layout, runtime::OptimizationLevel level) {
    auto model = std::make_shared<Model>(ParseModel(
        R"(<ir_version: 10, opset_import: ["" : 21]> g (float[1, 2, 0, 3] x) => (float[a, b, c, d] y)
           <float[3, 2, 3, 3] w = {)" +
        layout + R"(}, float[3] b = {-1, -2, 0.5}> {
             s = Conv <pads = [2, 2, 2, 2]> (x, w, b)
             y = Relu(s)
           })"));
    runtime::SessionOptions options;
    options.optimization_level = level;
    const auto session = runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
    return session->Run({}, {{"x", Tensor(DType::kFloat, Shape{1, 2, 0, 3})}}, {"y"})[0];
  };
  std::string weights = "1";
  for (int i = 1; i < 54; ++i) weights += ", " + std::to_string(i % 5);
  const Value want = run(weights, runtime::OptimizationLevel::kDisable);
  EXPECT_EQ(want.tensor().data<float>()[0], 0.0f);
  EXPECT_EQ(want.tensor().data<float>()[want.tensor().count() - 1], 0.5f);
  EXPECT_TRUE(testing::AllClose(run(weights, runtime::OptimizationLevel::kAll), want));
}

// No pixels in, none out, and more than one thread to plan for.
TEST(HostileImages, NeitherImageHasPixels) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[1, 2, 0, 3] x, float[2, 2, 1, 1] w) => (float[a, b, c, d] y) { y = Conv(x, w) })"));
  runtime::SessionOptions options;
  options.intra_op_threads = 4;
  const auto session = runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
  const Tensor x(DType::kFloat, Shape{1, 2, 0, 3});
  const auto y = session->Run({}, {{"x", x}, {"w", Ones(Shape{2, 2, 1, 1})}}, {"y"});
  EXPECT_EQ(y[0].tensor().shape(), (Shape{1, 2, 0, 3}));
}

TEST(HostileImages, ScalesBeyondAllSizes) {
  for (const float scale : {1e30f, 1e-30f}) {
    const OpCall call = {"Resize", 19, {Ones(Shape{3}), Value(), Tensor::Of<float>({scale}, Shape{1})}};
    if (scale > 1) {
      ExpectError(call, "expected scales above 0 and at most 1e9, found 1e+30");
    } else {
      EXPECT_EQ(testing::EvaluateOp(call)[0].tensor().count(), 0);
    }
  }
}

TEST(HostileImages, ScalesThatMakeTooMuchOfNoElements) {
  ExpectError(
      {"Resize",
       19,
       {Tensor(DType::kFloat, Shape{0, std::int64_t{1} << 40}), Value(), Tensor::Of<float>({1, 1e9f}, Shape{2})}},
      "expected a scale to a size that can be allocated, found 1e+09 for size 1099511627776");
}

// Where no pixel can be named the value for places outside comes.
TEST(HostileImages, RegionsWithoutEnd) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const auto y = testing::EvaluateOp(
        {"Resize",
         19,
         {Tensor::Of<float>({1, 2, 3, 4}, Shape{4}), Tensor::Of<float>({-inf, inf}, Shape{2}), Value(), Ints({3})},
         {{"mode", std::string(mode)},
          {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
          {"extrapolation_value", 7.0f}}});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(y[0].tensor().data<float>()[i], 7) << mode << ' ' << i;
  }
}

TEST(HostileImages, SizesWhoseScaleIsBeyondAllNumbers) {
  ExpectError({"Resize",
               19,
               {Ones(Shape{1, 4}), Value(), Value(), Ints({std::numeric_limits<std::int64_t>::max(), 4})},
               {{"keep_aspect_ratio_policy", std::string("not_smaller")}}},
              "expected sizes that can be allocated, found 9223372036854775807 for axis 0");
}

}  // namespace
}  // namespace sardonyx::ops
