// ops/math/complex_mul.cpp - com.microsoft ComplexMul and ComplexMulConj: products of complex numbers that lie as pairs
// in the last dimension, A * B and A * conj(B). The dimensions before broadcast.
#include "ops/elementwise.h"
#include "ops/operands.h"
#include "ops/registry.h"
#include "ops/shapes/broadcast.h"

namespace sardonyx::ops {
namespace {

struct State {
  bool conjugate = false;
};

void InferComplexMul(InferContext& c) {
  for (const std::size_t i : {0u, 1u}) {
    if (!c.HasRank(i)) continue;
    const bool pairs = c.Rank(i) > 0 && (!c.InputDims(i).back().known() || c.InputDims(i).back().number() == 2);
    if (!pairs) {
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected [..., 2], real and imaginary parts, found ",
             c.InputType(i).ToText());
    }
  }
  InferBroadcast(c);
}

// Of n numbers that lie one after the other, or one that is repeated (step 0).
template <typename T>
void Multiply(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T sign, std::int64_t n, T* y) {
  for (std::int64_t i = 0; i < n; ++i, a += a_step, b += b_step, y += 2) {
    const T re = a[0] * b[0] - sign * a[1] * b[1], im = sign * a[0] * b[1] + a[1] * b[0];
    y[0] = re;
    y[1] = im;
  }
}

template <typename T>
void Multiply(const T* a, const T* b, T sign, std::int64_t n, T* y) {  // with constant steps: in vectors
  for (std::int64_t i = 0; i < 2 * n; i += 2) {
    const T re = a[i] * b[i] - sign * (a[i + 1] * b[i + 1]), im = sign * (a[i] * b[i + 1]) + a[i + 1] * b[i];
    y[i] = re;
    y[i + 1] = im;
  }
}

template <typename T>
void RunComplexMul(KernelContext& c) {
  const T sign = c.state<State>().conjugate ? T(-1) : T(1);
  const Dims out = c.Output(0).shape;
  for (const std::size_t i : {0u, 1u}) {
    const Dims dims = c.Input(i).shape;
    if (dims.empty() || dims.back() != 2) {
      Fail(Code::kInvalidArgument, "input ", i, ": expected [..., 2], real and imaginary parts, found shape ",
           ToText(dims));
    }
  }
  if (c.Output(0).count == 0) return;
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  const auto numbers = [](Dims dims) { return dims.first(dims.size() - 1); };
  const Dims shapes[] = {numbers(c.Input(0).shape), numbers(c.Input(1).shape)};
  const BroadcastPlan plan(numbers(out), shapes);
  const std::int64_t a_step = plan.repeats(0) ? 0 : 2, b_step = plan.repeats(1) ? 0 : 2;
  c.parallel().For(c.Output(0).count / 2, kGrain / 2, [&](std::int64_t begin, std::int64_t end) {
    plan.ForRange(begin, end, [&](const BroadcastRun& run) {
      const T *a = io.In<T>(0) + 2 * run.in[0], *b = io.In<T>(1) + 2 * run.in[1];
      T* y = io.Out<T>(0) + 2 * run.out;
      if (a_step != 0 && b_step != 0) return Multiply(a, b, sign, run.count, y);
      Multiply(a, a_step, b, b_step, sign, run.count, y);
    });
  });
}

Prepared PrepareComplexMul(PrepareContext& c) {
  const State state{c.op_type() == "ComplexMulConj"};
  return WithState(c.InputDType(0) == DType::kDouble ? RunComplexMul<double> : RunComplexMul<float>, state);
}

constexpr OpDef Row(std::string_view name) {
  return {.domain = "com.microsoft",
          .name = name,
          .since = {1},
          .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
          .infer = InferComplexMul,
          .prepare = PrepareComplexMul};
}

constexpr OpDef kComplexMulOps[] = {Row("ComplexMul"), Row("ComplexMulConj")};

}  // namespace

std::span<const OpDef> ComplexMulOps() { return kComplexMulOps; }

}  // namespace sardonyx::ops
