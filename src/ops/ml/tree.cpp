// ops/ml/tree.cpp - ai.onnx.ml: TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier.
#include <algorithm>

#include "base/small_float.h"
#include "ops/ml/scores.h"
#include "ops/ml/tree_score.h"
#include "ops/op_def.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr DTypeSet kFourNumbers = {DType::kFloat, DType::kDouble, DType::kInt64, DType::kInt32};

struct TreeState {
  TreeScorer scorer;
  std::vector<double> base;
  PostTransform post;
  bool one_of_two, weights_positive;
  ClassLabels labels;  // of classifiers

  explicit TreeState(const TreeModel& model)
      : scorer(model),
        base(model.base),
        post(model.post),
        one_of_two(model.one_of_two),
        weights_positive(model.weights_positive) {}
};

// ---- Regression

// ONNX Runtime transforms a single score by PROBIT only.
void FinishScores(const TreeState& s, std::int64_t targets, double* scores) {
  for (std::size_t k = 0; k < s.base.size(); ++k) scores[k] += s.base[k];
  if (targets > 1) {
    TransformScores(s.post, std::span(scores, static_cast<std::size_t>(targets)));
  } else if (s.post == PostTransform::kProbit) {
    scores[0] = static_cast<double>(Probit(static_cast<float>(scores[0])));
  }
}

template <typename T>
void RunRegressor(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TreeState& s = c.state<TreeState>();
  const RowsOf rows(x);
  const std::int64_t targets = s.scorer.targets(), shape[] = {rows.rows, targets};
  T* y = c.Output(0, shape).As<T>();
  s.scorer.Score(c, x, rows.rows, rows.width, [&](std::int64_t row, double* scores, const std::uint8_t*) {
    FinishScores(s, targets, scores);
    for (std::int64_t k = 0; k < targets; ++k) {
      if constexpr (std::is_same_v<T, Half>) {
        y[row * targets + k] = Half(static_cast<float>(scores[k]));
      } else {
        y[row * targets + k] = static_cast<T>(scores[k]);
      }
    }
  });
}

void InferTree(InferContext& c) {
  Dim rows;
  if (c.HasRank(0)) rows = c.Rank(0) == 1 ? Dim(1) : c.Rank(0) == 2 ? c.InputDims(0)[0] : Dim();
  c.SetOutput(0, c.op_type() == "TreeEnsemble" ? c.InputDType(0) : DType::kFloat, {rows, Dim(c.Int("n_targets", 1))});
}

Prepared WithTrees(RunFn* run, const TreeModel& model) { return {run, std::make_shared<const TreeState>(model)}; }

Prepared PrepareEnsemble(PrepareContext& c) {
  const TreeModel model = ReadTreeEnsemble(c, c.InputDType(0));
  switch (c.InputDType(0)) {
    case DType::kDouble:
      return WithTrees(RunRegressor<double>, model);
    case DType::kFloat16:
      return WithTrees(RunRegressor<Half>, model);
    default:
      return WithTrees(RunRegressor<float>, model);
  }
}

Prepared PrepareRegressor(PrepareContext& c) {
  return WithTrees(RunRegressor<float>, ReadTreeLists(c, c.InputDType(0), "target", c.Int("n_targets", 1)));
}

// ---- Classification

void InferTreeClassifier(InferContext& c) {
  const ClassLabels labels = ClassLabels::Read(c, "classlabels_strings", "classlabels_int64s");
  InferClassifier(c, labels.dtype(), Dim(static_cast<std::int64_t>(labels.count())));
}

// Where a row's results go.
struct ClassifierRow {
  const OutputRef& labels;
  std::int64_t row;
  float* y;
};

void WriteScores(const TreeState& s, std::span<double> scores, float* y) {
  TransformScores(s.post, scores);
  std::transform(scores.begin(), scores.end(), y, [](double x) { return static_cast<float>(x); });
}

void FinishManyClasses(const TreeState& s, double* scores, const std::uint8_t* seen, const ClassifierRow& to) {
  const std::size_t classes = s.labels.count();
  std::size_t best = classes;
  for (std::size_t k = 0; k < classes; ++k) {
    if (!s.base.empty()) scores[k] += s.base[k];
    if ((!s.base.empty() || seen[k] != 0) && (best == classes || scores[k] > scores[best])) best = k;
  }
  s.labels.Write(to.labels, to.row, best == classes ? 0 : best);
  WriteScores(s, std::span(scores, classes), to.y);
}

