// optimizer/rules/rewrite.cpp - edits that passes written as functions share.
#include "optimizer/rules/rewrite.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/infer.h"
#include "ops/schema/schema.h"

namespace sardonyx::optimizer {

Rewrite::Rewrite(Graph& graph, const ops::Registry& registry, NodeId origin)
    : graph_(graph), registry_(registry), name_(graph.node(origin).name), provider_(graph.node(origin).provider) {}

ValueId Rewrite::Add(std::string_view domain, std::string_view op_type, std::vector<ValueId> inputs,
                     std::vector<Attribute> attributes) {
  const ops::OpSchema* schema = SchemaFor(graph_, domain, op_type);
  Node node;
  node.domain = domain;
  node.op_type = op_type;
  node.since_version = schema != nullptr ? schema->since_version : 1;
  node.name = name_;
  node.provider = provider_;
  node.inputs = std::move(inputs);
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
  node.attributes = std::move(attributes);
  const ValueId output = graph_.AddValue(graph_.FreshName(op_type));
  node.outputs = {output};
  const NodeId id = graph_.AddNode(std::move(node));
  ops::InferAt(graph_, id, registry_);
  return output;
}

ValueId Rewrite::Ints(const std::vector<std::int64_t>& elements) {
  Tensor tensor(DType::kInt64, Shape{static_cast<std::int64_t>(elements.size())});
  std::copy(elements.begin(), elements.end(), tensor.data<std::int64_t>());
  return graph_.AddConstant("constant", std::move(tensor));
}

ValueId Rewrite::Scalar(DType dtype, double value) {
  std::optional<Tensor> tensor = ScalarTensor(dtype, value);
  if (!tensor) Fail(Code::kFail, "expected a type of numbers for a constant, found ", Name(dtype));
  return graph_.AddConstant("constant", std::move(*tensor));
}

void Rewrite::Replace(ValueId old, ValueId by) {
  if (old == by) return;
  graph_.ReplaceUses(old, by);
  if (graph_.value(old).is_output) {
    const ValueInfo& source = graph_.value(by);
    const NodeId producer = source.producer;
    if (producer != kNoNode && !source.is_output) {
      const auto& made = graph_.node(producer).outputs;
      const auto index = static_cast<std::size_t>(std::find(made.begin(), made.end(), by) - made.begin());
      const NodeId former = graph_.value(old).producer;
      const std::vector<ValueId> read = graph_.node(former).inputs;
      graph_.MoveOutput(producer, index, old);
      graph_.ReplaceUses(by, old);
      const auto& left = graph_.node(former).outputs;
      if (std::all_of(left.begin(), left.end(), [&](ValueId v) { return v == kNoValue || graph_.UseCount(v) == 0; })) {
        graph_.EraseNode(former);
        for (const ValueId input : read) DropUnused(input);
      }
      return;
    }
    const NodeId former = graph_.value(old).producer;
    const auto& made = graph_.node(former).outputs;
    const auto index = static_cast<std::size_t>(std::find(made.begin(), made.end(), old) - made.begin());
    const ValueId stale = graph_.AddValue(graph_.FreshName(graph_.value(old).name), graph_.value(old).type);
    graph_.MoveOutput(former, index, stale);
    Node identity;
    identity.op_type = "Identity";
    identity.name = name_;
    identity.since_version = SchemaFor(graph_, "", "Identity")->since_version;
    identity.inputs = {by};
    identity.outputs = {old};
    identity.provider = provider_;
    graph_.AddNode(std::move(identity));
    return DropUnused(stale);
  }
  DropUnused(old);
}

void Rewrite::DropUnused(ValueId value) {
  std::vector<NodeId> unused;
  std::unordered_set<NodeId> met;
  std::unordered_map<ValueId, std::size_t> dropped;  // uses by nodes of `unused`
  const auto is_used = [&](ValueId id) {
    if (id == kNoValue) return false;
    const auto found = dropped.find(id);
    return graph_.UseCount(id) != (found == dropped.end() ? 0 : found->second);
  };
  std::vector<ValueId> work = {value};
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNoValue || is_used(id)) continue;
    const NodeId producer = graph_.value(id).producer;
    if (producer == kNoNode || met.count(producer) != 0) continue;
    const Node& node = graph_.node(producer);
    if (std::any_of(node.outputs.begin(), node.outputs.end(), is_used)) continue;
    for (const ValueId input : node.inputs) ++dropped[input];
    for (const ValueId input : node.implicit_inputs) ++dropped[input];
    work.insert(work.end(), node.inputs.begin(), node.inputs.end());
    unused.push_back(producer);
    met.insert(producer);
  }
  graph_.EraseNodes(unused);  // all at once: each time, what lies behind them is moved
}

