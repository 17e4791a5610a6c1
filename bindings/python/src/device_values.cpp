// bindings/python/src/device_values.cpp - makes tensors in memory of devices, and copies them to the host.
#include "device_values.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "value.h"

namespace sardonyx::python {
namespace {

struct AllocatorDeleter {
  void operator()(OrtAllocator* allocator) const noexcept { Ort().ReleaseAllocator(allocator); }
};

Place PlaceOfMemory(const OrtMemoryInfo* info) {
  OrtMemoryInfoDeviceType type{};
  int id = 0;
  Ort().MemoryInfoGetDeviceType(info, &type);
  Check(Ort().MemoryInfoGetId(info, &id));
  return {static_cast<int>(type), Ort().MemoryInfoGetVendorId(info), id,
          static_cast<int>(Ort().MemoryInfoGetDeviceMemType(info))};
}

bool IsHost(const Place& place) {
  return std::get<0>(place) == OrtMemoryInfoDeviceType_CPU ||
         std::get<3>(place) == static_cast<int>(OrtDeviceMemoryType_HOST_ACCESSIBLE);
}

ValuePtr MakeTensor(OrtAllocator* allocator, const std::vector<std::int64_t>& shape, int type) {
  OrtValue* made = nullptr;
  CheckPlainly(Ort().CreateTensorAsOrtValue(allocator, shape.data(), shape.size(),
                                            static_cast<ONNXTensorElementDataType>(type), &made));
  return ValuePtr(made);
}

ValuePtr MakeTensorAt(const std::vector<std::int64_t>& shape, int type, const Place& place) {
  OrtAllocator* allocator = DefaultAllocator();
  if (std::get<0>(place) != OrtMemoryInfoDeviceType_CPU)
    Check(Ort().GetSharedAllocator(Environment(), MemoryAt(place), &allocator));
  return MakeTensor(allocator, shape, type);
}

}  // namespace

const OrtMemoryInfo* MemoryAt(const Place& place) {
  if (std::get<0>(place) == OrtMemoryInfoDeviceType_CPU) return HostMemory();
  const OrtEpDevice* const* devices = nullptr;
  std::size_t count = 0;
  Check(Ort().GetEpDevices(Environment(), &devices, &count));
  for (std::size_t i = 0; i < count; ++i)
    for (const auto kind : {OrtDeviceMemoryType_DEFAULT, OrtDeviceMemoryType_HOST_ACCESSIBLE})
      if (const OrtMemoryInfo* info = Ort().EpDevice_MemoryInfo(devices[i], kind);
          info != nullptr && PlaceOfMemory(info) == place)
        return info;
  const auto& [type, vendor, id, memory] = place;
  constexpr const char* kTypes[] = {"CPU", "GPU", "FPGA", "NPU"};
  throw std::runtime_error(
      std::string("expected the host or a device of a registered provider library with memory of ") +
      "its own, found " + (type >= 0 && type < 4 ? kTypes[type] : "type " + std::to_string(type)) + " " +
      std::to_string(id) + " of vendor " + std::to_string(vendor) +
      (memory != 0 ? ", memory of kind " + std::to_string(memory) : ""));
}

Place PlaceOf(const OrtValue* value) {
  const OrtMemoryInfo* info = nullptr;
  Check(Ort().GetTensorMemoryInfo(value, &info));
  return PlaceOfMemory(info);
}

bool IsOnHost(const OrtValue* value) { return IsHost(PlaceOf(value)); }

ValuePtr CopyToHost(const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* made = nullptr;
  Check(Ort().GetTensorTypeAndShape(value, &made));
  const TensorTypeAndShapeInfoPtr info(made);
  ONNXTensorElementDataType type{};
  std::size_t rank = 0;
  Check(Ort().GetTensorElementType(info.get(), &type));
  Check(Ort().GetDimensionsCount(info.get(), &rank));
  std::vector<std::int64_t> shape(rank);
  Check(Ort().GetDimensions(info.get(), shape.data(), rank));
  ValuePtr copy = MakeTensor(DefaultAllocator(), shape, type);
  OrtValue* target = copy.get();
  const nb::gil_scoped_release release;
  Check(Ort().CopyTensors(Environment(), &value, &target, nullptr, 1));
  return copy;
}

namespace {

// The type and number of a device as DLPack has them: every GPU is one of CUDA, as in ONNX Runtime's package.
std::tuple<int, int> DlpackDevice(const OrtValue* value) {
  constexpr int kHost = 1, kCuda = 2, kExtension = 12;
  const Place place = PlaceOf(value);
  if (IsHost(place)) return {kHost, 0};
  return {std::get<0>(place) == OrtMemoryInfoDeviceType_GPU ? kCuda : kExtension, std::get<2>(place)};
}

using HostArray = nb::ndarray<nb::ro, nb::device::cpu>;

// A tensor over the memory of a tensor of bfloat16, which NumPy does not take; None for any other type.
nb::object FromDlpackOfBfloat(const HostArray& array) {
  const nb::dlpack::dtype type = array.dtype();
  if (type.code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat) || type.bits != 16 || type.lanes != 1)
    return nb::none();
  std::vector<std::int64_t> shape(array.ndim());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    shape[i] = static_cast<std::int64_t>(array.shape(i));
    if (shape[i] > 1 && array.stride(i) != stride && array.size() != 0)
      throw std::runtime_error("from_dlpack: expected a contiguous tensor of bfloat16, found strides");
    stride *= shape[i];
  }
  OrtValue* made = nullptr;
  Check(Ort().CreateTensorWithDataAsOrtValue(MemoryAt({0, 0, 0, 0}), const_cast<void*>(array.data()), array.nbytes(),
                                             shape.data(), shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16,
                                             &made));
  ValuePtr value(made);
  auto kept = std::make_unique<HostArray>(array);  // the array owns the memory
  const nb::capsule owner(kept.get(), [](void* memory) noexcept { delete static_cast<HostArray*>(memory); });
  static_cast<void>(kept.release());
  return nb::cast(PyValue(std::move(value), owner));
}

}  // namespace

