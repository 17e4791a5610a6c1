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
#include "capi/provider_choice.h"
#include "capi/session.h"
#include "providers/plugin/hardware_devices.h"
#include "providers/plugin/session_calls.h"

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

// Runs `change`; what stands in its way has the code that ONNX Runtime gives.
template <typename Change>
void ChangeLibraries(Change&& change) {
  try {
    change();
  } catch (const Error& error) {
    Fail(Code::kFail, error.what());
  }
}

// The prefix of the config entries in which a provider finds its options; its name is in lower case there.
std::string OptionPrefix(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return "ep." + name + ".";
}

}  // namespace

OrtStatusPtr ORT_API_CALL RegisterExecutionProviderLibrary(OrtEnv* env, const char* registration_name,
                                                           const ORTCHAR_T* path) noexcept {
  return Guard([&] {
    OrtEnv& target = Need(env, "env");
    const std::string name = &Need(registration_name, "registration_name");
    const std::string file = AbsolutePath(&Need(path, "path"));
    if (name.ends_with(".virtual")) SetEnvConfig(target, "allow_virtual_devices", "1");
    ChangeLibraries([&] {
      target.libraries.Register(name, file, {&ApiBase(), plugin::HardwareDevices(), target.environment->logger()});
    });
  });
}

OrtStatusPtr ORT_API_CALL UnregisterExecutionProviderLibrary(OrtEnv* env, const char* registration_name) noexcept {
  return Guard([&] {
    OrtEnv& target = Need(env, "env");
    const std::string name = &Need(registration_name, "registration_name");
    ChangeLibraries([&] { target.libraries.Unregister(name, target.shared_allocators); });
  });
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
    session_options->devices.insert(session_options->devices.end(), devices.begin(), devices.end());
    const plugin::Libraries::Place place = env->libraries.Find(devices.front());
    if (place.factory != nullptr) AddOperatorsOf(place.library, *place.factory, *session_options);
  });
  return failure != nullptr || !is_own
             ? failure
             : SessionOptionsAppendExecutionProvider(session_options, "CPUExecutionProvider", ep_option_keys,
                                                     ep_option_vals, num_ep_options);
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetEpSelectionPolicy(OrtSessionOptions* session_options,
                                                             OrtExecutionProviderDevicePolicy policy) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(session_options, "session_options");
    if (policy < OrtExecutionProviderDevicePolicy_DEFAULT ||
        policy > OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER)
      Fail(Code::kInvalidArgument, "device policy: expected 0 to 6, found ", static_cast<int>(policy));
    target.selection = {.policy = policy};
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetEpSelectionPolicyDelegate(OrtSessionOptions* session_options,
                                                                     EpSelectionDelegate delegate,
                                                                     void* delegate_state) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(session_options, "session_options");
    target.selection = {.delegate = delegate, .state = delegate_state};
  });
}

OrtStatusPtr ORT_API_CALL SetEpDynamicOptions(OrtSession* sess, const char* const* keys, const char* const* values,
                                              size_t kv_len) noexcept {
  return Guard([&] {
    const runtime::Session& session = BuiltSession(&Need(sess, "sess"));
    NeedArray(keys, kv_len, "keys");
    NeedArray(values, kv_len, "values");
    if (kv_len == 0) Fail(Code::kInvalidArgument, "dynamic options: expected at least one, found none");
    for (std::size_t i = 0; i < kv_len; ++i) {
      Need(keys[i], "keys[i]");
      Need(values[i], "values[i]");
    }
    if (!plugin::SetDynamicOptions(session.providers(), keys, values, kv_len))
      session.logger().Warn("SetEpDynamicOptions: no provider of this session takes any option; nothing was set");
  });
}

}  // namespace sardonyx::capi
