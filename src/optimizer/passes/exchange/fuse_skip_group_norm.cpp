// optimizer/passes/exchange/fuse_skip_group_norm.cpp - a sum in front of com.microsoft GroupNorm becomes a part of it:
// SkipGroupNorm, channels last, whose second output is the sum. The second summand may be one value for each image and
// channel; a bias in front of a summand goes into the node, too. It runs only where a model is made for it.
#include <algorithm>
#include <array>
#include <utility>

#include "optimizer/passes/exchange/exchange_passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

const std::vector<std::int64_t>& ToLast() {
  static const std::vector<std::int64_t> perm = {0, 2, 3, 1};
  return perm;
}
const std::vector<std::int64_t>& ToFirst() {
  static const std::vector<std::int64_t> perm = {0, 3, 1, 2};
  return perm;
}

class SkipFuser {
 public:
  SkipFuser(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    const Node& node = graph_.node(id);
    if (!Is(node, "GroupNorm", "com.microsoft") || IntAttribute(node, "channels_last", 1) != 1) return false;
    const Node* turn = Turned(node.inputs[0], ToLast());
    if (turn == nullptr || SoleReader(graph_, node.inputs[0]) != id) return false;
    const Node* sum = ProducerOf(graph_, turn->inputs[0], "Add");
    if (sum == nullptr) return false;
    ValueId x = sum->inputs[0], skip = sum->inputs[1];
    if (!Skips(TypeOf(x), TypeOf(skip)) && !Skips(TypeOf(skip), TypeOf(x))) {
      return context_.No(graph_, id, "expected two summands of one shape, or one with a value for each channel, found ",
                         TypeOf(x).ToText(), " and ", TypeOf(skip).ToText());
    }
    if (!Skips(TypeOf(x), TypeOf(skip))) std::swap(x, skip);
    Fuse(id, turn->id, x, skip);
    return true;
  }

 private:
  // A summand in front of which a bias stands, by its parts.
  struct Biased {
    ValueId bias = kNoValue, product = kNoValue, shape = kNoValue;
  };

  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }

  const Node* Turned(ValueId value, const std::vector<std::int64_t>& perm) const {
    const Node* turn = ProducerOf(graph_, value, "Transpose");
    if (turn == nullptr) return nullptr;
    const auto* found = std::get_if<std::vector<std::int64_t>>(turn->FindAttribute("perm"));
    return found != nullptr && *found == perm ? turn : nullptr;
  }

  // [N, C, H, W] and the same, or [N, C, 1, 1].
  static bool Skips(const Type& x, const Type& skip) {
    if (!x.has_rank || !skip.has_rank || x.rank() != 4 || skip.rank() != 4) return false;
    if (SameDims(x, skip)) return true;
    const auto is_one = [](const Dim& dim) { return dim.known() && dim.number() == 1; };
    return SameDim(x.dims[0], skip.dims[0]) && SameDim(x.dims[1], skip.dims[1]) && is_one(skip.dims[2]) &&
           is_one(skip.dims[3]);
  }

  // The parts of Transpose(Reshape(Add(product, bias))) that only the sum reads, which leaves channels where they are.
  Biased BiasOf(ValueId value) const {
    const Node* turn = Turned(value, ToFirst());
    if (turn == nullptr || SoleReader(graph_, value) == kNoNode || SoleReader(graph_, turn->inputs[0]) == kNoNode)
      return {};
    const Node* reshape = ProducerOf(graph_, turn->inputs[0], "Reshape");
    if (reshape == nullptr || SoleReader(graph_, reshape->inputs[0]) == kNoNode) return {};
    const Node* add = ProducerOf(graph_, reshape->inputs[0], "Add");
    if (add == nullptr) return {};
    const Type& turned = TypeOf(turn->inputs[0]);
    for (const std::size_t i : {0u, 1u}) {
      const Type &bias = TypeOf(add->inputs[i]), &product = TypeOf(add->inputs[1 - i]);
      if (graph_.value(add->inputs[i]).constant() == nullptr || bias.rank() != 1 || !turned.has_rank ||
          !product.has_rank || product.rank() < 2 || !SameDim(bias.dims[0], product.dims.back()) ||
          !SameDim(bias.dims[0], turned.dims.back()) || ProducerOf(graph_, add->inputs[1 - i], "MatMul") == nullptr)
        continue;
      return {add->inputs[i], add->inputs[1 - i], reshape->inputs[1]};
    }
    return {};
  }

  // Channels last: what stands in front of a transposition, or behind a new one.
  ValueId Last(Rewrite& rewrite, ValueId value, const Biased& biased) const {
    if (biased.bias != kNoValue) return rewrite.Add("Reshape", {biased.product, biased.shape});
    const Node* turn = Turned(value, ToFirst());
    return turn != nullptr ? turn->inputs[0] : rewrite.Add("Transpose", {value}, {{"perm", ToLast()}});
  }

  void Fuse(NodeId id, NodeId turn, ValueId x, ValueId skip) {
    const Node node = graph_.node(id);
    const ValueId last = node.inputs[0], sum = graph_.node(turn).inputs[0];
    Rewrite rewrite(graph_, context_.registry, id);
    const Biased with_x = BiasOf(x), with_skip = with_x.bias == kNoValue ? BiasOf(skip) : Biased();
    const ValueId bias = with_x.bias != kNoValue ? with_x.bias : with_skip.bias;
    const ValueId y =
        rewrite.Add("com.microsoft", "SkipGroupNorm",
                    {Last(rewrite, x, with_x), node.inputs[1], node.inputs[2], Last(rewrite, skip, with_skip), bias},
                    node.attributes);
    if (SoleReader(graph_, sum) == kNoNode) {  // others read it, channels first
      graph_.EraseNode(turn);
      graph_.MoveOutput(graph_.value(y).producer, 1, last);
      rewrite.Replace(sum, rewrite.Add("Transpose", {last}, {{"perm", ToFirst()}}));
    }
    rewrite.Replace(node.outputs[0], y);
  }

  Graph& graph_;
  const PassContext& context_;
};

bool FuseSkipGroupNorm(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return SkipFuser(each, context).Try(id); });
}

}  // namespace

constinit const Pass kFuseSkipGroupNorm = {
    .name = "fuse_skip_group_norm", .level = Level::kExtended, .run = FuseSkipGroupNorm};

}  // namespace sardonyx::optimizer
