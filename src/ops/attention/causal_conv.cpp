// ops/attention/causal_conv.cpp - CausalConvWithState: each channel [length] is filtered by its own k taps; the k - 1
// elements before it come from a state that is carried on.
#include <algorithm>
#include <cmath>

#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kWeight = 1, kBias = 2, kPast = 3;
constexpr std::size_t kY = 0, kPresent = 1;

struct State {
  bool silu = false;
};

void InferCausalConv(InferContext& c) {
  const DType dtype = c.InputDType(kX);
  c.SetOutputType(kY, c.InputType(kX));
  if (!c.HasOutput(kPresent)) return;
  if (!c.HasRank(kX) || !c.HasRank(kWeight) || c.Rank(kX) != 3 || c.Rank(kWeight) != 3) {
    return c.SetOutput(kPresent, dtype);
  }
  const std::vector<Dim>& x = c.InputDims(kX);
  c.SetOutput(kPresent, dtype, {x[0], x[1], c.InputDims(kWeight)[2] - Dim(1)});
}

void RunCausalConv(KernelContext& c) {
  const Dims x = c.Input(kX).shape, w = c.Input(kWeight).shape;
  if (x.size() != 3 || w.size() != 3 || w[0] != x[1] || w[1] != 1 || w[2] < 1) {
    Fail(Code::kInvalidArgument, "expected an input [batch, channels, length] and a weight [channels, 1, k], found ",
         ToText(x), " and ", ToText(w));
  }
  const std::int64_t taps = w[2], carried = taps - 1, length = x[2];
  const std::int64_t state[] = {x[0], x[1], carried};
  if (c.HasInput(kPast) && !Shape::Equal(c.Input(kPast).shape, state)) {
    Fail(Code::kInvalidArgument, "expected a past_state ", ToText(state), ", found ", ToText(c.Input(kPast).shape));
  }
  if (c.HasInput(kBias) && c.Input(kBias).count != x[1]) {
    Fail(Code::kInvalidArgument, "expected a bias [", x[1], "], found ", ToText(c.Input(kBias).shape));
  }
  Operands io(c, DType::kFloat);
  const std::int64_t rows = x[0] * x[1],
                     jobs = std::min<std::int64_t>(rows, std::int64_t{4} * c.parallel().ThreadCount());
  const std::size_t padded_at = io.Add<float>(static_cast<std::size_t>(jobs * (carried + length)));
  const Operands::Computing computing(io);
  const bool silu = c.state<State>().silu;
  const auto run_row = [&](std::int64_t row, float* padded) {
    if (c.HasInput(kPast)) {
      std::copy_n(io.In<float>(kPast) + row * carried, carried, padded);
    } else {
      std::fill_n(padded, carried, 0.0f);
    }
    std::copy_n(io.In<float>(kX) + row * length, length, padded + carried);
    const float* weight = io.In<float>(kWeight) + row % x[1] * taps;
    float* y = io.Out<float>(kY) + row * length;
    std::fill_n(y, length, c.HasInput(kBias) ? io.In<float>(kBias)[row % x[1]] : 0.0f);
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t i = 0; i < length; ++i) y[i] += weight[t] * padded[t + i];
    }
    for (std::int64_t i = 0; silu && i < length; ++i) y[i] /= 1 + std::exp(-y[i]);
    if (c.HasOutput(kPresent)) std::copy_n(padded + length, carried, io.Out<float>(kPresent) + row * carried);
  };
  c.parallel().For(jobs, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t job = begin; job < end; ++job) {
      float* padded = io.At<float>(padded_at) + job * (carried + length);
      for (std::int64_t row = rows * job / jobs; row < rows * (job + 1) / jobs; ++row) run_row(row, padded);
    }
  });
}

Prepared PrepareCausalConv(PrepareContext& c) {
  const std::string activation = c.String("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    c.Fail(Code::kInvalidArgument, "attribute 'activation': expected none, silu or swish, found '", activation, "'");
  }
  if (c.Int("ndim", 1) != 1 || c.Int("dilation", 1) != 1 || c.Flag("channels_last") || c.Int("state_window", 0) != 0) {
    c.Unsupported("these values of attributes 'ndim', 'dilation', 'channels_last' and 'state_window'");
  }
  return WithState(RunCausalConv, State{activation != "none"});
}

constexpr DTypeSet kCausalConvTypes = {DType::kFloat, DType::kFloat16, DType::kBFloat16};

constexpr OpDef kCausalConvOps[] = {
    {.name = "CausalConvWithState",
     .since = {27},
     .types = kCausalConvTypes,
     .infer = InferCausalConv,
     .prepare = PrepareCausalConv,
     .cost = CountConvolution},
    {.domain = "com.microsoft",
     .name = "CausalConvWithState",
     .since = {1},
     .types = kCausalConvTypes,
     .infer = InferCausalConv,
     .prepare = PrepareCausalConv,
     .cost = CountConvolution},
};

}  // namespace

std::span<const OpDef> CausalConvOps() { return kCausalConvOps; }

}  // namespace sardonyx::ops
