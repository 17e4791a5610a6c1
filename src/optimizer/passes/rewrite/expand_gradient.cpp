// optimizer/passes/rewrite/expand_gradient.cpp - Gradient (ai.onnx.preview.training) becomes the nodes that compute it,
// at every level: it has no kernel. It runs first, while the names of values that Gradient refers to are still there.
#include <algorithm>
#include <unordered_map>

#include "ir/rename_captures.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/node_view.h"
#include "ops/upgrade.h"
#include "optimizer/derivatives/derivation.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

bool IsGradient(const Node& node) { return Is(node, "Gradient", "ai.onnx.preview.training"); }

// What a Gradient node asks for: the derivative of y, as a function of the values `named`, at the values `given`.
struct Request {
  ValueId y = kNoValue;
  std::vector<ValueId> named, given;
  std::size_t count = 0;  // of xs, which come first
};

ValueId Resolve(const Graph& graph, const ops::AttributeReader& node, const char* attribute, const std::string& name) {
  const std::optional<ValueId> found = graph.Find(name);
  if (!found)
    node.Fail(Code::kInvalidGraph, "attribute '", attribute, "': expected the name of a value of the graph, found '",
              name, "'");
  return *found;
}

Request Read(const Graph& graph, NodeId id) {
  const ops::AttributeReader node(graph, graph.node(id));
  const std::vector<std::string> xs = node.Strings("xs"), zs = node.Strings("zs");
  Request request{.given = graph.node(id).inputs, .count = xs.size()};
  if (node.InputCount() != xs.size() + zs.size() || node.OutputCount() > xs.size())
    node.Fail(Code::kInvalidGraph, "expected an input for each of ", xs.size(), " xs and ", zs.size(),
              " zs and at most an output for each of the xs, found ", node.InputCount(), " inputs and ",
              node.OutputCount(), " outputs");
  for (const std::string& name : xs) request.named.push_back(Resolve(graph, node, "xs", name));
  for (const std::string& name : zs) request.named.push_back(Resolve(graph, node, "zs", name));
  request.y = Resolve(graph, node, "y", node.String("y"));
  for (std::size_t i = 0; i < request.given.size(); ++i)
    if (request.given[i] == kNoValue) node.Fail(Code::kInvalidGraph, "expected a value for input ", i, ", found none");
  const auto check = [&](ValueId value, const char* attribute) {
    const Type& type = graph.value(value).type;
    if (!type.is_tensor() || !ops::kIeeeFloats.Has(type.dtype))
      node.Fail(Code::kInvalidArgument, "attribute '", attribute, "': expected a tensor of floats, found '",
                graph.value(value).name, "' of type ", type.ToText());
  };
  check(request.y, "y");
  for (std::size_t i = 0; i < request.count; ++i) check(request.named[i], "xs");
  return request;
}

// Copies the nodes between, so that they read the given values in place of the named ones. Each given value goes
// through an Identity: two of them may be the same value, and only one of both uses counts for each gradient.
void Substitute(Rewrite& rewrite, Request& request) {
  Graph& graph = rewrite.graph();
  std::unordered_map<ValueId, ValueId> copies;
  NewNames renamed;
  for (std::size_t i = 0; i < request.named.size(); ++i) {
    request.given[i] = rewrite.Add("Identity", {request.given[i]});
    copies[request.named[i]] = request.given[i];
    renamed[graph.value(request.named[i]).name] = graph.value(request.given[i]).name;
  }
  for (const NodeId id : NodesBetween(graph, request.named, request.y)) {
    const auto copied = [&](ValueId value) { return copies.contains(value); };
    Node node = graph.node(id);
    if (std::none_of(node.inputs.begin(), node.inputs.end(), copied) &&
        std::none_of(node.implicit_inputs.begin(), node.implicit_inputs.end(), copied))
      continue;
    for (ValueId& input : node.inputs)
      if (copied(input)) input = copies.at(input);
    for (ValueId& output : node.outputs) {
      if (output == kNoValue) continue;
      const ValueId copy = graph.AddValue(graph.FreshName(graph.value(output).name), graph.value(output).type);
      renamed[graph.value(output).name] = graph.value(copy).name;
      copies[output] = copy;
      output = copy;
    }
    for (Graph* body : node.Subgraphs()) RenameCaptures(*body, renamed);
    node.provider.clear();
    graph.AddNode(std::move(node));
  }
  const auto found = copies.find(request.y);
  if (found != copies.end()) request.y = found->second;
}

