// capi/env.h - OrtEnv: the one environment of the process, with a count of its holders.
#pragma once

#include <memory>

#include "capi/env_allocators.h"
#include "onnxruntime_c_api.h"
#include "runtime/environment.h"

struct OrtEnv {
  std::shared_ptr<sardonyx::runtime::Environment> environment;  // sessions share it and may outlive the handle
  int holders = 0;
  sardonyx::capi::RegisteredAllocators allocators;
};
