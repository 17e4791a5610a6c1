// ops/ml/svm.cpp - ai.onnx.ml: SVMClassifier and SVMRegressor (libsvm's models, and liblinear's, which have no support
// vectors).
#include <algorithm>
#include <cmath>

#include "kernels/elementwise/convert.h"
#include "ops/cost_context.h"
#include "ops/ml/product.h"
#include "ops/ml/scores.h"
#include "ops/ml/svm_votes.h"
#include "ops/op_def.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr DTypeSet kFourNumbers = {DType::kFloat, DType::kDouble, DType::kInt64, DType::kInt32};

enum class SvmKernel : std::uint8_t { kLinear, kPoly, kRbf, kSigmoid };

// k(x, v) for rows of x and constant vectors v [vectors, features].
struct KernelFunction {
  SvmKernel kind = SvmKernel::kLinear;
  float gamma = 0, coef0 = 0, degree = 0;
  ConstantProduct product;     // all kinds but RBF
  std::vector<float> vectors;  // RBF: differences keep the digits that |x|^2 - 2 x v + |v|^2 would lose
  std::int64_t count = 0, width = 0;

  static KernelFunction Read(const PrepareContext& c, bool linear);
  void SetVectors(std::span<const float> rows, std::int64_t row_count);
  // y [rows, count] = k(x, v) (linear: + bias)
  void Run(const float* x, std::int64_t rows, float bias, float* y, Parallel& parallel, std::byte* scratch) const;
  std::size_t ScratchBytes(std::int64_t rows, Parallel& parallel) const {
    return kind == SvmKernel::kRbf ? 0 : product.ScratchBytes(rows, parallel);
  }
};

KernelFunction KernelFunction::Read(const PrepareContext& c, bool linear) {
  static constexpr std::string_view kTexts[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  KernelFunction k;
  k.kind = static_cast<SvmKernel>(OneOf(c, "kernel_type", c.String("kernel_type", "LINEAR"), kTexts));
  const std::span<const float> parameters = c.FloatsView("kernel_params");
  if (!parameters.empty() && parameters.size() < 3) {
    c.Fail(Code::kInvalidGraph, "attribute 'kernel_params': expected gamma, coef0 and degree, found ",
           parameters.size(), " values");
  }
  if (parameters.empty() && k.kind != SvmKernel::kLinear && !linear)
    c.Fail(Code::kInvalidGraph, "attribute 'kernel_params' is required for the kernel and missing");
  if (!parameters.empty()) k.gamma = parameters[0], k.coef0 = parameters[1], k.degree = parameters[2];
  if (linear) k.kind = SvmKernel::kLinear;
  return k;
}

void KernelFunction::SetVectors(std::span<const float> rows, std::int64_t row_count) {
  count = row_count;
  width = static_cast<std::int64_t>(rows.size()) / row_count;
  if (kind == SvmKernel::kRbf) {
    vectors.assign(rows.begin(), rows.end());
  } else {
    product = ConstantProduct(rows, count, width);
  }
}

void KernelFunction::Run(const float* x, std::int64_t rows, float bias, float* y, Parallel& parallel,
                         std::byte* scratch) const {
  if (kind == SvmKernel::kRbf) {
    const std::int64_t grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, count * width));
    return parallel.For(rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t v = 0; v < count; ++v) {
          const float distance = SquaredDistance(x + row * width, vectors.data() + v * width, width);
          y[row * count + v] = std::exp(-gamma * distance);
        }
      }
    });
  }
  kernels::Epilogue epilogue;
  const bool scaled = kind != SvmKernel::kLinear;
  epilogue.alpha = scaled ? gamma : 1;
  epilogue.bias = scaled ? coef0 : bias;
  if (kind == SvmKernel::kSigmoid) epilogue.activation.kind = kernels::UnaryKind::kTanh;
  product.Run(x, rows, epilogue, y, parallel, scratch);
  if (kind != SvmKernel::kPoly) return;
  for (std::int64_t i = 0; i < rows * count; ++i) {
    y[i] = degree == 2 ? y[i] * y[i] : degree == 3 ? y[i] * y[i] * y[i] : std::pow(y[i], degree);
  }
}

// Input 0 as f32: itself, or converted into scratch memory.
const float* FloatRows(const TensorRef& x, float* copy) {
  if (x.dtype == DType::kFloat) return x.As<float>();
  kernels::ToFloats(x.dtype)(x.data, 0, static_cast<std::size_t>(x.count), copy);
  return copy;
}

void CheckWidth(const TensorRef& x, const RowsOf& rows, std::int64_t width) {
  if (rows.width != width)
    Fail(Code::kInvalidArgument, "expected ", width, " features, as the model has, found shape ", ToText(x.shape));
}

// The number of rows in a matrix of attribute values; fails unless they fill it.
void CheckRows(const AttributeReader& c, std::string_view name, std::size_t values, std::int64_t rows) {
  if (values == 0 || values % static_cast<std::size_t>(rows) != 0)
    c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected a multiple of ", rows, " values, found ", values);
}

