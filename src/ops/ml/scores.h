// ops/ml/scores.h - what the classifiers and regressors of ai.onnx.ml have in common: post transforms, labels, the
// second column of a classifier that scores one of two classes.
//
// Where the specification leaves the rules open, they are ONNX Runtime's; tests/ml/test_ml_operators.py compares.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

enum class PostTransform : std::uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };  // as TreeEnsemble-5

// The attribute 'post_transform' as text; fails on an unknown one.
PostTransform ReadPostTransform(const AttributeReader& c);

// The entry of `texts` that `value` is; fails naming the attribute and the choices.
std::size_t OneOf(const AttributeReader& c, std::string_view attribute, std::string_view value,
                  std::span<const std::string_view> texts);

float Logistic(float x);
// The quantile of the normal distribution, by Winitzki's approximation of the inverse error function (2e-3 relative).
float Probit(float p);
// One row of any number of scores, in place. Softmax with zero leaves scores within 1e-7 of 0 out of the sum.
template <typename T>
void TransformScores(PostTransform post, std::span<T> scores);

// How the one score of a two-class model becomes two.
enum class SecondClass : std::uint8_t {
  kNone,        // it stays one
  kComplement,  // 1 - s, s
  kNegative,    // -s, s
};
// Transforms one score by PROBIT, two by LOGISTIC (then of -s and s); the others leave it as it is. Writes one number
// or two.
void WriteBinaryScore(PostTransform post, SecondClass second, float score, float* y);

// The labels of classes: strings if the model has any, else integers.
class ClassLabels {
 public:
  // From `prefix`_strings and `prefix`_ints or `prefix`_int64s; fails if both or none are there.
  static ClassLabels Read(const AttributeReader& c, std::string_view strings, std::string_view ints);
  DType dtype() const { return strings_.empty() ? DType::kInt64 : DType::kString; }
  std::size_t count() const { return strings_.empty() ? ints_.size() : strings_.size(); }
  // y[i] = the label of class `index`
  void Write(const OutputRef& y, std::int64_t i, std::size_t index) const {
    if (strings_.empty()) {
      y.As<std::int64_t>()[i] = ints_[index];
    } else {
      y.As<std::string>()[i] = strings_[index];
    }
  }
  // y[i] = 0 or 1, as a string where labels are strings.
  void WriteBit(const OutputRef& y, std::int64_t i, bool bit) const;

 private:
  std::vector<std::string> strings_;
  std::vector<std::int64_t> ints_;
};

// Output 0: labels [N] of type `labels`; output 1: scores [N, columns]. N is the first dimension of input 0, 1 if that
// is a vector.
void InferClassifier(InferContext& c, DType labels, Dim columns);

// Rows and features of an input [N, F] or [F]; fails on other ranks.
struct RowsOf {
  std::int64_t rows, width;
  explicit RowsOf(const TensorRef& x);
};

}  // namespace sardonyx::ops