namespace {

// Calls `visit(node)` in order. A hundred passes walk the nodes, each of which lies elsewhere in memory: they are
// fetched ahead.
template <typename Visit>
void Walk(const Graph& graph, const Visit& visit) {
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < graph.order.size(); ++i) {
    if (i + kAhead < graph.order.size()) {
      const Node& later = graph.node(graph.order[i + kAhead]);
      __builtin_prefetch(&later.attributes);
      __builtin_prefetch(&later.provider);
    }
    visit(graph.node(graph.order[i]));
  }
}

}  // namespace

std::vector<NodeId> OwnNodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  nodes.reserve(graph.order.size());
  Walk(graph, [&](const Node& node) {
    if (!IsForeign(node)) nodes.push_back(node.id);
  });
  return nodes;
}

std::vector<NodeId> NodesWithBodies(const Graph& graph) {
  std::vector<NodeId> nodes;
  Walk(graph, [&](const Node& node) {
    if (!node.attributes.empty() && !IsForeign(node) && !node.Subgraphs().empty()) nodes.push_back(node.id);
  });
  return nodes;
}

const ops::OpSchema* SchemaFor(const Graph& graph, std::string_view domain, std::string_view op_type) {
  const std::int64_t opset = graph.OpsetVersion(domain);
  return opset > 0 ? ops::FindSchema(domain, op_type, static_cast<int>(opset)) : ops::FindSchema(domain, op_type);
}

bool SameDims(const Type& a, const Type& b) {
  return a.is_tensor() && b.is_tensor() && a.has_rank && b.has_rank &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), SameDim);
}

bool CanTakePlace(const Graph& graph, ValueId old, ValueId by) {
  const ValueInfo& source = graph.value(by);
  return !graph.value(old).is_output || (source.producer != kNoNode && !source.is_output);
}

void TakePlace(Graph& graph, ValueId old, ValueId by) {
  if (!graph.value(old).is_output) return graph.ReplaceUses(old, by);
  const NodeId producer = graph.value(by).producer;
  const auto& made = graph.node(producer).outputs;
  const auto index = static_cast<std::size_t>(std::find(made.begin(), made.end(), by) - made.begin());
  const Type type = graph.value(by).type;
  graph.MoveOutput(producer, index, old);
  graph.ReplaceUses(by, old);
  if (graph.value(old).type.is_none()) graph.value(old).type = type;
}

bool TakeOut(Graph& graph, NodeId id) {
  const ValueId input = graph.node(id).inputs[0], output = graph.node(id).outputs[0];
  if (!CanTakePlace(graph, output, input)) return false;
  graph.EraseNode(id);
  TakePlace(graph, output, input);
  return true;
}

bool HasOperator(const ops::Registry& registry, std::string_view domain, std::string_view op_type) {
  const ops::OpSchema* schema = ops::FindSchema(domain, op_type);
  return registry.Find(domain, op_type, schema != nullptr ? schema->since_version : 1) != nullptr;
}

const Node* ProducerOf(const Graph& graph, ValueId value, std::string_view op_type) {
  if (value == kNoValue || graph.value(value).producer == kNoNode) return nullptr;
  const Node& node = graph.node(graph.value(value).producer);
  return Is(node, op_type) ? &node : nullptr;
}

NodeId SoleReader(const Graph& graph, ValueId value) {
  const ValueInfo& info = graph.value(value);
  return info.is_output || info.consumers.size() != 1 ? kNoNode : info.consumers[0];
}

std::optional<Tensor> ScalarTensor(DType dtype, double value) {
  std::optional<Tensor> tensor;
  VisitDType<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
             std::uint16_t, std::uint32_t, std::uint64_t>(dtype, [&]<typename T>() {
    tensor.emplace(dtype, Shape{});
    if constexpr (std::is_arithmetic_v<T>) {
      *tensor->data<T>() = static_cast<T>(value);
    } else {
      *tensor->data<T>() = T(static_cast<float>(value));
    }
  });
  return tensor;
}

std::optional<double> ScalarOf(const Graph& graph, ValueId value) {
  const Tensor* tensor = value == kNoValue ? nullptr : graph.value(value).constant();
  if (tensor == nullptr || tensor->count() != 1) return std::nullopt;
  std::optional<double> number;
  VisitDType<float, double, Half, BFloat16, std::int32_t, std::int64_t>(tensor->dtype(), [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T>) {
      number = static_cast<double>(*tensor->data<T>());
    } else {
      number = static_cast<double>(static_cast<float>(*tensor->data<T>()));
    }
  });
  return number;
}

std::optional<std::vector<std::int64_t>> IntsOf(const Graph& graph, ValueId value) {
  const Tensor* tensor = value == kNoValue ? nullptr : graph.value(value).constant();
  if (tensor == nullptr || tensor->dtype() != DType::kInt64) return std::nullopt;
  const auto span = tensor->span<std::int64_t>();
  return std::vector<std::int64_t>(span.begin(), span.end());
}

}  // namespace sardonyx::optimizer
