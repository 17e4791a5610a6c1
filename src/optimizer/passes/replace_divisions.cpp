// optimizer/passes/replace_divisions.cpp - a quotient by a constant power of two becomes a product, which is faster and
// gives the same bits.
#include <cmath>

#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

bool PowerOfTwo(Match& m) {
  const auto c = m.scalar("c");
  if (!c || !IsFloating(m.type("x").dtype)) return false;
  int exponent = 0;
  // 1 / c is exact too; bounds keep it from being subnormal in half precision.
  return std::isfinite(*c) && *c != 0 && std::abs(std::frexp(*c, &exponent)) == 0.5 && std::abs(exponent) <= 13;
}

constexpr Rule kRules[] = {
    {.name = "quotient by a power of two",
     .match = "Div(x, c)",
     .replace = "Mul(x, Reciprocal(c))",
     .when = PowerOfTwo},
};

}  // namespace

constinit const Pass kReplaceDivisions = {.name = "replace_divisions", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
