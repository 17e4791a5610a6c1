// runtime/session_limits.cpp - reads limits from config entries.
#include "runtime/session_limits.h"

#include <charconv>

namespace sardonyx::runtime {
namespace {

constexpr const char* kMaxLoadMemory = "sardonyx.max_load_memory";
constexpr const char* kMaxRunMemory = "sardonyx.max_run_memory";
constexpr const char* kLoadTimeout = "sardonyx.load_timeout_ms";
constexpr const char* kRunTimeout = "sardonyx.run_timeout_ms";

std::int64_t NumberAt(const Config& config, const char* key, std::int64_t otherwise) {
  const auto found = config.find(key);
  if (found == config.end()) return otherwise;
  const std::string& text = found->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    Fail(Code::kInvalidArgument, "config entry '", key, "': expected a whole number of 0 or more, found '", text, "'");
  return number;
}

}  // namespace

Limits LoadLimits(const Config& session) {
  return {.work = "loading the model",
          .timeout_ms = NumberAt(session, kLoadTimeout, 0),
          .max_memory = static_cast<std::size_t>(NumberAt(session, kMaxLoadMemory, 0)),
          .time_option = kLoadTimeout,
          .memory_option = kMaxLoadMemory,
          .timeout_code = Code::kModelLoadCanceled};
}

Limits RunLimits(const Config& session) {
  constexpr Limits kNone = {.work = "the run", .time_option = kRunTimeout, .memory_option = kMaxRunMemory};
  return RunLimits(kNone, session);
}

Limits RunLimits(const Limits& session, const Config& run) {
  Limits limits = session;
  limits.timeout_ms = NumberAt(run, kRunTimeout, session.timeout_ms);
  limits.max_memory =
      static_cast<std::size_t>(NumberAt(run, kMaxRunMemory, static_cast<std::int64_t>(session.max_memory)));
  return limits;
}

}  // namespace sardonyx::runtime
