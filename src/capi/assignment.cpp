// capi/assignment.cpp - reports which execution provider runs which nodes of a session.
#include <map>

#include "capi/functions.h"
#include "capi/handles/status.h"
#include "capi/session.h"

namespace sardonyx::capi {
namespace {

// Built when it is first asked for.
const OrtSession::Assignment& AssignmentOf(const OrtSession& session) {
  std::call_once(session.assignment_made, [&] {
    OrtSession::Assignment& assignment = session.assignment;
    std::map<std::string, OrtEpAssignedSubgraph*> by_provider;
    for (const runtime::Placement& placement : session.session->placement()) {
      OrtEpAssignedSubgraph*& subgraph = by_provider[placement.provider];
      if (subgraph == nullptr) {
        subgraph = &assignment.subgraphs.emplace_back();
        subgraph->ep_name = placement.provider;
        assignment.subgraph_pointers.push_back(subgraph);
      }
      const std::vector<runtime::Placement> alone{placement};
      for (const runtime::Placement& node : placement.members.empty() ? alone : placement.members) {
        subgraph->nodes.push_back({{}, node.node, node.domain, node.op_type});
        subgraph->node_pointers.push_back(&subgraph->nodes.back());
      }
    }
  });
  return session.assignment;
}

}  // namespace

OrtStatusPtr ORT_API_CALL Session_GetEpGraphAssignmentInfo(const OrtSession* session,
                                                           const OrtEpAssignedSubgraph* const** ep_subgraphs,
                                                           size_t* num_ep_subgraphs) noexcept {
  return Guard([&] {
    BuiltSession(session);
    const OrtSession::Assignment& assignment = AssignmentOf(*session);
    Need(ep_subgraphs, "ep_subgraphs") = assignment.subgraph_pointers.data();
    Need(num_ep_subgraphs, "num_ep_subgraphs") = assignment.subgraph_pointers.size();
  });
}

OrtStatusPtr ORT_API_CALL EpAssignedSubgraph_GetEpName(const OrtEpAssignedSubgraph* ep_subgraph,
                                                       const char** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(ep_subgraph, "ep_subgraph").ep_name.c_str(); });
}

OrtStatusPtr ORT_API_CALL EpAssignedSubgraph_GetNodes(const OrtEpAssignedSubgraph* ep_subgraph,
                                                      const OrtEpAssignedNode* const** ep_nodes,
                                                      size_t* num_ep_nodes) noexcept {
  return Guard([&] {
    const OrtEpAssignedSubgraph& subgraph = Need(ep_subgraph, "ep_subgraph");
    Need(ep_nodes, "ep_nodes") = subgraph.node_pointers.data();
    Need(num_ep_nodes, "num_ep_nodes") = subgraph.node_pointers.size();
  });
}

OrtStatusPtr ORT_API_CALL EpAssignedNode_GetName(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(ep_node, "ep_node").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL EpAssignedNode_GetDomain(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(ep_node, "ep_node").domain.c_str(); });
}

OrtStatusPtr ORT_API_CALL EpAssignedNode_GetOperatorType(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(ep_node, "ep_node").op_type.c_str(); });
}

}  // namespace sardonyx::capi
