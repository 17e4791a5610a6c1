// ops/hostile_inputs_test.cpp - numbers that a run brings and that nobody should believe. Most were found by fuzzing.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/text.h"
#include "testing/environment.h"
#include "testing/evaluate_op.h"
#include "testing/tolerance.h"

namespace sardonyx::ops {
namespace {

using testing::ErrorOfOp;
using testing::Floats;
using testing::Ints;
using testing::OpCall;

Tensor NoInts() { return Tensor(DType::kInt64, Shape{0}); }
Tensor Ones(const Shape& shape) {
  Tensor ones(DType::kFloat, shape);
  std::fill_n(ones.data<float>(), ones.count(), 1.0f);
  return ones;
}

void ExpectError(const OpCall& call, const std::string& part) {
  const std::string found = ErrorOfOp(call);
  EXPECT_NE(found.find(part), std::string::npos) << "expected: " << part << "\nfound: " << found;
}

TEST(HostileInputs, ANumberThatIsNotThere) {
  ExpectError({"Trilu", 14, {Ones(Shape{2, 2}), NoInts()}}, "expected at least 1 numbers, found shape [0]");
  ExpectError({"SequenceAt", 11, {Sequence{DType::kFloat, {Value(Floats({1}))}}, NoInts()}},
              "expected at least 1 numbers, found shape [0]");
  for (std::size_t missing = 0; missing < 3; ++missing) {
    std::vector<Value> inputs = {Tensor::Scalar<float>(0), Tensor::Scalar<float>(2), Tensor::Scalar<float>(1)};
    inputs[missing] = Tensor(DType::kFloat, Shape{0});
    ExpectError({"Range", 11, inputs}, "expected one number in input " + std::to_string(missing) + ", found shape [0]");
  }
}

TEST(HostileInputs, NumbersSpreadOverANegativeSize) {
  ExpectError({"Expand", 13, {Tensor::Scalar<std::int64_t>(5), Ints({-1})}},
              "expected a shape without negative dimensions, found [-1]");
}

TEST(HostileInputs, BlocksOfAnImageThatIsTooLarge) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max() - 1;
  const std::string of_axis = "expected image, block, stride, dilation and pads of axis 1 up to 2147483648, found ";
  const auto call = [](Tensor image, Tensor block, std::vector<std::int64_t> dilations) {
    return OpCall{"Col2Im", 18, {Ones(Shape{1, 4, 9}), image, block}, {{"dilations", std::move(dilations)}}};
  };
  ExpectError(call(Ints({4, 4}), Ints({2, huge}), {1, 2}), of_axis + std::to_string(huge));
  ExpectError(call(Ints({4, huge}), Ints({2, 2}), {1, 1}), std::to_string(huge));
  ExpectError(call(Ints({4, 4}), Ints({2, 2}), {1, huge}), of_axis + std::to_string(huge));
  ExpectError(call(Ints({4, 4, 4}), Ints({1 << 30, 1 << 30, 1 << 30}), {1, 1, 1}), "1073741824");
}

TEST(HostileInputs, RegionsThatAreNoNumbers) {
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
              "expected the number of a batch for region 0, found NaN");
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

TEST(HostileInputs, BlocksOfHugeImages) {
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

TEST(HostileInputs, WindowsBeyondAllImages) {
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
              "expected output_padding of at least 0 and at most 2^31, found [4611686018427387904, 0]");
  ExpectError({"Conv", 11, {image, weights}, {{"group", std::int64_t{1} << 62}}}, "at most 2^31");
  ExpectError({"DeformConv",
               19,
               {image, weights, Ones(Shape{1, 18, 3, 3})},
               {{"offset_group", std::numeric_limits<std::int64_t>::max()}}},
              "expected channels that offset_group 9223372036854775807 divides, found 1");
}

// Where no shape stands in the model, the weights' rank says how many there must be.
TEST(HostileInputs, FewerStridesThanDimensions) {
  const auto error = [](const std::string& node, Shape shape) -> std::string {
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
  expect("Conv<strides = [1]>(x, k)", volume, "expected 3 values of strides for 3 spatial dimensions, found 1");
  expect("ConvTranspose<dilations = [1, 1]>(x, k)", volume, "expected 3 values of dilations");
  expect("Conv<strides = [1]>(x, w)", image, "expected 2 values of strides");
  expect("MaxPool<kernel_shape = [1, 1], strides = [1]>(x)", image, "expected 2 values of strides");
  expect("AveragePool<kernel_shape = [1, 1, 1, 1]>(x)", Shape{1, 1, 2, 2, 2, 2}, "a window of 4 dimensions");
  expect("com.microsoft.QLinearConcat<axis = 0>(f, z, r, r, r)", image, "expected a scale of type float, found uint8");
}

TEST(HostileInputs, WeightsWithoutElements) {
  const Tensor image(DType::kUInt8, Shape{1, 1, 2, 2}), none(DType::kUInt8, Shape{1, 1, 1, 0});
  const auto sums = testing::EvaluateOp({"ConvInteger", 10, {image, none}})[0].tensor();
  EXPECT_EQ(sums.shape(), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(testing::Elements<std::int32_t>(Value(sums)), std::vector<std::int32_t>(6, 0));
  const Tensor one = Tensor::Scalar<float>(1), zero = Tensor::Scalar<std::uint8_t>(7);
  const auto bytes = testing::EvaluateOp({"QLinearConv", 10, {image, one, zero, none, one, zero, one, zero}});
  EXPECT_EQ(testing::Elements<std::uint8_t>(bytes[0]), std::vector<std::uint8_t>(6, 7));
}

TEST(HostileInputs, AxesThatAddUpToOne) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  ExpectError({"ReverseSequence", 10, {Ones(Shape{2, 2}), Ints({2, 2})}, {{"batch_axis", kMost}, {"time_axis", kMost}}},
              "expected batch_axis and time_axis to be 0 and 1");
  ExpectError({"ReverseSequence",
               10,
               {Ones(Shape{2, 2}), Ints({2, 2})},
               {{"batch_axis", std::int64_t{1}}, {"time_axis", std::int64_t{1}}}},
              "expected batch_axis and time_axis to be 0 and 1");
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
TEST(HostileInputs, RegionsFarLargerThanTheImage) {
  // At 0, 1, 2 and 3 of 2,000 per axis.
  EXPECT_NEAR(AlignedSquare<float>(2000, "avg"), 16 / 4e6, 1e-10);
  EXPECT_NEAR(AlignedSquare<double>(2000, "avg"), 16 / 4e6, 1e-10);
  EXPECT_EQ(AlignedSquare<float>(2000, "max"), 1);
  EXPECT_EQ(AlignedSquare<float>(1e9f, "max"), 0);
  EXPECT_EQ(AlignedSquare<double>(1e9, "avg"), 0);
}

TEST(HostileInputs, RegionsOfAnImageWithoutPixels) {
  for (const char* mode : {"max", "avg"}) {
    const auto y = testing::EvaluateOp({"RoiAlign",
                                        16,
                                        {Ones(Shape{1, 1, 0, 3}), Ones(Shape{1, 4}), Ints({0})},
                                        {{"mode", std::string(mode)}, {"sampling_ratio", std::int64_t{2}}}});
    EXPECT_EQ(testing::Elements<float>(y[0]), std::vector<float>{0});
  }
}

TEST(HostileInputs, PlacesBeyondAllNumbers) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  ExpectError(
      {"TensorScatter", 24, {Ones(Shape{1, 4, 2}), Ones(Shape{1, 2, 2}), Ints({kMost})}, {{"axis", std::int64_t{1}}}},
      "write index 9223372036854775807 of batch 0 is outside of [0, 2]");
  ExpectError({"Pad", 13, {Ones(Shape{2}), Ints({std::numeric_limits<std::int64_t>::min(), 0})}},
              "do not fit dimension 0");
  const auto wide = testing::EvaluateOp(
      {"Range",
       11,
       {Tensor::Scalar<std::int64_t>(-kMost), Tensor::Scalar<std::int64_t>(kMost), Tensor::Scalar(kMost / 2 + 1)}});
  EXPECT_EQ(testing::Elements<std::int64_t>(wide[0]),
            (std::vector<std::int64_t>{-kMost, -kMost / 2, 1, kMost / 2 + 2}));
}

// A tensor without elements costs nothing, whatever its other dimensions are: loops over them must not take years.
TEST(HostileInputs, EmptyTensorsOfAnySize) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const Tensor empty(DType::kFloat, Shape{2, kHuge, 0});
  EXPECT_EQ(testing::EvaluateOp({"ReverseSequence",
                                 10,
                                 {empty, Ints({1, 2})},
                                 {{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}}})[0]
                .tensor()
                .count(),
            0);
  EXPECT_EQ(testing::EvaluateOp({"TensorScatter", 24, {empty, empty}, {{"axis", std::int64_t{1}}}})[0].tensor().count(),
            0);
  EXPECT_EQ(testing::EvaluateOp(
                {"Compress", 11, {empty, Tensor::Of<bool>({true, false}, Shape{2})}, {{"axis", std::int64_t{1}}}})[0]
                .tensor()
                .count(),
            0);
  ExpectError({"SplitToSequence", 11, {empty}, {{"axis", std::int64_t{1}}}}, "expected fewer than 16777216 parts");
  const std::vector<Attribute> skips = {{"mode", std::string("TF")},
                                        {"min_gram_length", std::int64_t{1}},
                                        {"max_gram_length", std::int64_t{2}},
                                        {"max_skip_count", std::numeric_limits<std::int64_t>::max()},
                                        {"ngram_counts", std::vector<std::int64_t>{0, 1}},
                                        {"ngram_indexes", std::vector<std::int64_t>{0, 1}},
                                        {"pool_int64s", std::vector<std::int64_t>{1, 1, 2}}};
  EXPECT_EQ(testing::Elements<float>(testing::EvaluateOp({"TfIdfVectorizer", 9, {Ints({1, 5, 2})}, skips})[0]),
            (std::vector<float>{1, 1}));
}

TEST(HostileInputs, WeightsOfNormsThatAreTooShort) {
  const std::vector<Attribute> attributes = {{"num_heads", std::int64_t{1}}, {"kv_num_heads", std::int64_t{1}}};
  const Tensor rows = Ones(Shape{1, 1, 8});
  const Value none;
  ExpectError({.op = "GroupQueryAttention",
               .version = 1,
               .inputs = {rows, rows, rows, none, none, Tensor::Of<std::int32_t>({0}, Shape{1}),
                          Tensor::Of<std::int32_t>({1}, Shape{1}), none, none, none, none, none, none, none,
                          Ones(Shape{2}), Ones(Shape{2})},
               .attributes = attributes,
               .outputs = 3,
               .domain = "com.microsoft"},
              "expected q_norm_weight and k_norm_weight [8], found [2]");
}

// Of a run's sizes nothing is known when the model is loaded: the kernel has to look.
TEST(HostileInputs, ParametersOfAnotherShapeThanTheResult) {
  const Tensor image = Ones(Shape{1, 2, 4, 4}), weights = Ones(Shape{2, 2, 3, 3}), two = Ones(Shape{2});
  for (const Shape& sum : {Shape{}, Shape{1}, Shape{1, 2, 2, 1}, Shape{1, 2, 3, 2}, Shape{2, 2, 2, 2}}) {
    ExpectError(
        {.op = "FusedConv", .version = 1, .inputs = {image, weights, two, Ones(sum)}, .domain = "com.microsoft"},
        "expected an input Z of the result's shape [1, 2, 2, 2], found " + ToText(sum));
  }
  const Tensor four = Ones(Shape{4});
  const auto normalize = [&](const Tensor& scale, const Tensor& bias) {
    return OpCall{"GroupNormalization", 21, {Ones(Shape{1, 4, 2}), scale, bias}, {{"num_groups", std::int64_t{2}}}};
  };
  ExpectError(normalize(four, two), "expected 4 values as input 2, found [2]");
  ExpectError(normalize(two, four), "expected 2 values as input 2, found [4]");
  const Tensor heads = Ones(Shape{1, 2, 3, 4});
  ExpectError({"Attention", 23, {heads, heads, heads, Value(), Ones(Shape{}), heads}},
              "expected past_key of rank 4, found float");
}

TEST(HostileInputs, ScalesOfRowsThatAreNoRows) {
  const Tensor one = Tensor::Scalar<float>(1), zero = Tensor::Scalar<std::uint8_t>(0), two = Ones(Shape{2});
  const Tensor matrix = Tensor::Of<std::uint8_t>({1, 2, 3, 4}, Shape{2, 2});
  ExpectError({"QLinearMatMul", 21, {matrix, one, zero, matrix, one, zero, two, zero}},
              "by row: expected one number in input 6, found shape [2]");
  const Tensor float8(DType::kFloat8E4M3FN, Shape{2, 2}), none8(DType::kFloat8E4M3FN, Shape{});
  for (const std::size_t input : {1, 4}) {
    for (const std::int64_t count : {0, 3}) {
      std::vector<Value> inputs = {float8, one, none8, float8, one, none8, one, none8};
      inputs[input] = Ones(Shape{count});
      ExpectError({"QLinearMatMul", 21, inputs}, "expected 1 or 2 elements of input " + std::to_string(input));
    }
  }
  const Tensor offsets = Ones(Shape{1, 8, 3, 3});  // as many as for taps of [2, 3], and of another shape
  ExpectError({"DeformConv", 22, {Ones(Shape{1, 1, 4, 4}), Ones(Shape{1, 1, 2, 3}), offsets}},
              "expected [1, 12, 3, 2] as input 2, found [1, 8, 3, 3]");
}

// How many axes go was believed to be the number of axes given; what the kernel then made went nowhere.
TEST(HostileInputs, AxesThatAreGivenTwice) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[a, b, c] x, int64[n] axes) => (float[p] y) { y = ReduceSum <keepdims = 0> (x, axes) })"));
  const auto session = runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), {});
  const auto y = session->Run({}, {{"x", Ones(Shape{2, 3, 4})}, {"axes", Ints({0, 1, 0})}}, {"y"});
  EXPECT_EQ(testing::Elements<float>(y[0]), (std::vector<float>{6, 6, 6, 6}));
}

