// tools/cli/providers.cpp - the execution providers that the command line names, and the libraries that they come from.
#include "providers.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace sardonyx::cli {
namespace {

// The first device of a provider from a library (many take one only); nullptr: it is not from a library.
const OrtEpDevice* DeviceOf(const OrtEnv& env, const std::string& provider) {
  const OrtEpDevice* const* all = nullptr;
  std::size_t count = 0;
  Check(Ort().GetEpDevices(&env, &all, &count));
  if (provider == "CPUExecutionProvider") return nullptr;
  const auto* found =
      std::find_if(all, all + count, [&](const OrtEpDevice* each) { return provider == Ort().EpDevice_EpName(each); });
  return found != all + count ? *found : nullptr;
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
  if (!settings.provider_libraries.empty() && settings.providers.empty())
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
    const OrtEpDevice* device = DeviceOf(env, settings.providers[i]);
    Check(device == nullptr ? Sardonyx().AppendProvider(options, settings.providers[i].c_str(), keys.data(),
                                                        values.data(), keys.size(), nullptr)
                            : Ort().SessionOptionsAppendExecutionProvider_V2(options, &env, &device, 1, keys.data(),
                                                                             values.data(), keys.size()));
  }
}

}  // namespace sardonyx::cli
