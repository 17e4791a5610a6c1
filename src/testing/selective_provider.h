// testing/selective_provider.h - a provider for tests that takes only some operators, alone or in fused groups.
#pragma once

#include <set>
#include <string>

#include "providers/provider.h"

namespace sardonyx::testing {

// Runs float nodes of the operators it was told, on the host, with the reference evaluator of ops. Counts what it ran,
// so that a test sees that it did. Options: "operators" ("MatMul,Relu"), "fuse" ("1": connected groups are compiled
// into one node), "channels_last" ("1": the layout that it prefers).
inline constexpr const char* kSelectiveName = "SelectiveTestExecutionProvider";
providers::ProviderFactory SelectiveProvider();

// Nodes that selective providers of this process ran so far.
long SelectiveRuns();

}  // namespace sardonyx::testing