TEST(HostileInputs, BlocksOfNothing) {
  ExpectError({.op = "GatherBlockQuantized",
               .version = 1,
               .inputs = {Tensor(DType::kUInt4, Shape{0, 16}), Ints({0}), Tensor(DType::kFloat, Shape{0, 16}),
                          Tensor(DType::kUInt4, Shape{0, 16})},
               .attributes = {{"quantize_axis", std::int64_t{0}}, {"block_size", std::int64_t{16}}},
               .domain = "com.microsoft"},
              "expected data with elements along quantize_axis 0, found shape [0, 16]");
}

// The pads alone make the image: its sums are 0, and the activation behind them still counts.
TEST(HostileInputs, AnImageWithoutPixelsHasItsActivation) {
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
TEST(HostileInputs, NeitherImageHasPixels) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[1, 2, 0, 3] x, float[2, 2, 1, 1] w) => (float[a, b, c, d] y) { y = Conv(x, w) })"));
  runtime::SessionOptions options;
  options.intra_op_threads = 4;
  const auto session = runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
  const Tensor x(DType::kFloat, Shape{1, 2, 0, 3});
  const auto y = session->Run({}, {{"x", x}, {"w", Ones(Shape{2, 2, 1, 1})}}, {"y"});
  EXPECT_EQ(y[0].tensor().shape(), (Shape{1, 2, 0, 3}));
}

