// planner/assignment.cpp - walks a partitioned graph once for each provider.
#include "planner/assignment.h"

#include <string_view>

#include "ops/registry.h"

namespace sardonyx::planner {
namespace {

using providers::AssignedPart;

bool IsCompiled(const Node& node) { return !node.provider.empty() && node.domain == node.provider; }

AssignedPart::Member MemberOf(const Node& node) {
  return {node.name, std::string(ops::AuthorsDomain(node.domain)), node.op_type};
}

void AddParts(const Graph& graph, std::string_view provider, std::vector<AssignedPart>& parts) {
  for (const NodeId id : graph.order)
    if (!IsCompiled(graph.node(id)))
      for (const Graph* body : graph.node(id).Subgraphs()) AddParts(*body, provider, parts);
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if ((node.provider.empty() ? providers::kCpuName : std::string_view(node.provider)) != provider) continue;
    AssignedPart& part = parts.emplace_back(AssignedPart{std::string(provider), {}});
    if (!IsCompiled(node)) {
      part.nodes.push_back(MemberOf(node));
      continue;
    }
    const Graph& group = *node.Subgraphs().front();
    for (const NodeId member : group.order) part.nodes.push_back(MemberOf(group.node(member)));
  }
}

}  // namespace

std::vector<AssignedPart> AssignmentOf(const Graph& graph, const providers::ProviderSet& set) {
  std::vector<AssignedPart> parts;
  for (const auto& provider : set.providers) AddParts(graph, provider->name(), parts);
  return parts;
}

}  // namespace sardonyx::planner