// ---- SVMClassifier

struct ClassifierState {
  KernelFunction kernel;
  SvmVotes votes;       // with support vectors
  bool linear = false;  // liblinear: one row of coefficients per class
  float rho = 0;        // linear
  bool weights_positive = false;
  ClassLabels labels;
  PostTransform post = PostTransform::kNone;
  std::int64_t columns = 0;  // of the scores

  std::int64_t classes() const { return static_cast<std::int64_t>(labels.count()); }
};

// The scores of support vectors without probabilities are those of the pairs of classes.
std::int64_t SvmColumns(const AttributeReader& c, std::int64_t classes) {
  const std::span<const std::int64_t> vectors = c.IntsView("vectors_per_class");
  const bool none = std::all_of(vectors.begin(), vectors.end(), [](std::int64_t n) { return n <= 0; });
  if (none || !c.FloatsView("prob_a").empty()) return classes;
  return classes > 2 ? classes * (classes - 1) / 2 : 2;
}

void InferSvmClassifier(InferContext& c) {
  const ClassLabels labels = ClassLabels::Read(c, "classlabels_strings", "classlabels_ints");
  InferClassifier(c, labels.dtype(), Dim(SvmColumns(c, static_cast<std::int64_t>(labels.count()))));
}

// The class of a row: of the most votes, or of the largest score; ONNX Runtime's rules for two classes.
void WriteSvmClass(const ClassifierState& s, const OutputRef& y, std::int64_t row, std::size_t best, float most) {
  const std::size_t classes = s.labels.count();
  if (classes * (classes - 1) / 2 != 1) return s.labels.Write(y, row, best);
  if (!s.votes.has_probabilities() && (s.weights_positive ? most >= 0.5f : most > 0)) best = 1;
  s.labels.Write(y, row, best);
}

void FinishRow(const ClassifierState& s, const OutputRef& labels, std::int64_t row, float* scores,
               const SvmVotes::RowScratch& scratch) {
  std::size_t best = 0;
  float most = 0;
  if (s.linear) {
    best = static_cast<std::size_t>(std::max_element(scores, scores + s.columns) - scores);
    most = scores[best];
  } else {
    best = s.votes.Count(scratch, scores);
  }
  WriteSvmClass(s, labels, row, best, most);
  if (!s.linear && !s.votes.has_probabilities() && s.classes() <= 2) {
    if (s.classes() == 2) {
      WriteBinaryScore(s.post, s.post == PostTransform::kNone ? SecondClass::kNegative : SecondClass::kComplement,
                       scores[0], scores);
    } else {
      scores[0] = scores[1] = 0;  // one class has no pair
    }
  } else if (s.columns == 1) {
    WriteBinaryScore(s.post, SecondClass::kNone, scores[0], scores);
  } else {
    TransformScores(s.post, std::span(scores, static_cast<std::size_t>(s.columns)));
  }
}

void RunSvmClassifier(KernelContext& c) {
  const ClassifierState& s = c.state<ClassifierState>();
  const TensorRef& x = c.Input(0);
  const RowsOf rows(x);
  CheckWidth(x, rows, s.kernel.width);
  const std::int64_t label_shape[] = {rows.rows}, score_shape[] = {rows.rows, s.columns};
  const OutputRef labels = c.Output(0, label_shape);
  float* scores = c.Output(1, score_shape).As<float>();
  ScratchParts parts;
  const std::size_t copy = parts.Add<float>(x.dtype == DType::kFloat ? 0 : x.count);
  const std::size_t bytes = s.kernel.ScratchBytes(rows.rows, c.parallel());
  const std::size_t product = parts.AddBytes(bytes);
  const std::size_t dots = parts.Add<float>(s.linear ? 0 : rows.rows * s.kernel.count);
  const std::size_t pairs = parts.Add<float>(s.linear ? 0 : s.votes.scratch_count());
  parts.Allocate(c);
  const float* data = FloatRows(x, parts.At<float>(copy));
  float* out = s.linear ? scores : parts.At<float>(dots);
  s.kernel.Run(data, rows.rows, s.rho, out, c.parallel(), bytes == 0 ? nullptr : parts.At(product));
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const SvmVotes::RowScratch scratch{s.linear ? nullptr : out + row * s.kernel.count, parts.At<float>(pairs)};
    FinishRow(s, labels, row, scores + row * s.columns, scratch);
  }
}

