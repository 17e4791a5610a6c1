// runtime/disabled_passes.h - the config entries that switch optimizer passes off.
#pragma once

#include "base/logging.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

// Adds the passes that the config entries "optimization.disable_specified_optimizers" (names of passes or of ONNX
// Runtime's transformers, joined by ';' or ',') and "session.disable_quant_qdq" switch off to disabled_passes.
void DisablePasses(SessionOptions& options);

// Warns of names in that list that are neither a pass nor a transformer of ONNX Runtime's. As in ONNX Runtime, they are
// not errors.
void WarnOfDisabledNames(const SessionOptions& options, const Logger& logger);

}  // namespace sardonyx::runtime
