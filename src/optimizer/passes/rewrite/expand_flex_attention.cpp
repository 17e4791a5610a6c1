// optimizer/passes/rewrite/expand_flex_attention.cpp - FlexAttention becomes products, Softmax and the nodes of its
// graphs score_mod and prob_mod, at every level: it has no kernel of its own. fuse_attention then makes one node of
// those graphs that it knows, such as masks.
#include <cmath>

#include "ops/shapes/flex_attention.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/paste_body.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

class FlexAttentionExpander {
 public:
  FlexAttentionExpander(Graph& graph, const PassContext& context, NodeId id)
      : graph_(graph), context_(context), id_(id), rewrite_(graph, context.registry, id) {}

  bool Try() {
    if (!Is(graph_.node(id_), "FlexAttention", "ai.onnx.preview")) return false;
    const std::vector<ValueId> inputs = graph_.node(id_).inputs;
    q_ = inputs[0];
    k_ = inputs[1];
    dtype_ = graph_.value(q_).type.dtype;
    if (dtype_ == DType::kUndefined) return context_.No(graph_, id_, "the element type of its queries is not known");
    const DType precision = ops::FlexAttentionPrecision(ops::AttributeReader(graph_, graph_.node(id_)), dtype_);
    const ValueId scale = RootOfScale();
    const ValueId keys = rewrite_.Add("Transpose", {Repeated(k_)}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
    ValueId scores = rewrite_.Add("MatMul", {rewrite_.Add("Mul", {q_, scale}), rewrite_.Add("Mul", {keys, scale})});
    scores = Through("score_mod", As(precision, scores));
    const ValueId softmax = rewrite_.Add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    const ValueId probabilities = Through("prob_mod", softmax);
    const ValueId y = rewrite_.Add("MatMul", {probabilities, As(precision, Repeated(inputs[2]))});
    rewrite_.Replace(graph_.node(id_).outputs[0], As(dtype_, y));
    return true;
  }

 private:
  Dim DimOf(ValueId value, std::size_t axis) const {
    const Type& type = graph_.value(value).type;
    return type.has_rank && axis < type.rank() ? type.dims[axis] : Dim();
  }

  ValueId As(DType dtype, ValueId value) {
    if (graph_.value(value).type.dtype == dtype) return value;
    return rewrite_.Add("Cast", {value}, {{"to", static_cast<std::int64_t>(dtype)}});
  }

  // Sizes [begin, end) of a value.
  ValueId Sizes(ValueId value, std::int64_t begin, std::int64_t end) {
    return rewrite_.Add("Shape", {value}, {{"start", begin}, {"end", end}});
  }

  // Queries and keys each get the square root of the scale, so that float16 does not overflow between.
  ValueId RootOfScale() {
    const ops::AttributeReader node(graph_, graph_.node(id_));
    const Dim size = DimOf(q_, 3).known() ? DimOf(q_, 3) : DimOf(k_, 3);
    if (node.Has("scale")) return rewrite_.Scalar(dtype_, std::sqrt(static_cast<double>(node.Float("scale"))));
    if (size.known()) return rewrite_.Scalar(dtype_, std::pow(static_cast<double>(size.number()), -0.25));
    const DType wide = dtype_ == DType::kDouble ? DType::kDouble : DType::kFloat;
    const ValueId root = rewrite_.Add("Sqrt", {rewrite_.Add("Sqrt", {As(wide, Sizes(q_, 3, 4))})});
    return As(dtype_, rewrite_.Add("Reciprocal", {root}));
  }

  // Keys or values with as many heads as the queries: each head stands for as many in a row as share it.
  ValueId Repeated(ValueId value) {
    const Dim heads = DimOf(q_, 1), kv_heads = DimOf(k_, 1);
    if (heads.known() && kv_heads.known() && heads.number() == kv_heads.number()) return value;
    const ValueId one = rewrite_.Ints({1});
    const ValueId group = rewrite_.Add("Div", {Sizes(q_, 1, 2), Sizes(k_, 1, 2)});
    const ValueId apart = rewrite_.Add("Unsqueeze", {value, rewrite_.Ints({2})});
    const ValueId counts = rewrite_.Add("Concat", {one, one, group, one, one}, {{"axis", std::int64_t{0}}});
    const ValueId copies = rewrite_.Add("Expand", {apart, counts});
    const ValueId sizes =
        rewrite_.Add("Concat", {Sizes(value, 0, 1), Sizes(q_, 1, 2), Sizes(value, 2, 4)}, {{"axis", std::int64_t{0}}});
    return rewrite_.Add("Reshape", {copies, sizes}, {{"allowzero", std::int64_t{1}}});
  }

  // What the graph of an attribute makes of `value`; `value` itself without that attribute.
  ValueId Through(std::string_view attribute, ValueId value) {
    const Node& node = graph_.node(id_);
    const AttributeValue* found = node.FindAttribute(attribute);
    if (found == nullptr) return value;
    const Graph body = *std::get<GraphBox>(*found);
    const std::string prefix = (node.name.empty() ? node.op_type : node.name) + "/" + std::string(attribute);
    const DType dtype = graph_.value(value).type.dtype;
    return As(dtype, PasteBody(graph_, prefix, body, std::span(&value, 1)).front());
  }

  Graph& graph_;
  const PassContext& context_;
  NodeId id_;
  Rewrite rewrite_;
  ValueId q_ = kNoValue, k_ = kNoValue;
  DType dtype_ = DType::kUndefined;
};

bool ExpandFlexAttention(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return FlexAttentionExpander(each, context, id).Try(); });
}

}  // namespace

constinit const Pass kExpandFlexAttention = {
    .name = "expand_flex_attention", .level = Level::kDisable, .run = ExpandFlexAttention};

}  // namespace sardonyx::optimizer
