// planner/memory.h - offsets in one arena for blocks whose lifetimes are known.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sardonyx::planner {

struct Block {
  std::size_t bytes = 0;
  int first = 0;  // the step that writes it
  int last = 0;   // the last step that reads it, inclusive
};

struct Placement {
  std::vector<std::size_t> offsets;  // by block, multiples of `alignment`
  std::size_t arena_bytes = 0;
};

// Blocks that live at the same time never overlap. Larger blocks are placed first, each into the tightest gap between
// those already placed that live at the same time (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference", 2020).
Placement PlaceBlocks(std::span<const Block> blocks, std::size_t alignment = 64);

}  // namespace sardonyx::planner
