// ir/text_builder.cpp - builds a graph from parsed declarations and from nodes whose values are given by name.
#include <utility>

#include "ir/text_parser.h"
#include "ir/verify.h"

namespace sardonyx {

ValueId TextParser::Declare(Graph& graph, const std::string& name, std::size_t at) {
  if (name.empty()) lexer_.FailAt(at, "expected a value with a name, found an empty name");
  if (graph.Find(name)) {
    lexer_.FailAt(at,
                  "expected each value of graph '" + graph.name + "' to be defined once, found '" + name + "' again");
  }
  return graph.AddValue(name);
}

void TextParser::AddInitializer(Graph& graph, ValueId value, Tensor data) const {
  auto initializer = std::make_shared<Initializer>();
  initializer->tensor = std::move(data);
  // Before IR version 4 every initializer had to be an input too, and none could be overridden.
  if (graph.value(value).is_input && ir_version_ >= 4) initializer->kind = Initializer::Kind::kInputDefault;
  graph.SetInitializer(value, std::move(initializer));
}

// The value that a name stands for; in a subgraph one of the enclosing graph if there is none here.
ValueId TextParser::Resolve(Graph& graph, const ValueName& use, Place place) {
  if (const std::optional<ValueId> known = graph.Find(use.name)) return *known;
  if (place == Place::kSubgraph && !use.name.empty()) return graph.AddCaptured(use.name);
  std::vector<std::string> names;
  for (const ValueInfo& value : graph.values) names.push_back(value.name);
  const std::string closest = ClosestName(use.name, names);
  lexer_.FailAt(use.at, "expected the name of a value of graph '" + graph.name + "', found '" + use.name + "'" +
                            (closest.empty() ? "" : "; did you mean '" + closest + "'?"));
}

Graph TextParser::Build(GraphParts parts, Place place) {
  Graph graph;
  graph.name = std::move(parts.name);
  for (Declaration& input : parts.inputs) {
    const ValueId id = Declare(graph, input.name, input.at);
    graph.value(id).type = std::move(input.type);
    graph.value(id).is_input = true;
    graph.inputs.push_back(id);
    if (input.data) AddInitializer(graph, id, std::move(*input.data));
  }
  for (Declaration& inner : parts.inner) {
    if (!inner.data) continue;
    const std::optional<ValueId> input = graph.Find(inner.name);  // the default of an input may stand here, too
    const bool is_default = input && graph.value(*input).is_input && !graph.value(*input).initializer;
    const ValueId id = is_default ? *input : Declare(graph, inner.name, inner.at);
    if (!is_default) graph.value(id).type = std::move(inner.type);
    AddInitializer(graph, id, std::move(*inner.data));
  }
  for (NamedNode& named : parts.nodes) {
    for (const ValueName& output : named.outputs) {
      named.node.outputs.push_back(output.name.empty() ? kNoValue : Declare(graph, output.name, output.at));
    }
  }
  for (NamedNode& named : parts.nodes) {
    for (const ValueName& input : named.inputs) {
      named.node.inputs.push_back(input.name.empty() ? kNoValue : Resolve(graph, input, place));
    }
    graph.AddNode(std::move(named.node));
    if (place == Place::kMain && !graph.captures.empty()) {
      const std::string& name = graph.value(graph.captures.front().inner).name;
      lexer_.FailAt(named.at, "expected the subgraphs of this node to use values of graph '" + graph.name +
                                  "' or their own, found '" + name + "'");
    }
  }
  for (Declaration& output : parts.outputs) {
    const ValueId id = Resolve(graph, {output.name, output.at}, place);
    if (graph.value(id).type.is_none()) graph.value(id).type = std::move(output.type);
    graph.AddOutput(id);
  }
  for (Declaration& inner : parts.inner) {
    const std::optional<ValueId> id = graph.Find(inner.name);
    if (id && graph.value(*id).type.is_none()) graph.value(*id).type = std::move(inner.type);
  }
  graph.SortTopologically();
  if (place == Place::kMain) Verify(graph);
  return graph;
}

}  // namespace sardonyx
