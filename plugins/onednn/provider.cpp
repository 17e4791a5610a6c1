// plugins/onednn/provider.cpp - reads the options, claims groups of nodes, compiles them.
#include "provider.h"

#include <algorithm>

#include "claim.h"
#include "compiled_group.h"
#include "options.h"
#include "rewrite.h"
#include "threads.h"

namespace sardonyx_onednn {
namespace {

bool HasBfloat16() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core:
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
    case dnnl::cpu_isa::all:
      return true;
    default:
      return false;
  }
}

Settings Read(const plugin_host::HostApi& apis, const OrtSessionOptions& from) {
  const plugin_host::Options options(apis, from, kName);
  Settings settings;
  settings.threads = options.Count("intra_op_num_threads", 0);
  if (settings.threads == 0) settings.threads = GrantedThreads();
  settings.bf16 = options.Flag("bf16", false);
  settings.int8 = options.Flag("int8", true);
  settings.small_groups = options.Flag("small_groups", false);
  settings.keep_nan = options.Flag("keep_nan", true);
  if (settings.bf16 && !HasBfloat16())
    throw Failure(ORT_INVALID_ARGUMENT, "option bf16: expected a CPU with AVX-512, found one without");
  return settings;
}

}  // namespace

Provider::Provider(const Library& library, const OrtSessionOptions& options)
    : OrtEp{}, library_(library), settings_(Read(library.apis, options)) {
  ort_version_supported = library.apis.host_version;
  GetName = [](const OrtEp*) -> const char* { return kName; };
  GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) -> OrtStatus* {
    const auto& provider = *static_cast<Provider*>(self);
    return plugin_host::Guard(*provider.library_.apis.host, [&] { provider.Claim(*graph, *support); });
  };
  Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, std::size_t count,
               OrtNodeComputeInfo** infos, OrtNode**) -> OrtStatus* {
    const auto& provider = *static_cast<Provider*>(self);
    return plugin_host::Guard(*provider.library_.apis.host, [&] {
      std::vector<std::unique_ptr<CompiledGroup>> groups;
      for (std::size_t i = 0; i < count; ++i)
        groups.push_back(std::make_unique<CompiledGroup>(provider.library_, provider.settings_, *graphs[i], *fused[i]));
      for (std::size_t i = 0; i < count; ++i) infos[i] = groups[i].release();
    });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) delete static_cast<CompiledGroup*>(infos[i]);
  };
}

void Provider::Claim(const OrtGraph& graph, OrtEpGraphSupportInfo& support) const {
  const plugin_host::HostApi& apis = library_.apis;
  const plugin_host::GraphReader reader(apis);
  if (reader.Holder(graph) != nullptr) return;  // bodies of control flow stay with the host
  Graph read = ReadGraph(reader, graph, false);
  Rewrite(read);
  OrtNodeFusionOptions fusion{};
  fusion.ort_version_supported = apis.host_version;
  fusion.drop_constant_initializers = true;  // the group keeps what it needs of them
  for (const std::vector<int>& group : FindGroups(read, settings_.small_groups)) {
    std::vector<const OrtNode*> nodes;
    for (const int index : group) {
      const auto& sources = read.nodes[static_cast<std::size_t>(index)].sources;
      nodes.insert(nodes.end(), sources.begin(), sources.end());
    }
    apis.Host(apis.host_ep->EpGraphSupportInfo_AddNodesToFuse(&support, nodes.data(), nodes.size(), &fusion));
  }
}

}  // namespace sardonyx_onednn
