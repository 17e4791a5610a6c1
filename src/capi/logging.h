// capi/logging.h - converts logging levels and callbacks of the C interface to those of the runtime.
#pragma once

#include "base/logging.h"
#include "onnxruntime_c_api.h"

namespace sardonyx::capi {

// Of a level below all or above all of OrtLoggingLevel: the first or the last one.
Severity ToSeverity(int level);
// A sink that calls `function(parameter, ...)`; NULL: none, messages go to standard error.
Logger::Sink MakeSink(OrtLoggingFunction function, void* parameter);

}  // namespace sardonyx::capi
