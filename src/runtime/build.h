// runtime/build.h - makes the graph that runs from a model.
#pragma once

#include "ir/graph.h"
#include "providers/provider.h"
#include "runtime/environment.h"
#include "runtime/options.h"

namespace sardonyx::runtime {

// The operators of a session: its own if it has custom ones.
inline const ops::Registry& RegistryOf(const Environment& environment, const SessionOptions& options) {
  return options.operators != nullptr ? *options.operators : environment.registry();
}

// The providers that the options ask for, the CPU last unless they place it. If a provider is missing or cannot start,
// it is left out with a warning if the options name the CPU as the fallback; otherwise MakeProviders fails (with
// kInvalidArgument for an unknown name, else with the provider's own error).
providers::ProviderSet MakeProviders(const Environment& environment, const SessionOptions& options,
                                     const Logger& logger);

// Resolves versions, infers types, inlines functions, partitions, runs the passes of the chosen level, upgrades every
// node to its newest spelling; in the end every node has its provider and every value its device. Writes the optimized
// model, and the one with what providers have compiled, if the options ask for them. `compiled`, if there is one,
// receives the latter instead, in its author's opset: set.contexts says which nodes it has from providers. Errors name
// the node.
Graph BuildGraph(Environment& environment, const Model& model, const SessionOptions& options,
                 providers::ProviderSet& set, const Logger& logger, Model* compiled = nullptr);

}  // namespace sardonyx::runtime
