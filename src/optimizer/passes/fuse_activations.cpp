// optimizer/passes/fuse_activations.cpp - activations that exporters spell out become one node: Swish (SiLU),
// HardSwish, HardSigmoid, Mish; and Relu beside Clip becomes one Clip.
#include <algorithm>
#include <cmath>
#include <limits>

#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

bool IsFloat(Match& m) { return IsFloating(m.type("x").dtype); }

// Relu(Clip(x, low, high)): the bound below is at least 0 already.
bool IsNonNegative(Match& m) {
  const auto low = m.scalar("low");
  return IsFloat(m) && low.has_value() && *low >= 0;
}

// Clip(Relu(x), low, high): no bound below that matters.
bool IsNonPositive(Match& m) {
  const auto low = m.scalar("low");
  return IsFloat(m) && low.has_value() && *low <= 0;
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
    {.name = "Relu after Clip",
     .match = "Relu(Clip(x, low, ?high))",
     .replace = "Clip(x, low, ?high)",
     .when = IsNonNegative},
    {.name = "Clip after Relu",
     .match = "Clip(Relu(x), low, ?high)",
     .replace = "Clip(x, 0, ?high)",
     .when = IsNonPositive},
};

}  // namespace

constinit const Pass kFuseActivations = {.name = "fuse_activations", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
