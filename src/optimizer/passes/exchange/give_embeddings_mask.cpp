// optimizer/passes/exchange/give_embeddings_mask.cpp - EmbedLayerNormalization counts the tokens of each row, where
// attention wants to know their number: as ONNX Runtime's tool writes it.
#include <algorithm>
#include <unordered_set>

#include "optimizer/passes/exchange/exchange_passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kIds = 0, kMask = 7, kLengths = 1, kSum = 2;

class MaskGiver {
 public:
  explicit MaskGiver(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    const Node& node = graph_.node(id);
    if (!Is(node, "EmbedLayerNormalization", "com.microsoft") || Has(node.inputs, kMask) || IsUsed(node, kLengths))
      return false;
    for (const NodeId each : OwnNodes(graph_)) {
      const Node& sum = graph_.node(each);
      if (sum.erased || !Counts(sum, graph_.value(node.inputs[kIds]).type)) continue;
      if (IsMadeOf(sum.inputs[0], id)) return context_.No(graph_, id, "the mask depends on the embeddings");
      Give(id, each);
      return true;
    }
    return false;
  }

 private:
  static bool Has(const std::vector<ValueId>& values, std::size_t i) {
    return i < values.size() && values[i] != kNoValue;
  }
  bool IsUsed(const Node& node, std::size_t output) const {
    return Has(node.outputs, output) && graph_.UseCount(node.outputs[output]) != 0;
  }

  // The sum of each row of an int32 mask, which attention alone reads.
  bool Counts(const Node& sum, const Type& ids) const {
    if (!Is(sum, "ReduceSum") || sum.inputs.size() != 2 || IntAttribute(sum, "keepdims", 1) != 0) return false;
    const Type& mask = graph_.value(sum.inputs[0]).type;
    if (mask.dtype != DType::kInt32 || !SameDims(mask, ids) ||
        IntsOf(graph_, sum.inputs[1]) != std::vector<std::int64_t>{1})
      return false;
    const ValueInfo& lengths = graph_.value(sum.outputs[0]);
    return !lengths.is_output && !lengths.consumers.empty() &&
           std::all_of(lengths.consumers.begin(), lengths.consumers.end(), [&](NodeId reader) {
             const Node& attention = graph_.node(reader);
             const std::size_t at = Is(attention, "Attention", "com.microsoft")            ? 3
                                    : Is(attention, "MultiHeadAttention", "com.microsoft") ? 4
                                                                                           : 0;
             return at != 0 && Has(attention.inputs, at) && attention.inputs[at] == sum.outputs[0];
           });
  }

  bool IsMadeOf(ValueId value, NodeId node) const {
    std::vector<ValueId> left = {value};
    std::unordered_set<NodeId> seen;
    while (!left.empty()) {
      const ValueId each = left.back();
      left.pop_back();
      const NodeId producer = each != kNoValue ? graph_.value(each).producer : kNoNode;
      if (producer == node) return true;
      if (producer == kNoNode || !seen.insert(producer).second) continue;
      const Node& maker = graph_.node(producer);
      left.insert(left.end(), maker.inputs.begin(), maker.inputs.end());
      left.insert(left.end(), maker.implicit_inputs.begin(), maker.implicit_inputs.end());
    }
    return false;
  }

  void Give(NodeId id, NodeId counting) {
    const Node node = graph_.node(id), sum = graph_.node(counting);
    context_.Yes(graph_, id, "counts the tokens that '", graph_.value(sum.inputs[0]).name, "' keeps");
    Rewrite rewrite(graph_, context_.registry, id);
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(std::max(inputs.size(), kMask + 1), kNoValue);
    inputs[kMask] = sum.inputs[0];
    const ValueId y = rewrite.Add(node.domain, node.op_type, std::move(inputs), node.attributes);
    const NodeId made = graph_.value(y).producer;
    graph_.EraseNode(counting);
    graph_.MoveOutput(made, kLengths, sum.outputs[0]);
    if (IsUsed(node, kSum)) graph_.MoveOutput(made, kSum, node.outputs[kSum]);
    rewrite.Replace(node.outputs[0], y);
  }

  Graph& graph_;
  const PassContext& context_;
};

bool GiveEmbeddingsMask(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return MaskGiver(each, context).Try(id); });
}

}  // namespace

constinit const Pass kGiveEmbeddingsMask = {
    .name = "give_embeddings_mask", .level = Level::kExtended, .run = GiveEmbeddingsMask};

}  // namespace sardonyx::optimizer
