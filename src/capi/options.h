// capi/options.h - what the handles of options hold.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capi/handles/kind.h"
#include "model/adapter_file.h"
#include "onnxruntime_c_api.h"
#include "runtime/options.h"

namespace sardonyx::capi {

class SharedWeights;

// Functions of the caller that make worker threads; both are set or none.
struct CustomThreads {
  OrtCustomCreateThreadFn create = nullptr;
  void* options = nullptr;
  OrtCustomJoinThreadFn join = nullptr;
};

// Makes the operators of sessions that have custom ones (capi/custom_op).
class OperatorSource {
 public:
  virtual ~OperatorSource() = default;
  // `logger` and `config` are the session's, for its kernels.
  virtual std::shared_ptr<const ops::Registry> Make(const ops::Registry& built_in, Logger logger,
                                                    const std::map<std::string, std::string>& config) const = 0;
};

// How a session chooses its providers if the caller names none; nothing set: the CPU.
struct EpSelection {
  std::optional<OrtExecutionProviderDevicePolicy> policy;
  EpSelectionDelegate delegate = nullptr;  // in place of a policy
  void* state = nullptr;
};

}  // namespace sardonyx::capi

// What a session hands on to its plug-ins: for compiled models without weights, or with their data at the caller's. The
// caller keeps these as long as the sessions.
struct sardonyx::runtime::PluginData {
  std::span<const std::byte> weightless_source;
  OrtReadNamedBufferFunc read = nullptr;
  void* read_state = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;  // only while CompileModel runs
  void* write_state = nullptr;
  std::shared_ptr<capi::SharedWeights> weights;  // of the prepacked-weights container; null: none
};

struct OrtSessionOptions {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kSessionOptions> mark;
  sardonyx::runtime::SessionOptions options;
  sardonyx::capi::CustomThreads threads;
  sardonyx::capi::EpSelection selection;
  std::vector<const OrtEpDevice*> devices;                                 // of the plug-ins' providers in `options`
  bool has_log_severity = false;                                           // false: the environment's
  int log_severity = -1;                                                   // as it was given; checked by sessions
  std::shared_ptr<const sardonyx::capi::OperatorSource> custom_operators;  // shared with clones; null: none
  sardonyx::runtime::PluginData context_data;
};

struct OrtRunOptions {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kRunOptions> mark;
  sardonyx::runtime::RunOptions options;
  std::vector<std::shared_ptr<const sardonyx::model::Adapter>> adapters;  // later ones come before earlier ones
  int log_severity = -1;                                                  // -1: as the session's
};

struct OrtThreadingOptions {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kThreadingOptions> mark;
  int intra_op_threads = 0;
  int inter_op_threads = 0;
  bool spin = true;
  bool flush_denormals = false;
  sardonyx::capi::CustomThreads threads;
  std::string affinity;  // which processors each worker may use, in ONNX Runtime's notation; "": all
};

namespace sardonyx::capi {

// Fails with kInvalidArgument for a number that is no level.
runtime::OptimizationLevel CheckedLevel(GraphOptimizationLevel level);
// Checks what every config entry must be: a key of 1 to 1024 bytes, a value of at most 8192.
void SetConfigEntry(std::map<std::string, std::string>& config, const char* key, const char* value);
// Has the pool's threads made by the caller's functions, if there are any; fails with kInvalidArgument for one alone.
void SetThreadMaker(const CustomThreads& custom, sardonyx::runtime::ThreadPoolOptions& pool);

}  // namespace sardonyx::capi