TEST(HostileInputs, AVariadicInputWithoutAName) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[4] x) => (float[n] y) { [join] y = Concat <axis = 0> ("", x) })"));
  try {
    runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), {});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("node 'join' (Concat): input 0 ('inputs') is required and missing"),
              std::string::npos)
        << error.what();
  }
}

// Of these no schema tells what they need.
TEST(HostileInputs, OwnOperatorsWithoutTheirInputs) {
  const auto error = [](const std::string& node) -> std::string {
    auto model = std::make_shared<Model>(ParseModel(
        R"(<ir_version: 10, opset_import: ["" : 21, "ai.sardonyx" : 1, "com.ms.internal.nhwc" : 1]>
           g (float[1, 4, 4, 2] x, uint8[1, 4, 4, 2] c, uint8[2, 2, 1, 1] w, uint8 z, uint8[2] b, float s) => (y)
           { [it] y = )" +
        node + " }"));
    try {
      runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), {});
    } catch (const Error& found) {
      return found.what();
    }
    return "no error";
  };
  const auto expect = [&](const std::string& node, const std::string& part) {
    EXPECT_NE(error(node).find(part), std::string::npos) << node << ": " << error(node);
  };
  const std::string last = "com.ms.internal.nhwc.", own = "ai.sardonyx.";
  expect(last + R"(AveragePool <kernel_shape = [2, 2]> (""))",
         "(com.ms.internal.nhwc.AveragePool): input 0 ('X') is required");
  expect(last + "Conv(x)", "expected 2 to 3 inputs, found 1");
  expect(R"(com.microsoft.SimplifiedLayerNormalization("", s))", "input 0 ('X') is required and missing");
  // A bias of bytes would be read as one of integers.
  expect(last + "QLinearConv(c, s, z, w, s, z, s, z, b)", "input 8 ('B'): expected tensor(int32), found");
  expect(last + "FusedConv(x)", "expected 2 to 4 inputs, found 1");
  expect(own + R"(FusedMatMul(x, ""))", "input 1 is required and missing");
  expect(own + "Lookup8(b)", "expected 2 inputs, found 1");
  expect(own + R"(FusedElementwise <steps = ["Abs"], operands = [0, -1], parameters = [0.0, 0.0], to = 2,
                  output_zero = 300.0> (x))",
         "expected output_zero from 0 to 255, found 300");
  expect(own + R"(FusedElementwise <steps = ["Add"], operands = [0, 1], parameters = [0.0, 0.0]> (x, ""))",
         "input 1 is required and missing");
  expect(own + R"(QLinearConvAdd(b, s, b, b, s, b, s, b, "", "", s, b, s, b))", "input 9 is required and missing");
  EXPECT_EQ(error(own + R"(FusedMatMul(x, x))").find("required"), std::string::npos);
}

