// runtime/options.h - the options of a session and of a run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "ir/graph.h"
#include "runtime/thread_pool.h"
#include "tensor/stream.h"
#include "tensor/value.h"

namespace sardonyx::optimizer {
class Explanation;
}

namespace sardonyx::providers {
class Provider;
}

namespace sardonyx::ops {
class Registry;
}

namespace sardonyx::runtime {

class PackedWeights;
struct PluginData;  // what plug-ins get; defined where these are known (capi/options.h)
class CompiledWeights;

// ONNX Runtime's numbers.
enum class OptimizationLevel { kDisable = 0, kBasic = 1, kExtended = 2, kLayout = 3, kAll = 99 };
enum class ExecutionMode { kSequential = 0, kParallel = 1 };

struct SessionOptions;

// A provider the user asked for, in order of priority, with its options.
struct ProviderChoice {
  std::string name;  // "CPUExecutionProvider"
  std::vector<std::pair<std::string, std::string>> options;
  std::string missing = {};  // why the caller found it unavailable, which the user knows; placement names it, too
  // Makes it for a session with these options; null: a factory of the environment does.
  std::function<std::shared_ptr<providers::Provider>(const SessionOptions&, const Logger&)> make = {};
};

struct SessionOptions {
  OptimizationLevel optimization_level = OptimizationLevel::kAll;
  ExecutionMode execution_mode = ExecutionMode::kSequential;
  int intra_op_threads = 0;  // 0: what affinity and the cgroup allow; the calling thread counts
  int inter_op_threads = 0;
  bool deterministic_compute = false;  // what session.use_deterministic_compute says if the entry is there
  bool use_environment_pool = false;   // DisablePerSessionThreads: the environment's own thread count holds
  ThreadPoolOptions thread_pool;       // threads made by the caller's functions
  bool memory_pattern = true;
  bool cpu_arena = true;
  std::string log_id;
  Severity log_severity = Severity::kWarning;
  int log_verbosity = 0;
  Logger::Sink log_sink;             // null: the environment's
  std::string optimized_model_path;  // where the optimized model is written; "": nowhere
  std::string profile_prefix;        // "": no profile
  std::vector<std::pair<std::string, std::int64_t>> free_dimensions_by_denotation;
  std::vector<std::pair<std::string, std::int64_t>> free_dimensions_by_name;
  std::map<std::string, std::string> config;  // ONNX Runtime's config entries ("session. ...") and ours
  std::map<std::string, Value> initializers;  // AddInitializer: replaces the model's; the caller keeps the memory
  std::map<std::string, Value> external_initializers;  // AddExternalInitializers: likewise, for external data
  std::map<std::string, Value> fixed_inputs;           // of the model's graph: constants, no longer inputs
  std::map<std::string, std::shared_ptr<Buffer>> external_files;  // by the model's location string
  std::shared_ptr<const ops::Registry> operators;  // if some are custom; shared with their kernels; null: built-in ones
  std::vector<ProviderChoice> providers;           // empty: CPU
  std::function<std::vector<ProviderChoice>(const Model&)> choose_providers;  // if `providers` is empty; may be null
  std::vector<std::string> disabled_passes;                                   // optimizer passes by name
  optimizer::Explanation* explanation = nullptr;                              // used only while the session is created
  bool any_scalar_shape = false;                      // the declared shapes of scalar inputs are ignored
  std::shared_ptr<std::atomic<bool>> load_cancelled;  // set by the caller while the session is created: that fails
  std::shared_ptr<PackedWeights> packed_weights;      // shared with other sessions; null: the session packs its own
  std::shared_ptr<const PluginData> plugin_data;      // null: nothing
  std::shared_ptr<CompiledWeights> compiled;          // of a compiled model, for it and its variants; else null
  // Receives the session as a compiled model (docs/compiled_models.md), in pieces; null: nothing is compiled.
  std::function<void(std::string_view)> compiled_sink;
  std::vector<std::string> kept_values;  // of the model's graph: additional outputs, which no pass removes

  std::string Config(const std::string& key, const std::string& otherwise) const {
    const auto found = config.find(key);
    return found == config.end() ? otherwise : found->second;
  }
};

struct RunOptions {
  std::string tag;
  Severity log_severity = Severity::kWarning;
  int log_verbosity = 0;
  std::atomic<bool> terminate = false;  // set by any thread: the run ends with kFail before its next step
  bool synchronize = true;              // false: the run may end before the work that it gave to streams is done
  std::shared_ptr<Stream> stream;  // takes the work for its device, shared with the caller; null: one of the session's
  std::string profile_prefix;      // "": no profile of this run
  std::map<std::string, std::string> config;
};

}  // namespace sardonyx::runtime
