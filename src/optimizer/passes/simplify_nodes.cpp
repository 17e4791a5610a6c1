// optimizer/passes/simplify_nodes.cpp - single nodes and pairs that do nothing, or that a cheaper node does: sums with
// 0, products with 1, Expand and Pad and Slice to the same shape, chains of Cast, Relu beside Clip.
//
// A rule's result must have the shape of what it replaces: constants of a higher rank than their partner do not count.
#include <cmath>
#include <limits>

#include "optimizer/passes.h"
#include "optimizer/rewrite.h"

namespace sardonyx::optimizer {
namespace {

const Type& RootType(const Match& m) { return m.graph().value(m.graph().node(m.root()).outputs[0]).type; }

// The operand beside x is exactly this number (patterns compare with a tolerance), and adds no axes to x.
bool IsExactly(const Match& m, double wanted) {
  const Node& root = m.graph().node(m.root());
  const ValueId other = root.inputs[0] == m.value("x") ? root.inputs[1] : root.inputs[0];
  const auto number = ScalarOf(m.graph(), other);
  const Type& x = m.type("x");
  return number && *number == wanted && x.has_rank && RootType(m).has_rank && x.rank() == RootType(m).rank();
}
bool IsZero(Match& m) { return IsExactly(m, 0); }
bool IsOne(Match& m) { return IsExactly(m, 1); }

bool IsTrue(const Match& m, bool wanted) {
  const Tensor* c = m.constant("c");
  const Type& x = m.type("x");
  return c != nullptr && c->count() == 1 && *c->data<bool>() == wanted && x.has_rank && RootType(m).has_rank &&
         x.rank() == RootType(m).rank();
}
bool IsTrue(Match& m) { return IsTrue(m, true); }
bool IsFalse(Match& m) { return IsTrue(m, false); }

bool SameShape(Match& m) {
  const Type &x = m.type("x"), &y = RootType(m);
  if (!x.has_rank || !y.has_rank || x.rank() != y.rank()) return false;
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (!SameDim(x.dims[i], y.dims[i])) return false;
  return true;
}

bool PadsNothing(Match& m) {
  const auto pads = m.ints("pads");
  if (!pads) return false;
  for (const std::int64_t pad : *pads)
    if (pad != 0) return false;
  return true;
}

// As many elements as there are, each step forward: all of them in their order.
bool SlicesNothing(Match& m) {
  if (m.value("steps") != kNoValue) {
    const auto steps = m.ints("steps");
    if (!steps) return false;
    for (const std::int64_t step : *steps)
      if (step != 1) return false;
  }
  return SameShape(m);
}

bool PowerOfTwo(Match& m) {
  const auto c = m.scalar("c");
  if (!c || !IsFloating(m.type("x").dtype)) return false;
  int exponent = 0;
  // 1 / c is exact too; bounds keep it from being subnormal in half precision.
  return std::isfinite(*c) && *c != 0 && std::abs(std::frexp(*c, &exponent)) == 0.5 && std::abs(exponent) <= 13;
}

// Every value of `from` is one of `to`.
bool Holds(DType from, DType to) {
  if (from == to) return true;
  const auto digits = [](DType t) {
    switch (t) {
      case DType::kBool:
        return 1;
      case DType::kInt8:
        return 7;
      case DType::kUInt8:
        return 8;
      case DType::kInt16:
        return 15;
      case DType::kUInt16:
        return 16;
      case DType::kInt32:
        return 31;
      case DType::kUInt32:
        return 32;
      case DType::kInt64:
        return 63;
      case DType::kBFloat16:
        return 8;
      case DType::kFloat16:
        return 11;
      case DType::kFloat:
        return 24;
      case DType::kDouble:
        return 53;
      default:
        return 0;
    }
  };
  const int a = digits(from), b = digits(to);
  if (a == 0 || b == 0 || a > b || IsFloating(from) != IsFloating(to)) {
    return a != 0 && b != 0 && a <= b && !IsFloating(from) && IsFloating(to);
  }
  if (IsFloating(from)) return !(from == DType::kBFloat16 && to == DType::kFloat16);
  const bool is_signed = from == DType::kInt8 || from == DType::kInt16 || from == DType::kInt32;
  const bool to_signed = to == DType::kInt8 || to == DType::kInt16 || to == DType::kInt32 || to == DType::kInt64;
  return !is_signed || to_signed;
}

// Cast(Cast(x)): the inner one loses nothing.
bool WidensFirst(Match& m) {
  const Node& root = m.graph().node(m.root());
  return Holds(m.type("x").dtype, m.graph().value(root.inputs[0]).type.dtype);
}
bool WidensAndReturns(Match& m) { return WidensFirst(m) && RootType(m).dtype == m.type("x").dtype; }

// Relu before or after Clip: the larger lower bound counts.
bool ClipFromZero(Match& m) {
  const auto low = m.scalar("low");
  return m.value("low") == kNoValue || (low && *low <= 0);
}
bool ClipIsPositive(Match& m) {
  const auto low = m.scalar("low");
  return low && *low >= 0;
}

constexpr Rule kRules[] = {
    {.name = "sum with 0", .match = "Add(x, 0)", .replace = "x", .when = IsZero},
    {.name = "difference with 0", .match = "Sub(x, 0)", .replace = "x", .when = IsZero},
    {.name = "product with 1", .match = "Mul(x, 1)", .replace = "x", .when = IsOne},
    {.name = "quotient by 1", .match = "Div(x, 1)", .replace = "x", .when = IsOne},
    {.name = "first power", .match = "Pow(x, 1)", .replace = "x", .when = IsOne},
    {.name = "x and true", .match = "And(x, c)", .replace = "x", .when = IsTrue},
    {.name = "true and x", .match = "And(c, x)", .replace = "x", .when = IsTrue},
    {.name = "x or false", .match = "Or(x, c)", .replace = "x", .when = IsFalse},
    {.name = "false or x", .match = "Or(c, x)", .replace = "x", .when = IsFalse},
    {.name = "not not", .match = "Not(Not(x))", .replace = "x"},
    {.name = "to its own shape", .match = "Expand(x, shape)", .replace = "x", .when = SameShape},
    {.name = "pads of 0", .match = "Pad(x, pads, ?value, ?axes)", .replace = "x", .when = PadsNothing},
    {.name = "whole slice", .match = "Slice(x, starts, ends, ?axes, ?steps)", .replace = "x", .when = SlicesNothing},
    {.name = "wider and back", .match = "Cast(Cast(x))", .replace = "x", .when = WidensAndReturns},
    {.name = "wider, then another",
     .match = "Cast(Cast(x); to=$to)",
     .replace = "Cast(x; to=$to)",
     .when = WidensFirst},
    {.name = "relu twice", .match = "Relu(Relu(x))", .replace = "Relu(x)"},
    {.name = "relu before clip",
     .match = "Clip(Relu(x), ?low, ?high)",
     .replace = "Clip(x, 0, ?high)",
     .when = ClipFromZero},
    {.name = "relu after clip",
     .match = "Relu(Clip(x, low, ?high))",
     .replace = "Clip(x, low, ?high)",
     .when = ClipIsPositive},
    {.name = "quotient by a power of two",
     .match = "Div(x, c)",
     .replace = "Mul(x, Reciprocal(c))",
     .when = PowerOfTwo},
};

}  // namespace

constinit const Pass kSimplifyNodes = {.name = "simplify_nodes", .level = Level::kBasic, .rules = kRules};

}  // namespace sardonyx::optimizer
