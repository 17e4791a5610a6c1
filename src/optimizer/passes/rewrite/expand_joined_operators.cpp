// optimizer/passes/rewrite/expand_joined_operators.cpp - operators of com.microsoft that other runtimes join for a GPU
// become the operators that they stand for, at every level: attention over packed sequences that over padded ones,
// MatMulNBitsMlp and MatMulNBitsQkv a normalization and products. And NhwcConv, whose weights are channels last, too,
// the convolution of images channels last.
#include <limits>

#include "ops/channels_last.h"
#include "ops/node_view.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

class Expander {
 public:
  Expander(Graph& graph, const PassContext& context, NodeId id)
      : graph_(graph),
        context_(context),
        id_(id),
        inputs_(graph.node(id).inputs),
        outputs_(graph.node(id).outputs),
        rewrite_(graph, context.registry, id) {}

  bool Try() {
    const Node& node = graph_.node(id_);
    if (node.domain != kMicrosoft || !IsJoined(node)) return false;
    if (!IsRead()) return context_.No(graph_, id_, "nobody reads its results");
    if (Is(node, "PackedAttention", kMicrosoft)) return PackedAttention();
    if (Is(node, "PackedMultiHeadAttention", kMicrosoft)) return PackedMultiHead();
    if (Is(node, "MatMulNBitsMlp", kMicrosoft)) return Mlp();
    if (Is(node, "NhwcConv", kMicrosoft)) return NhwcConv();
    return Qkv();
  }

 private:
  static bool IsJoined(const Node& node) {
    for (const char* name :
         {"PackedAttention", "PackedMultiHeadAttention", "MatMulNBitsMlp", "MatMulNBitsQkv", "NhwcConv"})
      if (Is(node, name, kMicrosoft)) return true;
    return false;
  }
  bool IsRead(std::size_t i) const {
    return Wanted(i) && (graph_.value(outputs_[i]).is_output || graph_.UseCount(outputs_[i]) > 0);
  }
  bool IsRead() const {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (IsRead(i)) return true;
    return false;
  }
  void ReplaceOutput(std::size_t i, ValueId by) {
    if (IsRead(i)) rewrite_.Replace(outputs_[i], by);
  }

