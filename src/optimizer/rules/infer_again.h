// optimizer/rules/infer_again.h - inference in the middle of optimization.
#pragma once

#include <string>

#include "base/logging.h"
#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::optimizer {

// Infers a node anew, and its bodies. What passes found out, such as the value of a constant, may show that a node can
// never work. That is no error yet: no run may reach it, and one that does fails. Returns false then, with the reason
// in the log and in `why`, and the node's outputs keep their types.
bool InferAgain(Graph& graph, NodeId id, const ops::Registry& registry, const Logger* logger = nullptr,
                std::string* why = nullptr);

}  // namespace sardonyx::optimizer
