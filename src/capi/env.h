// capi/env.h - OrtEnv: the one environment of the process, with a count of its holders.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/env_allocators.h"
#include "capi/handles/key_value_pairs.h"
#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"
#include "providers/plugin/libraries.h"
#include "providers/plugin/shared_allocators.h"
#include "runtime/environment.h"

struct OrtEnv {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kEnv> mark;
  OrtEnv(std::shared_ptr<sardonyx::runtime::Environment> shared, std::vector<const OrtEpDevice*> own_devices,
         OrtKeyValuePairs::Entries entries)
      : environment(std::move(shared)), libraries(std::move(own_devices)), config(std::move(entries)) {}

  std::shared_ptr<sardonyx::runtime::Environment> environment;  // sessions share it and may outlive the handle
  int holders = 0;
  sardonyx::plugin::Libraries libraries;  // of providers; sessions share those that they use
  OrtKeyValuePairs::Entries config;       // guarded by the process's lock (env.cpp)
  sardonyx::capi::RegisteredAllocators allocators;
  sardonyx::plugin::SharedAllocators shared_allocators;  // of devices
};

namespace sardonyx::capi {

// The library of a device, in the process's environment; nothing if it is not registered there. Thread-safe.
plugin::Libraries::Place FindRegistered(const OrtEpDevice* device);
plugin::Libraries::Place FindRegisteredCopier(const Device& from, const Device& to);  // that copies between these
OrtEnv* CurrentEnv();  // the process's, which its holders keep; NULL if there is none
// Entries that plug-ins read (OrtEpApi::GetEnvConfigEntries). Thread-safe.
void SetEnvConfig(OrtEnv& env, std::string_view key, std::string_view value);

}  // namespace sardonyx::capi