  ValueId Input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : kNoValue; }
  bool Wanted(std::size_t i) const { return i < outputs_.size() && outputs_[i] != kNoValue; }
  std::int64_t Number(std::string_view name, std::int64_t otherwise = 0) const {
    return ops::AttributeReader(graph_, graph_.node(id_)).Int(name, otherwise);
  }
  void Copy(std::string_view name, std::vector<Attribute>& to) const {
    if (const AttributeValue* value = graph_.node(id_).FindAttribute(name)) to.push_back({std::string(name), *value});
  }

  // ---- Packed sequences: the padding is restored, and the tokens are picked from what attention makes of it.

  ValueId Padded(ValueId tokens, ValueId offsets) {
    return rewrite_.Add(kMicrosoft, "RestorePadding", {tokens, offsets});
  }
  // How many tokens each sequence has, from the sums of them.
  ValueId Lengths(ValueId sums) {
    const ValueId begin = rewrite_.Ints({0}), one = rewrite_.Ints({1}), last = rewrite_.Ints({-1});
    const ValueId end = rewrite_.Ints({std::numeric_limits<std::int64_t>::max()});
    return rewrite_.Add("Sub", {rewrite_.Add("Slice", {sums, one, end}), rewrite_.Add("Slice", {sums, begin, last})});
  }
  // The rows of y [batch, sequence, hidden] at the first `tokens`' places.
  void ReplaceByTokens(ValueId y, ValueId tokens, ValueId offsets) {
    const ValueId count = rewrite_.Add("Shape", {tokens}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
    const ValueId flat = rewrite_.Add("Reshape", {offsets, rewrite_.Ints({-1})});
    const ValueId places = rewrite_.Add("Slice", {flat, rewrite_.Ints({0}), count});
    const ValueId width = rewrite_.Add("Shape", {y}, {{"start", std::int64_t{2}}});
    const ValueId positions = rewrite_.Add("Shape", {flat});
    const ValueId shape = rewrite_.Add("Concat", {positions, width}, {{"axis", std::int64_t{0}}});
    const ValueId rows = rewrite_.Add("Reshape", {y, shape}, {{"allowzero", std::int64_t{1}}});
    rewrite_.Replace(outputs_[0], rewrite_.Add("Gather", {rows, places}, {{"axis", std::int64_t{0}}}));
  }
  std::vector<Attribute> AttentionAttributes() const {
    std::vector<Attribute> attributes = {{"mask_filter_value", kMasked}};
    for (const char* name : {"num_heads", "scale", "qkv_hidden_sizes"}) Copy(name, attributes);
    return attributes;
  }

  // Weights [M, kernel..., C / group] as [M, C / group, kernel...].
  bool NhwcConv() {
    const Type& weights = graph_.value(Input(1)).type;
    if (!weights.has_rank) return context_.No(graph_, id_, "the rank of its weights is not known");
    std::vector<std::int64_t> perm = {0, static_cast<std::int64_t>(weights.rank()) - 1};
    for (std::int64_t axis = 1; axis < perm[1]; ++axis) perm.push_back(axis);
    const std::vector<Attribute> attributes = graph_.node(id_).attributes;
    const ValueId turned = rewrite_.Add("Transpose", {Input(1)}, {{"perm", std::move(perm)}});
    ReplaceOutput(0, rewrite_.Add(ops::kChannelsLastDomain, "Conv", {Input(0), turned, Input(2)}, attributes));
    return true;
  }

  bool PackedAttention() {
    const ValueId offsets = Input(3);
    const ValueId y = rewrite_.Add(
        kMicrosoft, "Attention", {Padded(Input(0), offsets), Input(1), Input(2), Lengths(Input(4)), kNoValue, Input(5)},
        AttentionAttributes());
    ReplaceByTokens(y, Input(0), offsets);
    return true;
  }

  bool PackedMultiHead() {
    const ValueId query = Input(0), offsets = Input(4);
    ValueId q = kNoValue, k = kNoValue, v = kNoValue;
    if (Input(1) != kNoValue) {
      q = Padded(query, offsets), k = Padded(Input(1), offsets), v = Padded(Input(2), offsets);
    } else {
      const ValueId rest = rewrite_.Add("Shape", {query}, {{"start", std::int64_t{1}}});
      const ValueId flat = rewrite_.Add("Flatten", {query}, {{"axis", std::int64_t{1}}});
      const ValueId shape =
          rewrite_.Add("Concat", {rewrite_.Add("Shape", {offsets}), rest}, {{"axis", std::int64_t{0}}});
      q = rewrite_.Add("Reshape", {Padded(flat, offsets), shape}, {{"allowzero", std::int64_t{1}}});
    }
    const ValueId y = rewrite_.Add(kMicrosoft, "MultiHeadAttention", {q, k, v, Input(3), Lengths(Input(5)), Input(6)},
                                   AttentionAttributes());
    ReplaceByTokens(y, query, offsets);
    return true;
  }

  // ---- Products of one normalized input.

  // Input 0 plus input 1, normalized by the scale of input 2, as far as these are there.
  ValueId Normalized() {
    ValueId x = Input(0);
    if (Input(1) != kNoValue) x = rewrite_.Add("Add", {x, Input(1)});
    total_ = x;
    if (Input(2) != kNoValue) {
      const float epsilon = ops::AttributeReader(graph_, graph_.node(id_)).Float("epsilon", 1e-5f);
      x = rewrite_.Add("SimplifiedLayerNormalization", {x, Input(2)},
                       {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
    }
    return x;
  }
  // x times the weights of inputs first, first + 1 (scales) and first + 2 (bias).
  ValueId Product(ValueId x, std::size_t first, std::string_view width) {
    std::vector<Attribute> attributes = {{"K", Number("K")}, {"N", Number(width)}, {"bits", Number("bits", 4)}};
    for (const char* name : {"block_size", "accuracy_level"}) Copy(name, attributes);
    return rewrite_.Add(kMicrosoft, "MatMulNBits",
                        {x, Input(first), Input(first + 1), kNoValue, kNoValue, Input(first + 2)}, attributes);
  }
  bool Mlp() {
    const ValueId x = Normalized();
    const ValueId gate = Product(x, 3, "N"), up = Product(x, 6, "N");
    const ValueId active = rewrite_.Add("Mul", {gate, rewrite_.Add("Sigmoid", {gate})});
    const ValueId y = rewrite_.Add("Mul", {active, up});
    ReplaceOutput(1, total_);
    ReplaceOutput(0, y);
    return true;
  }

  bool Qkv() {
    const ValueId x = Normalized();
    const ValueId products[] = {Product(x, 3, "Nq"), Product(x, 6, "Nkv"), Product(x, 9, "Nkv")};
    ReplaceOutput(3, total_);
    for (std::size_t i = 0; i < 3; ++i) ReplaceOutput(i, products[i]);
    return true;
  }

  static constexpr float kMasked = -1e30f;  // of keys that are padding

  Graph& graph_;
  const PassContext& context_;
  NodeId id_;
  std::vector<ValueId> inputs_, outputs_;
  Rewrite rewrite_;
  ValueId total_ = kNoValue;  // what is normalized
};

bool ExpandJoinedOperators(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return Expander(each, context, id).Try(); });
}

}  // namespace

constinit const Pass kExpandJoinedOperators = {
    .name = "expand_joined_operators", .level = Level::kDisable, .run = ExpandJoinedOperators};

}  // namespace sardonyx::optimizer
