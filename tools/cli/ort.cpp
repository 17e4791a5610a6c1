// tools/cli/ort.cpp - sessions, values and texts, implemented with the C interfaces.
#include "ort.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "providers.h"

namespace sardonyx::cli {
namespace {

Handle<OrtTypeInfo> OwnTypeInfo(OrtTypeInfo* info) { return {info, Ort().ReleaseTypeInfo}; }

ValueDescription Describe(std::string name, const OrtTypeInfo& info) {
  ValueDescription value{.name = std::move(name)};
  Check(Ort().GetOnnxTypeFromTypeInfo(&info, &value.kind));
  if (value.kind != ONNX_TYPE_TENSOR) return value;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Check(Ort().CastTypeInfoToTensorInfo(&info, &tensor));
  Check(Ort().GetTensorElementType(tensor, &value.type));
  value.has_shape = Ort().TensorTypeAndShape_HasShape == nullptr || Ort().TensorTypeAndShape_HasShape(tensor);
  if (!value.has_shape) return value;
  std::size_t rank = 0;
  Check(Ort().GetDimensionsCount(tensor, &rank));
  value.shape.resize(rank);
  std::vector<const char*> symbols(rank, "");
  Check(Ort().GetDimensions(tensor, value.shape.data(), rank));
  Check(Ort().GetSymbolicDimensions(tensor, symbols.data(), rank));
  for (const char* symbol : symbols) value.symbols.emplace_back(symbol ? symbol : "");
  return value;
}

using NameFn = OrtStatus*(ORT_API_CALL*)(const OrtSession*, std::size_t, OrtAllocator*, char**);
using TypeFn = OrtStatus*(ORT_API_CALL*)(const OrtSession*, std::size_t, OrtTypeInfo**);

std::vector<ValueDescription> DescribeAll(const OrtSession* session, std::size_t count, NameFn name, TypeFn type) {
  std::vector<ValueDescription> values;
  for (std::size_t i = 0; i < count; ++i) {
    OrtTypeInfo* info = nullptr;
    Check(type(session, i, &info));
    const Handle<OrtTypeInfo> owned = OwnTypeInfo(info);
    values.push_back(Describe(Text([&](OrtAllocator* a, char** out) { return name(session, i, a, out); }), *info));
  }
  return values;
}

HostTensor CopyTensor(const std::string& name, const OrtValue& value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(Ort().GetTensorTypeAndShape(&value, &info));
  const Handle<OrtTensorTypeAndShapeInfo> owned(info, Ort().ReleaseTensorTypeAndShapeInfo);
  HostTensor tensor{.name = name};
  Check(Ort().GetTensorElementType(info, &tensor.type));
  std::size_t rank = 0;
  Check(Ort().GetDimensionsCount(info, &rank));
  tensor.shape.resize(rank);
  Check(Ort().GetDimensions(info, tensor.shape.data(), rank));
  const std::size_t count = ElementCount(tensor.shape);
  if (tensor.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    void* data = nullptr;
    Check(Ort().GetTensorMutableData(const_cast<OrtValue*>(&value), &data));
    tensor.data.resize(DataSize(FindElementType(tensor.type), count));
    if (!tensor.data.empty()) std::memcpy(tensor.data.data(), data, tensor.data.size());
    return tensor;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t length = 0;
    Check(Ort().GetStringTensorElementLength(&value, i, &length));
    std::string text(length, '\0');
    Check(Ort().GetStringTensorElement(&value, length, i, text.data()));
    tensor.strings.push_back(std::move(text));
  }
  return tensor;
}

bool IsText(const std::filesystem::path& path) { return path.extension() == ".txt" || path.extension() == ".onnxtxt"; }

}  // namespace

const char* CodeName(OrtErrorCode code) {
  constexpr const char* kNames[] = {"OK",
                                    "FAIL",
                                    "INVALID_ARGUMENT",
                                    "NO_SUCHFILE",
                                    "NO_MODEL",
                                    "ENGINE_ERROR",
                                    "RUNTIME_EXCEPTION",
                                    "INVALID_PROTOBUF",
                                    "MODEL_LOADED",
                                    "NOT_IMPLEMENTED",
                                    "INVALID_GRAPH",
                                    "EP_FAIL",
                                    "MODEL_LOAD_CANCELED",
                                    "MODEL_REQUIRES_COMPILATION",
                                    "NOT_FOUND",
                                    "DEVICE_RESET"};
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "UNKNOWN";
}

const OrtApi& Ort() {
  static const OrtApi* api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (!api)
    throw Failure(ORT_FAIL,
                  "the library is too old for this tool: it lacks API version " + std::to_string(ORT_API_VERSION));
  return *api;
}

const SardonyxApi& Sardonyx() {
  static const SardonyxApi* api = SardonyxGetApi(SARDONYX_API_VERSION);
  if (!api)
    throw Failure(ORT_FAIL, "the library is too old for this tool: it lacks version " +
                                std::to_string(SARDONYX_API_VERSION) + " of Sardonyx's own API");
  return *api;
}

OrtAllocator* DefaultAllocator() {
  OrtAllocator* allocator = nullptr;
  Check(Ort().GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

void Check(OrtStatus* status) {
  if (!status) return;
  const Handle<OrtStatus> owned(status, Ort().ReleaseStatus);
  throw Failure(Ort().GetErrorCode(status), Ort().GetErrorMessage(status));
}

std::string Text(const std::function<OrtStatus*(OrtAllocator*, char**)>& call) {
  OrtAllocator* allocator = DefaultAllocator();
  char* text = nullptr;
  Check(call(allocator, &text));
  std::string copy = text;
  allocator->Free(allocator, text);
  return copy;
}

std::string ReadFile(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file && errno != ENOENT && errno != ENOTDIR && errno != 0) {
    throw Failure(ORT_FAIL, "cannot read '" + path.string() + "': " + std::strerror(errno));
  }
  if (!file) throw Failure(ORT_NO_SUCHFILE, "cannot read '" + path.string() + "': there is no such file");
  if (std::filesystem::is_directory(path)) {
    throw Failure(ORT_INVALID_ARGUMENT, "cannot read '" + path.string() + "': expected a file, found a folder");
  }
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

void WriteFile(const std::filesystem::path& path, std::string_view bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file)
    throw Failure(ORT_FAIL, "cannot write '" + path.string() + "': " + std::strerror(errno != 0 ? errno : EIO));
}

ModelSource OpenModel(const std::filesystem::path& path) {
  ModelSource model{.path = path, .bytes = {}};
  if (!IsText(path)) return model;
  const std::string text = ReadFile(path);
  OrtAllocator* allocator = DefaultAllocator();
  void* data = nullptr;
  std::size_t size = 0;
  try {
    Check(Sardonyx().ParseModelText(text.data(), text.size(), allocator, &data, &size));
  } catch (const Failure& failure) {
    throw Failure(failure.code(),
                  "'" + path.string() + "', read as ONNX's text syntax because of its ending: " + failure.what());
  }
  const auto* bytes = static_cast<const std::byte*>(data);
  model.bytes.assign(bytes, bytes + size);
  allocator->Free(allocator, data);
  return model;
}

Handle<OrtEnv> MakeEnv(bool verbose) {
  OrtEnv* env = nullptr;
  Check(Ort().CreateEnv(verbose ? ORT_LOGGING_LEVEL_VERBOSE : ORT_LOGGING_LEVEL_WARNING, "sardonyx", &env));
  return {env, Ort().ReleaseEnv};
}

Handle<OrtSessionOptions> MakeOptions(OrtEnv& env, const SessionSettings& settings) {
  OrtSessionOptions* options = nullptr;
  Check(Ort().CreateSessionOptions(&options));
  Handle<OrtSessionOptions> owned(options, Ort().ReleaseSessionOptions);
  Check(Ort().SetSessionGraphOptimizationLevel(options, settings.level));
  Check(Ort().SetIntraOpNumThreads(options, settings.threads));
  AppendProviders(env, options, settings);
  for (const std::string& entry : settings.config) {
    const auto [key, value] = SplitEntry(entry, "--config");
    Check(Ort().AddSessionConfigEntry(options, key.c_str(), value.c_str()));
  }
  if (!settings.profile_prefix.empty()) Check(Ort().EnableProfiling(options, settings.profile_prefix.c_str()));
  for (const auto& [name, value] : settings.dims) {
    Check(Ort().AddFreeDimensionOverrideByName(options, name.c_str(), value));
  }
  return owned;
}

std::string TypeText(const ValueDescription& value) {
  if (value.kind == ONNX_TYPE_SEQUENCE) return "sequence";
  if (value.kind == ONNX_TYPE_MAP) return "map";
  if (value.kind == ONNX_TYPE_OPTIONAL) return "optional";
  if (value.kind == ONNX_TYPE_SPARSETENSOR) return "sparse tensor";
  std::string text(FindElementType(value.type).name);
  if (!value.has_shape) return text + " of unknown rank";
  text += " [";
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    if (i) text += ", ";
    text += value.shape[i] >= 0 ? std::to_string(value.shape[i]) : value.symbols[i].empty() ? "?" : value.symbols[i];
  }
  return text + "]";
}

Session::Session(const ModelSource& model, const SessionSettings& settings)
    : env_(MakeEnv(settings.verbose)), session_(nullptr, Ort().ReleaseSession) {
  const Handle<OrtSessionOptions> options = MakeOptions(*env_, settings);
  OrtSession* session = nullptr;
  if (model.bytes.empty()) {
    Check(Ort().CreateSession(env_.get(), model.path.c_str(), options.get(), &session));
  } else {
    Check(Ort().CreateSessionFromArray(env_.get(), model.bytes.data(), model.bytes.size(), options.get(), &session));
  }
  session_.reset(session);
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  Check(Ort().SessionGetInputCount(session, &inputs));
  Check(Ort().SessionGetOutputCount(session, &outputs));
  inputs_ = DescribeAll(session, inputs, Ort().SessionGetInputName, Ort().SessionGetInputTypeInfo);
  outputs_ = DescribeAll(session, outputs, Ort().SessionGetOutputName, Ort().SessionGetOutputTypeInfo);
}

std::vector<Handle<OrtValue>> Session::Run(const std::vector<Handle<OrtValue>>& inputs,
                                           const std::vector<std::string>& output_names) const {
  std::vector<const char*> input_names;
  std::vector<const OrtValue*> input_values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    input_names.push_back(inputs_[i].name.c_str());
    input_values.push_back(inputs[i].get());
  }
  std::vector<const char*> wanted;
  for (const std::string& name : output_names) wanted.push_back(name.c_str());
  std::vector<OrtValue*> results(wanted.size(), nullptr);
  Check(Ort().Run(session_.get(), nullptr, input_names.data(), input_values.data(), input_values.size(), wanted.data(),
                  wanted.size(), results.data()));
  std::vector<Handle<OrtValue>> owned;
  for (OrtValue* value : results) owned.emplace_back(value, Ort().ReleaseValue);
  return owned;
}

