// capi/session_options.cpp - the functions of OrtSessionOptions.
#include <atomic>
#include <cstring>
#include <memory>

#include "capi/functions.h"
#include "capi/handles/key_value_pairs.h"
#include "capi/handles/release.h"
#include "capi/handles/value.h"
#include "capi/logging.h"
#include "capi/options.h"
#include "capi/own_functions.h"

namespace sardonyx::capi {
namespace {

using runtime::SessionOptions;

// Runs `change(options)` on the caller's options.
template <typename Change>
OrtStatusPtr Modify(OrtSessionOptions* options, Change&& change) noexcept {
  return Guard([&] { change(Need(options, "options").options); });
}

void AddNamed(std::map<std::string, Value>& values, const char* name, const OrtValue* value) {
  const std::string key = &Need(name, "name");
  NeedTensor(value, "val");
  if (!values.emplace(key, *AsValue(value)).second)
    Fail(Code::kInvalidArgument, "initializer '", key, "': expected each name once, found it twice");
}

}  // namespace

runtime::OptimizationLevel CheckedLevel(GraphOptimizationLevel level) {
  const int number = level;
  switch (number) {
    case ORT_DISABLE_ALL:
    case ORT_ENABLE_BASIC:
    case ORT_ENABLE_EXTENDED:
    case ORT_ENABLE_LAYOUT:
    case ORT_ENABLE_ALL:
      return static_cast<runtime::OptimizationLevel>(number);
    default:
      Fail(Code::kInvalidArgument, "graph optimization level: expected 0, 1, 2, 3 or 99, found ", number);
  }
}

void SetConfigEntry(std::map<std::string, std::string>& config, const char* key, const char* value) {
  constexpr std::size_t kMaxKey = 1024, kMaxValue = 8192;
  const std::size_t key_length = std::strlen(&Need(key, "config_key"));
  const std::size_t value_length = std::strlen(&Need(value, "config_value"));
  if (key_length == 0 || key_length > kMaxKey)
    Fail(Code::kInvalidArgument, "config entry: expected a key of 1 to ", kMaxKey, " bytes, found ", key_length);
  if (value_length > kMaxValue)
    Fail(Code::kInvalidArgument, "config entry '", key, "': expected a value of at most ", kMaxValue, " bytes, found ",
         value_length);
  config[key] = value;
}

OrtStatusPtr ORT_API_CALL CreateSessionOptions(OrtSessionOptions** options) noexcept {
  return Guard([&] {
    auto& result = Need(options, "options");
    auto made = std::make_unique<OrtSessionOptions>();
    made->options.load_cancelled = std::make_shared<std::atomic<bool>>(false);
    result = made.release();
  });
}

OrtStatusPtr ORT_API_CALL CloneSessionOptions(const OrtSessionOptions* in_options,
                                              OrtSessionOptions** out_options) noexcept {
  return Guard([&] {
    const OrtSessionOptions& from = Need(in_options, "in_options");
    auto& result = Need(out_options, "out_options");
    result = std::make_unique<OrtSessionOptions>(from).release();
  });
}

void ORT_API_CALL ReleaseSessionOptions(OrtSessionOptions* input) noexcept { ReleaseHandle(input); }

// May be called from any thread while sessions are created from these options or from copies of them.
OrtStatusPtr ORT_API_CALL SessionOptionsSetLoadCancellationFlag(OrtSessionOptions* options, bool cancel) noexcept {
  return Modify(options, [&](SessionOptions& o) {
    if (o.load_cancelled == nullptr) o.load_cancelled = std::make_shared<std::atomic<bool>>(false);
    *o.load_cancelled = cancel;
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetWeightlessSourceModelBuffer(OrtSessionOptions* options,
                                                                       const void* source_model_data,
                                                                       size_t source_model_data_length) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(options, "options");
    const auto* data = &Need(static_cast<const std::byte*>(source_model_data), "source_model_data");
    if (source_model_data_length == 0)
      Fail(Code::kInvalidArgument, "argument 'source_model_data_length': expected the size of a model, found 0");
    target.context_data.weightless_source = {data, source_model_data_length};
  });
}

// NULL clears it.
OrtStatusPtr ORT_API_CALL SessionOptionsSetEpContextDataReadFunc(OrtSessionOptions* options,
                                                                 OrtReadNamedBufferFunc read_func,
                                                                 void* state) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(options, "options");
    target.context_data.read = read_func;
    target.context_data.read_state = read_func != nullptr ? state : nullptr;
  });
}

OrtStatusPtr ORT_API_CALL SetOptimizedModelFilePath(OrtSessionOptions* options,
                                                    const ORTCHAR_T* optimized_model_filepath) noexcept {
  return Modify(options, [&](SessionOptions& o) {
    o.optimized_model_path = &Need(optimized_model_filepath, "optimized_model_filepath");
  });
}

