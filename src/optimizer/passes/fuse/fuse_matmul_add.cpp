// optimizer/passes/fuse/fuse_matmul_add.cpp - MatMul of two matrices plus a value that broadcasts to the result becomes
// Gemm.
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

// `c` is [M, N], [1, N], [M, 1], [N] or a scalar, so that the sum has the product's shape.
bool BroadcastsToProduct(Match& match) {
  const Type &a = match.type("a"), &b = match.type("b"), &c = match.type("c");
  if (!IsFloating(a.dtype)) return match.No("expected floats, found ", Name(a.dtype));
  if (!a.has_rank || !b.has_rank || !c.has_rank) return match.No("a rank is unknown");
  if (a.rank() != 2 || b.rank() != 2 || c.rank() > 2)
    return match.No("expected matrices, found ", a.ToText(), ", ", b.ToText(), " and the summand ", c.ToText());
  const Dim sizes[] = {a.dims[0], b.dims[1]};
  for (std::size_t i = 0; i < c.rank(); ++i) {
    const Dim& dim = c.dims[c.rank() - 1 - i];
    if (!(dim.known() && dim.number() == 1) && !SameDim(dim, sizes[1 - i]))
      return match.No("the summand ", c.ToText(), " would make the product larger");
  }
  return true;
}

constexpr Rule kRules[] = {
    {.name = "sum", .match = "Add(MatMul(a, b), c)", .replace = "Gemm(a, b, c)", .when = BroadcastsToProduct},
};

}  // namespace

constinit const Pass kFuseMatMulAdd = {.name = "fuse_matmul_add", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
