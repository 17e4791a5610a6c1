// ops/recurrent/recurrent_ops.cpp - the operators RNN, GRU, LSTM and DynamicQuantizeLSTM.
#include <utility>

#include "ops/cost_context.h"
#include "ops/prepare_context.h"
#include "ops/recurrent/recurrent_state.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

Prepared PrepareQuantized(PrepareContext& c) {
  RecurrentState state = ReadRecurrent(c);
  state.quantized_w = {.input = kW, .scale = 8, .zero = 9};
  state.quantized_r = {.input = kR, .scale = 10, .zero = 11};
  const Tensor *w = c.Constant(kW), *r = c.Constant(kR);
  for (const QuantizedWeights* weights : {&state.quantized_w, &state.quantized_r}) CheckQuantizedWeights(c, *weights);
  if (w != nullptr && r != nullptr && w->count() != 0 && r->count() != 0) {
    state.hidden = r->shape()[1];
    state.input = w->shape()[1];
    PackQuantizedWeights(c, state.quantized_w);
    PackQuantizedWeights(c, state.quantized_r);
  }
  return WithState(RunRecurrent<float>, std::move(state));
}

Prepared PrepareRecurrent(PrepareContext& c) {
  RecurrentState state = ReadRecurrent(c);
  if (c.InputDType(kX) == DType::kDouble) return WithState(RunRecurrent<double>, std::move(state));
  PackRecurrentWeights(c, state);
  return WithState(RunRecurrent<float>, std::move(state));
}

// Version 1 says with output_sequence whether Y is wanted; the outputs say that, too.
void UpgradeRecurrent(UpgradeContext& c) { c.Take("output_sequence"); }

void CountRecurrent(CostContext& c) {
  const double steps = CostContext::DimOf(c.In(kX), 0), batch = CostContext::DimOf(c.In(kX), 1);
  c.SetOperations(2 * steps * batch * (c.CountIn(kW) + c.CountIn(kR)));
}

constexpr OpDef Row(std::string_view name, Few<int> since) {
  return {.name = name,
          .since = since,
          .types = kIeeeFloats,
          .infer = InferRecurrent,
          .prepare = PrepareRecurrent,
          .upgrade = UpgradeRecurrent,
          .cost = CountRecurrent};
}

constexpr OpDef kRecurrentOps[] = {
    {.domain = "com.microsoft",
     .name = "DynamicQuantizeLSTM",
     .since = {1},
     .types = {DType::kFloat},
     .infer = InferRecurrent,
     .prepare = PrepareQuantized,
     .cost = CountRecurrent},
    Row("GRU", {1, 3, 7, 14, 22}),
    Row("LSTM", {1, 7, 14, 22}),
    Row("RNN", {1, 7, 14, 22}),
};

}  // namespace

std::span<const OpDef> RecurrentOps() { return kRecurrentOps; }

}  // namespace sardonyx::ops
