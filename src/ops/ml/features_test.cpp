// ops/ml/features_test.cpp - features of ai.onnx.ml: extracting, scaling, imputing, encoding labels.
#include <gtest/gtest.h>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Words = std::vector<std::string>;
using Text = std::string;

std::vector<Value> Ml(std::string_view op, int version, std::vector<Value> inputs,
                      std::vector<Attribute> attributes = {}) {
  return EvaluateOp({op, version, std::move(inputs), std::move(attributes), 1, "ai.onnx.ml"});
}
Text MlError(std::string_view op, int version, std::vector<Value> inputs, std::vector<Attribute> attributes = {}) {
  return ErrorOfOp({op, version, std::move(inputs), std::move(attributes), 1, "ai.onnx.ml"});
}

const Tensor kRows = Tensor::Of<float>({1, -2, 3, 4}, Shape{2, 2});

TEST(MlFeatures, ExtractScaleAndNormalize) {
  EXPECT_EQ(Elements<float>(Ml("ArrayFeatureExtractor", 1, {kRows, Ints({1})})[0]), (Reals{-2, 4}));
  EXPECT_NE(MlError("ArrayFeatureExtractor", 1, {kRows, Ints({2})}).find("expected indices in [0, 1], found 2"),
            Text::npos);
  EXPECT_EQ(Elements<float>(Ml("Binarizer", 1, {kRows}, {{"threshold", 1.0f}})[0]), (Reals{0, 0, 1, 1}));
  EXPECT_EQ(Elements<float>(Ml("Scaler", 1, {kRows}, {{"offset", Reals{1, 0}}, {"scale", Reals{2}}})[0]),
            (Reals{0, -4, 4, 8}));
  EXPECT_NE(MlError("Scaler", 1, {kRows}, {{"offset", Reals{1, 0, 2}}}).find("expected 1 or 2 offsets"), Text::npos);
  EXPECT_EQ(Elements<float>(Ml("Normalizer", 1, {kRows}, {{"norm", Text("L2")}})[0])[3], 0.8f);
  EXPECT_NE(MlError("Normalizer", 1, {kRows}, {{"norm", Text("L3")}}).find("found 'L3'"), Text::npos);
}

TEST(MlFeatures, ImputeAndJoin) {
  const Tensor x = Tensor::Of<std::int64_t>({1, 0, 0, 4}, Shape{2, 2});
  EXPECT_EQ(Elements<std::int64_t>(Ml("Imputer", 1, {x}, {{"imputed_value_int64s", Longs{7, 8}}})[0]),
            (Longs{1, 8, 7, 4}));
  EXPECT_NE(MlError("Imputer", 1, {x}).find("expected imputed values"), Text::npos);
  EXPECT_EQ(Elements<float>(Ml("FeatureVectorizer", 1, {x, kRows})[0]), (Reals{1, 0, 1, -2, 0, 4, 3, 4}));
  EXPECT_NE(MlError("FeatureVectorizer", 1, {x, Floats({1})}).find("inputs of 2 rows"), Text::npos);
  EXPECT_EQ(Elements<float>(Ml("FeatureVectorizer", 1, {x, kRows}, {{"inputdimensions", Longs{1, 3}}})[0]),
            (Reals{1, 1, -2, 0, 0, 3, 4, 0}));
  EXPECT_NE(MlError("FeatureVectorizer", 1, {x, kRows}, {{"inputdimensions", Longs{2}}}).find("expected 2 values"),
            Text::npos);
}

TEST(MlLabelEncoder, MapsWithDefaults) {
  const Tensor words = Tensor::Of<std::string>({"a", "x"}, Shape{2});
  const std::vector<Attribute> attributes = {{"keys_strings", Words{"a", "b"}}, {"values_int64s", Longs{7, 8}}};
  EXPECT_EQ(Elements<std::int64_t>(Ml("LabelEncoder", 4, {words}, attributes)[0]), (Longs{7, -1}));
  EXPECT_EQ(Elements<std::string>(Ml("LabelEncoder", 1, {Ints({1, 5})}, {{"classes_strings", Words{"a", "b"}}})[0]),
            (Words{"b", "_Unused"}));
  EXPECT_NE(MlError("LabelEncoder", 4, {Ints({1})}, attributes)
                .find("expected keys of the input's type, int64, found string"),
            Text::npos);
}

}  // namespace
}  // namespace sardonyx::testing
