// ir/verify.cpp - checks a graph's structure.
#include "ir/verify.h"

#include <algorithm>
#include <type_traits>

#include "base/error.h"

namespace sardonyx {
namespace {

// A part of a message that is only made when the check fails: a graph of thousands of nodes is verified several times
// while a session is created.
template <typename Part>
decltype(auto) Said(const Part& part) {
  if constexpr (std::is_invocable_v<const Part&>) {
    return part();
  } else {
    return (part);
  }
}

template <typename... Parts>
void Expect(bool fact, const Parts&... parts) {
  if (!fact) Fail(Code::kInvalidGraph, Said(parts)...);
}

class Verifier {
 public:
  // `outer` is the graph that holds the node whose subgraph this is; null for the graph that Verify was called with.
  Verifier(const Graph& graph, const Graph* outer) : graph_(graph), outer_(outer) {}

  void Run() {
    CheckValues();
    CheckNodes();
    CheckOutputs();
    CheckUses();
    CheckCaptures();
  }

 private:
  const std::string& NameOf(ValueId id) const { return graph_.values[id].name; }

  void CheckValues() {
    std::vector<bool> listed(graph_.values.size(), false);
    for (const ValueId id : graph_.inputs) {
      Expect(id < graph_.values.size(), "expected inputs of the graph among its ", graph_.values.size(),
             " values, found value ", id);
      Expect(!listed[id], "expected each input of the graph once, found '", NameOf(id), "' twice");
      listed[id] = true;
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      const ValueInfo& value = graph_.values[id];
      const std::optional<ValueId> found = graph_.Find(value.name);
      Expect(found && *found == id, "expected one value for the name '", value.name, "', found ",
             found ? "two" : "one that is not registered");
      Expect(value.is_input == listed[id], "value '", value.name, "': expected is_input to be ",
             listed[id] ? "true" : "false", " as the graph lists its inputs, found ",
             value.is_input ? "true" : "false");
      const bool made = value.producer != kNoNode;
      Expect(made + value.is_input + value.is_captured <= 1 && !(made && value.initializer), "value '", value.name,
             "': expected one origin (input, node, initializer or outer graph), found several");
      if (!made) continue;
      Expect(value.producer < graph_.nodes.size() && !graph_.nodes[value.producer].erased, "value '", value.name,
             "': expected a producer in the graph, found node ", value.producer);
    }
    CheckOrigins();
  }

  // Each value that a node makes is among its outputs once.
  void CheckOrigins() {
    std::vector<std::size_t> found(graph_.values.size(), 0);
    for (const Node& node : graph_.nodes) {
      if (node.erased) continue;
      for (const ValueId id : node.outputs)
        if (id < found.size() && graph_.values[id].producer == node.id) ++found[id];
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      const ValueInfo& value = graph_.values[id];
      if (value.producer == kNoNode || found[id] == 1) continue;
      Fail(Code::kInvalidGraph, Describe(graph_, graph_.nodes[value.producer]), ": expected '", value.name,
           "' among its outputs once, found it ", found[id], " times");
    }
  }

  // How a message names a node; a function, for Said.
  auto NamesNode(NodeId id) const {
    return [this, id] { return Describe(graph_, graph_.nodes[id]); };
  }

  template <typename Reader>
  void CheckDefined(ValueId id, const Reader& reader, const std::vector<bool>& placed) {
    Expect(id < graph_.values.size(), reader, ": expected one of the ", graph_.values.size(),
           " values of the graph, found value ", id);
    const ValueInfo& value = graph_.values[id];
    if (value.producer != kNoNode) {
      Expect(placed[value.producer], reader, ": expected inputs made before it, found '", value.name,
             "' made later by ", NamesNode(value.producer));
      return;
    }
    if (!value.is_input && !value.initializer && !value.is_captured) FailUndefined(Said(reader), value.name);
  }

  [[noreturn]] void FailUndefined(const std::string& reader, const std::string& name) const {
    std::vector<std::string> names;
    for (const ValueInfo& value : graph_.values) {
      if (value.producer != kNoNode || value.is_input || value.initializer) names.push_back(value.name);
    }
    const std::string closest = ClosestName(name, names);
    Fail(Code::kInvalidGraph, reader, ": expected '", name, "' to be defined, found no node, input or initializer of ",
         "this name", closest.empty() ? "" : "; did you mean '" + closest + "'?");
  }

