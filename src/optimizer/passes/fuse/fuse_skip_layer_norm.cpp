// optimizer/passes/fuse/fuse_skip_layer_norm.cpp - the sum of a residual connection before a LayerNormalization or
// RMSNormalization becomes part of it (com.microsoft SkipLayerNormalization, SkipSimplifiedLayerNormalization).
//
// The node gives the sum too (output 3), which the next residual connection reads. A vector added to one of the
// summands becomes the node's bias.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

class SkipFuser {
 public:
  SkipFuser(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    bool rms = false;
    if (!IsPlainNorm(graph_.node(id), &rms)) return false;
    const Node norm = graph_.node(id);
    const ValueId sum = norm.inputs[0];
    const Node* add = ProducerOf(graph_, sum, "Add");
    const char* name = rms ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization";
    if (add == nullptr || add->provider != norm.provider || !HasOperator(context_.registry, "com.microsoft", name))
      return context_.No(graph_, id, "expected a sum before it");
    ValueId x = add->inputs[0], skip = add->inputs[1], bias = kNoValue;
    if (!SameShape(x, sum) || !SameShape(skip, sum) || x == skip)
      return context_.No(graph_, id, "expected two summands of the shape of ", TypeOf(sum).ToText(), ", found ",
                         TypeOf(x).ToText(), " and ", TypeOf(skip).ToText());
    if (!TakeBias(&x, &bias)) TakeBias(&skip, &bias);
    // A sum that is an output of the graph keeps its own node.
    if (graph_.value(sum).is_output) return context_.No(graph_, id, "the sum is an output of the graph");
    const NodeId add_id = add->id;
    Rewrite rewrite(graph_, context_.registry, id);
    std::vector<ValueId> inputs = {x, skip, norm.inputs[1]};
    if (!rms) inputs.push_back(norm.inputs.size() > 2 ? norm.inputs[2] : kNoValue);
    inputs.push_back(bias);
    const AttributeValue* epsilon = norm.FindAttribute("epsilon");
    const ValueId y = rewrite.Add("com.microsoft", name, std::move(inputs),
                                  {{"epsilon", epsilon != nullptr ? *epsilon : AttributeValue(1e-5f)}});
    const NodeId fused = graph_.value(y).producer;
    rewrite.Replace(norm.outputs[0], y);
    if (graph_.UseCount(sum) != 0) {
      graph_.EraseNode(add_id);
      graph_.MoveOutput(fused, 3, sum);
    } else {
      rewrite.DropUnused(sum);
    }
    return true;
  }

 private:
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }
  bool SameShape(ValueId a, ValueId b) const { return SameDims(TypeOf(a), TypeOf(b)); }
  // A vector that is no result of a node, so that it cannot depend on the sum.
  bool IsParameter(ValueId value, const Dim& size) const {
    return IsVector(value, size) && graph_.value(value).producer == kNoNode;
  }
  bool IsVector(ValueId value, const Dim& size) const {
    const Type& type = TypeOf(value);
    return type.has_rank && type.rank() == 1 && SameDim(type.dims[0], size);
  }

  bool IsSum(const Node& norm) const { return ProducerOf(graph_, norm.inputs[0], "Add") != nullptr; }

  // One output, over the last axis of a tensor of rank 3.
  bool IsPlainNorm(const Node& node, bool* rms) const {
    *rms = node.op_type == "RMSNormalization";
    if (!node.domain.empty() || (!*rms && node.op_type != "LayerNormalization")) return false;
    const Type& x = TypeOf(node.inputs[0]);
    if (!x.has_rank || x.rank() != 3 || !IsFloating(x.dtype))
      return IsSum(node) && context_.No(graph_, node.id, "expected floats of rank 3, found ", x.ToText());
    const std::int64_t axis = IntAttribute(node, "axis", -1);
    if ((axis != -1 && axis != 2) || IntAttribute(node, "stash_type", 1) != 1) return false;
    for (std::size_t i = 1; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue && graph_.UseCount(node.outputs[i]) != 0) return false;
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNoValue &&
          (!IsParameter(node.inputs[i], x.dims[2]) || TypeOf(node.inputs[i]).dtype != x.dtype))
        return false;
    return true;
  }

  // Add(value, vector), if nothing else reads it: leaves value and vector.
  bool TakeBias(ValueId* value, ValueId* bias) const {
    const Node* add = ProducerOf(graph_, *value, "Add");
    if (add == nullptr || SoleReader(graph_, *value) == kNoNode) return false;
    const Dim& size = TypeOf(*value).dims[2];
    for (const std::size_t i : {0u, 1u}) {
      if (!IsParameter(add->inputs[1 - i], size) || !SameShape(add->inputs[i], *value)) continue;
      *bias = add->inputs[1 - i];
      *value = add->inputs[i];
      return true;
    }
    return false;
  }

  Graph& graph_;
  const PassContext& context_;
};

bool FuseSkipLayerNorm(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return SkipFuser(each, context).Try(id); });
}

}  // namespace

constinit const Pass kFuseSkipLayerNorm = {
    .name = "fuse_skip_layer_norm", .level = Level::kExtended, .run = FuseSkipLayerNorm};

}  // namespace sardonyx::optimizer
