// kernels/tree/forest.h - decision forests: which leaf of each tree a row reaches, and sums over the leaves.
//
// A block is 32 rows. Each feature of a block becomes 32-bit keys in the order of its numbers, so that one comparison
// of integers serves every element type: floats map to keys bit by bit, doubles to their rank among the thresholds. NaN
// becomes the largest or the smallest key, whichever sends it to the branch that the decision prescribes; a feature
// whose decisions prescribe different branches has two columns of keys. Every decision is "key > threshold".
//
// A tree has two forms. Walks: nodes of 16 bytes, eight walks in flight. Bits (trees of up to kMaxWords * 32 leaves):
// every decision of the tree is made for all rows of the block at once, and clears in each row's bits the leaves that
// it rules out; the first bit left is the leaf. This needs neither gathers nor branches (the idea: Lucchese and others,
// "QuickScorer", SIGIR 2015). Both forms reach the same slot, so the choice never changes a result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

constexpr std::int64_t kForestRows = 32;
constexpr int kMaxWords = 4;

// next[key of the column > this key]. A leaf leads to itself; its key is its slot.
struct ForestNode {
  std::int32_t key;
  std::int32_t column;   // times kForestRows
  std::int32_t next[2];  // in bytes from the first node
};
// Keeps only the bits of `keep` in the rows whose key is in (above, up_to].
struct ForestTest {
  std::int32_t column;  // times kForestRows
  std::int32_t above;
  std::int32_t up_to;  // read for intervals only
  std::uint32_t keep;
};
// 32 leaves of a tree: tests[first, first + count) have no upper end, the `intervals` after them have both.
struct ForestWord {
  std::int32_t first, count, intervals;
};
struct ForestTree {
  std::int32_t root, depth;        // of the walk; the root in bytes
  std::int32_t first_word, words;  // no words: too many leaves
  std::int32_t first_slot, slots;  // the leaves in the order of the bits; a shared leaf may have several
  std::int32_t target;             // of sums with one target per tree
};
struct ForestColumn {
  std::int32_t feature;
  bool nan_is_high;
};

// What kernels read.
struct ForestView {
  const ForestTree* trees = nullptr;
  const ForestNode* nodes = nullptr;
  const ForestWord* words = nullptr;
  const ForestTest* tests = nullptr;
  const float* values = nullptr;  // of slots, kMaxWords * 32 readable from any tree's first; for sums
  const ForestColumn* columns = nullptr;
  std::int64_t column_count = 0;
};

struct ForestKernels {
  // keys[c * 32 + r] for each column and r < rows (at most 32); the others are 0. x has `stride` floats a row.
  void (*keys)(const ForestView& forest, const float* x, std::int64_t stride, std::int64_t rows, std::int32_t* keys);
  // slots[(t - begin) * 32 + r]: the slot that row r reaches in tree t of [begin, end). Rows from `rows` on: undefined.
  void (*slots)(const ForestView& forest, std::int64_t begin, std::int64_t end, const std::int32_t* keys,
                std::int64_t rows, std::int32_t* slots);
  // sums[target * 32 + r] += the value of that slot, tree by tree.
  void (*add_values)(const ForestView& forest, std::int64_t begin, std::int64_t end, const std::int32_t* keys,
                     std::int64_t rows, float* sums);
  // sums[r * width + k] += weights[slot * width + k] for the slots of `trees` trees.
  void (*add_rows)(const float* weights, std::int64_t width, const std::int32_t* slots, std::int64_t trees,
                   std::int64_t rows, float* sums);
};

#define SDX_DECLARE(isa)                                                                                         \
  namespace isa {                                                                                                \
  void ForestKeys(const ForestView& forest, const float* x, std::int64_t stride, std::int64_t rows,              \
                  std::int32_t* keys);                                                                           \
  void ForestSlots(const ForestView& forest, std::int64_t begin, std::int64_t end, const std::int32_t* keys,     \
                   std::int64_t rows, std::int32_t* slots);                                                      \
  void ForestAddValues(const ForestView& forest, std::int64_t begin, std::int64_t end, const std::int32_t* keys, \
                       std::int64_t rows, float* sums);                                                          \
  void ForestAddRows(const float* weights, std::int64_t width, const std::int32_t* slots, std::int64_t trees,    \
                     std::int64_t rows, float* sums);                                                            \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

const ForestKernels& ForestOf(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
