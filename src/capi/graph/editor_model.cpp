// capi/graph/editor_model.cpp - the model that the parts given to the model editor make.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "capi/graph/editor.h"
#include "ir/domain.h"
#include "ir/verify.h"

namespace sardonyx::capi {
namespace {

class Builder {
 public:
  Builder(Graph& graph, const OrtGraph& parts) : graph_(graph), parts_(parts) {}

  void Build() {
    if (!parts_.inputs.empty()) ReplaceInputs();
    for (const OrtValueInfo* value : parts_.initializers) AddInitializer(*value);
    for (const OrtNode* node : parts_.nodes) AddNode(*node);
    if (!parts_.outputs.empty()) ReplaceOutputs();
    graph_.SortTopologically();
    Verify(graph_);
  }

 private:
  static Type TypeOf(const OrtValueInfo& value) { return value.type != nullptr ? FromTypeInfo(*value.type) : Type{}; }

  ValueId Named(const OrtValueInfo& value) {
    const std::optional<ValueId> known = graph_.Find(value.name);
    if (!known) return graph_.AddValue(value.name, TypeOf(value));
    ValueInfo& info = graph_.value(*known);
    if (info.type.is_none()) info.type = TypeOf(value);
    return *known;
  }

  void ReplaceInputs() {
    const std::vector<ValueId> former = std::exchange(graph_.inputs, {});
    for (const ValueId id : former) graph_.value(id).is_input = false;
    for (const OrtValueInfo* input : parts_.inputs) {
      const ValueId id = Named(*input);
      ValueInfo& value = graph_.value(id);
      if (value.producer != kNoNode) {
        Fail(Code::kInvalidGraph, "input '", input->name, "': expected a value that no node makes, found one of ",
             Describe(graph_, graph_.node(value.producer)));
      }
      value.type = TypeOf(*input);
      value.is_input = true;
      graph_.inputs.push_back(id);
      SetKind(id);
    }
    for (const ValueId id : former) SetKind(id);
  }

  // An initializer is the default of an input, or a constant.
  void SetKind(ValueId id) {
    const ValueInfo& value = graph_.value(id);
    if (value.initializer == nullptr) return;
    auto initializer = std::make_shared<Initializer>(*value.initializer);
    initializer->kind = value.is_input ? Initializer::Kind::kInputDefault : Initializer::Kind::kConstant;
    graph_.SetInitializer(id, std::move(initializer));
  }

  void ReplaceOutputs() {
    for (const ValueId id : graph_.outputs) graph_.value(id).is_output = false;
    graph_.outputs.clear();
    for (const OrtValueInfo* output : parts_.outputs) graph_.AddOutput(Named(*output));
  }

  void AddInitializer(const OrtValueInfo& part) {
    const ValueId id = Named(part);
    auto initializer = std::make_shared<Initializer>();
    initializer->tensor = part.initializer.tensor();
    graph_.SetInitializer(id, std::move(initializer));
    SetKind(id);
  }

  void AddNode(const OrtNode& part) {
    Node node;
    node.name = part.name;
    node.op_type = part.op_type;
    node.domain = part.domain;
    for (const OrtValueInfo* input : part.inputs) node.inputs.push_back(input != nullptr ? Named(*input) : kNoValue);
    for (const OrtValueInfo* output : part.outputs) {
      node.outputs.push_back(output != nullptr ? Named(*output) : kNoValue);
      if (output != nullptr) CheckFree(part, graph_.value(node.outputs.back()));
    }
    for (const Attribute* attribute : part.attributes) node.attributes.push_back(*attribute);
    graph_.AddNode(std::move(node));
  }

  void CheckFree(const OrtNode& part, const ValueInfo& value) const {
    if (value.producer == kNoNode && !value.is_input && value.initializer == nullptr) return;
    Fail(Code::kInvalidGraph, "node '", part.name, "' (", part.op_type, "): expected a new name for its output '",
         value.name, "', found ",
         value.producer != kNoNode ? "an output of " + Describe(graph_, graph_.node(value.producer))
                                   : std::string(value.is_input ? "an input" : "an initializer"));
  }

  Graph& graph_;
  const OrtGraph& parts_;
};

const OrtGraph& GraphOf(const OrtModel& parts) {
  if (parts.graph == nullptr) Fail(Code::kInvalidArgument, "expected a model with a graph: call AddGraphToModel");
  return *parts.graph;
}

// Every graph of a model states the model's opsets.
void SetOpsets(Graph& graph, const std::vector<OpsetImport>& opsets) {
  graph.opset_imports = opsets;
  for (Node& node : graph.nodes)
    for (Graph* body : node.Subgraphs()) SetOpsets(*body, opsets);
}

}  // namespace

Model MakeModel(const OrtModel& parts) {
  const OrtGraph& graph = GraphOf(parts);
  const auto is_onnx = [](const OpsetImport& opset) { return opset.domain.empty(); };
  if (std::none_of(parts.opsets.begin(), parts.opsets.end(), is_onnx))
    Fail(Code::kInvalidArgument, "expected a model with an opset of the domain '' (ai.onnx), found none");
  Model model;
  model.ir_version = kEditorIrVersion;
  model.opset_imports = parts.opsets;
  model.graph.name = graph.name;
  model.graph.opset_imports = parts.opsets;
  Builder(model.graph, graph).Build();
  return model;
}

Model Augmented(Model model, const OrtModel& parts) {
  const OrtGraph& graph = GraphOf(parts);
  for (const OpsetImport& opset : parts.opsets) {
    const auto known = std::find_if(
        model.opset_imports.begin(), model.opset_imports.end(),
        [&](const OpsetImport& own) { return StandardDomain(own.domain) == StandardDomain(opset.domain); });
    if (known == model.opset_imports.end()) {
      model.opset_imports.push_back(opset);
    } else if (known->version != opset.version) {
      Fail(Code::kInvalidArgument, "opset of domain '", opset.domain, "': expected ", known->version,
           " as in the session's model, found ", opset.version);
    }
  }
  SetOpsets(model.graph, model.opset_imports);
  Builder(model.graph, graph).Build();
  return model;
}

}  // namespace sardonyx::capi
