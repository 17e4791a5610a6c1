// ops/ml/tree_test.cpp - tree ensembles of ai.onnx.ml: modes, aggregates, two-class rules, broken models. tests/ml
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

const float kNan = std::numeric_limits<float>::quiet_NaN();

// One split on feature 1, leaves 1 (true) and 2 (false).
Attributes OneSplit(const Text& mode, float value, std::int64_t missing = 0) {
  return {{"nodes_treeids", Longs{0, 0, 0}},      {"nodes_nodeids", Longs{0, 1, 2}},
          {"nodes_featureids", Longs{1, 0, 0}},   {"nodes_modes", Words{mode, "LEAF", "LEAF"}},
          {"nodes_values", Reals{value, 0, 0}},   {"nodes_truenodeids", Longs{1, 0, 0}},
          {"nodes_falsenodeids", Longs{2, 0, 0}}, {"nodes_missing_value_tracks_true", Longs{missing, 0, 0}}};
}

Attributes With(Attributes attributes, const Attributes& more) {
  for (const Attribute& attribute : more) {
    const auto same = [&](const Attribute& a) { return a.name == attribute.name; };
    std::erase_if(attributes, same);
    attributes.push_back(attribute);
  }
  return attributes;
}

Attributes Regressor(const Text& mode, float value, std::int64_t missing = 0) {
  return With(OneSplit(mode, value, missing), {{"target_treeids", Longs{0, 0}},
                                               {"target_nodeids", Longs{1, 2}},
                                               {"target_ids", Longs{0, 0}},
                                               {"target_weights", Reals{1, 0}},
                                               {"n_targets", std::int64_t{1}}});
}

OpCall Call(std::string_view op, Tensor x, Attributes attributes, std::size_t outputs = 1) {
  return {op, 3, {std::move(x)}, std::move(attributes), outputs, "ai.onnx.ml"};
}
Reals Regress(Tensor x, Attributes attributes) {
  return Elements<float>(EvaluateOp(Call("TreeEnsembleRegressor", std::move(x), std::move(attributes)))[0]);
}
Text RegressorError(Attributes attributes, Tensor x = Tensor(DType::kFloat, Shape{1, 2})) {
  return ErrorOfOp(Call("TreeEnsembleRegressor", std::move(x), std::move(attributes)));
}

const Tensor kRows = Tensor::Of<float>({1, -2, 3, 4}, Shape{2, 2});

TEST(MlTree, SumsTheLeavesOfAllTrees) {
  const Attributes attributes =
      With(Regressor("BRANCH_LT", 0), {{"target_weights", Reals{10, 20}}, {"base_values", Reals{0.5f}}});
  EXPECT_EQ(Regress(kRows, attributes), (Reals{10.5, 20.5}));
}

