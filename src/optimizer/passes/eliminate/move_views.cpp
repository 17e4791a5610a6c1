// optimizer/passes/eliminate/move_views.cpp - moves Transpose, Reshape and selections past projections (MatMul or Gemm
// with a constant matrix), to where they meet others that undo them.
//
// A projection works on the last axis alone, so nodes that rearrange the other axes may stand before or behind it.
// Selecting one part of a joint projection (queries, keys and values in one matrix) becomes a separate projection with
// that part of the weights.
#include <algorithm>
#include <cstring>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/half_weights.h"
#include "optimizer/shapes/axis_view.h"
#include "optimizer/shapes/selection.h"

namespace sardonyx::optimizer {
namespace {

// MatMul with a constant matrix and perhaps a sum with a constant vector, or Gemm in the same sense.
struct Projection {
  ValueId x = kNoValue, weight = kNoValue, bias = kNoValue, y = kNoValue;
  bool transposed = false;  // weight [n, k]
  NodeId product = kNoNode;
  bool widened = false;  // a Cast makes the matrix of the constant `weight` (optimizer/rules/half_weights.h)
};

class ViewMover {
 public:
  ViewMover(Graph& graph, const PassContext& context) : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    bool changed = false;
    for (const NodeId id : OwnNodes(graph_)) {
      if (graph_.node(id).erased) continue;
      changed |= TrySink(id) || TryHoist(id);
    }
    for (const NodeId id : OwnNodes(graph_))
      if (!graph_.node(id).erased) changed |= TrySelect(id);
    for (ValueId id = 0, end = static_cast<ValueId>(graph_.values.size()); id < end; ++id) changed |= TrySplit(id);
    return changed;
  }

 private:
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }
  bool Is(NodeId id, std::string_view op_type) const {
    return id != kNoNode && optimizer::Is(graph_.node(id), op_type);
  }

  // ---- Projections

  // The projection that makes y.
  std::optional<Projection> ProjectionOf(ValueId y) const {
    const NodeId id = graph_.value(y).producer;
    if (Is(id, "Gemm")) return PlainGemm(graph_.node(id));
    if (Is(id, "MatMul")) return PlainMatMul(graph_.node(id));
    if (!Is(id, "Add")) return std::nullopt;
    const Node& sum = graph_.node(id);
    for (const std::size_t i : {0u, 1u}) {
      const NodeId product = graph_.value(sum.inputs[i]).producer;
      if (!Is(product, "MatMul") || SoleReader(graph_, sum.inputs[i]) != id) continue;
      std::optional<Projection> projection = PlainMatMul(graph_.node(product));
      const Tensor* bias = graph_.value(sum.inputs[1 - i]).constant();
      if (!projection || bias == nullptr || bias->shape().rank() != 1) continue;
      if (bias->count() != Columns(*projection)) continue;
      projection->bias = sum.inputs[1 - i];
      projection->y = y;
      return projection;
    }
    return std::nullopt;
  }

  std::int64_t Columns(const Projection& p) const {
    const Shape& shape = graph_.value(p.weight).constant()->shape();
    return shape[p.transposed ? 0 : 1];
  }

  // A projection by the constant that the product reads, or by the one behind a Cast that stays until it is packed.
  std::optional<Projection> WithMatrix(const Node& node, bool transposed) const {
    Projection p{node.inputs[0], node.inputs[1], kNoValue, node.outputs[0], transposed, node.id};
    const NodeId producer = graph_.value(p.weight).producer;
    p.widened = producer != kNoNode && WidensWeights(graph_, graph_.node(producer), registry_);
    if (p.widened) p.weight = graph_.node(producer).inputs[0];
    return graph_.value(p.weight).constant() != nullptr ? std::optional(p) : std::nullopt;
  }

  std::optional<Projection> PlainMatMul(const Node& node) const {
    const Type& x = TypeOf(node.inputs[0]);
    const auto projection = WithMatrix(node, false);
    if (!projection || graph_.value(projection->weight).constant()->shape().rank() != 2 || !x.has_rank || x.rank() < 2)
      return std::nullopt;
    return projection;
  }

