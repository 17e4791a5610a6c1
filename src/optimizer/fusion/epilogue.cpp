// optimizer/fusion/epilogue.cpp - finds the sum or activation behind a product or convolution that the node can do
// itself.
#include "optimizer/fusion/epilogue.h"

#include <algorithm>
#include <numeric>

#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// The one reader of the node's result, if it may be joined with it.
const Node* JoinableReader(const Graph& graph, const PassContext& context, NodeId id) {
  const Node& node = graph.node(id);
  const Node* reader = OnlyReader(graph, node.outputs[0]);
  if (reader == nullptr) {
    context.No(graph, id, "its result is an output, or several nodes read it");
    return nullptr;
  }
  if (reader->provider != node.provider) {
    context.No(graph, id, Describe(graph, *reader), " runs on another provider");
    return nullptr;
  }
  return reader;
}

}  // namespace

std::optional<Summand> SummandBehind(const Graph& graph, const PassContext& context, NodeId id) {
  const ValueId made = graph.node(id).outputs[0];
  const Node* sum = JoinableReader(graph, context, id);
  if (sum == nullptr || !Is(*sum, "Add")) return std::nullopt;
  const ValueId other = sum->inputs[sum->inputs[0] == made ? 1 : 0];
  if (other == made) return std::nullopt;
  return Summand{sum->id, other};
}

std::optional<ActivationBehind> FindActivationBehind(const Graph& graph, const PassContext& context, NodeId id) {
  const ValueId made = graph.node(id).outputs[0];
  const Node* reader = JoinableReader(graph, context, id);
  if (reader == nullptr || reader->inputs.empty() || reader->inputs[0] != made) return std::nullopt;
  const auto activation = ops::ActivationOf(graph, *reader);
  if (!activation) {
    context.No(graph, id, Describe(graph, *reader), " behind it is not an activation with constant parameters");
    return std::nullopt;
  }
  return ActivationBehind{reader->id, *activation};
}

bool IsBias(const Type& bias, const Type& y) {
  if (bias.dtype != y.dtype || !bias.has_rank || !y.has_rank) return false;
  if (bias.rank() == 0 || bias.rank() > y.rank() || !SameDim(bias.dims.back(), y.dims.back())) return false;
  return std::all_of(bias.dims.begin(), bias.dims.end() - 1,
                     [](const Dim& dim) { return dim.known() && dim.number() == 1; });
}

const Node* OnlyReader(const Graph& graph, ValueId value) {
  const ValueInfo& info = graph.value(value);
  return !info.is_output && info.consumers.size() == 1 ? &graph.node(info.consumers[0]) : nullptr;
}

void Absorb(Graph& graph, NodeId node, NodeId after) {
  const ValueId output = graph.node(after).outputs[0];
  graph.EraseNode(after);
  graph.MoveOutput(node, 0, output);
}

bool SameShape(const Type& a, const Type& b) {
  if (a.dtype != b.dtype || !a.has_rank || !b.has_rank || a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.rank(); ++i)
    if (!SameDim(a.dims[i], b.dims[i])) return false;
  return true;
}

bool SwapsLastAxes(const Graph& graph, const Node& transpose) {
  const Type& type = graph.value(transpose.inputs[0]).type;
  if (!type.has_rank || type.rank() < 2) return false;
  std::vector<std::int64_t> want(type.rank());
  std::iota(want.begin(), want.end(), 0);
  std::swap(want[want.size() - 1], want[want.size() - 2]);
  const AttributeValue* perm = transpose.FindAttribute("perm");
  if (perm == nullptr) return type.rank() == 2;
  return std::holds_alternative<std::vector<std::int64_t>>(*perm) && std::get<std::vector<std::int64_t>>(*perm) == want;
}

}  // namespace sardonyx::optimizer
