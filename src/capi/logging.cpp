// capi/logging.cpp - converts logging levels and callbacks of the C interface to those of the runtime.
#include "capi/logging.h"

#include "base/error.h"
#include "capi/handles/call_out.h"

namespace sardonyx::capi {

Severity ToSeverity(int level) {
  if (level < ORT_LOGGING_LEVEL_VERBOSE || level > ORT_LOGGING_LEVEL_FATAL)
    Fail(Code::kInvalidArgument, "logging level: expected 0 (verbose) to 4 (fatal), found ", level);
  return static_cast<Severity>(level);
}

Logger::Sink MakeSink(OrtLoggingFunction function, void* parameter) {
  if (function == nullptr) return nullptr;
  return [function, parameter](Severity severity, const char* category, const char* id, const char* location,
                               const char* text) {
    CallOut("the logging function", function, parameter, static_cast<OrtLoggingLevel>(severity), category, id, location,
            text);
  };
}

}  // namespace sardonyx::capi