  std::optional<Projection> PlainGemm(const Node& node) const {
    const auto factor = [&](std::string_view name) {
      const AttributeValue* value = node.FindAttribute(name);
      return value == nullptr || (std::holds_alternative<float>(*value) && std::get<float>(*value) == 1.0f);
    };
    auto projection = WithMatrix(node, IntAttribute(node, "transB", 0) != 0);
    if (!projection || IntAttribute(node, "transA", 0) != 0 || !factor("alpha") || !factor("beta")) return std::nullopt;
    if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return projection;
    const Tensor* bias = graph_.value(node.inputs[2]).constant();
    if (bias == nullptr || bias->shape().rank() != 1 || bias->count() != Columns(*projection)) return std::nullopt;
    projection->bias = node.inputs[2];
    return projection;
  }

  ValueId Project(Rewrite& rewrite, const Projection& p, ValueId x) const {
    ValueId weight = p.weight;
    if (p.transposed) weight = rewrite.Add("Transpose", {weight}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    if (p.widened) weight = rewrite.Add("Cast", {weight}, {{"to", std::int64_t{1}}});
    const ValueId product = rewrite.Add("MatMul", {x, weight});
    return p.bias == kNoValue ? product : rewrite.Add("Add", {product, p.bias});
  }

  // ---- Transpose from before a projection to behind it, if only views and selections read that

  bool TrySink(NodeId id) {
    if (!Is(id, "MatMul")) return false;
    const NodeId reader = SoleReader(graph_, graph_.node(id).outputs[0]);
    ValueId y = graph_.node(id).outputs[0];
    if (Is(reader, "Add")) y = graph_.node(reader).outputs[0];
    const auto projection = ProjectionOf(y);
    if (!projection || projection->product != id || graph_.value(y).is_output)
      return ProducerOf(graph_, graph_.node(id).inputs[0], "Transpose") != nullptr && !projection &&
             context_.No(graph_, id,
                         "the matrix behind its Transpose is not constant, or the bias is not a constant row");
    const Node* transpose = ProducerOf(graph_, projection->x, "Transpose");
    const AttributeValue* attribute = transpose == nullptr ? nullptr : transpose->FindAttribute("perm");
    if (attribute == nullptr) return false;
    const auto perm = std::get<std::vector<std::int64_t>>(*attribute);
    if (perm.back() + 1 != static_cast<std::int64_t>(perm.size()))
      return context_.No(graph_, id, Describe(graph_, *transpose), " before it moves the last axis");
    const auto& readers = graph_.value(y).consumers;
    const bool rearranged = std::all_of(readers.begin(), readers.end(), [&](NodeId each) {
      const Node& node = graph_.node(each);
      return (IsViewNode(node) || Is(each, "Gather") || Is(each, "Slice") || Is(each, "Split")) && node.inputs[0] == y;
    });
    if (!rearranged || readers.empty())
      return context_.No(graph_, id, "not only views and selections read its result, so its Transpose stays before it");
    Rewrite rewrite(graph_, registry_, id);
    const ValueId moved = Project(rewrite, *projection, transpose->inputs[0]);
    rewrite.Replace(y, rewrite.Add("Transpose", {moved}, {{"perm", perm}}));
    return true;
  }

  // ---- Views from behind a projection to before it, where they cancel others

  bool TryHoist(NodeId id) {
    if (!IsViewNode(graph_.node(id))) return false;
    const ValueId end = graph_.node(id).outputs[0];
    const auto& readers = graph_.value(end).consumers;
    const bool goes_on = std::any_of(readers.begin(), readers.end(), [&](NodeId each) {
      return IsViewNode(graph_.node(each)) && graph_.node(each).inputs[0] == end;
    });
    if (goes_on) return false;  // the end of the chain is looked at
    std::vector<NodeId> behind, before;
    const auto view = AxisView::Trace(graph_, end, {.path = &behind});
    if (!view || behind.empty()) return false;
    for (std::size_t i = 1; i < behind.size(); ++i)
      if (SoleReader(graph_, graph_.node(behind[i]).outputs[0]) != behind[i - 1]) return false;
    if (graph_.UseCount(view->source()) != 1) return false;
    const auto projection = ProjectionOf(view->source());
    if (!projection) return false;
    auto x = Rearranged(*view, *projection, &before);
    if (!x) return context_.No(graph_, id, "it rearranges the last axis of the projection before it");
    const auto plan = x->MakePlan();
    if (!plan) return context_.No(graph_, id, "before the projection its sizes could not be written as constants");
    int transposes = 0, nodes = 0;
    for (const NodeId each : behind) transposes += Is(each, "Transpose") ? 1 : 0;
    nodes += static_cast<int>(behind.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (SoleReader(graph_, graph_.node(before[i]).outputs[0]) == kNoNode) break;
      transposes += Is(before[i], "Transpose") ? 1 : 0;
      ++nodes;
    }
    const bool better = plan->transposes() < transposes || (plan->transposes() == transposes && plan->nodes() < nodes);
    if (!better || plan->transposes() > transposes)
      return context_.FarFrom(graph_, id, "before the projection it would meet no view that it cancels");
    Rewrite rewrite(graph_, registry_, id);
    rewrite.Replace(end, Project(rewrite, *projection, x->Build(rewrite, *plan)));
    return true;
  }

  // The projection's input arranged as `view` arranges its output. The last axis must stay what it is.
  std::optional<AxisView> Rearranged(const AxisView& view, const Projection& projection,
                                     std::vector<NodeId>* before) const {
    const std::size_t rank = TypeOf(projection.y).rank();
    const AxisView::Axis& last = view.axis(view.rank() - 1);
    if (view.rank() < 2 || last.size() != 1) return std::nullopt;
    const AxisView::Place place = view.PlaceOf(last[0]);
    if (place.axis + 1 != rank || !place.outermost || !place.step.known() || place.step.number() != 1)
      return std::nullopt;
    std::optional<AxisView> x = AxisView::Trace(graph_, projection.x, {.path = before});
    if (!x || x->rank() != rank) return std::nullopt;
    std::vector<Dim> sizes;  // of the view's pieces but the last, then the last axis of x
    for (int piece = 0; piece < last[0]; ++piece) sizes.push_back(view.SizeOf({piece}));
    sizes.push_back(x->SizeOf(x->axis(rank - 1)));
    if (!x->Reshape(sizes)) return std::nullopt;
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < view.rank(); ++i) groups.emplace_back(view.axis(i).begin(), view.axis(i).end());
    x->Regroup(groups);
    return x;
  }

