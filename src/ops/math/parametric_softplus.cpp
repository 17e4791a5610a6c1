// ops/math/parametric_softplus.cpp - ParametricSoftplus, y[i] = alpha * log(1 + e^(beta * x[i])), and ScaledTanh, y[i]
// = alpha * tanh(beta * x[i]): experiments of the standard domain that opset 10 withdrew. Both need both parameters.
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/operands.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct SoftplusState {
  double alpha, beta;  // double holds what either type computes with
};

void Softplus(const float* x, float* y, std::size_t n) {
  kernels::UnaryF32(kernels::UnaryKind::kSoftplus)(x, y, n, 0, 0);
}
void Softplus(const double* x, double* y, std::size_t n) {
  kernels::UnaryF64(kernels::UnaryKind::kSoftplus)(x, y, n, 0, 0);
}

template <typename T>
void RunParametricSoftplus(KernelContext& c) {
  const auto& state = c.state<SoftplusState>();
  const T alpha = static_cast<T>(state.alpha), beta = static_cast<T>(state.beta);
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  c.parallel().For(c.Input(0).count, kHeavyGrain, [&](std::int64_t begin, std::int64_t end) {
    const T* x = io.In<T>(0) + begin;
    T* y = io.Out<T>(0) + begin;
    const std::int64_t n = end - begin;
    for (std::int64_t i = 0; i < n; ++i) y[i] = beta * x[i];
    Softplus(y, y, static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) y[i] *= alpha;
  });
}

Prepared PrepareParametricSoftplus(PrepareContext& c) {
  const SoftplusState state = {c.Float("alpha"), c.Float("beta")};
  const bool is_double = c.InputDType(0) == DType::kDouble;
  return WithState(is_double ? RunParametricSoftplus<double> : RunParametricSoftplus<float>, state);
}

Prepared PrepareScaledTanh(PrepareContext& c) {
  return PrepareFloatMap(c, kernels::UnaryKind::kScaledTanh, static_cast<double>(c.Float("alpha")),
                         static_cast<double>(c.Float("beta")));
}

constexpr OpDef Row(std::string_view name, PrepareFn* prepare) {
  return {.name = name,
          .since = {1},
          .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
          .infer = InferSameType,
          .prepare = prepare,
          .traits = kMayAlias | kElementwise};
}

constexpr OpDef kParametricSoftplusOps[] = {
    Row("ParametricSoftplus", PrepareParametricSoftplus),
    Row("ScaledTanh", PrepareScaledTanh),
};

}  // namespace

std::span<const OpDef> ParametricSoftplusOps() { return kParametricSoftplusOps; }

}  // namespace sardonyx::ops
