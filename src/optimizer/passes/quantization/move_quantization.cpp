// optimizer/passes/quantization/move_quantization.cpp - operators that only move elements run on 8 or 16 bits:
// DequantizeLinear moves behind them and QuantizeLinear before them, and the two vanish where they meet.
//
// Every value keeps its bits: both operators work element by element with the same parameters everywhere, and are
// monotone, so the largest element stays the largest one.
#include <algorithm>
#include <span>
#include <string_view>

#include "ops/schema/schema.h"
#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

// Besides the operators whose rows say that they move the elements of input 0: those that do so in some of their forms.
constexpr std::string_view kMovers[] = {"MaxPool", "Pad", "Resize"};
// Movers behind which there are fewer elements.
constexpr std::string_view kShrinking[] = {"Gather", "GatherElements", "GatherND", "MaxPool", "Slice", "Split"};

bool IsOneOf(std::span<const std::string_view> names, const Node& node) {
  return !IsForeign(node) && node.domain.empty() && std::find(names.begin(), names.end(), node.op_type) != names.end();
}

class QuantizationMover {
 public:
  QuantizationMover(Graph& graph, const PassContext& context)
      : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    const std::vector<NodeId> order = OwnNodes(graph_);
    for (const NodeId id : order) MoveDown(id);
    for (auto id = order.rbegin(); id != order.rend(); ++id) MoveUp(*id);
    for (const NodeId id : OwnNodes(graph_)) Cancel(id);
    return changed_;
  }

 private:
  // True if the node moves elements of type `dtype`.
  bool IsMover(const Node& node, DType dtype) const {
    if (!IsMoverName(node) || node.inputs.empty() || node.inputs[0] == kNoValue || !RunsOn(node, dtype)) return false;
    const std::string& op = node.op_type;
    if (op == "MaxPool") return node.outputs.size() < 2 || node.outputs[1] == kNoValue;
    return op != "Resize" || (TextAttribute(node, "mode", "nearest") == "nearest" &&
                              TextAttribute(node, "coordinate_transformation_mode", "") != "tf_crop_and_resize");
  }

  template <typename... Parts>
  void No(NodeId id, const Parts&... parts) const {
    context_.No(graph_, id, parts...);
  }
  bool IsMoverName(const Node& node) const { return MovesElements(registry_, node) || IsOneOf(kMovers, node); }

  bool RunsOn(const Node& node, DType dtype) const {
    const ops::OpDef* op = registry_.Find(node.domain, node.op_type, node.since_version);
    const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type);
    return op != nullptr && schema != nullptr && (op->types.empty() || op->types.Has(dtype)) &&
           schema->Input(0)->types().Contains(dtype);
  }

  static bool PadsConstants(const Node& node) {
    return node.op_type == "Pad" && TextAttribute(node, "mode", "constant") == "constant";
  }
  // A constant of 0 is an element of every quantization.
  bool IsMovablePad(const Node& node) const {
    if (!PadsConstants(node)) return true;
    const ValueId given = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
    return given == kNoValue || ScalarOf(graph_, given) == 0.0;
  }
  void SetPadElement(NodeId id, const Quantization& q) {
    const Node& node = graph_.node(id);
    if (PadsConstants(node)) {
      graph_.SetInput(id, 2, ZeroOrConstant(graph_, q));
    } else if (node.op_type == "Pad" && node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
      graph_.SetInput(id, 2, kNoValue);  // nothing reads it, and it has the type of the data before
    }
  }

  bool AreEqual(const std::vector<QuantizedValue>& all) const {
    return std::all_of(all.begin(), all.end(), [&](const QuantizedValue& q) { return q.SameAs(all[0]); });
  }

  // The dequantized inputs of a node that moves elements of several tensors; empty if they are not all alike.
  std::vector<QuantizedValue> JoinedInputs(const Node& node) const {
    const bool where = node.op_type == "Where";
    if (!node.domain.empty() || (!where && node.op_type != "Concat")) return {};
    std::vector<QuantizedValue> all;
    for (std::size_t i = where ? 1 : 0; i < node.inputs.size(); ++i) {
      const auto q = DequantizedFrom(graph_, node.inputs[i]);
      if (!q || !q->IsPerTensor() || graph_.node(q->node).provider != node.provider) return {};
      all.push_back(*q);
    }
    return AreEqual(all) && RunsOnJoined(node, all[0].dtype) ? all : std::vector<QuantizedValue>();
  }
  bool RunsOnJoined(const Node& node, DType dtype) const {
    const ops::OpDef* op = registry_.Find(node.domain, node.op_type, node.since_version);
    return op != nullptr && (op->types.empty() || op->types.Has(dtype));
  }

  // ---- DequantizeLinear behind the node

  static constexpr std::string_view kNotQuantizedAgain = "nothing behind it is quantized with the same parameters";

  // True if integers are wanted behind a node that moves those of `q`. What computes takes 8 bits, but not 16: these
  // are wanted only where a QuantizeLinear with the same parameters follows, with nothing but movers in between. There
  // a view of floats would be the better one: products read transposed floats as they are.
  bool IsWorthMoving(const Node& node, const Quantization& q) const {
    if (!q.Is16Bit()) return true;
    constexpr std::size_t kFarthest = 64;  // nodes that are looked at
    std::vector<const Node*> movers = {&node};
    for (std::size_t i = 0; i < movers.size() && i < kFarthest; ++i) {
      for (const ValueId output : movers[i]->outputs) {
        if (output == kNoValue) continue;
        for (const NodeId id : graph_.value(output).consumers) {
          const auto y = QuantizedBy(graph_, id);
          if (y && y->SameAs(q)) return true;
          const Node& reader = graph_.node(id);
          const bool joins = Is(reader, "Concat") || Is(reader, "Where");
          if (joins || (IsMover(reader, q.dtype) && reader.inputs[0] == output)) movers.push_back(&reader);
        }
      }
    }
    return false;
  }

  void MoveDown(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.erased) return;
    if (ReadShapeOnly(id)) return;
    if (const auto joined = JoinedInputs(node); !joined.empty()) {
      if (!IsWorthMoving(node, joined[0])) return No(id, kNotQuantizedAgain);
      const std::size_t first = node.op_type == "Where" ? 1 : 0;
      std::vector<ValueId> left(node.inputs.begin() + static_cast<std::ptrdiff_t>(first), node.inputs.end());
      for (std::size_t i = 0; i < joined.size(); ++i) graph_.SetInput(id, first + i, joined[i].data);
      return DequantizeOutputs(id, joined[0], left);
    }
    const auto q = node.inputs.empty() ? std::nullopt : DequantizedFrom(graph_, node.inputs[0]);
    if (q && q->axis && q->Is8Bit()) return MoveDownTransposed(id, *q);
    if (!q || !q->IsPerTensor()) return;
    if (graph_.node(q->node).provider != node.provider) return No(id, "the DequantizeLinear runs on another provider");
    if (!IsMover(node, q->dtype)) {
      if (IsMoverName(node)) No(id, "it does more than move elements, or does not run on ", Name(q->dtype));
      return;
    }
    if (!IsMovablePad(node)) return No(id, "it pads with something other than 0");
    if (!IsWorthMoving(node, *q)) return No(id, kNotQuantizedAgain);
    const ValueId left = node.inputs[0];
    SetPadElement(id, *q);
    graph_.SetInput(id, 0, q->data);
    DequantizeOutputs(id, *q, {left});
  }

  // Weights with a scale for each index of an axis: the axis is where the Transpose puts it.
  void MoveDownTransposed(NodeId id, const QuantizedValue& q) {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || node.op_type != "Transpose" || graph_.node(q.node).provider != node.provider) return;
    const std::size_t rank = graph_.value(q.data).type.rank();
    const AttributeValue* given = node.FindAttribute("perm");
    const auto* perm = given != nullptr ? std::get_if<std::vector<std::int64_t>>(given) : nullptr;
    if (graph_.value(q.data).constant() == nullptr || (perm != nullptr && perm->size() != rank)) return;
    std::int64_t axis = static_cast<std::int64_t>(rank - 1 - *q.axis);
    for (std::size_t i = 0; perm != nullptr && i < rank; ++i)
      if ((*perm)[i] == static_cast<std::int64_t>(*q.axis)) axis = static_cast<std::int64_t>(i);
    const ValueId left = node.inputs[0];
    graph_.SetInput(id, 0, q.data);
    DequantizeOutputs(id, q, {left}, {{"axis", axis}});
  }

  // The integers have the shape of the floats.
  bool ReadShapeOnly(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || (node.op_type != "Shape" && node.op_type != "Size")) return false;
    const ValueId left = node.inputs[0];
    const NodeId producer = graph_.value(left).producer;
    if (producer == kNoNode || !IsDequantize(graph_.node(producer))) return false;
    if (graph_.value(graph_.node(producer).inputs[0]).constant() != nullptr) return false;
    graph_.SetInput(id, 0, graph_.node(producer).inputs[0]);
    Rewrite(graph_, registry_, id).DropUnused(left);
    changed_ = true;
    return true;
  }

  // The node makes integers now; a DequantizeLinear behind each makes what the node made.
  void DequantizeOutputs(NodeId id, const Quantization& q, const std::vector<ValueId>& left,
                         const std::vector<Attribute>& attributes = {}) {
    for (std::size_t i = 0; i < graph_.node(id).outputs.size(); ++i) {
      const ValueId output = graph_.node(id).outputs[i];
      if (output == kNoValue) continue;
      Type type = graph_.value(output).type;
      type.dtype = q.dtype;
      const ValueId integers = graph_.AddValue(graph_.FreshName(graph_.value(output).name + "_quantized"), type);
      graph_.MoveOutput(id, i, integers);
      Rewrite rewrite(graph_, registry_, id);
      const ValueId floats = rewrite.Add("DequantizeLinear", {integers, q.scale, q.zero}, attributes);
      graph_.MoveOutput(graph_.value(floats).producer, 0, output);
    }
    Rewrite rewrite(graph_, registry_, id);
    for (const ValueId value : left) rewrite.DropUnused(value);
    changed_ = true;
  }

  // ---- QuantizeLinear before the node

  // True if quantizing the input of a mover is worth it though there are fewer elements behind: an operator makes it
  // that makes integers itself then.
  bool IsWorthQuantizing(ValueId value, const Quantization& y) const {
    if (y.Is16Bit()) return false;  // no operator makes those itself
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || SoleReader(graph_, value) == kNoNode) return false;
    const std::string& op = graph_.node(producer).op_type;
    return op == "Conv" || op == "Relu" || op == "Clip" || op == "Add" || op == "Concat" || op == "MatMul";
  }

  void MoveUp(NodeId id) {
    if (graph_.node(id).erased || graph_.node(id).outputs.size() != 1) return;
    const auto y = SoleQuantization(graph_, graph_.node(id).outputs[0]);
    const Node& node = graph_.node(id);
    if (!y || !y->IsPerTensor()) {
      const auto& readers = graph_.value(node.outputs[0]).consumers;
      const bool quantized =
          std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return QuantizedBy(graph_, r).has_value(); });
      if (quantized && IsMoverName(node))
        No(id, "it is not read by one QuantizeLinear alone, or that has several scales");
      return;
    }
    if (graph_.node(y->node).provider != node.provider) return;
    if (node.domain.empty() && node.op_type == "Where") return MoveUpThroughWhere(id, *y);
    if (!IsMover(node, y->dtype)) {
      if (IsMoverName(node)) No(id, "it does more than move elements, or does not run on ", Name(y->dtype));
      return;
    }
    if (!IsMovablePad(node)) return No(id, "it pads with something other than 0");
    if (DequantizedFrom(graph_, node.inputs[0]) || graph_.value(node.inputs[0]).constant() != nullptr) return;
    if (IsOneOf(kShrinking, node) && !IsWorthQuantizing(node.inputs[0], *y))
      return No(id, "more elements would be quantized before it than behind");
    SetPadElement(id, *y);
    QuantizeInput(id, 0, *y);
    QuantizeOutput(id, *y);
  }

  // Where(c, a, b) of a constant and a dequantized tensor, or of two constants.
  void MoveUpThroughWhere(NodeId id, const QuantizedValue& y) {
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    for (const std::size_t i : {1u, 2u}) {
      const bool constant = graph_.value(inputs[i]).constant() != nullptr;
      const auto q = DequantizedFrom(graph_, inputs[i]);
      if (!constant && !(q && q->SameAs(y))) return No(id, "a choice is neither constant nor of the result's scale");
    }
    QuantizeInput(id, 1, y);
    QuantizeInput(id, 2, y);
    QuantizeOutput(id, y);
  }

  void QuantizeInput(NodeId id, std::size_t i, const Quantization& y) {
    const ValueId floats = graph_.node(id).inputs[i];
    Rewrite rewrite(graph_, registry_, id);
    graph_.SetInput(id, i, rewrite.Add("QuantizeLinear", {floats, y.scale, ZeroOrConstant(graph_, y)}));
  }

  void QuantizeOutput(NodeId id, const QuantizedValue& y) {
    const ValueId output = graph_.node(id).outputs[0];
    graph_.value(output).type.dtype = y.dtype;
    graph_.value(output).shape_data.reset();
    Rewrite rewrite(graph_, registry_, id);
    rewrite.Replace(y.data, output);
    changed_ = true;
  }

  // ---- Where they meet

  // QuantizeLinear of what was dequantized with the same parameters: the integers themselves.
  void Cancel(NodeId id) {
    if (graph_.node(id).erased) return;
    const auto y = QuantizedBy(graph_, id);
    const auto x = y ? DequantizedFrom(graph_, graph_.node(id).inputs[0]) : std::nullopt;
    if (!x || !x->IsPerTensor() || !x->SameAs(*y) || graph_.node(x->node).provider != graph_.node(id).provider) return;
    const ValueInfo& source = graph_.value(x->data);
    if (graph_.value(y->data).is_output && (source.producer == kNoNode || source.is_output)) return;
    Rewrite rewrite(graph_, registry_, id);
    rewrite.Replace(y->data, x->data);
    changed_ = true;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
  bool changed_ = false;
};

bool MoveQuantization(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return QuantizationMover(each, context).Run(); });
}

}  // namespace

constinit const Pass kMoveQuantization = {
    .name = "move_quantization", .level = Level::kExtended, .run = MoveQuantization};

}  // namespace sardonyx::optimizer
