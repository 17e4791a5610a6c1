// planner/quantized_views.cpp - follows what is dequantized forwards, and what is quantized backwards.
#include "planner/quantized_views.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sardonyx::planner {
namespace {

bool Is(const Node& node, std::string_view op_type) {
  return node.domain.empty() && node.op_type == op_type && node.provider.empty();
}

struct Mover {
  std::string_view op_type;
  int since;
};
constexpr std::array<Mover, 6> kMovers = {
    {{"Transpose", 1}, {"Reshape", 5}, {"Squeeze", 1}, {"Unsqueeze", 1}, {"Slice", 10}, {"MaxPool", 12}}};

bool Moves(const Node& node) {
  return node.outputs.size() == 1 && std::any_of(kMovers.begin(), kMovers.end(), [&](const Mover& mover) {
           return Is(node, mover.op_type) && node.since_version >= mover.since;
         });
}

// How a whole tensor is quantized.
struct Scale {
  ValueId scale = kNoValue, zero_point = kNoValue;
  DType type = DType::kUndefined;
  int since_version = 0;  // of the operators
};

class Pairs {
 public:
  explicit Pairs(Graph& graph) : graph_(graph) {}

  void Run() {
    for (const NodeId id : std::vector<NodeId>(graph_.order)) {
      for (Graph* body : graph_.node(id).Subgraphs()) QuantizeAroundViews(*body);
      if (Is(graph_.node(id), "DequantizeLinear")) Forward(id);
      if (Is(graph_.node(id), "QuantizeLinear")) Backward(id);
    }
    if (changed_) graph_.SortTopologically();
  }

 private:
  // Of a QuantizeLinear (`quantized` is its output) or a DequantizeLinear (its input).
  std::optional<Scale> ScaleOf(const Node& node, ValueId quantized) const {
    const auto constant = [&](std::size_t i) { return graph_.value(node.inputs[i]).constant(); };
    if (node.inputs.size() < 2 || constant(1) == nullptr || constant(1)->count() != 1) return std::nullopt;
    Scale scale{node.inputs[1], node.inputs.size() > 2 ? node.inputs[2] : kNoValue, graph_.value(quantized).type.dtype,
                node.since_version};
    if (scale.zero_point != kNoValue && constant(2) == nullptr) return std::nullopt;
    constexpr std::array kTypes = {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16};
    return std::find(kTypes.begin(), kTypes.end(), scale.type) != kTypes.end() ? std::optional(scale) : std::nullopt;
  }

