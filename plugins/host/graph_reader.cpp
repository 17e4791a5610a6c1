// plugins/host/graph_reader.cpp - asks the host for the parts of a graph.
#include "graph_reader.h"

namespace plugin_host {
namespace {

// What two functions of the host's table list: how many there are, and an array of them.
template <typename Item, typename Owner>
std::vector<Item> List(const HostApi& apis, const Owner& owner, OrtStatus*(ORT_API_CALL* count)(const Owner*, size_t*),
                       OrtStatus*(ORT_API_CALL* get)(const Owner*, Item*, size_t)) {
  std::size_t size = 0;
  apis.Host(count(&owner, &size));
  std::vector<Item> items(size);
  if (size != 0) apis.Host(get(&owner, items.data(), size));
  return items;
}

}  // namespace

std::vector<const OrtNode*> GraphReader::Nodes(const OrtGraph& graph) const {
  return List<const OrtNode*>(apis_, graph, apis_.host->Graph_GetNumNodes, apis_.host->Graph_GetNodes);
}

std::vector<const OrtValueInfo*> GraphReader::Inputs(const OrtGraph& graph) const {
  return List<const OrtValueInfo*>(apis_, graph, apis_.host->Graph_GetNumInputs, apis_.host->Graph_GetInputs);
}

std::vector<const OrtValueInfo*> GraphReader::Outputs(const OrtGraph& graph) const {
  return List<const OrtValueInfo*>(apis_, graph, apis_.host->Graph_GetNumOutputs, apis_.host->Graph_GetOutputs);
}

std::vector<const OrtValueInfo*> GraphReader::Initializers(const OrtGraph& graph) const {
  return List<const OrtValueInfo*>(apis_, graph, apis_.host->Graph_GetNumInitializers,
                                   apis_.host->Graph_GetInitializers);
}

std::vector<std::pair<std::string, std::int64_t>> GraphReader::Opsets(const OrtGraph& graph) const {
  std::size_t size = 0;
  apis_.Host(apis_.host->Graph_GetNumOperatorSets(&graph, &size));
  std::vector<const char*> domains(size);
  std::vector<std::int64_t> versions(size);
  apis_.Host(apis_.host->Graph_GetOperatorSets(&graph, domains.data(), versions.data(), size));
  std::vector<std::pair<std::string, std::int64_t>> opsets;
  for (std::size_t i = 0; i < size; ++i) opsets.emplace_back(domains[i], versions[i]);
  return opsets;
}

const OrtNode* GraphReader::Holder(const OrtGraph& graph) const {
  const OrtNode* node = nullptr;
  apis_.Host(apis_.host->Graph_GetParentNode(&graph, &node));
  return node;
}

const OrtGraph& GraphReader::GraphOf(const OrtNode& node) const {
  const OrtGraph* graph = nullptr;
  apis_.Host(apis_.host->Node_GetGraph(&node, &graph));
  if (graph == nullptr)
    throw Failure(ORT_EP_FAIL, "node '" + Name(node) + "': expected a graph that holds it, found none");
  return *graph;
}

std::string GraphReader::Name(const OrtNode& node) const {
  const char* name = nullptr;
  apis_.Host(apis_.host->Node_GetName(&node, &name));
  return name;
}

std::string GraphReader::Domain(const OrtNode& node) const {
  const char* domain = nullptr;
  apis_.Host(apis_.host->Node_GetDomain(&node, &domain));
  return domain;
}

std::string GraphReader::Operator(const OrtNode& node) const {
  const char* op_type = nullptr;
  apis_.Host(apis_.host->Node_GetOperatorType(&node, &op_type));
  return op_type;
}

int GraphReader::SinceVersion(const OrtNode& node) const {
  int version = 0;
  apis_.Host(apis_.host->Node_GetSinceVersion(&node, &version));
  return version;
}

std::vector<const OrtValueInfo*> GraphReader::Inputs(const OrtNode& node) const {
  return List<const OrtValueInfo*>(apis_, node, apis_.host->Node_GetNumInputs, apis_.host->Node_GetInputs);
}

std::vector<const OrtValueInfo*> GraphReader::ImplicitInputs(const OrtNode& node) const {
  return List<const OrtValueInfo*>(apis_, node, apis_.host->Node_GetNumImplicitInputs,
                                   apis_.host->Node_GetImplicitInputs);
}

std::vector<const OrtValueInfo*> GraphReader::Outputs(const OrtNode& node) const {
  return List<const OrtValueInfo*>(apis_, node, apis_.host->Node_GetNumOutputs, apis_.host->Node_GetOutputs);
}

std::vector<const OrtOpAttr*> GraphReader::Attributes(const OrtNode& node) const {
  return List<const OrtOpAttr*>(apis_, node, apis_.host->Node_GetNumAttributes, apis_.host->Node_GetAttributes);
}

std::vector<std::pair<std::string, const OrtGraph*>> GraphReader::Subgraphs(const OrtNode& node) const {
  std::size_t size = 0;
  apis_.Host(apis_.host->Node_GetNumSubgraphs(&node, &size));
  std::vector<const OrtGraph*> graphs(size);
  std::vector<const char*> names(size);
  if (size != 0) apis_.Host(apis_.host->Node_GetSubgraphs(&node, graphs.data(), size, names.data()));
  std::vector<std::pair<std::string, const OrtGraph*>> subgraphs;
  for (std::size_t i = 0; i < size; ++i) subgraphs.emplace_back(names[i], graphs[i]);
  return subgraphs;
}

std::string GraphReader::Name(const OrtValueInfo* value) const {
  if (value == nullptr) return "";
  const char* name = nullptr;
  apis_.Host(apis_.host->GetValueInfoName(value, &name));
  return name;
}

ValueFacts GraphReader::Facts(const OrtValueInfo& value) const {
  ValueFacts facts;
  facts.name = Name(&value);
  const OrtTypeInfo* type = nullptr;
  apis_.Host(apis_.host->GetValueInfoTypeInfo(&value, &type));
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  if (type != nullptr) apis_.Host(apis_.host->GetOnnxTypeFromTypeInfo(type, &kind));
  if (kind != ONNX_TYPE_TENSOR) return facts;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  apis_.Host(apis_.host->CastTypeInfoToTensorInfo(type, &tensor));
  apis_.Host(apis_.host->GetTensorElementType(tensor, &facts.element_type));
  facts.is_tensor = facts.element_type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::size_t rank = 0;
  apis_.Host(apis_.host->GetDimensionsCount(tensor, &rank));
  facts.dims.resize(rank);
  std::vector<const char*> symbols(rank);
  if (rank != 0) {
    apis_.Host(apis_.host->GetDimensions(tensor, facts.dims.data(), rank));
    apis_.Host(apis_.host->GetSymbolicDimensions(tensor, symbols.data(), rank));
  }
  for (const char* symbol : symbols) facts.symbols.emplace_back(symbol == nullptr ? "" : symbol);
  // Before 1.24 a tensor without a shape looks like a scalar: nothing is said about its shape then.
  facts.has_shape = rank != 0 || (apis_.host_version >= 24 && apis_.host->TensorTypeAndShape_HasShape(tensor));
  return facts;
}

bool GraphReader::IsConstant(const OrtValueInfo& value) const {
  bool constant = false;
  apis_.Host(apis_.host->ValueInfo_IsConstantInitializer(&value, &constant));
  return constant;
}

const OrtValue* GraphReader::Contents(const OrtValueInfo& initializer) const {
  const OrtValue* contents = nullptr;
  apis_.Host(apis_.host->ValueInfo_GetInitializerValue(&initializer, &contents));
  return contents;
}

TensorView GraphReader::View(const OrtValue& tensor) const {
  OrtTensorTypeAndShapeInfo* made = nullptr;
  apis_.Host(apis_.host->GetTensorTypeAndShape(&tensor, &made));
  const Handle<OrtTensorTypeAndShapeInfo> info(made, apis_.host->ReleaseTensorTypeAndShapeInfo);
  TensorView view;
  apis_.Host(apis_.host->GetTensorElementType(info.get(), &view.type));
  std::size_t rank = 0, size = 0;
  apis_.Host(apis_.host->GetDimensionsCount(info.get(), &rank));
  view.dims.resize(rank);
  if (rank != 0) apis_.Host(apis_.host->GetDimensions(info.get(), view.dims.data(), rank));
  if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return view;
  const void* data = nullptr;
  apis_.Host(apis_.host->GetTensorSizeInBytes(&tensor, &size));
  apis_.Host(apis_.host->GetTensorData(&tensor, &data));
  view.bytes = {static_cast<const std::byte*>(data), size};
  return view;
}

std::string GraphReader::Name(const OrtOpAttr& attribute) const {
  const char* name = nullptr;
  apis_.Host(apis_.host->OpAttr_GetName(&attribute, &name));
  return name;
}

OrtOpAttrType GraphReader::Kind(const OrtOpAttr& attribute) const {
  OrtOpAttrType kind = ORT_OP_ATTR_UNDEFINED;
  apis_.Host(apis_.host->OpAttr_GetType(&attribute, &kind));
  return kind;
}

std::vector<char> GraphReader::Bytes(const OrtOpAttr& attribute) const {
  const OrtOpAttrType kind = Kind(attribute);
  std::size_t size = 0;
  // Without room, the host says how much it needs, mostly with an error.
  if (OrtStatus* status = apis_.host->ReadOpAttr(&attribute, kind, nullptr, 0, &size))
    apis_.host->ReleaseStatus(status);
  std::vector<char> bytes(size);
  if (size != 0) apis_.Host(apis_.host->ReadOpAttr(&attribute, kind, bytes.data(), bytes.size(), &size));
  return bytes;
}

Handle<OrtValue> GraphReader::TensorOf(const OrtOpAttr& attribute) const {
  OrtValue* tensor = nullptr;
  apis_.Host(apis_.host->OpAttr_GetTensorAttributeAsOrtValue(&attribute, &tensor));
  return {tensor, apis_.host->ReleaseValue};
}

}  // namespace plugin_host
