// sardonyx.hpp - a thin C++17 layer over the two C tables: owners instead of Release calls, exceptions instead of
// statuses.
//
//   sdx::Session session("model.onnx");
//   std::vector<float> pixels(3 * 224 * 224);
//   auto outputs = session.Run({{"x", sdx::Value::View(pixels, {1, 3, 224, 224})}});
//   for (float score : outputs[0].Data<float>()) std::cout << score << '\n';
//
// Everything is inline and uses nothing but onnxruntime_c_api.h and sardonyx_c_api.h. Objects move but do not copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "onnxruntime_c_api.h"
#include "sardonyx_c_api.h"

namespace sdx {

// What a status says: its code, and its message as what().
class Error : public std::runtime_error {
 public:
  Error(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

inline const OrtApi& Api() {
  static const OrtApi* const api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (api == nullptr) throw Error(ORT_FAIL, "the library is older than the header onnxruntime_c_api.h");
  return *api;
}

inline const SardonyxApi& OwnApi() {
  static const SardonyxApi* const api = SardonyxGetApi(SARDONYX_API_VERSION);
  if (api == nullptr) throw Error(ORT_FAIL, "the library is older than the header sardonyx_c_api.h");
  return *api;
}

// Throws what the status says, if it is an error.
inline void Check(OrtStatusPtr status) {
  if (status == nullptr) return;
  const Error error(Api().GetErrorCode(status), Api().GetErrorMessage(status));
  Api().ReleaseStatus(status);
  throw error;
}

inline OrtAllocator* DefaultAllocator() {
  OrtAllocator* allocator = nullptr;
  Check(Api().GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

// A text that the library allocated, as a string.
inline std::string TakeText(char* text) {
  std::string copy = text != nullptr ? text : "";
  DefaultAllocator()->Free(DefaultAllocator(), text);
  return copy;
}

// The element type of a C++ type; types that C++ lacks (float16 ...) are given as an ONNXTensorElementDataType.
template <typename T>
constexpr ONNXTensorElementDataType kElementType = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
template <>
inline constexpr ONNXTensorElementDataType kElementType<float> = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
template <>
inline constexpr ONNXTensorElementDataType kElementType<double> = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
template <>
inline constexpr ONNXTensorElementDataType kElementType<std::int8_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
template <>
inline constexpr ONNXTensorElementDataType kElementType<std::uint8_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
template <>
inline constexpr ONNXTensorElementDataType kElementType<std::int16_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
template <>
inline constexpr ONNXTensorElementDataType kElementType<std::uint16_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
template <>
inline constexpr ONNXTensorElementDataType kElementType<std::int32_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
template <>
inline constexpr ONNXTensorElementDataType kElementType<std::uint32_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
template <>
inline constexpr ONNXTensorElementDataType kElementType<std::int64_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
template <>
inline constexpr ONNXTensorElementDataType kElementType<std::uint64_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
template <>
inline constexpr ONNXTensorElementDataType kElementType<bool> = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;

using Shape = std::vector<std::int64_t>;

// A contiguous range of elements.
template <typename T>
struct Range {
  T* data;
  std::size_t size;
  T* begin() const { return data; }
  T* end() const { return data + size; }
  T& operator[](std::size_t i) const { return data[i]; }
};

namespace detail {

struct Releaser {
  void operator()(OrtEnv* handle) const { Api().ReleaseEnv(handle); }
  void operator()(OrtSession* handle) const { Api().ReleaseSession(handle); }
  void operator()(OrtSessionOptions* handle) const { Api().ReleaseSessionOptions(handle); }
  void operator()(OrtRunOptions* handle) const { Api().ReleaseRunOptions(handle); }
  void operator()(OrtValue* handle) const { Api().ReleaseValue(handle); }
  void operator()(OrtMemoryInfo* handle) const { Api().ReleaseMemoryInfo(handle); }
  void operator()(OrtTypeInfo* handle) const { Api().ReleaseTypeInfo(handle); }
  void operator()(OrtTensorTypeAndShapeInfo* handle) const { Api().ReleaseTensorTypeAndShapeInfo(handle); }
};
template <typename T>
using Owner = std::unique_ptr<T, Releaser>;

// What `create(&handle)` makes.
template <typename T, typename Create>
Owner<T> Make(Create&& create) {
  T* handle = nullptr;
  Check(create(&handle));
  return Owner<T>(handle);
}

inline Shape ShapeOf(const OrtTensorTypeAndShapeInfo* info) {
  std::size_t rank = 0;
  Check(Api().GetDimensionsCount(info, &rank));
  Shape shape(rank);
  Check(Api().GetDimensions(info, shape.data(), rank));
  return shape;
}

}  // namespace detail

// A tensor (or another value) with its memory.
class Value {
 public:
  explicit Value(OrtValue* handle) : handle_(handle) {}

  // A tensor of zeros.
  template <typename T>
  static Value Make(const Shape& shape) {
    Value value(detail::Make<OrtValue>([&](OrtValue** out) {
                  return Api().CreateTensorAsOrtValue(DefaultAllocator(), shape.data(), shape.size(), kElementType<T>,
                                                      out);
                }).release());
    for (T& element : value.Data<T>()) element = T{};
    return value;
  }
  // A tensor over the caller's elements, which must live as long as the value. Throws if they are too few.
  template <typename T>
  static Value View(T* data, std::size_t count, const Shape& shape) {
    static_assert(kElementType<T> != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, "no element type for this C++ type");
    const auto info = detail::Make<OrtMemoryInfo>(
        [](OrtMemoryInfo** out) { return Api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, out); });
    return Value(detail::Make<OrtValue>([&](OrtValue** out) {
                   return Api().CreateTensorWithDataAsOrtValue(info.get(), data, count * sizeof(T), shape.data(),
                                                               shape.size(), kElementType<T>, out);
                 }).release());
  }
  template <typename T>
  static Value View(std::vector<T>& elements, const Shape& shape) {
    return View(elements.data(), elements.size(), shape);
  }
  static Value Strings(const std::vector<std::string>& texts, const Shape& shape) {
    Value value(detail::Make<OrtValue>([&](OrtValue** out) {
                  return Api().CreateTensorAsOrtValue(DefaultAllocator(), shape.data(), shape.size(),
                                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, out);
                }).release());
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    Check(Api().FillStringTensor(value.handle(), pointers.data(), pointers.size()));
    return value;
  }

  sdx::Shape Shape() const { return detail::ShapeOf(Info().get()); }
  ONNXTensorElementDataType ElementType() const {
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    Check(Api().GetTensorElementType(Info().get(), &type));
    return type;
  }
  // The elements; throws if they are not of type T.
  template <typename T>
  Range<T> Data() const {
    if (ElementType() != kElementType<T>)
      throw Error(ORT_INVALID_ARGUMENT, "expected elements of type " + std::to_string(kElementType<T>) +
                                            ", found type " + std::to_string(ElementType()));
    void* data = nullptr;
    std::size_t count = 0;
    Check(Api().GetTensorMutableData(handle_.get(), &data));
    Check(Api().GetTensorShapeElementCount(Info().get(), &count));
    return {static_cast<T*>(data), count};
  }
  std::vector<std::string> Texts() const {
    std::size_t count = 0;
    Check(Api().GetTensorShapeElementCount(Info().get(), &count));
    std::vector<std::string> texts(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t length = 0;
      Check(Api().GetStringTensorElementLength(handle_.get(), i, &length));
      texts[i].resize(length);
      Check(Api().GetStringTensorElement(handle_.get(), length, i, texts[i].data()));
    }
    return texts;
  }
  OrtValue* handle() const { return handle_.get(); }

 private:
  detail::Owner<OrtTensorTypeAndShapeInfo> Info() const {
    return detail::Make<OrtTensorTypeAndShapeInfo>(
        [&](OrtTensorTypeAndShapeInfo** out) { return Api().GetTensorTypeAndShape(handle_.get(), out); });
  }
  detail::Owner<OrtValue> handle_;
};

class SessionOptions {
 public:
  SessionOptions()
      : handle_(
            detail::Make<OrtSessionOptions>([](OrtSessionOptions** out) { return Api().CreateSessionOptions(out); })) {}
  SessionOptions& Threads(int count) {  // 0: as many as the machine grants
    Check(Api().SetIntraOpNumThreads(handle(), count));
    return *this;
  }
  SessionOptions& OptimizationLevel(GraphOptimizationLevel level) {
    Check(Api().SetSessionGraphOptimizationLevel(handle(), level));
    return *this;
  }
  SessionOptions& Config(const std::string& key, const std::string& value) {
    Check(Api().AddSessionConfigEntry(handle(), key.c_str(), value.c_str()));
    return *this;
  }
  OrtSessionOptions* handle() const { return handle_.get(); }

 private:
  detail::Owner<OrtSessionOptions> handle_;
};

// An input or output: unknown dimensions are -1; `symbols` names those that have a name.
struct Port {
  std::string name;
  ONNXTensorElementDataType element_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // of tensors
  sdx::Shape shape;
  std::vector<std::string> symbols;
};

// A model ready to run. Any number of threads may run one session at once.
class Session {
 public:
  explicit Session(const std::basic_string<ORTCHAR_T>& path, const SessionOptions& options = {}) : env_(MakeEnv()) {
    handle_ = detail::Make<OrtSession>(
        [&](OrtSession** out) { return Api().CreateSession(env_.get(), path.c_str(), options.handle(), out); });
    Describe();
  }
  // From the bytes of a model, which are not needed afterwards.
  Session(const void* bytes, std::size_t size, const SessionOptions& options = {}) : env_(MakeEnv()) {
    handle_ = detail::Make<OrtSession>(
        [&](OrtSession** out) { return Api().CreateSessionFromArray(env_.get(), bytes, size, options.handle(), out); });
    Describe();
  }

  const std::vector<Port>& Inputs() const { return inputs_; }
  const std::vector<Port>& Outputs() const { return outputs_; }

  // All outputs in the model's order, or those named, in that order.
  std::vector<Value> Run(const std::vector<std::pair<std::string, const Value&>>& inputs,
                         const std::vector<std::string>& outputs = {}, const OrtRunOptions* options = nullptr) {
    std::vector<const char*> in, out;
    std::vector<const OrtValue*> values;
    for (const auto& [name, value] : inputs) {
      in.push_back(name.c_str());
      values.push_back(value.handle());
    }
    if (outputs.empty()) {
      for (const Port& port : outputs_) out.push_back(port.name.c_str());
    } else {
      for (const std::string& name : outputs) out.push_back(name.c_str());
    }
    std::vector<OrtValue*> results(out.size());
    Check(Api().Run(handle(), options, in.data(), values.data(), in.size(), out.data(), out.size(), results.data()));
    std::vector<Value> owned;
    for (OrtValue* result : results) owned.emplace_back(result);
    return owned;
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
  OrtSession* handle() const { return handle_.get(); }

 private:
  static detail::Owner<OrtEnv> MakeEnv() {
    return detail::Make<OrtEnv>(
        [](OrtEnv** out) { return Api().CreateEnv(ORT_LOGGING_LEVEL_WARNING, "sardonyx", out); });
  }
  void Describe() {
    std::size_t count = 0;
    Check(Api().SessionGetInputCount(handle(), &count));
    for (std::size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      Check(Api().SessionGetInputName(handle(), i, DefaultAllocator(), &name));
      inputs_.push_back(PortOf(TakeText(name), detail::Make<OrtTypeInfo>([&](OrtTypeInfo** out) {
                                 return Api().SessionGetInputTypeInfo(handle(), i, out);
                               })));
    }
    Check(Api().SessionGetOutputCount(handle(), &count));
    for (std::size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      Check(Api().SessionGetOutputName(handle(), i, DefaultAllocator(), &name));
      outputs_.push_back(PortOf(TakeText(name), detail::Make<OrtTypeInfo>([&](OrtTypeInfo** out) {
                                  return Api().SessionGetOutputTypeInfo(handle(), i, out);
                                })));
    }
  }
  static Port PortOf(std::string name, const detail::Owner<OrtTypeInfo>& type) {
    Port port;
    port.name = std::move(name);
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    Check(Api().CastTypeInfoToTensorInfo(type.get(), &info));
    if (info == nullptr) return port;
    Check(Api().GetTensorElementType(info, &port.element_type));
    port.shape = detail::ShapeOf(info);
    std::vector<const char*> symbols(port.shape.size());
    Check(Api().GetSymbolicDimensions(info, symbols.data(), symbols.size()));
    port.symbols.assign(symbols.begin(), symbols.end());
    return port;
  }

  detail::Owner<OrtEnv> env_;
  detail::Owner<OrtSession> handle_;
  std::vector<Port> inputs_, outputs_;
};

// Throws an Error that names file, node, operator and input of the first defect of a model.
inline void CheckModel(const std::basic_string<ORTCHAR_T>& path, const SessionOptions& options = {}) {
  const auto env =
      detail::Make<OrtEnv>([](OrtEnv** out) { return Api().CreateEnv(ORT_LOGGING_LEVEL_WARNING, "sardonyx", out); });
  Check(OwnApi().CheckModel(env.get(), path.c_str(), nullptr, 0, options.handle()));
}

// The model in ONNX's text syntax; weights of more elements than that are shortened.
inline std::string PrintModel(const std::basic_string<ORTCHAR_T>& path, std::size_t max_elements = 64) {
  char* text = nullptr;
  Check(OwnApi().PrintModelText(path.c_str(), nullptr, 0, max_elements, DefaultAllocator(), &text));
  return TakeText(text);
}

// The model card that SardonyxApi::ModelInfoJson describes.
inline std::string ModelInfo(const std::basic_string<ORTCHAR_T>& path) {
  char* text = nullptr;
  Check(OwnApi().ModelInfoJson(path.c_str(), nullptr, 0, DefaultAllocator(), &text));
  return TakeText(text);
}

// The ONNX protobuf bytes of a model written in ONNX's text syntax.
inline std::string ParseModel(const std::string& text) {
  void* bytes = nullptr;
  std::size_t size = 0;
  Check(OwnApi().ParseModelText(text.data(), text.size(), DefaultAllocator(), &bytes, &size));
  std::string copy(static_cast<const char*>(bytes), size);
  DefaultAllocator()->Free(DefaultAllocator(), bytes);
  return copy;
}

}  // namespace sdx
