// tests/providers/plugin/provider.h - the plug-in's execution provider.
#pragma once

#include "onnxruntime_c_api.h"

namespace test_plugin {

// `kind` is that of its device: "host", "card" or "kernels".
// `card`: the memory of the card.
OrtStatus* CreateProvider(const char* kind, const OrtMemoryInfo* card, const OrtSessionOptions* options,
                          const OrtLogger* logger, OrtEp** ep);
void ReleaseProvider(OrtEp* ep);

}  // namespace test_plugin
