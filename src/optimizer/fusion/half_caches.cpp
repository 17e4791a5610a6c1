// optimizer/fusion/half_caches.cpp - Attention in float between caches of 16-bit floats reads and writes
// these.
//
// Models of 16-bit floats are computed in float (passes/rewrite/widen_half.cpp), with a Cast of each past before
// Attention and one of each present behind it: in every step, both caches would be read and written twice more, and in
// twice the size. CachedAttention takes them as they are. It also rounds the new keys and values before it uses them,
// as the author's graph does.
#include "optimizer/fusion/half_caches.h"

#include <array>
#include <utility>
#include <vector>

#include "ops/own_domain.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kPast = 4, kLengths = 6, kPresent = 1;  // of Attention: keys, and values behind them

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

class CacheFuser {
 public:
  CacheFuser(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    const Node node = graph_.node(id);
    if (!Is(node, "Attention") || node.inputs.size() <= kPast + 1 || node.outputs.size() <= kPresent + 1) return false;
    if (!HasOperator(context_.registry, ops::kOwnDomain, "CachedAttention")) return false;
    std::array<NodeId, 2> before{}, behind{};
    for (const std::size_t i : {0u, 1u}) {
      before[i] = CastOf(node.inputs[kPast + i]);
      behind[i] = node.outputs[kPresent + i] == kNoValue ? kNoNode : SoleReader(graph_, node.outputs[kPresent + i]);
      if (before[i] == kNoNode || behind[i] == kNoNode) return false;
    }
    const DType dtype = DTypeOf(graph_.node(before[0]).inputs[0]);
    for (const std::size_t i : {0u, 1u}) {
      if (!IsHalf(dtype) || DTypeOf(graph_.node(before[i]).inputs[0]) != dtype) return false;
      if (!Is(graph_.node(behind[i]), "Cast") || DTypeOf(graph_.node(behind[i]).outputs[0]) != dtype) return false;
    }
    for (const ValueId input : {node.inputs[0], node.inputs[1], node.inputs[2]})
      if (DTypeOf(input) != DType::kFloat) return false;
    if (!IsPlain(node)) return context_.No(graph_, id, "it has windows or lengths, or its scores are an output");

    std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.begin() + kPast);
    for (const NodeId cast : before) inputs.push_back(graph_.node(cast).inputs[0]);
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : node.attributes)
      for (const char* shared : {"q_num_heads", "kv_num_heads", "scale", "softcap"})
        if (attribute.name == shared) attributes.push_back(attribute);
    Rewrite rewrite(graph_, context_.registry, id);
    const ValueId y = rewrite.Add(ops::kOwnDomain, "CachedAttention", std::move(inputs), std::move(attributes));
    for (const std::size_t i : {0u, 1u}) {
      const ValueId present = graph_.node(behind[i]).outputs[0];
      graph_.EraseNode(behind[i]);
      graph_.MoveOutput(graph_.value(y).producer, kPresent + i, present);
    }
    context_.Yes(graph_, id, "reads and writes caches of 16 bits");
    rewrite.Replace(node.outputs[0], y);
    return true;
  }

 private:
  DType DTypeOf(ValueId value) const { return graph_.value(value).type.dtype; }

  NodeId CastOf(ValueId value) const {
    const Node* cast = value == kNoValue ? nullptr : ProducerOf(graph_, value, "Cast");
    return cast == nullptr ? kNoNode : cast->id;
  }

  static bool IsPlain(const Node& node) {
    const auto is = [&](const char* name, std::int64_t number) { return IntAttribute(node, name, number) == number; };
    return node.inputs.size() <= kLengths && node.outputs.size() <= kPresent + 2 && is("is_causal", 0) &&
           is("left_window_size", -1) && is("right_window_size", -1);
  }

  Graph& graph_;
  const PassContext& context_;
};

}  // namespace

bool TakeHalfCaches(Graph& graph, const PassContext& context, NodeId attention) {
  return CacheFuser(graph, context).Try(attention);
}

}  // namespace sardonyx::optimizer
