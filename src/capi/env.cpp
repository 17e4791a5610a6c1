// capi/env.cpp - the functions of OrtEnv and of thread pool options.
//
// The process has one environment: while it lives, every further CreateEnv returns the same one, whatever its
// arguments.
#include "capi/env.h"

#include <mutex>

#include "base/lasting.h"
#include "capi/ep_device.h"
#include "capi/functions.h"
#include "capi/handles/key_value_pairs.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/logging.h"
#include "capi/options.h"
#include "capi/providers.h"
#include "runtime/config_keys.h"
#include "runtime/session_threads.h"

namespace sardonyx::capi {
namespace {

struct ProcessEnvironment {
  std::mutex mutex;
  std::unique_ptr<OrtEnv> env;
};

// Lasting: callers release their environment in their own static destructors.
ProcessEnvironment& Process() {
  static constinit Lasting<ProcessEnvironment, MakeDefault<ProcessEnvironment>> process;
  return *process;
}

// When the library is unmapped, or the process ends. Who still has an environment may use the rest, too.
[[gnu::destructor]] void DropLastingObjects() {
  if (Process().env == nullptr) DropLasting();
}

struct EnvArguments {
  int severity;
  const char* log_id;
  OrtLoggingFunction function = nullptr;
  void* parameter = nullptr;
  const OrtThreadingOptions* threading = nullptr;
  const OrtKeyValuePairs* entries = nullptr;
};

OrtStatusPtr HoldEnv(const EnvArguments& arguments, OrtEnv** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    NeedKind(arguments.threading, "tp_options");
    NeedKind(arguments.entries, "config_entries");
    const std::string log_id = arguments.log_id != nullptr ? arguments.log_id : "";
    const Severity severity = ToSeverity(arguments.severity);
    ProcessEnvironment& process = Process();
    const std::lock_guard lock(process.mutex);
    if (process.env == nullptr) {
      runtime::PoolThreads threads;
      runtime::ThreadPoolOptions pool;
      if (const OrtThreadingOptions* given = arguments.threading; given != nullptr) {
        threads = {given->intra_op_threads, given->inter_op_threads, given->flush_denormals};
        pool.spin = given->spin;
        if (!given->affinity.empty()) pool.cores = runtime::ParseAffinities(given->affinity);
        SetThreadMaker(given->threads, pool);
      }
      Logger logger(MakeSink(arguments.function, arguments.parameter), log_id, severity);
      if (arguments.entries != nullptr)
        for (const auto& [key, value] : arguments.entries->entries())
          runtime::WarnOfKey(logger, "environment", key, value, runtime::EnvironmentKeys());
      auto environment =
          std::make_shared<runtime::Environment>(std::move(logger), ProviderFactories(), threads, std::move(pool));
      auto env = std::make_unique<OrtEnv>(
          std::move(environment), std::vector<const OrtEpDevice*>{&CpuEpDevice()},
          arguments.entries != nullptr ? arguments.entries->entries() : OrtKeyValuePairs::Entries{});
      process.env = std::move(env);
    }
    ++process.env->holders;
    *out = process.env.get();
  });
}

}  // namespace

plugin::Libraries::Place FindRegistered(const OrtEpDevice* device) {
  OrtEnv* env = CurrentEnv();
  return env != nullptr ? env->libraries.Find(device) : plugin::Libraries::Place{};
}

plugin::Libraries::Place FindRegisteredCopier(const Device& from, const Device& to) {
  OrtEnv* env = CurrentEnv();
  return env != nullptr ? env->libraries.FindCopier(from, to) : plugin::Libraries::Place{};
}

OrtEnv* CurrentEnv() {
  const std::lock_guard lock(Process().mutex);
  return Process().env.get();
}

void SetEnvConfig(OrtEnv& env, std::string_view key, std::string_view value) {
  const std::lock_guard lock(Process().mutex);
  env.config.insert_or_assign(std::string(key), std::string(value));
}

OrtStatusPtr ORT_API_CALL ep::GetEnvConfigEntries(OrtKeyValuePairs** config_entries) noexcept {
  return Guard([&] {
    auto& result = Need(config_entries, "config_entries");
    ProcessEnvironment& process = Process();
    const std::lock_guard lock(process.mutex);
    if (process.env == nullptr) Fail(Code::kFail, "GetEnvConfigEntries: expected an environment, found none");
    result = std::make_unique<OrtKeyValuePairs>(process.env->config).release();
  });
}

OrtStatusPtr ORT_API_CALL CreateEnv(OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out) noexcept {
  return HoldEnv({.severity = log_severity_level, .log_id = logid}, out);
}

