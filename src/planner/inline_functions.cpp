// planner/inline_functions.cpp - copies function bodies into the graph that calls them.
#include "planner/inline_functions.h"

#include <map>
#include <optional>

#include "base/limits.h"
#include "ir/function_index.h"
#include "ir/rename_captures.h"
#include "ops/infer.h"
#include "ops/schema/schema.h"

namespace sardonyx::planner {
namespace {

using AttributeMap = std::map<std::string, const AttributeValue*, std::less<>>;

std::size_t BytesOf(const Graph& graph);

// Names and constants, which is nearly all that a node takes in a file.
std::size_t BytesOf(const Node& node) {
  std::size_t bytes = node.name.size() + node.op_type.size() + node.domain.size();
  for (const Attribute& attribute : node.attributes) {
    bytes += attribute.name.size();
    if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) bytes += tensor->byte_size();
    if (const auto* box = std::get_if<GraphBox>(&attribute.value)) bytes += BytesOf(**box);
  }
  return bytes;
}

std::size_t BytesOf(const Graph& graph) {
  std::size_t bytes = 0;
  for (const NodeId id : graph.order) bytes += BytesOf(graph.node(id));
  for (const ValueInfo& value : graph.values) {
    bytes += value.name.size();
    if (value.constant() != nullptr) bytes += value.constant()->byte_size();
  }
  return bytes;
}

class Inliner {
 public:
  Inliner(const Model& model, const ops::Registry& registry, const InlineLimits& limits)
      : functions_(model), registry_(registry), limits_(limits) {}

  bool Run(Graph& graph, int depth) {
    bool changed = false, changed_body = false;
    for (const NodeId id : std::vector<NodeId>(graph.order)) {
      CheckTime();
      for (Graph* body : graph.node(id).Subgraphs()) changed_body = Run(*body, depth) || changed_body;
      if (!graph.node(id).Subgraphs().empty()) graph.RefreshCaptures(id);
      if (!graph.node(id).provider.empty()) continue;
      std::optional<Function> standard;
      const Function* function = FunctionOf(graph, graph.node(id), standard);
      if (function == nullptr) continue;
      if (depth >= limits_.depth) {
        Fail(Code::kInvalidGraph, "[", graph.node(id).op_type, "] ", Describe(graph, graph.node(id)),
             ": function calls are nested deeper than ", limits_.depth, "; does '", function->name, "' call itself?");
      }
      Expand(graph, id, *function, depth);
      changed = true;
    }
    if (changed) graph.SortTopologically();
    return changed || changed_body;
  }

 private:
  const Function* FunctionOf(const Graph& graph, const Node& node, std::optional<Function>& standard) const {
    const ops::OpDef* row =
        node.since_version == 0 ? nullptr : registry_.Find(node.domain, node.op_type, node.since_version);
    if (row != nullptr) return nullptr;
    if (const Function* local = functions_.Find(node.domain, node.op_type, node.overload)) return local;
    if (node.since_version == 0) return nullptr;
    const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
    if (schema == nullptr || !schema->has_function_body()) return nullptr;
    const auto opset = graph.OpsetVersion("");
    standard = ops::FunctionBody(
        *schema, opset > 0 && opset < ops::kNewestVersion ? static_cast<int>(opset) : ops::kNewestVersion);
    return standard ? &*standard : nullptr;
  }

  static AttributeMap AttributesOf(const Node& call, const Function& function) {
    AttributeMap map;
    for (const Attribute& attribute : function.attribute_defaults) map[attribute.name] = &attribute.value;
    for (const Attribute& attribute : call.attributes) map[attribute.name] = &attribute.value;
    return map;
  }

  // References take the call's value; one the call does not give falls away, so that the operator's default holds.
  static void Substitute(std::vector<Attribute>& attributes, const AttributeMap& given) {
    std::vector<Attribute> kept;
    for (Attribute& attribute : attributes) {
      if (const auto* reference = std::get_if<AttributeReference>(&attribute.value)) {
        const auto found = given.find(reference->name);
        if (found != given.end()) kept.push_back({attribute.name, *found->second});
        continue;
      }
      if (auto* box = std::get_if<GraphBox>(&attribute.value)) SubstituteIn(**box, given);
      kept.push_back(std::move(attribute));
    }
    attributes = std::move(kept);
  }
  static void SubstituteIn(Graph& graph, const AttributeMap& given) {
    for (const NodeId id : graph.order) Substitute(graph.node(id).attributes, given);
  }

  static void CheckSize(const Graph& graph, const Node& call, std::size_t found, std::size_t limit, const char* unit) {
    if (found > limit)
      Fail(Code::kFail, "[", call.op_type, "] ", Describe(graph, call), ": expected functions that expand to at most ",
           limit, " ", unit, ", found more");
  }

