// capi/ep/libraries.cpp - registers libraries of providers, lists their devices, and puts providers into the options of
// sessions.
#include "providers/plugin/libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "capi/api_table.h"
#include "capi/env.h"
#include "capi/ep_device.h"
#include "capi/functions.h"
#include "capi/handles/status.h"
#include "capi/options.h"
#include "providers/plugin/hardware_devices.h"
#include "providers/plugin/plugin_provider.h"

namespace sardonyx::capi {
namespace {

// A relative path is one from the folder that this library lies in, as ONNX Runtime has it.
std::string AbsolutePath(const char* path) {
  const std::filesystem::path given(path);
  Dl_info own{};
  if (given.is_absolute() || dladdr(reinterpret_cast<const void*>(&ApiBase), &own) == 0 || own.dli_fname == nullptr)
    return given.string();
  return (std::filesystem::absolute(own.dli_fname).parent_path() / given).string();
}

// The prefix of the config entries in which a provider finds its options: "ep.myprovider.".
std::string OptionPrefix(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return "ep." + name + ".";
}

// Makes a provider for a session that is being created. The library may have been unregistered since its devices were
// chosen: options do not keep it.
std::shared_ptr<providers::Provider> MakeProvider(const std::weak_ptr<plugin::Library>& library,
                                                  const plugin::Factory* factory,
                                                  const std::vector<const OrtEpDevice*>& devices,
                                                  const std::string& name, const runtime::SessionOptions& options,
                                                  const Logger& logger) {
  std::shared_ptr<plugin::Library> held = library.lock();
  if (held == nullptr)
    Fail(Code::kInvalidArgument, "execution provider '", name,
         "': the library of the devices in these session options has been unregistered");
  OrtSessionOptions handle;
  handle.options = options;
  return std::make_shared<plugin::PluginProvider>(
      std::make_shared<plugin::Ep>(std::move(held), *factory, devices, handle, logger));
}

runtime::ProviderChoice ChoiceOf(OrtEnv& env, std::span<const OrtEpDevice* const> devices) {
  const plugin::Libraries::Place place = env.libraries.Find(devices.front());
  if (place.factory == nullptr)
    Fail(Code::kInvalidArgument, "execution provider: expected devices that GetEpDevices lists, found another one");
  for (const OrtEpDevice* device : devices) {
    if (place.factory->FindDevice(device) == nullptr)
      Fail(Code::kInvalidArgument, "execution provider '", place.factory->name(),
           "': expected devices of this provider only, found one of another");
  }
  return {.name = place.factory->name(),
          .make = [library = std::weak_ptr<plugin::Library>(place.library), factory = place.factory,
                   devices = std::vector<const OrtEpDevice*>(devices.begin(), devices.end()),
                   name = place.factory->name()](const runtime::SessionOptions& options, const Logger& logger) {
            return MakeProvider(library, factory, devices, name, options, logger);
          }};
}

}  // namespace

OrtStatusPtr ORT_API_CALL RegisterExecutionProviderLibrary(OrtEnv* env, const char* registration_name,
                                                           const ORTCHAR_T* path) noexcept {
  return Guard([&] {
    OrtEnv& target = Need(env, "env");
    const std::string name = &Need(registration_name, "registration_name");
    const std::string file = AbsolutePath(&Need(path, "path"));
    if (name.ends_with(".virtual")) SetEnvConfig(target, "allow_virtual_devices", "1");
    target.libraries.Register(name, file, {&ApiBase(), plugin::HardwareDevices(), target.environment->logger()});
  });
}

OrtStatusPtr ORT_API_CALL UnregisterExecutionProviderLibrary(OrtEnv* env, const char* registration_name) noexcept {
  return Guard([&] { Need(env, "env").libraries.Unregister(&Need(registration_name, "registration_name")); });
}

OrtStatusPtr ORT_API_CALL GetEpDevices(const OrtEnv* env, const OrtEpDevice* const** ep_devices,
                                       size_t* num_ep_devices) noexcept {
  return Guard([&] {
    const std::span<const OrtEpDevice* const> devices = Need(env, "env").libraries.devices();
    Need(num_ep_devices, "num_ep_devices");
    Need(ep_devices, "ep_devices") = devices.data();
    *num_ep_devices = devices.size();
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_V2(
    OrtSessionOptions* session_options, OrtEnv* env, const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
    const char* const* ep_option_keys, const char* const* ep_option_vals, size_t num_ep_options) noexcept {
  bool is_own = false;
  const OrtStatusPtr failure = Guard([&] {
    runtime::SessionOptions& options = Need(session_options, "session_options").options;
    Need(env, "env");
    NeedArray(ep_devices, num_ep_devices, "ep_devices");
    NeedArray(ep_option_keys, num_ep_options, "ep_option_keys");
    NeedArray(ep_option_vals, num_ep_options, "ep_option_vals");
    if (num_ep_devices == 0)
      Fail(Code::kInvalidArgument, "execution provider: expected at least one device, found none");
    const std::span devices(ep_devices, num_ep_devices);
    is_own = std::all_of(devices.begin(), devices.end(), [](const auto* device) { return device == &CpuEpDevice(); });
    if (is_own) return;
    runtime::ProviderChoice choice = ChoiceOf(*env, devices);
    const std::string prefix = OptionPrefix(choice.name);
    std::map<std::string, std::string> config = options.config;
    for (std::size_t i = 0; i < num_ep_options; ++i) {
      const std::string key = prefix + &Need(ep_option_keys[i], "ep_option_keys[i]");
      SetConfigEntry(config, key.c_str(), &Need(ep_option_vals[i], "ep_option_vals[i]"));
    }
    options.providers.push_back(std::move(choice));
    options.config = std::move(config);
  });
  return failure != nullptr || !is_own
             ? failure
             : SessionOptionsAppendExecutionProvider(session_options, "CPUExecutionProvider", ep_option_keys,
                                                     ep_option_vals, num_ep_options);
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

}  // namespace sardonyx::capi
