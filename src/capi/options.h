// capi/options.h - what the option handles hold.
#pragma once

#include <map>
#include <string>

#include "onnxruntime_c_api.h"
#include "runtime/options.h"

struct OrtSessionOptions {
  sardonyx::runtime::SessionOptions options;
  bool has_log_severity = false;  // false: the environment's
};

struct OrtRunOptions {
  sardonyx::runtime::RunOptions options;
  int log_severity = -1;  // -1: as the session's
};

struct OrtThreadingOptions {
  int intra_op_threads = 0;
  int inter_op_threads = 0;
  bool spin = true;
};

namespace sardonyx::capi {

// Checks what every config entry must be: a key of 1 to 1024 bytes, a value of at most 8192.
void SetConfigEntry(std::map<std::string, std::string>& config, const char* key, const char* value);
// Adds the passes that the config entries "optimization.disable_specified_optimizers" and "session.disable_quant_qdq"
// switch off to disabled_passes.
void DisablePasses(sardonyx::runtime::SessionOptions& options);

}  // namespace sardonyx::capi
