// optimizer/passes/fuse/fuse_rotary_embedding.cpp - x * cos + rotate(x) * sin becomes one RotaryEmbedding node.
//
// rotate(x) is Concat(-second half, first half) over the last axis, or has neighbours as pairs (-x1, x0, -x3, x2, ..);
// the operator reads one factor for each pair (optimizer/fusion/rotary_factors.h). Halves x0, x1 may also be turned by
// themselves: Concat(x0 * cos - x1 * sin, x1 * cos + x0 * sin). Heads stand before the rows, or
// behind them as projections write them: x [batch, row, head * size] that was only rearranged is read as it is. If only
// the first elements of each head are rotated, and a Concat puts the others behind them, the node takes the whole
// heads. A RotaryEmbedding that an exporter wrote itself reads projections where they lie, too.
#include <algorithm>
#include <array>

#include "optimizer/fusion/rotary_factors.h"
#include "optimizer/passes/passes.h"
#include "optimizer/shapes/axis_view.h"
#include "optimizer/shapes/run_time_shape.h"
#include "optimizer/shapes/selection.h"

namespace sardonyx::optimizer {
namespace {

class RotaryFuser {
 public:
  RotaryFuser(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    const Node& sum = graph_.node(id);
    if (Is(sum, "RotaryEmbedding")) return ReadProjection(id);
    Rotation r;
    if (Is(sum, "Concat") && HasOperator(context_.registry, "", "RotaryEmbedding"))
      return MatchHalves(sum, &r) && Turn(id, &r);
    if (!sum.domain.empty() || sum.op_type != "Add" || !HasOperator(context_.registry, "", "RotaryEmbedding"))
      return false;
    if (!MatchSum(sum, &r)) {  // most sums are something else
      if (r.x == kNoValue) return false;
      return context_.No(graph_, id, "the ", r.cos ? "sine" : "cosine",
                         " is not that of angles which are the same for both elements of a pair, of the shape of '",
                         graph_.value(r.x).name, "'");
    }
    return Turn(id, &r);
  }

 private:
  struct Rotation {
    ValueId x = kNoValue, old = kNoValue;  // what is turned, and the value that has it turned
    Pairing pairing = Pairing::kHalves;
    bool heads_last = false;  // x is [batch, row, head, size], not [batch, head, row, size]
    std::optional<RotaryFactors> cos, sin;
    std::int64_t half = 0;
    bool partly = false;  // only the first 2 * half elements of each head
    std::size_t heads() const { return heads_last ? 2 : 1; }
    std::size_t row() const { return heads_last ? 1 : 2; }
  };
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }

  bool Turn(NodeId id, Rotation* r) {
    const DType dtype = TypeOf(r->x).dtype;
    if (dtype != DType::kFloat && dtype != DType::kFloat16 && dtype != DType::kBFloat16)
      return context_.No(graph_, id, "expected float, float16 or bfloat16, found ", Name(dtype));
    r->old = graph_.node(id).outputs[0];
    TakeWholeHeads(r);
    return Build(id, *r);
  }

  bool Build(NodeId id, const Rotation& r) {
    const Type x = TypeOf(r.x);
    Rewrite rewrite(graph_, context_.registry, id);
    auto flat = AxisView::Trace(graph_, r.x);
    const auto batch = BatchOf(flat ? flat->source() : r.x, x);
    if (!batch) return context_.No(graph_, id, "the batch of '", graph_.value(r.x).name, "' is not known");
    if (r.heads_last && !x.dims[2].known())
      return context_.No(graph_, id, "the number of heads of '", graph_.value(r.x).name, "' is not known");
    if (flat) flat->Regroup({{0}, {r.row()}, {r.heads(), 3}});
    auto plan = flat ? flat->MakePlan() : std::nullopt;
    if (r.heads_last && (!plan || plan->transposes() != 0)) {
      flat = AxisView::Of(graph_, r.x);
      if (flat) flat->Regroup({{0}, {1}, {2, 3}});
      plan = flat ? flat->MakePlan() : std::nullopt;
      if (!plan) return context_.No(graph_, id, "a shape cannot be written as a constant");
    }
    const auto factor = [&](const RotaryFactors& factors) {
      const ValueId built = BuildRotaryFactors(rewrite, factors, r.half, r.pairing);
      return SameDim(factors.batch, x.dims[0]) ? built : rewrite.Add("Expand", {built, batch->Build(rewrite)});
    };
    const ValueId cos = factor(*r.cos), sin = factor(*r.sin);
    std::vector<Attribute> attributes;
    if (r.pairing == Pairing::kNeighbours) attributes.push_back({"interleaved", std::int64_t{1}});
    if (r.partly) attributes.push_back({"rotary_embedding_dim", 2 * r.half});
    const auto turn_heads = [&] { return rewrite.Add("RotaryEmbedding", {r.x, cos, sin}, attributes); };
    if (!plan || plan->transposes() != 0 || !x.dims[r.heads()].known()) {
      rewrite.Replace(r.old, turn_heads());
      return true;
    }
    std::vector<Attribute> of_rows = attributes;
    of_rows.push_back({"num_heads", x.dims[r.heads()].number()});
    const ValueId y = rewrite.Add("RotaryEmbedding", {flat->Build(rewrite, *plan), cos, sin}, std::move(of_rows));
    auto heads = AxisView::Of(graph_, y);
    const bool split = heads && heads->Reshape({x.dims[0], x.dims[r.row()], x.dims[r.heads()], x.dims[3]});
    if (split && !r.heads_last) heads->Regroup({{0}, {2}, {1}, {3}});
    const auto back = split ? heads->MakePlan() : std::nullopt;
    if (!back && r.heads_last) {
      rewrite.DropUnused(y);
      return context_.No(graph_, id, "the result's shape cannot be written as a constant");
    }
    rewrite.Replace(r.old, back ? heads->Build(rewrite, *back) : turn_heads());
    return true;
  }

