// ops/ml/svm_votes.cpp - computes pairwise scores, votes and probabilities of support vector classifiers.
#include "ops/ml/svm_votes.h"

#include <algorithm>
#include <cmath>

#include "ops/ml/scores.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kParts = 8;

template <typename Term>
float SumOf(std::int64_t n, Term term) {
  float parts[kParts] = {};
  std::int64_t i = 0;
  for (; i + kParts <= n; i += kParts)
    for (std::int64_t k = 0; k < kParts; ++k) parts[k] += term(i + k);
  for (; i < n; ++i) parts[0] += term(i);
  return ((parts[0] + parts[4]) + (parts[1] + parts[5])) + ((parts[2] + parts[6]) + (parts[3] + parts[7]));
}

void CheckAtLeast(const AttributeReader& c, std::string_view name, std::size_t found, std::int64_t expected) {
  if (static_cast<std::int64_t>(found) < expected)
    c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected at least ", expected, " values, found ", found);
}

}  // namespace

float Dot(const float* a, const float* b, std::int64_t n) {
  return SumOf(n, [=](std::int64_t i) { return a[i] * b[i]; });
}

float SquaredDistance(const float* a, const float* b, std::int64_t n) {
  return SumOf(n, [=](std::int64_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
}

SvmVotes SvmVotes::Read(const PrepareContext& c, std::int64_t classes) {
  SvmVotes v;
  v.classes_ = classes;
  v.pairs_ = classes * (classes - 1) / 2;
  const std::span<const std::int64_t> counts = c.IntsView("vectors_per_class");
  v.starts_.push_back(0);
  for (const std::int64_t n : counts) {
    if (n < 0 || n > (std::int64_t{1} << 40) - v.vectors_)
      c.Fail(Code::kInvalidGraph,
             "attribute 'vectors_per_class': expected counts of at least 0 with a sum of at most 2^40, found ", n);
    v.vectors_ += n;
    v.starts_.push_back(v.vectors_);
  }
  if (v.vectors_ == 0) return v;
  if (static_cast<std::int64_t>(counts.size()) != classes) {
    c.Fail(Code::kInvalidGraph, "attribute 'vectors_per_class': expected one count for each of ", classes,
           " classes, found ", counts.size());
  }
  v.coefficients_ = c.Floats("coefficients");
  v.rho_ = c.Floats("rho");
  v.prob_a_ = c.Floats("prob_a");
  v.prob_b_ = c.Floats("prob_b");
  if (v.vectors_ > static_cast<std::int64_t>(c.FloatsView("support_vectors").size()))
    CheckAtLeast(c, "support_vectors", c.FloatsView("support_vectors").size(), v.vectors_);
  CheckAtLeast(c, "coefficients", v.coefficients_.size(), (classes - 1) * v.vectors_);
  CheckAtLeast(c, "rho", v.rho_.size(), v.pairs_);
  if (v.prob_a_.size() != v.prob_b_.size()) {
    c.Fail(Code::kInvalidGraph, "expected as many values in 'prob_b' as in 'prob_a', found ", v.prob_b_.size(), " and ",
           v.prob_a_.size());
  }
  if (!v.prob_a_.empty()) CheckAtLeast(c, "prob_a", v.prob_a_.size(), v.pairs_);
  return v;
}

std::size_t SvmVotes::Count(const RowScratch& scratch, float* scores) const {
  float* votes = scratch.room;
  float* pair_scores = votes + classes_;
  std::fill_n(votes, classes_, 0.0f);
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < classes_; ++i) {
    for (std::int64_t j = i + 1; j < classes_; ++j, ++pair) {
      // Row j - 1 of the coefficients has those of class i against j, row i those of class j against i.
      double sum = 0;
      for (std::int64_t v = starts_[i]; v < starts_[i + 1]; ++v)
        sum += static_cast<double>(coefficients_[(j - 1) * vectors_ + v] * scratch.kernel_values[v]);
      for (std::int64_t v = starts_[j]; v < starts_[j + 1]; ++v)
        sum += static_cast<double>(coefficients_[i * vectors_ + v] * scratch.kernel_values[v]);
      sum += static_cast<double>(rho_[pair]);
      pair_scores[pair] = static_cast<float>(sum);
      ++votes[sum > 0 ? i : j];
    }
  }
  if (has_probabilities()) {
    Probabilities(pair_scores, pair_scores + pairs_, scores);
  } else {
    std::copy_n(pair_scores, pairs_, scores);
  }
  return static_cast<std::size_t>(std::max_element(votes, votes + classes_) - votes);
}

// Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling" (2004), algorithm 2:
// p that minimises sum over i != j of (r_ji p_i - r_ij p_j)^2, by updates of one p at a time.
void SvmVotes::Probabilities(const float* pair_scores, float* room, float* p) const {
  const std::int64_t n = classes_;
  float *r = room, *q = r + n * n, *qp = q + n * n;
  std::int64_t pair = 0;
  std::fill_n(r, n * n, 0.0f);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j, ++pair) {
      const float win = 1 - Logistic(pair_scores[pair] * prob_a_[pair] + prob_b_[pair]);
      r[i * n + j] = std::clamp(win, 1e-7f, 1 - 1e-7f);
      r[j * n + i] = 1 - r[i * n + j];
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    p[i] = 1 / static_cast<float>(n);
    q[i * n + i] = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      if (j == i) continue;
      q[i * n + i] += r[j * n + i] * r[j * n + i];
      q[i * n + j] = -r[j * n + i] * r[i * n + j];
    }
  }
  constexpr int kMaxRounds = 100;  // libsvm's, as is the bound of the error; in f32 to stop where ONNX Runtime does
  const float bound = 0.005f / static_cast<float>(n);
  for (int round = 0; round < kMaxRounds; ++round) {
    float pqp = 0, error = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      qp[i] = 0;
      for (std::int64_t j = 0; j < n; ++j) qp[i] += q[i * n + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (std::int64_t i = 0; i < n; ++i) error = std::max(error, std::abs(qp[i] - pqp));
    if (error < bound) break;
    for (std::int64_t i = 0; i < n && n > 1; ++i) {
      const float step = (pqp - qp[i]) / q[i * n + i];
      p[i] += step;
      pqp = (pqp + step * (step * q[i * n + i] + 2 * qp[i])) / (1 + step) / (1 + step);
      for (std::int64_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + step * q[i * n + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
}

}  // namespace sardonyx::ops
