// capi/graph/editor.cpp - links the parts of a graph as the model editor adds them.
#include "capi/graph/editor.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

void CheckEditable(const OrtGraph& graph) {
  if (graph.source != nullptr)
    Fail(Code::kInvalidArgument, "graph '", graph.name, "': expected one that CreateGraph made, found one to be read");
}

// A required input, one with a default, or a constant: decided by what is known so far.
void Classify(const OrtGraph& graph, OrtValueInfo& value) {
  const bool input = std::find(graph.inputs.begin(), graph.inputs.end(), &value) != graph.inputs.end();
  const bool has_data = value.initializer.has_value();
  value.is_required_input = input && !has_data;
  value.is_optional_input = input && has_data;
  value.is_constant = !input && has_data;
}

OrtValueInfo& Named(OrtGraph& graph, const std::string& name) {
  if (OrtValueInfo* known = graph.Find(name)) return *known;
  OrtValueInfo& value = *graph.own_values.emplace_back(std::make_unique<OrtValueInfo>());
  value.name = name;
  value.graph = &graph;
  graph.by_name.emplace(value.name, &value);
  return value;
}

// `value` stands for what `old` stood for, which stays alive for those who hold it.
void TakePlace(OrtGraph& graph, const OrtValueInfo& old, OrtValueInfo& value) {
  value.producer = old.producer;
  value.producer_output = old.producer_output;
  value.consumers = old.consumers;
  value.initializer = old.initializer;
  value.is_output = old.is_output;
  if (value.producer != nullptr) value.producer->outputs[value.producer_output] = &value;
  for (const OrtValueInfo::Consumer& use : value.consumers)
    use.node->inputs[static_cast<std::size_t>(use.input)] = &value;
  for (std::vector<OrtValueInfo*>* list : {&graph.inputs, &graph.outputs, &graph.initializers})
    std::replace(list->begin(), list->end(), const_cast<OrtValueInfo*>(&old), &value);
  graph.by_name.erase(old.name);
}

OrtValueInfo* Adopt(OrtGraph& graph, OrtValueInfo* value) {
  graph.own_values.emplace_back(value);
  value->graph = &graph;
  if (const OrtValueInfo* old = graph.Find(value->name)) TakePlace(graph, *old, *value);
  graph.by_name.emplace(value->name, value);
  return value;
}

void CheckNew(const OrtGraph& graph, std::span<OrtValueInfo*> values, const char* what) {
  CheckEditable(graph);
  std::set<const OrtValueInfo*> seen;
  std::set<std::string_view> names;
  for (const OrtValueInfo* value : values) {
    Need(value, what);
    if (value->graph != nullptr)
      Fail(Code::kInvalidArgument, "argument '", what, "': value '", value->name, "' is already part of a graph");
    if (!seen.insert(value).second || !names.insert(value->name).second)
      Fail(Code::kInvalidArgument, "argument '", what, "': expected each value once, found '", value->name, "' twice");
  }
}

}  // namespace

std::unique_ptr<OrtGraph> NewGraph() {
  auto graph = std::make_unique<OrtGraph>();
  graph->name = "ModelEditorGraph";  // as ONNX Runtime names it
  ModelFacts facts;
  facts.ir_version = kEditorIrVersion;
  facts.metadata.graph_name = graph->name;
  graph->facts = std::make_shared<const ModelFacts>(std::move(facts));
  return graph;
}

void SetInputs(OrtGraph& graph, std::span<OrtValueInfo*> inputs) {
  CheckNew(graph, inputs, "inputs");
  const std::vector<OrtValueInfo*> former = std::exchange(graph.inputs, {});
  for (OrtValueInfo* input : former) Classify(graph, *input);
  for (OrtValueInfo*& input : inputs) {
    graph.inputs.push_back(Adopt(graph, input));
    Classify(graph, *input);
    input = nullptr;
  }
}

void SetOutputs(OrtGraph& graph, std::span<OrtValueInfo*> outputs) {
  CheckNew(graph, outputs, "outputs");
  for (OrtValueInfo* former : graph.outputs) former->is_output = false;
  graph.outputs.clear();
  for (OrtValueInfo*& output : outputs) {
    graph.outputs.push_back(Adopt(graph, output));
    Classify(graph, *output);
    output->is_output = true;
    output = nullptr;
  }
}

void AddNode(OrtGraph& graph, OrtNode* node) {
  CheckEditable(graph);
  if (node->graph != nullptr)
    Fail(Code::kInvalidArgument, "argument 'node': node '", node->name, "' is already part of a graph");
  for (const OrtValueInfo* output : node->outputs) {
    const OrtValueInfo* known = output != nullptr ? graph.Find(output->name) : nullptr;
    if (known != nullptr && known->producer != nullptr) {
      Fail(Code::kInvalidArgument, "argument 'node': node '", node->name, "' makes '", output->name, "', which node '",
           known->producer->name, "' of the graph makes already");
    }
  }
  graph.own_nodes.emplace_back(node);
  graph.nodes.push_back(node);
  node->graph = &graph;
  node->id = graph.nodes.size() - 1;
  for (std::size_t i = 0; i < node->inputs.size(); ++i) {
    if (node->inputs[i] == nullptr) continue;
    node->inputs[i] = &Named(graph, node->inputs[i]->name);
    node->inputs[i]->consumers.push_back({node, static_cast<std::int64_t>(i)});
  }
  for (std::size_t i = 0; i < node->outputs.size(); ++i) {
    if (node->outputs[i] == nullptr) continue;
    node->outputs[i] = &Named(graph, node->outputs[i]->name);
    node->outputs[i]->producer = node;
    node->outputs[i]->producer_output = i;
  }
}

void AddInitializer(OrtGraph& graph, std::string_view name, Value* tensor, bool external) {
  CheckEditable(graph);
  if (!tensor->is_tensor())
    Fail(Code::kInvalidArgument, "initializer '", name, "': expected a tensor, found ", tensor->KindName());
  Tensor contents = tensor->tensor();
  if (!contents.device().IsHost())
    Fail(Code::kInvalidArgument, "initializer '", name, "': expected a tensor in memory of the host");
  if (const OrtValueInfo* known = graph.Find(name); known != nullptr && known->initializer.has_value())
    Fail(Code::kInvalidArgument, "initializer '", name, "': the graph has one of this name already");
  for (const std::unique_ptr<Value>& own : graph.own_tensors)
    if (own.get() == tensor)
      Fail(Code::kInvalidArgument, "initializer '", name, "': the tensor is already part of the graph");
  // ONNX Runtime refuses what shape inference may have to read: the same programs are right with both.
  constexpr std::size_t kLeastExternal = 128;
  if (external && contents.byte_size() < kLeastExternal) {
    Fail(Code::kInvalidArgument, "initializer '", name, "': expected at least ", kLeastExternal,
         " bytes of external data, found ", contents.byte_size(), "; let smaller ones be copied");
  }
  const bool callers = contents.buffer() != nullptr && contents.buffer()->owner() == nullptr;
  if (callers && !external) contents = contents.Clone();
  OrtValueInfo& value = Named(graph, std::string(name));
  if (value.type == nullptr) value.type = MakeTypeInfo(Type::TensorOf(contents.dtype(), Dims(contents.shape())));
  value.initializer = std::move(contents);
  graph.initializers.push_back(&value);
  graph.own_tensors.emplace_back(tensor);
  Classify(graph, value);
}

}  // namespace sardonyx::capi
