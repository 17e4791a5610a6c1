// runtime/build.h - from a model to the graph that runs.
#pragma once

#include "ir/graph.h"
#include "runtime/environment.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

// Resolves versions, infers types, inlines functions, runs the passes of the chosen level, upgrades every node to its
// newest spelling. Writes the optimized model where the options ask for it. Errors name the node.
Graph BuildGraph(Environment& environment, const Model& model, const SessionOptions& options, const Logger& logger);

}  // namespace sardonyx::runtime