OrtStatusPtr ORT_API_CALL SetSessionExecutionMode(OrtSessionOptions* options, ExecutionMode execution_mode) noexcept {
  return Modify(options, [&](SessionOptions& o) {
    if (execution_mode != ORT_SEQUENTIAL && execution_mode != ORT_PARALLEL)
      Fail(Code::kInvalidArgument, "execution mode: expected 0 (sequential) or 1 (parallel), found ",
           int{execution_mode});
    o.execution_mode = static_cast<runtime::ExecutionMode>(execution_mode);
  });
}

OrtStatusPtr ORT_API_CALL GetSessionExecutionMode(const OrtSessionOptions* options, ExecutionMode* out) noexcept {
  return Guard([&] { Need(out, "out") = static_cast<ExecutionMode>(Need(options, "options").options.execution_mode); });
}

OrtStatusPtr ORT_API_CALL EnableMemPattern(OrtSessionOptions* options) noexcept {
  return Modify(options, [](SessionOptions& o) { o.memory_pattern = true; });
}

OrtStatusPtr ORT_API_CALL DisableMemPattern(OrtSessionOptions* options) noexcept {
  return Modify(options, [](SessionOptions& o) { o.memory_pattern = false; });
}

OrtStatusPtr ORT_API_CALL GetMemPatternEnabled(const OrtSessionOptions* options, int* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(options, "options").options.memory_pattern ? 1 : 0; });
}

OrtStatusPtr ORT_API_CALL EnableCpuMemArena(OrtSessionOptions* options) noexcept {
  return Modify(options, [](SessionOptions& o) { o.cpu_arena = true; });
}

OrtStatusPtr ORT_API_CALL DisableCpuMemArena(OrtSessionOptions* options) noexcept {
  return Modify(options, [](SessionOptions& o) { o.cpu_arena = false; });
}

OrtStatusPtr ORT_API_CALL SetSessionLogId(OrtSessionOptions* options, const char* logid) noexcept {
  return Modify(options, [&](SessionOptions& o) { o.log_id = &Need(logid, "logid"); });
}

OrtStatusPtr ORT_API_CALL SetSessionLogVerbosityLevel(OrtSessionOptions* options,
                                                      int session_log_verbosity_level) noexcept {
  return Modify(options, [&](SessionOptions& o) { o.log_verbosity = session_log_verbosity_level; });
}

OrtStatusPtr ORT_API_CALL SetSessionLogSeverityLevel(OrtSessionOptions* options,
                                                     int session_log_severity_level) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(options, "options");
    target.options.log_severity = ToSeverity(session_log_severity_level);
    target.log_severity = session_log_severity_level;
    target.has_log_severity = session_log_severity_level >= 0;
  });
}

OrtStatusPtr ORT_API_CALL SetUserLoggingFunction(OrtSessionOptions* options, OrtLoggingFunction user_logging_function,
                                                 void* user_logging_param) noexcept {
  return Modify(options, [&](SessionOptions& o) { o.log_sink = MakeSink(user_logging_function, user_logging_param); });
}

OrtStatusPtr ORT_API_CALL SetSessionGraphOptimizationLevel(OrtSessionOptions* options,
                                                           GraphOptimizationLevel graph_optimization_level) noexcept {
  return Modify(options, [&](SessionOptions& o) { o.optimization_level = CheckedLevel(graph_optimization_level); });
}

OrtStatusPtr ORT_API_CALL SetIntraOpNumThreads(OrtSessionOptions* options, int intra_op_num_threads) noexcept {
  return Modify(options, [&](SessionOptions& o) { o.intra_op_threads = std::max(intra_op_num_threads, 0); });
}

OrtStatusPtr ORT_API_CALL SetInterOpNumThreads(OrtSessionOptions* options, int inter_op_num_threads) noexcept {
  return Modify(options, [&](SessionOptions& o) { o.inter_op_threads = std::max(inter_op_num_threads, 0); });
}

OrtStatusPtr ORT_API_CALL DisablePerSessionThreads(OrtSessionOptions* options) noexcept {
  return Modify(options, [](SessionOptions& o) { o.use_environment_pool = true; });
}

OrtStatusPtr ORT_API_CALL SetDeterministicCompute(OrtSessionOptions* options, bool value) noexcept {
  return Modify(options, [&](SessionOptions& o) { o.deterministic_compute = value; });
}

OrtStatusPtr ORT_API_CALL AddFreeDimensionOverride(OrtSessionOptions* options, const char* dim_denotation,
                                                   int64_t dim_value) noexcept {
  return Modify(options, [&](SessionOptions& o) {
    o.free_dimensions_by_denotation.emplace_back(&Need(dim_denotation, "dim_denotation"), dim_value);
  });
}

