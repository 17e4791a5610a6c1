// runtime/saving/file_spelling.h - spells nodes of old versions for a file that imports a newer opset.
#pragma once

#include <cstdint>

#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::runtime {

// A session keeps some nodes in an old form that newer opsets write differently, with several nodes, or not at all; a
// pass may need an opset that the author did not import. Rewrites the nodes of ONNX's domain (bodies included) so that
// they mean in `opset` what they mean in the session. Fails with kNotImplemented naming the node that has no such form.
void SpellForOpset(Graph& graph, std::int64_t opset, const ops::Registry& registry);

// Gives nodes of com.microsoft the outputs that ONNX Runtime asks for whether anyone reads them or not: without the
// second one it refuses an EmbedLayerNormalization.
void AddExpectedOutputs(Graph& graph);

}  // namespace sardonyx::runtime
