// plugins/host/host_api.cpp - finds the tables of the runtime that loaded a plug-in.
#include "host_api.h"

#include <algorithm>
#include <cstdlib>

namespace plugin_host {

HostApi ConnectToHost(const OrtApiBase& host, const std::string& name) {
  // "1.23.2": the second number is the newest version that GetApi has.
  const std::string version = host.GetVersionString();
  const std::size_t point = version.find('.');
  const auto newest =
      static_cast<std::uint32_t>(point == std::string::npos ? 0 : std::atoi(version.c_str() + point + 1));
  if (newest < kOldestHost)
    throw std::runtime_error(name + ": expected a runtime of version 1." + std::to_string(kOldestHost) +
                             " or newer, found " + version);
  HostApi apis;
  apis.host_version = std::min<std::uint32_t>(newest, ORT_API_VERSION);
  apis.host = host.GetApi(apis.host_version);
  if (apis.host == nullptr)
    throw std::runtime_error(name + ": the runtime " + version + " has no API of version " +
                             std::to_string(apis.host_version));
  apis.host_ep = apis.host->GetEpApi();
  return apis;
}

}  // namespace plugin_host
