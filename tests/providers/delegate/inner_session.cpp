// tests/providers/delegate/inner_session.cpp - makes a session of a part of a model, through the model editor.
#include <algorithm>
#include <cstring>
#include <map>

#include "plugin.h"

namespace delegate {
namespace {

// Gives a handle back unless it was handed over.
template <typename Handle>
struct Owned {
  Owned(Handle* made, void (*function)(Handle*)) : handle(made), release(function) {}
  ~Owned() {
    if (handle != nullptr) release(handle);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* handle;
  void (*release)(Handle*);
};

std::size_t SizeOf(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return 8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return 2;
    default:
      return 1;
  }
}

struct Described {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> shape;
  std::size_t bytes = 0;
};

Described Describe(const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* made = nullptr;
  Check(api->GetTensorTypeAndShape(value, &made));
  const Owned<OrtTensorTypeAndShapeInfo> info(made, api->ReleaseTensorTypeAndShapeInfo);
  Described described;
  std::size_t rank = 0, count = 0;
  Check(api->GetTensorElementType(info.handle, &described.type));
  Check(api->GetDimensionsCount(info.handle, &rank));
  described.shape.resize(rank);
  Check(api->GetDimensions(info.handle, described.shape.data(), rank));
  Check(api->GetTensorShapeElementCount(info.handle, &count));
  described.bytes = count * SizeOf(described.type);
  return described;
}

OrtValue* CopyOf(const OrtValue* value) {
  const Described described = Describe(value);
  OrtAllocator* allocator = nullptr;
  Check(api->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* copy = nullptr;
  Check(api->CreateTensorAsOrtValue(allocator, described.shape.data(), described.shape.size(), described.type, &copy));
  const void* from = nullptr;
  void* to = nullptr;
  Check(api->GetTensorData(value, &from));
  Check(api->GetTensorMutableData(copy, &to));
  if (described.bytes != 0) std::memcpy(to, from, described.bytes);
  return copy;
}

OrtOpAttr* CopyOf(const OrtOpAttr* attribute) {
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  const char* name = nullptr;
  Check(api->OpAttr_GetType(attribute, &type));
  Check(api->OpAttr_GetName(attribute, &name));
  OrtOpAttr* copy = nullptr;
  // How many bytes there are is what a call without room says.
  std::size_t size = 0;
  if (OrtStatus* status = api->ReadOpAttr(attribute, type, nullptr, 0, &size)) api->ReleaseStatus(status);
  std::vector<char> data(size + 1);  // texts are made from what ends with 0
  Check(api->ReadOpAttr(attribute, type, data.data(), size, &size));
  if (type == ORT_OP_ATTR_STRINGS) {
    std::vector<const char*> texts;
    for (const char* at = data.data(); at < data.data() + size; at += std::strlen(at) + 1) texts.push_back(at);
    Check(api->CreateOpAttr(name, texts.data(), static_cast<int>(texts.size()), type, &copy));
    return copy;
  }
  const bool words = type == ORT_OP_ATTR_INT || type == ORT_OP_ATTR_INTS;
  const std::size_t unit = type == ORT_OP_ATTR_STRING ? 1 : words ? sizeof(std::int64_t) : sizeof(float);
  Check(api->CreateOpAttr(name, data.data(), static_cast<int>(size / unit), type, &copy));
  return copy;
}

OrtNode* CopyOf(const OrtNode* node) {
  const char *name = nullptr, *domain = nullptr, *op_type = nullptr;
  Check(api->Node_GetName(node, &name));
  Check(api->Node_GetDomain(node, &domain));
  Check(api->Node_GetOperatorType(node, &op_type));
  std::vector<std::string> inputs, outputs;
  for (const OrtValueInfo* info : InputsOf(node)) inputs.push_back(NameOf(info));
  for (const OrtValueInfo* info : OutputsOf(node)) outputs.push_back(NameOf(info));
  std::vector<const char*> in, out;
  for (const std::string& input : inputs) in.push_back(input.c_str());
  for (const std::string& output : outputs) out.push_back(output.c_str());
  std::size_t count = 0;
  Check(api->Node_GetNumAttributes(node, &count));
  std::vector<const OrtOpAttr*> attributes(count);
  Check(api->Node_GetAttributes(node, attributes.data(), count));
  std::vector<OrtOpAttr*> copies;
  for (const OrtOpAttr* attribute : attributes)
    if (attribute != nullptr) copies.push_back(CopyOf(attribute));
  OrtNode* copy = nullptr;
  Check(editor->CreateNode(op_type, domain, name, in.data(), in.size(), out.data(), out.size(), copies.data(),
                           copies.size(), &copy));
  return copy;
}

std::vector<const OrtValueInfo*> Listed(const OrtGraph* graph, OrtStatus* (*count_of)(const OrtGraph*, std::size_t*),
                                        OrtStatus* (*get)(const OrtGraph*, const OrtValueInfo**, std::size_t)) {
  std::size_t count = 0;
  Check(count_of(graph, &count));
  std::vector<const OrtValueInfo*> infos(count);
  Check(get(graph, infos.data(), count));
  return infos;
}

OrtValueInfo* CopyOf(const OrtValueInfo* info) {
  const OrtTypeInfo* type = nullptr;
  Check(api->GetValueInfoTypeInfo(info, &type));
  OrtValueInfo* copy = nullptr;
  Check(editor->CreateValueInfo(NameOf(info).c_str(), type, &copy));
  return copy;
}

// The model of the part.
OrtModel* ModelOf(const OrtGraph* graph, OrtGraph* made) {
  std::size_t count = 0;
  Check(api->Graph_GetNumOperatorSets(graph, &count));
  std::vector<const char*> domains(count);
  std::vector<std::int64_t> versions(count);
  Check(api->Graph_GetOperatorSets(graph, domains.data(), versions.data(), count));
  const std::vector<int> numbers(versions.begin(), versions.end());
  OrtModel* model = nullptr;
  Check(editor->CreateModel(domains.data(), numbers.data(), count, &model));
  Check(editor->AddGraphToModel(model, made));
  return model;
}

}  // namespace

InnerSession::InnerSession(const OrtGraph* graph) {
  OrtGraph* made = nullptr;
  Check(editor->CreateGraph(&made));
  std::vector<std::string> constants;
  for (const OrtValueInfo* info : Listed(graph, api->Graph_GetNumInitializers, api->Graph_GetInitializers)) {
    const OrtValue* value = nullptr;
    Check(api->ValueInfo_GetInitializerValue(info, &value));
    constants.push_back(NameOf(info));
    Check(editor->AddInitializerToGraph(made, constants.back().c_str(), CopyOf(value), false));
  }
  std::vector<OrtValueInfo*> inputs, outputs;
  const std::vector<const OrtValueInfo*> of_node = Listed(graph, api->Graph_GetNumInputs, api->Graph_GetInputs);
  for (std::size_t i = 0; i < of_node.size(); ++i) {
    const std::string name = NameOf(of_node[i]);
    if (std::find(constants.begin(), constants.end(), name) != constants.end()) continue;
    inputs_.push_back(name);
    places_.push_back(i);
    inputs.push_back(CopyOf(of_node[i]));
  }
  for (const OrtValueInfo* info : Listed(graph, api->Graph_GetNumOutputs, api->Graph_GetOutputs)) {
    outputs_.push_back(NameOf(info));
    outputs.push_back(CopyOf(info));
  }
  Check(editor->SetGraphInputs(made, inputs.data(), inputs.size()));
  Check(editor->SetGraphOutputs(made, outputs.data(), outputs.size()));
  for (const OrtNode* node : NodesOf(graph)) Check(editor->AddNodeToGraph(made, CopyOf(node)));
  const Owned<OrtModel> model(ModelOf(graph, made), api->ReleaseModel);
  OrtSessionOptions* options = nullptr;
  Check(api->CreateSessionOptions(&options));
  const Owned<OrtSessionOptions> owned(options, api->ReleaseSessionOptions);
  Check(api->SetIntraOpNumThreads(options, 1));
  Check(api->SetSessionGraphOptimizationLevel(options, ORT_DISABLE_ALL));
  Check(editor->CreateSessionFromModel(env, model.handle, options, &session_));
}

InnerSession::~InnerSession() {
  if (session_ != nullptr) api->ReleaseSession(session_);
}

void InnerSession::Run(OrtKernelContext* context) const {
  std::vector<const OrtValue*> given(inputs_.size());
  std::vector<const char*> in, out;
  for (const std::string& name : inputs_) in.push_back(name.c_str());
  for (const std::string& name : outputs_) out.push_back(name.c_str());
  for (std::size_t i = 0; i < given.size(); ++i) Check(api->KernelContext_GetInput(context, places_[i], &given[i]));
  std::vector<OrtValue*> made(outputs_.size(), nullptr);
  Check(api->Run(session_, nullptr, in.data(), given.data(), in.size(), out.data(), out.size(), made.data()));
  for (std::size_t k = 0; k < made.size(); ++k) {
    const Owned<OrtValue> result(made[k], api->ReleaseValue);
    const Described described = Describe(result.handle);
    OrtValue* output = nullptr;
    Check(api->KernelContext_GetOutput(context, k, described.shape.data(), described.shape.size(), &output));
    if (output == nullptr || described.bytes == 0) continue;
    if (Describe(output).type != described.type) Fail("output " + outputs_[k] + " has another type");
    void *from = nullptr, *to = nullptr;
    Check(api->GetTensorMutableData(result.handle, &from));
    Check(api->GetTensorMutableData(output, &to));
    std::memcpy(to, from, described.bytes);
  }
}

}  // namespace delegate
