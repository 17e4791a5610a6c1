// optimizer/passes/exchange/spell_attention.cpp - ONNX's Attention, as fuse_attention makes it, becomes
// com.microsoft Attention with the projections of queries, keys and values in it, or MultiHeadAttention.
//
// Attention needs one source of all three and constant weights; it takes the three products and their biases in. A
// summand of the scores that hides padding becomes the operator's mask; any other one its attention_bias. What neither
// operator can say (fewer heads of keys than of queries, a cap of the scores) stays ONNX's Attention.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "optimizer/fusion/padding_mask.h"
#include "optimizer/passes/exchange/exchange_passes.h"
#include "optimizer/rules/exchange_options.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kMask = 3, kPast = 4, kPastValues = 5;
constexpr double kUsualFilter = -10000;  // both operators' default

// x W + b, or x + b where there is no product.
struct Projection {
  ValueId x = kNoValue, weight = kNoValue, bias = kNoValue, product = kNoValue;
};

class AttentionSpeller {
 public:
  AttentionSpeller(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    if (!Is(graph_.node(id), "Attention")) return false;
    const Node node = graph_.node(id);
    if (!Measure(node)) return false;
    if (Has(node, 6) || IntAttribute(node, "qk_matmul_output_mode", 0) != 0 || IsUsed(node, 3))
      return context_.No(graph_, id, "its scores are an output, or it has a length for each batch");
    if (const AttributeValue* cap = node.FindAttribute("softcap"))
      if (const auto* number = std::get_if<float>(cap); number != nullptr && *number != 0)
        return context_.No(graph_, id, "its scores are capped");
    if (Has(node, kPast) != Has(node, kPastValues)) return false;
    if (Has(node, kPast) && IntAttribute(node, "is_causal", 0) != 0)
      return context_.No(graph_, id, "it is causal and has a cache");
    Write(node);
    return true;
  }

