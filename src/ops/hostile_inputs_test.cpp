// ops/hostile_inputs_test.cpp - absurd numbers in a model or in the inputs of a run, which operators must refuse or
// survive. Most were found by fuzzing.
#include <gtest/gtest.h>

#include <limits>

#include "ir/text.h"
#include "ops/hostile_test.h"
#include "testing/environment.h"

namespace sardonyx::ops {
namespace {

using testing::Floats;
using testing::Ints;
using testing::OpCall;

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

TEST(HostileInputs, PlacesBeyondAllNumbers) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  ExpectError(
      {"TensorScatter", 24, {Ones(Shape{1, 4, 2}), Ones(Shape{1, 2, 2}), Ints({kMost})}, {{"axis", std::int64_t{1}}}},
      "expected write indices in [0, 2], found 9223372036854775807 for batch 0");
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
        "expected an input Z of the shape of the result, [1, 2, 2, 2], found " + ToText(sum));
  }
  const Tensor four = Ones(Shape{4});
  const auto normalize = [&](const Tensor& scale, const Tensor& bias) {
    return OpCall{"GroupNormalization", 21, {Ones(Shape{1, 4, 2}), scale, bias}, {{"num_groups", std::int64_t{2}}}};
  };
  ExpectError(normalize(four, two), "expected 4 values of the bias (input 2), found [2]");
  ExpectError(normalize(two, four), "expected 2 values of the bias (input 2), found [4]");
  const Tensor heads = Ones(Shape{1, 2, 3, 4});
  ExpectError({"Attention", 23, {heads, heads, heads, Value(), Ones(Shape{}), heads}},
              "expected past_key of rank 4, found float");
}

TEST(HostileInputs, ScalesOfRowsThatAreNoRows) {
  const Tensor one = Tensor::Scalar<float>(1), zero = Tensor::Scalar<std::uint8_t>(0), two = Ones(Shape{2});
  const Tensor matrix = Tensor::Of<std::uint8_t>({1, 2, 3, 4}, Shape{2, 2});
  ExpectError({"QLinearMatMul", 21, {matrix, one, zero, matrix, one, zero, two, zero}},
              "by row are not implemented: expected one number in input 6, found shape [2]");
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

// Operators of the library itself have schemas like the others.
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
  expect(last + "QLinearConv(c, s, z, w, s, z, s, z, b)", "input 8 ('B'): expected tensor(int32) in version 1, found");
  expect(last + "FusedConv(x)", "expected 2 to 4 inputs, found 1");
  expect(own + R"(FusedMatMul(x, ""))", "input 1 ('B') is required and missing");
  expect(own + "Lookup8(b)", "expected 2 inputs, found 1");
  expect(own + R"(FusedElementwise <steps = ["Abs"], operands = [0, -1], parameters = [0.0, 0.0], to = 2,
                  output_zero = 300.0> (x))",
         "attribute 'output_zero': expected 0 to 255, found 300");
  expect(own + R"(FusedElementwise <steps = ["Add"], operands = [0, 1], parameters = [0.0, 0.0]> (x, ""))",
         "input 1 ('inputs') is required and missing");
  expect(own + R"(QLinearConvAdd(b, s, b, b, s, b, s, b, "", "", s, b, s, b))",
         "input 9 ('Z') is required and missing");
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
    EXPECT_NE(
        std::string(error.what()).find("(Not, output 'z'): input 0 ('X'): expected an element type that is known"),
        std::string::npos)
        << error.what();
  }
}

// The same before an If: any bytes may be where its condition should be.
TEST(HostileInputs, AConditionOfAnotherType) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (bool c, float x) => (float z) {
      y = If(c) <then_branch = t () => (a) { a = Cast <to = 11> (x) }, else_branch = e () => (b) { b = SequenceConstruct(x) }>
      z = If(y) <then_branch = u () => (float d) { d = Neg(x) }, else_branch = f () => (float h) { h = Abs(x) }>
    })"));
  const auto session = runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), {});
  for (const bool then : {true, false}) {
    try {
      session->Run({}, {{"c", Tensor::Scalar(then)}, {"x", Tensor::Scalar<float>(1)}}, {"z"});
      FAIL() << "expected an error";
    } catch (const Error& error) {
      const std::string found = then ? "double[]" : "no tensor";
      EXPECT_NE(std::string(error.what()).find("expected the condition to be one bool, found " + found),
                std::string::npos)
          << error.what();
    }
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
