// optimizer/quantization/float_nodes.cpp - follows floats from where integers become them to where they are quantized.
#include "optimizer/quantization/float_nodes.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::string_view kProducts[] = {"Conv", "Gemm", "MatMul"};
// Operators that pass on elements of integers in some of their forms (move_quantization).
constexpr std::string_view kMovers[] = {"MaxPool", "Pad", "Resize"};

bool IsOneOf(std::span<const std::string_view> names, const Node& node) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op_type) != names.end();
}
bool IsProduct(const Node& node) { return IsOneOf(kProducts, node); }

bool ReadsDequantized(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const NodeId producer = input == kNoValue ? kNoNode : graph.value(input).producer;
    return producer != kNoNode && IsDequantize(graph.node(producer));
  });
}

class FloatNodes {
 public:
  FloatNodes(const Graph& graph, const PassContext& context, bool (*has_integer_form)(const Node&))
      : graph_(graph), context_(context), has_integer_form_(has_integer_form) {}

  void Report() {
    from_.assign(graph_.values.size(), 0);
    to_.assign(graph_.values.size(), 0);
    for (const NodeId id : graph_.order) MarkForward(graph_.node(id));
    for (auto id = graph_.order.rbegin(); id != graph_.order.rend(); ++id) MarkBackward(graph_.node(*id));
    for (const NodeId id : OwnNodes(graph_)) {
      const Node& node = graph_.node(id);
      if (!IsQuantize(node) && !MakesFloatsOfIntegers(node) && IsMarked(node.inputs, from_) &&
          IsMarked(node.outputs, to_))
        Tell(node);
    }
  }

 private:
  bool IsFloat(ValueId value) const {
    return value != kNoValue && graph_.value(value).type.is_tensor() && graph_.value(value).type.dtype == DType::kFloat;
  }
  bool IsMarked(const std::vector<ValueId>& values, const std::vector<char>& marks) const {
    return std::any_of(values.begin(), values.end(), [&](ValueId v) { return v != kNoValue && marks[v] != 0; });
  }

  // Nodes of integers whose results are floats.
  bool MakesFloatsOfIntegers(const Node& node) const {
    if (node.inputs.empty() || node.inputs[0] == kNoValue) return false;
    const ValueInfo& x = graph_.value(node.inputs[0]);
    if (x.constant() != nullptr || !x.type.is_tensor()) return false;
    const Node* producer = x.producer == kNoNode ? nullptr : &graph_.node(x.producer);
    if (Is(node, "Cast")) return producer != nullptr && producer->op_type.ends_with("Integer");
    // Scales and bias of a product of integers, which passes write as nodes of their own.
    if (producer != nullptr &&
        ((Is(node, "Mul") && Is(*producer, "Cast")) || (Is(node, "Add") && Is(*producer, "Mul"))))
      return (graph_.value(node.inputs[1]).constant() != nullptr ||
              (!node.name.empty() && node.name == producer->name)) &&
             MakesFloatsOfIntegers(*producer);
    const DType dtype = x.type.dtype;
    return dtype == DType::kInt8 || dtype == DType::kUInt8 || dtype == DType::kInt16 || dtype == DType::kUInt16;
  }

  void MarkForward(const Node& node) {
    const bool begins = MakesFloatsOfIntegers(node);
    if (!begins && !IsMarked(node.inputs, from_)) return;
    for (const ValueId output : node.outputs)
      if (IsFloat(output)) from_[output] = 1;
  }
  void MarkBackward(const Node& node) {
    const bool ends = IsQuantize(node);
    if (!ends && (MakesFloatsOfIntegers(node) || !IsMarked(node.outputs, to_))) return;
    for (std::size_t i = 0; i < node.inputs.size() && (i == 0 || !ends); ++i)
      if (IsFloat(node.inputs[i])) to_[node.inputs[i]] = 1;
  }

  // An operator that runs on integers where all around it is quantized.
  bool HasIntegerForm(const Node& node) const {
    if (IsProduct(node) || IsOneOf(kMovers, node) || has_integer_form_(node) || MovesElements(context_.registry, node))
      return true;
    const ops::OpDef* op = context_.registry.Find(node.domain, node.op_type, node.since_version);
    if (op == nullptr || (op->traits & ops::kElementwise) == 0) return false;
    return std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {  // a function of one tensor
             return input != kNoValue && graph_.value(input).constant() == nullptr;
           }) == 1;
  }

  void Tell(const Node& node) const {
    if (IsProduct(node) && ReadsDequantized(graph_, node)) return;
    if (has_integer_form_(node) && IsBetweenQuantization(graph_, node)) return;
    if (!HasIntegerForm(node)) {
      context_.No(graph_, node.id, "it stays in float between quantized nodes: ", node.op_type,
                  " has no form of 8-bit integers");
      return;
    }
    for (const ValueId input : node.inputs) {
      if (!IsFloat(input) || graph_.value(input).constant() != nullptr || DequantizedFrom(graph_, input)) continue;
      context_.No(graph_, node.id, "it stays in float between quantized nodes: '", graph_.value(input).name, "' ",
                  WhyNot8Bit(graph_, input));
      return;
    }
    context_.No(graph_, node.id, "it stays in float between quantized nodes: its result is not read by one ",
                "QuantizeLinear to 8 bits alone");
  }

  const Graph& graph_;
  const PassContext& context_;
  bool (*has_integer_form_)(const Node&);
  std::vector<char> from_, to_;  // by value: integers are before it, a QuantizeLinear is behind it
};

}  // namespace

bool IsBetweenQuantization(const Graph& graph, const Node& node) {
  const auto& readers = graph.value(node.outputs[0]).consumers;
  return ReadsDequantized(graph, node) &&
         std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return IsQuantize(graph.node(reader)); });
}

std::string WhyNot8Bit(const Graph& graph, ValueId value) {
  const auto q = DequantizedFrom(graph, value);
  if (q && !q->Is8Bit()) return JoinedText("is of ", Name(q->dtype), ", and operators of integers take 8 bits");
  if (q) return q->axis ? JoinedText("has several scales, along axis ", *q->axis) : "runs on another provider";
  if (graph.value(value).constant() != nullptr) return "is a constant of floats that is not quantized";
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode) return "is an input of floats";
  if (IsDequantize(graph.node(producer)))
    return "is dequantized with a scale or zero point that is no constant, or in blocks";
  return JoinedText("is made in float by ", Describe(graph, graph.node(producer)));
}

void ReportFloatNodes(const Graph& graph, const PassContext& context, bool (*has_integer_form)(const Node& node)) {
  if (context.explanation != nullptr) FloatNodes(graph, context, has_integer_form).Report();
}

}  // namespace sardonyx::optimizer