  void CheckNodes() {
    std::vector<bool> placed(graph_.nodes.size(), false);
    for (const NodeId id : graph_.order) {
      Expect(id < graph_.nodes.size(), "expected nodes of the graph in its order, found node ", id);
      const Node& node = graph_.nodes[id];
      const auto text = NamesNode(id);
      Expect(node.id == id && !node.erased, text,
             ": expected the order to hold nodes that are not erased under their own ids, found id ", id);
      Expect(!placed[id], text, ": expected each node once in the order, found it twice");
      for (const std::vector<ValueId>* list : {&node.inputs, &node.implicit_inputs}) {
        for (const ValueId input : *list) {
          if (input != kNoValue) CheckDefined(input, text, placed);
        }
      }
      for (const ValueId output : node.outputs) {
        if (output == kNoValue) continue;
        Expect(output < graph_.values.size() && graph_.values[output].producer == id, text,
               ": expected each output to have this node as its producer, found ",
               [&] { return output < graph_.values.size() ? "'" + NameOf(output) + "'" : std::to_string(output); });
      }
      placed[id] = true;
    }
    for (const Node& node : graph_.nodes) {
      Expect(node.erased || placed[node.id], NamesNode(node.id),
             ": expected the node in the order of its graph, found it missing");
    }
    placed_ = std::move(placed);
  }

  void CheckOutputs() {
    std::vector<bool> listed(graph_.values.size(), false);
    for (const ValueId id : graph_.outputs) {
      CheckDefined(
          id, [this] { return "output of graph '" + graph_.name + "'"; }, placed_);
      listed[id] = true;
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      Expect(graph_.values[id].is_output == listed[id], "value '", NameOf(id), "': expected is_output to be ",
             listed[id] ? "true" : "false", " as the graph lists its outputs, found ",
             graph_.values[id].is_output ? "true" : "false");
    }
  }

  // The uses that nodes state and the consumers that values state are the same pairs, as often.
  void CheckUses() {
    std::vector<std::pair<ValueId, NodeId>> uses, consumers;
    for (const NodeId id : graph_.order) {
      for (const std::vector<ValueId>* list : {&graph_.nodes[id].inputs, &graph_.nodes[id].implicit_inputs}) {
        for (const ValueId input : *list) {
          if (input != kNoValue) uses.emplace_back(input, id);
        }
      }
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      for (const NodeId consumer : graph_.values[id].consumers) consumers.emplace_back(id, consumer);
    }
    std::sort(uses.begin(), uses.end());
    std::sort(consumers.begin(), consumers.end());
    if (uses == consumers) return;
    const auto [use, consumer] = std::mismatch(uses.begin(), uses.end(), consumers.begin(), consumers.end());
    const bool lacking = consumer == consumers.end() || (use != uses.end() && *use < *consumer);
    const auto& [value, node] = lacking ? *use : *consumer;
    Fail(Code::kInvalidGraph, "value '", NameOf(value), "': expected each use once among its consumers, found node ",
         node, lacking ? " missing" : " too often");
  }

  void CheckCaptures() {
    std::vector<bool> captured(graph_.values.size(), false);
    for (const Capture& capture : graph_.captures) {
      Expect(capture.inner < graph_.values.size() && graph_.values[capture.inner].is_captured,
             "expected captures to name captured values, found value ", capture.inner);
      const std::string& name = NameOf(capture.inner);
      Expect(!captured[capture.inner], "expected each captured value once, found '", name, "' twice");
      captured[capture.inner] = true;
      if (capture.outer == kNoValue && graph_.UseCount(capture.inner) != 0) {
        const std::vector<NodeId>& readers = graph_.values[capture.inner].consumers;
        FailUndefined(
            readers.empty() ? "output of graph '" + graph_.name + "'" : Describe(graph_, graph_.nodes[readers.front()]),
            name);
      }
      if (outer_ == nullptr || capture.outer == kNoValue) continue;
      Expect(capture.outer < outer_->values.size() && outer_->values[capture.outer].name == name, "graph '",
             graph_.name, "': expected '", name, "' to be captured from the outer value of that name, found ", [&] {
               return capture.outer < outer_->values.size() ? "'" + outer_->values[capture.outer].name + "'"
                                                            : "value " + std::to_string(capture.outer);
             });
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      Expect(captured[id] || !graph_.values[id].is_captured || graph_.UseCount(id) == 0, "value '", NameOf(id),
             "': expected it among the captures of its graph, found it missing");
    }
    for (const NodeId id : graph_.order) CheckSubgraphs(graph_.nodes[id]);
  }

  void CheckSubgraphs(const Node& node) {
    std::vector<ValueId> outers;
    for (const Graph* subgraph : node.Subgraphs()) {
      for (const Capture& capture : subgraph->captures) {
        if (subgraph->UseCount(capture.inner) != 0) outers.push_back(capture.outer);
      }
      Verifier(*subgraph, &graph_).Run();
    }
    std::vector<ValueId> implicit = node.implicit_inputs;
    std::sort(outers.begin(), outers.end());
    outers.erase(std::unique(outers.begin(), outers.end()), outers.end());
    std::sort(implicit.begin(), implicit.end());
    Expect(outers == implicit, NamesNode(node.id), ": expected ", outers.size(),
           " implicit inputs, those that its subgraphs capture, found ", implicit.size());
  }

  const Graph& graph_;
  const Graph* outer_;
  std::vector<bool> placed_;
};

}  // namespace

void Verify(const Graph& graph) { Verifier(graph, nullptr).Run(); }

}  // namespace sardonyx
