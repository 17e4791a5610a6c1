// ops/ml/models_test.cpp - linear and support vector models, categories and maps of ai.onnx.ml; Tokenizer. tests/ml
// compares all of them with ONNX Runtime over random models.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Words = std::vector<std::string>;
using Text = std::string;
using Attributes = std::vector<Attribute>;

std::vector<Value> Ml(std::string_view op, Value x, Attributes attributes, std::size_t outputs = 1) {
  return EvaluateOp({op, 1, {std::move(x)}, std::move(attributes), outputs, "ai.onnx.ml"});
}
Text MlError(std::string_view op, Value x, Attributes attributes, std::size_t outputs = 1) {
  return ErrorOfOp({op, 1, {std::move(x)}, std::move(attributes), outputs, "ai.onnx.ml"});
}
void ExpectIn(std::string_view part, const Text& whole) { EXPECT_NE(whole.find(part), Text::npos) << whole; }

const Tensor kRows = Tensor::Of<float>({1, -2, 3, 4}, Shape{2, 2});

TEST(MlLinear, ClassifiesByTheLargestScoreOrTheSignOfOne) {
  std::vector<Value> y = Ml("LinearClassifier", kRows,
                            {{"coefficients", Reals{1, 0, 0, 1, 1, 1}},
                             {"intercepts", Reals{0, 0, -0.5f}},
                             {"classlabels_ints", Longs{4, 5, 6}}},
                            2);
  EXPECT_EQ(Elements<std::int64_t>(y[0]), (Longs{4, 6}));
  EXPECT_EQ(Elements<float>(y[1]), (Reals{1, -2, -1.5f, 3, 4, 6.5f}));
  y = Ml("LinearClassifier", Tensor::Of<std::int64_t>({1, -2, 3, 4}, Shape{2, 2}),
         {{"coefficients", Reals{0, 0.25f}}, {"intercepts", Reals{0}}, {"classlabels_strings", Words{"no", "yes"}}}, 2);
  EXPECT_EQ(Elements<std::string>(y[0]), (Words{"no", "yes"}));
  EXPECT_EQ(Elements<float>(y[1]), (Reals{1.5f, -0.5f, 0, 1}));
  EXPECT_EQ(Ml("LinearClassifier", Tensor(DType::kFloat, Shape{0, 2}),
               {{"coefficients", Reals{0, 1}}, {"intercepts", Reals{0}}, {"classlabels_ints", Longs{0, 1}}}, 2)[1]
                .tensor()
                .shape(),
            (Shape{0, 2}));
}

TEST(MlLinear, Regresses) {
  const Tensor doubles = Tensor::Of<double>({1, -2, 3, 4}, Shape{2, 2});
  const Attributes attributes = {
      {"coefficients", Reals{1, 0, 0, 2}}, {"intercepts", Reals{0.5f, 0}}, {"targets", std::int64_t{2}}};
  EXPECT_EQ(Elements<float>(Ml("LinearRegressor", doubles, attributes)[0]), (Reals{1.5f, -4, 3.5f, 8}));
}

// The first ones count, for the features that the input has, known when the model is loaded or not. Expected: ONNX
// Runtime 1.31.1.
TEST(MlLinear, TakesMoreCoefficientsThanTheInputHasFeatures) {
  const Tensor rows = Tensor::Of<float>({1, 2, -1, 0.5f}, Shape{2, 2});
  const Reals expected = {5.5f, 11.5f, 0.5f, -0.5f};
  const Attributes classifier = {
      {"coefficients", Reals{1, 2, 3, 4, 5, 6}}, {"intercepts", Reals{0.5f, 0.5f}}, {"classlabels_ints", Longs{0, 1}}};
  const Attributes regressor = {
      {"coefficients", Reals{1, 2, 3, 4, 5}}, {"intercepts", Reals{0.5f, 0.5f}}, {"targets", std::int64_t{2}}};
  EXPECT_EQ(Elements<float>(Ml("LinearClassifier", rows, classifier, 2)[1]), expected);
  EXPECT_EQ(Elements<float>(Ml("LinearRegressor", rows, regressor)[0]), expected);
}

