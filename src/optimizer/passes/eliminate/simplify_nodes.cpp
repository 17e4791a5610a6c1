// optimizer/passes/eliminate/simplify_nodes.cpp - removes or replaces single nodes and pairs that do nothing, or that a
// cheaper node can do: sums with 0, products with 1, Expand and Pad to the same shape, Sum of two, Div under Mul, Not
// under Where, a sum behind Gemm.
//
// The result of a rule must have the shape of what it replaces: a constant of higher rank than its partner does not
// match.
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// The result has the axes of x and no more.
bool SameRank(Match& m, const Type& x) {
  if (!x.has_rank || !m.result().has_rank) return m.No("a rank is unknown");
  return x.rank() == m.result().rank() || m.No("the constant adds axes to ", x.ToText());
}

// The operand beside x is exactly this number (patterns compare with a tolerance), and adds no axes to x.
bool IsExactly(Match& m, double wanted) {
  const Node& root = m.graph().node(m.root());
  const ValueId other = root.inputs[0] == m.value("x") ? root.inputs[1] : root.inputs[0];
  const auto number = ScalarOf(m.graph(), other);
  const Type& x = m.type("x");
  if (!number || *number != wanted) return m.No("the constant is not exactly ", wanted);
  return SameRank(m, x);
}
bool IsZero(Match& m) { return IsExactly(m, 0); }
bool IsOne(Match& m) { return IsExactly(m, 1); }

bool IsTrue(Match& m, bool wanted) {
  const Tensor* c = m.constant("c");
  const Type& x = m.type("x");
  return c != nullptr && c->count() == 1 && *c->data<bool>() == wanted && SameRank(m, x);
}
bool IsTrue(Match& m) { return IsTrue(m, true); }
bool IsFalse(Match& m) { return IsTrue(m, false); }

bool PadsNothing(Match& m) {
  const auto pads = m.ints("pads");
  if (!pads) return m.No("its pads are not constant");
  for (const std::int64_t pad : *pads)
    if (pad != 0) return false;
  return true;
}

bool SameShape(const Type& x, const Type& y) {
  if (!x.has_rank || !y.has_rank || x.rank() != y.rank()) return false;
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (!SameDim(x.dims[i], y.dims[i])) return false;
  return true;
}
// What is known of the target, not what the author says of the result: a wrong target must stay an error.
bool HasShapeOfX(Match& m) {
  const Type &x = m.type("x"), &y = m.result();
  const ValueInfo& target = m.graph().value(m.value("shape"));
  if (!SameShape(x, y)) {
    const bool one_rank = x.has_rank && y.has_rank && x.rank() == y.rank();
    return one_rank && m.No("it is not known to have the shape of its input: ", x.ToText(), " and ", y.ToText());
  }
  std::vector<Dim> sizes;
  if (const auto numbers = m.ints("shape")) {
    sizes.assign(numbers->begin(), numbers->end());
  } else if (target.shape_data) {
    sizes = *target.shape_data;
  } else {
    return m.No("nothing is known about its target '", target.name, "'");
  }
  if (sizes.size() > x.rank()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim &size = sizes[sizes.size() - 1 - i], &dim = x.dims[x.rank() - 1 - i];
    if (!(size.known() && size.number() == 1) && !SameDim(size, dim))
      return m.No("its target is not known to be the shape of its input ", x.ToText());
  }
  return true;
}
// Fewer divisors than quotients are cheaper to invert than to divide by.
bool DividesEachOnce(Match& m) {
  if (!IsFloating(m.type("y").dtype)) return m.No("the quotient of integers is truncated");
  return SameShape(m.type("y"), m.result()) || m.No("there are fewer divisors than products");
}

// `c` is [M, N], [1, N], [M, 1], [N] or a scalar, so that the sum has the product's shape.
bool BroadcastsToGemm(Match& m) {
  const Type &c = m.type("c"), &y = m.result();
  if (!IsFloating(c.dtype) || !c.has_rank || !y.has_rank || y.rank() != 2 || c.rank() > 2)
    return m.No("the summand ", c.ToText(), " is not a matrix or row of floats");
  for (std::size_t i = 0; i < c.rank(); ++i) {
    const Dim &dim = c.dims[c.rank() - 1 - i], &of_y = y.dims[1 - i];
    if (!(dim.known() && dim.number() == 1) && !SameDim(dim, of_y))
      return m.No("the summand ", c.ToText(), " is not known to fit ", y.ToText());
  }
  const Type& product = m.type("gemm");
  return (product.has_rank && SameDim(product.dims[0], y.dims[0]) && SameDim(product.dims[1], y.dims[1])) ||
         m.No("the sum has another shape than the product: ", y.ToText(), " and ", product.ToText());
}

constexpr Rule kRules[] = {
    {.name = "sum with 0", .match = "Add(x, 0)", .replace = "x", .when = IsZero},
    {.name = "difference with 0", .match = "Sub(x, 0)", .replace = "x", .when = IsZero},
    {.name = "product with 1", .match = "Mul(x, 1)", .replace = "x", .when = IsOne},
    {.name = "quotient by 1", .match = "Div(x, 1)", .replace = "x", .when = IsOne},
    {.name = "first power", .match = "Pow(x, 1)", .replace = "x", .when = IsOne},
    {.name = "x and true", .match = "And(x, c)", .replace = "x", .when = IsTrue},
    {.name = "x or false", .match = "Or(x, c)", .replace = "x", .when = IsFalse},
    {.name = "sum of two", .match = "Sum(x, y)", .replace = "Add(x, y)"},  // which the fusions know
    {.name = "not not", .match = "Not(Not(x))", .replace = "x"},
    {.name = "to its own shape", .match = "Expand(x, shape)", .replace = "x", .when = HasShapeOfX},
    {.name = "pads of 0", .match = "Pad(x, pads, ?value, ?axes)", .replace = "x", .when = PadsNothing},
    {.name = "product with an inverse", .match = "Mul(x, Div(1, y))", .replace = "Div(x, y)", .when = DividesEachOnce},
    {.name = "choice by the opposite", .match = "Where(Not(c), x, y)", .replace = "Where(c, y, x)"},
    {.name = "sum behind Gemm",
     .match = "Add(gemm:Gemm(a, b; transA=$ta, transB=$tb, alpha=$alpha), c)",
     .replace = "Gemm(a, b, c; transA=$ta, transB=$tb, alpha=$alpha)",
     .when = BroadcastsToGemm},
};

}  // namespace

constinit const Pass kSimplifyNodes = {.name = "simplify_nodes", .level = Level::kBasic, .rules = kRules};

}  // namespace sardonyx::optimizer
