// optimizer/rules/paste_body.h - copies the nodes of a body (a branch, a loop's body, a function of scores) into the
// graph around it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// Copies the nodes of `body` into the graph, with `inputs` as its inputs. Answers what its outputs are there. Names of
// nodes and values begin with `prefix`. `body` must not belong to a node that the graph may lose meanwhile.
std::vector<ValueId> PasteBody(Graph& graph, const std::string& prefix, const Graph& body,
                               std::span<const ValueId> inputs);

}  // namespace sardonyx::optimizer
