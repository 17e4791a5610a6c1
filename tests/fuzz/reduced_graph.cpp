// tests/fuzz/reduced_graph.cpp - leaves out outputs and nodes while the fault remains; see reduced_graph.h.
#include "fuzz/reduced_graph.h"

#include <algorithm>
#include <unordered_map>

#include "ops/evaluate.h"

namespace sardonyx::fuzz {
namespace {

using Values = std::unordered_map<std::string, Value>;

// Every value of the graph by name.
Values Compute(const RandomGraph& made, const ops::Registry& registry) {
  const Graph& graph = made.model->graph;
  Values values;
  for (const auto& [name, value] : made.inputs) values[name] = value;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    std::vector<Value> arguments;
    for (const ValueId input : node.inputs) {
      const Tensor* constant = input == kNoValue ? nullptr : graph.value(input).constant();
      arguments.push_back(input == kNoValue     ? Value()
                          : constant != nullptr ? Value(*constant)
                                                : values.at(graph.value(input).name));
    }
    const std::vector<Value> results = ops::EvaluateNode(graph, node, registry, arguments);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) values[graph.value(node.outputs[i]).name] = results[i];
  }
  return values;
}

Type TypeOf(const Value& value) { return Type::TensorOf(value.tensor().dtype(), value.tensor().shape()); }

// The part of `from` that its outputs `outputs` need, with the outputs of `cut` as inputs.
RandomGraph Part(const RandomGraph& from, const Values& values, const std::vector<std::string>& outputs, NodeId cut) {
  const Graph& old = from.model->graph;
  std::vector<bool> needed(old.values.size(), false);
  for (const std::string& name : outputs) needed[*old.Find(name)] = true;
  std::vector<NodeId> nodes;
  for (std::size_t i = old.order.size(); i-- > 0;) {
    const Node& node = old.node(old.order[i]);
    const bool used =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return id != kNoValue && needed[id]; });
    if (!used || old.order[i] == cut) continue;
    nodes.insert(nodes.begin(), old.order[i]);
    for (const ValueId id : node.inputs)
      if (id != kNoValue) needed[id] = true;
  }
  RandomGraph part;
  part.seed = from.seed;
  part.discontinuous = from.discontinuous;
  part.model = std::make_shared<Model>();
  part.model->ir_version = from.model->ir_version;
  part.model->opset_imports = from.model->opset_imports;
  Graph& graph = part.model->graph;
  graph.name = old.name;
  graph.opset_imports = old.opset_imports;
  std::unordered_map<ValueId, ValueId> placed;
  for (ValueId id = 0; id < old.values.size(); ++id) {
    const ValueInfo& value = old.value(id);
    const bool is_cut = value.producer != kNoNode && value.producer == cut;
    if (!needed[id] || (value.producer != kNoNode && !is_cut)) continue;
    if (value.constant() != nullptr) {
      placed[id] = graph.AddConstant(value.name, *value.constant());
      continue;
    }
    if (is_cut && !values.at(value.name).is_tensor()) continue;
    placed[id] = graph.AddInput(value.name, is_cut ? TypeOf(values.at(value.name)) : value.type);
    part.inputs.emplace_back(value.name, values.at(value.name));
  }
  for (const NodeId id : nodes) {
    Node node = old.node(id);
    for (ValueId& input : node.inputs)
      if (input != kNoValue) input = placed.at(input);
    for (ValueId& output : node.outputs)
      if (output != kNoValue) output = placed[output] = graph.AddValue(old.value(output).name);
    graph.AddNode(std::move(node));
  }
  for (const std::string& name : outputs) {
    const ValueId id = placed.at(*old.Find(name));
    if (graph.value(id).producer == kNoNode) continue;
    graph.AddOutput(id);
    part.outputs.push_back(name);
    part.results.push_back(values.at(name));
  }
  return part;
}

}  // namespace

RandomGraph Reduced(const RandomGraph& graph, const ops::Registry& registry,
                    const std::function<bool(const RandomGraph&)>& fails) {
  RandomGraph best = graph;
  const Values values = Compute(graph, registry);
  const auto take = [&](const std::vector<std::string>& outputs, NodeId cut) {
    try {
      RandomGraph part = Part(best, values, outputs, cut);
      if (part.outputs.empty() || !fails(part)) return false;
      best = std::move(part);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  for (std::size_t i = 0; i < best.outputs.size() && best.outputs.size() > 1;) {
    std::vector<std::string> fewer = best.outputs;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (!take(fewer, kNoNode)) ++i;
  }
  // From the inputs on: what is left is what stands behind them.
  for (bool again = true; again;) {
    again = false;
    for (const NodeId id : std::vector<NodeId>(best.model->graph.order)) {
      if (best.model->graph.order.size() > 1 && take(best.outputs, id)) {
        again = true;
        break;
      }
    }
  }
  // From the outputs on: an inner value as the only output.
  for (bool again = true; again;) {
    again = false;
    const Graph& now = best.model->graph;
    for (const NodeId id : now.order) {
      const ValueId output = now.node(id).outputs[0];
      if (output == kNoValue || now.value(output).is_output || !values.at(now.value(output).name).is_tensor()) continue;
      if (take({now.value(output).name}, kNoNode)) {
        again = true;
        break;
      }
    }
  }
  return best;
}

}  // namespace sardonyx::fuzz
