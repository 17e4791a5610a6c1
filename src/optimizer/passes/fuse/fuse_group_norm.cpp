// optimizer/passes/fuse/fuse_group_norm.cpp - GroupNormalization as PyTorch writes it becomes one node.
//
// x [N, C, spatial...] is reshaped to [N, G, -1], an InstanceNormalization normalizes each group, the result gets x's
// shape again, and a factor and a summand for each channel follow, or only one of them, or none.
#include <algorithm>

#include "ops/infer.h"
#include "ops/schema/schema.h"
#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// The one node that reads `value`, which is no output of the graph; nullptr if there are others.
const Node* OnlyReader(const Graph& graph, ValueId value) {
  const ValueInfo& info = graph.value(value);
  return !info.is_output && info.consumers.size() == 1 ? &graph.node(info.consumers[0]) : nullptr;
}

bool IsNode(const Node* node, std::string_view op_type) { return node != nullptr && Is(*node, op_type); }

bool SameDims(const Type& a, const Type& b) {
  if (!a.has_rank || !b.has_rank || a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.rank(); ++i)
    if (!SameDim(a.dims[i], b.dims[i])) return false;
  return true;
}

// A constant with one value for each channel of an image of `rank` axes, or one for all; empty if it is none.
std::vector<double> PerChannel(const Graph& graph, ValueId value, std::size_t rank, std::int64_t channels) {
  const Tensor* constant = graph.value(value).constant();
  if (constant == nullptr || constant->shape().rank() > rank) return {};
  const Shape& shape = constant->shape();
  const std::size_t missing = rank - shape.rank();
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 && (missing + i != 1 || shape[i] != channels)) return {};
  std::vector<double> values = FloatsOf(*constant);
  if (values.size() == 1) values.assign(static_cast<std::size_t>(channels), values[0]);
  return values;
}

struct Found {
  ValueId x = kNoValue;
  std::int64_t channels = 0, groups = 0;
  std::vector<double> scale, bias;  // by channel
  std::vector<NodeId> nodes;        // in order; the last one's output is the result
};

// The normalization around an InstanceNormalization, without factor and summand.
std::optional<Found> FindCore(const Graph& graph, const PassContext& context, const Node& norm) {
  const auto no = [&](const auto&... parts) {
    context.No(graph, norm.id, parts...);
    return std::nullopt;
  };
  const NodeId split_id = graph.value(norm.inputs[0]).producer;
  if (split_id == kNoNode) return no("no Reshape into groups before it");
  const Node& split = graph.node(split_id);
  const Node* join = OnlyReader(graph, norm.outputs[0]);
  if (!IsNode(&split, "Reshape") || !IsNode(join, "Reshape"))
    return no("no Reshape into groups before it and back behind it");
  if (OnlyReader(graph, norm.inputs[0]) != &norm)
    return no("'", graph.value(norm.inputs[0]).name, "' is read by others");
  if (split.provider != norm.provider || join->provider != norm.provider) return no("other providers");
  Found found;
  found.x = split.inputs[0];
  const Type &x = graph.value(found.x).type, &grouped = graph.value(norm.inputs[0]).type;
  if (!x.has_rank || x.rank() < 3 || !x.dims[1].known() || !grouped.has_rank || grouped.rank() < 3)
    return no("expected channels of a known number, found ", x.ToText(), " as ", grouped.ToText());
  if (!SameDim(x.dims[0], grouped.dims[0]) || !grouped.dims[1].known())
    return no("expected groups of a known number, found ", grouped.ToText());
  if (!SameDims(x, graph.value(join->outputs[0]).type))
    return no("behind it the shape is ", graph.value(join->outputs[0]).type.ToText(), ", expected ", x.ToText());
  found.channels = x.dims[1].number();
  found.groups = grouped.dims[1].number();
  if (found.groups < 1 || found.channels % found.groups != 0)
    return no(found.channels, " channels are no ", found.groups, " groups of equal size");
  const Tensor *scale = graph.value(norm.inputs[1]).constant(), *bias = graph.value(norm.inputs[2]).constant();
  if (scale == nullptr || bias == nullptr) return no("its scale or bias is not constant");
  const std::vector<double> scales = FloatsOf(*scale), biases = FloatsOf(*bias);
  const auto groups = static_cast<std::size_t>(found.groups);
  if (scales.size() != groups || biases.size() != groups) return no("expected ", groups, " scales and biases");
  for (std::int64_t c = 0; c < found.channels; ++c) {
    const auto group = static_cast<std::size_t>(c / (found.channels / found.groups));
    found.scale.push_back(scales[group]);
    found.bias.push_back(biases[group]);
  }
  found.nodes = {split_id, norm.id, join->id};
  return found;
}

// Takes in a Mul, then an Add, by channel.
void FindAffine(const Graph& graph, Found& found) {
  const std::size_t rank = graph.value(found.x).type.rank();
  for (const char* step : {"Mul", "Add"}) {
    const ValueId value = graph.node(found.nodes.back()).outputs[0];
    const Node* reader = OnlyReader(graph, value);
    if (!IsNode(reader, step) || reader->provider != graph.node(found.nodes.back()).provider) continue;
    const ValueId other = reader->inputs[reader->inputs[0] == value ? 1 : 0];
    const std::vector<double> values = PerChannel(graph, other, rank, found.channels);
    if (values.empty()) continue;
    for (std::size_t c = 0; c < values.size(); ++c) {
      if (*step == 'M') found.scale[c] *= values[c], found.bias[c] *= values[c];
      if (*step == 'A') found.bias[c] += values[c];
    }
    found.nodes.push_back(reader->id);
  }
}

bool Fuse(Graph& graph, NodeId id, const PassContext& context) {
  const Node& norm = graph.node(id);
  auto found = FindCore(graph, context, norm);
  if (!found) return false;
  FindAffine(graph, *found);
  const DType dtype = graph.value(found->x).type.dtype;
  const Shape shape{found->channels};
  Node fused;
  fused.op_type = "GroupNormalization";
  fused.since_version = ops::FindSchema("", "GroupNormalization")->since_version;
  fused.name = norm.name;
  fused.provider = norm.provider;
  fused.SetAttribute("num_groups", found->groups);
  if (const AttributeValue* epsilon = norm.FindAttribute("epsilon")) fused.SetAttribute("epsilon", *epsilon);
  fused.inputs = {found->x, graph.AddConstant(norm.name + "_scale", TensorOfFloats(dtype, shape, found->scale)),
                  graph.AddConstant(norm.name + "_bias", TensorOfFloats(dtype, shape, found->bias))};
  const ValueId output = graph.node(found->nodes.back()).outputs[0];
  graph.EraseNodes(found->nodes);
  fused.outputs = {output};
  const NodeId made = graph.AddNode(std::move(fused));
  ops::InferAt(graph, made, context.registry);
  return true;
}

bool FuseIn(Graph& graph, const PassContext& context) {
  bool changed = false, fused = false;
  for (const NodeId id : OwnNodes(graph)) {
    if (graph.node(id).erased) continue;
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= FuseIn(*body, context);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    if (Is(graph.node(id), "InstanceNormalization")) fused |= Fuse(graph, id, context);
  }
  if (fused) graph.SortTopologically();
  return changed || fused;
}

bool FuseGroupNorm(Graph& graph, PassContext& context) { return FuseIn(graph, context); }

}  // namespace

constinit const Pass kFuseGroupNorm = {.name = "fuse_group_norm", .level = Level::kExtended, .run = FuseGroupNorm};

}  // namespace sardonyx::optimizer
