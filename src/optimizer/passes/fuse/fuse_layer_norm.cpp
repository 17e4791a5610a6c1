// optimizer/passes/fuse/fuse_layer_norm.cpp - LayerNormalization and RMSNormalization from their parts.
//
// The core, (x - mean) / sqrt(variance + epsilon) or x / sqrt(mean(x^2) + epsilon) over the last axes, becomes a node
// with a scale of ones. Then a Cast around it, a factor and a summand behind it go into the node, one at a time, so
// that exporters may leave any of them out.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::int64_t kMaxScale = 1 << 20;  // elements of a scale of ones

struct Core {
  ValueId x = kNoValue;
  bool rms = false;
  std::int64_t first = 0;  // normalised axes: from here to the last
  double epsilon = 0;
};

class LayerNormFuser {
 public:
  LayerNormFuser(Graph& graph, const PassContext& context)
      : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    for (const NodeId id : OwnNodes(graph_))
      if (!graph_.node(id).erased) changed_ |= TryCore(id) || TryCast(id) || TryScale(id) || TryBias(id);
    return changed_;
  }

 private:
  const Node* Make(ValueId value, std::string_view op_type) const { return ProducerOf(graph_, value, op_type); }

  // The square under a mean over axes that are kept as 1.
  ValueId MeanOf(ValueId value, std::vector<std::int64_t>* axes) const {
    const Node* mean = Make(value, "ReduceMean");
    if (mean == nullptr || mean->inputs.size() < 2 || IntAttribute(*mean, "keepdims", 1) != 1) return kNoValue;
    const auto found = IntsOf(graph_, mean->inputs[1]);
    if (!found || found->empty()) return kNoValue;
    *axes = *found;
    return mean->inputs[0];
  }

  ValueId SquareOf(ValueId value) const {
    if (const Node* power = Make(value, "Pow")) {
      const auto exponent = ScalarOf(graph_, power->inputs[1]);
      return exponent && *exponent == 2 ? power->inputs[0] : kNoValue;
    }
    const Node* product = Make(value, "Mul");
    return product != nullptr && SameDifference(product->inputs[0], product->inputs[1]) ? product->inputs[0] : kNoValue;
  }

  // One value, or two nodes x - mean(x) of the same operands.
  bool SameDifference(ValueId a, ValueId b) const {
    if (a == b) return true;
    const Node *first = Make(a, "Sub"), *second = Make(b, "Sub");
    return first != nullptr && second != nullptr && first->inputs == second->inputs;
  }

  // variance + epsilon, whose root this is; `power` is 0.5 or -0.5.
  ValueId RootOf(ValueId value, double power) const {
    if (const Node* root = Make(value, "Sqrt")) return power > 0 ? root->inputs[0] : kNoValue;
    if (const Node* general = Make(value, "Pow")) {
      const auto exponent = ScalarOf(graph_, general->inputs[1]);
      return exponent && *exponent == power ? general->inputs[0] : kNoValue;
    }
    if (power > 0) return kNoValue;
    if (const Node* inverse = Make(value, "Reciprocal")) return RootOf(inverse->inputs[0], 0.5);
    const Node* quotient = Make(value, "Div");
    if (quotient == nullptr) return kNoValue;
    const auto one = ScalarOf(graph_, quotient->inputs[0]);
    return one && *one == 1 ? RootOf(quotient->inputs[1], 0.5) : kNoValue;
  }

  // The axes must be the last ones of x.
  bool TakeAxes(const std::vector<std::int64_t>& axes, Core* core) const {
    const Type& x = graph_.value(core->x).type;
    if (!x.is_tensor() || !x.has_rank || !IsFloating(x.dtype)) return false;
    const auto rank = static_cast<std::int64_t>(x.rank());
    std::vector<bool> seen(x.rank(), false);
    core->first = rank;
    for (std::int64_t axis : axes) {
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank || seen[static_cast<std::size_t>(axis)]) return false;
      seen[static_cast<std::size_t>(axis)] = true;
      core->first = std::min(core->first, axis);
    }
    std::int64_t count = 1;
    for (std::int64_t i = core->first; i < rank; ++i) {
      const Dim& d = x.dims[static_cast<std::size_t>(i)];
      if (!d.known() || d.number() < 1 || d.number() > kMaxScale / count) return false;
      count *= d.number();
    }
    return static_cast<std::int64_t>(axes.size()) == rank - core->first && count <= kMaxScale;
  }

  // `id`: who asks, to be told why it is none although it divides by a root of a sum.
  bool MatchCore(NodeId id, ValueId numerator, ValueId root, double power, Core* core) const {
    const ValueId sum = RootOf(root, power);
    const Node* add = sum == kNoValue ? nullptr : Make(sum, "Add");
    if (add == nullptr) return false;
    std::string why = "no epsilon is added to the mean of a square over constant axes that are kept";
    for (const std::size_t i : {0u, 1u}) {
      const auto epsilon = ScalarOf(graph_, add->inputs[1 - i]);
      std::vector<std::int64_t> axes, mean_axes;
      const ValueId square = epsilon && *epsilon >= 0 ? MeanOf(add->inputs[i], &axes) : kNoValue;
      const ValueId base = square == kNoValue ? kNoValue : SquareOf(square);
      if (square != kNoValue) why = "under the root is no mean of squares of what is divided";
      if (base == kNoValue || !SameDifference(base, numerator)) continue;
      core->epsilon = *epsilon;
      const Node* difference = Make(base, "Sub");
      core->rms = difference == nullptr || MeanOf(difference->inputs[1], &mean_axes) != difference->inputs[0] ||
                  mean_axes != axes;
      core->x = core->rms ? base : difference->inputs[0];
      if (core->rms && base != numerator) continue;
      if (TakeAxes(axes, core)) return true;
      why = "expected a mean over the last axes, of known sizes, of " + graph_.value(core->x).type.ToText();
    }
    return context_.No(graph_, id, why);
  }

  bool TryCore(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || node.inputs.size() != 2) return false;
    Core core;
    bool found = node.op_type == "Div" && MatchCore(id, node.inputs[0], node.inputs[1], 0.5, &core);
    if (node.op_type == "Mul") {
      found = MatchCore(id, node.inputs[0], node.inputs[1], -0.5, &core) ||
              MatchCore(id, node.inputs[1], node.inputs[0], -0.5, &core);
    }
    const char* name = core.rms ? "RMSNormalization" : "LayerNormalization";
    if (!found || !HasOperator(registry_, "", name)) return false;
    const Type x = graph_.value(core.x).type, &y = graph_.value(node.outputs[0]).type;
    if (!y.has_rank || y.rank() != x.rank()) return false;  // an epsilon of more axes
    const auto rank = static_cast<std::int64_t>(x.rank());
    Shape shape;
    for (std::int64_t i = core.first; i < rank; ++i) shape.Append(x.dims[static_cast<std::size_t>(i)].number());
    Tensor ones(x.dtype, shape);
    VisitDType<float, double, Half, BFloat16>(
        x.dtype, [&]<typename T>() { std::fill_n(ones.data<T>(), ones.count(), static_cast<T>(1.0f)); });
    Rewrite rewrite(graph_, registry_, id);
    const ValueId scale = graph_.AddConstant("ones", std::move(ones));
    ones_.push_back(scale);
    const ValueId old = node.outputs[0];
    const ValueId fused = rewrite.Add(name, {core.x, scale},
                                      {{"axis", core.first - rank}, {"epsilon", static_cast<float>(core.epsilon)}});
    rewrite.Replace(old, fused);
    return true;
  }

  // A node that TryCore made and that still has its scale of ones and no bias; it is read once.
  const Node* BareNorm(ValueId value) const {
    for (const char* name : {"LayerNormalization", "RMSNormalization"}) {
      const Node* norm = Make(value, name);
      if (norm == nullptr || norm->inputs.size() != 2 || SoleReader(graph_, value) == kNoNode) continue;
      if (std::find(ones_.begin(), ones_.end(), norm->inputs[1]) != ones_.end()) return norm;
    }
    return nullptr;
  }

  // Normalised in float between casts: the operator does that by itself (stash_type 1).
  bool TryCast(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || node.op_type != "Cast") return false;
    const Node* norm = BareNorm(node.inputs[0]);
    const Node* widened = norm == nullptr ? nullptr : Make(norm->inputs[0], "Cast");
    if (widened == nullptr || graph_.value(norm->inputs[0]).type.dtype != DType::kFloat) return false;
    const ValueId narrow = widened->inputs[0], old = node.outputs[0];
    const DType dtype = graph_.value(narrow).type.dtype;
    if (dtype != graph_.value(old).type.dtype || (dtype != DType::kFloat16 && dtype != DType::kBFloat16)) return false;
    Tensor ones(dtype, graph_.value(norm->inputs[1]).constant()->shape());
    VisitDType<Half, BFloat16>(dtype, [&]<typename T>() { std::fill_n(ones.data<T>(), ones.count(), T(1.0f)); });
    Rewrite rewrite(graph_, registry_, id);
    const ValueId scale = graph_.AddConstant("ones", std::move(ones));
    ones_.push_back(scale);
    const std::string name = norm->op_type;
    const std::vector<Attribute> attributes = norm->attributes;
    rewrite.Replace(old, rewrite.Add(name, {narrow, scale}, attributes));
    return true;
  }

  // A parameter with the normalised axes and no others.
  bool FitsAxes(ValueId parameter, const Node& norm) const {
    const Type &type = graph_.value(parameter).type, &x = graph_.value(norm.inputs[0]).type;
    const std::size_t count = graph_.value(norm.inputs[1]).type.rank();
    if (!type.HasStaticShape() || type.rank() != count || type.dtype != x.dtype) return false;
    for (std::size_t i = 0; i < count; ++i)
      if (!SameDim(type.dims[i], x.dims[x.rank() - count + i])) return false;
    return true;
  }

  bool TryScale(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || node.op_type != "Mul" || node.inputs.size() != 2) return false;
    for (const std::size_t i : {0u, 1u}) {
      const Node* norm = BareNorm(node.inputs[i]);
      if (norm == nullptr || !FitsAxes(node.inputs[1 - i], *norm)) continue;
      const ValueId old = node.outputs[0], scale = node.inputs[1 - i];
      graph_.SetInput(norm->id, 1, scale);
      scaled_.push_back(norm->id);
      Rewrite rewrite(graph_, registry_, id);
      rewrite.Replace(old, norm->outputs[0]);
      return true;
    }
    return false;
  }

  bool TryBias(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || node.op_type != "Add" || node.inputs.size() != 2) return false;
    for (const std::size_t i : {0u, 1u}) {
      const Node* norm = Make(node.inputs[i], "LayerNormalization");
      const bool once = norm != nullptr && SoleReader(graph_, node.inputs[i]) == id;
      const bool ours = norm != nullptr && std::find(scaled_.begin(), scaled_.end(), norm->id) != scaled_.end();
      if (!once || (!ours && BareNorm(node.inputs[i]) == nullptr)) continue;
      if (norm->inputs.size() != 2 || !FitsAxes(node.inputs[1 - i], *norm)) continue;
      const ValueId old = node.outputs[0], bias = node.inputs[1 - i];
      graph_.SetInput(norm->id, 2, bias);
      Rewrite rewrite(graph_, registry_, id);
      rewrite.Replace(old, norm->outputs[0]);
      return true;
    }
    return false;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
  std::vector<ValueId> ones_;   // scales that TryCore made
  std::vector<NodeId> scaled_;  // nodes whose scale came from a Mul
  bool changed_ = false;
};

bool FuseLayerNorm(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return LayerNormFuser(each, context).Run(); });
}

}  // namespace

constinit const Pass kFuseLayerNorm = {.name = "fuse_layer_norm", .level = Level::kExtended, .run = FuseLayerNorm};

}  // namespace sardonyx::optimizer