TEST(MlTree, EveryModeComparesAsItsNameSays) {
  const Tensor x = Tensor::Of<float>({0, 1, 0, 2, 0, 3, 0, kNan, 0, -0.0f, 0, -INFINITY}, Shape{6, 2});
  EXPECT_EQ(Regress(x, Regressor("BRANCH_LEQ", 2)), (Reals{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(Regress(x, Regressor("BRANCH_LT", 2)), (Reals{1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(Regress(x, Regressor("BRANCH_GTE", 2)), (Reals{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(Regress(x, Regressor("BRANCH_GT", 2)), (Reals{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(Regress(x, Regressor("BRANCH_EQ", 0)), (Reals{0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(Regress(x, Regressor("BRANCH_NEQ", 0)), (Reals{1, 1, 1, 1, 0, 1}));
  for (const char* mode : {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}) {
    EXPECT_EQ(Regress(x, Regressor(mode, 2, 1))[3], 1) << mode << ": a tracked NaN takes the true branch";
    EXPECT_EQ(Regress(x, Regressor(mode, kNan, 1))[3], 1) << mode;
    EXPECT_EQ(Regress(x, Regressor(mode, kNan))[0], mode == Text("BRANCH_NEQ") ? 1 : 0) << mode;
  }
}

TEST(MlTree, TakesDoublesAndIntegersWithoutRounding) {
  const double near = 1 + 1e-12;
  const Tensor doubles = Tensor::Of<double>({0, near, 0, 1}, Shape{2, 2});
  const Attributes attributes = With(Regressor("BRANCH_LEQ", 1), {});
  EXPECT_EQ(Regress(doubles, attributes), (Reals{0, 1}));
  EXPECT_EQ(Regress(Tensor::Of<std::int64_t>({0, 2, 0, 1}, Shape{2, 2}), attributes), (Reals{0, 1}));
  EXPECT_EQ(Regress(Tensor::Of<std::int32_t>({0, 2, 0, -1}, Shape{2, 2}), attributes), (Reals{0, 1}));
  EXPECT_TRUE(Regress(Tensor(DType::kFloat, Shape{0, 2}), attributes).empty());
  EXPECT_EQ(Regress(Floats({0, 2}), attributes), (Reals{0}));  // a vector is one row
}

TEST(MlTree, RefusesListsThatDoNotFitTogether) {
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"nodes_values", Reals{1}}}))
                .find("attribute 'nodes_values': expected 3 values, found 1"),
            Text::npos);
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"target_ids", Longs{0}}}))
                .find("attribute 'target_ids': expected 2 values, found 1"),
            Text::npos);
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"target_ids", Longs{0, 1}}}))
                .find("expected values in [0, 1), found 1"),
            Text::npos);
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"base_values", Reals{1, 2}}}))
                .find("attribute 'base_values': expected 1 values, found 2"),
            Text::npos);
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"n_targets", std::int64_t{0}}}))
                .find("expected a number of targets or classes from 1"),
            Text::npos);
}

TEST(MlTree, RefusesBrokenTrees) {
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"nodes_truenodeids", Longs{9, 0, 0}}}))
                .find("expected a node 9 in tree 0, found none"),
            Text::npos);
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"nodes_truenodeids", Longs{0, 0, 0}}}))
                .find("found nodes that form a cycle"),
            Text::npos);
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"nodes_nodeids", Longs{0, 2, 2}}}))
                .find("node 2 of tree 0 is given twice"),
            Text::npos);
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"nodes_featureids", Longs{-1, 0, 0}}}))
                .find("attribute 'nodes_featureids': expected values in"),
            Text::npos);
  EXPECT_NE(RegressorError(Regressor("BRANCH_NEAR", 0)).find("found 'BRANCH_NEAR'"), Text::npos);
  EXPECT_NE(RegressorError(Regressor("BRANCH_LT", 0), Tensor(DType::kFloat, Shape{2, 1}))
                .find("expected an input with at least 2 features, found [2, 1]"),
            Text::npos);
  // Trees without splits read no feature, but there must be rows.
  EXPECT_NE(RegressorError({}, Tensor(DType::kFloat, Shape{4, 0})).find("expected 4 rows of 0 features, found [4, 0]"),
            Text::npos);
  EXPECT_NE(RegressorError(With(Regressor("BRANCH_LT", 0), {{"aggregate_function", Text("MEDIAN")}}))
                .find("expected one of AVERAGE, SUM, MIN, MAX; found 'MEDIAN'"),
            Text::npos);
}

TEST(MlTree, NodesMayComeInAnyOrderAndBeShared) {
  // Both children of the root are node 7; ids are no places.
  Attributes attributes = {
      {"nodes_treeids", Longs{5, 5, 5, 5}},      {"nodes_nodeids", Longs{3, 9, 7, 1}},
      {"nodes_featureids", Longs{0, 0, 1, 0}},   {"nodes_modes", Words{"BRANCH_GT", "LEAF", "BRANCH_GT", "LEAF"}},
      {"nodes_values", Reals{0, 0, 0, 0}},       {"nodes_truenodeids", Longs{7, 0, 9, 0}},
      {"nodes_falsenodeids", Longs{7, 0, 1, 0}}, {"target_treeids", Longs{5, 5}},
      {"target_nodeids", Longs{1, 9}},           {"target_ids", Longs{0, 0}},
      {"target_weights", Reals{3, 4}},           {"n_targets", std::int64_t{1}}};
  EXPECT_EQ(Regress(kRows, attributes), (Reals{3, 4}));
}

