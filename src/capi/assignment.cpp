// capi/assignment.cpp - reports which execution provider runs which nodes of a session's model.
#include "capi/functions.h"
#include "capi/handles/status.h"
#include "capi/session.h"

namespace sardonyx::capi {
namespace {

// Built when it is first asked for.
const OrtSession::Assignment& AssignmentOf(const OrtSession& session) {
  std::call_once(session.assignment_made, [&] {
    OrtSession::Assignment& assignment = session.assignment;
    for (const providers::AssignedPart& part : session.session->providers().assigned) {
      OrtEpAssignedSubgraph& subgraph = assignment.subgraphs.emplace_back();
      subgraph.ep_name = part.provider;
      assignment.subgraph_pointers.push_back(&subgraph);
      for (const providers::AssignedPart::Member& node : part.nodes) {
        subgraph.nodes.push_back({{}, node.name, node.domain, node.op_type});
        subgraph.node_pointers.push_back(&subgraph.nodes.back());
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
    if (!BuiltSession(session).providers().records_assignment) {
      Fail(Code::kFail,
           "Session configuration entry 'session.record_ep_graph_assignment_info' must be set to \"1\" to ",
           "retrieve the assignment of nodes to execution providers");
    }
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
