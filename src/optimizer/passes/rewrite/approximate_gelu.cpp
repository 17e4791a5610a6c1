// optimizer/passes/rewrite/approximate_gelu.cpp - Gelu becomes its cheaper tanh form, if the user allows it: the config
// entry "optimization.enable_gelu_approximation" = "1", as in ONNX Runtime. Results differ by up to 5e-4.
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

constexpr Rule kRules[] = {
    {.name = "Gelu", .match = "Gelu(x; approximate=\"none\")", .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "com.microsoft Gelu", .match = "com.microsoft.Gelu(x)", .replace = "Gelu(x; approximate=\"tanh\")"},
    {.name = "com.microsoft BiasGelu",
     .match = "com.microsoft.BiasGelu(x, b)",
     .replace = "com.microsoft.FastGelu(x, b)"},
};

}  // namespace

constinit const Pass kApproximateGelu = {
    .name = "approximate_gelu",
    .level = Level::kExtended,
    .rules = kRules,
    .consent = {&PassContext::approximate_gelu, "optimization.enable_gelu_approximation"}};

}  // namespace sardonyx::optimizer
