// providers/plugin/compiled_nodes.h - the nodes that an OrtEp has compiled.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capi/handles/graph_view.h"
#include "capi/handles/kernel_info.h"
#include "ops/op_def.h"
#include "providers/plugin/ep.h"
#include "providers/provider.h"

namespace sardonyx::plugin {

// Has `ep` compile the groups, all at once, and makes the state of each. Fails with what the plug-in says, and if
// `wants_contexts` where it makes no node for a model with compiled nodes.
std::vector<providers::CompiledGroup> CompileNodes(const std::shared_ptr<Ep>& ep,
                                                   std::span<const providers::FusedNode> groups,
                                                   const std::shared_ptr<const capi::ModelFacts>& facts,
                                                   const std::shared_ptr<const capi::KernelSession>& session,
                                                   bool wants_contexts);

}  // namespace sardonyx::plugin
