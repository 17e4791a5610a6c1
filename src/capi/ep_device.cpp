// capi/ep_device.cpp - the functions of OrtHardwareDevice and OrtEpDevice.
//
// There is one device, the CPU; plug-in libraries will add theirs.
#include "capi/ep_device.h"

#include <memory>
#include <string_view>

#include "base/cpu_info.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/status.h"
#include "capi/options.h"
#include "capi/session.h"

namespace sardonyx::capi {
namespace {

OrtHardwareDevice DescribeCpu() {
  const std::string_view vendor = Cpu().vendor;
  if (vendor == "GenuineIntel") return {OrtHardwareDeviceType_CPU, 0x8086, 0, "Intel", {}};
  if (vendor == "AuthenticAMD") return {OrtHardwareDeviceType_CPU, 0x1022, 0, "AMD", {}};
  return {OrtHardwareDeviceType_CPU, 0, 0, std::string(vendor), {}};
}

const OrtHardwareDevice& CpuDevice() {
  static const OrtHardwareDevice* const device = std::make_unique<OrtHardwareDevice>(DescribeCpu()).release();
  return *device;
}

OrtStatusPtr CpuDevices(const OrtSession* session, PortList ports, const OrtEpDevice** devices, size_t count) noexcept {
  return Guard([&] {
    const std::size_t expected = PortsOf(session, ports).size();
    if (count != expected) Fail(Code::kInvalidArgument, "devices: expected room for ", expected, ", found ", count);
    NeedArray(devices, count, "ep_devices");
    for (std::size_t i = 0; i < count; ++i) devices[i] = &CpuEpDevice();
  });
}

}  // namespace

const OrtEpDevice& CpuEpDevice() {
  static const OrtEpDevice* const device =
      std::make_unique<OrtEpDevice>(OrtEpDevice{"CPUExecutionProvider", "Sardonyx", &CpuDevice(),
                                                OrtKeyValuePairs(OrtKeyValuePairs::Entries{{"version", SDX_VERSION}}),
                                                OrtKeyValuePairs(), &HostMemoryInfo()})
          .release();
  return *device;
}

OrtStatusPtr ORT_API_CALL GetEpDevices(const OrtEnv* env, const OrtEpDevice* const** ep_devices,
                                       size_t* num_ep_devices) noexcept {
  return Guard([&] {
    Need(env, "env");
    static const OrtEpDevice* const devices[] = {&CpuEpDevice()};
    Need(ep_devices, "ep_devices") = devices;
    Need(num_ep_devices, "num_ep_devices") = std::size(devices);
  });
}

OrtStatusPtr ORT_API_CALL GetNumHardwareDevices(const OrtEnv* env, size_t* num_devices) noexcept {
  return Guard([&] {
    Need(env, "env");
    Need(num_devices, "num_devices") = 1;
  });
}

OrtStatusPtr ORT_API_CALL GetHardwareDevices(const OrtEnv* env, const OrtHardwareDevice** devices,
                                             size_t num_devices) noexcept {
  return Guard([&] {
    Need(env, "env");
    if (num_devices != 1) Fail(Code::kInvalidArgument, "devices: expected room for 1, found ", num_devices);
    Need(devices, "devices") = &CpuDevice();
  });
}

OrtHardwareDeviceType ORT_API_CALL HardwareDevice_Type(const OrtHardwareDevice* device) noexcept {
  return device != nullptr ? device->type : OrtHardwareDeviceType_CPU;
}

uint32_t ORT_API_CALL HardwareDevice_VendorId(const OrtHardwareDevice* device) noexcept {
  return device != nullptr ? device->vendor_id : 0;
}

const char* ORT_API_CALL HardwareDevice_Vendor(const OrtHardwareDevice* device) noexcept {
  return device != nullptr ? device->vendor.c_str() : "";
}

uint32_t ORT_API_CALL HardwareDevice_DeviceId(const OrtHardwareDevice* device) noexcept {
  return device != nullptr ? device->device_id : 0;
}

const OrtKeyValuePairs* ORT_API_CALL HardwareDevice_Metadata(const OrtHardwareDevice* device) noexcept {
  return device != nullptr ? &device->metadata : nullptr;
}

const char* ORT_API_CALL EpDevice_EpName(const OrtEpDevice* ep_device) noexcept {
  return ep_device != nullptr ? ep_device->ep_name.c_str() : "";
}

const char* ORT_API_CALL EpDevice_EpVendor(const OrtEpDevice* ep_device) noexcept {
  return ep_device != nullptr ? ep_device->ep_vendor.c_str() : "";
}

const OrtKeyValuePairs* ORT_API_CALL EpDevice_EpMetadata(const OrtEpDevice* ep_device) noexcept {
  return ep_device != nullptr ? &ep_device->metadata : nullptr;
}

const OrtKeyValuePairs* ORT_API_CALL EpDevice_EpOptions(const OrtEpDevice* ep_device) noexcept {
  return ep_device != nullptr ? &ep_device->options : nullptr;
}

const OrtHardwareDevice* ORT_API_CALL EpDevice_Device(const OrtEpDevice* ep_device) noexcept {
  return ep_device != nullptr ? ep_device->device : nullptr;
}

const OrtMemoryInfo* ORT_API_CALL EpDevice_MemoryInfo(const OrtEpDevice* ep_device,
                                                      OrtDeviceMemoryType memory_type) noexcept {
  return ep_device != nullptr && memory_type == OrtDeviceMemoryType_DEFAULT ? ep_device->memory_info : nullptr;
}

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForInputs(const OrtSession* session, const OrtEpDevice** inputs_ep_devices,
                                                      size_t num_inputs) noexcept {
  return CpuDevices(session, PortList::kInputs, inputs_ep_devices, num_inputs);
}

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForOutputs(const OrtSession* session,
                                                       const OrtEpDevice** outputs_ep_devices,
                                                       size_t num_outputs) noexcept {
  return CpuDevices(session, PortList::kOutputs, outputs_ep_devices, num_outputs);
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_V2(
    OrtSessionOptions* session_options, OrtEnv* env, const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
    const char* const* ep_option_keys, const char* const* ep_option_vals, size_t num_ep_options) noexcept {
  const OrtStatusPtr failure = Guard([&] {
    Need(env, "env");
    NeedArray(ep_devices, num_ep_devices, "ep_devices");
    if (num_ep_devices == 0)
      Fail(Code::kInvalidArgument, "execution provider: expected at least one device, found none");
    for (std::size_t i = 0; i < num_ep_devices; ++i) {
      if (ep_devices[i] != &CpuEpDevice())
        Fail(Code::kInvalidArgument, "execution provider: expected devices that GetEpDevices lists, found another one");
    }
  });
  return failure != nullptr ? failure
                            : SessionOptionsAppendExecutionProvider(session_options, "CPUExecutionProvider",
                                                                    ep_option_keys, ep_option_vals, num_ep_options);
}

// Every policy ends at the only device there is.
OrtStatusPtr ORT_API_CALL SessionOptionsSetEpSelectionPolicy(OrtSessionOptions* session_options,
                                                             OrtExecutionProviderDevicePolicy policy) noexcept {
  return Guard([&] {
    Need(session_options, "session_options");
    if (policy < OrtExecutionProviderDevicePolicy_DEFAULT ||
        policy > OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER)
      Fail(Code::kInvalidArgument, "device policy: expected 0 to 6, found ", static_cast<int>(policy));
  });
}

OrtStatusPtr ORT_API_CALL GetSharedAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info,
                                             OrtAllocator** allocator) noexcept {
  return Guard([&] {
    Need(env, "env");
    Need(allocator, "allocator") = Need(mem_info, "mem_info").device == Device{} ? DefaultAllocator() : nullptr;
  });
}

}  // namespace sardonyx::capi
