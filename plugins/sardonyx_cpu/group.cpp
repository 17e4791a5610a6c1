// plugins/sardonyx_cpu/group.cpp - compiles a group and runs it.
//
// A result whose sizes are known is computed where the host wants it. They are known from an earlier run with the same
// sizes of inputs, if Sardonyx's shape inference says that nothing else decides. Other results are copied.
#include "group.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "model_writer.h"

namespace sardonyx_cpu {
namespace {

constexpr std::size_t kRemembered = 16;  // sizes of inputs, the latest

// Throws what a status of either runtime says.
void Check(const OrtApi& api, const Apis& apis, OrtStatus* status) {
  &api == apis.host ? apis.Host(status) : apis.Own(status);
}

// The sizes of a value of either runtime.
std::vector<std::int64_t> DimsOf(const OrtApi& api, const Apis& apis, const OrtValue& value) {
  const auto check = [&](OrtStatus* status) { Check(api, apis, status); };
  OrtTensorTypeAndShapeInfo* made = nullptr;
  check(api.GetTensorTypeAndShape(&value, &made));
  const Handle<OrtTensorTypeAndShapeInfo> info(made, api.ReleaseTensorTypeAndShapeInfo);
  std::size_t rank = 0;
  check(api.GetDimensionsCount(info.get(), &rank));
  std::vector<std::int64_t> dims(rank);
  if (rank != 0) check(api.GetDimensions(info.get(), dims.data(), rank));
  return dims;
}

// Copies texts from a tensor of one runtime to one of the other, of the same sizes.
void CopyTexts(const Apis& apis, const OrtApi& from_api, const OrtValue& from, const OrtApi& to_api, OrtValue& to,
               const std::vector<std::int64_t>& dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t length = 0;
    Check(from_api, apis, from_api.GetStringTensorElementLength(&from, i, &length));
    char* room = nullptr;
    Check(to_api, apis, to_api.GetResizedStringTensorElementBuffer(&to, i, length, &room));
    if (length != 0) Check(from_api, apis, from_api.GetStringTensorElement(&from, length, i, room));
  }
}

// The names in an expression such as "2*batch + floor(n/2)".
std::set<std::string> NamesIn(const std::string& expression) {
  std::set<std::string> names;
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  for (std::size_t at = 0; at < expression.size();) {
    std::size_t end = at;
    while (end < expression.size() && inside(expression[end])) ++end;
    const bool name = end > at && std::isdigit(static_cast<unsigned char>(expression[at])) == 0;
    if (name && (end == expression.size() || expression[end] != '(')) names.insert(expression.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return names;
}

}  // namespace

OwnRuntime::OwnRuntime(const Apis& from)
    : apis(from), env(nullptr, from.own->ReleaseEnv), host_memory(nullptr, from.own->ReleaseMemoryInfo) {
  OrtEnv* made = nullptr;
  apis.Own(apis.own->CreateEnv(ORT_LOGGING_LEVEL_WARNING, kName, &made));
  env.reset(made);
  OrtMemoryInfo* memory = nullptr;
  apis.Own(apis.own->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  host_memory.reset(memory);
}

Group::Group(const OwnRuntime& own, const OrtGraph& graph, const OrtNode& fused, int threads)
    : OrtNodeComputeInfo{}, own_(own), session_(nullptr, own.apis.own->ReleaseSession) {
  ort_version_supported = own.apis.host_version;
  CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
    *state = self;
    return nullptr;
  };
  Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) -> OrtStatus* {
    auto& group = *static_cast<Group*>(static_cast<OrtNodeComputeInfo*>(state));
    return Guard(*group.own_.apis.host, [&] { group.Run(*context); });
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  MakeSession(graph, threads);
  FindPorts(fused);
  shapes_follow_ = ShapesFollow();
}

void Group::MakeSession(const OrtGraph& graph, int threads) {
  const Apis& apis = own_.apis;
  const WrittenModel model = WriteGroup(apis, graph);
  OrtSessionOptions* made = nullptr;
  apis.Own(apis.own->CreateSessionOptions(&made));
  const Handle<OrtSessionOptions> options(made, apis.own->ReleaseSessionOptions);
  apis.Own(apis.own->SetIntraOpNumThreads(options.get(), threads));
  std::vector<Handle<OrtValue>> views;
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  for (const auto& [name, value] : model.weights) {
    const Dims dims = DimsOf(*apis.host, apis, *value);
    OrtTensorTypeAndShapeInfo* info = nullptr;
    apis.Host(apis.host->GetTensorTypeAndShape(value, &info));
    const Handle<OrtTensorTypeAndShapeInfo> owned(info, apis.host->ReleaseTensorTypeAndShapeInfo);
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    apis.Host(apis.host->GetTensorElementType(info, &type));
    std::size_t size = 0;
    const void* data = nullptr;
    apis.Host(apis.host->GetTensorSizeInBytes(value, &size));
    apis.Host(apis.host->GetTensorData(value, &data));
    OrtValue* view = nullptr;
    apis.Own(apis.own->CreateTensorWithDataAsOrtValue(own_.host_memory.get(), const_cast<void*>(data), size,
                                                      dims.data(), dims.size(), type, &view));
    views.emplace_back(view, apis.own->ReleaseValue);
    names.push_back(name.c_str());
    values.push_back(view);
  }
  if (!names.empty())
    apis.Own(apis.own->AddExternalInitializers(options.get(), names.data(), values.data(), names.size()));
  OrtSession* session = nullptr;
  apis.Own(apis.own->CreateSessionFromArray(own_.env.get(), model.bytes.data(), model.bytes.size(), options.get(),
                                            &session));
  session_.reset(session);
}

void Group::FindPorts(const OrtNode& fused) {
  const Apis& apis = own_.apis;
  const GraphReader reader(apis);
  OrtAllocator* allocator = nullptr;
  apis.Own(apis.own->GetAllocatorWithDefaultOptions(&allocator));
  const auto find = [&](const std::vector<const OrtValueInfo*>& values, const std::string& name) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != nullptr && reader.Name(values[i]) == name) return i;
    throw Failure(ORT_EP_FAIL, "expected the fused node to have a value '" + name + "', found none");
  };
  const auto add = [&](std::vector<Port>& ports, const std::vector<const OrtValueInfo*>& values, std::size_t count,
                       decltype(apis.own->SessionGetInputName) name_of) {
    for (std::size_t i = 0; i < count; ++i) {
      char* text = nullptr;
      apis.Own(name_of(session_.get(), i, allocator, &text));
      Port port;
      port.name = text;
      allocator->Free(allocator, text);
      port.host_index = find(values, port.name);
      port.type = reader.Facts(*values[port.host_index]).element_type;
      ports.push_back(std::move(port));
    }
  };
  std::size_t inputs = 0, outputs = 0;
  apis.Own(apis.own->SessionGetInputCount(session_.get(), &inputs));
  apis.Own(apis.own->SessionGetOutputCount(session_.get(), &outputs));
  add(inputs_, reader.Inputs(fused), inputs, apis.own->SessionGetInputName);
  add(outputs_, reader.Outputs(fused), outputs, apis.own->SessionGetOutputName);
  for (const Port& port : inputs_) input_names_.push_back(port.name.c_str());
  for (const Port& port : outputs_) output_names_.push_back(port.name.c_str());
}

