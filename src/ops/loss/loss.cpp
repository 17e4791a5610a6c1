// ops/loss/loss.cpp - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/softmax/softmax_f32.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

enum class LossReduction : std::uint8_t { kNone, kSum, kMean };

struct LossState {
  LossReduction reduction = LossReduction::kMean;
  std::optional<std::int64_t> ignore;
  bool softmax = false;  // the input is scores, not log-probabilities
};

LossState ReadLoss(const AttributeReader& c) {
  LossState state;
  const std::string name = c.String("reduction", "mean");
  if (name != "none" && name != "sum" && name != "mean") {
    c.Fail(Code::kInvalidArgument, "attribute 'reduction': expected none, sum or mean, found '", name, "'");
  }
  state.reduction = name == "none" ? LossReduction::kNone : name == "sum" ? LossReduction::kSum : LossReduction::kMean;
  if (c.Has("ignore_index")) state.ignore = c.Int("ignore_index");
  state.softmax = c.op_type() == "SoftmaxCrossEntropyLoss";
  return state;
}

void InferLoss(InferContext& c) {
  const LossState state = ReadLoss(c);
  if (c.HasRank(0) && c.Rank(0) < 2) {
    c.Fail(Code::kInvalidArgument, "expected an input [N, C, ...], found ", c.InputType(0).ToText());
  }
  if (state.reduction != LossReduction::kNone)
    c.SetOutput(0, c.InputDType(0), {});
  else if (c.HasRank(1))
    c.SetOutput(0, c.InputDType(0), c.InputDims(1));
  else
    c.SetOutput(0, c.InputDType(0));
  if (c.HasOutput(1)) c.SetOutputType(1, c.InputType(0));
}

void LogSoftmax(const float* x, std::int64_t n, std::int64_t classes, std::int64_t pixels, float* y,
                Parallel& parallel) {
  kernels::SoftmaxF32(x, n, classes, pixels, true, y, parallel);
}
void LogSoftmax(const double* x, std::int64_t n, std::int64_t classes, std::int64_t pixels, double* y, Parallel&) {
  for (std::int64_t i = 0; i < n * pixels; ++i) {
    const std::int64_t base = i / pixels * classes * pixels + i % pixels;
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) max = std::max(max, x[base + k * pixels]);
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(x[base + k * pixels] - max);
    for (std::int64_t k = 0; k < classes; ++k) y[base + k * pixels] = x[base + k * pixels] - max - std::log(sum);
  }
}

template <typename T>
void RunLoss(KernelContext& c) {
  const auto& state = c.state<LossState>();
  const Dims shape = c.Input(0).shape;
  if (shape.size() < 2) Fail(Code::kInvalidArgument, "expected an input [N, C, ...], found ", ToText(shape));
  const std::int64_t n = shape[0], classes = shape[1], pixels = ElementCount(shape, 2, shape.size());
  if (c.Input(1).count != n * pixels || (c.HasInput(2) && c.Input(2).count != classes)) {
    Fail(Code::kInvalidArgument, "expected ", n * pixels, " targets and ", classes, " weights for ", ToText(shape),
         ", found ", ToText(c.Input(1).shape), c.HasInput(2) ? " and " + ToText(c.Input(2).shape) : "");
  }
  Operands io(c, kDTypeOf<T>, 2);
  const bool own_log = state.softmax && !c.HasOutput(1);
  const std::size_t log_at = io.Add<T>(own_log ? static_cast<std::size_t>(c.Input(0).count) : 0);
  const Operands::Computing computing(io);
  const T* log_probability = io.In<T>(0);
  if (state.softmax) {
    T* to = own_log ? io.At<T>(log_at) : io.Out<T>(1);
    LogSoftmax(io.In<T>(0), n, classes, pixels, to, c.parallel());
    log_probability = to;
  }
  double sum = 0, weights = 0;
  for (std::int64_t i = 0; i < n * pixels; ++i) {
    const std::int64_t target =
        c.Input(1).dtype == DType::kInt32 ? c.Input(1).As<std::int32_t>()[i] : c.Input(1).As<std::int64_t>()[i];
    double loss = 0;
    if (!state.ignore || target != *state.ignore) {
      if (target < 0 || target >= classes) {
        Fail(Code::kInvalidArgument, "expected targets in [0, ", classes, "), found ", target, " at element ", i);
      }
      const double weight = c.HasInput(2) ? static_cast<double>(io.In<T>(2)[target]) : 1;
      loss = -weight * static_cast<double>(log_probability[(i / pixels * classes + target) * pixels + i % pixels]);
      weights += weight;
    }
    if (state.reduction == LossReduction::kNone) io.Out<T>(0)[i] = static_cast<T>(loss);
    sum += loss;
  }
  if (state.reduction == LossReduction::kSum) *io.Out<T>(0) = static_cast<T>(sum);
  if (state.reduction == LossReduction::kMean) *io.Out<T>(0) = static_cast<T>(sum / weights);
}

Prepared PrepareLoss(PrepareContext& c) {
  return WithState(c.InputDType(0) == DType::kDouble ? RunLoss<double> : RunLoss<float>, ReadLoss(c));
}

constexpr OpDef kLossOps[] = {
    {.name = "NegativeLogLikelihoodLoss",
     .since = {12, 13, 22},
     .types = kIeeeFloats,
     .infer = InferLoss,
     .prepare = PrepareLoss},
    {.name = "SoftmaxCrossEntropyLoss",
     .since = {12, 13},
     .types = kIeeeFloats,
     .infer = InferLoss,
     .prepare = PrepareLoss},
};

}  // namespace

std::span<const OpDef> LossOps() { return kLossOps; }

}  // namespace sardonyx::ops
