// capi/memory_info.cpp - the functions of OrtMemoryInfo.
#include "capi/handles/memory_info.h"

#include <memory>

#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

constexpr std::uint32_t kNvidia = 0x10de, kAmd = 0x1002, kMicrosoft = 0x1414, kIntel = 0x8086, kQualcomm = 0x5143;

// The names that CreateMemoryInfo knows, and the devices they stand for; other devices need CreateMemoryInfo_V2.
struct KnownName {
  const char* name;
  DeviceType type;
  std::uint32_t vendor;
  MemoryKind memory = MemoryKind::kDefault;
};
constexpr KnownName kKnownNames[] = {
    {"Cpu", DeviceType::kCpu, 0},
    {"Cuda", DeviceType::kGpu, kNvidia},
    {"CudaPinned", DeviceType::kGpu, kNvidia, MemoryKind::kHostAccessible},
    {"Hip", DeviceType::kGpu, kAmd},
    {"HipPinned", DeviceType::kGpu, kAmd, MemoryKind::kHostAccessible},
    {"DML", DeviceType::kGpu, kMicrosoft},
    {"OpenVINO_GPU", DeviceType::kGpu, kIntel},
    {"OpenVINO_RT_NPU", DeviceType::kNpu, kIntel},
    {"QnnHtpShared", DeviceType::kCpu, kQualcomm, MemoryKind::kHostAccessible},
    {"WebGPU_Buffer", DeviceType::kGpu, 0},
    {"WebGPU_Buf", DeviceType::kGpu, 0},  // as the Node binding spells it
    {"WebNN_Tensor", DeviceType::kGpu, 0},
    {"WebNN_Ten", DeviceType::kGpu, 0},
};

Device DeviceNamed(const char* name, int id) {
  for (const KnownName& known : kKnownNames) {
    if (std::string_view(name) != known.name) continue;
    Device device;
    device.type = known.type;
    device.vendor = known.vendor;
    device.memory = known.memory;
    device.id = known.type == DeviceType::kCpu ? 0 : id;
    return device;
  }
  Fail(Code::kInvalidArgument, "memory info: expected a device name such as 'Cpu' or 'Cuda', found '", name,
       "'; other devices are described with CreateMemoryInfo_V2");
}

// A number that is no OrtAllocatorType, which ONNX Runtime accepts, is OrtInvalidAllocator.
OrtAllocatorType AllocatorTypeOf(int type) {
  return type >= OrtInvalidAllocator && type <= OrtReadOnlyAllocator ? static_cast<OrtAllocatorType>(type)
                                                                     : OrtInvalidAllocator;
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateMemoryInfo(const char* name, enum OrtAllocatorType type, int id,
                                           enum OrtMemType mem_type, OrtMemoryInfo** out) noexcept {
  return Guard([&] {
    OrtMemoryInfo info{{}, &Need(name, "name"), AllocatorTypeOf(type), mem_type, DeviceNamed(name, id)};
    auto& result = Need(out, "out");
    result = std::make_unique<OrtMemoryInfo>(std::move(info)).release();
  });
}

OrtStatusPtr ORT_API_CALL CreateMemoryInfo_V2(const char* name, enum OrtMemoryInfoDeviceType device_type,
                                              uint32_t vendor_id, int32_t device_id, enum OrtDeviceMemoryType mem_type,
                                              size_t alignment, enum OrtAllocatorType allocator_type,
                                              OrtMemoryInfo** out) noexcept {
  return Guard([&] {
    if ((alignment & (alignment - 1)) != 0 || alignment > UINT32_MAX)
      Fail(Code::kInvalidArgument, "memory info: expected an alignment that is 0 or a power of two, found ", alignment);
    Device device;
    device.type = FromDeviceType(device_type);
    device.vendor = vendor_id;
    device.id = device_id;
    device.memory =
        mem_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? MemoryKind::kHostAccessible : MemoryKind::kDefault;
    if (alignment != 0) device.alignment = static_cast<std::uint32_t>(alignment);
    const OrtMemType kind = device.memory == MemoryKind::kHostAccessible ? OrtMemTypeCPU : OrtMemTypeDefault;
    OrtMemoryInfo info{{}, &Need(name, "name"), AllocatorTypeOf(allocator_type), kind, device};
    auto& result = Need(out, "out");
    result = std::make_unique<OrtMemoryInfo>(std::move(info)).release();
  });
}

OrtStatusPtr ORT_API_CALL CreateCpuMemoryInfo(enum OrtAllocatorType type, enum OrtMemType mem_type,
                                              OrtMemoryInfo** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result =
        std::make_unique<OrtMemoryInfo>(OrtMemoryInfo{{}, "Cpu", AllocatorTypeOf(type), mem_type, Device{}}).release();
  });
}

OrtStatusPtr ORT_API_CALL CompareMemoryInfo(const OrtMemoryInfo* info1, const OrtMemoryInfo* info2, int* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(info1, "info1") == Need(info2, "info2") ? 0 : -1; });
}

OrtStatusPtr ORT_API_CALL MemoryInfoGetName(const OrtMemoryInfo* ptr, const char** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(ptr, "ptr").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL MemoryInfoGetId(const OrtMemoryInfo* ptr, int* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(ptr, "ptr").device.id; });
}

OrtStatusPtr ORT_API_CALL MemoryInfoGetMemType(const OrtMemoryInfo* ptr, OrtMemType* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(ptr, "ptr").mem_type; });
}

OrtStatusPtr ORT_API_CALL MemoryInfoGetType(const OrtMemoryInfo* ptr, OrtAllocatorType* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(ptr, "ptr").allocator_type; });
}

void ORT_API_CALL MemoryInfoGetDeviceType(const OrtMemoryInfo* ptr, OrtMemoryInfoDeviceType* out) noexcept {
  if (Given(ptr) && out != nullptr) *out = ToDeviceType(ptr->device.type);
}

OrtDeviceMemoryType ORT_API_CALL MemoryInfoGetDeviceMemType(const OrtMemoryInfo* ptr) noexcept {
  return Given(ptr) ? static_cast<OrtDeviceMemoryType>(ptr->device.memory) : OrtDeviceMemoryType_DEFAULT;
}

uint32_t ORT_API_CALL MemoryInfoGetVendorId(const OrtMemoryInfo* ptr) noexcept {
  return Given(ptr) ? ptr->device.vendor : 0;
}

void ORT_API_CALL ReleaseMemoryInfo(OrtMemoryInfo* input) noexcept { ReleaseHandle(input); }

}  // namespace sardonyx::capi
