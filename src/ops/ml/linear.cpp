// ops/ml/linear.cpp - ai.onnx.ml: LinearClassifier and LinearRegressor.
#include "kernels/elementwise/convert.h"
#include "ops/cost_context.h"
#include "ops/ml/product.h"
#include "ops/ml/scores.h"
#include "ops/op_def.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr DTypeSet kFourNumbers = {DType::kFloat, DType::kDouble, DType::kInt64, DType::kInt32};

struct LinearState {
  ConstantProduct product;        // [classes or targets, features]
  std::vector<float> wide;        // the coefficients, if only a run tells how many of them count
  std::vector<float> intercepts;  // one per class, or empty
  std::int64_t outputs = 1;       // classes or targets that have coefficients
  ClassLabels labels;             // of classifiers
  bool second_class = false;      // one score, two labels
  PostTransform post = PostTransform::kNone;
};

// scores [N, outputs] = x * coefficients' + intercepts
void Multiply(KernelContext& c, const LinearState& state, const RowsOf& rows, float* scores) {
  const TensorRef& x = c.Input(0);
  if (rows.width < state.product.k() && !state.wide.empty()) {
    const std::size_t used = static_cast<std::size_t>(state.outputs * rows.width);
    LinearState narrow{.product = ConstantProduct(std::span(state.wide).first(used), state.outputs, rows.width),
                       .intercepts = state.intercepts,
                       .outputs = state.outputs};
    return Multiply(c, narrow, rows, scores);
  }
  if (rows.width != state.product.k()) {
    Fail(Code::kInvalidArgument, "expected ", state.product.k(), " features, as there are coefficients, found shape ",
         ToText(x.shape));
  }
  ScratchParts scratch;
  const std::size_t floats = scratch.Add<float>(x.dtype == DType::kFloat ? 0 : x.count);
  const std::size_t bytes = state.product.ScratchBytes(rows.rows, c.parallel());
  const std::size_t product = scratch.AddBytes(bytes);
  scratch.Allocate(c);
  const float* data = x.As<float>();
  if (x.dtype != DType::kFloat) {
    kernels::ToFloats(x.dtype)(x.data, 0, static_cast<std::size_t>(x.count), scratch.At<float>(floats));
    data = scratch.At<float>(floats);
  }
  kernels::Epilogue epilogue;
  if (!state.intercepts.empty()) epilogue.bias_n = state.intercepts.data();
  state.product.Run(data, rows.rows, epilogue, scores, c.parallel(), bytes == 0 ? nullptr : scratch.At(product));
}

// The features that the input's type names, or 0.
std::int64_t KnownFeatures(const PrepareContext& c) {
  const Type& type = c.InputType(0);
  if (!type.is_tensor() || !type.has_rank || type.dims.empty() || !type.dims.back().known()) return 0;
  return type.dims.back().number();
}

// As many features as the input has; where there are more coefficients, the rest does not count, as in ONNX Runtime.
void ReadCoefficients(PrepareContext& c, LinearState& state, bool whole_rows) {
  const std::span<const float> coefficients = c.FloatsView("coefficients");
  if (coefficients.empty()) c.Fail(Code::kInvalidGraph, "attribute 'coefficients' is required and missing or empty");
  const auto count = static_cast<std::int64_t>(coefficients.size());
  if (state.outputs <= 0 || count < state.outputs || (whole_rows && count % state.outputs != 0)) {
    c.Fail(Code::kInvalidGraph, "attribute 'coefficients': expected a multiple of ", state.outputs,
           " values, one row for each output, found ", count);
  }
  const std::int64_t most = count / state.outputs, known = KnownFeatures(c);
  const std::int64_t features = known > 0 && known < most ? known : most;
  state.product =
      ConstantProduct(coefficients.first(static_cast<std::size_t>(state.outputs * features)), state.outputs, features);
  if (known == 0 && most > 1) state.wide.assign(coefficients.begin(), coefficients.end());
  state.post = ReadPostTransform(c);
}

// ---- LinearClassifier

// One row of coefficients per intercept; without intercepts, one per label.
std::int64_t ScoreCount(const AttributeReader& c, const ClassLabels& labels) {
  const std::size_t intercepts = c.FloatsView("intercepts").size();
  return static_cast<std::int64_t>(intercepts != 0 ? intercepts : labels.count());
}

void InferLinearClassifier(InferContext& c) {
  const ClassLabels labels = ClassLabels::Read(c, "classlabels_strings", "classlabels_ints");
  const std::int64_t scores = ScoreCount(c, labels);
  InferClassifier(c, labels.dtype(), Dim(scores == 1 && labels.count() == 2 ? 2 : scores));
}