std::string Session::EndProfiling() {
  return Text(
      [&](OrtAllocator* allocator, char** out) { return Ort().SessionEndProfiling(session_.get(), allocator, out); });
}

Handle<OrtValue> ToValue(const HostTensor& tensor) {
  OrtValue* value = nullptr;
  if (tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    Check(Ort().CreateTensorAsOrtValue(DefaultAllocator(), tensor.shape.data(), tensor.shape.size(), tensor.type,
                                       &value));
    Handle<OrtValue> owned(value, Ort().ReleaseValue);
    std::vector<const char*> texts;
    for (const std::string& text : tensor.strings) texts.push_back(text.c_str());
    Check(Ort().FillStringTensor(value, texts.data(), texts.size()));
    return owned;
  }
  OrtMemoryInfo* info = nullptr;
  Check(Ort().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  const Handle<OrtMemoryInfo> owned_info(info, Ort().ReleaseMemoryInfo);
  Check(Ort().CreateTensorWithDataAsOrtValue(info, const_cast<std::byte*>(tensor.data.data()), tensor.data.size(),
                                             tensor.shape.data(), tensor.shape.size(), tensor.type, &value));
  return {value, Ort().ReleaseValue};
}

void AppendTensors(const std::string& name, const OrtValue& value, std::vector<HostTensor>& tensors) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  int has_value = 1;
  Check(Ort().HasValue(&value, &has_value));
  if (!has_value) return;
  Check(Ort().GetValueType(&value, &kind));
  if (kind == ONNX_TYPE_TENSOR) {
    tensors.push_back(CopyTensor(name, value));
    return;
  }
  if (kind != ONNX_TYPE_SEQUENCE && kind != ONNX_TYPE_MAP) {
    throw Failure(ORT_NOT_IMPLEMENTED,
                  "output '" + name + "' is not a tensor, sequence or map: use the Python package");
  }
  std::size_t count = 0;
  Check(Ort().GetValueCount(&value, &count));
  for (std::size_t i = 0; i < count; ++i) {
    OrtValue* part = nullptr;
    Check(Ort().GetValue(&value, static_cast<int>(i), DefaultAllocator(), &part));
    const Handle<OrtValue> owned(part, Ort().ReleaseValue);
    const std::string of_map = i == 0 ? ".keys" : ".values";
    AppendTensors(name + (kind == ONNX_TYPE_MAP ? of_map : "[" + std::to_string(i) + "]"), *part, tensors);
  }
}

}  // namespace sardonyx::cli