// True if every size of every result is a number or an expression of the inputs' sizes.
bool Group::ShapesFollow() const {
  const Apis& apis = own_.apis;
  const auto dims_of = [&](decltype(apis.own->SessionGetInputTypeInfo) info_of, std::size_t index, Dims& dims) {
    OrtTypeInfo* made = nullptr;
    apis.Own(info_of(session_.get(), index, &made));
    const Handle<OrtTypeInfo> info(made, apis.own->ReleaseTypeInfo);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    apis.Own(apis.own->CastTypeInfoToTensorInfo(info.get(), &tensor));
    std::vector<std::string> texts;
    if (tensor == nullptr || !apis.own->TensorTypeAndShape_HasShape(tensor)) return std::pair(false, texts);
    std::size_t rank = 0;
    apis.Own(apis.own->GetDimensionsCount(tensor, &rank));
    dims.resize(rank);
    std::vector<const char*> symbols(rank);
    if (rank != 0) {
      apis.Own(apis.own->GetDimensions(tensor, dims.data(), rank));
      apis.Own(apis.own->GetSymbolicDimensions(tensor, symbols.data(), rank));
    }
    for (const char* symbol : symbols) texts.emplace_back(symbol == nullptr ? "" : symbol);
    return std::pair(true, texts);
  };
  std::set<std::string> known;
  Dims dims;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    for (const std::string& text : dims_of(apis.own->SessionGetInputTypeInfo, i, dims).second)
      known.merge(NamesIn(text));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const auto [has_shape, texts] = dims_of(apis.own->SessionGetOutputTypeInfo, i, dims);
    if (!has_shape) return false;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] >= 0) continue;
      const std::set<std::string> names = NamesIn(texts[d]);
      if (names.empty() || !std::includes(known.begin(), known.end(), names.begin(), names.end())) return false;
    }
  }
  return true;
}

