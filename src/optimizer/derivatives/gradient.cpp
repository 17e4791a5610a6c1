// optimizer/derivatives/gradient.cpp - reverse-mode differentiation of a part of a graph: from the result back to the
// values it depends on, each node hands the gradients of its outputs on to its inputs. (Griewank and Walther,
// "Evaluating Derivatives", 2nd edition, chapter 3.)
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "optimizer/derivatives/derivation.h"

namespace sardonyx::optimizer {
namespace {

bool IsFloat(const Type& type) {
  return type.is_tensor() && (type.dtype == DType::kUndefined || ops::kIeeeFloats.Has(type.dtype));
}

class Differentiation {
 public:
  Differentiation(Rewrite& rewrite, std::span<const ValueId> xs) : rewrite_(rewrite) {
    depends_.insert(xs.begin(), xs.end());
  }

  std::vector<ValueId> Run(ValueId y, std::span<const ValueId> xs) {
    const std::vector<NodeId> nodes = NodesBetween(graph(), xs, y);
    for (const NodeId id : nodes) Mark(id);
    const DType dtype = graph().value(y).type.dtype;
    gradients_[y] = rewrite_.Add("Expand", {rewrite_.Scalar(dtype, 1), rewrite_.Add("Shape", {y})});
    Back(nodes);
    std::vector<ValueId> results;
    for (const ValueId x : xs) results.push_back(GradientOf(x));
    return results;
  }

 private:
  Graph& graph() { return rewrite_.graph(); }

  bool Depends(ValueId value) const { return depends_.contains(value); }

  // Integers and truth values do not change smoothly, so that nothing flows through them.
  void Mark(NodeId id) {
    const Node& node = graph().node(id);
    const auto depends = [this](ValueId value) { return Depends(value); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), depends) &&
        std::none_of(node.implicit_inputs.begin(), node.implicit_inputs.end(), depends))
      return;
    for (const ValueId output : node.outputs)
      if (output != kNoValue && IsFloat(graph().value(output).type)) depends_.insert(output);
  }

  ValueId GradientOf(ValueId value) const {
    const auto found = gradients_.find(value);
    return found == gradients_.end() ? kNoValue : found->second;
  }

  void Contribute(ValueId value, ValueId gradient) {
    if (value == kNoValue || !Depends(value)) return;
    const auto [place, first] = gradients_.try_emplace(value, gradient);
    if (!first) place->second = rewrite_.Add("Add", {place->second, gradient});
  }

  void Back(const std::vector<NodeId>& nodes) {
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) BackThrough(*id);
  }

  void BackThrough(NodeId id) {
    const Node& node = graph().node(id);
    std::vector<ValueId> gradients;
    bool any = false;
    for (const ValueId output : node.outputs) {
      gradients.push_back(output != kNoValue && Depends(output) ? GradientOf(output) : kNoValue);
      any = any || gradients.back() != kNoValue;
    }
    if (!any) return;
    const Derivative* row = FindDerivative(node.domain, node.op_type);
    std::vector<bool> wanted;
    for (const ValueId input : node.inputs) wanted.push_back(input != kNoValue && Depends(input));
    Derivation d(rewrite_, id, std::move(gradients), std::move(wanted));
    if (row == nullptr) d.NotImplemented();
    const std::size_t before = graph().order.size();
    Apply(*row, d);
    for (const auto& [input, gradient] : d.given()) Contribute(node.inputs[input], gradient);
    if (d.becomes().empty()) return;
    const std::vector<NodeId> added(graph().order.begin() + static_cast<std::ptrdiff_t>(before), graph().order.end());
    for (const NodeId each : added) Mark(each);
    for (const auto& [output, value] : d.becomes())
      if (d.HasGradient(output)) Contribute(value, d.Gradient(output));
    Back(added);
  }

  static void Apply(const Derivative& row, Derivation& d) {
    if (row.derive != nullptr) return row.derive(d);
    if (!row.same_as.empty()) return d.Becomes(0, d.Evaluate(row.same_as));
    if (!d.HasGradient(0)) return;
    for (std::size_t i = 0; i < d.InputCount(); ++i) {
      if (!d.Wants(i)) continue;
      if (i >= std::size(row.gradients) || row.gradients[i].empty()) d.NotImplemented("with respect to input ", i);
      d.Give(i, d.SumTo(d.Evaluate(row.gradients[i]), d.Input(i)));
    }
  }

  Rewrite& rewrite_;
  std::unordered_set<ValueId> depends_;  // on an x, smoothly
  std::unordered_map<ValueId, ValueId> gradients_;
};

}  // namespace

std::vector<NodeId> NodesBetween(const Graph& graph, std::span<const ValueId> xs, ValueId y) {
  const std::unordered_set<ValueId> ends(xs.begin(), xs.end());
  std::unordered_set<NodeId> found;
  std::vector<ValueId> open = {y};
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (value == kNoValue || ends.contains(value)) continue;
    const NodeId producer = graph.value(value).producer;
    if (producer == kNoNode || !found.insert(producer).second) continue;
    const Node& node = graph.node(producer);
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    open.insert(open.end(), node.implicit_inputs.begin(), node.implicit_inputs.end());
  }
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.order)
    if (found.contains(id)) nodes.push_back(id);
  return nodes;
}

std::vector<ValueId> AddGradients(Rewrite& rewrite, ValueId y, std::span<const ValueId> xs) {
  return Differentiation(rewrite, xs).Run(y, xs);
}

}  // namespace sardonyx::optimizer
