// runtime/session_placement.cpp - reports which provider runs which node.
#include <algorithm>

#include "planner/foreign_steps.h"
#include "runtime/program.h"
#include "runtime/session.h"

namespace sardonyx::runtime {
namespace {

// Why none of the providers that the user put before a node's own runs it: those that are not there, then the others.
std::string ReasonOf(const Node& node, const providers::ProviderSet& set) {
  std::string reason;
  for (const providers::MissingProvider& missing : set.missing) {
    const bool before =
        missing.before == 0 ||
        std::none_of(set.providers.begin(), set.providers.begin() + static_cast<std::ptrdiff_t>(missing.before),
                     [&](const auto& p) { return p->name() == node.provider; });
    if (before) reason += (reason.empty() ? "" : "; ") + missing.name + ": " + missing.reason;
  }
  if (!reason.empty() && !node.provider_note.empty()) reason += "; ";
  return reason + node.provider_note;
}

// A node that runs as it was written, by a kernel of its provider, is shown so; any other fused node as what it is.
const Node& Shown(const Node& node) {
  if (node.domain != node.provider || node.Subgraphs().empty()) return node;
  const Graph& body = *node.Subgraphs().front();
  const bool as_written = body.order.size() == 1 && body.node(body.order.front()).name == node.name;
  return as_written ? body.node(body.order.front()) : node;
}

// In the order in which Program::NumberCopies goes.
void AddRows(const Graph& graph, const providers::ProviderSet& set, int& copies, std::vector<Placement>& rows) {
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const Node& shown = Shown(node);
    Placement row{shown.name,
                  shown.op_type,
                  node.provider,
                  ReasonOf(node, set),
                  0,
                  std::string(ops::AuthorsDomain(shown.domain)),
                  -1,
                  ""};
    if (&shown == &node && node.domain == node.provider) {
      for (const Graph* body : node.Subgraphs())
        for (const NodeId member : body->order) {
          const Node& part = body->node(member);
          row.members.push_back({part.name, part.op_type, node.provider, "", 0, part.domain, -1, ""});
        }
    }
    for (const ValueId output : node.outputs)
      if (row.value.empty() && output != kNoValue) row.value = graph.value(output).name;
    if (planner::IsCopy(node)) {
      const Type& type = graph.value(node.inputs[0]).type;
      row.copy = copies++;
      row.bytes_copied = type.HasStaticShape()
                             ? static_cast<std::int64_t>(ByteSize(type.dtype, ElementCount(type.StaticShape())))
                             : -1;
    }
    rows.push_back(std::move(row));
    if (planner::IsControlFlow(node))
      for (const Graph* body : node.Subgraphs()) AddRows(*body, set, copies, rows);
  }
}

}  // namespace

std::vector<Placement> Session::placement() const {
  std::vector<Placement> rows;
  int copies = 0;
  AddRows(program_->graph(), *providers_, copies, rows);
  return rows;
}

}  // namespace sardonyx::runtime