OrtStatusPtr ORT_API_CALL CreateEnvWithCustomLogger(OrtLoggingFunction logging_function, void* logger_param,
                                                    OrtLoggingLevel log_severity_level, const char* logid,
                                                    OrtEnv** out) noexcept {
  return HoldEnv({log_severity_level, logid, logging_function, logger_param}, out);
}

OrtStatusPtr ORT_API_CALL CreateEnvWithGlobalThreadPools(OrtLoggingLevel log_severity_level, const char* logid,
                                                         const OrtThreadingOptions* tp_options, OrtEnv** out) noexcept {
  return HoldEnv({.severity = log_severity_level, .log_id = logid, .threading = tp_options}, out);
}

OrtStatusPtr ORT_API_CALL CreateEnvWithCustomLoggerAndGlobalThreadPools(
    OrtLoggingFunction logging_function, void* logger_param, OrtLoggingLevel log_severity_level, const char* logid,
    const struct OrtThreadingOptions* tp_options, OrtEnv** out) noexcept {
  return HoldEnv({log_severity_level, logid, logging_function, logger_param, tp_options}, out);
}

OrtStatusPtr ORT_API_CALL CreateEnvWithOptions(const OrtEnvCreationOptions* options, OrtEnv** out) noexcept {
  constexpr std::uint32_t kFirstVersion = 24;
  if (!Given(options)) return Guard([&] { Need(options, "options"); });
  if (options->version < kFirstVersion)
    return MakeStatus(ORT_INVALID_ARGUMENT, "environment options: expected a struct of version 24 or newer");
  return HoldEnv({options->logging_severity_level, options->log_id, options->custom_logging_function,
                  options->custom_logging_param, options->threading_options, options->config_entries},
                 out);
}

void ORT_API_CALL ReleaseEnv(OrtEnv* input) noexcept {
  if (input == nullptr) return;
  ProcessEnvironment& process = Process();
  std::unique_ptr<OrtEnv> last;  // destroyed after the lock is gone
  const std::lock_guard lock(process.mutex);
  if (input == process.env.get() && --input->holders == 0) last = std::move(process.env);
}

OrtStatusPtr ORT_API_CALL UpdateEnvWithCustomLogLevel(OrtEnv* ort_env, OrtLoggingLevel log_severity_level) noexcept {
  return Guard([&] {
    if (NeedKind(ort_env, "ort_env") != nullptr) ort_env->environment->set_log_severity(ToSeverity(log_severity_level));
  });
}

// There is no telemetry: nothing is ever sent, so both are already so.
OrtStatusPtr ORT_API_CALL EnableTelemetryEvents(const OrtEnv* /*env*/) noexcept { return nullptr; }

OrtStatusPtr ORT_API_CALL DisableTelemetryEvents(const OrtEnv* /*env*/) noexcept { return nullptr; }

// The language a binding is written in matters to telemetry only.
OrtStatusPtr ORT_API_CALL SetLanguageProjection(const OrtEnv* /*ort_env*/,
                                                OrtLanguageProjection /*projection*/) noexcept {
  return nullptr;
}

OrtStatusPtr ORT_API_CALL CreateThreadingOptions(OrtThreadingOptions** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result = std::make_unique<OrtThreadingOptions>().release();
  });
}

void ORT_API_CALL ReleaseThreadingOptions(OrtThreadingOptions* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL SetGlobalIntraOpNumThreads(OrtThreadingOptions* tp_options,
                                                     int intra_op_num_threads) noexcept {
  return Guard([&] { Need(tp_options, "tp_options").intra_op_threads = std::max(intra_op_num_threads, 0); });
}

OrtStatusPtr ORT_API_CALL SetGlobalInterOpNumThreads(OrtThreadingOptions* tp_options,
                                                     int inter_op_num_threads) noexcept {
  return Guard([&] { Need(tp_options, "tp_options").inter_op_threads = std::max(inter_op_num_threads, 0); });
}

OrtStatusPtr ORT_API_CALL SetGlobalDenormalAsZero(OrtThreadingOptions* tp_options) noexcept {
  return Guard([&] { Need(tp_options, "tp_options").flush_denormals = true; });
}

OrtStatusPtr ORT_API_CALL SetGlobalSpinControl(OrtThreadingOptions* tp_options, int allow_spinning) noexcept {
  return Guard([&] {
    if (allow_spinning != 0 && allow_spinning != 1)
      Fail(Code::kInvalidArgument, "spin control: expected 0 or 1, found ", allow_spinning);
    Need(tp_options, "tp_options").spin = allow_spinning == 1;
  });
}

}  // namespace sardonyx::capi
