// ops/training/training.cpp - ai.onnx.preview.training: one step of Adagrad, Adam or Momentum over any number of
// tensors, and Gradient, which the pass expand_gradient turns into other operators.
#include <cmath>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kDomain = "ai.onnx.preview.training";

enum class Optimizer : std::uint8_t { kAdagrad, kAdam, kMomentum };

struct OptimizerState {
  Optimizer kind = Optimizer::kAdagrad;
  double norm = 0, norm_post = 0, epsilon = 0, decay = 0, alpha = 0, beta = 0;
  bool nesterov = false;
  std::size_t Accumulators() const { return kind == Optimizer::kAdam ? 2 : 1; }
};

OptimizerState ReadOptimizer(const AttributeReader& c) {
  OptimizerState s;
  const auto number = [&](const char* name, float otherwise) { return static_cast<double>(c.Float(name, otherwise)); };
  s.kind = c.op_type() == "Adam"      ? Optimizer::kAdam
           : c.op_type() == "Adagrad" ? Optimizer::kAdagrad
                                      : Optimizer::kMomentum;
  s.norm = number("norm_coefficient", 0);
  s.norm_post = number("norm_coefficient_post", 0);
  s.epsilon = number("epsilon", 1e-6f);
  s.decay = number("decay_factor", 0);
  s.alpha = number("alpha", 0.9f);
  s.beta = number("beta", 0.999f);
  if (s.kind == Optimizer::kMomentum) {
    const std::string mode = c.String("mode", "standard");
    if (mode != "standard" && mode != "nesterov") {
      c.Fail(Code::kInvalidArgument, "attribute 'mode': expected standard or nesterov, found '", mode, "'");
    }
    s.nesterov = mode == "nesterov";
  }
  return s;
}

// Inputs: R, T, then all tensors, all gradients and each kind of accumulator; outputs: tensors and accumulators.
std::size_t TensorCount(const AttributeReader& c, const OptimizerState& s) {
  const std::size_t each = 2 + s.Accumulators();
  if (c.InputCount() < 2 + each || (c.InputCount() - 2) % each != 0) {
    c.Fail(Code::kInvalidArgument, "expected 2 + ", each, " * n inputs, found ", c.InputCount());
  }
  return (c.InputCount() - 2) / each;
}

void InferOptimizer(InferContext& c) {
  const OptimizerState s = ReadOptimizer(c);
  const std::size_t n = TensorCount(c, s);
  for (std::size_t i = 0; i < n; ++i) {
    c.SetOutputType(i, c.InputType(2 + i));
    for (std::size_t k = 1; k <= s.Accumulators(); ++k) {
      if (c.HasOutput(k * n + i)) c.SetOutputType(k * n + i, c.InputType(2 + (k + 1) * n + i));
    }
  }
}

// One element: x, gradient, accumulators a and b (Adam's second) to their new values.
struct Element {
  double x, a, b;
};
Element Step(const OptimizerState& s, double rate, double t, double x, double gradient, double a, double b) {
  const double g = s.norm * x + gradient;
  switch (s.kind) {
    case Optimizer::kAdagrad: {
      const double sum = a + g * g;
      return {x - rate / (1 + t * s.decay) * g / (std::sqrt(sum) + s.epsilon), sum, 0};
    }
    case Optimizer::kAdam: {
      const double v = s.alpha * a + (1 - s.alpha) * g, h = s.beta * b + (1 - s.beta) * g * g;
      const double adjusted = t > 0 ? rate * std::sqrt(1 - std::pow(s.beta, t)) / (1 - std::pow(s.alpha, t)) : rate;
      return {(1 - s.norm_post) * (x - adjusted * v / (std::sqrt(h) + s.epsilon)), v, h};
    }
    default: {
      const double v = s.alpha * a + (t > 0 ? s.beta : 1) * g;
      return {x - rate * (s.nesterov ? g + s.alpha * v : v), v, 0};
    }
  }
}

