// planner/partition.h - decides which provider runs which node.
#pragma once

#include "ir/graph.h"
#include "ops/registry.h"
#include "providers/provider.h"

namespace sardonyx::planner {

// Whether there is a node, bodies included, that no operator runs and no provider has claimed: the call of a function,
// or a provider's own operator.
bool HasOpenCalls(const Graph& graph, const ops::Registry& registry);

// Offers calls of functions to the providers, one graph after another, bodies first; graphs without such calls are not
// shown. The calls that they claim get node.provider and are not inlined.
void ClaimFunctionCalls(Graph& graph, const ops::Registry& registry, const providers::ProviderSet& set);

// Asks the providers in their order, for each graph from the innermost body out; a provider that prefers images
// channels last is asked twice (planner/layout/prefer_layout.h). A node claimed alone gets node.provider; a fused group
// becomes one node (domain: the provider's name, op_type: unique in the session, attribute "body": the group as a
// graph), compiled into set.compiled. Nodes of the CPU keep an empty provider, by which the passes that follow
// recognize nodes that they may change (optimizer/rules/rewrite.h; AssignRest names it); node.provider_note collects
// the refusals. Fails with kEpFail naming the provider for a claim that contradicts itself: a node that was not offered
// or is claimed twice, control flow claimed alone, a fused group that a path leaves and comes back to. Returns true if
// a provider refused a call that it had claimed (ClaimFunctionCalls): the call has no provider any more, and once it is
// inlined, Partition is to be called again for what has none yet.
bool Partition(Graph& graph, const ops::Registry& registry, providers::ProviderSet& set);

// Gives every node that has no provider yet to the CPU. Fails with kNotImplemented, naming the first node that the CPU
// does not take and the reasons of all providers; with `allow_cpu` false for the first node that would run on the CPU.
void AssignRest(Graph& graph, const ops::Registry& registry, const providers::ProviderSet& set, bool allow_cpu);

}  // namespace sardonyx::planner
