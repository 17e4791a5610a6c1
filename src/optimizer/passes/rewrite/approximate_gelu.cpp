// optimizer/passes/rewrite/approximate_gelu.cpp - Gelu becomes its cheaper tanh form, if the user allows it: the config
// entry "optimization.enable_gelu_approximation" = "1", as in ONNX Runtime. Results differ by up to 5e-4.
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr Rule kRules[] = {
    {.name = "Gelu", .match = "Gelu(x; approximate=\"none\")", .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "com.microsoft Gelu", .match = "com.microsoft.Gelu(x)", .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "com.microsoft BiasGelu",
     .match = "com.microsoft.BiasGelu(x, b)",
     .replace = "com.microsoft.FastGelu(x, b)"},
};

bool ApproximateGelu(Graph& graph, PassContext& context) {
  if (context.approximate_gelu) return ApplyRules(kRules, graph, context.registry, -1, context.explanation) > 0;
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    const std::string& op = each.node(id).op_type;
    if (op != "Gelu" && op != "BiasGelu") return false;
    return context.FarFrom(each, id, "only where 'optimization.enable_gelu_approximation' is 1");
  });
}

}  // namespace

constinit const Pass kApproximateGelu = {.name = "approximate_gelu", .level = Level::kExtended, .run = ApproximateGelu};

}  // namespace sardonyx::optimizer
