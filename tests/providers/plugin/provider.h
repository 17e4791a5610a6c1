// tests/providers/plugin/provider.h - the plug-in's execution provider.
#pragma once

#include "onnxruntime_c_api.h"

namespace test_plugin {

// `kind` is that of its device: "host", "card" or "kernels".
OrtStatus* CreateProvider(const char* kind, const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep);
void ReleaseProvider(OrtEp* ep);

}  // namespace test_plugin