  void Expand(Graph& graph, NodeId call_id, const Function& function, int depth) {
    const Node call = graph.node(call_id);
    Graph body = function.body;
    SubstituteIn(body, AttributesOf(call, function));
    ops::ResolveVersions(body, registry_, functions_);
    if (limits_.nested) Run(body, depth + 1);
    expanded_ += 1 + body.order.size();  // a call of an empty function is work, too
    expanded_bytes_ += BytesOf(body);
    CheckSize(graph, call, expanded_, limits_.nodes, "nodes");
    CheckSize(graph, call, expanded_bytes_, limits_.bytes, "bytes");
    if (call.inputs.size() > body.inputs.size() || call.outputs.size() > body.outputs.size()) {
      Fail(Code::kInvalidGraph, "[", call.op_type, "] ", Describe(graph, call), ": function '", function.name,
           "' takes ", body.inputs.size(), " inputs and gives ", body.outputs.size(), " outputs, found ",
           call.inputs.size(), " and ", call.outputs.size());
    }
    graph.EraseNode(call_id);
    Paste(graph, call, body);
  }

  static void Paste(Graph& graph, const Node& call, const Graph& body) {
    const std::string prefix = call.name.empty() ? call.op_type : call.name;
    std::vector<ValueId> mapped(body.values.size(), kNoValue);
    std::vector<bool> placed(body.values.size(), false);
    NewNames renamed;
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      mapped[body.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : kNoValue;
      placed[body.inputs[i]] = true;
    }
    std::vector<std::pair<ValueId, ValueId>> copies;  // outputs that are an input, or the same value twice
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.outputs[i] == kNoValue) continue;
      if (placed[body.outputs[i]]) {
        copies.emplace_back(mapped[body.outputs[i]], call.outputs[i]);
        continue;
      }
      mapped[body.outputs[i]] = call.outputs[i];
      placed[body.outputs[i]] = true;
    }
    const auto place = [&](ValueId id) {
      if (id == kNoValue) return kNoValue;
      if (!placed[id]) {
        const ValueInfo& info = body.value(id);
        mapped[id] = graph.AddValue(graph.FreshName(prefix + "/" + info.name), info.type);
        if (info.initializer) graph.SetInitializer(mapped[id], info.initializer);
        placed[id] = true;
      }
      if (mapped[id] != kNoValue) renamed[body.value(id).name] = graph.value(mapped[id]).name;
      return mapped[id];
    };
    for (const NodeId id : body.order) {
      Node node = body.node(id);
      for (ValueId& input : node.inputs) input = place(input);
      for (ValueId& output : node.outputs) output = place(output);
      for (const ValueId captured : body.node(id).implicit_inputs) place(captured);
      for (Graph* inner : node.Subgraphs()) RenameCaptures(*inner, renamed);
      while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
      node.name = node.name.empty() ? prefix : prefix + "/" + node.name;
      graph.AddNode(std::move(node));
    }
    for (const auto& [from, to] : copies) {
      Node identity;
      identity.name = prefix;
      identity.op_type = "Identity";
      const auto opset = graph.OpsetVersion("");
      identity.since_version =
          ops::FindSchema("", "Identity", opset > 0 ? static_cast<int>(opset) : ops::kNewestVersion)->since_version;
      identity.inputs = {from};
      identity.outputs = {to};
      graph.AddNode(std::move(identity));
    }
  }

  FunctionIndex functions_;
  const ops::Registry& registry_;
  const InlineLimits& limits_;
  std::size_t expanded_ = 0, expanded_bytes_ = 0;
};

// `to` is a graph before calls were replaced, `from` the same one afterwards: what it had has kept its number.
void CopyTypes(const Graph& from, Graph& to) {
  for (ValueId id = 0; id < to.values.size(); ++id) {
    to.value(id).type = from.value(id).type;
    to.value(id).shape_data = from.value(id).shape_data;
    if (to.value(id).is_captured) to.value(id).initializer = from.value(id).initializer;
  }
  for (const NodeId id : to.order) {
    if (from.node(id).erased) continue;
    const std::vector<const Graph*> inferred = from.node(id).Subgraphs();
    const std::vector<Graph*> bodies = to.node(id).Subgraphs();
    for (std::size_t i = 0; i < bodies.size(); ++i) CopyTypes(*inferred[i], *bodies[i]);
  }
}

}  // namespace

bool InlineFunctions(Graph& graph, const Model& model, const ops::Registry& registry, const InlineLimits& limits) {
  return Inliner(model, registry, limits).Run(graph, 0);
}

void InferThroughCalls(Graph& graph, const Model& model, const ops::Registry& registry,
                       const ops::InferOptions& options) {
  Graph expanded = graph;
  InlineFunctions(expanded, model, registry);
  ops::Infer(expanded, registry, options);
  CopyTypes(expanded, graph);
}

}  // namespace sardonyx::planner
