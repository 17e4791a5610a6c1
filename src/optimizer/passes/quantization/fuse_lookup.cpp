// optimizer/passes/quantization/fuse_lookup.cpp - any function of one 8-bit tensor, element by element and back to 8
// bits, becomes ai.sardonyx.Lookup8: a table of its 256 results.
//
// The function may be a graph of many nodes, with QuantizeLinear and DequantizeLinear between them (GELU, HardSwish and
// the like as quantizers write them, or a change of scale). These very nodes compute the table, so no value changes. A
// table that changes nothing is removed.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/evaluate.h"
#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

class LookupFuser {
 public:
  LookupFuser(Graph& graph, const PassContext& context)
      : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    if (!HasOperator(registry_, "ai.sardonyx", "Lookup8")) return false;
    bool changed = false;
    const std::vector<NodeId> order = OwnNodes(graph_);
    for (const NodeId id : order) FindSource(id);
    for (std::size_t i = order.size(); i-- > 0;) changed |= Fuse(order[i]);
    return changed;
  }

 private:
  bool Is8Bit(ValueId value) const {
    const Type& type = graph_.value(value).type;
    return type.is_tensor() && (type.dtype == DType::kInt8 || type.dtype == DType::kUInt8);
  }

  // The 8-bit tensor that alone, element by element, decides `value`: itself where nothing further up does.
  ValueId SourceOf(ValueId value) const {
    const auto found = source_.find(value);
    if (found != source_.end()) return found->second;
    return Is8Bit(value) && graph_.value(value).constant() == nullptr ? value : kNoValue;
  }

  bool IsElementwise(const Node& node) const {
    if (node.outputs.size() != 1 || node.outputs[0] == kNoValue || !node.Subgraphs().empty()) return false;
    if (IsDequantize(node)) {
      const auto q = DequantizedFrom(graph_, node.outputs[0]);
      return q && q->IsPerTensor8();
    }
    if (IsQuantize(node)) {
      const auto q = QuantizedBy(graph_, node.id);
      return q && q->IsPerTensor8();
    }
    const ops::OpDef* op = registry_.Find(node.domain, node.op_type, node.since_version);
    return op != nullptr && (op->traits & ops::kElementwise) != 0 && (op->traits & ops::kRandom) == 0;
  }

  // True if a constant of one element does not add axes to what `value` has.
  bool KeepsShape(const Tensor& constant, ValueId source) const {
    if (constant.count() != 1) return false;
    const Type& type = graph_.value(source).type;
    return constant.shape().rank() == 0 || (type.has_rank && constant.shape().rank() <= type.rank());
  }

  void FindSource(NodeId id) {
    const Node& node = graph_.node(id);
    if (!IsElementwise(node)) return;
    ValueId source = kNoValue;
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || graph_.value(input).constant() != nullptr) continue;
      const ValueId mine = SourceOf(input);
      if (mine == kNoValue || (source != kNoValue && mine != source)) return;
      source = mine;
    }
    if (source == kNoValue) return;
    for (const ValueId input : node.inputs) {
      const Tensor* constant = input == kNoValue ? nullptr : graph_.value(input).constant();
      if (constant != nullptr && !KeepsShape(*constant, source)) return;
    }
    source_[node.outputs[0]] = source;
  }

  // The nodes between `source` and `value` in order. A loop, not a recursion: there may be any number of them.
  std::vector<NodeId> Collect(ValueId value, ValueId source) const {
    std::vector<NodeId> nodes;
    std::unordered_set<NodeId> met, placed;
    std::vector<ValueId> work = {value};
    while (!work.empty()) {
      const ValueId next = work.back();
      const bool is_given = next == source || next == kNoValue || graph_.value(next).constant() != nullptr;
      const NodeId producer = is_given ? kNoNode : graph_.value(next).producer;
      if (is_given || !met.insert(producer).second) {
        work.pop_back();
        if (!is_given && placed.insert(producer).second) nodes.push_back(producer);
        continue;
      }
      const std::vector<ValueId>& inputs = graph_.node(producer).inputs;
      work.insert(work.end(), inputs.rbegin(), inputs.rend());
    }
    return nodes;
  }

  // What `nodes` make of every byte; an undefined tensor if they cannot be computed.
  Tensor Compute(const std::vector<NodeId>& nodes, ValueId source, ValueId result) const {
    Tensor bytes(graph_.value(source).type.dtype, Shape{256});
    for (std::size_t i = 0; i < 256; ++i) static_cast<std::uint8_t*>(bytes.raw())[i] = static_cast<std::uint8_t>(i);
    std::unordered_map<ValueId, Value> values;
    values.emplace(source, Value(std::move(bytes)));
    for (const NodeId id : nodes) {
      const Node& node = graph_.node(id);
      std::vector<Value> inputs;
      for (const ValueId input : node.inputs) {
        if (input == kNoValue) {
          inputs.emplace_back();
        } else if (const Tensor* constant = graph_.value(input).constant()) {
          inputs.emplace_back(constant->count() == 1 ? constant->Reshaped(Shape{}) : *constant);
        } else {
          inputs.push_back(values.at(input));
        }
      }
      values[node.outputs[0]] = ops::EvaluateNode(graph_, node, registry_, inputs)[0];
    }
    return values.at(result).tensor();
  }

  bool IsIdentity(const Tensor& table, ValueId source) const {
    if (table.dtype() != graph_.value(source).type.dtype) return false;
    for (std::size_t i = 0; i < 256; ++i)
      if (static_cast<const std::uint8_t*>(table.raw())[i] != i) return false;
    return true;
  }

  bool OnlyRounds(const std::vector<NodeId>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) { return IsQuantize(graph_.node(id)) || IsDequantize(graph_.node(id)); });
  }

  // What it quantizes is made element by element, from something that was dequantized.
  bool IsFunction(const Node& quantize) const {
    const NodeId producer = graph_.value(quantize.inputs[0]).producer;
    if (producer == kNoNode || !IsElementwise(graph_.node(producer))) return false;
    ValueId only = kNoValue;
    for (const ValueId input : graph_.node(producer).inputs) {
      if (input == kNoValue || graph_.value(input).constant() != nullptr) continue;
      if (only != kNoValue && only != input) return false;
      only = input;
    }
    return only != kNoValue && (DequantizedFrom(graph_, only) || source_.count(only) != 0);
  }

  // A QuantizeLinear whose result has a source.
  bool Fuse(NodeId id) {
    if (graph_.node(id).erased || !IsQuantize(graph_.node(id))) return false;
    const ValueId result = graph_.node(id).outputs[0];
    const auto found = source_.find(result);
    if (found == source_.end() && IsFunction(graph_.node(id)))
      return context_.No(graph_, id,
                         "what it quantizes depends on a constant that is not a single number, or on a "
                         "quantization with several scales");
    if (found == source_.end() || graph_.UseCount(result) == 0) return false;
    const ValueId source = found->second;
    const std::vector<NodeId> nodes = Collect(result, source);
    for (const NodeId node : nodes)
      if (graph_.node(node).provider != graph_.node(id).provider)
        return context_.No(graph_, id, Describe(graph_, graph_.node(node)), " runs on another provider");
    if (context_.clean_quantization && OnlyRounds(nodes))
      return context_.No(graph_, id, "'session.enable_quant_qdq_cleanup' is 1: pairs that only round go");
    const Tensor table = Compute(nodes, source, result);
    if (table.count() != 256) return context_.No(graph_, id, "its function does not give a table of 256 results");
    Rewrite rewrite(graph_, registry_, id);
    if (IsIdentity(table, source) && !graph_.value(result).is_output) {
      rewrite.Replace(result, source);
    } else {
      rewrite.Replace(result, rewrite.Add("ai.sardonyx", "Lookup8", {source, graph_.AddConstant("table", table)}));
    }
    return true;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
  std::unordered_map<ValueId, ValueId> source_;  // of values that are made from one 8-bit tensor element by element
};

bool FuseLookup(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return LookupFuser(each, context).Run(); });
}

}  // namespace

constinit const Pass kFuseLookup = {.name = "fuse_lookup", .level = Level::kExtended, .run = FuseLookup};

}  // namespace sardonyx::optimizer
