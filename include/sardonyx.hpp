// sardonyx.hpp - the C++20 interface, a thin layer over the C interface: owners instead of Release calls, exceptions
// instead of statuses, views instead of copies.
//
//   sdx::Session session("model.onnx");
//   std::vector<float> pixels(3 * 224 * 224);
//   auto outputs = session.Run({{"x", sdx::Value::View(pixels, {1, 3, 224, 224})}});
//   for (float score : outputs[0].Data<float>()) std::cout << score << '\n';
//
// All functions are inline and call only onnxruntime_c_api.h and sardonyx_c_api.h. Where this layer lacks a function,
// pass handle() to the C function. Objects can be moved but not copied. Any number of threads may use one Session at
// once; every other object belongs to one thread at a time. A function that fails throws sdx::Error, whose message says
// what was expected and what was found. examples/cpp holds a complete program with its CMake file.
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

// How sessions are created and run. Set what differs from the defaults, then pass the options to a Session; options may
// be used for several sessions. The functions return the object, so that calls can be chained.
class SessionOptions {
 public:
  SessionOptions()
      : handle_(
            detail::Make<OrtSessionOptions>([](OrtSessionOptions** out) { return Api().CreateSessionOptions(out); })) {}
  // The number of threads of one run, including the one that calls Run. 0, the default, takes as many as the process
  // may use.
  SessionOptions& Threads(int count) { return Set(Api().SetIntraOpNumThreads(handle(), count)); }
  // How far the model is optimized when a session is created; all optimizations by default.
  SessionOptions& OptimizationLevel(GraphOptimizationLevel level) {
    return Set(Api().SetSessionGraphOptimizationLevel(handle(), level));
  }
  // Writes the optimized model to this file when a session is created.
  SessionOptions& OptimizedModel(const std::filesystem::path& path) {
    return Set(Api().SetOptimizedModelFilePath(handle(), path.c_str()));
  }
  // Fixes the size of the dimension that the model calls `symbol` ("batch").
  SessionOptions& Dimension(const std::string& symbol, std::int64_t size) {
    return Set(Api().AddFreeDimensionOverrideByName(handle(), symbol.c_str(), size));
  }
  // Sets a configuration entry; docs/config_keys.md lists them. If an entry has no effect in Sardonyx, creating a
  // session logs a warning.
  SessionOptions& Config(const std::string& key, const std::string& value) {
    return Set(Api().AddSessionConfigEntry(handle(), key.c_str(), value.c_str()));
  }
  // Adds an execution provider ("CPUExecutionProvider"). Nodes go to the first provider in this order that supports
  // them. Throws ORT_INVALID_ARGUMENT if this build lacks the provider.
  SessionOptions& Provider(const std::string& name, const std::map<std::string, std::string>& options = {}) {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    return Set(
        Api().SessionOptionsAppendExecutionProvider(handle(), name.c_str(), keys.data(), values.data(), keys.size()));
  }
  // Logs messages of this severity and above; warnings and errors by default.
  SessionOptions& LogLevel(OrtLoggingLevel level) { return Set(Api().SetSessionLogSeverityLevel(handle(), level)); }
  OrtSessionOptions* handle() const { return handle_.get(); }

 private:
  SessionOptions& Set(OrtStatusPtr status) {
    Check(status);
    return *this;
  }
  detail::Owner<OrtSessionOptions> handle_;
};

// Options of single runs. They must live until the run ends.
class RunOptions {
 public:
  RunOptions()
      : handle_(detail::Make<OrtRunOptions>([](OrtRunOptions** out) { return Api().CreateRunOptions(out); })) {}
  // Stops the run that uses these options: it throws ORT_FAIL before its next node, and so do later runs with the same
  // options. Any thread may call this.
  void Terminate() { Check(Api().RunOptionsSetTerminate(handle())); }
  // Undoes Terminate, so that the options can be used again.
  void Reset() { Check(Api().RunOptionsUnsetTerminate(handle())); }
  // Sets a configuration entry of runs; docs/config_keys.md lists them.
  RunOptions& Config(const std::string& key, const std::string& value) {
    Check(Api().AddRunConfigEntry(handle(), key.c_str(), value.c_str()));
    return *this;
  }
  OrtRunOptions* handle() const { return handle_.get(); }

 private:
  detail::Owner<OrtRunOptions> handle_;
};

// ---- Sessions

// An input or output of a model.
struct Port {
  std::string name;
  ONNXType kind = ONNX_TYPE_UNKNOWN;  // tensor, sequence, map ...; the members below are for tensors
  ONNXTensorElementDataType element_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  sdx::Shape shape;                  // -1 for a dimension that the model leaves open
  std::vector<std::string> symbols;  // the names of the dimensions, as many as `shape` has; "" for those without one
};

// What the model file says about its origin.
struct Metadata {
  std::string producer, graph, domain, description;
  std::int64_t version = 0;
  std::map<std::string, std::string> custom;
};

// Values by the names of inputs or outputs.
using Feeds = std::vector<std::pair<std::string, const Value&>>;

// A model that is loaded and ready to run. Any number of threads may run one session at once.
class Session {
 public:
  // Loads and optimizes the model in the file `path`. Throws an Error that names the file and the first defect, with
  // node, operator and input as far as they are known.
  explicit Session(const std::filesystem::path& path, const SessionOptions& options = {}) : env_(detail::MakeEnv()) {
    handle_ = detail::Make<OrtSession>(
        [&](OrtSession** out) { return Api().CreateSession(env_.get(), path.c_str(), options.handle(), out); });
    Describe();
  }
  // Loads a model from its bytes. They may be freed afterwards, unless the options set the entry
  // session.use_ort_model_bytes_directly.
  explicit Session(std::span<const std::byte> bytes, const SessionOptions& options = {}) : env_(detail::MakeEnv()) {
    handle_ = detail::Make<OrtSession>([&](OrtSession** out) {
      return Api().CreateSessionFromArray(env_.get(), bytes.data(), bytes.size(), options.handle(), out);
    });
    Describe();
  }
  Session(const void* bytes, std::size_t size, const SessionOptions& options = {})
      : Session(std::span(static_cast<const std::byte*>(bytes), size), options) {}

