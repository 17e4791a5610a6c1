// optimizer/passes/eliminate/eliminate_casts.cpp - removes casts to the type that a value already has, shortens chains
// of casts, and removes casts of which only the shape is read.
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

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
  const DType x = m.type("x").dtype, inner = m.type("inner").dtype;
  return Holds(x, inner) || m.No("the inner Cast, from ", Name(x), " to ", Name(inner), ", may lose digits");
}
bool WidensAndReturns(Match& m) { return m.result().dtype == m.type("x").dtype && WidensFirst(m); }

bool ToItsOwnType(Match& m) { return m.type("x").is_tensor() && m.type("x").dtype == m.result().dtype; }

constexpr Rule kRules[] = {
    {.name = "to its own type", .match = "Cast(x)", .replace = "x", .when = ToItsOwnType},
    {.name = "wider and back", .match = "Cast(inner:Cast(x))", .replace = "x", .when = WidensAndReturns},
    {.name = "wider, then another",
     .match = "Cast(inner:Cast(x); to=$to, saturate=$saturate, round_mode=$round)",
     .replace = "Cast(x; to=$to, saturate=$saturate, round_mode=$round)",
     .when = WidensFirst},
    {.name = "only its shape",
     .match = "Shape(Cast(x); start=$start, end=$end)",
     .replace = "Shape(x; start=$start, end=$end)"},
    {.name = "only its size", .match = "Size(Cast(x))", .replace = "Size(x)"},
};

}  // namespace

constinit const Pass kEliminateCasts = {.name = "eliminate_casts", .level = Level::kBasic, .rules = kRules};

}  // namespace sardonyx::optimizer