 private:
  struct Written {
    ValueId padding = kNoValue, bias = kNoValue;
    double filter = kUsualFilter;
  };

  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }
  static bool Has(const Node& node, std::size_t input) {
    return input < node.inputs.size() && node.inputs[input] != kNoValue;
  }
  bool IsUsed(const Node& node, std::size_t output) const {
    return output < node.outputs.size() && node.outputs[output] != kNoValue &&
           graph_.UseCount(node.outputs[output]) != 0;
  }
  const ExchangeOptions& options() const {
    static constexpr ExchangeOptions kDefaults;
    return context_.exchange != nullptr ? *context_.exchange : kDefaults;
  }

  // Heads and sizes, which must be known; as many heads of keys as of queries.
  bool Measure(const Node& node) {
    const Type &q = TypeOf(node.inputs[0]), &k = TypeOf(node.inputs[1]), &v = TypeOf(node.inputs[2]);
    if (!q.has_rank || !k.has_rank || !v.has_rank || q.rank() != k.rank() || q.rank() != v.rank()) return false;
    flat_ = q.rank() == 3;
    if (!flat_ && q.rank() != 4) return false;
    const std::size_t row = flat_ ? 1 : 2;
    batch_ = q.dims[0];
    rows_ = q.dims[row];
    keys_ = k.dims[row];
    if (Has(node, kPast)) {
      const Type& past = TypeOf(node.inputs[kPast]);
      if (!past.has_rank || past.rank() != 4) return false;
      keys_ = keys_ + past.dims[2];
    }
    const Dim heads = flat_ ? Dim(IntAttribute(node, "q_num_heads", 0)) : q.dims[1];
    const Dim shared = flat_ ? Dim(IntAttribute(node, "kv_num_heads", 0)) : k.dims[1];
    const Dim &width = q.dims.back(), &value_width = v.dims.back();
    if (!heads.known() || heads.number() < 1 || !width.known() || !value_width.known())
      return context_.No(graph_, node.id, "the number of heads or their size is not known");
    if (!SameDim(heads, shared)) return context_.No(graph_, node.id, "it has fewer heads of keys than of queries");
    heads_ = heads.number();
    size_ = flat_ ? width.number() / heads_ : width.number();
    value_size_ = flat_ ? value_width.number() / heads_ : value_width.number();
    const DType dtype = q.dtype;
    return dtype == DType::kFloat || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  }

  // [batch, head, row, size] as [batch, row, head * size].
  ValueId Flat(Rewrite& rewrite, ValueId value, std::int64_t width) const {
    if (flat_) return value;
    const ValueId turned = rewrite.Add("Transpose", {value}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    return rewrite.Add("Reshape", {turned, rewrite.Ints({0, 0, width})});
  }

  Projection ProjectionOf(ValueId value) const {
    Projection found{value, kNoValue, kNoValue, value};
    const auto* add = SoleReader(graph_, value) != kNoNode ? ProducerOf(graph_, value, "Add") : nullptr;
    if (add != nullptr) {
      for (const std::size_t i : {0u, 1u}) {
        const Type &bias = TypeOf(add->inputs[i]), &whole = TypeOf(value);
        if (graph_.value(add->inputs[i]).constant() == nullptr || bias.rank() != 1 ||
            !SameDim(bias.dims[0], whole.dims.back()))
          continue;
        found.bias = add->inputs[i];
        found.x = found.product = add->inputs[1 - i];
      }
    }
    const bool alone = SoleReader(graph_, found.product) != kNoNode;
    const Node* product = alone ? ProducerOf(graph_, found.product, "MatMul") : nullptr;
    if (product == nullptr || graph_.value(product->inputs[1]).constant() == nullptr ||
        TypeOf(product->inputs[1]).rank() != 2)
      return found;
    found.x = product->inputs[0];
    found.weight = product->inputs[1];
    return found;
  }

  ValueId Zeros(DType dtype, std::int64_t width) const {
    Tensor zeros(dtype, Shape{width});
    std::memset(zeros.raw(), 0, zeros.byte_size());
    return graph_.AddConstant("zeros", std::move(zeros));
  }

  ValueId JoinedBias(Rewrite& rewrite, const std::array<Projection, 3>& projections, DType dtype) const {
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t width = heads_ * (i == 2 ? value_size_ : size_);
      parts.push_back(projections[i].bias != kNoValue ? projections[i].bias : Zeros(dtype, width));
    }
    return rewrite.Add("Concat", std::move(parts), {{"axis", std::int64_t{0}}});
  }

  // ---- masks

  Written WriteMask(Rewrite& rewrite, const Node& node, bool joins) const {
    Written written;
    if (!Has(node, kMask)) return written;
    ValueId mask = node.inputs[kMask];
    const auto padding = FindPaddingMask(graph_, mask, batch_, keys_);
    if (padding) {
      if (options().padding == PaddingForm::kNone) return written;
      written.filter = padding->filter;
      written.padding = PaddingInput(rewrite, padding->mask, joins);
      return written;
    }
    if (TypeOf(mask).dtype == DType::kBool) {
      const DType dtype = TypeOf(node.inputs[0]).dtype;
      mask = rewrite.Add(
          "Where", {mask, rewrite.Scalar(dtype, 0), rewrite.Scalar(dtype, -std::numeric_limits<double>::infinity())});
    }
    const std::size_t rank = TypeOf(mask).rank();
    if (rank < 4) {
      std::vector<std::int64_t> axes;
      for (std::size_t i = rank; i < 4; ++i) axes.push_back(static_cast<std::int64_t>(axes.size()));
      mask = rewrite.Add("Unsqueeze", {mask, rewrite.Ints(axes)});
    }
    written.bias = WholeRows(rewrite, mask, node);
    return written;
  }

  ValueId PaddingInput(Rewrite& rewrite, ValueId mask, bool joins) const {
    const auto to = static_cast<std::int64_t>(DType::kInt32);
    if (TypeOf(mask).dtype != DType::kInt32) mask = rewrite.Add("Cast", {mask}, {{"to", to}});
    const PaddingForm form = options().padding;
    if (form != PaddingForm::kLength && form != PaddingForm::kLengthAndStart) return mask;
    if (form == PaddingForm::kLengthAndStart && !joins) return mask;  // MultiHeadAttention has no such form
    const ValueId length = rewrite.Add("ReduceSum", {mask, rewrite.Ints({1})}, {{"keepdims", std::int64_t{0}}});
    if (form == PaddingForm::kLength) return length;
    const ValueId first = rewrite.Add("ArgMax", {mask}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
    const ValueId start = rewrite.Add("Cast", {first}, {{"to", to}});
    return rewrite.Add("Concat", {rewrite.Add("Add", {start, length}), start}, {{"axis", std::int64_t{0}}});
  }

  // Both operators repeat a summand over batch and heads, but not over rows and keys.
  ValueId WholeRows(Rewrite& rewrite, ValueId mask, const Node& node) const {
    const Type type = TypeOf(mask);
    if (SameDim(type.dims[2], rows_) && SameDim(type.dims[3], keys_)) return mask;
    const std::int64_t row = flat_ ? 1 : 2;
    const auto size = [&](ValueId value, std::int64_t axis) {
      return rewrite.Add("Shape", {value}, {{"start", axis}, {"end", axis + 1}});
    };
    ValueId keys = size(node.inputs[1], row);
    if (Has(node, kPast)) keys = rewrite.Add("Add", {keys, size(node.inputs[kPast], 2)});
    const ValueId shape =
        rewrite.Add("Concat", {rewrite.Ints({1, 1}), size(node.inputs[0], row), keys}, {{"axis", std::int64_t{0}}});
    return rewrite.Add("Expand", {mask, shape});
  }

  // ---- the node

  std::vector<Attribute> Attributes(const Node& node, const Written& mask) const {
    std::vector<Attribute> attributes = {{"num_heads", heads_}};
    const double usual = 1 / std::sqrt(static_cast<double>(size_));
    const AttributeValue* given = node.FindAttribute("scale");
    const auto* scale = given != nullptr ? std::get_if<float>(given) : nullptr;
    if (scale != nullptr && std::abs(*scale - usual) > 1e-7 * usual) attributes.push_back({"scale", *scale});
    if (mask.padding != kNoValue && mask.filter != kUsualFilter)
      attributes.push_back({"mask_filter_value", static_cast<float>(mask.filter)});
    if (IntAttribute(node, "is_causal", 0) != 0) attributes.push_back({"unidirectional", std::int64_t{1}});
    return attributes;
  }

  bool Joins(const Node& node, const std::array<Projection, 3>& p) const {
    const Type& x = TypeOf(p[0].x);
    return flat_ && options().joins_projections && !Has(node, kPast) && !IsUsed(node, 1) && !IsUsed(node, 2) &&
           p[0].weight != kNoValue && p[1].weight != kNoValue && p[2].weight != kNoValue && p[0].x == p[1].x &&
           p[0].x == p[2].x && x.has_rank && x.rank() == 3 && x.dtype != DType::kBFloat16;
  }

  ValueId Joined(Rewrite& rewrite, const Node& node, const std::array<Projection, 3>& p, const Written& mask) const {
    std::vector<Attribute> attributes = Attributes(node, mask);
    if (value_size_ != size_)
      attributes.push_back(
          {"qkv_hidden_sizes", std::vector<std::int64_t>{heads_ * size_, heads_ * size_, heads_ * value_size_}});
    const ValueId weight = rewrite.Add("Concat", {p[0].weight, p[1].weight, p[2].weight}, {{"axis", std::int64_t{1}}});
    return rewrite.Add(
        "com.microsoft", "Attention",
        {p[0].x, weight, JoinedBias(rewrite, p, TypeOf(p[0].x).dtype), mask.padding, kNoValue, mask.bias},
        std::move(attributes));
  }

  ValueId MultiHead(Rewrite& rewrite, const Node& node, const std::array<Projection, 3>& p, const Written& mask) const {
    const bool biased = flat_ && options().multi_head_bias &&
                        std::any_of(p.begin(), p.end(), [](const Projection& each) { return each.bias != kNoValue; });
    std::array<ValueId, 3> heads{};
    for (std::size_t i = 0; i < 3; ++i)
      heads[i] = biased ? p[i].product : Flat(rewrite, node.inputs[i], heads_ * (i == 2 ? value_size_ : size_));
    const ValueId bias = biased ? JoinedBias(rewrite, p, TypeOf(node.inputs[0]).dtype) : kNoValue;
    return rewrite.Add(
        "com.microsoft", "MultiHeadAttention",
        {heads[0], heads[1], heads[2], bias, mask.padding, mask.bias, Has(node, kPast) ? node.inputs[kPast] : kNoValue,
         Has(node, kPast) ? node.inputs[kPastValues] : kNoValue},
        Attributes(node, mask));
  }

  void Write(const Node& node) {
    Rewrite rewrite(graph_, context_.registry, node.id);
    const std::array<Projection, 3> projections = {ProjectionOf(node.inputs[0]), ProjectionOf(node.inputs[1]),
                                                   ProjectionOf(node.inputs[2])};
    const bool joins = Joins(node, projections);
    const Written mask = WriteMask(rewrite, node, joins);
    ValueId y = joins ? Joined(rewrite, node, projections, mask) : MultiHead(rewrite, node, projections, mask);
    const NodeId fused = graph_.value(y).producer;
    if (!flat_) {
      y = rewrite.Add("Reshape", {y, rewrite.Ints({0, 0, heads_, value_size_})});
      y = rewrite.Add("Transpose", {y}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    }
    for (const std::size_t i : {1u, 2u})
      if (IsUsed(node, i)) graph_.MoveOutput(fused, i, node.outputs[i]);
    rewrite.Replace(node.outputs[0], y);
  }

  Graph& graph_;
  const PassContext& context_;
  bool flat_ = false;
  Dim batch_, rows_, keys_;
  std::int64_t heads_ = 0, size_ = 0, value_size_ = 0;
};

bool SpellAttention(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return AttentionSpeller(each, context).Try(id); });
}

}  // namespace

constinit const Pass kSpellAttention = {.name = "spell_attention", .level = Level::kExtended, .run = SpellAttention};

}  // namespace sardonyx::optimizer
