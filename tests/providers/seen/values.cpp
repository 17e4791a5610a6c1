// tests/providers/seen/values.cpp - values: their types, who makes and reads them, constants.
#include <memory>

#include "seen.h"

namespace seen {
namespace {

std::string ShapeJson(const OrtTensorTypeAndShapeInfo* info) {
  Object shape;
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Check(api->GetTensorElementType(info, &element));
  shape.Number("element", element);
  shape.Flag("has_shape", api->TensorTypeAndShape_HasShape(info));
  std::size_t rank = 0;
  Check(api->GetDimensionsCount(info, &rank));
  std::vector<std::int64_t> dims(rank);
  std::vector<const char*> symbols(rank);
  if (rank != 0) {
    Check(api->GetDimensions(info, dims.data(), rank));
    Check(api->GetSymbolicDimensions(info, symbols.data(), rank));
  }
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < rank; ++i)
    shown.push_back(*symbols[i] != '\0' ? Text(symbols[i]) : std::to_string(dims[i]));
  return shape.Add("dims", List(shown)).Json();
}

using Owned = std::unique_ptr<OrtTypeInfo, void (*)(OrtTypeInfo*)>;

std::string NodeName(const OrtNode* node) {
  if (node == nullptr) return "null";
  const char *name = nullptr, *op_type = nullptr;
  Check(api->Node_GetName(node, &name));
  Check(api->Node_GetOperatorType(node, &op_type));
  return Text(std::string(op_type) + " " + name);
}

std::string ConsumersJson(const OrtValueInfo* info) {
  std::size_t count = 0;
  Check(api->ValueInfo_GetValueNumConsumers(info, &count));
  std::vector<const OrtNode*> nodes(count);
  std::vector<std::int64_t> inputs(count);
  if (count != 0) Check(api->ValueInfo_GetValueConsumers(info, nodes.data(), inputs.data(), count));
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < count; ++i) shown.push_back(List({NodeName(nodes[i]), std::to_string(inputs[i])}));
  return List(shown);
}

std::string ExternalJson(const OrtValueInfo* info) {
  OrtExternalInitializerInfo* made = nullptr;
  Check(api->ValueInfo_GetExternalInitializerInfo(info, &made));
  if (made == nullptr) return "null";
  const std::unique_ptr<OrtExternalInitializerInfo, void (*)(OrtExternalInitializerInfo*)> external(
      made, api->ReleaseExternalInitializerInfo);
  const std::string path = api->ExternalInitializerInfo_GetFilePath(made);
  return Object()
      .Add("path", Text(path))
      .Number("offset", api->ExternalInitializerInfo_GetFileOffset(made))
      .Number("size", static_cast<std::int64_t>(api->ExternalInitializerInfo_GetByteSize(made)))
      .Json();
}

using Question = OrtStatus*(ORT_API_CALL*)(const OrtValueInfo*, bool*);

bool Ask(Question question, const OrtValueInfo* info) {
  bool answer = false;
  Check(question(info, &answer));
  return answer;
}

}  // namespace

std::string TypeJson(const OrtTypeInfo* type) {
  if (type == nullptr) return "null";
  Object shown;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  Check(api->GetOnnxTypeFromTypeInfo(type, &kind));
  shown.Number("kind", kind);
  const char* denotation = "";
  std::size_t size = 0;
  Check(api->GetDenotationFromTypeInfo(type, &denotation, &size));
  shown.Add("denotation", Text(std::string(denotation, size)));
  if (kind == ONNX_TYPE_TENSOR || kind == ONNX_TYPE_SPARSETENSOR) {
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    Check(api->CastTypeInfoToTensorInfo(type, &tensor));
    shown.Add("tensor", ShapeJson(tensor));
  } else if (kind == ONNX_TYPE_SEQUENCE) {
    const OrtSequenceTypeInfo* sequence = nullptr;
    OrtTypeInfo* element = nullptr;
    Check(api->CastTypeInfoToSequenceTypeInfo(type, &sequence));
    Check(api->GetSequenceElementType(sequence, &element));
    shown.Add("of", TypeJson(Owned(element, api->ReleaseTypeInfo).get()));
  } else if (kind == ONNX_TYPE_OPTIONAL) {
    const OrtOptionalTypeInfo* optional = nullptr;
    OrtTypeInfo* contained = nullptr;
    Check(api->CastTypeInfoToOptionalTypeInfo(type, &optional));
    Check(api->GetOptionalContainedTypeInfo(optional, &contained));
    shown.Add("of", TypeJson(Owned(contained, api->ReleaseTypeInfo).get()));
  }
  return shown.Json();
}

std::string TensorJson(const OrtValue* tensor) {
  OrtTensorTypeAndShapeInfo* made = nullptr;
  Check(api->GetTensorTypeAndShape(tensor, &made));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(
      made, api->ReleaseTensorTypeAndShapeInfo);
  Object shown;
  shown.Add("type", ShapeJson(made));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Check(api->GetTensorElementType(made, &element));
  if (element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return shown.Json();
  const void* data = nullptr;
  std::size_t size = 0;
  Check(api->GetTensorData(tensor, &data));
  Check(api->GetTensorSizeInBytes(tensor, &size));
  std::uint64_t sum = 1469598103934665603U;  // FNV-1a
  for (std::size_t i = 0; i < size; ++i)
    sum = (sum ^ static_cast<const unsigned char*>(data)[i]) * std::uint64_t{1099511628211U};
  return shown.Number("bytes", static_cast<std::int64_t>(size)).Add("sum", Text(std::to_string(sum))).Json();
}

std::string NameOf(const OrtValueInfo* info) {
  const char* name = "";
  if (info != nullptr) Check(api->GetValueInfoName(info, &name));
  return name;
}

std::string ValueJson(const OrtValueInfo* info) {
  Object shown;
  const OrtTypeInfo* type = nullptr;
  Check(api->GetValueInfoTypeInfo(info, &type));
  shown.Add("type", TypeJson(type));
  const OrtNode* producer = nullptr;
  std::size_t output = 0;
  Check(api->ValueInfo_GetValueProducer(info, &producer, &output));
  shown.Add("producer", NodeName(producer));
  if (producer != nullptr) shown.Number("output", static_cast<std::int64_t>(output));
  shown.Add("consumers", ConsumersJson(info));
  const struct {
    const char* name;
    Question question;
  } questions[] = {{"required", api->ValueInfo_IsRequiredGraphInput},
                   {"optional", api->ValueInfo_IsOptionalGraphInput},
                   {"is_output", api->ValueInfo_IsGraphOutput},
                   {"constant", api->ValueInfo_IsConstantInitializer},
                   {"outer", api->ValueInfo_IsFromOuterScope}};
  for (const auto& [name, question] : questions) shown.Flag(name, Ask(question, info));
  const OrtValue* initializer = nullptr;
  Check(api->ValueInfo_GetInitializerValue(info, &initializer));
  shown.Add("initializer", initializer != nullptr ? TensorJson(initializer) : "null");
  return shown.Add("external", ExternalJson(info)).Json();
}

}  // namespace seen