Prepared PrepareSvmClassifier(PrepareContext& c) {
  ClassifierState s;
  s.labels = ClassLabels::Read(c, "classlabels_strings", "classlabels_ints");
  s.columns = SvmColumns(c, s.classes());
  s.post = ReadPostTransform(c);
  const std::span<const float> coefficients = c.FloatsView("coefficients"), rho = c.FloatsView("rho");
  if (coefficients.empty()) c.Fail(Code::kInvalidGraph, "attribute 'coefficients' is required and missing or empty");
  if (rho.empty()) c.Fail(Code::kInvalidGraph, "attribute 'rho' is required and missing or empty");
  s.weights_positive = std::all_of(coefficients.begin(), coefficients.end(), [](float w) { return w >= 0; });
  s.votes = SvmVotes::Read(c, s.classes());
  s.linear = s.votes.vector_count() == 0;
  s.kernel = KernelFunction::Read(c, s.linear);
  if (s.linear) {
    CheckRows(c, "coefficients", coefficients.size(), s.classes());
    s.kernel.SetVectors(coefficients, s.classes());
    s.rho = rho[0];
  } else {
    const std::span<const float> vectors = c.FloatsView("support_vectors");
    CheckRows(c, "support_vectors", vectors.size(), s.votes.vector_count());
    s.kernel.SetVectors(vectors, s.votes.vector_count());
  }
  return WithState(RunSvmClassifier, std::move(s));
}

// ---- SVMRegressor

struct RegressorState {
  KernelFunction kernel;
  std::vector<float> coefficients;  // per support vector; empty for a linear model
  float rho = 0;
  bool one_class = false;
  PostTransform post = PostTransform::kNone;
};

void InferSvmRegressor(InferContext& c) {
  Dim rows;
  if (c.HasRank(0)) rows = c.Rank(0) == 1 ? Dim(1) : c.Rank(0) == 2 ? c.InputDims(0)[0] : Dim();
  c.SetOutput(0, DType::kFloat, {rows, Dim(1)});
}

void RunSvmRegressor(KernelContext& c) {
  const RegressorState& s = c.state<RegressorState>();
  const TensorRef& x = c.Input(0);
  const RowsOf rows(x);
  CheckWidth(x, rows, s.kernel.width);
  const std::int64_t shape[] = {rows.rows, 1};
  float* y = c.Output(0, shape).As<float>();
  ScratchParts parts;
  const std::size_t copy = parts.Add<float>(x.dtype == DType::kFloat ? 0 : x.count);
  const std::size_t bytes = s.kernel.ScratchBytes(rows.rows, c.parallel());
  const std::size_t product = parts.AddBytes(bytes);
  const auto count = static_cast<std::int64_t>(s.coefficients.size());
  const std::size_t dots = parts.Add<float>(rows.rows * count);
  parts.Allocate(c);
  float* out = count == 0 ? y : parts.At<float>(dots);
  s.kernel.Run(FloatRows(x, parts.At<float>(copy)), rows.rows, count == 0 ? s.rho : 0, out, c.parallel(),
               bytes == 0 ? nullptr : parts.At(product));
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    if (count != 0) y[row] = Dot(out + row * count, s.coefficients.data(), count) + s.rho;
    if (s.one_class) {
      y[row] = y[row] > 0 ? 1.0f : -1.0f;
    }
  }
}

Prepared PrepareSvmRegressor(PrepareContext& c) {
  RegressorState s;
  const std::span<const float> coefficients = c.FloatsView("coefficients"), rho = c.FloatsView("rho");
  if (coefficients.empty()) c.Fail(Code::kInvalidGraph, "attribute 'coefficients' is required and missing or empty");
  if (rho.empty()) c.Fail(Code::kInvalidGraph, "attribute 'rho' is required and missing or empty");
  s.rho = rho[0];
  s.one_class = c.Flag("one_class");
  s.post = ReadPostTransform(c);
  const std::int64_t vectors = c.Int("n_supports", 0);
  s.kernel = KernelFunction::Read(c, vectors <= 0);
  if (vectors <= 0) {
    s.kernel.SetVectors(coefficients, 1);
    return WithState(RunSvmRegressor, std::move(s));
  }
  if (static_cast<std::int64_t>(coefficients.size()) != vectors) {
    c.Fail(Code::kInvalidGraph, "attribute 'coefficients': expected one for each of ", vectors,
           " support vectors, found ", coefficients.size());
  }
  s.coefficients.assign(coefficients.begin(), coefficients.end());
  const std::span<const float> rows = c.FloatsView("support_vectors");
  CheckRows(c, "support_vectors", rows.size(), vectors);
  s.kernel.SetVectors(rows, vectors);
  return WithState(RunSvmRegressor, std::move(s));
}

void CountSupportVectors(CostContext& c) { CountVectors(c, "support_vectors"); }

constexpr OpDef kMlSvmOps[] = {
    {.domain = kMl,
     .name = "SVMClassifier",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferSvmClassifier,
     .prepare = PrepareSvmClassifier,
     .cost = CountSupportVectors},
    {.domain = kMl,
     .name = "SVMRegressor",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferSvmRegressor,
     .prepare = PrepareSvmRegressor,
     .cost = CountSupportVectors},
};

}  // namespace

std::span<const OpDef> MlSvmOps() { return kMlSvmOps; }

}  // namespace sardonyx::ops
