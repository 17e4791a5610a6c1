// capi/tensor.cpp - makes tensors and reads their data, type and shape.
#include <algorithm>
#include <cstring>

#include "capi/device_values.h"
#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/call_out.h"
#include "capi/handles/element_type.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/release.h"
#include "capi/handles/type_info.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {
namespace {

Shape ToShape(const std::int64_t* shape, std::size_t rank) {
  const Dims dims(NeedArray(shape, rank, "shape"), rank);
  for (const std::int64_t dim : dims) {
    if (dim < 0)
      Fail(Code::kInvalidArgument, "tensor shape ", ToText(dims), ": expected dimensions of at least 0, found ", dim);
  }
  return Shape(dims);
}

// A tensor over the caller's bytes; `owner` (may be null) frees them with the last view.
Tensor ViewOf(const Device& device, void* data, std::size_t size, const std::int64_t* shape, std::size_t rank,
              ONNXTensorElementDataType type, std::shared_ptr<const void> owner) {
  const DType dtype = FromElementType(type, Code::kNotImplemented);
  if (IsString(dtype))
    Fail(Code::kInvalidArgument,
         "expected an element type of fixed size for the caller's memory, found string; use CreateTensorAsOrtValue");
  const Shape dims = ToShape(shape, rank);
  const std::size_t needed = ByteSize(dtype, ElementCount(dims));
  if (size < needed)
    Fail(Code::kInvalidArgument, "tensor of ", Name(dtype), ToText(dims), ": expected a buffer of at least ", needed,
         " bytes, found ", size);
  return Tensor(dtype, dims, Buffer::View(data, size, std::move(owner), device));
}

void CheckAlike(const Tensor& from, const Tensor& to) {
  if (from.dtype() != to.dtype() || !(from.shape() == to.shape()))
    Fail(Code::kInvalidArgument, "copy: expected tensors of one type and shape, found ", Name(from.dtype()),
         ToText(from.shape()), " and ", Name(to.dtype()), ToText(to.shape()));
}

void CopyElements(const Tensor& from, Tensor& to) {
  if (IsString(from.dtype())) {
    std::copy_n(from.data<std::string>(), from.count(), to.data<std::string>());
  } else if (from.byte_size() != 0) {
    std::memmove(to.raw(), from.raw(), from.byte_size());
  }
}

// By the library that knows both devices.
void CopyOnDevice(const OrtValue* from, OrtValue* to, OrtSyncStream* stream) {
  if (stream == nullptr) return CopyAcross(*AsValue(from), *AsValue(to));
  const plugin::Libraries::Place place = FindRegisteredCopier(NeedTensor(from).device(), NeedTensor(to).device());
  if (place.factory == nullptr)
    Fail(Code::kNotImplemented, "copy: no registered provider library copies between the devices of these tensors");
  place.factory->CopyTensors(&from, &to, &stream, 1);
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateTensorAsOrtValue(OrtAllocator* allocator, const int64_t* shape, size_t shape_len,
                                                 ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    const std::shared_ptr<Allocator> memory = FromHandle(&Need(allocator, "allocator"));
    *out = NewHandle(Tensor(FromElementType(type, Code::kNotImplemented), ToShape(shape, shape_len), memory));
  });
}

OrtStatusPtr ORT_API_CALL CreateTensorWithDataAsOrtValue(const OrtMemoryInfo* info, void* p_data, size_t p_data_len,
                                                         const int64_t* shape, size_t shape_len,
                                                         ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return Guard([&] {
    const Device& device = Need(info, "info").device;
    auto& result = Need(out, "out");
    result = NewHandle(ViewOf(device, p_data, p_data_len, shape, shape_len, type, nullptr));
  });
}

OrtStatusPtr ORT_API_CALL CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator* deleter, void* p_data,
                                                                   size_t p_data_len, const int64_t* shape,
                                                                   size_t shape_len, ONNXTensorElementDataType type,
                                                                   OrtValue** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    const OrtMemoryInfo* info = Need(deleter, "deleter").Info(deleter);
    const Device device = NeedKind(info, "deleter->Info()") != nullptr ? info->device : Device{};
    ViewOf(device, p_data, p_data_len, shape, shape_len, type, nullptr);  // fails before the bytes change hands
    std::shared_ptr<const void> owner(p_data, [deleter](void* data) {
      FreeStatus(Guard([&] { CallOut("OrtAllocator::Free", deleter->Free, deleter, data); }));
    });
    *out = NewHandle(ViewOf(device, p_data, p_data_len, shape, shape_len, type, std::move(owner)));
  });
}

OrtStatusPtr ORT_API_CALL IsTensor(const OrtValue* value, int* out) noexcept {
  return Guard([&] { Need(out, "out") = AsValue(&Need(value, "value"))->is_tensor() ? 1 : 0; });
}

OrtStatusPtr ORT_API_CALL GetTensorMutableData(OrtValue* value, void** out) noexcept {
  return Guard([&] { Need(out, "out") = NeedTensor(value).raw(); });
}

OrtStatusPtr ORT_API_CALL GetTensorData(const OrtValue* value, const void** out) noexcept {
  return Guard([&] { Need(out, "out") = NeedTensor(value).raw(); });
}

