// capi/custom_op/domain.h - keeps libraries of custom operators open.
#pragma once

#include <memory>

#include "capi/options.h"

namespace sardonyx::capi {

// The library stays open as long as the options, their clones, and the sessions made from them.
void KeepLibrary(OrtSessionOptions& options, std::shared_ptr<void> library);

}  // namespace sardonyx::capi
