// optimizer/passes/fuse/fuse_skip_layer_norm.cpp - the sum of a residual connection before a LayerNormalization or
// RMSNormalization becomes part of it (com.microsoft SkipLayerNormalization, SkipSimplifiedLayerNormalization).
//
// The node also returns the sum (output 3), which the next residual connection reads. A vector added to one of the
// summands becomes the node's bias.
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// A vector that no node makes, so that it cannot depend on the sum; or nothing.
bool IsParameter(const Match& m, std::string_view name) {
  if (!m.Has(name)) return true;
  const Type &type = m.type(name), &sum = m.type("sum");
  return type.has_rank && type.rank() == 1 && SameDim(type.dims[0], sum.dims[2]) &&
         m.graph().value(m.value(name)).producer == kNoNode;
}

// Over the last axis of a tensor of rank 3.
bool IsResidual(Match& m) {
  const Type &sum = m.type("sum"), &x = m.type("x"), &skip = m.type("skip");
  if (!sum.has_rank || sum.rank() != 3 || !IsFloating(sum.dtype))
    return m.No("expected floats of rank 3, found ", sum.ToText());
  const std::int64_t axis = m.IntAttribute("axis", -1);
  if (axis != -1 && axis != 2) return m.No("expected the last axis, found ", axis);
  for (const char* name : {"scale", "shift"})
    if (!IsParameter(m, name) || (m.Has(name) && m.type(name).dtype != sum.dtype))
      return m.No("its ", name, " is not a vector that the model holds or takes");
  if (!IsParameter(m, "bias")) return false;
  if (!SameDims(x, sum) || !SameDims(skip, sum) || m.value("x") == m.value("skip"))
    return m.No("expected two summands of the shape of ", sum.ToText(), ", found ", x.ToText(), " and ", skip.ToText());
  // A sum that is an output of the graph keeps its own node.
  return !m.graph().value(m.value("sum")).is_output || m.No("the sum is an output of the graph");
}

// Those with a bias first, which the others would leave to a node of its own.
constexpr Rule kRules[] = {
    {.name = "layer, with bias",
     .match = "LayerNormalization(sum:Add(Add(x, bias), skip), scale, ?shift; "
              "axis=$axis, epsilon=$epsilon, stash_type=1)",
     .replace = "com.microsoft.SkipLayerNormalization(x, skip, scale, ?shift, bias; epsilon=$epsilon) -> _, _, _, sum",
     .when = IsResidual},
    {.name = "root mean square, with bias",
     .match = "RMSNormalization(sum:Add(Add(x, bias), skip), scale; axis=$axis, epsilon=$epsilon, stash_type=1)",
     .replace = "com.microsoft.SkipSimplifiedLayerNormalization(x, skip, scale, bias; epsilon=$epsilon) "
                "-> _, _, _, sum",
     .when = IsResidual},
    {.name = "layer",
     .match = "LayerNormalization(sum:Add(x, skip), scale, ?shift; axis=$axis, epsilon=$epsilon, stash_type=1)",
     .replace = "com.microsoft.SkipLayerNormalization(x, skip, scale, ?shift; epsilon=$epsilon) -> _, _, _, sum",
     .when = IsResidual},
    {.name = "root mean square",
     .match = "RMSNormalization(sum:Add(x, skip), scale; axis=$axis, epsilon=$epsilon, stash_type=1)",
     .replace = "com.microsoft.SkipSimplifiedLayerNormalization(x, skip, scale; epsilon=$epsilon) -> _, _, _, sum",
     .when = IsResidual},
};
constexpr std::span<const Rule> kAll(kRules), kWithBias = kAll.first(2), kAlone = kAll.last(2);

}  // namespace

constinit const Pass kFuseSkipLayerNorm = {.name = "fuse_skip_layer_norm", .level = Level::kExtended, .rules = kAll};

// The two halves by themselves, for models that are written for ONNX Runtime (passes/exchange).
extern const Pass kFuseBiasSkipLayerNorm, kFuseSkipLayerNormAlone;
constinit const Pass kFuseBiasSkipLayerNorm = {
    .name = "fuse_bias_skip_layer_norm", .level = Level::kExtended, .rules = kWithBias};
constinit const Pass kFuseSkipLayerNormAlone = {
    .name = "fuse_skip_layer_norm", .level = Level::kExtended, .rules = kAlone};

}  // namespace sardonyx::optimizer
