// optimizer/passes/fuse_rotary_embedding.cpp - x * cos + rotate_half(x) * sin becomes one RotaryEmbedding node.
//
// rotate_half(x) is Concat(-second half, first half) over the last axis; cos and sin are the same in both halves, so
// that the operator reads one half of them: computed from angles Concat(f, f), or rows of a table. Where x is a
// projection's result [batch, row, head * size] that was only rearranged to [batch, head, row, size], the node reads
// that.
#include <algorithm>
#include <array>
#include <cstring>

#include "optimizer/axis_view.h"
#include "optimizer/passes.h"
#include "optimizer/run_time_shape.h"

namespace sardonyx::optimizer {
namespace {

constexpr int kDepth = 8;  // nodes between factors and their angles

class RotaryFuser {
 public:
  RotaryFuser(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    const Node& sum = graph_.node(id);
    Rotation r;
    if (!sum.domain.empty() || sum.op_type != "Add" || !HasOperator(context_.registry, "", "RotaryEmbedding"))
      return false;
    if (!MatchSum(sum, &r)) {  // most sums are something else
      if (r.x == kNoValue) return false;
      return context_.No(graph_, id, "the ", r.cos == kNoValue ? "cosine" : "sine",
                         " is not that of angles Concat(f, f) of the shape of '", graph_.value(r.x).name, "'");
    }
    const ValueId old = sum.outputs[0];
    const Type x = TypeOf(r.x);
    const DType dtype = x.dtype;
    if (dtype != DType::kFloat && dtype != DType::kFloat16 && dtype != DType::kBFloat16)
      return context_.No(graph_, id, "expected float, float16 or bfloat16, found ", Name(dtype));
    Rewrite rewrite(graph_, context_.registry, id);
    auto flat = AxisView::Trace(graph_, r.x);
    const auto batch = BatchOf(flat ? flat->source() : r.x, x);
    if (!batch) return context_.No(graph_, id, "the batch of '", graph_.value(r.x).name, "' is not known");
    const auto first_half = [&](ValueId factors) {
      const ValueId half =
          rewrite.Add("Slice", {factors, rewrite.Ints({0}), rewrite.Ints({r.half}), rewrite.Ints({2})});
      return SameDim(TypeOf(factors).dims[0], x.dims[0]) ? half : rewrite.Add("Expand", {half, batch->Build(rewrite)});
    };
    const ValueId cos = first_half(r.cos), sin = first_half(r.sin);
    if (flat) flat->Regroup({{0}, {2}, {1, 3}});
    const auto plan = flat ? flat->MakePlan() : std::nullopt;
    if (!plan || plan->transposes() != 0 || !x.dims[1].known()) {
      rewrite.Replace(old, rewrite.Add("RotaryEmbedding", {r.x, cos, sin}));
      return true;
    }
    const ValueId y =
        rewrite.Add("RotaryEmbedding", {flat->Build(rewrite, *plan), cos, sin}, {{"num_heads", x.dims[1].number()}});
    auto heads = AxisView::Of(graph_, y);
    heads->Reshape({x.dims[0], x.dims[2], x.dims[1], x.dims[3]});
    heads->Regroup({{0}, {2}, {1}, {3}});
    const auto back = heads->MakePlan();
    rewrite.Replace(old, back ? heads->Build(rewrite, *back) : rewrite.Add("RotaryEmbedding", {r.x, cos, sin}));
    return true;
  }

 private:
  struct Rotation {
    ValueId x = kNoValue, cos = kNoValue, sin = kNoValue;  // cos and sin of [batch or 1, row, size]
    std::int64_t half = 0;
  };
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }

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

  // The value whose first (second) half over the last axis this is.
  ValueId HalfOf(ValueId value, std::int64_t half, bool second) const {
    if (const Node* slice = ProducerOf(graph_, value, "Slice")) {
      const auto only = [&](std::size_t i, std::int64_t otherwise) {
        if (i >= slice->inputs.size() || slice->inputs[i] == kNoValue) return std::optional(otherwise);
        const auto list = IntsOf(graph_, slice->inputs[i]);
        return list && list->size() == 1 ? std::optional(list->front()) : std::nullopt;
      };
      const auto rank = static_cast<std::int64_t>(TypeOf(slice->inputs[0]).rank());
      const auto begin = only(1, 0), end = only(2, 0), axis = only(3, rank == 1 ? 0 : rank), step = only(4, 1);
      if (!begin || !end || !axis || !step || *step != 1 || (*axis != -1 && *axis != rank - 1)) return kNoValue;
      const bool fits = second ? *begin == half && *end >= 2 * half : *begin == 0 && *end == half;
      return fits ? slice->inputs[0] : kNoValue;
    }
    const Node* split = ProducerOf(graph_, value, "Split");
    if (split == nullptr || split->outputs.size() != 2 || split->outputs[second ? 1 : 0] != value) return kNoValue;
    const Type& first = TypeOf(split->outputs[0]);
    const bool even =
        first.has_rank && first.rank() > 0 && SameDim(first.dims.back(), Dim(half)) && IsLastAxis(*split, first.rank());
    return even ? split->inputs[0] : kNoValue;
  }

