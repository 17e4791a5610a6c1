// capi/handles/logger.h - OrtLogger: a logger that plug-ins and custom operators may write to.
#pragma once

#include "base/logging.h"
#include "onnxruntime_c_api.h"

struct OrtLogger {
  sardonyx::Logger logger;
};
