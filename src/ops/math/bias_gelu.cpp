// ops/math/bias_gelu.cpp - com.microsoft BiasGelu and FastGelu: GELU of x plus a bias along the last dimension.
#include <algorithm>

#include "kernels/norm/affine_f32.h"
#include "ops/elementwise.h"
#include "ops/registry.h"
#include "ops/shapes/broadcast.h"

namespace sardonyx::ops {
namespace {

// Blocks of T: the sum, then the function, then back to the tensor's type.
template <typename T, typename Load, typename Function>
void AddAndMap(const FloatMap& map, Load* load, Function* function, KernelContext& c) {
  const TensorRef &x = c.Input(0), &bias = c.Input(1);
  const OutputRef y = c.Output(0);
  const Dims shapes[] = {x.shape, bias.shape};
  const BroadcastPlan plan(y.shape, shapes);
  c.parallel().For(y.count, map.grain, [&](std::int64_t begin, std::int64_t end) {
    plan.ForRange(begin, end, [&](const BroadcastRun& r) {
      alignas(64) T sums[kFloatBlock], biases[kFloatBlock];
      for (std::int64_t i = 0; i < r.count; i += kFloatBlock) {
        const std::size_t n = std::min(kFloatBlock, static_cast<std::size_t>(r.count - i));
        load(x.data, r.in[0] + i, n, sums);
        load(bias.data, plan.repeats(1) ? r.in[1] : r.in[1] + i, plan.repeats(1) ? 1 : n, biases);
        if (plan.repeats(1)) std::fill_n(biases + 1, n - 1, biases[0]);
        for (std::size_t k = 0; k < n; ++k) sums[k] += biases[k];
        function(sums, sums, n, 0, 0);
        if constexpr (std::is_same_v<T, float>) {
          kernels::FromFloats(map.dtype)(sums, n, y.data, r.out + i);
        } else {
          std::copy_n(sums, n, y.As<double>() + r.out + i);
        }
      }
    });
  });
}

// Rows of floats in place: the sum goes to y, the function over y while it is in the cache.
void AddAndMapRows(const FloatMap& map, KernelContext& c) {
  const auto *x = c.Input(0).As<float>(), *bias = c.Input(1).As<float>();
  const OutputRef y = c.Output(0);
  const std::int64_t columns = c.Input(1).count;
  const auto add = kernels::AffineF32().add;
  c.parallel().For(y.count / columns, std::max<std::int64_t>(1, map.grain / columns),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row) {
                       float* to = y.As<float>() + row * columns;
                       add(x + row * columns, bias, nullptr, columns, to);
                       map.f32(to, to, static_cast<std::size_t>(columns), 0, 0);
                     }
                   });
}

void RunBiasGelu(KernelContext& c) {
  const auto& map = c.state<FloatMap>();
  if (!c.HasInput(1)) return RunFloatMap(c);
  if (c.Output(0).count == 0) return;
  const Dims shape = c.Input(0).shape;
  const bool in_rows = !shape.empty() && c.Input(1).rank() == 1 && c.Input(1).count == shape.back();
  if (map.dtype == DType::kFloat && in_rows) {
    AddAndMapRows(map, c);
  } else if (map.f64 != nullptr) {
    AddAndMap<double>(map, kernels::ToDoubles(map.dtype), map.f64, c);
  } else {
    AddAndMap<float>(map, kernels::ToFloats(map.dtype), map.f32, c);
  }
}

Prepared PrepareBiasGelu(PrepareContext& c) {
  return WithState(RunBiasGelu, FloatMap::Of(kernels::UnaryKind::kGelu, c.InputDType(0)));
}
Prepared PrepareFastGelu(PrepareContext& c) {
  return WithState(RunBiasGelu, FloatMap::Of(kernels::UnaryKind::kGeluTanh, c.InputDType(0)));
}

void InferBiasGelu(InferContext& c) {
  c.SetOutputType(0, c.InputType(0));
  if (!c.HasInput(1) || !c.HasRank(0) || !c.HasRank(1)) return;
  const auto &x = c.InputDims(0), &bias = c.InputDims(1);
  const bool fits = bias.size() == 1 && !x.empty() &&
                    (!bias[0].known() || !x.back().known() || bias[0].number() == x.back().number());
  if (!fits)
    c.Fail(Code::kInvalidArgument, "input 'bias': expected the last dimension of ", c.InputType(0).ToText(), ", found ",
           c.InputType(1).ToText());
}

constexpr OpDef kBiasGeluOps[] = {
    {.domain = "com.microsoft",
     .name = "BiasGelu",
     .since = {1},
     .types = kIeeeFloats,
     .infer = InferBiasGelu,
     .prepare = PrepareBiasGelu,
     .traits = kMayAlias},
    {.domain = "com.microsoft",
     .name = "FastGelu",
     .since = {1},
     .types = kIeeeFloats,
     .infer = InferBiasGelu,
     .prepare = PrepareFastGelu,
     .traits = kMayAlias},
};

}  // namespace

std::span<const OpDef> BiasGeluOps() { return kBiasGeluOps; }

}  // namespace sardonyx::ops
