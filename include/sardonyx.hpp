// sardonyx.hpp - a small C++20 layer over the two C tables: owners instead of Release calls, exceptions instead of
// statuses, views instead of copies.
//
//   sdx::Session session("model.onnx");
//   std::vector<float> pixels(3 * 224 * 224);
//   auto outputs = session.Run({{"x", sdx::Value::View(pixels, {1, 3, 224, 224})}});
//   for (float score : outputs[0].Data<float>()) std::cout << score << '\n';
//
// Everything is inline and uses nothing but onnxruntime_c_api.h and sardonyx_c_api.h; what is not wrapped is reached
// through handle(). Objects move but do not copy. Any number of threads may run one Session at once; every other object
// belongs to one thread at a time. examples/cpp shows a program with its CMake file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sardonyx_value.hpp"

namespace sdx {

// ---- Options

class SessionOptions {
 public:
  SessionOptions()
      : handle_(
            detail::Make<OrtSessionOptions>([](OrtSessionOptions** out) { return Api().CreateSessionOptions(out); })) {}
  // Threads of one run, the caller included; 0: as many as the machine grants.
  SessionOptions& Threads(int count) { return Set(Api().SetIntraOpNumThreads(handle(), count)); }
  SessionOptions& OptimizationLevel(GraphOptimizationLevel level) {
    return Set(Api().SetSessionGraphOptimizationLevel(handle(), level));
  }
  // Where the optimized model is written when the session is made.
  SessionOptions& OptimizedModel(const std::filesystem::path& path) {
    return Set(Api().SetOptimizedModelFilePath(handle(), path.c_str()));
  }
  // The size of a dimension that the model leaves open, by its symbol.
  SessionOptions& Dimension(const std::string& symbol, std::int64_t size) {
    return Set(Api().AddFreeDimensionOverrideByName(handle(), symbol.c_str(), size));
  }
  // One of ONNX Runtime's "session. ..." keys.
  SessionOptions& Config(const std::string& key, const std::string& value) {
    return Set(Api().AddSessionConfigEntry(handle(), key.c_str(), value.c_str()));
  }
  // A provider by name, before those added after it. Throws INVALID_ARGUMENT for one that this build lacks.
  SessionOptions& Provider(const std::string& name, const std::map<std::string, std::string>& options = {}) {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    return Set(
        Api().SessionOptionsAppendExecutionProvider(handle(), name.c_str(), keys.data(), values.data(), keys.size()));
  }
  SessionOptions& LogLevel(OrtLoggingLevel level) { return Set(Api().SetSessionLogSeverityLevel(handle(), level)); }
  OrtSessionOptions* handle() const { return handle_.get(); }

 private:
  SessionOptions& Set(OrtStatusPtr status) {
    Check(status);
    return *this;
  }
  detail::Owner<OrtSessionOptions> handle_;
};

class RunOptions {
 public:
  RunOptions()
      : handle_(detail::Make<OrtRunOptions>([](OrtRunOptions** out) { return Api().CreateRunOptions(out); })) {}
  // Ends the run that these options were given to, from any thread: it throws an Error.
  void Terminate() { Check(Api().RunOptionsSetTerminate(handle())); }
  void Reset() { Check(Api().RunOptionsUnsetTerminate(handle())); }
  RunOptions& Config(const std::string& key, const std::string& value) {
    Check(Api().AddRunConfigEntry(handle(), key.c_str(), value.c_str()));
    return *this;
  }
  OrtRunOptions* handle() const { return handle_.get(); }

 private:
  detail::Owner<OrtRunOptions> handle_;
};

// ---- Sessions

// An input or output: unknown dimensions are -1; `symbols` names those that have a name.
struct Port {
  std::string name;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  ONNXTensorElementDataType element_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // of tensors
  sdx::Shape shape;
  std::vector<std::string> symbols;
};

// What a model says of itself.
struct Metadata {
  std::string producer, graph, domain, description;
  std::int64_t version = 0;
  std::map<std::string, std::string> custom;
};

using Feeds = std::vector<std::pair<std::string, const Value&>>;

// A model ready to run. Any number of threads may run one session at once.
class Session {
 public:
  explicit Session(const std::filesystem::path& path, const SessionOptions& options = {}) : env_(detail::MakeEnv()) {
    handle_ = detail::Make<OrtSession>(
        [&](OrtSession** out) { return Api().CreateSession(env_.get(), path.c_str(), options.handle(), out); });
    Describe();
  }
  // From the bytes of a model, which are not needed afterwards.
  explicit Session(std::span<const std::byte> bytes, const SessionOptions& options = {}) : env_(detail::MakeEnv()) {
    handle_ = detail::Make<OrtSession>([&](OrtSession** out) {
      return Api().CreateSessionFromArray(env_.get(), bytes.data(), bytes.size(), options.handle(), out);
    });
    Describe();
  }
  Session(const void* bytes, std::size_t size, const SessionOptions& options = {})
      : Session(std::span(static_cast<const std::byte*>(bytes), size), options) {}