  // x [batch, head, row, size] that was made of [batch, row, head * size] without moving more than heads and rows, or
  // that is the first part of each head.
  bool ReadProjection(NodeId id) {
    const Node node = graph_.node(id);
    Rotation r;
    r.x = node.inputs[0];
    r.old = node.outputs[0];
    if (!TypeOf(r.x).has_rank || TypeOf(r.x).rank() != 4 || node.outputs.size() != 1) return false;
    if (TypeOf(r.x).dims[3].known() && IntAttribute(node, "rotary_embedding_dim", 0) == 0) {
      r.half = TypeOf(r.x).dims[3].number() / 2;
      TakeWholeHeads(&r);
    }
    const Type x = TypeOf(r.x);
    auto flat = AxisView::Trace(graph_, r.x);
    const bool has_view = flat && flat->source() != r.x && x.dims[1].known();
    if (has_view) flat->Regroup({{0}, {2}, {1, 3}});
    const auto plan = has_view ? flat->MakePlan() : std::nullopt;
    const bool lies_flat = plan && plan->transposes() == 0;
    if (!lies_flat && !r.partly) return false;
    std::vector<Attribute> attributes = node.attributes;
    std::erase_if(attributes, [](const Attribute& a) { return a.name == "num_heads"; });
    if (r.partly) {
      std::erase_if(attributes, [](const Attribute& a) { return a.name == "rotary_embedding_dim"; });
      attributes.push_back({"rotary_embedding_dim", 2 * r.half});
    }
    Rewrite rewrite(graph_, context_.registry, id);
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = r.x;
    if (!lies_flat) {
      rewrite.Replace(r.old, rewrite.Add("RotaryEmbedding", inputs, std::move(attributes)));
      return true;
    }
    attributes.push_back({"num_heads", x.dims[1].number()});
    inputs[0] = flat->Build(rewrite, *plan);
    const ValueId y = rewrite.Add("RotaryEmbedding", inputs, std::move(attributes));
    auto heads = AxisView::Of(graph_, y);
    const bool split = heads && heads->Reshape({x.dims[0], x.dims[2], x.dims[1], x.dims[3]});
    if (split) heads->Regroup({{0}, {2}, {1}, {3}});
    const auto back = split ? heads->MakePlan() : std::nullopt;
    if (!back) {
      rewrite.DropUnused(y);
      return context_.No(graph_, id, "the result's shape cannot be written as a constant");
    }
    rewrite.Replace(r.old, heads->Build(rewrite, *back));
    return true;
  }

  // [batch, 1, 1], to which factors that the batch shares are expanded: by the size of an input, if one has it, so that
  // all layers share it.
  std::optional<RunTimeShape> BatchOf(ValueId source, const Type& x) const {
    const std::vector<Dim> dims = {x.dims[0], Dim(1), Dim(1)};
    for (const ValueId input : graph_.inputs) {
      if (!TypeOf(input).is_tensor() || graph_.value(input).initializer != nullptr) continue;
      if (auto shape = FindRunTimeShape(graph_, input, dims)) return shape;
    }
    return FindRunTimeShape(graph_, source, dims);
  }

  bool IsLastAxis(const Node& node, std::size_t rank) const {
    const std::int64_t axis = IntAttribute(node, "axis", 0);
    return axis == -1 || axis + 1 == static_cast<std::int64_t>(rank);
  }