  // ---- Selections to before the views that they read

  bool TrySelect(NodeId id) {
    bool changed = false;
    for (std::size_t i = 0; i < graph_.node(id).outputs.size() && !graph_.node(id).erased; ++i) {
      const ValueId output = graph_.node(id).outputs[i];
      if (output == kNoValue || graph_.UseCount(output) == 0 || graph_.value(output).is_output) continue;
      const auto selection = SelectionOf(graph_, graph_.node(id), i);
      if (!selection) return changed;
      changed |= MoveSelection(id, output, *selection);
    }
    return changed;
  }

  // Only past a Transpose: fewer elements move then.
  bool MoveSelection(NodeId id, ValueId output, const Selection& s) {
    std::vector<NodeId> path;
    const auto view = AxisView::Trace(graph_, s.from, {.path = &path});
    const bool moves = std::any_of(path.begin(), path.end(), [&](NodeId each) { return Is(each, "Transpose"); });
    if (!view || !moves || view->axis(s.axis).size() != 1) return false;
    const int piece = view->axis(s.axis)[0];
    const AxisView::Place place = view->PlaceOf(piece);
    if (!place.outermost || !place.step.known() || s.count != 1) return false;
    const std::int64_t step = place.step.number();
    Rewrite rewrite(graph_, registry_, id);
    const ValueId part =
        rewrite.Add("Slice", {view->source(), rewrite.Ints({s.begin * step}), rewrite.Ints({(s.begin + 1) * step}),
                              rewrite.Ints({static_cast<std::int64_t>(place.axis)})});
    AxisView rest = view->Without(piece, part);
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < rest.rank(); ++i)
      if (i != s.axis || !s.drops_axis) groups.push_back({i});
    rest.Regroup(groups);
    const auto plan = rest.MakePlan();
    if (!plan) {
      rewrite.DropUnused(part);
      return false;
    }
    rewrite.Replace(output, rest.Build(rewrite, *plan));
    return true;
  }

  // ---- Parts of a projection

  // Columns [begin, begin + count) of the last axis (or of axis 0).
  static Tensor Columns(const Tensor& t, std::size_t axis, std::int64_t begin, std::int64_t count) {
    Shape shape = t.shape();
    const std::int64_t size = shape[axis];
    shape[axis] = count;
    Tensor part(t.dtype(), shape);
    const std::int64_t outer = axis == 0 ? 1 : shape[0], inner = axis == 0 && shape.rank() == 2 ? shape[1] : 1;
    const std::size_t bytes = ByteSize(t.dtype(), inner);
    for (std::int64_t i = 0; i < outer; ++i) {
      std::memcpy(static_cast<std::byte*>(part.raw()) + static_cast<std::size_t>(i * count) * bytes,
                  static_cast<const std::byte*>(t.raw()) + static_cast<std::size_t>(i * size + begin) * bytes,
                  static_cast<std::size_t>(count) * bytes);
    }
    return part;
  }

  bool TrySplit(ValueId y) {
    const ValueInfo& info = graph_.value(y);
    if (info.producer == kNoNode || info.is_output || info.consumers.empty()) return false;
    const auto selected = [&](NodeId each) { return Is(each, "Slice") || Is(each, "Split"); };
    if (!std::all_of(info.consumers.begin(), info.consumers.end(), selected)) return false;
    const auto projection = ProjectionOf(y);
    if (!projection || Bits(graph_.value(projection->weight).constant()->dtype()) < 8) return false;
    struct Part {
      ValueId value;
      std::int64_t begin, count;
    };
    std::vector<Part> parts;
    std::int64_t columns = 0;
    for (const NodeId reader : std::vector<NodeId>(info.consumers)) {
      const Node& node = graph_.node(reader);
      if (node.inputs[0] != y) return false;
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] == kNoValue || graph_.UseCount(node.outputs[i]) == 0) continue;
        const auto s = SelectionOf(graph_, node, i);
        if (!s || s->axis + 1 != TypeOf(y).rank() || graph_.value(node.outputs[i]).is_output) return false;
        parts.push_back({node.outputs[i], s->begin, s->count});
        columns += s->count;
      }
    }
    if (columns > Columns(*projection)) return false;  // parts that overlap would be computed twice
    const Tensor weight = *graph_.value(projection->weight).constant();
    for (const Part& part : parts) {
      Projection piece = *projection;
      piece.weight = graph_.AddConstant(graph_.value(projection->weight).name,
                                        Columns(weight, piece.transposed ? 0 : 1, part.begin, part.count));
      if (piece.bias != kNoValue) {
        piece.bias = graph_.AddConstant(graph_.value(projection->bias).name,
                                        Columns(*graph_.value(projection->bias).constant(), 0, part.begin, part.count));
      }
      Rewrite rewrite(graph_, registry_, projection->product);
      rewrite.Replace(part.value, Project(rewrite, piece, projection->x));
    }
    return true;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
};

bool MoveViews(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return ViewMover(each, context).Run(); });
}

}  // namespace

constinit const Pass kMoveViews = {.name = "move_views", .level = Level::kExtended, .run = MoveViews};

}  // namespace sardonyx::optimizer