  const std::vector<Port>& Inputs() const { return inputs_; }
  const std::vector<Port>& Outputs() const { return outputs_; }
  // Inputs that have a default.
  const std::vector<Port>& OverridableInitializers() const { return overridable_; }

  sdx::Metadata Metadata() const {
    const auto held = detail::Make<OrtModelMetadata>(
        [&](OrtModelMetadata** out) { return Api().SessionGetModelMetadata(handle(), out); });
    const auto text = [&](auto getter) {
      char* value = nullptr;
      Check(getter(held.get(), DefaultAllocator(), &value));
      return TakeText(value);
    };
    sdx::Metadata result{.producer = text(Api().ModelMetadataGetProducerName),
                         .graph = text(Api().ModelMetadataGetGraphName),
                         .domain = text(Api().ModelMetadataGetDomain),
                         .description = text(Api().ModelMetadataGetDescription),
                         .version = 0,
                         .custom = {}};
    Check(Api().ModelMetadataGetVersion(held.get(), &result.version));
    char** keys = nullptr;
    std::int64_t count = 0;
    Check(Api().ModelMetadataGetCustomMetadataMapKeys(held.get(), DefaultAllocator(), &keys, &count));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string key = TakeText(keys[i]);
      char* value = nullptr;
      Check(Api().ModelMetadataLookupCustomMetadataMap(held.get(), DefaultAllocator(), key.c_str(), &value));
      result.custom[key] = TakeText(value);
    }
    if (keys != nullptr) DefaultAllocator()->Free(DefaultAllocator(), keys);
    return result;
  }

  // All outputs in the model's order, or those named, in that order.
  std::vector<Value> Run(const Feeds& inputs, const std::vector<std::string>& outputs = {},
                         const RunOptions* options = nullptr) const {
    const std::vector<std::string>& wanted = outputs.empty() ? output_names_ : outputs;
    std::vector<OrtValue*> results(wanted.size(), nullptr);
    Call(inputs, wanted, results, options);
    std::vector<Value> owned;
    owned.reserve(results.size());
    for (OrtValue* result : results) owned.emplace_back(result);
    return owned;
  }
  // Writes the outputs named into tensors of the caller's (Value::View of any memory): nothing is allocated for them.
  void RunInto(const Feeds& inputs, const Feeds& outputs, const RunOptions* options = nullptr) const {
    std::vector<std::string> names;
    std::vector<OrtValue*> values;
    for (const auto& [name, value] : outputs) {
      names.push_back(name);
      values.push_back(value.handle());
    }
    Call(inputs, names, values, options);
  }

  // Which provider runs which node, as JSON; and the graph that runs, as text.
  std::string Placement() const {
    char* text = nullptr;
    Check(OwnApi().SessionPlacement(handle(), DefaultAllocator(), &text));
    return TakeText(text);
  }
  std::string Text(std::size_t max_elements = 64) const {
    char* text = nullptr;
    Check(OwnApi().SessionModelText(handle(), max_elements, DefaultAllocator(), &text));
    return TakeText(text);
  }
  // Gives back what is kept for later runs: plans of shapes, memory of runs that are over.
  void Trim() { Check(OwnApi().SessionTrim(handle())); }
  OrtSession* handle() const { return handle_.get(); }

 private:
  void Call(const Feeds& inputs, const std::vector<std::string>& outputs, std::span<OrtValue*> results,
            const RunOptions* options) const {
    std::vector<const char*> names;
    std::vector<const OrtValue*> values;
    for (const auto& [name, value] : inputs) {
      names.push_back(name.c_str());
      values.push_back(value.handle());
    }
    const auto wanted = detail::Pointers(outputs);
    Check(Api().Run(handle(), options != nullptr ? options->handle() : nullptr, names.data(), values.data(),
                    names.size(), wanted.data(), wanted.size(), results.data()));
  }