  // What a value is of another one's last axis.
  std::optional<Selection> PartOf(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode) return std::nullopt;
    const Node& node = graph_.node(producer);
    const auto output = std::find(node.outputs.begin(), node.outputs.end(), value) - node.outputs.begin();
    const auto part = SelectionOf(graph_, node, static_cast<std::size_t>(output));
    return part && !part->drops_axis && part->axis + 1 == TypeOf(part->from).rank() ? part : std::nullopt;
  }
  // Whether a value is elements [begin, begin + count) of the last axis of x, be it that x is itself a part of what
  // both are taken from.
  bool IsPart(ValueId value, ValueId x, std::int64_t begin, std::int64_t count) const {
    const auto part = PartOf(value);
    if (!part || part->count != count) return false;
    if (part->from == x) return part->begin == begin;
    const auto whole = PartOf(x);
    return whole && whole->from == part->from && whole->begin + begin == part->begin && begin + count <= whole->count;
  }

  // Elements first, first + 2, .. of the last axis of the value that this answers.
  ValueId EveryOther(ValueId value, std::int64_t first, std::int64_t half) const {
    const Node* slice = ProducerOf(graph_, value, "Slice");
    if (slice == nullptr || slice->inputs.size() < 5) return kNoValue;
    std::array<std::int64_t, 4> arguments = {};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto list = slice->inputs[i + 1] == kNoValue ? std::nullopt : IntsOf(graph_, slice->inputs[i + 1]);
      if (!list || list->size() != 1) return kNoValue;
      arguments[i] = list->front();
    }
    const auto [begin, end, axis, step] = arguments;
    const Type& from = TypeOf(slice->inputs[0]);
    if (!from.has_rank || from.rank() == 0 || !SameDim(from.dims.back(), Dim(2 * half))) return kNoValue;
    const bool last = axis == -1 || axis + 1 == static_cast<std::int64_t>(from.rank());
    return last && begin == first && end >= 2 * half && step == 2 ? slice->inputs[0] : kNoValue;
  }

  // (-second half, first half) of x.
  bool IsTurnedHalves(ValueId value, ValueId x, std::int64_t half) const {
    const Node* concat = ProducerOf(graph_, value, "Concat");
    if (concat == nullptr || concat->inputs.size() != 2 || !IsLastAxis(*concat, TypeOf(value).rank())) return false;
    const Node* negated = ProducerOf(graph_, concat->inputs[0], "Neg");
    return negated != nullptr && IsPart(negated->inputs[0], x, half, half) && IsPart(concat->inputs[1], x, 0, half);
  }

  // What a view that only adds axes of size 1 is of.
  ValueId BehindUnsqueeze(ValueId value) const {
    const auto view = AxisView::Trace(graph_, value);
    return view && view->MovesNothing() ? view->source() : kNoValue;
  }

  // (-x1, x0, -x3, x2, ..).
  bool IsTurnedNeighbours(ValueId value, ValueId x, std::int64_t half) const {
    const auto view = AxisView::Trace(graph_, value);
    const Node* concat = view ? ProducerOf(graph_, view->source(), "Concat") : nullptr;
    if (concat == nullptr || concat->inputs.size() != 2 || !view->MovesNothing()) return false;
    const Type& pairs = TypeOf(view->source());
    if (!pairs.has_rank || pairs.rank() < 2 || !IsLastAxis(*concat, pairs.rank()) ||
        !SameDim(pairs.dims[pairs.rank() - 1], Dim(2)) || !SameDim(pairs.dims[pairs.rank() - 2], Dim(half)))
      return false;
    const Node* negated = ProducerOf(graph_, BehindUnsqueeze(concat->inputs[0]), "Neg");
    return negated != nullptr && EveryOther(negated->inputs[0], 1, half) == x &&
           EveryOther(BehindUnsqueeze(concat->inputs[1]), 0, half) == x && SameDims(TypeOf(x), TypeOf(value));
  }

  std::optional<RotaryFactors> Factors(ValueId value, const Rotation& r) const {
    const Type& x = TypeOf(r.x);
    if (TypeOf(value).dtype != x.dtype) return std::nullopt;
    auto factors = FindRotaryFactors(graph_, value, r.half, r.pairing, r.heads_last);
    const bool fits = factors && SameDim(factors->row, x.dims[r.row()]) &&
                      (SameDim(factors->batch, x.dims[0]) || SameDim(factors->batch, Dim(1)));
    return fits ? std::move(factors) : std::nullopt;
  }

  bool MatchSum(const Node& sum, Rotation* r) const {
    const Type& y = TypeOf(sum.outputs[0]);
    if (!y.has_rank || y.rank() != 4 || !y.dims[3].known() || y.dims[3].number() % 2 != 0) return false;
    r->half = y.dims[3].number() / 2;
    for (const std::size_t i : {0u, 1u}) {
      const Node *plain = ProducerOf(graph_, sum.inputs[i], "Mul"),
                 *turned = ProducerOf(graph_, sum.inputs[1 - i], "Mul");
      if (plain == nullptr || turned == nullptr) continue;
      for (const std::size_t j : {0u, 1u})
        for (const std::size_t k : {0u, 1u})
          if (MatchProducts(*plain, k, *turned, j, r)) return true;
    }
    return false;
  }

  // Concat(x0 * cos - x1 * sin, x1 * cos + x0 * sin), as torch writes GPT-OSS.
  bool MatchHalves(const Node& concat, Rotation* r) const {
    const Type& y = TypeOf(concat.outputs[0]);
    if (concat.inputs.size() != 2 || !y.has_rank || y.rank() != 4 || !IsLastAxis(concat, 4)) return false;
    const Node *difference = ProducerOf(graph_, concat.inputs[0], "Sub"),
               *sum = ProducerOf(graph_, concat.inputs[1], "Add");
    if (difference == nullptr || sum == nullptr || !y.dims[3].known() || y.dims[3].number() % 2 != 0) return false;
    const Node *kept = ProducerOf(graph_, difference->inputs[0], "Mul"),
               *taken = ProducerOf(graph_, difference->inputs[1], "Mul");
    if (kept == nullptr || taken == nullptr) return false;
    r->half = y.dims[3].number() / 2;
    for (const std::size_t i : {0u, 1u}) {
      for (const std::size_t j : {0u, 1u}) {
        const ValueId x0 = kept->inputs[i], cos = kept->inputs[1 - i], x1 = taken->inputs[j],
                      sin = taken->inputs[1 - j];
        const auto first = PartOf(x0), second = PartOf(x1);
        if (!first || !second || first->from != second->from || first->size != 2 * r->half) continue;
        if (first->begin != 0 || first->count != r->half || second->begin != r->half || second->count != r->half)
          continue;
        const auto adds = [&](std::size_t k) {
          return IsProduct(sum->inputs[k], x1, cos) && IsProduct(sum->inputs[1 - k], x0, sin);
        };
        r->x = first->from;
        if ((adds(0) || adds(1)) && TypeOf(r->x).rank() == 4 && FindFactors(cos, sin, r)) return true;
      }
    }
    return false;
  }
  bool IsProduct(ValueId value, ValueId a, ValueId b) const {
    const Node* product = ProducerOf(graph_, value, "Mul");
    return product != nullptr && ((product->inputs[0] == a && product->inputs[1] == b) ||
                                  (product->inputs[0] == b && product->inputs[1] == a));
  }

  bool FindFactors(ValueId cos, ValueId sin, Rotation* r) const {
    for (const bool heads_last : {false, true}) {
      r->heads_last = heads_last;
      r->cos = Factors(cos, *r);
      if (r->cos) r->sin = Factors(sin, *r);
      if (r->cos && r->sin) return true;
    }
    return false;
  }

  // x is operand `k` of the first product, and turned as operand `j` of the second.
  bool MatchProducts(const Node& plain, std::size_t k, const Node& turned, std::size_t j, Rotation* r) const {
    const ValueId x = plain.inputs[k];
    if (!TypeOf(x).has_rank || TypeOf(x).rank() != 4 || !SameDim(TypeOf(x).dims[3], Dim(2 * r->half))) return false;
    const bool halves = IsTurnedHalves(turned.inputs[j], x, r->half);
    if (!halves && !IsTurnedNeighbours(turned.inputs[j], x, r->half)) return false;
    r->x = x;
    r->pairing = halves ? Pairing::kHalves : Pairing::kNeighbours;
    return FindFactors(plain.inputs[1 - k], turned.inputs[1 - j], r);
  }

  // Concat(turned, rest) where both are of the same heads.
  void TakeWholeHeads(Rotation* r) const {
    const NodeId reader = SoleReader(graph_, r->old);
    if (reader == kNoNode) return;
    const Node& concat = graph_.node(reader);
    if (!Is(concat, "Concat") || concat.inputs.size() != 2 || concat.inputs[0] != r->old || !IsLastAxis(concat, 4))
      return;
    const Dim& size = TypeOf(concat.outputs[0]).dims[3];
    if (!size.known()) return;
    const std::int64_t turned = 2 * r->half;
    const auto first = PartOf(r->x), rest = PartOf(concat.inputs[1]);
    if (!first || !rest || first->from != rest->from || first->begin != 0 || rest->begin != turned ||
        rest->begin + rest->count != first->size || size.number() != first->size)
      return;
    r->x = first->from;
    r->old = concat.outputs[0];
    r->partly = true;
  }

  Graph& graph_;
  const PassContext& context_;
};

bool FuseRotaryEmbedding(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return RotaryFuser(each, context).Try(id); });
}

}  // namespace

constinit const Pass kFuseRotaryEmbedding = {
    .name = "fuse_rotary_embedding", .level = Level::kExtended, .run = FuseRotaryEmbedding};

}  // namespace sardonyx::optimizer
