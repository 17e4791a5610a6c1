// planner/context_graph.cpp - puts context nodes, or the nodes of a group, in the place of fused nodes.
#include "planner/context_graph.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "ir/compact.h"

namespace sardonyx::planner {
namespace {

using providers::ContextNode;

class Writer {
 public:
  explicit Writer(const providers::ProviderSet& set) : set_(set) {}

  void Run(Graph& graph) const {
    for (const NodeId id : std::vector<NodeId>(graph.order)) {
      Node& node = graph.node(id);
      const bool fused = !node.provider.empty() && node.domain == node.provider && set_.compiled.contains(node.op_type);
      if (!fused) {
        node.provider.clear();
        node.provider_note.clear();
        for (Graph* body : node.Subgraphs()) Run(*body);
        if (!node.Subgraphs().empty()) graph.RefreshCaptures(id);
        continue;
      }
      const Node replaced = node;
      graph.EraseNode(id);
      if (const auto context = set_.contexts.find(replaced.op_type); context != set_.contexts.end()) {
        AddContext(graph, replaced, context->second);
      } else {
        AddMembers(graph, replaced);
      }
    }
    graph.SortTopologically();
  }

 private:
  static void AddContext(Graph& graph, const Node& fused, const ContextNode& context) {
    const auto find = [&](const std::string& name, const std::vector<ValueId>& among, const char* what) {
      const auto id = name.empty() ? std::nullopt : graph.Find(name);
      if (name.empty()) return kNoValue;
      if (!id || std::find(among.begin(), among.end(), *id) == among.end()) {
        Fail(Code::kEpFail, fused.provider, ": OrtEp::Compile: the ", context.node.op_type, " node '",
             context.node.name, "': expected the ", what, "s of node '", fused.name, "', found '", name, "'");
      }
      return *id;
    };
    Node node = context.node;
    node.since_version = 1;
    for (const std::string& input : context.inputs) node.inputs.push_back(find(input, fused.inputs, "input"));
    for (const std::string& output : context.outputs) node.outputs.push_back(find(output, fused.outputs, "output"));
    for (const ValueId output : fused.outputs) {
      if (output == kNoValue || std::count(node.outputs.begin(), node.outputs.end(), output) != 0) continue;
      Fail(Code::kEpFail, fused.provider, ": OrtEp::Compile: the ", context.node.op_type, " node '", context.node.name,
           "' does not make '", graph.value(output).name, "', an output of node '", fused.name, "'");
    }
    graph.AddNode(std::move(node));
  }

  // Values inside the group still stand in the graph, under their names.
  static void AddMembers(Graph& graph, const Node& fused) {
    const Graph& body = *fused.Subgraphs().front();
    std::unordered_map<ValueId, ValueId> outer;
    const auto pair = [&](const std::vector<ValueId>& inner, const std::vector<ValueId>& places) {
      std::size_t next = 0;  // the body has those that are not missing
      for (const ValueId place : places)
        if (place != kNoValue && next < inner.size()) outer[inner[next++]] = place;
    };
    pair(body.inputs, fused.inputs);
    pair(body.outputs, fused.outputs);
    const auto find = [&](ValueId inner) {
      if (inner == kNoValue) return kNoValue;
      const auto known = outer.find(inner);
      if (known != outer.end()) return known->second;
      const ValueInfo& value = body.value(inner);
      const auto same = graph.Find(value.name);
      return outer[inner] = same ? *same : graph.AddValue(value.name, value.type);
    };
    for (const NodeId id : body.order) {
      Node node = body.node(id);
      node.provider.clear();
      node.provider_note.clear();
      for (ValueId& input : node.inputs) input = find(input);
      for (ValueId& output : node.outputs) output = find(output);
      graph.AddNode(std::move(node));
    }
  }

  const providers::ProviderSet& set_;
};

}  // namespace

Graph ContextGraph(const Graph& graph, const providers::ProviderSet& set) {
  Graph written = graph;
  Writer(set).Run(written);
  return Compacted(std::move(written));
}

}  // namespace sardonyx::planner