// True if the values at which the derivative is taken are those that the graph computes with anyway, and every node
// between is in its newest spelling.
bool IsInPlace(const Graph& graph, const Request& request) {
  if (request.given != request.named) return false;
  const std::vector<NodeId> between = NodesBetween(graph, request.named, request.y);
  return std::none_of(between.begin(), between.end(), [&](NodeId id) { return IsForeign(graph.node(id)); });
}

void Expand(Graph& graph, const PassContext& context, NodeId id) {
  Request request = Read(graph, id);
  Rewrite rewrite(graph, context.registry, id);
  if (!IsInPlace(graph, request)) {
    Substitute(rewrite, request);
    ops::Upgrade(graph, context.registry);
  }
  const std::span<const ValueId> xs = std::span(request.given).first(request.count);
  std::vector<ValueId> gradients = AddGradients(rewrite, request.y, xs);
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  graph.EraseNode(id);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoValue) continue;
    ValueId gradient = gradients[i];
    if (gradient == kNoValue)
      gradient =
          rewrite.Add("Expand", {rewrite.Scalar(graph.value(xs[i]).type.dtype, 0), rewrite.Add("Shape", {xs[i]})});
    Node identity;  // keeps the name, which another Gradient may refer to
    identity.op_type = "Identity";
    identity.since_version = SchemaFor(graph, "", "Identity")->since_version;
    identity.inputs = {gradient};
    identity.outputs = {outputs[i]};
    graph.AddNode(std::move(identity));
  }
  graph.SortTopologically();
}

// Whether a Gradient node can be expanded: types that inference could not tell decide how its nodes are written.
bool IsReady(const Graph& graph, const PassContext& context, NodeId id) {
  if (!IsGradient(graph.node(id))) return false;
  const std::optional<ValueId> y = graph.Find(ops::AttributeReader(graph, graph.node(id)).String("y"));
  if (y && (graph.value(*y).type.is_none() || graph.value(*y).type.dtype == DType::kUndefined))
    return context.No(graph, id, "the type of '", graph.value(*y).name, "' is not known");
  return true;
}

// A Gradient node between whose values no other one lies; a derivative of a derivative comes after that.
NodeId NextGradient(const Graph& graph, const PassContext& context) {
  NodeId waiting = kNoNode;
  for (const NodeId id : graph.order) {
    if (!IsReady(graph, context, id)) continue;
    waiting = id;
    const Request request = Read(graph, id);
    const std::vector<NodeId> between = NodesBetween(graph, request.named, request.y);
    if (std::none_of(between.begin(), between.end(), [&](NodeId each) { return IsGradient(graph.node(each)); }))
      return id;
  }
  if (waiting != kNoNode)
    ops::AttributeReader(graph, graph.node(waiting))
        .Fail(Code::kInvalidGraph, "expected a derivative that does not depend on itself");
  return kNoNode;
}

bool HasGradient(const Graph& graph, const PassContext& context) {
  return std::any_of(graph.order.begin(), graph.order.end(), [&](NodeId id) {
    const std::vector<const Graph*> bodies = graph.node(id).Subgraphs();
    return IsReady(graph, context, id) ||
           std::any_of(bodies.begin(), bodies.end(), [&](const Graph* body) { return HasGradient(*body, context); });
  });
}

// Axes and shapes that Constant nodes hold become constants, so that inference knows the ranks of what depends on them.
bool TakeConstants(Graph& graph, const ops::Registry& registry) {
  bool changed = false;
  for (const NodeId id : OwnNodes(graph)) {
    if (!Is(graph.node(id), "Constant")) continue;
    const ValueId output = graph.node(id).outputs[0];
    Value held = ops::EvaluateNode(graph, graph.node(id), registry, {})[0];
    if (!held.is_tensor()) continue;
    graph.EraseNode(id);
    graph.SetInitializer(output, std::make_shared<Initializer>(Initializer{.tensor = std::move(held.tensor())}));
    changed = true;
  }
  return changed;
}

// The derivatives are written for the newest version of each operator.
bool ExpandGradient(Graph& graph, PassContext& context) {
  if (!HasGradient(graph, context)) return false;
  ops::Upgrade(graph, context.registry);
  ForEachGraph(graph, [&](Graph& each) { return TakeConstants(each, context.registry); });
  ops::Infer(graph, context.registry);
  ForEachGraph(graph, [&](Graph& each) {
    bool changed = false;
    for (NodeId id = NextGradient(each, context); id != kNoNode; id = NextGradient(each, context)) {
      Expand(each, context, id);
      changed = true;
    }
    return changed;
  });
  return true;
}

}  // namespace

constinit const Pass kExpandGradient = {.name = "expand_gradient", .level = Level::kDisable, .run = ExpandGradient};

}  // namespace sardonyx::optimizer
