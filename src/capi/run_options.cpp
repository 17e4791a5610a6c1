// capi/run_options.cpp - the functions of OrtRunOptions.
#include <memory>
#include <string_view>

#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/handles/sync_stream.h"
#include "capi/logging.h"
#include "capi/options.h"

namespace sardonyx::capi {

OrtStatusPtr ORT_API_CALL CreateRunOptions(OrtRunOptions** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result = std::make_unique<OrtRunOptions>().release();
  });
}

void ORT_API_CALL ReleaseRunOptions(OrtRunOptions* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL RunOptionsSetRunLogVerbosityLevel(OrtRunOptions* options, int log_verbosity_level) noexcept {
  return Guard([&] { Need(options, "options").options.log_verbosity = log_verbosity_level; });
}

OrtStatusPtr ORT_API_CALL RunOptionsSetRunLogSeverityLevel(OrtRunOptions* options, int log_severity_level) noexcept {
  return Guard([&] {
    OrtRunOptions& target = Need(options, "options");
    target.options.log_severity = log_severity_level < 0 ? Severity::kWarning : ToSeverity(log_severity_level);
    target.log_severity = log_severity_level;  // checked by runs
  });
}

OrtStatusPtr ORT_API_CALL RunOptionsSetRunTag(OrtRunOptions* options, const char* run_tag) noexcept {
  return Guard([&] { Need(options, "options").options.tag = run_tag != nullptr ? run_tag : ""; });
}

OrtStatusPtr ORT_API_CALL RunOptionsGetRunLogVerbosityLevel(const OrtRunOptions* options,
                                                            int* log_verbosity_level) noexcept {
  return Guard(
      [&] { Need(log_verbosity_level, "log_verbosity_level") = Need(options, "options").options.log_verbosity; });
}

OrtStatusPtr ORT_API_CALL RunOptionsGetRunLogSeverityLevel(const OrtRunOptions* options,
                                                           int* log_severity_level) noexcept {
  return Guard([&] { Need(log_severity_level, "log_severity_level") = Need(options, "options").log_severity; });
}

OrtStatusPtr ORT_API_CALL RunOptionsGetRunTag(const OrtRunOptions* options, const char** run_tag) noexcept {
  return Guard([&] { Need(run_tag, "run_tag") = Need(options, "options").options.tag.c_str(); });
}

OrtStatusPtr ORT_API_CALL RunOptionsSetTerminate(OrtRunOptions* options) noexcept {
  return Guard([&] { Need(options, "options").options.terminate = true; });
}

OrtStatusPtr ORT_API_CALL RunOptionsUnsetTerminate(OrtRunOptions* options) noexcept {
  return Guard([&] { Need(options, "options").options.terminate = false; });
}

OrtStatusPtr ORT_API_CALL AddRunConfigEntry(OrtRunOptions* options, const char* config_key,
                                            const char* config_value) noexcept {
  return Guard([&] {
    runtime::RunOptions& target = Need(options, "options").options;
    SetConfigEntry(target.config, config_key, config_value);
    if (std::string_view(config_key) == "disable_synchronize_execution_providers")
      target.synchronize = std::string_view(config_value) == "0";
  });
}

// The runs share the stream with the caller, who may release it while they use it. NULL: the session's own streams.
void ORT_API_CALL RunOptionsSetSyncStream(OrtRunOptions* options, OrtSyncStream* sync_stream) noexcept {
  if (!Given(options)) return;
  options->options.stream = Given(sync_stream) ? sync_stream->shared_from_this() : nullptr;
}

const char* ORT_API_CALL GetRunConfigEntry(const OrtRunOptions* options, const char* config_key) noexcept {
  if (!Given(options) || config_key == nullptr) return nullptr;
  const char* value = nullptr;
  FreeStatus(Guard([&] {
    const auto found = options->options.config.find(config_key);
    if (found != options->options.config.end()) value = found->second.c_str();
  }));
  return value;
}

}  // namespace sardonyx::capi