TEST(HostileInputs, AMaskWithoutKeysHidesAllOfThem) {
  const auto attend = [](const Tensor& mask) {
    const Shape heads{1, 2, 3, 4};
    return testing::EvaluateOp({"Attention", 23, {Ones(heads), Ones(heads), Ones(heads), mask}})[0].tensor();
  };
  Tensor hidden = Ones(Shape{2, 3, 3});
  std::fill_n(hidden.data<float>(), hidden.count(), -std::numeric_limits<float>::infinity());
  const Tensor want = attend(hidden), found = attend(Tensor(DType::kFloat, Shape{2, 3, 0}));
  ASSERT_EQ(found.count(), want.count());
  for (std::int64_t i = 0; i < want.count(); ++i) {
    const float a = found.data<float>()[i], b = want.data<float>()[i];
    EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i << ": " << a << " instead of " << b;
  }
}

// That nothing is counted from an address that is not there, tests/fuzz/regressions/model/sums_of_no_* show.
TEST(HostileInputs, SumsOfNoRows) {
  const auto y = testing::EvaluateOp({"ReduceSum", 13, {Tensor(DType::kFloat, Shape{3, 0, 40}), Ints({1})}});
  ASSERT_EQ(y[0].tensor().count(), 120);
  for (int i = 0; i < 120; ++i) EXPECT_EQ(y[0].tensor().data<float>()[i], 0);
}

