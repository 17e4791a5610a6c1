// plugins/sardonyx_cpu/model_writer.h - writes a host's graph as an ONNX model, weights aside.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apis.h"

namespace sardonyx_cpu {

struct WrittenModel {
  std::string bytes;  // ModelProto
  // Initializers whose contents are not in `bytes`: they stand there as external data and are given to the session by
  // name (AddExternalInitializers). They belong to the host.
  std::vector<std::pair<std::string, const OrtValue*>> weights;
};

// The graph of a group that the host has fused. Fails with a Failure for what ONNX's format cannot say.
WrittenModel WriteGroup(const Apis& apis, const OrtGraph& graph);

// A model of this node alone, to find out whether Sardonyx has a kernel for it: small constants are part of it, large
// ones are inputs.
WrittenModel WriteNode(const Apis& apis, const OrtNode& node,
                       const std::vector<std::pair<std::string, std::int64_t>>& opsets);

}  // namespace sardonyx_cpu
