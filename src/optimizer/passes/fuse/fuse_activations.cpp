// optimizer/passes/fuse/fuse_activations.cpp - activations that exporters spell out become one node: Swish (SiLU),
// HardSwish, HardSigmoid, Mish.
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

bool IsFloat(Match& m) {
  const DType dtype = m.type("x").dtype;
  return IsFloating(dtype) || m.No("expected floats, found ", Name(dtype));
}

constexpr Rule kRules[] = {
    {.name = "SiLU", .match = "Mul(x, Sigmoid(x))", .replace = "Swish(x)", .when = IsFloat},
    {.name = "hard swish of a hard sigmoid",
     .match = "Mul(x, HardSigmoid(x; alpha=0.16666667, beta=0.5))",
     .replace = "HardSwish(x)",
     .when = IsFloat},
    {.name = "hard swish, divided last",
     .match = "Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)",
     .replace = "HardSwish(x)",
     .when = IsFloat},
    {.name = "hard swish, gate divided",
     .match = "Mul(x, Div(Clip(Add(x, 3), 0, 6), 6))",
     .replace = "HardSwish(x)",
     .when = IsFloat},
    {.name = "hard swish, scaled last",
     .match = "Mul(Mul(x, Clip(Add(x, 3), 0, 6)), 0.16666667)",
     .replace = "HardSwish(x)",
     .when = IsFloat},
    {.name = "hard swish, gate scaled",
     .match = "Mul(x, Mul(Clip(Add(x, 3), 0, 6), 0.16666667))",
     .replace = "HardSwish(x)",
     .when = IsFloat},
    {.name = "hard sigmoid, divided",
     .match = "Div(Clip(Add(x, 3), 0, 6), 6)",
     .replace = "HardSigmoid(x; alpha=0.16666667, beta=0.5)",
     .when = IsFloat},
    {.name = "hard sigmoid, scaled",
     .match = "Mul(Clip(Add(x, 3), 0, 6), 0.16666667)",
     .replace = "HardSigmoid(x; alpha=0.16666667, beta=0.5)",
     .when = IsFloat},
    {.name = "Mish", .match = "Mul(x, Tanh(Softplus(x)))", .replace = "Mish(x)", .when = IsFloat},
};

}  // namespace

constinit const Pass kFuseActivations = {.name = "fuse_activations", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
