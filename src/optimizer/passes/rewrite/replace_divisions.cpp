// optimizer/passes/rewrite/replace_divisions.cpp - a division by a constant power of two becomes a multiplication,
// which is faster and gives the same bits.
//
// The factor is made a constant at once, because later passes look for one (the scale of attention scores).
#include <cmath>

#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

// 1 / c is exact; the bounds keep it from being subnormal in half precision.
bool IsPowerOfTwo(Match& m) {
  const auto c = m.scalar("c");
  if (!c) return m.No("'", m.graph().value(m.value("c")).name, "' is not a constant number");
  const Tensor& divisor = *m.constant("c");
  if (!IsFloating(divisor.dtype())) return m.No("its elements are not floating-point numbers");
  int exponent = 0;
  if (!std::isfinite(*c) || *c == 0 || std::abs(std::frexp(*c, &exponent)) != 0.5 || std::abs(exponent) > 13)
    return m.No(*c, " is not a power of two between 2^-14 and 2^12");
  m.SetConstant("c", TensorOfFloats(divisor.dtype(), divisor.shape(), {1 / *c}));
  return true;
}

constexpr Rule kRules[] = {
    {.name = "power of two", .match = "Div(x, c)", .replace = "Mul(x, c)", .when = IsPowerOfTwo},
};

}  // namespace

constinit const Pass kReplaceDivisions = {.name = "replace_divisions", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
