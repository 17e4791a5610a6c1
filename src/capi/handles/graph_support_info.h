// capi/handles/graph_support_info.h - OrtEpGraphSupportInfo: what a plug-in claims of a graph while it is asked.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"

struct OrtEpGraphSupportInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kEpGraphSupportInfo> mark;
  struct Group {
    std::vector<const OrtNode*> nodes;
    bool fused = false;
    bool drop_constants = false;  // a fused node does not get the constants that its nodes read
  };
  const OrtGraph* graph = nullptr;
  const OrtKernelRegistry* kernels = nullptr;  // of the provider; NULL: it has none
  std::string_view provider;
  std::vector<Group> groups;
};

// What a compiled node knows of itself when its state is made.
struct OrtNodeComputeContext {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kNodeComputeContext> mark;
  const char* node_name = "";
};
