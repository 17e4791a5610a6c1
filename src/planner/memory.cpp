// planner/memory.cpp - greedy by size, best fit.
#include "planner/memory.h"

#include <algorithm>
#include <numeric>

#include "base/shape.h"

namespace sardonyx::planner {
namespace {

struct Placed {
  std::size_t begin, end;
  int first, last;
};

// The start of the tightest gap of at least `bytes` between `neighbours` (sorted by begin), or their end.
std::size_t FindGap(const std::vector<Placed>& neighbours, std::size_t bytes) {
  std::size_t at = 0, best = SIZE_MAX, best_size = SIZE_MAX;
  for (const Placed& neighbour : neighbours) {
    if (neighbour.begin > at) {
      const std::size_t gap = neighbour.begin - at;
      if (gap >= bytes && gap < best_size) {
        best = at;
        best_size = gap;
      }
    }
    at = std::max(at, neighbour.end);
  }
  return best == SIZE_MAX ? at : best;
}

}  // namespace

Placement PlaceBlocks(std::span<const Block> blocks, std::size_t alignment) {
  std::vector<std::size_t> by_size(blocks.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  Placement result;
  result.offsets.resize(blocks.size());
  std::vector<Placed> placed;  // sorted by begin
  std::vector<Placed> neighbours;
  for (const std::size_t index : by_size) {
    const Block& block = blocks[index];
    if (block.bytes == 0) continue;
    neighbours.clear();
    for (const Placed& other : placed)
      if (other.first <= block.last && block.first <= other.last) neighbours.push_back(other);
    const std::size_t bytes = CheckedAdd(block.bytes, alignment - 1, "the arena") / alignment * alignment;
    const std::size_t begin = FindGap(neighbours, bytes);
    const Placed mine{begin, CheckedAdd(begin, bytes, "the arena"), block.first, block.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  mine);
    result.offsets[index] = begin;
    result.arena_bytes = std::max(result.arena_bytes, mine.end);
  }
  return result;
}

}  // namespace sardonyx::planner
