// ops/ml/tree_model.h - the tree ensembles of ai.onnx.ml, all versions, read into one form.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tree/forest_builder.h"
#include "ops/ml/scores.h"

namespace sardonyx::ops {

enum class Aggregate : std::uint8_t { kAverage, kSum, kMin, kMax };  // the numbers of TreeEnsemble-5

struct LeafWeight {
  std::int32_t target;
  double weight;
};

struct TreeModel {
  kernels::ForestSource source;
  std::vector<std::int32_t> first_weight;  // of each leaf, and one more: leaf i has weights[first[i], first[i + 1])
  std::vector<LeafWeight> weights;
  std::int64_t targets = 1;  // or classes
  std::vector<double> base;
  Aggregate aggregate = Aggregate::kSum;
  PostTransform post = PostTransform::kNone;
  // Of classifiers: two classes and weights for one of them only; no weight is negative.
  bool one_of_two = false, weights_positive = true;
};

// TreeEnsemble-5 for rows of `input`.
TreeModel ReadTreeEnsemble(const AttributeReader& c, DType input);
// TreeEnsembleRegressor: `kind` "target", `targets` n_targets; TreeEnsembleClassifier: "class" and the number of
// labels.
TreeModel ReadTreeLists(const AttributeReader& c, DType input, const std::string& kind, std::int64_t targets);

}  // namespace sardonyx::ops
