// plugins/onednn/provider.h - the provider of one session of the host: which nodes it takes, and what they become.
#pragma once

#include "builder.h"
#include "host_api.h"

namespace sardonyx_onednn {

inline constexpr const char* kName = "OneDnnExecutionProvider";

struct Library {
  plugin_host::HostApi apis;
  dnnl::engine engine;
};

class Provider : public OrtEp {
 public:
  Provider(const Library& library, const OrtSessionOptions& options);

 private:
  void Claim(const OrtGraph& graph, OrtEpGraphSupportInfo& support) const;

  const Library& library_;
  Settings settings_;
};

}  // namespace sardonyx_onednn