TEST(HostileInputs, ScalesThatAreNotThere) {
  const Tensor none(DType::kFloat, Shape{0}), one = Tensor::Scalar<float>(1), zero = Tensor::Scalar<std::uint8_t>(0);
  const Tensor image = Tensor::Of<std::uint8_t>({1, 2, 3, 4}, Shape{1, 1, 2, 2});
  const Tensor window = Tensor::Of<std::uint8_t>({1}, Shape{1, 1, 1, 1});
  const Tensor matrix = Tensor::Of<std::uint8_t>({1, 2, 3, 4}, Shape{2, 2});
  for (const std::size_t missing : {std::size_t{1}, std::size_t{4}, std::size_t{6}}) {
    std::vector<Value> conv = {image, one, zero, window, one, zero, one, zero};
    conv[missing] = none;
    ExpectError({"QLinearConv", 10, conv}, missing == 4 ? "scales of the weights, found [0]"
                                                        : "expected one scale in input " + std::to_string(missing));
    std::vector<Value> product = {matrix, one, zero, matrix, one, zero, one, zero};
    product[missing] = none;
    ExpectError({"QLinearMatMul", 21, product}, "input " + std::to_string(missing) + ", found ");
  }
}

// Reshape 1 lets its attribute be missing; the input that it became must be there.
TEST(HostileInputs, AttributesThatBecameInputs) {
  auto model = std::make_shared<Model>();
  model->opset_imports = {{"", 1}};
  model->graph = ParseGraph("g () => (float[2] y) <float[2] x = {1, 2}> { y = Reshape(x) }");
  model->graph.opset_imports = model->opset_imports;
  std::string error;
  try {
    runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), {});
  } catch (const Error& failed) {
    error = failed.what();
  }
  EXPECT_NE(error.find("expected attribute 'shape' in version 1"), std::string::npos) << error;
}

