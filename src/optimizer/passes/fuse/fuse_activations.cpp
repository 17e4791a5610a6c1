// optimizer/passes/fuse/fuse_activations.cpp - activations that exporters spell out become one node: Swish (SiLU),
// HardSwish, HardSigmoid, Mish, or Softplus with a bound.
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

bool IsFloat(Match& m) {
  const DType dtype = m.type("x").dtype;
  return IsFloating(dtype) || m.No("expected floats, found ", Name(dtype));
}

// Beyond 20, Softplus(x) is x + 2e-9: the same in all but double.
bool RoundsToX(Match& m) {
  return IsFloat(m) && (m.type("x").dtype != DType::kDouble || m.No("in double, Softplus differs from x beyond 20"));
}

constexpr Rule kRules[] = {
    {.name = "SiLU", .match = "Mul(x, Sigmoid(x))", .replace = "Swish(x)", .when = IsFloat},
    {.name = "hard swish of a hard sigmoid",
     .match = "Mul(x, HardSigmoid(x; alpha=0.16666667, beta=0.5))",
     .replace = "HardSwish(x)",
     .when = IsFloat},
    {.name = "hard swish",
     .match =
         "Mul(x, gate, 0.16666667) | Div(Mul(x, gate), 6) | Mul(x, Div(gate, 6)) where gate = Clip(Add(x, 3), 0, 6)",
     .replace = "HardSwish(x)",
     .when = IsFloat},
    {.name = "hard sigmoid",
     .match = "Div(gate, 6) | Mul(gate, 0.16666667) where gate = Clip(Add(x, 3), 0, 6)",
     .replace = "HardSigmoid(x; alpha=0.16666667, beta=0.5)",
     .when = IsFloat},
    {.name = "Softplus, x itself beyond 20",  // torch.onnx writes it for Mamba
     .match = "Where(Greater(x, 20), x, Softplus(x))",
     .replace = "Softplus(x)",
     .when = RoundsToX},
    {.name = "Mish", .match = "Mul(x, Tanh(Softplus(x)))", .replace = "Mish(x)", .when = IsFloat},
};

}  // namespace

constinit const Pass kFuseActivations = {.name = "fuse_activations", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
