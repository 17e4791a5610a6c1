// capi/ep/session_devices.cpp - the devices that a session takes its inputs from and gives its outputs to.
#include "capi/ep_device.h"
#include "capi/functions.h"
#include "capi/handles/status.h"
#include "capi/session.h"

namespace sardonyx::capi {
namespace {

OrtStatusPtr CpuDevices(const OrtSession* session, PortList ports, const OrtEpDevice** devices, size_t count,
                        const char* name) noexcept {
  return Guard([&] {
    const std::size_t expected = PortsOf(session, ports).size();
    if (count != expected) Fail(Code::kInvalidArgument, name, ": expected room for ", expected, ", found ", count);
    NeedArray(devices, count, name);
    for (std::size_t i = 0; i < count; ++i) devices[i] = &CpuEpDevice();
  });
}

}  // namespace

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForInputs(const OrtSession* session, const OrtEpDevice** inputs_ep_devices,
                                                      size_t num_inputs) noexcept {
  return CpuDevices(session, PortList::kInputs, inputs_ep_devices, num_inputs, "inputs_ep_devices");
}

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForOutputs(const OrtSession* session,
                                                       const OrtEpDevice** outputs_ep_devices,
                                                       size_t num_outputs) noexcept {
  return CpuDevices(session, PortList::kOutputs, outputs_ep_devices, num_outputs, "outputs_ep_devices");
}

}  // namespace sardonyx::capi
