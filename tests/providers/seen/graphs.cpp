// tests/providers/seen/graphs.cpp - graphs and nodes with their attributes and bodies.
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "seen.h"

namespace seen {
namespace {

using Values = std::vector<const OrtValueInfo*>;
using Count = OrtStatus*(ORT_API_CALL*)(const OrtNode*, size_t*);
using Copy = OrtStatus*(ORT_API_CALL*)(const OrtNode*, const OrtValueInfo**, size_t);
using GraphCount = OrtStatus*(ORT_API_CALL*)(const OrtGraph*, size_t*);
using GraphCopy = OrtStatus*(ORT_API_CALL*)(const OrtGraph*, const OrtValueInfo**, size_t);

template <typename Of, typename CountOf, typename CopyOf>
Values ValuesOf(const Of* of, CountOf count, CopyOf copy) {
  std::size_t size = 0;
  Check(count(of, &size));
  Values values(size);
  if (size != 0) Check(copy(of, values.data(), size));
  return values;
}

Values Inputs(const OrtNode* node) {
  return ValuesOf(node, static_cast<Count>(api->Node_GetNumInputs), static_cast<Copy>(api->Node_GetInputs));
}
Values Outputs(const OrtNode* node) {
  return ValuesOf(node, static_cast<Count>(api->Node_GetNumOutputs), static_cast<Copy>(api->Node_GetOutputs));
}
Values ImplicitInputs(const OrtNode* node) {
  return ValuesOf(node, static_cast<Count>(api->Node_GetNumImplicitInputs),
                  static_cast<Copy>(api->Node_GetImplicitInputs));
}

std::string NamesJson(const Values& values) {
  std::vector<std::string> names;
  for (const OrtValueInfo* value : values) names.push_back(Text(NameOf(value)));
  return List(names);
}

// What ReadOpAttr gives, as many bytes as it asks for.
std::string Bytes(const OrtOpAttr* attribute, OrtOpAttrType type) {
  std::size_t size = 0;
  if (OrtStatus* too_small = api->ReadOpAttr(attribute, type, nullptr, 0, &size)) api->ReleaseStatus(too_small);
  std::string bytes(size, '\0');
  if (size != 0) Check(api->ReadOpAttr(attribute, type, bytes.data(), size, &size));
  return bytes;
}

template <typename T>
std::string NumbersJson(const std::string& bytes) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + i, sizeof(T));
    shown.push_back(std::to_string(number));
  }
  return List(shown);
}

std::string AttributeJson(const OrtOpAttr* attribute) {
  Object shown;
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  OrtStatus* unknown = api->OpAttr_GetType(attribute, &type);
  if (unknown != nullptr) {
    api->ReleaseStatus(unknown);
    return Text("a type that the interface does not have");
  }
  shown.Number("type", type);
  switch (type) {
    case ORT_OP_ATTR_INT:
    case ORT_OP_ATTR_INTS:
      return shown.Add("value", NumbersJson<std::int64_t>(Bytes(attribute, type))).Json();
    case ORT_OP_ATTR_FLOAT:
    case ORT_OP_ATTR_FLOATS:
      return shown.Add("value", NumbersJson<float>(Bytes(attribute, type))).Json();
    case ORT_OP_ATTR_STRING:
    case ORT_OP_ATTR_STRINGS:
      return shown.Add("value", Text(Bytes(attribute, type))).Json();
    case ORT_OP_ATTR_TENSOR: {
      OrtValue* made = nullptr;
      Check(api->OpAttr_GetTensorAttributeAsOrtValue(attribute, &made));
      const std::unique_ptr<OrtValue, void (*)(OrtValue*)> tensor(made, api->ReleaseValue);
      return shown.Add("value", TensorJson(made)).Json();
    }
    default:
      return shown.Json();
  }
}

std::string AttributesJson(const OrtNode* node) {
  std::size_t count = 0;
  Check(api->Node_GetNumAttributes(node, &count));
  std::vector<const OrtOpAttr*> attributes(count);
  if (count != 0) Check(api->Node_GetAttributes(node, attributes.data(), count));
  Object shown;
  for (const OrtOpAttr* attribute : attributes) {
    const char* name = nullptr;
    Check(api->OpAttr_GetName(attribute, &name));
    shown.Add(name, AttributeJson(attribute));
  }
  return shown.Json();
}

std::string SubgraphsJson(const OrtNode* node) {
  std::size_t count = 0;
  Check(api->Node_GetNumSubgraphs(node, &count));
  std::vector<const OrtGraph*> graphs(count);
  std::vector<const char*> attributes(count);
  if (count != 0) Check(api->Node_GetSubgraphs(node, graphs.data(), count, attributes.data()));
  Object shown;
  for (std::size_t i = 0; i < count; ++i) shown.Add(attributes[i], GraphJson(graphs[i], true));
  return shown.Json();
}

using Made = std::unique_ptr<OrtModelMetadata, void (*)(OrtModelMetadata*)>;

