// capi/handles/kernel_info.h - OrtKernelInfo: what the author of a kernel may know of its node and session.
//
// It owns all that it shows, so that a copy (CopyKernelInfo) may outlive the session.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capi/handles/kind.h"
#include "capi/handles/logger.h"
#include "ir/graph.h"
#include "onnxruntime_c_api.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "tensor/allocator.h"

namespace sardonyx::capi {

// What the kernels of one session share.
struct KernelSession {
  OrtLogger logger;
  std::map<std::string, std::string> config;       // the session's config entries
  std::shared_ptr<const ops::Registry> operators;  // that its kernels may invoke; shared with the session
  const OrtEp* ep = nullptr;                       // of kernels of a plug-in: the provider that they belong to
  std::string provider;                            // and its name
  // And the memory where its values lie, if that is not ordinary host memory, the host memory that its device reaches,
  // and the device's own where values lie elsewhere; null: none.
  std::shared_ptr<Allocator> device_memory = nullptr, host_accessible_memory = nullptr, other_memory = nullptr;

  // What kernels may ask for; null for memory of others.
  std::shared_ptr<Allocator> FindMemory(const Device& device) const;
};

// What is known of a kernel's node once the model is loaded.
struct KernelFacts {
  struct Port {
    std::string name;  // "" where the node leaves an optional one out
    Type type;
    bool present = false;
    Value constant;        // of inputs that no run can change
    bool on_host = false;  // even if the session has memory of a device
  };
  std::shared_ptr<const KernelSession> session;  // shared by the kernels of the session
  std::string node_name, domain, op_type;
  int since_version = 0;
  std::vector<Attribute> attributes;
  std::vector<Port> inputs, outputs;

  const AttributeValue* FindAttribute(std::string_view name) const;
  // The memory where the tensor of one of its ports lies.
  Device PlaceOf(const Port& port) const;
};

std::shared_ptr<const KernelFacts> FactsOf(const ops::PrepareContext& context,
                                           std::shared_ptr<const KernelSession> session);

}  // namespace sardonyx::capi

struct OrtKernelInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kKernelInfo> mark;
  std::shared_ptr<const sardonyx::capi::KernelFacts> facts;  // shared by copies
};
