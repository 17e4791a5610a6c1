// sardonyx_value.hpp - the first half of the C++ interface: errors, element types and values. Programs include
// sardonyx.hpp, which includes this file.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "onnxruntime_c_api.h"
#include "sardonyx_c_api.h"

namespace sdx {

// ---- Errors and the tables of functions

// The exception that all functions throw: what() is the message, code() the error code of the C interface.
class Error : public std::runtime_error {
 public:
  Error(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const noexcept { return code_; }

 private:
  OrtErrorCode code_;
};

// The tables of C functions. They throw ORT_FAIL if the program runs with a library that is older than the headers.
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

// Throws the error that the status of a C function holds, and releases the status. NULL is success: nothing happens.
inline void Check(OrtStatusPtr status) {
  if (status == nullptr) return;
  const Error error(Api().GetErrorCode(status), Api().GetErrorMessage(status));
  Api().ReleaseStatus(status);
  throw error;
}

// The version of the library, such as "0.1.0".
inline std::string Version() { return OwnApi().GetVersionString(); }

// The allocator of the library; it lives as long as the process.
inline OrtAllocator* DefaultAllocator() {
  OrtAllocator* allocator = nullptr;
  Check(Api().GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

// Copies a text that the library allocated with DefaultAllocator, and frees the original.
inline std::string TakeText(char* text) {
  struct Free {
    void operator()(char* held) const { DefaultAllocator()->Free(DefaultAllocator(), held); }
  };
  const std::unique_ptr<char, Free> owned(text);
  return text != nullptr ? text : "";
}

// The names of the execution providers in this build, in the order of their default priority.
inline std::vector<std::string> AvailableProviders() {
  char** names = nullptr;
  int count = 0;
  Check(Api().GetAvailableProviders(&names, &count));
  std::vector<std::string> result(names, names + count);
  Check(Api().ReleaseAvailableProviders(names, count));
  return result;
}

// ---- Element types

// The bits of element types that C++20 lacks; conversions are up to the caller.
struct Float16 {
  std::uint16_t bits = 0;
};
struct BFloat16 {
  std::uint16_t bits = 0;
};

// The ONNX element type of a C++ type. For element types without a C++ type (such as float8 and int4), use
// Value::MakeRaw and Value::ViewRaw.
template <typename T>
inline constexpr ONNXTensorElementDataType kElementType = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
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
template <>
inline constexpr ONNXTensorElementDataType kElementType<Float16> = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
template <>
inline constexpr ONNXTensorElementDataType kElementType<BFloat16> = ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;

template <typename T>
concept Element = kElementType<std::remove_const_t<T>>
!= ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;

// The name of an element type as ONNX writes it: "float", "int64".
inline std::string_view ElementTypeName(ONNXTensorElementDataType type) {
  constexpr std::array<std::string_view, 27> kNames = {
      "undefined", "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
      "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
      "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",     "int4",       "float4e2m1", "uint2",        "int2",           "float8e8m0"};
  const auto index = static_cast<std::size_t>(type);
  return index < kNames.size() ? kNames[index] : "unknown";
}

// The dimensions of a tensor, outermost first; a scalar has none.
using Shape = std::vector<std::int64_t>;

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
  void operator()(OrtModelMetadata* handle) const { Api().ReleaseModelMetadata(handle); }
  void operator()(OrtIoBinding* handle) const { Api().ReleaseIoBinding(handle); }
};
template <typename T>
using Owner = std::unique_ptr<T, Releaser>;

// Owns the handle that `create(&handle)` makes; throws if it fails.
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

inline Owner<OrtMemoryInfo> HostMemory() {
  return Make<OrtMemoryInfo>(
      [](OrtMemoryInfo** out) { return Api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, out); });
}

// A reference to the environment, of which a process has one.
inline Owner<OrtEnv> MakeEnv() {
  return Make<OrtEnv>([](OrtEnv** out) { return Api().CreateEnv(ORT_LOGGING_LEVEL_WARNING, "sardonyx", out); });
}

inline std::vector<const char*> Pointers(std::span<const std::string> texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace detail

// ---- Values

// A tensor, sequence, map or optional. Elements of tensors lie in row-major order without gaps.
class Value {
 public:
  // Takes over a handle of the C interface and releases it in the end.
  explicit Value(OrtValue* handle) : handle_(handle) {}

  // A tensor of zeros in memory of its own, aligned to 64 bytes.
  template <Element T>
  static Value Make(const Shape& shape) {
    Value value = MakeRaw(kElementType<T>, shape);
    for (T& element : value.Data<T>()) element = T{};
    return value;
  }
  // A tensor of any element type in memory of its own, aligned to 64 bytes. Strings are empty, other elements are not
  // initialized.
  static Value MakeRaw(ONNXTensorElementDataType type, const Shape& shape) {
    return Value(detail::Make<OrtValue>([&](OrtValue** out) {
                   return Api().CreateTensorAsOrtValue(DefaultAllocator(), shape.data(), shape.size(), type, out);
                 }).release());
  }
  // A tensor that uses the caller's elements without copying them; they must outlive the value. Throws
  // ORT_INVALID_ARGUMENT if there are fewer elements than the shape needs. Elements may be constant if the value is
  // used as an input only: runs do not write to inputs.
  template <Element T>
  static Value View(std::span<T> elements, const Shape& shape) {
    auto* data = const_cast<std::remove_const_t<T>*>(elements.data());
    return ViewRaw(data, elements.size_bytes(), kElementType<std::remove_const_t<T>>, shape);
  }
  template <Element T>
  static Value View(std::vector<T>& elements, const Shape& shape) {
    return View(std::span<T>(elements), shape);
  }
  template <Element T>
  static Value View(const std::vector<T>& elements, const Shape& shape) {
    return View(std::span<const T>(elements), shape);
  }
  template <Element T>
  static Value View(T* data, std::size_t count, const Shape& shape) {
    return View(std::span<T>(data, count), shape);
  }
  // The same for any element type but strings. `data` should be aligned to the size of an element.
  static Value ViewRaw(void* data, std::size_t size_bytes, ONNXTensorElementDataType type, const Shape& shape) {
    const auto memory = detail::HostMemory();
    return Value(detail::Make<OrtValue>([&](OrtValue** out) {
                   return Api().CreateTensorWithDataAsOrtValue(memory.get(), data, size_bytes, shape.data(),
                                                               shape.size(), type, out);
                 }).release());
  }
  // A tensor of strings, which are copied. Throws ORT_INVALID_ARGUMENT if the shape has another number of elements.
  static Value Strings(const std::vector<std::string>& texts, const Shape& shape) {
    Value value = MakeRaw(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, shape);
    const auto pointers = detail::Pointers(texts);
    Check(Api().FillStringTensor(value.handle(), pointers.data(), pointers.size()));
    return value;
  }

  // The shape and element type of a tensor, and the number of its elements; they throw for other values.
  sdx::Shape Shape() const { return detail::ShapeOf(Info().get()); }
  ONNXTensorElementDataType ElementType() const {
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    Check(Api().GetTensorElementType(Info().get(), &type));
    return type;
  }
  std::size_t Count() const {
    std::size_t count = 0;
    Check(Api().GetTensorShapeElementCount(Info().get(), &count));
    return count;
  }
  // The elements of a tensor, without a copy; the span is valid while the value lives. Throws ORT_INVALID_ARGUMENT if
  // they are not of type T.
  template <Element T>
  std::span<T> Data() {
    return {static_cast<T*>(Bytes<T>()), Count()};
  }
  template <Element T>
  std::span<const T> Data() const {
    return {static_cast<const T*>(Bytes<T>()), Count()};
  }
  // Copies of the elements of a tensor of strings.
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts(Count());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::size_t length = 0;
      Check(Api().GetStringTensorElementLength(handle_.get(), i, &length));
      texts[i].resize(length);
      Check(Api().GetStringTensorElement(handle_.get(), length, i, texts[i].data()));
    }
    return texts;
  }

