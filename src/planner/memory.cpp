// planner/memory.cpp - greedy by size, best fit; for very many blocks greedy by time, which is not quadratic.
#include "planner/memory.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

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

constexpr std::size_t kMany = 8192;  // blocks; by size, each looks at all that were placed before

// An arena whose blocks come and go.
class Arena {
 public:
  std::size_t Take(std::size_t bytes) {
    const auto found = by_size_.lower_bound({bytes, 0});
    if (found != by_size_.end()) {
      const std::size_t begin = found->second, end = begin + found->first;
      Forget(gaps_.find(begin));
      if (begin + bytes < end) Remember(begin + bytes, end);
      return begin;
    }
    std::size_t begin = size_;
    if (!gaps_.empty() && gaps_.rbegin()->second == size_) {  // the last gap grows
      begin = gaps_.rbegin()->first;
      Forget(std::prev(gaps_.end()));
    }
    size_ = CheckedAdd(begin, bytes, "the size of the arena");
    return begin;
  }
  void Give(std::size_t begin, std::size_t end) {
    const auto next = gaps_.lower_bound(begin);
    if (next != gaps_.end() && next->first == end) {
      end = next->second;
      Forget(next);
    }
    const auto after = gaps_.lower_bound(begin);
    if (after != gaps_.begin() && std::prev(after)->second == begin) {
      begin = std::prev(after)->first;
      Forget(std::prev(after));
    }
    Remember(begin, end);
  }
  std::size_t size() const { return size_; }

 private:
  void Remember(std::size_t begin, std::size_t end) {
    gaps_[begin] = end;
    by_size_.insert({end - begin, begin});
  }
  void Forget(std::map<std::size_t, std::size_t>::iterator gap) {
    by_size_.erase({gap->second - gap->first, gap->first});
    gaps_.erase(gap);
  }

  std::map<std::size_t, std::size_t> gaps_;                // begin to end
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // size and begin
  std::size_t size_ = 0;
};

Placement PlaceByTime(std::span<const Block> blocks, std::size_t alignment) {
  std::vector<std::size_t> by_time(blocks.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].first < blocks[b].first; });
  Placement result;
  result.offsets.resize(blocks.size());
  Arena arena;
  std::set<std::pair<int, std::size_t>> live;  // the last step and the index of a block
  const auto size_of = [&](std::size_t index) {
    return CheckedAdd(blocks[index].bytes, alignment - 1, "the size of the arena") / alignment * alignment;
  };
  for (const std::size_t index : by_time) {
    if (blocks[index].bytes == 0) continue;
    while (!live.empty() && live.begin()->first < blocks[index].first) {
      const std::size_t gone = live.begin()->second;
      arena.Give(result.offsets[gone], result.offsets[gone] + size_of(gone));
      live.erase(live.begin());
    }
    result.offsets[index] = arena.Take(size_of(index));
    live.insert({blocks[index].last, index});
  }
  result.arena_bytes = arena.size();
  return result;
}

}  // namespace

Placement PlaceBlocks(std::span<const Block> blocks, std::size_t alignment) {
  if (blocks.size() > kMany) return PlaceByTime(blocks, alignment);
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
    const std::size_t bytes = CheckedAdd(block.bytes, alignment - 1, "the size of the arena") / alignment * alignment;
    const std::size_t begin = FindGap(neighbours, bytes);
    const Placed mine{begin, CheckedAdd(begin, bytes, "the size of the arena"), block.first, block.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  mine);
    result.offsets[index] = begin;
    result.arena_bytes = std::max(result.arena_bytes, mine.end);
  }
  return result;
}

}  // namespace sardonyx::planner
