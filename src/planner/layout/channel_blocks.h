// planner/layout/channel_blocks.h - opens the blocked images of com.microsoft.nchwc, which models have that ONNX
// Runtime saved at optimization level `all`.
#pragma once

#include <cstdint>

#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::planner {

// The block size of the machine that saved the model, which the file does not name: 8 or 16. Sizes in the graph tell it
// if they fit only one of the two; otherwise it is what ONNX Runtime takes on this machine. 0: the graph has no
// operator of the domain.
std::int64_t BlockSizeOf(const Graph& graph);

// Replaces the operators of com.microsoft.nchwc by those of ONNX on [N, C, H, W], with weights in ONNX's order, and
// what lies between them with them. Types are inferred already, and have to be inferred again if true comes back.
// block: 8 or 16; 0: BlockSizeOf. Fails with kInvalidGraph naming the node where sizes do not fit the block size.
bool OpenChannelBlocks(Graph& graph, const ops::Registry& registry, std::int64_t block);

}  // namespace sardonyx::planner