TEST(MlLinear, RefusesCoefficientsThatDoNotFit) {
  const Attributes labels = {{"classlabels_ints", Longs{0, 1}}, {"intercepts", Reals{0, 0}}};
  const auto with = [&](Reals coefficients) {
    Attributes attributes = labels;
    attributes.push_back({"coefficients", std::move(coefficients)});
    return attributes;
  };
  ExpectIn("'coefficients': expected a multiple of 2 values", MlError("LinearClassifier", kRows, with({1, 2, 3}), 2));
  ExpectIn("expected 1 features", MlError("LinearClassifier", kRows, with({1, 2}), 2));
  ExpectIn("'coefficients' is required and missing or empty", MlError("LinearClassifier", kRows, labels, 2));
  ExpectIn(
      "expected a label for each of 3 intercepts, found 1",
      MlError("LinearClassifier", kRows,
              {{"coefficients", Reals{1, 2, 3}}, {"intercepts", Reals{0, 0, 0}}, {"classlabels_ints", Longs{1}}}, 2));
  ExpectIn("expected one of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT; found 'EXP'",
           MlError("LinearRegressor", kRows, {{"coefficients", Reals{1, 2}}, {"post_transform", Text("EXP")}}));
  ExpectIn("expected an input [N, F] or [F], found shape [1, 1, 2]",
           MlError("LinearRegressor", Tensor(DType::kFloat, Shape{1, 1, 2}), {{"coefficients", Reals{1, 2}}}));
}

const Attributes kSvm = {{"kernel_type", Text("RBF")},
                         {"kernel_params", Reals{0.5f, 0, 3}},
                         {"support_vectors", Reals{1, -2, 3, 5}},
                         {"coefficients", Reals{1, -1}},
                         {"rho", Reals{0.25f}}};

Attributes Svm(const Attributes& more) {
  Attributes attributes = kSvm;
  for (const Attribute& attribute : more) {
    std::erase_if(attributes, [&](const Attribute& a) { return a.name == attribute.name; });
    attributes.push_back(attribute);
  }
  return attributes;
}

TEST(MlSvm, ScoresByTheKernelOfSupportVectors) {
  const std::vector<Value> y =
      Ml("SVMClassifier", kRows, Svm({{"vectors_per_class", Longs{1, 1}}, {"classlabels_ints", Longs{8, 9}}}), 2);
  const float far = std::exp(-0.5f), score = 0.25f - far;  // row 1 is at distance 1 from the second vector
  EXPECT_EQ(Elements<std::int64_t>(y[0]), (Longs{8, 9}));
  EXPECT_NEAR(Elements<float>(y[1])[0], -1.25f, 1e-6);
  EXPECT_NEAR(Elements<float>(y[1])[3], score, 1e-6);
  const Value regressed = Ml("SVMRegressor", kRows, Svm({{"n_supports", std::int64_t{2}}}))[0];
  EXPECT_NEAR(Elements<float>(regressed)[0], 1.25f, 1e-6);
  EXPECT_NEAR(Elements<float>(regressed)[1], score, 1e-6);
  EXPECT_EQ(Elements<float>(
                Ml("SVMRegressor", kRows, Svm({{"n_supports", std::int64_t{2}}, {"one_class", std::int64_t{1}}}))[0]),
            (Reals{1, -1}));
}

TEST(MlSvm, RefusesListsThatDoNotFitTogether) {
  const Attributes two = {{"vectors_per_class", Longs{1, 1}}, {"classlabels_ints", Longs{8, 9}}};
  const auto error = [&](const Attributes& more) {
    Attributes all = two;
    all.insert(all.end(), more.begin(), more.end());
    return MlError("SVMClassifier", kRows, Svm(all), 2);
  };
  ExpectIn("'support_vectors': expected a multiple of 2 values, found 3", error({{"support_vectors", Reals{1, 2, 3}}}));
  ExpectIn("'coefficients': expected at least 2 values, found 1", error({{"coefficients", Reals{1}}}));
  ExpectIn("'rho' is required", error({{"rho", Reals{}}}));
  ExpectIn("as many values in 'prob_b' as in 'prob_a'", error({{"prob_a", Reals{1}}}));
  ExpectIn("expected gamma, coef0 and degree, found 1 values", error({{"kernel_params", Reals{1}}}));
  ExpectIn("expected one of LINEAR, POLY, RBF, SIGMOID; found 'COSINE'", error({{"kernel_type", Text("COSINE")}}));
  ExpectIn("one count for each of 2 classes, found 1", error({{"vectors_per_class", Longs{2}}}));
  ExpectIn("'vectors_per_class': expected counts of at least 0 with a sum of at most 2^40, found -1",
           error({{"vectors_per_class", Longs{3, -1}}}));
  ExpectIn("expected one for each of 3 support vectors, found 2",
           MlError("SVMRegressor", kRows, Svm({{"n_supports", std::int64_t{3}}})));
}