  bool IsCaptured(ValueId value) const {
    const std::vector<NodeId>& readers = graph_.value(value).consumers;
    return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      const std::vector<ValueId>& captured = graph_.node(reader).implicit_inputs;
      return std::find(captured.begin(), captured.end(), value) != captured.end();
    });
  }

  // The only reader of a value; kNoNode if there are others.
  NodeId OnlyReader(ValueId value) const {
    const ValueInfo& info = graph_.value(value);
    return info.consumers.size() == 1 && !info.is_output && !IsCaptured(value) ? info.consumers[0] : kNoNode;
  }

  void Forward(NodeId dequantization) {
    const Node& node = graph_.node(dequantization);
    const ValueId output = node.outputs[0];
    if (graph_.value(node.inputs[0]).constant() != nullptr) return;  // it is folded
    const NodeId mover = OnlyReader(output);
    const std::optional<Scale> scale = ScaleOf(node, node.inputs[0]);
    if (mover == kNoNode || !scale || !Moves(graph_.node(mover)) || graph_.node(mover).inputs[0] != output) return;
    const ValueId moved = graph_.node(mover).outputs[0];
    const std::vector<NodeId> readers = graph_.value(moved).consumers;
    if (IsCaptured(moved) || std::any_of(readers.begin(), readers.end(),
                                         [&](NodeId reader) { return Is(graph_.node(reader), "QuantizeLinear"); }))
      return;
    for (const NodeId made : AddBehind(mover, moved, *scale)) Forward(made);
  }

  // The QuantizeLinear, and a DequantizeLinear for each place that reads `moved`, which are returned.
  std::vector<NodeId> AddBehind(NodeId mover, ValueId moved, const Scale& scale) {
    const std::string name = graph_.value(moved).name;
    const Type type = graph_.value(moved).type;
    ValueId from = moved;
    if (graph_.value(moved).is_output) {  // which keeps its name
      from = graph_.AddValue(graph_.FreshName(name + "_moved"), type);
      graph_.MoveOutput(mover, 0, from);
      graph_.ReplaceUses(moved, from);
    }
    std::vector<std::pair<NodeId, std::size_t>> places;
    for (const NodeId reader : graph_.value(from).consumers) {
      const std::vector<ValueId>& inputs = graph_.node(reader).inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] == from) places.emplace_back(reader, i);
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    const ValueId quantized = AddQuantization(name, from, scale);
    std::vector<NodeId> made;
    if (from != moved) made.push_back(AddDequantization(name + "_dq", quantized, moved, scale));
    for (const auto& [reader, input] : places) {
      const std::string own = name + "_dq" + (made.empty() ? "" : std::to_string(made.size()));
      const ValueId result = graph_.AddValue(graph_.FreshName(own), type);
      made.push_back(AddDequantization(own, quantized, result, scale));
      graph_.SetInput(reader, input, result);
    }
    return made;
  }

  void Backward(NodeId quantization) {
    const Node& node = graph_.node(quantization);
    const std::optional<Scale> scale = ScaleOf(node, node.outputs[0]);
    const NodeId mover = graph_.value(node.inputs[0]).producer;
    if (mover == kNoNode || !scale || !Moves(graph_.node(mover)) || OnlyReader(node.inputs[0]) == kNoNode) return;
    const ValueId read = graph_.node(mover).inputs[0];
    const ValueInfo& value = graph_.value(read);
    if (OnlyReader(read) == kNoNode || value.is_captured || value.constant() != nullptr) return;
    if (value.producer != kNoNode && Is(graph_.node(value.producer), "DequantizeLinear")) return;
    const std::string name = value.name;
    const Type type = value.type;
    const ValueId quantized = AddQuantization(name, read, *scale);
    const NodeId before = graph_.value(quantized).producer;
    const ValueId result = graph_.AddValue(graph_.FreshName(name + "_dq"), type);
    AddDequantization(name + "_dq", quantized, result, *scale);
    graph_.SetInput(mover, 0, result);
    Backward(before);
  }

  // Without a zero point the type is uint8: for others there is one, of the shape of the scale.
  ValueId AddQuantization(const std::string& name, ValueId from, const Scale& scale) {
    ValueId zero_point = scale.zero_point;
    if (zero_point == kNoValue && scale.type != DType::kUInt8) {
      auto zero = std::make_shared<Initializer>();
      const Shape shape = graph_.value(scale.scale).constant()->shape();
      zero->tensor = Tensor(scale.type, shape);
      std::fill_n(static_cast<std::byte*>(zero->tensor.raw()), zero->tensor.byte_size(), std::byte{0});
      zero_point = graph_.AddValue(graph_.FreshName(name + "_zero_point"), Type::TensorOf(scale.type, shape));
      graph_.SetInitializer(zero_point, std::move(zero));
    }
    Type type = graph_.value(from).type;
    type.dtype = scale.type;
    const ValueId quantized = graph_.AddValue(graph_.FreshName(name + "_q"), type);
    AddNode("QuantizeLinear", name + "_q", from, quantized, {scale.scale, zero_point, scale.type, scale.since_version});
    return quantized;
  }

  NodeId AddDequantization(const std::string& name, ValueId from, ValueId to, const Scale& scale) {
    return AddNode("DequantizeLinear", name, from, to, scale);
  }

  NodeId AddNode(const char* op_type, const std::string& name, ValueId from, ValueId to, const Scale& scale) {
    Node node;
    node.op_type = op_type;
    node.since_version = scale.since_version;
    node.name = name;
    node.inputs = {from, scale.scale};
    if (scale.zero_point != kNoValue) node.inputs.push_back(scale.zero_point);
    node.outputs = {to};
    changed_ = true;
    return graph_.AddNode(std::move(node));
  }

  Graph& graph_;
  bool changed_ = false;
};

}  // namespace

void QuantizeAroundViews(Graph& graph) { Pairs(graph).Run(); }

}  // namespace sardonyx::planner