  template <typename CountFn, typename NameFn, typename TypeFn>
  std::vector<Port> Ports(CountFn count_of, NameFn name_of, TypeFn type_of) const {
    std::size_t count = 0;
    Check(count_of(handle(), &count));
    std::vector<Port> ports;
    for (std::size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      Check(name_of(handle(), i, DefaultAllocator(), &name));
      Port port;
      port.name = TakeText(name);
      Describe(port, detail::Make<OrtTypeInfo>([&](OrtTypeInfo** out) { return type_of(handle(), i, out); }).get());
      ports.push_back(std::move(port));
    }
    return ports;
  }
  static void Describe(Port& port, const OrtTypeInfo* type) {
    Check(Api().GetOnnxTypeFromTypeInfo(type, &port.kind));
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    Check(Api().CastTypeInfoToTensorInfo(type, &info));
    if (info == nullptr) return;
    Check(Api().GetTensorElementType(info, &port.element_type));
    port.shape = detail::ShapeOf(info);
    std::vector<const char*> symbols(port.shape.size());
    Check(Api().GetSymbolicDimensions(info, symbols.data(), symbols.size()));
    port.symbols.assign(symbols.begin(), symbols.end());
  }
  void Describe() {
    inputs_ = Ports(Api().SessionGetInputCount, Api().SessionGetInputName, Api().SessionGetInputTypeInfo);
    outputs_ = Ports(Api().SessionGetOutputCount, Api().SessionGetOutputName, Api().SessionGetOutputTypeInfo);
    overridable_ = Ports(Api().SessionGetOverridableInitializerCount, Api().SessionGetOverridableInitializerName,
                         Api().SessionGetOverridableInitializerTypeInfo);
    for (const Port& port : outputs_) output_names_.push_back(port.name);
  }

  detail::Owner<OrtEnv> env_;
  detail::Owner<OrtSession> handle_;
  std::vector<Port> inputs_, outputs_, overridable_;
  std::vector<std::string> output_names_;
};

// Inputs and outputs that stay bound from run to run: the fastest way to run a model again and again. The session and
// the values must live as long as the binding.
class Binding {
 public:
  explicit Binding(const Session& session)
      : session_(session.handle()),
        handle_(detail::Make<OrtIoBinding>([&](OrtIoBinding** out) { return Api().CreateIoBinding(session_, out); })) {}
  Binding& Input(const std::string& name, const Value& value) {
    return Set(Api().BindInput(handle(), name.c_str(), value.handle()));
  }
  Binding& Output(const std::string& name, const Value& value) {
    return Set(Api().BindOutput(handle(), name.c_str(), value.handle()));
  }
  // An output whose shape is not known beforehand: every run makes a new tensor (see Outputs).
  Binding& Output(const std::string& name) {
    return Set(Api().BindOutputToDevice(handle(), name.c_str(), detail::HostMemory().get()));
  }
  void Run(const RunOptions* options = nullptr) {
    Check(Api().RunWithBinding(session_, options != nullptr ? options->handle() : nullptr, handle()));
  }
  // The outputs of the last run, in the order they were bound.
  std::vector<Value> Outputs() const {
    OrtValue** values = nullptr;
    std::size_t count = 0;
    Check(Api().GetBoundOutputValues(handle(), DefaultAllocator(), &values, &count));
    std::vector<Value> owned;
    for (std::size_t i = 0; i < count; ++i) owned.emplace_back(values[i]);
    if (values != nullptr) DefaultAllocator()->Free(DefaultAllocator(), values);
    return owned;
  }
  OrtIoBinding* handle() const { return handle_.get(); }

 private:
  Binding& Set(OrtStatusPtr status) {
    Check(status);
    return *this;
  }
  OrtSession* session_;
  detail::Owner<OrtIoBinding> handle_;
};

// ---- Models without a session

// Throws an Error that names file, node, operator and input of the first defect of a model.
inline void CheckModel(const std::filesystem::path& path, const SessionOptions& options = {}) {
  Check(OwnApi().CheckModel(detail::MakeEnv().get(), path.c_str(), nullptr, 0, options.handle()));
}

// The model in ONNX's text syntax; weights of more elements than that are shortened.
inline std::string PrintModel(const std::filesystem::path& path, std::size_t max_elements = 64) {
  char* text = nullptr;
  Check(OwnApi().PrintModelText(path.c_str(), nullptr, 0, max_elements, DefaultAllocator(), &text));
  return TakeText(text);
}

// The model card that SardonyxApi::ModelInfoJson describes.
inline std::string ModelInfo(const std::filesystem::path& path) {
  char* text = nullptr;
  Check(OwnApi().ModelInfoJson(path.c_str(), nullptr, 0, DefaultAllocator(), &text));
  return TakeText(text);
}

// The ONNX protobuf bytes of a model written in ONNX's text syntax.
inline std::string ParseModel(std::string_view text) {
  void* bytes = nullptr;
  std::size_t size = 0;
  Check(OwnApi().ParseModelText(text.data(), text.size(), DefaultAllocator(), &bytes, &size));
  std::string copy(static_cast<const char*>(bytes), size);
  DefaultAllocator()->Free(DefaultAllocator(), bytes);
  return copy;
}

// Writes the model as a session with these options would run it.
inline void OptimizeModel(const std::filesystem::path& path, const std::filesystem::path& output,
                          const SessionOptions& options = {}) {
  Check(OwnApi().OptimizeModelToFile(detail::MakeEnv().get(), path.c_str(), nullptr, 0, options.handle(),
                                     output.c_str()));
}

}  // namespace sdx
