// optimizer/passes/fuse/fuse_distance.cpp - a Scan over points that computes squared distances becomes one CDist.
//
// skl2onnx writes distances as a loop: for each row b of B, sums of squares of A - b. The results are [rows of B, rows
// of A]; a Transpose behind them is dropped by swapping A and B. The state of the loop is A itself, so readers of the
// state read A.
#include <algorithm>

#include "ops/schema/schema.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t IntOr(const Node& node, std::string_view name, std::int64_t otherwise) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr && std::holds_alternative<std::int64_t>(*value) ? std::get<std::int64_t>(*value) : otherwise;
}

// True if the list is missing or zeros.
bool IsZeros(const Node& node, std::string_view name) {
  const AttributeValue* value = node.FindAttribute(name);
  if (value == nullptr) return true;
  const auto* list = std::get_if<Ints>(value);
  return list != nullptr && std::all_of(list->begin(), list->end(), [](std::int64_t i) { return i == 0; });
}

// The value behind any Identity nodes.
ValueId Source(const Graph& graph, ValueId value) {
  while (graph.value(value).producer != kNoNode && Is(graph.node(graph.value(value).producer), "Identity"))
    value = graph.node(graph.value(value).producer).inputs[0];
  return value;
}

const Node* Producer(const Graph& graph, ValueId value, std::string_view op) {
  const NodeId id = graph.value(value).producer;
  return id != kNoNode && Is(graph.node(id), op) ? &graph.node(id) : nullptr;
}

// Whether the sum is over axis 1 of a matrix and drops it: by the attribute of old versions or the input of new ones.
bool SumsRows(const Graph& body, const Node& sum) {
  if (IntOr(sum, "keepdims", 1) != 0) return false;
  Ints axes;
  if (sum.inputs.size() > 1 && sum.inputs[1] != kNoValue) {
    const Tensor* t = body.value(sum.inputs[1]).constant();
    if (t == nullptr || t->dtype() != DType::kInt64) return false;
    axes.assign(t->data<std::int64_t>(), t->data<std::int64_t>() + t->count());
  } else if (const AttributeValue* value = sum.FindAttribute("axes")) {
    if (const auto* list = std::get_if<Ints>(value)) axes = *list;
  }
  return axes.size() == 1 && (axes[0] == 1 || axes[0] == -1);
}

// The body returns its first input as it is, and sums of squares of the difference of both.
bool IsDistance(const Graph& body) {
  if (body.inputs.size() != 2 || body.outputs.size() != 2) return false;
  if (Source(body, body.outputs[0]) != body.inputs[0]) return false;
  const Node* sum = Producer(body, Source(body, body.outputs[1]), "ReduceSumSquare");
  if (sum == nullptr || !SumsRows(body, *sum)) return false;
  const Node* difference = Producer(body, Source(body, sum->inputs[0]), "Sub");
  if (difference == nullptr) return false;
  const ValueId a = Source(body, difference->inputs[0]), b = Source(body, difference->inputs[1]);
  return (a == body.inputs[0] && b == body.inputs[1]) || (a == body.inputs[1] && b == body.inputs[0]);
}

// Matrices of one floating type with rows of one known length: then the Sub does not broadcast rows.
bool AreMatrices(const Type& a, const Type& b) {
  return a.is_tensor() && b.is_tensor() && a.has_rank && b.has_rank && a.rank() == 2 && b.rank() == 2 &&
         a.dtype == b.dtype && (a.dtype == DType::kFloat || a.dtype == DType::kDouble) && SameDim(a.dims[1], b.dims[1]);
}

bool IsTransposition(const Node& node) {
  const AttributeValue* perm = node.FindAttribute("perm");
  return Is(node, "Transpose") && (perm == nullptr || *std::get_if<Ints>(perm) == Ints{1, 0});
}

bool Fuse(Graph& graph, const PassContext& context, NodeId scan_id) {
  const Node& scan = graph.node(scan_id);
  if (scan.inputs.size() != 2 || scan.outputs.size() != 2 || IntOr(scan, "num_scan_inputs", 0) != 1) return false;
  for (const char* list : {"scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"})
    if (!IsZeros(scan, list)) return context.No(graph, scan_id, "its ", list, " are not all 0");
  const ValueId state = scan.inputs[0], points = scan.inputs[1], same = scan.outputs[0], result = scan.outputs[1];
  if (result == kNoValue) return context.No(graph, scan_id, "no node reads the distances");
  if (!AreMatrices(graph.value(state).type, graph.value(points).type))
    return context.No(graph, scan_id, "expected two float or double matrices with rows of one length, found ",
                      graph.value(state).type.ToText(), " and ", graph.value(points).type.ToText());
  const std::vector<const Graph*> bodies = scan.Subgraphs();
  if (bodies.size() != 1 || !IsDistance(*bodies[0]))
    return context.No(graph, scan_id, "its body is not the sum of squares of the difference of both");

  const bool is_output = same != kNoValue && graph.value(same).is_output;
  if (same != kNoValue) graph.ReplaceUses(same, state);  // it goes through as it is
  const ValueInfo& info = graph.value(result);
  const bool transposed =
      graph.UseCount(result) == 1 && info.consumers.size() == 1 && IsTransposition(graph.node(info.consumers[0]));
  const NodeId replaced = transposed ? info.consumers[0] : scan_id;
  Node distance;
  distance.domain = "com.microsoft";
  distance.op_type = "CDist";
  distance.name = scan.name;
  distance.since_version = ops::FindSchema("com.microsoft", "CDist")->since_version;
  distance.provider = scan.provider;
  distance.inputs = transposed ? std::vector<ValueId>{state, points} : std::vector<ValueId>{points, state};
  distance.SetAttribute("metric", std::string("sqeuclidean"));
  distance.outputs = {transposed ? graph.node(replaced).outputs[0] : result};
  if (transposed) graph.EraseNode(replaced);
  graph.EraseNode(scan_id);
  graph.AddNode(std::move(distance));
  if (!is_output) return true;
  Node identity;  // the user asked for the state by name
  identity.op_type = "Identity";
  identity.since_version = ops::FindSchema("", "Identity")->since_version;
  identity.name = graph.FreshName(graph.value(same).name + "_Identity");
  identity.inputs = {state};
  identity.outputs = {same};
  graph.AddNode(std::move(identity));
  return true;
}

bool FuseDistance(Graph& graph, PassContext& context) {
  return ForEachNode(graph,
                     [&](Graph& each, NodeId id) { return Is(each.node(id), "Scan") && Fuse(each, context, id); });
}

}  // namespace

constinit const Pass kFuseDistance = {.name = "fuse_distance", .level = Level::kExtended, .run = FuseDistance};

}  // namespace sardonyx::optimizer
