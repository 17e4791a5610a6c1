// capi/ep/graph_support.cpp - what plug-ins call to claim nodes.
#include "capi/functions.h"
#include "capi/handles/graph_support_info.h"
#include "capi/handles/graph_view.h"
#include "capi/handles/kernel_info.h"
#include "capi/handles/status.h"

namespace sardonyx::capi::ep {
namespace {

void CheckNode(const OrtEpGraphSupportInfo& info, const OrtNode& node) {
  if (node.graph != info.graph)
    Fail(Code::kInvalidArgument, "expected nodes of the graph that GetCapability was called with, found '", node.name,
         "' (", node.op_type, ") of another one");
}

}  // namespace

OrtStatusPtr ORT_API_CALL EpGraphSupportInfo_AddNodesToFuse(OrtEpGraphSupportInfo* graph_support_info,
                                                            const OrtNode* const* nodes, size_t num_nodes,
                                                            const OrtNodeFusionOptions* node_fusion_options) noexcept {
  return Guard([&] {
    OrtEpGraphSupportInfo& info = Need(graph_support_info, "graph_support_info");
    NeedArray(nodes, num_nodes, "nodes");
    if (num_nodes == 0) Fail(Code::kInvalidArgument, "expected at least one node to fuse, found none");
    OrtEpGraphSupportInfo::Group group;
    group.fused = true;
    group.drop_constants = node_fusion_options != nullptr && node_fusion_options->drop_constant_initializers;
    for (std::size_t i = 0; i < num_nodes; ++i) {
      CheckNode(info, Need(nodes[i], "nodes[i]"));
      group.nodes.push_back(nodes[i]);
    }
    info.groups.push_back(std::move(group));
  });
}

OrtStatusPtr ORT_API_CALL EpGraphSupportInfo_AddSingleNode(OrtEpGraphSupportInfo* graph_support_info,
                                                           const OrtNode* node) noexcept {
  return Guard([&] {
    OrtEpGraphSupportInfo& info = Need(graph_support_info, "graph_support_info");
    CheckNode(info, Need(node, "node"));
    info.groups.push_back({{node}});
  });
}

const char* ORT_API_CALL NodeComputeContext_NodeName(const OrtNodeComputeContext* context) noexcept {
  return Given(context) ? context->node_name : "";
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetEp(const OrtKernelInfo* info, const OrtEp** ep) noexcept {
  return Guard([&] {
    const KernelFacts& facts = *Need(info, "info").facts;
    auto& result = Need(ep, "ep");
    if (facts.session == nullptr || facts.session->ep == nullptr)
      Fail(Code::kInvalidArgument, "node '", facts.node_name, "': expected a kernel of a plug-in's provider, found ",
           "another");
    result = facts.session->ep;
  });
}

}  // namespace sardonyx::capi::ep
