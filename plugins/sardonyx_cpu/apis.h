// plugins/sardonyx_cpu/apis.h - the two runtimes that the plug-in stands between: the host that loaded it, and the
// Sardonyx linked into it.
#pragma once

#include "graph_reader.h"
#include "host_api.h"
#include "sardonyx_c_api.h"

namespace sardonyx_cpu {

using plugin_host::Failure;
using plugin_host::GraphReader;
using plugin_host::Guard;
using plugin_host::Handle;
using plugin_host::ValueFacts;

inline constexpr const char* kName = "SardonyxExecutionProvider";

struct Apis : plugin_host::HostApi {
  explicit Apis(const OrtApiBase& base) : HostApi(plugin_host::ConnectToHost(base, kName)) {
    own = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  }

  const OrtApi* own = nullptr;

  void Own(OrtStatus* status) const { Check(*own, status); }
};

}  // namespace sardonyx_cpu
