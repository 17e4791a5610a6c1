// tools/cli/providers.cpp - the execution providers that the command line names, and the libraries that they come from.
#include "providers.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <vector>

namespace sardonyx::cli {
namespace {

std::vector<const OrtEpDevice*> DevicesOf(const OrtEnv& env, const std::string& provider) {
  const OrtEpDevice* const* all = nullptr;
  std::size_t count = 0;
  Check(Ort().GetEpDevices(&env, &all, &count));
  std::vector<const OrtEpDevice*> found;
  if (provider == "CPUExecutionProvider") return found;
  std::copy_if(all, all + count, std::back_inserter(found),
               [&](const OrtEpDevice* each) { return provider == Ort().EpDevice_EpName(each); });
  return found;
}

const char* TypeOf(const OrtEpDevice* device) {
  const OrtHardwareDeviceType type = Ort().HardwareDevice_Type(Ort().EpDevice_Device(device));
  return type == OrtHardwareDeviceType_NPU ? "npu" : type == OrtHardwareDeviceType_GPU ? "gpu" : "cpu";
}

// "0 cpu (Intel, kind=host)"
std::string Describe(std::size_t number, const OrtEpDevice* device) {
  std::string text =
      std::to_string(number) + " " + TypeOf(device) + " (" + Ort().HardwareDevice_Vendor(Ort().EpDevice_Device(device));
  const char *const *keys = nullptr, *const *values = nullptr;
  std::size_t count = 0;
  Ort().GetKeyValuePairs(Ort().EpDevice_EpMetadata(device), &keys, &values, &count);
  for (std::size_t i = 0; i < count; ++i)
    if (std::string(keys[i]) != "library_path") text += std::string(", ") + keys[i] + "=" + values[i];
  return text + ")";
}

// `which` is a number, or a type of which the first is meant.
const OrtEpDevice* Select(const std::vector<const OrtEpDevice*>& devices, const std::string& provider,
                          const std::string& which) {
  std::string listed;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (which == std::to_string(i) || which == TypeOf(devices[i])) return devices[i];
    listed += (listed.empty() ? "" : ", ") + Describe(i, devices[i]);
  }
  throw Failure(ORT_INVALID_ARGUMENT, "--device: " + provider + " has no device '" + which + "'; expected one of " +
                                          (listed.empty() ? "none: it is not from a library" : listed));
}

// Those that --device names, else the first (many take one only); none: the provider is not from a library.
std::vector<const OrtEpDevice*> ChosenDevices(const OrtEnv& env, const std::string& provider,
                                              const std::vector<std::string>& chosen) {
  const std::vector<const OrtEpDevice*> devices = DevicesOf(env, provider);
  std::vector<const OrtEpDevice*> selected;
  for (const std::string& text : chosen) {
    const std::size_t at = text.rfind(':');
    if (at != std::string::npos && text.substr(0, at) == provider)
      selected.push_back(Select(devices, provider, text.substr(at + 1)));
  }
  if (selected.empty() && !devices.empty()) selected.push_back(devices.front());
  return selected;
}

void CheckDevices(const SessionSettings& settings) {
  for (const std::string& text : settings.devices) {
    const std::string name = text.substr(0, text.rfind(':'));
    if (name.size() == text.size() ||
        std::find(settings.providers.begin(), settings.providers.end(), name) == settings.providers.end())
      throw Failure(ORT_INVALID_ARGUMENT,
                    "--device: expected NAME:DEVICE with the NAME of a --provider, found '" + text + "'");
  }
}

std::string NamesIn(const OrtEnv& env) {
  const OrtEpDevice* const* all = nullptr;
  std::size_t count = 0;
  Check(Ort().GetEpDevices(&env, &all, &count));
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = Ort().EpDevice_EpName(all[i]);
    if (name != "CPUExecutionProvider" && names.find(name) == std::string::npos)
      names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

std::pair<std::string, std::string> SplitEntry(const std::string& text, const std::string& option) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0)
    throw Failure(ORT_INVALID_ARGUMENT, option + ": expected KEY=VALUE, found '" + text + "'");
  return {text.substr(0, at), text.substr(at + 1)};
}

void AppendProviders(OrtEnv& env, OrtSessionOptions* options, const SessionSettings& settings) {
  for (const std::string& library : settings.provider_libraries) {
    const std::filesystem::path path = std::filesystem::absolute(library);
    Check(Ort().RegisterExecutionProviderLibrary(&env, path.string().c_str(), path.c_str()));
  }
  std::vector<std::vector<std::pair<std::string, std::string>>> entries(settings.providers.size());
  for (const std::string& text : settings.provider_options) {
    const std::string name = text.substr(0, text.find(':'));
    const auto found = std::find(settings.providers.begin(), settings.providers.end(), name);
    if (name.size() == text.size() || found == settings.providers.end())
      throw Failure(ORT_INVALID_ARGUMENT,
                    "--provider-option: expected NAME:KEY=VALUE with the NAME of a --provider, found '" + text + "'");
    entries[static_cast<std::size_t>(found - settings.providers.begin())].push_back(
        SplitEntry(text.substr(name.size() + 1), "--provider-option"));
  }
  CheckDevices(settings);
  if (settings.policy) Check(Ort().SessionOptionsSetEpSelectionPolicy(options, *settings.policy));
  if (!settings.provider_libraries.empty() && settings.providers.empty() && !settings.policy)
    throw Failure(ORT_INVALID_ARGUMENT,
                  "--provider-library: expected --provider with a provider to use, found none; "
                  "those of the libraries are: " +
                      NamesIn(env));
  for (std::size_t i = 0; i < settings.providers.size(); ++i) {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : entries[i]) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    const std::vector<const OrtEpDevice*> devices = ChosenDevices(env, settings.providers[i], settings.devices);
    Check(devices.empty()
              ? Sardonyx().AppendProvider(options, settings.providers[i].c_str(), keys.data(), values.data(),
                                          keys.size(), nullptr)
              : Ort().SessionOptionsAppendExecutionProvider_V2(options, &env, devices.data(), devices.size(),
                                                               keys.data(), values.data(), keys.size()));
  }
}

}  // namespace sardonyx::cli
