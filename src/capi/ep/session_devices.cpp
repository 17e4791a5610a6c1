// capi/ep/session_devices.cpp - the devices that a session takes its inputs from and gives its outputs to.
#include "capi/ep_device.h"
#include "capi/functions.h"
#include "capi/handles/status.h"
#include "capi/session.h"

namespace sardonyx::capi {
namespace {

using Ports = const std::vector<runtime::Port>& (runtime::Session::*)() const;

OrtStatusPtr CpuDevices(const OrtSession* session, Ports ports, const OrtEpDevice** devices, size_t count) noexcept {
  return Guard([&] {
    const std::size_t expected = (*Need(session, "session").session.*ports)().size();
    if (count != expected) Fail(Code::kInvalidArgument, "devices: expected room for ", expected, ", found ", count);
    NeedArray(devices, count, "ep_devices");
    for (std::size_t i = 0; i < count; ++i) devices[i] = &CpuEpDevice();
  });
}

}  // namespace

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForInputs(const OrtSession* session, const OrtEpDevice** inputs_ep_devices,
                                                      size_t num_inputs) noexcept {
  return CpuDevices(session, &runtime::Session::inputs, inputs_ep_devices, num_inputs);
}

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForOutputs(const OrtSession* session,
                                                       const OrtEpDevice** outputs_ep_devices,
                                                       size_t num_outputs) noexcept {
  return CpuDevices(session, &runtime::Session::outputs, outputs_ep_devices, num_outputs);
}

}  // namespace sardonyx::capi