// The label that the score of the positive class stands for. Of two classes that both have weights the label is 1 or 0
// (as a string: the second or the first), which is ONNX Runtime's rule.
void WriteBinaryLabel(const TreeState& s, double score, const ClassifierRow& to) {
  if (s.one_of_two) {
    s.labels.Write(to.labels, to.row, score > (s.weights_positive ? 0.5 : 0) ? 1 : 0);
  } else if (s.labels.dtype() == DType::kString) {
    s.labels.Write(to.labels, to.row, score > 0 && s.labels.count() > 1 ? 1 : 0);
  } else {
    s.labels.WriteBit(to.labels, to.row, score > 0);
  }
}

// ONNX Runtime's rules for two classes. A class counts as scored only if a leaf had a weight for it; the score of one
// that does not is 0, whatever its base value.
void FinishTwoClasses(const TreeState& s, double* scores, const std::uint8_t* seen, const ClassifierRow& to) {
  const bool second_seen = seen[1] != 0;
  if (s.base.size() == 2) {
    if (second_seen) {
      scores[1] = s.base[1] + scores[0];
      scores[0] = -scores[1];
    } else {
      scores[0] += s.base[0];
      scores[1] += s.base[1];
    }
  } else if (s.base.size() == 1) {
    scores[0] += s.base[0];
  }
  for (std::size_t k = 0; k < 2; ++k)
    if (seen[k] == 0) scores[k] = 0;
  WriteBinaryLabel(s, second_seen ? scores[1] : scores[0], to);
  if (second_seen || s.base.size() == 2) return WriteScores(s, std::span(scores, 2), to.y);
  const bool complement = s.one_of_two && s.weights_positive;
  WriteBinaryScore(s.post, complement ? SecondClass::kComplement : SecondClass::kNegative,
                   static_cast<float>(scores[0]), to.y);
}

void FinishOneClass(const TreeState& s, double* scores, const ClassifierRow& to) {
  if (!s.base.empty()) scores[0] += s.base[0];
  WriteBinaryLabel(s, scores[0], to);
  WriteBinaryScore(s.post, SecondClass::kNone, static_cast<float>(scores[0]), to.y);
}

void RunClassifier(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TreeState& s = c.state<TreeState>();
  const RowsOf rows(x);
  const auto classes = static_cast<std::int64_t>(s.labels.count());
  const std::int64_t label_shape[] = {rows.rows}, score_shape[] = {rows.rows, classes};
  const OutputRef labels = c.Output(0, label_shape);
  float* y = c.Output(1, score_shape).As<float>();
  s.scorer.Score(c, x, rows.rows, rows.width, [&](std::int64_t row, double* scores, const std::uint8_t* seen) {
    const ClassifierRow to{labels, row, y + row * classes};
    if (classes > 2) {
      FinishManyClasses(s, scores, seen, to);
    } else if (classes == 2) {
      FinishTwoClasses(s, scores, seen, to);
    } else {
      FinishOneClass(s, scores, to);
    }
  });
}

Prepared PrepareClassifier(PrepareContext& c) {
  ClassLabels labels = ClassLabels::Read(c, "classlabels_strings", "classlabels_int64s");
  auto state = std::make_shared<TreeState>(
      ReadTreeLists(c, c.InputDType(0), "class", static_cast<std::int64_t>(labels.count())));
  state->labels = std::move(labels);
  return {RunClassifier, std::move(state)};
}

constexpr OpDef kMlTreeOps[] = {
    {.domain = kMl,
     .name = "TreeEnsemble",
     .since = {5},
     .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
     .infer = InferTree,
     .prepare = PrepareEnsemble},
    {.domain = kMl,
     .name = "TreeEnsembleClassifier",
     .since = {1, 3, 5},
     .types = kFourNumbers,
     .infer = InferTreeClassifier,
     .prepare = PrepareClassifier},
    {.domain = kMl,
     .name = "TreeEnsembleRegressor",
     .since = {1, 3, 5},
     .types = kFourNumbers,
     .infer = InferTree,
     .prepare = PrepareRegressor},
};

}  // namespace

std::span<const OpDef> MlTreeOps() { return kMlTreeOps; }

}  // namespace sardonyx::ops
