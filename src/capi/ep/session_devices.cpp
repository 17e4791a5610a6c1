// capi/ep/session_devices.cpp - the devices and the memory that a session takes its inputs from and gives its outputs
// to.
#include <memory>

#include "base/lasting.h"
#include "capi/ep_device.h"
#include "capi/functions.h"
#include "capi/handles/status.h"
#include "capi/session.h"
#include "providers/plugin/plugin_provider.h"

namespace sardonyx::capi {
namespace {

using runtime::Session;

// NULL if it is not a plug-in's.
const plugin::PluginProvider* PluginOf(const Session& session, std::string_view provider) {
  return dynamic_cast<const plugin::PluginProvider*>(session.providers().Find(provider));
}

// Of the provider's devices the one with its memory.
const OrtEpDevice* DeviceOf(const Session& session, std::string_view provider) {
  const plugin::PluginProvider* plugin = PluginOf(session, provider);
  if (plugin == nullptr) return &CpuEpDevice();
  for (const OrtEpDevice* device : plugin->ep().devices())
    if (device->memory != nullptr && device->memory->device == plugin->device()) return device;
  return plugin->ep().devices().front();
}

// Host memory as a session with an arena says of its inputs and outputs.
const OrtMemoryInfo& HostArenaMemoryInfo() {
  static constexpr auto kMake = [] {
    return std::make_unique<OrtMemoryInfo>(OrtMemoryInfo{{}, "Cpu", OrtArenaAllocator, OrtMemTypeDefault, Device{}});
  };
  static constinit Lasting<OrtMemoryInfo, kMake> info;
  return *info;
}

const OrtMemoryInfo* MemoryOf(const Session& session, std::string_view provider, const Device& place) {
  const plugin::PluginProvider* plugin = PluginOf(session, provider);
  if (plugin == nullptr) return session.options().cpu_arena ? &HostArenaMemoryInfo() : &HostMemoryInfo();
  if (place == Device{}) return &HostMemoryInfo();
  for (const OrtEpDevice* device : plugin->ep().devices())
    for (const OrtMemoryInfo* memory : {device->memory, device->host_accessible_memory})
      if (memory != nullptr && memory->device == place) return memory;
  return &MemoryInfoOf(place);
}

// Calls `get` with the session, the index and the provider of each port.
template <typename Result, typename Get>
OrtStatusPtr Fill(const OrtSession* session, PortList ports, Result* results, size_t count, const char* name,
                  const Result& otherwise, const Get& get) noexcept {
  return Guard([&] {
    const std::size_t expected = PortsOf(session, ports).size();
    if (count != expected) Fail(Code::kInvalidArgument, name, ": expected room for ", expected, ", found ", count);
    NeedArray(results, count, name);
    for (std::size_t i = 0; i < count; ++i) {
      if (session->session == nullptr) {  // its model is being edited
        results[i] = otherwise;
        continue;
      }
      const Session& of = *session->session;
      results[i] = get(of, i, ports == PortList::kInputs ? of.InputProvider(i) : of.OutputProvider(i));
    }
  });
}

OrtStatusPtr Devices(const OrtSession* session, PortList ports, const OrtEpDevice** devices, size_t count,
                     const char* name) noexcept {
  return Fill<const OrtEpDevice*>(
      session, ports, devices, count, name, &CpuEpDevice(),
      [](const Session& of, std::size_t /*index*/, std::string_view provider) { return DeviceOf(of, provider); });
}

OrtStatusPtr Memories(const OrtSession* session, PortList ports, const OrtMemoryInfo** infos, size_t count,
                      const char* name) noexcept {
  return Fill<const OrtMemoryInfo*>(session, ports, infos, count, name, &HostMemoryInfo(),
                                    [&](const Session& of, std::size_t index, std::string_view provider) {
                                      const bool inputs = ports == PortList::kInputs;
                                      const bool on_host = inputs ? of.InputIsShared(index) : of.OutputIsShared(index);
                                      const Device place = inputs ? of.InputPlace(index) : of.OutputPlace(index);
                                      return MemoryOf(of, provider, on_host ? Device{} : place);
                                    });
}

}  // namespace

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForInputs(const OrtSession* session, const OrtEpDevice** inputs_ep_devices,
                                                      size_t num_inputs) noexcept {
  return Devices(session, PortList::kInputs, inputs_ep_devices, num_inputs, "inputs_ep_devices");
}

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForOutputs(const OrtSession* session,
                                                       const OrtEpDevice** outputs_ep_devices,
                                                       size_t num_outputs) noexcept {
  return Devices(session, PortList::kOutputs, outputs_ep_devices, num_outputs, "outputs_ep_devices");
}

OrtStatusPtr ORT_API_CALL SessionGetMemoryInfoForInputs(const OrtSession* session,
                                                        const OrtMemoryInfo** inputs_memory_info,
                                                        size_t num_inputs) noexcept {
  return Memories(session, PortList::kInputs, inputs_memory_info, num_inputs, "inputs_memory_info");
}

OrtStatusPtr ORT_API_CALL SessionGetMemoryInfoForOutputs(const OrtSession* session,
                                                         const OrtMemoryInfo** outputs_memory_info,
                                                         size_t num_outputs) noexcept {
  return Memories(session, PortList::kOutputs, outputs_memory_info, num_outputs, "outputs_memory_info");
}

}  // namespace sardonyx::capi