void Group::Run(OrtKernelContext& context) {
  const Apis& apis = own_.apis;
  std::vector<Handle<OrtValue>> inputs, outputs;
  std::vector<const OrtValue*> input_values;
  std::vector<OrtValue*> output_values(outputs_.size(), nullptr);
  std::vector<Dims> sizes(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs.push_back(InputOf(context, inputs_[i], sizes[i]));
    input_values.push_back(inputs.back().get());
  }
  const std::vector<Dims> expected = Remembered(sizes);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (outputs_[i].type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) continue;
    outputs.push_back(OutputAt(context, outputs_[i], expected[i]));
    output_values[i] = outputs.back().get();
  }
  apis.Own(apis.own->Run(session_.get(), nullptr, input_names_.data(), input_values.data(), input_values.size(),
                         output_names_.data(), output_names_.size(), output_values.data()));
  std::vector<Handle<OrtValue>> results;  // those that Sardonyx made; null for one that lies in the host's memory
  for (OrtValue* value : output_values) {
    const bool in_place =
        std::any_of(outputs.begin(), outputs.end(), [&](const auto& each) { return each.get() == value; });
    results.emplace_back(in_place ? nullptr : value, apis.own->ReleaseValue);
  }
  std::vector<Dims> found(outputs_.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (results[i] != nullptr) CopyOut(context, outputs_[i], *results[i], found[i]);
  if (shapes_follow_ && expected.empty()) Remember(sizes, std::move(found));
}

// A view of the host's input.
Handle<OrtValue> Group::InputOf(OrtKernelContext& context, const Port& port, Dims& dims) const {
  const Apis& apis = own_.apis;
  const OrtValue* value = nullptr;
  apis.Host(apis.host->KernelContext_GetInput(&context, port.host_index, &value));
  if (value == nullptr) throw Failure(ORT_INVALID_ARGUMENT, "input '" + port.name + "': expected a value, found none");
  dims = DimsOf(*apis.host, apis, *value);
  if (port.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return TakeStrings(*value, dims);
  std::size_t size = 0;
  const void* data = nullptr;
  apis.Host(apis.host->GetTensorSizeInBytes(value, &size));
  apis.Host(apis.host->GetTensorData(value, &data));
  OrtValue* view = nullptr;
  apis.Own(apis.own->CreateTensorWithDataAsOrtValue(own_.host_memory.get(), const_cast<void*>(data), size, dims.data(),
                                                    dims.size(), port.type, &view));
  return {view, apis.own->ReleaseValue};
}

// A view of the host's output, which it makes with these sizes.
Handle<OrtValue> Group::OutputAt(OrtKernelContext& context, const Port& port, const Dims& dims) const {
  const Apis& apis = own_.apis;
  OrtValue *value = nullptr, *view = nullptr;
  apis.Host(apis.host->KernelContext_GetOutput(&context, port.host_index, dims.data(), dims.size(), &value));
  std::size_t size = 0;
  void* data = nullptr;
  apis.Host(apis.host->GetTensorSizeInBytes(value, &size));
  apis.Host(apis.host->GetTensorMutableData(value, &data));
  apis.Own(apis.own->CreateTensorWithDataAsOrtValue(own_.host_memory.get(), data, size, dims.data(), dims.size(),
                                                    port.type, &view));
  return {view, apis.own->ReleaseValue};
}

void Group::CopyOut(OrtKernelContext& context, const Port& port, const OrtValue& value, Dims& dims) const {
  const Apis& apis = own_.apis;
  dims = DimsOf(*apis.own, apis, value);
  OrtValue* to = nullptr;
  apis.Host(apis.host->KernelContext_GetOutput(&context, port.host_index, dims.data(), dims.size(), &to));
  if (port.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    CopyTexts(apis, *apis.own, value, *apis.host, *to, dims);
    return;
  }
  std::size_t size = 0;
  const void* from = nullptr;
  void* data = nullptr;
  apis.Own(apis.own->GetTensorSizeInBytes(&value, &size));
  apis.Own(apis.own->GetTensorData(&value, &from));
  apis.Host(apis.host->GetTensorMutableData(to, &data));
  if (size != 0) std::memcpy(data, from, size);
}

Handle<OrtValue> Group::TakeStrings(const OrtValue& value, const Dims& dims) const {
  const Apis& apis = own_.apis;
  OrtAllocator* allocator = nullptr;
  apis.Own(apis.own->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* made = nullptr;
  apis.Own(apis.own->CreateTensorAsOrtValue(allocator, dims.data(), dims.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
                                            &made));
  Handle<OrtValue> strings(made, apis.own->ReleaseValue);
  CopyTexts(apis, *apis.host, value, *apis.own, *made, dims);
  return strings;
}

std::vector<Group::Dims> Group::Remembered(const std::vector<Dims>& inputs) {
  const std::lock_guard lock(mutex_);
  for (const KnownShapes& each : known_)
    if (each.inputs == inputs) return each.outputs;
  return {};
}

void Group::Remember(const std::vector<Dims>& inputs, std::vector<Dims> outputs) {
  const std::lock_guard lock(mutex_);
  if (known_.size() == kRemembered) known_.erase(known_.begin());
  known_.push_back({inputs, std::move(outputs)});
}

}  // namespace sardonyx_cpu
