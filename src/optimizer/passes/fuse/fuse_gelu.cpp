// optimizer/passes/fuse/fuse_gelu.cpp - GELU spelled out with Erf, Tanh or Sigmoid becomes one Gelu or QuickGelu node.
//
// Exporters divide by sqrt(2) or multiply by its inverse, and place the factor 0.5 in three ways. Operand order, single
// use of the inner values and equal types are the matcher's business (optimizer/rules/rule.h).
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
    {.name = "half on the product", .match = "Mul(0.5, Mul(x, Add(1, Erf(Div(x, 1.4142135)))))", .replace = "Gelu(x)"},
    {.name = "half on x", .match = "Mul(Mul(0.5, x), Add(1, Erf(Div(x, 1.4142135))))", .replace = "Gelu(x)"},
    {.name = "half on the sum", .match = "Mul(x, Mul(0.5, Add(1, Erf(Div(x, 1.4142135)))))", .replace = "Gelu(x)"},
    {.name = "half on the product, factor",
     .match = "Mul(0.5, Mul(x, Add(1, Erf(Mul(x, 0.70710678)))))",
     .replace = "Gelu(x)"},
    {.name = "half on x, factor", .match = "Mul(Mul(0.5, x), Add(1, Erf(Mul(x, 0.70710678))))", .replace = "Gelu(x)"},
    {.name = "half on the sum, factor",
     .match = "Mul(x, Mul(0.5, Add(1, Erf(Mul(x, 0.70710678)))))",
     .replace = "Gelu(x)"},
    {.name = "tanh, half on x",
     .match = "Mul(Mul(0.5, x), Add(1, Tanh(Mul(0.79788456, Add(x, Mul(0.044715, Pow(x, 3)))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh, half on the product",
     .match = "Mul(0.5, Mul(x, Add(1, Tanh(Mul(0.79788456, Add(x, Mul(0.044715, Pow(x, 3))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh, half on the sum",
     .match = "Mul(x, Mul(0.5, Add(1, Tanh(Mul(0.79788456, Add(x, Mul(0.044715, Pow(x, 3))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of cube by products, half on x",
     .match = "Mul(Mul(0.5, x), Add(1, Tanh(Mul(0.79788456, Add(x, Mul(0.044715, Mul(x, Mul(x, x))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of cube by products, half on the product",
     .match = "Mul(0.5, Mul(x, Add(1, Tanh(Mul(0.79788456, Add(x, Mul(0.044715, Mul(x, Mul(x, x)))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of cube by products, half on the sum",
     .match = "Mul(x, Mul(0.5, Add(1, Tanh(Mul(0.79788456, Add(x, Mul(0.044715, Mul(x, Mul(x, x)))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square, half on x",
     .match = "Mul(Mul(0.5, x), Add(1, Tanh(Mul(Mul(0.79788456, x), Add(1, Mul(Mul(0.044715, x), x))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square, half on the product",
     .match = "Mul(0.5, Mul(x, Add(1, Tanh(Mul(Mul(0.79788456, x), Add(1, Mul(Mul(0.044715, x), x)))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square, half on the sum",
     .match = "Mul(x, Mul(0.5, Add(1, Tanh(Mul(Mul(0.79788456, x), Add(1, Mul(Mul(0.044715, x), x)))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square apart, half on x",
     .match = "Mul(Mul(0.5, x), Add(1, Tanh(Mul(0.79788456, Mul(x, Add(1, Mul(0.044715, Mul(x, x))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square apart, half on the product",
     .match = "Mul(0.5, Mul(x, Add(1, Tanh(Mul(0.79788456, Mul(x, Add(1, Mul(0.044715, Mul(x, x)))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square apart, half on the sum",
     .match = "Mul(x, Mul(0.5, Add(1, Tanh(Mul(0.79788456, Mul(x, Add(1, Mul(0.044715, Mul(x, x)))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square apart by Pow, half on x",
     .match = "Mul(Mul(0.5, x), Add(1, Tanh(Mul(0.79788456, Mul(x, Add(1, Mul(0.044715, Pow(x, 2))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square apart by Pow, half on the product",
     .match = "Mul(0.5, Mul(x, Add(1, Tanh(Mul(0.79788456, Mul(x, Add(1, Mul(0.044715, Pow(x, 2)))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "tanh of square apart by Pow, half on the sum",
     .match = "Mul(x, Mul(0.5, Add(1, Tanh(Mul(0.79788456, Mul(x, Add(1, Mul(0.044715, Pow(x, 2)))))))))",
     .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "sigmoid",
     .match = "Mul(x, Sigmoid(Mul(x, factor)))",
     .replace = "com.microsoft.QuickGelu(x; alpha=$alpha)",
     .when = TakesAlpha},
};

}  // namespace

constinit const Pass kFuseGelu = {.name = "fuse_gelu", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
