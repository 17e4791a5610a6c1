// capi/logging.cpp - converts logging levels and callbacks of the C interface to those of the runtime.
#include "capi/logging.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/logger.h"

namespace sardonyx::capi {

Severity ToSeverity(int level) {
  return static_cast<Severity>(std::clamp<int>(level, ORT_LOGGING_LEVEL_VERBOSE, ORT_LOGGING_LEVEL_FATAL));
}

Logger::Sink MakeSink(OrtLoggingFunction function, void* parameter) {
  if (function == nullptr) return nullptr;
  return [function, parameter](Severity severity, const char* category, const char* id, const char* location,
                               const char* text) {
    CallOut("the logging function", function, parameter, static_cast<OrtLoggingLevel>(severity), category, id, location,
            text);
  };
}

OrtStatusPtr ORT_API_CALL Logger_LogMessage(const OrtLogger* logger, OrtLoggingLevel log_severity_level,
                                            const char* message, const ORTCHAR_T* file_path, int line_number,
                                            const char* func_name) noexcept {
  return Guard([&] {
    const Logger& target = Need(logger, "logger").logger;
    const Severity severity = ToSeverity(log_severity_level);
    const auto text_of = [](const char* text) { return std::string(text != nullptr ? text : ""); };
    const std::string text = text_of(message);
    const std::string location = text_of(file_path) + ":" + std::to_string(line_number) + " " + text_of(func_name);
    if (target.Wants(severity)) target.Write(severity, text, location.c_str());
  });
}

OrtStatusPtr ORT_API_CALL Logger_GetLoggingSeverityLevel(const OrtLogger* logger, OrtLoggingLevel* out) noexcept {
  return Guard([&] { Need(out, "out") = static_cast<OrtLoggingLevel>(Need(logger, "logger").logger.threshold()); });
}

}  // namespace sardonyx::capi
