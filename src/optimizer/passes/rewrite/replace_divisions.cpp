// optimizer/passes/rewrite/replace_divisions.cpp - a quotient by a constant power of two becomes a product, which is
// faster and gives the same bits.
//
// The factor is a constant at once: fusions behind this pass look for one (the scale of attention scores).
#include <cmath>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// 1 / c is exact; the bounds keep it from being subnormal in half precision.
bool IsPowerOfTwo(double c) {
  int exponent = 0;
  return std::isfinite(c) && c != 0 && std::abs(std::frexp(c, &exponent)) == 0.5 && std::abs(exponent) <= 13;
}

Tensor Inverse(const Tensor& divisor, double c) {
  Tensor inverse(divisor.dtype(), divisor.shape());
  VisitDType<float, double, Half, BFloat16>(divisor.dtype(),
                                            [&]<typename T>() { *inverse.data<T>() = T(static_cast<float>(1 / c)); });
  return inverse;
}

bool Replace(Graph& graph, const PassContext& context, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.domain.empty() || node.op_type != "Div") return false;
  const auto c = ScalarOf(graph, node.inputs[1]);
  if (!c) return context.No(graph, id, "'", graph.value(node.inputs[1]).name, "' is no constant number");
  const Tensor& divisor = *graph.value(node.inputs[1]).constant();
  if (!IsFloating(divisor.dtype())) return context.No(graph, id, "its elements are no floating-point numbers");
  if (!IsPowerOfTwo(*c)) return context.No(graph, id, *c, " is no power of two between 2^-14 and 2^12");
  Rewrite rewrite(graph, context.registry, id);
  const ValueId factor = graph.AddConstant(graph.value(node.inputs[1]).name, Inverse(divisor, *c));
  rewrite.Replace(node.outputs[0], rewrite.Add("Mul", {node.inputs[0], factor}));
  return context.Yes(graph, graph.value(factor).consumers[0], "became a product with ", 1 / *c);
}

bool ReplaceDivisions(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return Replace(each, context, id); });
}

}  // namespace

constinit const Pass kReplaceDivisions = {
    .name = "replace_divisions", .level = Level::kExtended, .run = ReplaceDivisions};

}  // namespace sardonyx::optimizer