  // What the value is: ONNX_TYPE_TENSOR, ONNX_TYPE_SEQUENCE, ONNX_TYPE_MAP ...
  ONNXType Kind() const {
    ONNXType kind = ONNX_TYPE_UNKNOWN;
    Check(Api().GetValueType(handle_.get(), &kind));
    return kind;
  }
  // False for an optional without an element, else true.
  bool HasValue() const {
    int present = 0;
    Check(Api().HasValue(handle_.get(), &present));
    return present != 0;
  }
  // The number of items of a sequence; 2 for a map.
  std::size_t Size() const {
    std::size_t count = 0;
    Check(Api().GetValueCount(handle_.get(), &count));
    return count;
  }
  // A copy of an item of a sequence; for a map, a tensor with the keys (index 0) or the values (index 1).
  Value At(std::size_t index) const {
    return Value(detail::Make<OrtValue>([&](OrtValue** out) {
                   return Api().GetValue(handle_.get(), static_cast<int>(index), DefaultAllocator(), out);
                 }).release());
  }
  OrtValue* handle() const { return handle_.get(); }

 private:
  detail::Owner<OrtTensorTypeAndShapeInfo> Info() const {
    return detail::Make<OrtTensorTypeAndShapeInfo>(
        [&](OrtTensorTypeAndShapeInfo** out) { return Api().GetTensorTypeAndShape(handle_.get(), out); });
  }
  template <Element T>
  void* Bytes() const {
    if (const auto type = ElementType(); type != kElementType<std::remove_const_t<T>>)
      throw Error(ORT_INVALID_ARGUMENT, "expected elements of type " +
                                            std::string(ElementTypeName(kElementType<std::remove_const_t<T>>)) +
                                            ", found " + std::string(ElementTypeName(type)));
    void* data = nullptr;
    Check(Api().GetTensorMutableData(handle_.get(), &data));
    return data;
  }

  detail::Owner<OrtValue> handle_;
};

}  // namespace sdx