  // rotate_half(x): x.
  ValueId RotatedHalves(ValueId value, std::int64_t half) const {
    const Node* concat = ProducerOf(graph_, value, "Concat");
    if (concat == nullptr || concat->inputs.size() != 2 || !IsLastAxis(*concat, TypeOf(value).rank())) return kNoValue;
    const Node* negated = ProducerOf(graph_, concat->inputs[0], "Neg");
    if (negated == nullptr) return kNoValue;
    const ValueId x = HalfOf(negated->inputs[0], half, true);
    return x != kNoValue && HalfOf(concat->inputs[1], half, false) == x ? x : kNoValue;
  }

  // Both halves of the last axis are the same: angles Concat(f, f) and what is made of them element by element, or a
  // table of such rows, or some of its rows.
  bool HasEqualHalves(ValueId value, std::int64_t half, int depth = 0) const {
    const Type& type = TypeOf(value);
    if (!type.has_rank || type.rank() == 0 || !SameDim(type.dims.back(), Dim(2 * half)) || depth > kDepth) return false;
    if (const Tensor* table = graph_.value(value).constant()) return RowsHaveEqualHalves(*table, half);
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || !graph_.node(producer).domain.empty()) return false;
    const Node& node = graph_.node(producer);
    const auto goes_on = [&](std::size_t i) { return HasEqualHalves(node.inputs[i], half, depth + 1); };
    if (node.op_type == "Concat" && IsLastAxis(node, type.rank()))
      return node.inputs.size() == 2 && node.inputs[0] == node.inputs[1];
    static constexpr std::array<std::string_view, 6> kRowByRow = {"Cast",   "Cos",     "Sin",
                                                                  "Expand", "Squeeze", "Unsqueeze"};
    if (std::find(kRowByRow.begin(), kRowByRow.end(), node.op_type) != kRowByRow.end()) return goes_on(0);
    if (node.op_type == "Mul")
      return (ScalarOf(graph_, node.inputs[1]) && goes_on(0)) || (ScalarOf(graph_, node.inputs[0]) && goes_on(1));
    const std::size_t rank = TypeOf(node.inputs[0]).rank();
    if (node.op_type == "Gather") return rank > 1 && !IsLastAxis(node, rank) && goes_on(0);
    const auto axis = node.op_type == "Slice" && node.inputs.size() > 3 ? IntsOf(graph_, node.inputs[3]) : std::nullopt;
    return axis && axis->size() == 1 && axis->front() != -1 && axis->front() + 1 != static_cast<std::int64_t>(rank) &&
           goes_on(0);
  }
  static bool RowsHaveEqualHalves(const Tensor& table, std::int64_t half) {
    const std::size_t bytes = ByteSize(table.dtype(), half);
    const auto* at = static_cast<const std::byte*>(table.raw());
    for (std::size_t row = 0; bytes > 0 && row < table.byte_size(); row += 2 * bytes)
      if (std::memcmp(at + row, at + row + bytes, bytes) != 0) return false;
    return true;
  }

  // Factors of equal halves as [batch or 1, row, size], seen as [batch or 1, 1, row, size].
  ValueId Factors(ValueId value, const Type& x) const {
    auto view = AxisView::Trace(graph_, value);
    if (!view || view->rank() != 4 || !view->axis(1).empty()) return kNoValue;
    view->Regroup({{0}, {2}, {3}});
    const auto plan = view->MakePlan();
    if (!plan || plan->nodes() != 0 || TypeOf(view->source()).dtype != x.dtype) return kNoValue;
    const std::vector<Dim> sizes = view->Sizes();
    if (!SameDim(sizes[0], x.dims[0]) && !SameDim(sizes[0], Dim(1))) return kNoValue;
    if (!SameDim(sizes[1], x.dims[2]) || !SameDim(sizes[2], x.dims[3])) return kNoValue;
    return HasEqualHalves(view->source(), x.dims[3].number() / 2) ? view->source() : kNoValue;
  }

  bool MatchSum(const Node& sum, Rotation* r) const {
    const Type& y = TypeOf(sum.outputs[0]);
    if (!y.has_rank || y.rank() != 4 || !y.dims[3].known() || y.dims[3].number() % 2 != 0) return false;
    r->half = y.dims[3].number() / 2;
    for (const std::size_t i : {0u, 1u}) {
      const Node *plain = ProducerOf(graph_, sum.inputs[i], "Mul"),
                 *turned = ProducerOf(graph_, sum.inputs[1 - i], "Mul");
      if (plain == nullptr || turned == nullptr) continue;
      for (const std::size_t j : {0u, 1u}) {
        const ValueId x = RotatedHalves(turned->inputs[j], r->half);
        const auto at = std::find(plain->inputs.begin(), plain->inputs.end(), x);
        if (x == kNoValue || at == plain->inputs.end() || TypeOf(x).rank() != 4) continue;
        r->x = x;
        r->cos = Factors(plain->inputs[at == plain->inputs.begin() ? 1 : 0], TypeOf(x));
        r->sin = Factors(turned->inputs[1 - j], TypeOf(x));
        if (r->cos != kNoValue && r->sin != kNoValue) return true;
      }
    }
    return false;
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
