// plugins/host/options.h - the options that a user gives to a provider.
#pragma once

#include <optional>
#include <string>

#include "host_api.h"

namespace plugin_host {

// Reads `ep.<provider in lower case>.<option>` from a session's options.
class Options {
 public:
  Options(const HostApi& apis, const OrtSessionOptions& options, const std::string& provider);

  std::optional<std::string> Text(const std::string& option) const;
  // Fails, naming the option, for what is not a number of 0 or more.
  int Count(const std::string& option, int otherwise) const;
  // Fails, naming the option, unless it is 0 or 1.
  bool Flag(const std::string& option, bool otherwise) const;

 private:
  const HostApi& apis_;
  std::string prefix_;
  Handle<OrtKeyValuePairs> entries_;
};

}  // namespace plugin_host