TEST(MlTree, ADeepChainNeitherOverflowsTheStackNorIsSlowToBuild) {
  constexpr std::int64_t kDepth = 100000;  // node 2 i splits into leaf 2 i + 1 and node 2 i + 2
  Longs trees(2 * kDepth + 1), ids, features(trees.size()), on_true, on_false, missing;
  Words modes;
  Reals values;
  for (std::int64_t i = 0; i < 2 * kDepth + 1; ++i) {
    const bool leaf = i % 2 == 1 || i == 2 * kDepth;
    ids.push_back(i);
    modes.push_back(leaf ? "LEAF" : "BRANCH_LT");
    values.push_back(static_cast<float>(leaf ? 0 : -i));
    on_true.push_back(leaf ? 0 : i + 2);
    on_false.push_back(leaf ? 0 : i + 1);
  }
  const Attributes attributes = {
      {"nodes_treeids", trees},         {"nodes_nodeids", ids},          {"nodes_featureids", features},
      {"nodes_modes", modes},           {"nodes_values", values},        {"nodes_truenodeids", on_true},
      {"nodes_falsenodeids", on_false}, {"target_treeids", Longs{0, 0}}, {"target_nodeids", Longs{1, 2 * kDepth}},
      {"target_ids", Longs{0, 0}},      {"target_weights", Reals{1, 2}}, {"n_targets", std::int64_t{1}}};
  EXPECT_EQ(Regress(Tensor::Of<float>({0, -1e9f}, Shape{2, 1}), attributes), (Reals{1, 2}));
}

// ---- Classification

Attributes Classifier(const Longs& classes, const Reals& weights) {
  return With(OneSplit("BRANCH_GT", 0), {{"class_treeids", Longs{0, 0}},
                                         {"class_nodeids", Longs{1, 2}},
                                         {"class_ids", classes},
                                         {"class_weights", weights},
                                         {"classlabels_int64s", Longs{5, 7}}});
}

TEST(MlTreeClassifier, OneScoreStandsForTwoClasses) {
  std::vector<Value> y = EvaluateOp(Call("TreeEnsembleClassifier", kRows, Classifier({0, 0}, {2, -3}), 2));
  EXPECT_EQ(Elements<std::int64_t>(y[0]), (Longs{5, 7}));
  EXPECT_EQ(Elements<float>(y[1]), (Reals{3, -3, -2, 2}));
  y = EvaluateOp(Call("TreeEnsembleClassifier", kRows, Classifier({0, 0}, {0.75f, 0.25f}), 2));
  EXPECT_EQ(Elements<std::int64_t>(y[0]), (Longs{5, 7}));
  EXPECT_EQ(Elements<float>(y[1]), (Reals{0.75f, 0.25f, 0.25f, 0.75f}));
  Attributes logistic = With(Classifier({0, 0}, {2, -3}), {{"post_transform", Text("LOGISTIC")}});
  y = EvaluateOp(Call("TreeEnsembleClassifier", kRows, logistic, 2));
  EXPECT_NEAR(Elements<float>(y[1])[3], 1 / (1 + std::exp(-2.0)), 1e-6);
}

TEST(MlTreeClassifier, StringLabelsAndManyClasses) {
  Attributes attributes = With(Classifier({2, 1}, {2, 3}), {{"classlabels_strings", Words{"a", "b", "c"}}});
  std::erase_if(attributes, [](const Attribute& a) { return a.name == "classlabels_int64s"; });
  const std::vector<Value> y = EvaluateOp(Call("TreeEnsembleClassifier", kRows, attributes, 2));
  EXPECT_EQ(Elements<std::string>(y[0]), (Words{"b", "c"}));
  EXPECT_EQ(Elements<float>(y[1]), (Reals{0, 3, 0, 0, 0, 2}));
}