void WriteClass(const LinearState& state, const OutputRef& y, std::int64_t row, const float* scores) {
  if (state.outputs == 1) {
    const bool positive = scores[0] > 0;
    if (state.labels.count() == 2) return state.labels.Write(y, row, positive ? 1 : 0);
    return state.labels.WriteBit(y, row, positive);
  }
  std::int64_t best = 0;
  for (std::int64_t k = 1; k < state.outputs; ++k)
    if (scores[k] > scores[best]) best = k;
  state.labels.Write(y, row, static_cast<std::size_t>(best));
}

void RunLinearClassifier(KernelContext& c) {
  const LinearState& state = c.state<LinearState>();
  const RowsOf rows(c.Input(0));
  const std::int64_t columns = state.second_class ? 2 : state.outputs;
  const std::int64_t label_shape[] = {rows.rows}, score_shape[] = {rows.rows, columns};
  const OutputRef labels = c.Output(0, label_shape);
  float* scores = c.Output(1, score_shape).As<float>();
  Multiply(c, state, rows, scores);
  // From the last row to the first: where one score becomes two, the scores so far fill the first half.
  for (std::int64_t row = rows.rows; row-- > 0;) {
    const float* in = scores + row * state.outputs;
    WriteClass(state, labels, row, in);
    if (state.outputs == 1) {
      WriteBinaryScore(state.post, state.second_class ? SecondClass::kComplement : SecondClass::kNone, in[0],
                       scores + row * columns);
    } else {
      TransformScores(state.post, std::span(scores + row * columns, static_cast<std::size_t>(columns)));
    }
  }
}

Prepared PrepareLinearClassifier(PrepareContext& c) {
  LinearState state;
  state.labels = ClassLabels::Read(c, "classlabels_strings", "classlabels_ints");
  state.intercepts = c.Floats("intercepts");
  state.outputs = ScoreCount(c, state.labels);
  state.second_class = state.outputs == 1 && state.labels.count() == 2;
  if (state.outputs > 1 && static_cast<std::int64_t>(state.labels.count()) < state.outputs) {
    c.Fail(Code::kInvalidGraph, "expected a label for each of ", state.outputs, " intercepts, found ",
           state.labels.count());
  }
  ReadCoefficients(c, state, true);
  return WithState(RunLinearClassifier, std::move(state));
}

// ---- LinearRegressor

void InferLinearRegressor(InferContext& c) {
  Dim rows;
  if (c.HasRank(0)) rows = c.Rank(0) == 1 ? Dim(1) : c.Rank(0) == 2 ? c.InputDims(0)[0] : Dim();
  c.SetOutput(0, DType::kFloat, {rows, Dim(c.Int("targets", 1))});
}

void RunLinearRegressor(KernelContext& c) {
  const LinearState& state = c.state<LinearState>();
  const RowsOf rows(c.Input(0));
  const std::int64_t shape[] = {rows.rows, state.outputs};
  float* y = c.Output(0, shape).As<float>();
  Multiply(c, state, rows, y);
  for (std::int64_t row = 0; row < rows.rows && state.post != PostTransform::kNone; ++row) {
    float* scores = y + row * state.outputs;
    if (state.outputs == 1) {
      WriteBinaryScore(state.post, SecondClass::kNone, scores[0], scores);
    } else {
      TransformScores(state.post, std::span(scores, static_cast<std::size_t>(state.outputs)));
    }
  }
}

Prepared PrepareLinearRegressor(PrepareContext& c) {
  LinearState state;
  state.outputs = c.Int("targets", 1);
  state.intercepts = c.Floats("intercepts");
  // A list of another length does not count, as in ONNX Runtime.
  if (static_cast<std::int64_t>(state.intercepts.size()) != state.outputs) state.intercepts.clear();
  ReadCoefficients(c, state, false);
  return WithState(RunLinearRegressor, std::move(state));
}

void CountCoefficients(CostContext& c) { CountVectors(c, "coefficients"); }

constexpr OpDef kMlLinearOps[] = {
    {.domain = kMl,
     .name = "LinearClassifier",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferLinearClassifier,
     .prepare = PrepareLinearClassifier,
     .cost = CountCoefficients},
    {.domain = kMl,
     .name = "LinearRegressor",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferLinearRegressor,
     .prepare = PrepareLinearRegressor,
     .cost = CountCoefficients},
};

}  // namespace

std::span<const OpDef> MlLinearOps() { return kMlLinearOps; }

}  // namespace sardonyx::ops