OrtStatusPtr ORT_API_CALL AddFreeDimensionOverrideByName(OrtSessionOptions* options, const char* dim_name,
                                                         int64_t dim_value) noexcept {
  return Modify(options, [&](SessionOptions& o) {
    o.free_dimensions_by_name.emplace_back(&Need(dim_name, "dim_name"), dim_value);
  });
}

OrtStatusPtr ORT_API_CALL AddSessionConfigEntry(OrtSessionOptions* options, const char* config_key,
                                                const char* config_value) noexcept {
  return Modify(options, [&](SessionOptions& o) { SetConfigEntry(o.config, config_key, config_value); });
}

OrtStatusPtr ORT_API_CALL HasSessionConfigEntry(const OrtSessionOptions* options, const char* config_key,
                                                int* out) noexcept {
  return Guard([&] {
    Need(out, "out") = Need(options, "options").options.config.count(&Need(config_key, "config_key")) != 0 ? 1 : 0;
  });
}

// The size needed, NUL included, is written to `size`; with a NULL buffer nothing else happens.
OrtStatusPtr ORT_API_CALL GetSessionConfigEntry(const OrtSessionOptions* options, const char* config_key,
                                                char* config_value, size_t* size) noexcept {
  return Guard([&] {
    const auto& config = Need(options, "options").options.config;
    const auto found = config.find(&Need(config_key, "config_key"));
    if (found == config.end()) Fail(Code::kInvalidArgument, "config entry '", config_key, "' was not set");
    const std::size_t room = Need(size, "size");
    *size = found->second.size() + 1;
    if (config_value == nullptr) return;
    if (room < *size)
      Fail(Code::kInvalidArgument, "config entry '", config_key, "': expected room for ", *size, " bytes, found ",
           room);
    std::memcpy(config_value, found->second.c_str(), *size);
  });
}

OrtStatusPtr ORT_API_CALL GetSessionOptionsConfigEntries(const OrtSessionOptions* options,
                                                         OrtKeyValuePairs** out) noexcept {
  return Guard([&] {
    const auto& config = Need(options, "options").options.config;
    OrtKeyValuePairs::Entries entries(config.begin(), config.end());
    auto& result = Need(out, "out");
    result = std::make_unique<OrtKeyValuePairs>(std::move(entries)).release();
  });
}

OrtStatusPtr ORT_API_CALL AddInitializer(OrtSessionOptions* options, const char* name, const OrtValue* val) noexcept {
  return Modify(options, [&](SessionOptions& o) { AddNamed(o.initializers, name, val); });
}

OrtStatusPtr ORT_API_CALL FixInput(OrtSessionOptions* options, const char* name, const OrtValue* value) noexcept {
  return Modify(options, [&](SessionOptions& o) {
    const std::string key = &Need(name, "name");
    NeedTensor(value, "value");
    if (!o.fixed_inputs.emplace(key, AsValue(value)->tensor().Clone()).second)
      Fail(Code::kInvalidArgument, "input '", key, "': expected each name once, found it twice");
  });
}

OrtStatusPtr ORT_API_CALL AddExternalInitializers(OrtSessionOptions* options, const char* const* initializer_names,
                                                  const OrtValue* const* initializers,
                                                  size_t num_initializers) noexcept {
  return Modify(options, [&](SessionOptions& o) {
    NeedArray(initializer_names, num_initializers, "initializer_names");
    NeedArray(initializers, num_initializers, "initializers");
    for (std::size_t i = 0; i < num_initializers; ++i)
      AddNamed(o.external_initializers, initializer_names[i], initializers[i]);
  });
}

// The buffers must live until a session is created from the options, which copies them.
OrtStatusPtr ORT_API_CALL AddExternalInitializersFromFilesInMemory(
    OrtSessionOptions* options, const ORTCHAR_T* const* external_initializer_file_names,
    char* const* external_initializer_file_buffer_array, const size_t* external_initializer_file_lengths,
    size_t num_external_initializer_files) noexcept {
  return Modify(options, [&](SessionOptions& o) {
    const std::size_t count = num_external_initializer_files;
    NeedArray(external_initializer_file_names, count, "external_initializer_file_names");
    NeedArray(external_initializer_file_buffer_array, count, "external_initializer_file_buffer_array");
    NeedArray(external_initializer_file_lengths, count, "external_initializer_file_lengths");
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = &Need(external_initializer_file_names[i], "external_initializer_file_names[i]");
      const char* data = NeedArray(external_initializer_file_buffer_array[i], external_initializer_file_lengths[i],
                                   "external_initializer_file_buffer_array[i]");
      if (!o.external_files.emplace(name, Buffer::ReadOnly(data, external_initializer_file_lengths[i], nullptr)).second)
        Fail(Code::kInvalidArgument, "external data file '", name, "': expected each name once, found it twice");
    }
  });
}

}  // namespace sardonyx::capi