OrtStatusPtr ORT_API_CALL GetTensorSizeInBytes(const OrtValue* ort_value, size_t* size) noexcept {
  return Guard([&] {
    const Tensor& tensor = NeedTensor(ort_value, "ort_value");
    if (IsString(tensor.dtype()))
      Fail(Code::kInvalidArgument, "argument 'ort_value': expected a tensor of numbers, found one of strings");
    Need(size, "size") = tensor.byte_size();
  });
}

OrtStatusPtr ORT_API_CALL TensorAt(OrtValue* value, const int64_t* location_values, size_t location_values_count,
                                   void** out) noexcept {
  return Guard([&] {
    Tensor& tensor = NeedTensor(value);
    auto& result = Need(out, "out");
    const Dims dims = tensor.shape();
    if (IsString(tensor.dtype()) || IsSubByte(tensor.dtype()))
      Fail(Code::kInvalidArgument, "TensorAt: expected elements of whole bytes, found ", Name(tensor.dtype()));
    if (location_values_count != dims.size())
      Fail(Code::kInvalidArgument, "TensorAt: expected ", dims.size(), " indices for shape ", ToText(dims), ", found ",
           location_values_count);
    NeedArray(location_values, location_values_count, "location_values");
    std::int64_t index = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (location_values[i] < 0 || location_values[i] >= dims[i])
        Fail(Code::kInvalidArgument, "TensorAt: expected index ", i, " in [0, ", dims[i], "), found ",
             location_values[i]);
      index = index * dims[i] + location_values[i];
    }
    const std::size_t element_size = static_cast<std::size_t>(Bits(tensor.dtype()) / 8);
    result = tensor.data<std::byte>() + static_cast<std::size_t>(index) * element_size;
  });
}

OrtStatusPtr ORT_API_CALL GetTensorTypeAndShape(const OrtValue* value, OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guard([&] {
    const Value& v = *AsValue(&Need(value, "value"));
    if (v.is_sparse()) {
      auto& result = Need(out, "out");
      result = MakeTensorInfo(v.sparse().values.dtype(), v.sparse().dense_shape).release();
    } else {
      const Tensor& tensor = NeedTensor(value);
      auto& result = Need(out, "out");
      result = MakeTensorInfo(tensor.dtype(), tensor.shape()).release();
    }
  });
}

OrtStatusPtr ORT_API_CALL GetTensorElementTypeAndShapeDataReference(const OrtValue* value,
                                                                    ONNXTensorElementDataType* elem_type,
                                                                    const int64_t** shape_data,
                                                                    size_t* shape_data_count) noexcept {
  return Guard([&] {
    const Value& v = *AsValue(&Need(value, "value"));
    const Shape& shape = v.is_sparse() ? v.sparse().dense_shape : NeedTensor(value).shape();
    Need(elem_type, "elem_type") = ToElementType(v.is_sparse() ? v.sparse().values.dtype() : v.tensor().dtype());
    Need(shape_data, "shape_data") = shape.empty() ? nullptr : shape.data();
    Need(shape_data_count, "shape_data_count") = shape.rank();
  });
}

OrtStatusPtr ORT_API_CALL GetTypeInfo(const OrtValue* value, OrtTypeInfo** out) noexcept {
  return Guard([&] {
    const Value& v = *AsValue(&Need(value, "value"));
    auto& result = Need(out, "out");
    result = v.has_value() ? MakeTypeInfo(TypeOf(v)).release() : nullptr;
  });
}

OrtStatusPtr ORT_API_CALL GetValueType(const OrtValue* value, enum ONNXType* out) noexcept {
  return Guard([&] { Need(out, "out") = KindOf(*AsValue(&Need(value, "value"))); });
}

OrtStatusPtr ORT_API_CALL HasValue(const OrtValue* value, int* out) noexcept {
  return Guard([&] { Need(out, "out") = AsValue(&Need(value, "value"))->has_value() ? 1 : 0; });
}

OrtStatusPtr ORT_API_CALL GetTensorMemoryInfo(const OrtValue* value, const OrtMemoryInfo** mem_info) noexcept {
  return Guard([&] {
    const Value& v = *AsValue(&Need(value, "value"));
    const Device device = v.is_sparse() ? v.sparse().values.device() : NeedTensor(value).device();
    Need(mem_info, "mem_info") = &MemoryInfoOf(device);
  });
}

OrtStatusPtr ORT_API_CALL CopyTensors(const OrtEnv* env, const OrtValue* const* src_tensors,
                                      OrtValue* const* dst_tensors, OrtSyncStream* stream,
                                      size_t num_tensors) noexcept {
  return Guard([&] {
    Need(env, "env");
    NeedKind(stream, "stream");
    NeedArray(src_tensors, num_tensors, "src_tensors");
    NeedArray(dst_tensors, num_tensors, "dst_tensors");
    for (std::size_t i = 0; i < num_tensors; ++i) {
      const Tensor& from = NeedTensor(src_tensors[i]);
      Tensor& to = NeedTensor(dst_tensors[i]);
      CheckAlike(from, to);
      if (from.device().IsHost() && to.device().IsHost()) {
        CopyElements(from, to);
      } else if (from.byte_size() != 0) {  // there is nothing to ask a provider for
        CopyOnDevice(src_tensors[i], dst_tensors[i], stream);
      }
    }
  });
}

void ORT_API_CALL ReleaseValue(OrtValue* input) noexcept {
  if (input != nullptr && IsOther(input)) return ReportOtherKind(ExpectedName(input), NameOf(input));
  ReleaseHandle(AsValue(input));
}

}  // namespace sardonyx::capi
