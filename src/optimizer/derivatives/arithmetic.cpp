// optimizer/derivatives/arithmetic.cpp - the derivatives of elementwise operators, as expressions.
#include "optimizer/derivatives/derivation.h"

namespace sardonyx::optimizer {
namespace {

// Elements that are the largest (or smallest) in several inputs share the gradient.
void DeriveExtremum(Derivation& d) {
  std::vector<ValueId> taken;
  const auto dtype = static_cast<std::int64_t>(d.TypeOf(d.Input(0)).dtype);
  for (std::size_t i = 0; i < d.InputCount(); ++i)
    taken.push_back(d.Add("Cast", {d.Add("Equal", {d.Input(i), d.Output()})}, {{"to", dtype}}));
  const ValueId share = d.Add("Div", {d.Gradient(), d.Add("Sum", taken)});
  for (std::size_t i = 0; i < d.InputCount(); ++i)
    if (d.Wants(i)) d.Give(i, d.SumTo(d.Add("Mul", {share, taken[i]}), d.Input(i)));
}

void DeriveSum(Derivation& d) {
  for (std::size_t i = 0; i < d.InputCount(); ++i)
    if (d.Wants(i)) d.Give(i, d.SumTo(d.Gradient(), d.Input(i)));
}

void DeriveMean(Derivation& d) {
  const ValueId share = d.Add("Div", {d.Gradient(), d.Scalar(static_cast<double>(d.InputCount()))});
  for (std::size_t i = 0; i < d.InputCount(); ++i)
    if (d.Wants(i)) d.Give(i, d.SumTo(share, d.Input(i)));
}

void DeriveClip(Derivation& d) {
  if (d.Wants(1) || d.Wants(2)) d.NotImplemented("with respect to the bounds");
  ValueId gradient = d.Gradient();
  const ValueId zero = d.Scalar(0);
  if (d.HasInput(1)) gradient = d.Add("Where", {d.Add("Less", {d.Input(0), d.Input(1)}), zero, gradient});
  if (d.HasInput(2)) gradient = d.Add("Where", {d.Add("Greater", {d.Input(0), d.Input(2)}), zero, gradient});
  d.Give(0, gradient);
}

void DeriveWhere(Derivation& d) {
  const ValueId zero = d.Add("CastLike", {d.Add("Cast", {d.Ints({0})}, {{"to", std::int64_t{1}}}), d.Gradient()});
  if (d.Wants(1)) d.Give(1, d.SumTo(d.Add("Where", {d.Input(0), d.Gradient(), zero}), d.Input(1)));
  if (d.Wants(2)) d.Give(2, d.SumTo(d.Add("Where", {d.Input(0), zero, d.Gradient()}), d.Input(2)));
}

void DerivePow(Derivation& d) {
  const ValueId exponent = d.Add("CastLike", {d.Input(1), d.Input(0)}), one = d.Scalar(1);
  if (d.Wants(0)) {
    const ValueId power = d.Add("Pow", {d.Input(0), d.Add("Sub", {exponent, one})});
    // 0 to the power of -1 is infinite, but a power of 0 is constant.
    const ValueId constant = d.Add("Equal", {exponent, d.Scalar(0)});
    const ValueId slope = d.Add("Where", {constant, d.Scalar(0), d.Add("Mul", {exponent, power})});
    d.Give(0, d.SumTo(d.Add("Mul", {d.Gradient(), slope}), d.Input(0)));
  }
  if (!d.Wants(1)) return;
  // The logarithm of what is not positive is taken of 1: a power of 0 does not change with its exponent.
  const ValueId positive = d.Add("Where", {d.Add("Greater", {d.Input(0), d.Scalar(0)}), d.Input(0), one});
  const ValueId slope = d.Add("Mul", {d.Output(), d.Add("Log", {positive})});
  d.Give(1, d.Add("CastLike", {d.SumTo(d.Add("Mul", {d.Gradient(), slope}), d.Input(1)), d.Input(1)}));
}

void DeriveCast(Derivation& d) { d.Give(0, d.Add("CastLike", {d.Gradient(), d.Input(0)})); }

void DeriveGelu(Derivation& d) {
  const bool tanh = d.attributes().String("approximate", "none") == "tanh";
  d.Becomes(0, d.Evaluate(tanh ? "Mul(Mul(0.5, a), Add(1, Tanh(Mul(7.97884560802865e-1, Add(a, Mul(0.044715, Mul(a, "
                                 "Mul(a, a))))))))"
                               : "Mul(Mul(0.5, a), Add(1, Erf(Mul(7.07106781186548e-1, a))))"));
}

// With a ratio in training mode each run drops other elements: the mask says which ones this run has dropped.
void DeriveDropout(Derivation& d) {
  const Tensor* training = d.HasInput(2) ? d.graph().value(d.Input(2)).constant() : nullptr;
  if (!d.HasInput(2) || (training != nullptr && !*training->data<bool>())) return d.Give(0, d.Gradient());
  d.NotImplemented("in training mode");
}

constexpr Derivative kArithmetic[] = {
    {.name = "Abs", .gradients = {"Mul(dy, Sign(a))"}},
    {.name = "Acos", .gradients = {"Neg(Div(dy, Sqrt(Sub(1, Mul(a, a)))))"}},
    {.name = "Acosh", .gradients = {"Div(dy, Mul(Sqrt(Sub(a, 1)), Sqrt(Add(a, 1))))"}},
    {.name = "Add", .gradients = {"dy", "dy"}},
    {.name = "Asin", .gradients = {"Div(dy, Sqrt(Sub(1, Mul(a, a))))"}},
    {.name = "Asinh", .gradients = {"Div(dy, Sqrt(Add(Mul(a, a), 1)))"}},
    {.name = "Atan", .gradients = {"Div(dy, Add(Mul(a, a), 1))"}},
    {.name = "Atanh", .gradients = {"Div(dy, Sub(1, Mul(a, a)))"}},
    {.name = "Cast", .derive = DeriveCast},
    {.name = "CastLike", .derive = DeriveCast},
    {.name = "Ceil", .gradients = {"Mul(dy, 0)"}},
    {.name = "Celu", .gradients = {"Mul(dy, Min(1, Exp(Div(a, alpha))))"}},
    {.name = "Clip", .derive = DeriveClip},
    {.name = "Cos", .gradients = {"Neg(Mul(dy, Sin(a)))"}},
    {.name = "Cosh", .gradients = {"Mul(dy, Sinh(a))"}},
    {.name = "Div", .gradients = {"Div(dy, b)", "Neg(Div(Mul(dy, y), b))"}},
    {.name = "Dropout", .derive = DeriveDropout},
    {.name = "Elu", .gradients = {"Where(Greater(a, 0), dy, Mul(dy, Add(y, alpha)))"}},
    {.name = "Erf", .gradients = {"Mul(dy, Mul(1.12837916709551, Exp(Neg(Mul(a, a)))))"}},
    {.name = "Exp", .gradients = {"Mul(dy, y)"}},
    {.name = "Floor", .gradients = {"Mul(dy, 0)"}},
    {.name = "Gelu", .derive = DeriveGelu},
    {.name = "HardSigmoid", .gradients = {"Where(And(Greater(y, 0), Less(y, 1)), Mul(dy, alpha), 0)"}},
    {.name = "HardSwish", .same_as = "Mul(a, HardSigmoid(a; alpha=1.66666666666667e-1))"},
    {.name = "Identity", .gradients = {"dy"}},
    {.name = "LeakyRelu", .gradients = {"Where(Less(a, 0), Mul(dy, alpha), dy)"}},
    {.name = "Log", .gradients = {"Div(dy, a)"}},
    {.name = "Max", .derive = DeriveExtremum},
    {.name = "Mean", .derive = DeriveMean},
    {.name = "Min", .derive = DeriveExtremum},
    {.name = "Mish", .same_as = "Mul(a, Tanh(Softplus(a)))"},
    {.name = "Mul", .gradients = {"Mul(dy, b)", "Mul(dy, a)"}},
    {.name = "Neg", .gradients = {"Neg(dy)"}},
    {.name = "PRelu", .gradients = {"Where(Less(a, 0), Mul(dy, b), dy)", "Where(Less(a, 0), Mul(dy, a), 0)"}},
    {.name = "Pow", .derive = DerivePow},
    {.name = "Reciprocal", .gradients = {"Neg(Mul(dy, Mul(y, y)))"}},
    {.name = "Relu", .gradients = {"Where(Greater(a, 0), dy, 0)"}},
    {.name = "Round", .gradients = {"Mul(dy, 0)"}},
    {.name = "Selu", .gradients = {"Where(Greater(a, 0), Mul(dy, gamma), Mul(dy, Add(y, Mul(alpha, gamma))))"}},
    {.name = "Shrink", .gradients = {"Where(Greater(Abs(a), lambd), dy, 0)"}},
    {.name = "Sigmoid", .gradients = {"Mul(dy, Mul(y, Sub(1, y)))"}},
    {.name = "Sign", .gradients = {"Mul(dy, 0)"}},
    {.name = "Sin", .gradients = {"Mul(dy, Cos(a))"}},
    {.name = "Sinh", .gradients = {"Mul(dy, Cosh(a))"}},
    {.name = "Softplus", .gradients = {"Mul(dy, Sigmoid(a))"}},
    {.name = "Softsign", .gradients = {"Div(dy, Pow(Add(1, Abs(a)), 2))"}},
    {.name = "Sqrt", .gradients = {"Div(dy, Add(y, y))"}},
    {.name = "Sub", .gradients = {"dy", "Neg(dy)"}},
    {.name = "Sum", .derive = DeriveSum},
    {.name = "Swish", .same_as = "Mul(a, Sigmoid(Mul(alpha, a)))"},
    {.name = "Tan", .gradients = {"Mul(dy, Add(Mul(y, y), 1))"}},
    {.name = "Tanh", .gradients = {"Mul(dy, Sub(1, Mul(y, y)))"}},
    {.name = "ThresholdedRelu", .gradients = {"Where(Greater(a, alpha), dy, 0)"}},
    {.name = "Where", .derive = DeriveWhere},
};

}  // namespace

std::span<const Derivative> ArithmeticDerivatives() { return kArithmetic; }

}  // namespace sardonyx::optimizer
