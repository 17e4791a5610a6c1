// optimizer/passes/fuse/fuse_gelu.cpp - GELU spelled out with Erf, Tanh or Sigmoid becomes one Gelu or QuickGelu node.
//
// Exporters divide by sqrt(2) or multiply by its inverse, and write the factor 0.5 in any place.
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

// x * sigmoid(alpha * x)
bool TakesAlpha(Match& m) {
  const auto alpha = m.scalar("factor");
  const Type &x = m.type("x"), &factor = m.type("factor");
  if (!alpha) return m.No("its factor is not one constant number");
  if (!IsFloating(x.dtype) || !x.has_rank || factor.rank() > x.rank())
    return m.No("expected floats of more axes than the factor, found ", x.ToText());
  m.SetAttribute("alpha", static_cast<float>(*alpha));
  return true;
}

constexpr Rule kRules[] = {
    {.name = "Erf", .match = "Mul(0.5, x, Add(1, Erf(Div(x, 1.4142135) | Mul(x, 0.70710678))))", .replace = "Gelu(x)"},
    {.name = "tanh of x + cube",
     .match = "Mul(0.5, x, Add(1, Tanh(Mul(0.79788456, Add(x, cube))))) "
              "where cube = Mul(0.044715, Pow(x, 3)) | Mul(0.044715, x, x, x)",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of x * (1 + square)",
     .match = "Mul(0.5, x, Add(1, Tanh(Mul(0.79788456, x, Add(1, square))))) "
              "where square = Mul(0.044715, Pow(x, 2)) | Mul(0.044715, x, x)",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "sigmoid",
     .match = "Mul(x, Sigmoid(Mul(x, factor)))",
     .replace = "com.microsoft.QuickGelu(x; alpha=$alpha)",
     .when = TakesAlpha},
};

}  // namespace

constinit const Pass kFuseGelu = {.name = "fuse_gelu", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
