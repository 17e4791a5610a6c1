// runtime/option_keys.cpp - reads the entries that stand for options.
#include "runtime/option_keys.h"

#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/sharing/packed_weights.h"

namespace sardonyx::runtime {
namespace {

// The value of the entry among named ones; `otherwise` without an entry.
template <typename T, std::size_t kCount>
T ChoiceOf(const SessionOptions& options, const char* key, const std::pair<std::string_view, T> (&choices)[kCount],
           T otherwise) {
  const auto found = options.config.find(key);
  if (found == options.config.end()) return otherwise;
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == found->second) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  Fail(Code::kInvalidArgument, "config entry '", key, "': expected one of ", names, ", found '", found->second, "'");
}

void SetText(const SessionOptions& options, const char* key, std::string& target) {
  const auto found = options.config.find(key);
  if (found != options.config.end()) target = found->second;
}

}  // namespace

int NumberOf(const SessionOptions& options, const std::string& key, int otherwise, int least) {
  const auto found = options.config.find(key);
  if (found == options.config.end()) return otherwise;
  const std::string& text = found->second;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least)
    Fail(Code::kInvalidArgument, "config entry '", key, "': expected a whole number of ", least, " or more, found '",
         text, "'");
  return number;
}

Code CodeOfNoNumber(const std::string& value) {
  try {
    static_cast<void>(std::stoi(value));
    return Code::kInvalidArgument;
  } catch (const std::logic_error&) {  // no digits, or too many
    return Code::kRuntimeException;
  }
}

bool IsOn(const SessionOptions& options, const std::string& key, bool otherwise) {
  const std::string value = options.Config(key, otherwise ? "1" : "0");
  if (value != "0" && value != "1")
    Fail(Code::kInvalidArgument, "config entry '", key, "': expected 0 or 1, found '", value, "'");
  return value == "1";
}

void ApplyOptionKeys(SessionOptions& options) {
  constexpr int kLeastSeverity = 0, kMostSeverity = 4;
  constexpr std::pair<std::string_view, OptimizationLevel> kLevels[] = {
      {"disable_all", OptimizationLevel::kDisable},
      {"enable_basic", OptimizationLevel::kBasic},
      {"enable_extended", OptimizationLevel::kExtended},
      {"enable_layout", OptimizationLevel::kLayout},
      {"enable_all", OptimizationLevel::kAll}};
  constexpr std::pair<std::string_view, ExecutionMode> kModes[] = {{"sequential", ExecutionMode::kSequential},
                                                                   {"parallel", ExecutionMode::kParallel},
                                                                   {"ort_sequential", ExecutionMode::kSequential},
                                                                   {"ort_parallel", ExecutionMode::kParallel}};
  options.optimization_level =
      ChoiceOf(options, "session.graph_optimization_level", kLevels, options.optimization_level);
  options.execution_mode = ChoiceOf(options, "session.execution_mode", kModes, options.execution_mode);
  options.intra_op_threads = NumberOf(options, "session.intra_op_num_threads", options.intra_op_threads);
  options.inter_op_threads = NumberOf(options, "session.inter_op_num_threads", options.inter_op_threads);
  options.cpu_arena = IsOn(options, "session.enable_cpu_mem_arena", options.cpu_arena);
  options.use_environment_pool = !IsOn(options, "session.use_per_session_threads", !options.use_environment_pool);
  options.log_verbosity = NumberOf(options, "session.log_verbosity_level", options.log_verbosity);
  const int severity =
      NumberOf(options, "session.log_severity_level", static_cast<int>(options.log_severity), kLeastSeverity);
  if (severity > kMostSeverity)
    Fail(Code::kInvalidArgument, "config entry 'session.log_severity_level': expected ", kLeastSeverity, " to ",
         kMostSeverity, ", found ", severity);
  options.log_severity = static_cast<Severity>(severity);
  SetText(options, "session.log_id", options.log_id);
  SetText(options, "session.enable_profiling", options.profile_prefix);
  SetText(options, "session.optimized_model_filepath", options.optimized_model_path);
}

bool RoundsToBf16(const SessionOptions& options, const Logger& logger) {
  constexpr const char* kKey = "sardonyx.precision";
  const std::string value = options.Config(kKey, "");
  if (value.empty() || value == "float32") return false;
  if (value != "bf16") Fail(Code::kInvalidArgument, kKey, ": expected float32 or bf16, found '", value, "'");
  if (GainsFromBf16()) return true;
  logger.Warn(kKey, " = bf16: this CPU is no faster at bf16, so products stay in float32");
  return false;
}

}  // namespace sardonyx::runtime