void AddDeviceValues(nb::class_<PyValue>& handle) {
  handle
      .def_static("empty_at", [](const std::vector<std::int64_t>& shape, int type,
                                 const Place& place) { return PyValue(MakeTensorAt(shape, type, place), nb::none()); })
      // With the allocator that the session uses.
      .def_static("empty_of",
                  [](const Session& session, const std::vector<std::int64_t>& shape, int type, const Place& place) {
                    OrtAllocator* allocator = nullptr;
                    Check(Ort().CreateAllocator(session.get(), MemoryAt(place), &allocator));
                    const std::unique_ptr<OrtAllocator, AllocatorDeleter> owned(allocator);
                    return PyValue(MakeTensor(allocator, shape, type), nb::none());
                  })
      // Over memory of a device that the caller owns.
      .def_static("over",
                  [](std::uintptr_t address, std::size_t bytes, const std::vector<std::int64_t>& shape, int type,
                     const Place& place) {
                    OrtValue* made = nullptr;
                    Check(Ort().CreateTensorWithDataAsOrtValue(MemoryAt(place), reinterpret_cast<void*>(address), bytes,
                                                               shape.data(), shape.size(),
                                                               static_cast<ONNXTensorElementDataType>(type), &made));
                    return PyValue(ValuePtr(made), nb::none());
                  })
      .def_static("from_dlpack_of_bfloat", &FromDlpackOfBfloat, nb::arg().noconvert())
      .def("dlpack",
           [](const nb::object& self) {
             const auto& value = nb::cast<const PyValue&>(self);
             const auto [type, id] = DlpackDevice(value.get());
             return DlpackView(value.get(), self, type, id);
           })
      .def("dlpack_device", [](const PyValue& value) { return DlpackDevice(value.get()); })
      .def("place", [](const PyValue& value) { return PlaceOf(value.get()); })
      .def("is_on_host", [](const PyValue& value) { return IsOnHost(value.get()); });
}

}  // namespace sardonyx::python