TEST(HostileInputs, ScalesBeyondAllSizes) {
  for (const float scale : {1e30f, 1e-30f}) {
    const OpCall call = {"Resize", 19, {Ones(Shape{3}), Value(), Tensor::Of<float>({scale}, Shape{1})}};
    if (scale > 1) {
      ExpectError(call, "expected scales above 0, at most 1e9, found 1e+30");
    } else {
      EXPECT_EQ(testing::EvaluateOp(call)[0].tensor().count(), 0);
    }
  }
}

TEST(HostileInputs, ScalesThatMakeTooMuchOfNoElements) {
  ExpectError(
      {"Resize",
       19,
       {Tensor(DType::kFloat, Shape{0, std::int64_t{1} << 40}), Value(), Tensor::Of<float>({1, 1e9f}, Shape{2})}},
      "expected a scale that gives a size which can be allocated, found 1e+09 for size 1099511627776");
}

// Where a conversion could not say the length, the type's least number comes; the largest that fits comes as it is.
template <typename T>
T LengthOf(std::initializer_list<T> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return testing::Elements<T>(testing::EvaluateOp({"ReduceL2", 18, {Tensor::Of<T>(values, Shape{count})}})[0])[0];
}
TEST(HostileInputs, LengthsBeyondAllIntegers) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost32 = std::numeric_limits<std::int32_t>::max();
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(LengthOf<std::int64_t>({kLeast}), kLeast);
  EXPECT_EQ(LengthOf<std::uint32_t>({kMost, kMost}), 0u);
  EXPECT_EQ(LengthOf<std::uint32_t>({kMost}), kMost);
  EXPECT_EQ(LengthOf<std::int32_t>({kMost32, kMost32}), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(LengthOf<std::int32_t>({kMost32}), kMost32);
}

// Where no pixel can be named the value for places outside comes.
TEST(HostileInputs, RegionsWithoutEnd) {
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

TEST(HostileInputs, SizesWhoseScaleIsBeyondAllNumbers) {
  ExpectError({"Resize",
               19,
               {Ones(Shape{1, 4}), Value(), Value(), Ints({std::numeric_limits<std::int64_t>::max(), 4})},
               {{"keep_aspect_ratio_policy", std::string("not_smaller")}}},
              "expected sizes that can be allocated, found 9223372036854775807 for axis 0");
}

TEST(HostileInputs, ARequiredOutputWithoutAName) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[4] x, int64[1] k) => (int64[n] i, float[m] c) {
      "", i = TopK(x, k)
      "", c = Split <num_outputs = 2> (x)
    })"));
  for (const auto level : {runtime::OptimizationLevel::kDisable, runtime::OptimizationLevel::kAll}) {
    runtime::SessionOptions options;
    options.optimization_level = level;
    const auto session = runtime::Session::FromModel(testing::TestEnvironment(), model, std::move(options));
    const auto results = session->Run({}, {{"x", Floats({1, 4, 3, 2})}, {"k", Ints({1})}}, {"i", "c"});
    EXPECT_EQ(testing::Elements<std::int64_t>(results[0]), std::vector<std::int64_t>{1});
    EXPECT_EQ(testing::Elements<float>(results[1]), (std::vector<float>{3, 2}));
  }
}

// The branches differ, and nobody knows which it will be: the kernel behind them can't be chosen.
TEST(HostileInputs, AnElementTypeThatIsNotKnown) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (bool c, float[4] x) => (float[n] z) {
      y = If(c) <then_branch = t () => (a) { a = Cast <to = 11> (x) }, else_branch = e () => (b) { b = Cast <to = 7> (x) }>
      z = Not(y)
    })"));
  try {
    const auto session = runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), {});
    session->Run({}, {{"c", Tensor::Scalar<bool>(true)}, {"x", Floats({1, 2, 3, 4})}}, {"z"});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("(Not, output 'z'): input 0: expected an element type that is known"),
              std::string::npos)
        << error.what();
  }
}

TEST(HostileInputs, ASequenceOfAnotherType) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (seq(float[n]) s, int64 p) => (float[n] y) {
      e = SequenceAt(s, p)
      y = Relu(e)
    })"));
  const auto session = runtime::Session::FromModel(testing::TestEnvironment(), model, {});
  const Value wrong = Sequence{DType::kInt8, {Value(Tensor(DType::kInt8, Shape{4}))}};
  try {
    session->Run({}, {{"s", wrong}, {"p", Tensor::Scalar<std::int64_t>(0)}}, {"y"});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("input 's': expected seq(float[n]), found an element of type tensor(int8)"),
        std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sardonyx::ops