TEST(MlTreeClassifier, RefusesMissingLabels) {
  Attributes attributes = Classifier({0, 0}, {1, 2});
  std::erase_if(attributes, [](const Attribute& a) { return a.name == "classlabels_int64s"; });
  EXPECT_NE(ErrorOfOp(Call("TreeEnsembleClassifier", kRows, attributes, 2))
                .find("expected labels in one of 'classlabels_strings' and 'classlabels_int64s', found 0 and 0"),
            Text::npos);
  EXPECT_NE(ErrorOfOp(Call("TreeEnsembleClassifier", kRows, Classifier({0, 2}, {1, 2}), 2))
                .find("attribute 'class_ids': expected values in [0, 2), found 2"),
            Text::npos);
}

// ---- TreeEnsemble-5

Attributes Ensemble(float mode) {
  return {{"n_targets", std::int64_t{2}},
          {"tree_roots", Longs{0}},
          {"nodes_featureids", Longs{1}},
          {"nodes_modes", Tensor::Of<std::uint8_t>({static_cast<std::uint8_t>(mode)}, Shape{1})},
          {"nodes_splits", Floats({2})},
          {"nodes_truenodeids", Longs{1}},
          {"nodes_trueleafs", Longs{1}},
          {"nodes_falsenodeids", Longs{0}},
          {"nodes_falseleafs", Longs{1}},
          {"leaf_targetids", Longs{0, 1}},
          {"leaf_weights", Floats({3, 4})}};
}

OpCall CallEnsemble(Tensor x, Attributes attributes) {
  return {"TreeEnsemble", 5, {std::move(x)}, std::move(attributes), 1, "ai.onnx.ml"};
}

TEST(MlTreeEnsemble, SetsAndMissingValues) {
  const Tensor x = Tensor::Of<float>({0, 4, 0, 5, 0, kNan, 0, 7}, Shape{4, 2});
  const Attributes sets = With(Ensemble(6), {{"membership_values", Floats({7, 4, 6, kNan})}});
  EXPECT_EQ(Elements<float>(EvaluateOp(CallEnsemble(x, sets))[0]), (Reals{0, 4, 3, 0, 3, 0, 0, 4}));
  const Attributes tracked = With(sets, {{"nodes_missing_value_tracks_true", Longs{1}}});
  EXPECT_EQ(Elements<float>(EvaluateOp(CallEnsemble(x, tracked))[0]), (Reals{0, 4, 3, 0, 0, 4, 0, 4}));
  EXPECT_NE(ErrorOfOp(CallEnsemble(x, With(Ensemble(6), {{"membership_values", Floats({7})}})))
                .find("'membership_values': expected a NaN at the end of each set"),
            Text::npos);
}

TEST(MlTreeEnsemble, RefusesUnknownNumbersAndPlaces) {
  const Tensor x(DType::kFloat, Shape{1, 2});
  EXPECT_NE(ErrorOfOp(CallEnsemble(x, Ensemble(7))).find("attribute 'nodes_modes': expected values in [0, 7), found 7"),
            Text::npos);
  EXPECT_NE(ErrorOfOp(CallEnsemble(x, With(Ensemble(0), {{"nodes_falsenodeids", Longs{2}}})))
                .find("'nodes_falsenodeids': expected values in [0, 2), found 2"),
            Text::npos);
  EXPECT_NE(ErrorOfOp(CallEnsemble(x, With(Ensemble(0), {{"tree_roots", Longs{1}}})))
                .find("'tree_roots': expected values in [0, 1), found 1"),
            Text::npos);
  const Attributes circle = With(Ensemble(0), {{"nodes_falsenodeids", Longs{0}}, {"nodes_falseleafs", Longs{0}}});
  EXPECT_NE(ErrorOfOp(CallEnsemble(x, circle)).find("form a cycle"), Text::npos);
}

}  // namespace
}  // namespace sardonyx::testing
