// kernels/tree/forest.isa.cpp - evaluates both forms of decision trees, walks and bits; one source for every ISA.
#include "kernels/tree/forest.h"

#include "kernels/simd/select_i32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr int64_t kVectors = kForestRows / kLanes;  // of a block
constexpr int kWalks = 8;                           // in flight: enough to hide the latency of a step

// Floats in their order as integers: -0 is 0, NaN is treated by the caller.
inline UintVec KeysOf(Vec x) {
  const UintVec bits = (UintVec)(x + Broadcast(0));
  return bits ^ ((UintVec)((IntVec)bits >> 31) & BroadcastInt(0x7fffffff));
}

inline IntVec LoadKeys(const int32_t* p) { return (IntVec)LoadInt(p); }

// The bits of one word for kCount vectors of rows: all of them, less those that a test on the row's key takes.
template <int kCount>
inline void WordBits(const ForestTest* tests, const ForestWord& word, const int32_t* keys, UintVec (&bits)[kCount]) {
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) bits[i] = BroadcastInt(~0u);
  const ForestTest* test = tests + word.first;
  for (const ForestTest* end = test + word.count; test != end; ++test) {
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i)
      bits[i] = AndWhereAbove(bits[i], LoadKeys(keys + test->column + i * kLanes), test->above, test->keep);
  }
  for (const ForestTest* end = test + word.intervals; test != end; ++test) {
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i)
      bits[i] =
          AndWhereWithin(bits[i], LoadKeys(keys + test->column + i * kLanes), test->above, test->up_to, test->keep);
  }
}

// The values of slots, which are relative to `values` and below 32 * words.
inline Vec ValuesOf(const float* values, int words, UintVec slots) {
  return words == 1 ? LookUpOf32(values, slots) : LookUp(values, slots);
}

// The slots of kCount vectors of rows in a tree with words, relative to its first.
template <int kCount>
inline void BitSlots(const ForestView& f, const ForestTree& tree, const int32_t* keys, UintVec (&slots)[kCount]) {
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) slots[i] = UintVec{};
  for (int w = tree.words; w-- > 0;) {
    UintVec bits[kCount];
    WordBits<kCount>(f.tests, f.words[tree.first_word + w], keys, bits);
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) slots[i] = FirstBitOr(bits[i], static_cast<uint32_t>(w) * 32, slots[i]);
  }
}

inline const ForestNode& NodeAt(const ForestNode* nodes, int32_t at) {
  return *reinterpret_cast<const ForestNode*>(reinterpret_cast<const char*>(nodes) + at);
}

// Takes kWalks walks, at nodes `at`, to their slots. Walk i reads keys[column + i * kStride].
template <int kStride>
inline void Walk(const ForestNode* nodes, const int32_t* keys, int32_t (&at)[kWalks], int depth) {
  constexpr int kSteps = 4;  // between two looks whether all have arrived
  while (depth > 0) {
    for (int step = depth < kSteps ? depth : kSteps; step > 0; --step) {
#pragma GCC unroll 8
      for (int i = 0; i < kWalks; ++i) {
        const ForestNode& node = NodeAt(nodes, at[i]);
        at[i] = node.next[keys[node.column + i * kStride] > node.key ? 1 : 0];
      }
    }
    depth -= kSteps;
    if (depth <= 0) break;
    int32_t moving = 0;
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i) moving |= at[i] ^ NodeAt(nodes, at[i]).next[0];
    if (moving == 0) break;
  }
#pragma GCC unroll 8
  for (int i = 0; i < kWalks; ++i) at[i] = NodeAt(nodes, at[i]).key;
}

// Eight rows of one tree at a time.
void WalkTree(const ForestView& f, const ForestTree& tree, const int32_t* keys, int64_t rows, int32_t* slots) {
  for (int64_t r = 0; r < rows; r += kWalks) {
    int32_t at[kWalks];
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i) at[i] = tree.root;
    Walk<1>(f.nodes, keys + r, at, tree.depth);
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i) slots[r + i] = at[i];
  }
}

// One row in eight trees at a time.
void WalkRow(const ForestView& f, int64_t begin, int64_t end, const int32_t* keys, int32_t* slots) {
  for (int64_t t = begin; t < end; t += kWalks) {
    int32_t at[kWalks];
    int depth = 0;
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i) {
      const ForestTree& tree = f.trees[t + i < end ? t + i : begin];
      at[i] = tree.root;
      if (tree.depth > depth) depth = tree.depth;
    }
    Walk<0>(f.nodes, keys, at, depth);
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i)
      if (t + i < end) slots[(t + i - begin) * kForestRows] = at[i];
  }
}

