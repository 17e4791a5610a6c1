// tests/clients/programs/cxx_api/types.cpp - what sessions say of their inputs and outputs, and types made by hand.
#include "report.h"

namespace {

template <typename Info>
void DescribeTensor(const std::string& name, const Info& info) {
  std::vector<const char*> symbols(info.GetDimensionsCount());
  info.GetSymbolicDimensions(symbols.data(), symbols.size());
  Say(name, info.GetElementType(), info.GetDimensionsCount(), info.GetShape(),
      std::vector<std::string>(symbols.begin(), symbols.end()));
}

void Describe(const std::string& name, const Ort::TypeInfo& type) {
  Say(name + ": kind", type.GetONNXType());
  switch (type.GetONNXType()) {
    case ONNX_TYPE_TENSOR:
    case ONNX_TYPE_SPARSETENSOR:
      return DescribeTensor(name + ": tensor", type.GetTensorTypeAndShapeInfo());
    case ONNX_TYPE_SEQUENCE:
      return Describe(name + ": element", type.GetSequenceTypeInfo().GetSequenceElementType());
    case ONNX_TYPE_MAP:
      Say(name + ": key", type.GetMapTypeInfo().GetMapKeyType());
      return Describe(name + ": value", type.GetMapTypeInfo().GetMapValueType());
    case ONNX_TYPE_OPTIONAL:
      return Describe(name + ": inside", type.GetOptionalTypeInfo().GetOptionalElementType());
    default:
      Say(name + ": of another kind");
  }
}

void OneModel(const Places& places, const std::string& name, bool only_tensors) {
  Ort::SessionOptions options;
  Ort::Session session(TheEnv(), (places.models + "/" + name + ".onnx").c_str(), options);
  Ort::AllocatorWithDefaultOptions allocator;
  Say(name, session.GetInputCount(), session.GetOutputCount(), session.GetOverridableInitializerCount());
  for (size_t i = 0; i < session.GetInputCount(); ++i) {
    const Ort::AllocatedStringPtr input = session.GetInputNameAllocated(i, allocator);
    Describe(name + ": input " + input.get(), session.GetInputTypeInfo(i));
  }
  for (size_t i = 0; i < session.GetOutputCount(); ++i)
    Describe(name + ": output " + session.GetOutputNameAllocated(i, allocator).get(), session.GetOutputTypeInfo(i));
  for (size_t i = 0; i < session.GetOverridableInitializerCount(); ++i)
    Describe(name + ": initializer " + session.GetOverridableInitializerNameAllocated(i, allocator).get(),
             session.GetOverridableInitializerTypeInfo(i));
  SayOutcome(name + ": an input too far", [&] { session.GetInputNameAllocated(session.GetInputCount(), allocator); });
  SayOutcome(name + ": an output too far", [&] { session.GetOutputTypeInfo(session.GetOutputCount()); });
#if ORT_API_VERSION >= 23
  Say(name + ": names", session.GetInputNames(), session.GetOutputNames(), session.GetOverridableInitializerNames());
  if (!only_tensors) return;
  for (const auto& value : session.GetInputs())
    Say(name + ": input value " + value.GetName(), value.TypeInfo().GetONNXType());
  for (const auto& value : session.GetOutputs()) Say(name + ": output value " + value.GetName());
#endif
}

void Metadata(const Places& places) {
  Ort::Session session(TheEnv(), (places.models + "/linear.onnx").c_str(), Ort::SessionOptions{});
  Ort::AllocatorWithDefaultOptions allocator;
  const Ort::ModelMetadata metadata = session.GetModelMetadata();
  Say("metadata", metadata.GetProducerNameAllocated(allocator).get(), metadata.GetGraphNameAllocated(allocator).get(),
      metadata.GetDomainAllocated(allocator).get(), metadata.GetDescriptionAllocated(allocator).get(),
      metadata.GetGraphDescriptionAllocated(allocator).get(), metadata.GetVersion());
  std::vector<std::string> keys;  // in no particular order
  for (const Ort::AllocatedStringPtr& key : metadata.GetCustomMetadataMapKeysAllocated(allocator))
    keys.emplace_back(key.get());
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys)
    Say("metadata: " + key, metadata.LookupCustomMetadataMapAllocated(key.c_str(), allocator).get());
  Say("metadata: none", metadata.LookupCustomMetadataMapAllocated("nobody", allocator) == nullptr);
}

#if ORT_API_VERSION >= 23
void MadeByHand() {
  const std::vector<std::string> names{"rows", ""};
  const Ort::TensorTypeAndShapeInfo tensor(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {-1, 3}, &names);
  const Ort::TypeInfo dense = Ort::TypeInfo::CreateTensorInfo(tensor.GetConst());
  Describe("made: tensor", dense);
  Describe("made: sparse", Ort::TypeInfo::CreateSparseTensorInfo(tensor.GetConst()));
  Describe("made: sequence", Ort::TypeInfo::CreateSequenceTypeInfo(dense.GetConst()));
  Describe("made: map", Ort::TypeInfo::CreateMapTypeInfo(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, dense.GetConst()));
  Describe("made: optional", Ort::TypeInfo::CreateOptionalTypeInfo(dense.GetConst()));
  const Ort::TensorTypeAndShapeInfo unnamed(ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, {2, 5});
  Say("made: elements", unnamed.GetElementCount());
}
#endif

}  // namespace

void Types(const Places& places) {
  for (const char* name :
       {"identity_float32", "identity_string", "identity_bfloat16", "linear", "overridable", "two_of_two", "scalar"})
    OneModel(places, name, true);
  for (const char* name : {"to_sequence", "sequence_at", "zip_map_int64", "zip_map_string", "optional"})
    OneModel(places, name, false);
  Metadata(places);
#if ORT_API_VERSION >= 23
  MadeByHand();
#endif
}