TEST(MlCategories, MapAndEncode) {
  const Attributes lists = {{"cats_strings", Words{"a", "b"}}, {"cats_int64s", Longs{3, 4}}};
  EXPECT_EQ(Elements<std::int64_t>(Ml("CategoryMapper", Tensor::Of<std::string>({"b", "x"}, Shape{2}), lists)[0]),
            (Longs{4, -1}));
  EXPECT_EQ(Elements<std::string>(Ml("CategoryMapper", Ints({3, 9}), lists)[0]), (Words{"a", "_Unused"}));
  ExpectIn("as many values in 'cats_int64s' as in 'cats_strings', and at least one, found 2 and 1",
           MlError("CategoryMapper", Ints({1}), {{"cats_strings", Words{"a"}}, {"cats_int64s", Longs{3, 4}}}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Elements<float>(Ml("OneHotEncoder", Floats({2.5f, nan, 1e30f}), {{"cats_int64s", Longs{1, 2}}})[0]),
            (Reals{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(
      Elements<float>(Ml("OneHotEncoder", Tensor::Of<std::int32_t>({1}, Shape{1}), {{"cats_int64s", Longs{1}}})[0]),
      (Reals{1}));
  ExpectIn("expected one of the 1 categories as element 1",
           MlError("OneHotEncoder", Ints({1, 2}), {{"cats_int64s", Longs{1}}, {"zeros", std::int64_t{0}}}));
  ExpectIn("expected categories of the input's kind",
           MlError("OneHotEncoder", Ints({1}), {{"cats_strings", Words{"a"}}}));
  ExpectIn("one of 'cats_strings' and 'cats_int64s', found 0 and 0", MlError("OneHotEncoder", Ints({1}), {}));
}

TEST(MlMaps, CastAndVectorize) {
  const Value map = Map{Ints({0, 2}), Tensor::Of<std::string>({"1.5", "-2"}, Shape{2})};
  const Attributes sparse = {{"map_form", Text("SPARSE")}, {"max_map", std::int64_t{3}}};
  EXPECT_EQ(Elements<float>(Ml("CastMap", map, sparse)[0]), (Reals{1.5f, 0, -2}));
  EXPECT_EQ(Elements<std::int64_t>(Ml("CastMap", map, {{"cast_to", Text("TO_INT64")}})[0]), (Longs{1, -2}));
  ExpectIn("expected keys of 0 or more, found -1", MlError("CastMap", Map{Ints({-1}), Floats({1})}, sparse));
  ExpectIn("begins with a number of the output's type, found 'x'",
           MlError("CastMap", Map{Ints({1}), Tensor::Of<std::string>({"x"}, Shape{1})}, {}));
  ExpectIn("expected a map, found tensor(float)", MlError("CastMap", Floats({1}), {}));
  const Value numbers = Map{Tensor::Of<std::string>({"a", "c"}, Shape{2}), Ints({7, 8})};
  EXPECT_EQ(Elements<std::int64_t>(Ml("DictVectorizer", numbers, {{"string_vocabulary", Words{"c", "b", "c"}}})[0]),
            (Longs{8, 0, 8}));
  ExpectIn("keys of the vocabulary's type, int64, found string",
           MlError("DictVectorizer", numbers, {{"int64_vocabulary", Longs{1}}}));
  ExpectIn("expected a vocabulary in one of", MlError("DictVectorizer", numbers, {}));
}

TEST(MlMaps, ZipMapSortsItsKeysAndKeepsTheLastOfEquals) {
  const Value y = Ml("ZipMap", kRows, {{"classlabels_strings", Words{"b", "a"}}})[0];
  ASSERT_EQ(y.sequence().items.size(), 2u);
  const Map& second = y.sequence().items[1].map();
  EXPECT_EQ(Elements<std::string>(second.keys), (Words{"a", "b"}));
  EXPECT_EQ(Elements<float>(second.values), (Reals{4, 3}));
  const Value same = Ml("ZipMap", kRows, {{"classlabels_int64s", Longs{1, 1}}})[0];
  EXPECT_EQ(Elements<float>(same.sequence().items[0].map().values), (Reals{-2}));
  ExpectIn("expected 1 columns, as there are labels", MlError("ZipMap", kRows, {{"classlabels_int64s", Longs{1}}}));
  ExpectIn("expected labels in one of", MlError("ZipMap", kRows, {}));
}

// ---- com.microsoft.Tokenizer

OpCall Tokenizer(Tensor x, const Attributes& more) {
  Attributes attributes = {{"mark", std::int64_t{0}}, {"mincharnum", std::int64_t{1}}, {"pad_value", Text("#")}};
  for (const Attribute& attribute : more) {
    std::erase_if(attributes, [&](const Attribute& a) { return a.name == attribute.name; });
    attributes.push_back(attribute);
  }
  return {"Tokenizer", 1, {std::move(x)}, std::move(attributes), 1, "com.microsoft"};
}

TEST(Tokenizer, CutsAtSeparatorsFindsTokensOrTakesCharacters) {
  const Tensor x = Tensor::Of<std::string>({"a b,c", "é"}, Shape{2});
  EXPECT_EQ(Elements<std::string>(EvaluateOp(Tokenizer(x, {{"separators", Words{" ", ","}}}))[0]),
            (Words{"a", "b", "c", "é", "#", "#"}));
  EXPECT_EQ(Elements<std::string>(EvaluateOp(Tokenizer(x, {{"tokenexp", Text("[a-z]")}}))[0]),
            (Words{"a", "b", "c", "#", "#", "#"}));
  EXPECT_EQ(Elements<std::string>(EvaluateOp(Tokenizer(x, {{"separators", Words{""}}, {"mark", std::int64_t{1}}}))[0]),
            (Words{"\x02", "a", " ", "b", ",", "c", "\x03", "\x02", "é", "\x03", "#", "#", "#", "#"}));
  const Value empty = EvaluateOp(Tokenizer(Tensor(DType::kString, Shape{3, 0}), {{"tokenexp", Text("a")}}))[0];
  EXPECT_EQ(empty.tensor().shape(), (Shape{3, 0}));
  // An expression that matches nothing at all ends.
  EXPECT_EQ(EvaluateOp(Tokenizer(x, {{"tokenexp", Text("z*")}}))[0].tensor().shape(), (Shape{2, 0}));
}

TEST(Tokenizer, RefusesBrokenTextAndExpressions) {
  const Tensor x = Tensor::Of<std::string>({"ok", "\xc3("}, Shape{2});
  ExpectIn("expected valid UTF-8 in the input, found other bytes in element 1",
           ErrorOfOp(Tokenizer(x, {{"tokenexp", Text("a")}})));
  ExpectIn("attribute 'tokenexp': expected a regular expression, found '(': missing",
           ErrorOfOp(Tokenizer(x, {{"tokenexp", Text("(")}})));
  ExpectIn("expected an attribute 'separators' or 'tokenexp'", ErrorOfOp(Tokenizer(x, {})));
  ExpectIn("'mincharnum': expected 1 or more, found 0",
           ErrorOfOp(Tokenizer(x, {{"tokenexp", Text("a")}, {"mincharnum", std::int64_t{0}}})));
  ExpectIn("expected 1 where characters are tokens, found 2",
           ErrorOfOp(Tokenizer(x, {{"tokenexp", Text(".")}, {"mincharnum", std::int64_t{2}}})));
}

}  // namespace
}  // namespace sardonyx::testing
