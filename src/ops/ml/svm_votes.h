// ops/ml/svm_votes.h - turns the kernel values of one row into the scores and votes of an SVMClassifier: one binary
// classifier for each pair of classes, and libsvm's probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/prepare_context.h"

namespace sardonyx::ops {

class SvmVotes {
 public:
  // The kernel values [vectors] of a row, and scratch_count() numbers of room.
  struct RowScratch {
    const float* kernel_values;
    float* room;
  };

  // Reads vectors_per_class, coefficients, rho, prob_a and prob_b; fails where their lengths do not fit.
  static SvmVotes Read(const PrepareContext& c, std::int64_t classes);
  std::int64_t vector_count() const { return vectors_; }  // 0: a linear model
  bool has_probabilities() const { return !prob_a_.empty(); }
  std::int64_t scratch_count() const { return classes_ + pairs_ + classes_ * classes_ * 2 + classes_; }
  // Writes a row's scores (a probability per class, or the score of each pair of classes) and returns the class with
  // the most votes, the first of equals.
  std::size_t Count(const RowScratch& scratch, float* scores) const;

 private:
  void Probabilities(const float* pair_scores, float* room, float* p) const;

  std::int64_t classes_ = 0, pairs_ = 0, vectors_ = 0;
  std::vector<std::int64_t> starts_;  // of the vectors of each class; one more at the end
  std::vector<float> coefficients_;   // [classes - 1, vectors]
  std::vector<float> rho_, prob_a_, prob_b_;
};

// Sums of eight interleaved parts: exact to a few roundings of the sum of magnitudes, whatever the length.
float Dot(const float* a, const float* b, std::int64_t n);
float SquaredDistance(const float* a, const float* b, std::int64_t n);

}  // namespace sardonyx::ops
