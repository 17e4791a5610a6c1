// optimizer/passes/fuse_gelu.cpp - GELU spelled out with Erf or Tanh becomes one Gelu node.
//
// Exporters divide by sqrt(2) or multiply by its inverse, and place the factor 0.5 in three ways. Operand order, single
// use of the inner values and equal types are the matcher's business (optimizer/rule.h).
#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

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
};

}  // namespace

constinit const Pass kFuseGelu = {.name = "fuse_gelu", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
