// ops/ml/scores.cpp - post transforms and labels of ai.onnx.ml.
#include "ops/ml/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace sardonyx::ops {

std::size_t OneOf(const AttributeReader& c, std::string_view attribute, std::string_view value,
                  std::span<const std::string_view> texts) {
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == value) return i;
    (all += all.empty() ? "" : ", ") += texts[i];
  }
  c.Fail(Code::kInvalidGraph, "attribute '", attribute, "': expected one of ", all, "; found '", value, "'");
}

PostTransform ReadPostTransform(const AttributeReader& c) {
  static constexpr std::string_view kTexts[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  return static_cast<PostTransform>(OneOf(c, "post_transform", c.String("post_transform", "NONE"), kTexts));
}

float Logistic(float x) {
  const float e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

// In doubles: near 1/2 the difference of the roots cancels.
float Probit(float p) {
  constexpr double kA = 0.147;  // Winitzki's constant
  const double x = 2 * static_cast<double>(p) - 1, log = std::log((1 - x) * (1 + x));
  const double v = 2 / (std::numbers::pi * kA) + 0.5 * log;
  const double root = std::sqrt(std::sqrt(v * v - log / kA) - v);
  return static_cast<float>(std::numbers::sqrt2 * (x < 0 ? -root : root));
}

namespace {

template <typename T>
void Softmax(std::span<T> scores, bool keep_zeros) {
  T most = -std::numeric_limits<T>::max();
  for (const T s : scores) most = std::max(most, s);
  T sum = 0;
  for (T& s : scores) {
    if (keep_zeros && s <= T{1e-7f} && s >= -T{1e-7f}) {
      s *= std::exp(-most);
    } else {
      s = std::exp(s - most);
      sum += s;
    }
  }
  for (T& s : scores) s /= sum;
}

}  // namespace

template <typename T>
void TransformScores(PostTransform post, std::span<T> scores) {
  switch (post) {
    case PostTransform::kNone:
      break;
    case PostTransform::kSoftmax:
    case PostTransform::kSoftmaxZero:
      Softmax(scores, post == PostTransform::kSoftmaxZero);
      break;
    case PostTransform::kLogistic:
      for (T& s : scores) s = static_cast<T>(Logistic(static_cast<float>(s)));
      break;
    case PostTransform::kProbit:
      for (T& s : scores) s = static_cast<T>(Probit(static_cast<float>(s)));
      break;
  }
}
template void TransformScores(PostTransform post, std::span<float> scores);
template void TransformScores(PostTransform post, std::span<double> scores);

void WriteBinaryScore(PostTransform post, SecondClass second, float score, float* y) {
  if (post == PostTransform::kProbit) score = Probit(score);
  y[0] = score;
  if (second == SecondClass::kNone) return;
  y[1] = score;
  if (post == PostTransform::kLogistic) {
    y[0] = Logistic(-score);
    y[1] = Logistic(score);
  } else if (second == SecondClass::kComplement || post == PostTransform::kProbit) {
    y[0] = 1 - score;
  } else {
    y[0] = -score;
  }
}

ClassLabels ClassLabels::Read(const AttributeReader& c, std::string_view strings, std::string_view ints) {
  ClassLabels labels;
  labels.strings_ = c.Strings(strings);
  labels.ints_ = c.Ints(ints);
  if (labels.strings_.empty() == labels.ints_.empty()) {
    c.Fail(Code::kInvalidGraph, "expected labels in one of '", strings, "' and '", ints, "', found ",
           labels.strings_.size(), " and ", labels.ints_.size());
  }
  return labels;
}

void ClassLabels::WriteBit(const OutputRef& y, std::int64_t i, bool bit) const {
  if (strings_.empty()) {
    y.As<std::int64_t>()[i] = bit ? 1 : 0;
  } else {
    y.As<std::string>()[i] = bit ? "1" : "0";
  }
}

void InferClassifier(InferContext& c, DType labels, Dim columns) {
  if (!c.HasOutput(0) || !c.HasOutput(1))
    c.Fail(Code::kInvalidGraph, "expected two outputs, labels and scores, found one without a name");
  Dim rows;
  if (c.HasRank(0)) rows = c.Rank(0) == 1 ? Dim(1) : c.Rank(0) == 2 ? c.InputDims(0)[0] : Dim();
  c.SetOutput(0, labels, {rows});
  c.SetOutput(1, DType::kFloat, {rows, std::move(columns)});
}

RowsOf::RowsOf(const TensorRef& x) {
  if (x.rank() != 1 && x.rank() != 2)
    Fail(Code::kInvalidArgument, "expected an input [N, F] or [F], found shape ", ToText(x.shape));
  rows = x.rank() == 1 ? 1 : x.shape[0];
  width = x.shape.back();
}

}  // namespace sardonyx::ops
