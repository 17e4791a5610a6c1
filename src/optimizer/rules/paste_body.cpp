// optimizer/rules/paste_body.cpp - copies the nodes of a body into the graph around it.
#include "optimizer/rules/paste_body.h"

#include "ir/rename_captures.h"

namespace sardonyx::optimizer {

std::vector<ValueId> PasteBody(Graph& graph, const std::string& prefix, const Graph& body,
                               std::span<const ValueId> inputs) {
  std::vector<ValueId> mapped(body.values.size(), kNoValue);
  NewNames renamed;
  for (std::size_t i = 0; i < body.inputs.size(); ++i) mapped[body.inputs[i]] = inputs[i];
  for (const Capture& capture : body.captures) mapped[capture.inner] = capture.outer;
  for (ValueId id = 0; id < body.values.size(); ++id) {
    const ValueInfo& info = body.value(id);
    const bool lives = info.producer != kNoNode || info.initializer != nullptr;
    if (mapped[id] == kNoValue && lives) {
      mapped[id] = graph.AddValue(graph.FreshName(prefix + "/" + info.name), info.type);
      if (info.initializer) graph.SetInitializer(mapped[id], info.initializer);
    }
    if (mapped[id] != kNoValue) renamed[info.name] = graph.value(mapped[id]).name;
  }
  for (const NodeId id : body.order) {
    Node node = body.node(id);
    for (ValueId& input : node.inputs) input = input == kNoValue ? kNoValue : mapped[input];
    for (ValueId& output : node.outputs) output = output == kNoValue ? kNoValue : mapped[output];
    for (Graph* inner : node.Subgraphs()) RenameCaptures(*inner, renamed);
    node.name = node.name.empty() ? prefix : prefix + "/" + node.name;
    graph.AddNode(std::move(node));
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : body.outputs) outputs.push_back(mapped[output]);
  return outputs;
}

}  // namespace sardonyx::optimizer
