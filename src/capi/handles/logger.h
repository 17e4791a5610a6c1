// capi/handles/logger.h - OrtLogger: a logger that plug-ins and custom operators may write to.
#pragma once

#include "base/logging.h"
#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"

struct OrtLogger {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kLogger> mark;
  sardonyx::Logger logger;
};