constexpr int64_t kFewRows = 2;  // up to here walks of single rows are faster than bits of a whole vector

template <int kCount>
void AddBitTree(const ForestView& f, const ForestTree& tree, const int32_t* keys, float* sums) {
  UintVec slots[kCount];
  BitSlots<kCount>(f, tree, keys, slots);
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) {
    Store(sums + i * kLanes, Load(sums + i * kLanes) + ValuesOf(f.values + tree.first_slot, tree.words, slots[i]));
  }
}

template <int kCount>
void StoreBitSlots(const ForestView& f, const ForestTree& tree, const int32_t* keys, int32_t* to) {
  UintVec slots[kCount];
  BitSlots<kCount>(f, tree, keys, slots);
  const UintVec first = BroadcastInt(static_cast<uint32_t>(tree.first_slot));
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) StoreInt(to + i * kLanes, slots[i] + first, FirstLanes(kLanes));
}

// Calls step<vectors>(offset) until the vectors cover `rows`: four or two at a time, so that a test is loaded once.
template <typename Step>
inline void ForVectors(int64_t rows, Step step) {
  constexpr int kAtOnce = kVectors < 4 ? static_cast<int>(kVectors) : 4;
  for (int64_t r = 0; r < rows; r += kAtOnce * kLanes) {
    if (rows - r <= kLanes) {
      step.template operator()<1>(r);
    } else {
      step.template operator()<kAtOnce>(r);
    }
  }
}

}  // namespace

void ForestKeys(const ForestView& forest, const float* x, int64_t stride, int64_t rows, int32_t* keys) {
  for (int64_t c = 0; c < forest.column_count; ++c, keys += kForestRows) {
    const float* from = x + forest.columns[c].feature;
    const IntVec nan = (IntVec)BroadcastInt(forest.columns[c].nan_is_high ? 0x7fffffffu : 0x80000000u);
    float column[kForestRows];
    for (int64_t r = 0; r < kForestRows; ++r) column[r] = r < rows ? from[r * stride] : 0;
    for (int64_t i = 0; i < kForestRows; i += kLanes) {
      const Vec v = Load(column + i);
      const IntVec is_nan = v != v;
      StoreInt(keys + i, (KeysOf(v) & ~(UintVec)is_nan) | (UintVec)(nan & is_nan), FirstLanes(kLanes));
    }
  }
}

void ForestSlots(const ForestView& f, int64_t begin, int64_t end, const int32_t* keys, int64_t rows, int32_t* slots) {
  if (rows <= kFewRows) {
    for (int64_t r = 0; r < rows; ++r) WalkRow(f, begin, end, keys + r, slots + r);
    return;
  }
  for (int64_t t = begin; t < end; ++t, slots += kForestRows) {
    const ForestTree& tree = f.trees[t];
    if (tree.words == 0) {
      WalkTree(f, tree, keys, rows, slots);
      continue;
    }
    ForVectors(rows, [&]<int kCount>(int64_t r) { StoreBitSlots<kCount>(f, tree, keys + r, slots + r); });
  }
}

void ForestAddValues(const ForestView& f, int64_t begin, int64_t end, const int32_t* keys, int64_t rows, float* sums) {
  constexpr int64_t kTrees = 64;  // slots of so many trees lie on the stack
  int32_t slots[kTrees * kForestRows];
  if (rows <= kFewRows) {
    for (int64_t t = begin; t < end; t += kTrees) {
      const int64_t count = end - t < kTrees ? end - t : kTrees;
      ForestSlots(f, t, t + count, keys, rows, slots);
      for (int64_t i = 0; i < count; ++i)
        for (int64_t r = 0; r < rows; ++r)
          sums[f.trees[t + i].target * kForestRows + r] += f.values[slots[i * kForestRows + r]];
    }
    return;
  }
  for (int64_t t = begin; t < end; ++t) {
    const ForestTree& tree = f.trees[t];
    float* to = sums + tree.target * kForestRows;
    if (tree.words == 0) {
      WalkTree(f, tree, keys, rows, slots);
      for (int64_t r = 0; r < rows; ++r) to[r] += f.values[slots[r]];
      continue;
    }
    ForVectors(rows, [&]<int kCount>(int64_t r) { AddBitTree<kCount>(f, tree, keys + r, to + r); });
  }
}

void ForestAddRows(const float* weights, int64_t width, const int32_t* slots, int64_t trees, int64_t rows,
                   float* sums) {
  for (int64_t t = 0; t < trees; ++t, slots += kForestRows) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = weights + slots[r] * width;
      float* to = sums + r * width;
      for (int64_t k = 0; k < width; ++k) to[k] += from[k];
    }
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