template <typename T>
void StepAll(KernelContext& c, const OptimizerState& s, std::size_t n, std::size_t i, double rate, double t) {
  const bool two = s.Accumulators() == 2;
  const auto in = [&](std::size_t k) { return c.Input(2 + k * n + i).As<T>(); };
  const auto out = [&](std::size_t k) { return c.HasOutput(k * n + i) ? c.Output(k * n + i).As<T>() : nullptr; };
  const T *x = in(0), *gradient = in(1), *a = in(2), *b = two ? in(3) : nullptr;
  T *x_out = out(0), *a_out = out(1), *b_out = two ? out(2) : nullptr;
  c.parallel().For(c.Input(2 + i).count, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin; e < end; ++e) {
      const Element next = Step(s, rate, t, static_cast<double>(x[e]), static_cast<double>(gradient[e]),
                                static_cast<double>(a[e]), two ? static_cast<double>(b[e]) : 0);
      if (x_out != nullptr) x_out[e] = static_cast<T>(next.x);
      if (a_out != nullptr) a_out[e] = static_cast<T>(next.a);
      if (b_out != nullptr) b_out[e] = static_cast<T>(next.b);
    }
  });
}

void RunOptimizer(KernelContext& c) {
  const auto& s = c.state<OptimizerState>();
  const TensorRef& r = c.Input(0);
  if (r.count != 1 || c.Input(1).count != 1) {
    Fail(Code::kInvalidArgument, "expected scalars R and T, found ", ToText(r.shape), " and ",
         ToText(c.Input(1).shape));
  }
  const double rate = r.dtype == DType::kFloat ? static_cast<double>(*r.As<float>()) : *r.As<double>();
  const double t = static_cast<double>(*c.Input(1).As<std::int64_t>());
  const std::size_t n = (c.InputCount() - 2) / (2 + s.Accumulators());
  for (std::size_t i = 0; i < n; ++i) {
    const TensorRef& x = c.Input(2 + i);
    for (std::size_t k = 1; k < 2 + s.Accumulators(); ++k) {
      const TensorRef& other = c.Input(2 + k * n + i);
      if (other.dtype != x.dtype || other.count != x.count) {
        Fail(Code::kInvalidArgument, "expected input ", 2 + k * n + i, " of ", Name(x.dtype), ToText(x.shape),
             ", found ", Name(other.dtype), ToText(other.shape));
      }
    }
    VisitDType<float, double>(x.dtype, [&]<typename T>() { StepAll<T>(c, s, n, i, rate, t); });
  }
}

Prepared PrepareOptimizer(PrepareContext& c) {
  const OptimizerState state = ReadOptimizer(c);
  TensorCount(c, state);
  return WithState(RunOptimizer, state);
}

constexpr OpDef Row(std::string_view name) {
  return {.domain = kDomain,
          .name = name,
          .since = {1},
          .types = {DType::kFloat, DType::kDouble},
          .infer = InferOptimizer,
          .prepare = PrepareOptimizer};
}

// The derivative with respect to a tensor has the tensor's type.
void InferGradient(InferContext& c) {
  for (std::size_t i = 0; i < c.OutputCount() && c.HasInput(i); ++i)
    if (c.HasOutput(i)) c.SetOutputType(i, c.InputType(i));
}

Prepared PrepareGradient(PrepareContext& c) {
  c.Fail(Code::kNotImplemented, "expected the pass expand_gradient to have replaced this node; is it disabled?");
}

constexpr OpDef kTrainingOps[] = {
    Row("Adagrad"),
    Row("Adam"),
    Row("Momentum"),
    {.domain = kDomain, .name = "Gradient", .since = {1}, .infer = InferGradient, .prepare = PrepareGradient}};

}  // namespace

std::span<const OpDef> TrainingOps() { return kTrainingOps; }

}  // namespace sardonyx::ops