std::string MetadataJson(const OrtGraph* graph) {
  OrtModelMetadata* made = nullptr;
  Check(api->Graph_GetModelMetadata(graph, &made));
  const Made metadata(made, api->ReleaseModelMetadata);
  OrtAllocator* allocator = nullptr;
  Check(api->GetAllocatorWithDefaultOptions(&allocator));
  const auto take = [&](char* text) {
    std::string copy = text != nullptr ? text : "";
    if (text != nullptr) Check(api->AllocatorFree(allocator, text));
    return copy;
  };
  Object shown;
  const struct {
    const char* name;
    OrtStatus*(ORT_API_CALL* get)(const OrtModelMetadata*, OrtAllocator*, char**);
  } texts[] = {{"producer", api->ModelMetadataGetProducerName},
               {"graph", api->ModelMetadataGetGraphName},
               {"domain", api->ModelMetadataGetDomain},
               {"description", api->ModelMetadataGetDescription},
               {"graph_description", api->ModelMetadataGetGraphDescription}};
  for (const auto& [name, get] : texts) {
    char* text = nullptr;
    Check(get(made, allocator, &text));
    shown.Add(name, Text(take(text)));
  }
  std::int64_t version = 0;
  Check(api->ModelMetadataGetVersion(made, &version));
  shown.Number("version", version);
  char** keys = nullptr;
  std::int64_t count = 0;
  Check(api->ModelMetadataGetCustomMetadataMapKeys(made, allocator, &keys, &count));
  Object custom;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string key = take(keys[i]);
    char* value = nullptr;
    Check(api->ModelMetadataLookupCustomMetadataMap(made, allocator, key.c_str(), &value));
    custom.Add(key, Text(take(value)));
  }
  if (keys != nullptr) Check(api->AllocatorFree(allocator, keys));
  return shown.Add("custom", custom.Json()).Json();
}

std::string OpsetsJson(const OrtGraph* graph) {
  std::size_t count = 0;
  Check(api->Graph_GetNumOperatorSets(graph, &count));
  std::vector<const char*> domains(count);
  std::vector<std::int64_t> versions(count);
  if (count != 0) Check(api->Graph_GetOperatorSets(graph, domains.data(), versions.data(), count));
  Object shown;
  for (std::size_t i = 0; i < count; ++i) shown.Number(domains[i], versions[i]);
  return shown.Json();
}

// Each value that the graph or one of its nodes names, once.
void Collect(const Values& values, std::map<std::string, const OrtValueInfo*>& all) {
  for (const OrtValueInfo* value : values)
    if (value != nullptr) all.emplace(NameOf(value), value);
}

}  // namespace

std::string NodeJson(const OrtNode* node, bool with_bodies) {
  Object shown;
  const struct {
    const char* name;
    OrtStatus*(ORT_API_CALL* get)(const OrtNode*, const char**);
  } texts[] = {{"name", api->Node_GetName},
               {"op_type", api->Node_GetOperatorType},
               {"domain", api->Node_GetDomain},
               {"provider", api->Node_GetEpName}};
  for (const auto& [name, get] : texts) {
    const char* text = nullptr;
    Check(get(node, &text));
    shown.Text(name, text);
  }
  int version = 0;
  Check(api->Node_GetSinceVersion(node, &version));
  shown.Number("since_version", version);
  shown.Add("inputs", NamesJson(Inputs(node))).Add("outputs", NamesJson(Outputs(node)));
  shown.Add("implicit_inputs", NamesJson(ImplicitInputs(node)));
  shown.Add("attributes", AttributesJson(node));
  return shown.Add("subgraphs", with_bodies ? SubgraphsJson(node) : "{}").Json();
}

std::string GraphJson(const OrtGraph* graph, bool with_bodies) {
  Object shown;
  const char *name = nullptr, *path = nullptr;
  Check(api->Graph_GetName(graph, &name));
  Check(api->Graph_GetModelPath(graph, &path));
  shown.Text("name", name).Text("path", path);
  std::int64_t ir_version = 0;
  Check(api->Graph_GetOnnxIRVersion(graph, &ir_version));
  shown.Number("ir_version", ir_version);
  shown.Add("opsets", OpsetsJson(graph)).Add("metadata", MetadataJson(graph));
  const OrtNode* parent = nullptr;
  Check(api->Graph_GetParentNode(graph, &parent));
  const char* parent_name = nullptr;
  if (parent != nullptr) Check(api->Node_GetName(parent, &parent_name));
  shown.Add("parent", parent != nullptr ? Text(parent_name) : "null");
  const Values inputs =
      ValuesOf(graph, static_cast<GraphCount>(api->Graph_GetNumInputs), static_cast<GraphCopy>(api->Graph_GetInputs));
  const Values outputs =
      ValuesOf(graph, static_cast<GraphCount>(api->Graph_GetNumOutputs), static_cast<GraphCopy>(api->Graph_GetOutputs));
  const Values initializers = ValuesOf(graph, static_cast<GraphCount>(api->Graph_GetNumInitializers),
                                       static_cast<GraphCopy>(api->Graph_GetInitializers));
  shown.Add("inputs", NamesJson(inputs)).Add("outputs", NamesJson(outputs));
  shown.Add("initializers", NamesJson(initializers));
  std::map<std::string, const OrtValueInfo*> all;
  for (const Values* list : {&inputs, &outputs, &initializers}) Collect(*list, all);
  std::vector<std::string> nodes;
  for (const OrtNode* node : NodesOf(graph)) {
    nodes.push_back(NodeJson(node, with_bodies));
    for (const Values& list : {Inputs(node), ImplicitInputs(node), Outputs(node)}) Collect(list, all);
  }
  Object values;
  for (const auto& [value, info] : all) values.Add(value, ValueJson(info));
  return shown.Add("values", values.Json()).Add("nodes", List(nodes)).Json();
}

}  // namespace seen