  // The inputs that every run needs, and the outputs, in the model's order.
  const std::vector<Port>& Inputs() const { return inputs_; }
  const std::vector<Port>& Outputs() const { return outputs_; }
  // The inputs that have a default value and may be left out.
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

  // Runs the model on values by input name (in any order), and returns the outputs that `outputs` names, in that order;
  // without names, all outputs in the model's order. A name may also be that of a value inside the model. Throws
  // ORT_INVALID_ARGUMENT for an input that is missing, unknown or of an unexpected type or shape.
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
  // Runs the model and writes the named outputs into tensors of the caller (such as Value::View of your own memory), so
  // that no memory is allocated for them. Their types and shapes must be those of the results.
  void RunInto(const Feeds& inputs, const Feeds& outputs, const RunOptions* options = nullptr) const {
    std::vector<std::string> names;
    std::vector<OrtValue*> values;
    for (const auto& [name, value] : outputs) {
      names.push_back(name);
      values.push_back(value.handle());
    }
    Call(inputs, names, values, options);
  }

  // Reports which execution provider runs which node, as the JSON that SardonyxApi::SessionPlacement describes.
  std::string Placement() const {
    char* text = nullptr;
    Check(OwnApi().SessionPlacement(handle(), DefaultAllocator(), &text));
    return TakeText(text);
  }
  // The graph that runs, after optimization, in ONNX's text syntax. Weights with more elements are left out; 0 prints
  // all.
  std::string Text(std::size_t max_elements = 64) const {
    char* text = nullptr;
    Check(OwnApi().SessionModelText(handle(), max_elements, DefaultAllocator(), &text));
    return TakeText(text);
  }
  // Frees what the session keeps to make later runs fast: plans of input shapes, and memory of finished runs.
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

// Inputs and outputs that stay bound from run to run: the fastest way to run a model many times. The session must
// outlive the binding, and so must the memory behind bound views.
class Binding {
 public:
  explicit Binding(const Session& session)
      : session_(session.handle()),
        handle_(detail::Make<OrtIoBinding>([&](OrtIoBinding** out) { return Api().CreateIoBinding(session_, out); })) {}
  // Both throw ORT_INVALID_ARGUMENT for an unknown name. Binding a name again replaces its value.
  Binding& Input(const std::string& name, const Value& value) {
    return Set(Api().BindInput(handle(), name.c_str(), value.handle()));
  }
  Binding& Output(const std::string& name, const Value& value) {
    return Set(Api().BindOutput(handle(), name.c_str(), value.handle()));
  }
  // An output for which every run creates a new tensor (see Outputs); its shape need not be known beforehand.
  Binding& Output(const std::string& name) {
    return Set(Api().BindOutputToDevice(handle(), name.c_str(), detail::HostMemory().get()));
  }
  // Runs the model on the bound values. Throws as Session::Run does.
  void Run(const RunOptions* options = nullptr) {
    Check(Api().RunWithBinding(session_, options != nullptr ? options->handle() : nullptr, handle()));
  }
  // The outputs of the last run, in the order in which they were bound.
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

// Checks that the model is well formed and that this build can run it. Throws an Error that names the file and the
// first defect, with node, operator and input as far as they are known.
inline void CheckModel(const std::filesystem::path& path, const SessionOptions& options = {}) {
  Check(OwnApi().CheckModel(detail::MakeEnv().get(), path.c_str(), nullptr, 0, options.handle()));
}

// The model in ONNX's text syntax. Weights with more than `max_elements` elements are left out, and such a text is for
// reading only; 0 prints all elements.
inline std::string PrintModel(const std::filesystem::path& path, std::size_t max_elements = 64) {
  char* text = nullptr;
  Check(OwnApi().PrintModelText(path.c_str(), nullptr, 0, max_elements, DefaultAllocator(), &text));
  return TakeText(text);
}

// A description of the model (inputs, outputs, operators, sizes) as the JSON that SardonyxApi::ModelInfoJson describes.
inline std::string ModelInfo(const std::filesystem::path& path) {
  char* text = nullptr;
  Check(OwnApi().ModelInfoJson(path.c_str(), nullptr, 0, DefaultAllocator(), &text));
  return TakeText(text);
}

// Converts a model from ONNX's text syntax to the bytes of ONNX's protobuf format. Throws ORT_INVALID_PROTOBUF with the
// line and column of a mistake.
inline std::string ParseModel(std::string_view text) {
  void* bytes = nullptr;
  std::size_t size = 0;
  Check(OwnApi().ParseModelText(text.data(), text.size(), DefaultAllocator(), &bytes, &size));
  std::string copy(static_cast<const char*>(bytes), size);
  DefaultAllocator()->Free(DefaultAllocator(), bytes);
  return copy;
}

// Optimizes the model as a session with these options does, and writes the result to the file `output`.
inline void OptimizeModel(const std::filesystem::path& path, const std::filesystem::path& output,
                          const SessionOptions& options = {}) {
  Check(OwnApi().OptimizeModelToFile(detail::MakeEnv().get(), path.c_str(), nullptr, 0, options.handle(),
                                     output.c_str()));
}

}  // namespace sdx
