// optimizer/passes/fuse_conv_activation.cpp - Conv, a sum with a value of its shape and an activation become one
// com.microsoft FusedConv: activation(conv(X, W) + B + Z), ONNX Runtime's operator and semantics.
//
// To fuse one more activation: its row in ActivationOf, its name in MakeActivation (ops/conv_attributes.cpp).
#include <algorithm>
#include <limits>

#include "ops/infer.h"
#include "ops/schema.h"
#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

struct FusedActivation {
  std::string name;
  std::vector<float> params;
};

float FloatAttribute(const Node& node, std::string_view name, float otherwise) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr && std::holds_alternative<float>(*value) ? std::get<float>(*value) : otherwise;
}

// The bound of a Clip, which must be constant; `otherwise` if it is missing.
std::optional<float> Bound(const Graph& graph, const Node& clip, std::size_t i, float otherwise) {
  if (i >= clip.inputs.size() || clip.inputs[i] == kNoValue) return otherwise;
  const Tensor* constant = graph.value(clip.inputs[i]).constant();
  if (constant == nullptr || constant->count() != 1) return std::nullopt;
  std::optional<float> bound;
  VisitDType<float, Half>(constant->dtype(), [&]<typename T>() { bound = static_cast<float>(*constant->data<T>()); });
  return bound;
}

std::optional<FusedActivation> ActivationOf(const Graph& graph, const Node& node) {
  const std::string& name = node.op_type;
  if (node.domain == "com.microsoft") {
    if (name == "Gelu") return FusedActivation{"Gelu", {}};
    if (name == "QuickGelu" && FloatAttribute(node, "alpha", 1.702f) == 1) return FusedActivation{"Silu", {}};
    return std::nullopt;
  }
  if (!node.domain.empty()) return std::nullopt;
  if (name == "Relu" || name == "Sigmoid" || name == "Tanh" || name == "HardSwish") return FusedActivation{name, {}};
  if (name == "LeakyRelu") return FusedActivation{name, {FloatAttribute(node, "alpha", 0.01f)}};
  if (name == "HardSigmoid")
    return FusedActivation{name, {FloatAttribute(node, "alpha", 0.2f), FloatAttribute(node, "beta", 0.5f)}};
  if (name == "Swish" && FloatAttribute(node, "alpha", 1) == 1) return FusedActivation{"Silu", {}};
  if (name == "Gelu" && node.FindAttribute("approximate") == nullptr) return FusedActivation{name, {}};
  if (name == "Clip") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto low = Bound(graph, node, 1, -kInfinity), high = Bound(graph, node, 2, kInfinity);
    if (low && high && *low <= *high) return FusedActivation{name, {*low, *high}};
  }
  return std::nullopt;
}

bool SameShape(const Type& a, const Type& b) {
  if (a.dtype != b.dtype || !a.has_rank || !b.has_rank || a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.rank(); ++i)
    if (!SameDim(a.dims[i], b.dims[i])) return false;
  return true;
}

// The one node that reads `value`, which is no output of the graph; nullptr if there are others.
const Node* OnlyReader(const Graph& graph, ValueId value) {
  const ValueInfo& info = graph.value(value);
  return !info.is_output && info.consumers.size() == 1 ? &graph.node(info.consumers[0]) : nullptr;
}

void MakeFused(Node& conv) {
  conv.domain = "com.microsoft";
  conv.op_type = "FusedConv";
  conv.since_version = ops::FindSchema("com.microsoft", "FusedConv")->since_version;
}

// Node `after`, whose input the Conv makes, is gone; the Conv makes its output.
void Absorb(Graph& graph, NodeId conv, NodeId after) {
  const ValueId output = graph.node(after).outputs[0];
  graph.EraseNode(after);
  graph.MoveOutput(conv, 0, output);
}

// conv + z, both of one shape: z becomes the Conv's fourth input.
bool FuseSum(Graph& graph, NodeId conv_id) {
  const Node& conv = graph.node(conv_id);
  const ValueId made = conv.outputs[0];
  const Node* sum = OnlyReader(graph, made);
  if (sum == nullptr || !sum->domain.empty() || sum->op_type != "Add" || sum->provider != conv.provider) return false;
  const ValueId other = sum->inputs[sum->inputs[0] == made ? 1 : 0];
  if (other == made || !SameShape(graph.value(made).type, graph.value(other).type)) return false;
  const NodeId sum_id = sum->id;
  Node& node = graph.node(conv_id);
  while (node.inputs.size() < 3) graph.SetInput(conv_id, node.inputs.size(), kNoValue);
  graph.SetInput(conv_id, 3, other);
  MakeFused(node);
  Absorb(graph, conv_id, sum_id);
  return true;
}

bool FuseActivation(Graph& graph, NodeId conv_id) {
  const Node& conv = graph.node(conv_id);
  const Node* reader = OnlyReader(graph, conv.outputs[0]);
  if (reader == nullptr || reader->provider != conv.provider) return false;
  if (reader->inputs.empty() || reader->inputs[0] != conv.outputs[0]) return false;
  const auto activation = ActivationOf(graph, *reader);
  if (!activation) return false;
  const NodeId reader_id = reader->id;
  Node& node = graph.node(conv_id);
  node.SetAttribute("activation", activation->name);
  if (!activation->params.empty()) node.SetAttribute("activation_params", activation->params);
  MakeFused(node);
  Absorb(graph, conv_id, reader_id);
  return true;
}

bool Fuses(const Graph& graph, const Node& node) {
  const bool plain = node.domain.empty() && node.op_type == "Conv";
  const bool fused = node.domain == "com.microsoft" && node.op_type == "FusedConv";
  if (!plain && !fused) return false;
  if (node.FindAttribute("activation") != nullptr) return false;
  const DType dtype = graph.value(node.inputs[0]).type.dtype;
  const ops::OpSchema* schema = ops::FindSchema("com.microsoft", "FusedConv");
  return dtype != DType::kDouble && schema->Input(0)->types().Contains(dtype);
}

bool FuseIn(Graph& graph) {
  bool changed = false, summed = false;
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    if (graph.node(id).erased) continue;
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= FuseIn(*body);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    if (!Fuses(graph, graph.node(id))) continue;
    if (graph.node(id).inputs.size() < 4) summed |= FuseSum(graph, id);
    changed |= FuseActivation(graph, id);
  }
  if (summed) graph.SortTopologically();  // the summand may be made behind the Conv
  return changed || summed;
}

bool FuseConvActivation(Graph& graph, PassContext& /*context*/) { return FuseIn(graph); }

}  // namespace

constinit const Pass kFuseConvActivation = {
    .name = "fuse_conv_activation", .level = Level::kExtended, .run = FuseConvActivation};

}  // namespace sardonyx::optimizer
