// capi/handles/kernel_registry.h - OrtKernelRegistry: the kernels that a plug-in's provider has, by what they run.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/handles/graph_view.h"
#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"

// The type of tensors of one element type; there is one handle for each (OrtEpApi::GetTensorDataType).
struct OrtDataType {
  ONNXTensorElementDataType element_type;
};

struct OrtKernelDef {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kKernelDef> mark;
  std::string op_type, domain, provider;  // domain "": ai.onnx
  int first_version = 1, last_version = 1;
  std::map<std::size_t, OrtMemType> input_memory, output_memory;               // where it is not the device's
  std::vector<std::pair<std::string, std::vector<const OrtDataType*>>> types;  // allowed, by name of a type parameter
  std::vector<std::pair<std::size_t, std::size_t>> aliases, may_alias;         // an input and an output
};

struct OrtKernelDefBuilder {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kKernelDefBuilder> mark;
  OrtKernelDef definition;
};

struct OrtKernelRegistry {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kKernelRegistry> mark;
  struct Entry {
    OrtKernelDef definition;
    OrtKernelCreateFunc create;
    void* state;
  };
  std::vector<Entry> entries;
};

namespace sardonyx::capi {

// The kernel for a node: of its operator and version, for its types. NULL if there is none.
const OrtKernelRegistry::Entry* FindKernel(const OrtKernelRegistry& kernels, const OrtNode& node,
                                           std::string_view provider);

}  // namespace sardonyx::capi
