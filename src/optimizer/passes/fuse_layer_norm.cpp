// optimizer/passes/fuse_layer_norm.cpp - LayerNormalization spelled out with ReduceMean, Sub, Pow, Sqrt and Div becomes
// one node.
//
// d = x - mean(x); y = d / sqrt(mean(d^2) + epsilon) * scale + bias, the mean over the last axes.
#include <algorithm>

#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

// The axes must be the last ones of x, and scale and bias must have exactly these axes.
bool NormalizesLastAxes(Match& match) {
  const Type& x = match.type("x");
  const auto axes = match.ints("axes");
  const auto epsilon = match.scalar("epsilon");
  if (!axes || axes->empty() || !epsilon || !x.is_tensor() || !x.has_rank) return false;
  const auto rank = static_cast<std::int64_t>(x.rank());
  std::int64_t first = rank;
  std::vector<bool> seen(x.rank(), false);
  for (std::int64_t axis : *axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || seen[static_cast<std::size_t>(axis)]) return false;
    seen[static_cast<std::size_t>(axis)] = true;
    first = std::min(first, axis);
  }
  if (static_cast<std::int64_t>(axes->size()) != rank - first) return false;
  for (const char* name : {"scale", "bias"}) {
    if (match.value(name) == kNoValue) continue;
    const Type& type = match.type(name);
    if (!type.HasStaticShape() || static_cast<std::int64_t>(type.rank()) != rank - first) return false;
    for (std::int64_t i = first; i < rank; ++i)
      if (!SameDim(type.dims[static_cast<std::size_t>(i - first)], x.dims[static_cast<std::size_t>(i)])) return false;
  }
  match.SetAttribute("axis", first - rank);
  match.SetAttribute("epsilon", static_cast<float>(*epsilon));
  return true;
}

constexpr Rule kRules[] = {
    {.name = "square by Pow, root by Sqrt",
     .match = "Add(Mul(Div(Sub(x, ReduceMean(x, axes; keepdims=1)), Sqrt(Add(ReduceMean(Pow(Sub(x, ReduceMean(x, axes; "
              "keepdims=1)), 2), "
              "axes; keepdims=1), epsilon))), scale), bias)",
     .replace = "LayerNormalization(x, scale, bias; axis=$axis, epsilon=$epsilon)",
     .when = NormalizesLastAxes},
    {.name = "square by Mul, root by Sqrt",
     .match = "Add(Mul(Div(Sub(x, ReduceMean(x, axes; keepdims=1)), Sqrt(Add(ReduceMean(Mul(Sub(x, ReduceMean(x, axes; "
              "keepdims=1)), Sub(x, "
              "ReduceMean(x, axes; keepdims=1))), axes; keepdims=1), epsilon))), scale), bias)",
     .replace = "LayerNormalization(x, scale, bias; axis=$axis, epsilon=$epsilon)",
     .when = NormalizesLastAxes},
};

}  // namespace

constinit const Pass kFuseLayerNorm = {.name = "fuse_layer_norm", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
