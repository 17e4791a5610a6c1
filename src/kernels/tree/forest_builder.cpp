// kernels/tree/forest_builder.cpp - turns the trees of a model into walks and bits.
#include "kernels/tree/forest_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/error.h"

namespace sardonyx::kernels {
namespace {

using Key = std::int64_t;  // floats and doubles in their order as integers; beyond them the limits and NaN

template <typename Bits, typename T>
Key OrderOf(T x) {
  const Bits bits = std::bit_cast<Bits>(x + T{0});  // -0 becomes 0
  return bits < 0 ? Key{bits} ^ std::numeric_limits<Bits>::max() : Key{bits};
}
Key KeyOf(float x) { return OrderOf<std::int32_t>(x); }
Key KeyOf(double x) { return OrderOf<std::int64_t>(x); }

constexpr Key kAlways = std::numeric_limits<Key>::min();    // every key but that of a low NaN is above it
constexpr Key kNeverYet = std::numeric_limits<Key>::max();  // only a high NaN is above it
constexpr std::int32_t kLowNan = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kHighNan = std::numeric_limits<std::int32_t>::max();

std::int32_t Narrow(Key key) {
  return key == kAlways ? kLowNan : key == kNeverYet ? kHighNan - 1 : static_cast<std::int32_t>(key);
}

struct RawNode {
  Key key;
  std::int32_t column;
  std::int32_t next[2];
  bool leaf;  // then key is the slot
};

// Rules out the leaves [begin, end) of its tree where the key is in (above, up_to].
struct RawTest {
  Key above, up_to;
  std::int32_t column, begin, end;
  bool interval;
};

// A decision as "key > threshold" or as "key within intervals": `out` is where neither is so.
struct Decision {
  bool intervals = false;
  Key above = 0;
  std::int32_t out = 0, in = 0;  // children
  std::int32_t column = 0;
  std::vector<Key> bounds;                 // of the intervals (b0, b1], (b2, b3] ...
  std::int32_t nan_column = -1;            // intervals: NaN leads in, too
  std::int32_t out_node = 0, in_node = 0;  // of the walk
};

constexpr std::int32_t kNone = -1;

}  // namespace

class ForestBuilder {
 public:
  explicit ForestBuilder(const ForestSource& source) : source_(source) {
    entry_.assign(source.splits.size(), kNone);
    height_.assign(source.splits.size(), 0);
    open_.assign(source.splits.size(), false);
    leaf_node_.assign(static_cast<std::size_t>(source.leaves), kNone);
    leaf_slot_.assign(static_cast<std::size_t>(source.leaves), kNone);
    nodes_.reserve(source.splits.size() + static_cast<std::size_t>(source.leaves));
  }

  Forest Run() {
    for (const std::int32_t root : source_.roots) AddTree(root);
    for (const Split& split : source_.splits) forest_.max_feature_ = std::max(forest_.max_feature_, split.feature);
    Rank();
    Finish();
    return std::move(forest_);
  }

 private:
  Key KeyOfValue(double value) const { return source_.doubles ? KeyOf(value) : KeyOf(static_cast<float>(value)); }

  std::int32_t Column(std::int32_t feature, bool nan_is_high) {
    const auto [at, added] = column_of_.try_emplace(std::int64_t{feature} * 2 + (nan_is_high ? 1 : 0),
                                                    static_cast<std::int32_t>(forest_.columns_.size()));
    if (added) forest_.columns_.push_back({feature, nan_is_high});
    return at->second;
  }

  void AddInterval(Decision& d, double value) const {
    if (std::isnan(value)) return;  // equal to nothing
    const Key key = KeyOfValue(value);
    if (!d.bounds.empty() && d.bounds.back() == key) return;
    if (!d.bounds.empty() && d.bounds.back() == key - 1) {
      d.bounds.back() = key;
    } else {
      d.bounds.insert(d.bounds.end(), {key - 1, key});
    }
  }

  Decision Decide(const Split& split) {
    Decision d;
    const bool lower = split.mode == Branch::kLeq || split.mode == Branch::kLt;
    if (lower || split.mode == Branch::kGte || split.mode == Branch::kGt) {
      // x > value or x >= value leads in; a NaN goes where `false` is unless it is tracked.
      const bool strict = split.mode == Branch::kLeq || split.mode == Branch::kGt;
      d.in = lower ? split.on_false : split.on_true;
      d.out = lower ? split.on_true : split.on_false;
      d.column = Column(split.feature, lower != split.missing_is_true);
      d.above = std::isnan(split.value) ? (lower ? kAlways : kNeverYet) : KeyOfValue(split.value) - (strict ? 0 : 1);
      return d;
    }
    d.intervals = true;
    const bool negated = split.mode == Branch::kNeq;
    d.in = negated ? split.on_false : split.on_true;
    d.out = negated ? split.on_true : split.on_false;
    d.column = Column(split.feature, true);
    if (split.missing_is_true && !negated) d.nan_column = d.column;
    if (split.mode != Branch::kMember) {
      AddInterval(d, split.value);
      return d;
    }
    std::vector<double> members(source_.members.begin() + split.first_member,
                                source_.members.begin() + split.end_member);
    std::erase_if(members, [](double m) { return std::isnan(m); });
    std::sort(members.begin(), members.end());
    for (const double member : members) AddInterval(d, member);
    return d;
  }

  void AddTree(std::int32_t root) {
    ForestTree tree{};
    tree.first_slot = static_cast<std::int32_t>(forest_.leaf_of_slot_.size());
    tree.first_word = static_cast<std::int32_t>(forest_.words_.size());
    std::vector<std::int32_t> leaves;
    std::vector<RawTest> tests;
    if (Expand(root, 0, leaves, tests)) {
      AddWords(leaves, tests, tree);
      for (const std::int32_t leaf : leaves) AddSlot(leaf);
      forest_.tests_per_row_ += static_cast<std::int64_t>(tests.size());
    }
    tree.root = Walk(root, tree.depth);
    forest_.steps_per_row_ += tree.depth;
    if (tree.words == 0) forest_.walked_steps_ += tree.depth;
    tree.slots = static_cast<std::int32_t>(forest_.leaf_of_slot_.size()) - tree.first_slot;
    forest_.trees_.push_back(tree);
  }

  std::int32_t AddSlot(std::int32_t leaf) {
    const auto slot = static_cast<std::int32_t>(forest_.leaf_of_slot_.size());
    forest_.leaf_of_slot_.push_back(leaf);
    if (leaf_slot_[leaf] == kNone) leaf_slot_[leaf] = slot;
    return leaf_slot_[leaf];
  }

  // The leaves from left (out) to right (in) and the tests between them; false if there are too many. A shared subtree
  // counts as often as it is reached; a circle ends at the depth that such a tree cannot have.
  bool Expand(std::int32_t child, int depth, std::vector<std::int32_t>& leaves, std::vector<RawTest>& tests) {
    constexpr std::size_t kMost = std::size_t{kMaxWords} * 32;
    if (child < 0) {
      leaves.push_back(-1 - child);
      return leaves.size() <= kMost;
    }
    if (depth >= static_cast<int>(kMost) || tests.size() > 4 * kMost) return false;
    const Decision d = Decide(source_.splits[child]);
    const auto begin = static_cast<std::int32_t>(leaves.size());
    if (!Expand(d.out, depth + 1, leaves, tests)) return false;
    const auto end = static_cast<std::int32_t>(leaves.size());
    if (!Expand(d.in, depth + 1, leaves, tests)) return false;
    if (!d.intervals) tests.push_back({d.above, 0, d.column, begin, end, false});
    for (std::size_t i = 0; i < d.bounds.size(); i += 2)
      tests.push_back({d.bounds[i], d.bounds[i + 1], d.column, begin, end, true});
    if (d.nan_column != kNone) tests.push_back({kNeverYet, 0, d.nan_column, begin, end, false});
    return true;
  }

  void AddWords(const std::vector<std::int32_t>& leaves, const std::vector<RawTest>& tests, ForestTree& tree) {
    tree.words = (static_cast<std::int32_t>(leaves.size()) + 31) / 32;
    for (std::int32_t w = 0; w < tree.words; ++w) {
      ForestWord word{static_cast<std::int32_t>(raw_tests_.size()), 0, 0};
      for (const bool intervals : {false, true}) {
        for (const RawTest& test : tests) {
          const std::int32_t begin = std::max(test.begin - 32 * w, 0), end = std::min(test.end - 32 * w, 32);
          if (test.interval != intervals || begin >= end) continue;
          std::uint32_t cleared = ~std::uint32_t{0} >> begin;  // the first leaf is the highest bit
          if (end < 32) cleared &= ~(~std::uint32_t{0} >> end);
          raw_tests_.push_back(test);
          forest_.tests_.push_back({test.column * static_cast<std::int32_t>(kForestRows), 0, 0, ~cleared});
          ++(intervals ? word.intervals : word.count);
        }
      }
      forest_.words_.push_back(word);
    }
  }

  // The nodes of a tree, parents before their `out` children where it can be; returns the root and the depth.
  std::int32_t Walk(std::int32_t root, std::int32_t& depth) {
    std::vector<std::int32_t> stack;
    if (root >= 0) stack.push_back(root);
    while (!stack.empty()) {
      const std::int32_t at = stack.back();
      if (height_[at] != 0) {  // reached twice, made by now
        stack.pop_back();
        continue;
      }
      const Split& split = source_.splits[at];
      if (!open_[at]) {
        open_[at] = true;
        if (split.mode <= Branch::kGt) {
          entry_[at] = static_cast<std::int32_t>(nodes_.size());
          nodes_.emplace_back();
        }
        Push(split.on_false, stack);
        Push(split.on_true, stack);
      } else {
        Close(at);
        stack.pop_back();
      }
    }
    depth = root < 0 ? 0 : height_[root];
    return Entry(root);
  }

  void Push(std::int32_t child, std::vector<std::int32_t>& stack) {
    if (child < 0 || height_[child] != 0) return;
    if (open_[child]) Fail(Code::kInvalidGraph, "expected trees, found nodes that form a cycle");
    stack.push_back(child);
  }

  std::int32_t Height(std::int32_t child) const { return child < 0 ? 0 : height_[child]; }

  // The node of a child: its walk is made, or it is a leaf.
  std::int32_t Entry(std::int32_t child) {
    if (child >= 0) return entry_[child];
    const std::int32_t leaf = -1 - child;
    if (leaf_node_[leaf] == kNone) {
      const auto at = static_cast<std::int32_t>(nodes_.size());
      const std::int32_t slot = leaf_slot_[leaf] != kNone ? leaf_slot_[leaf] : AddSlot(leaf);
      nodes_.push_back({slot, 0, {at, at}, true});
      leaf_node_[leaf] = at;
    }
    return leaf_node_[leaf];
  }

  void Close(std::int32_t at) {
    Decision d = Decide(source_.splits[at]);
    const std::int32_t out = d.out_node = Entry(d.out), in = d.in_node = Entry(d.in);
    height_[at] = 1 + std::max(Height(d.out), Height(d.in));
    open_[at] = false;
    if (!d.intervals) {
      nodes_[entry_[at]] = {d.above, d.column, {out, in}, false};
      return;
    }
    std::int32_t steps = 0;
    entry_[at] = Search(d, 0, d.bounds.size(), 1, steps);
    if (d.nan_column != kNone) {
      nodes_.push_back({kNeverYet, d.nan_column, {entry_[at], in}, false});
      entry_[at] = static_cast<std::int32_t>(nodes_.size()) - 1;
      ++steps;
    }
    height_[at] += std::max(steps - 1, 0);
  }

  // A search tree over the bounds [begin, end): between an even one and the next lies an interval.
  std::int32_t Search(const Decision& d, std::size_t begin, std::size_t end, std::int32_t depth, std::int32_t& steps) {
    if (begin == end) return begin % 2 == 0 ? d.out_node : d.in_node;
    steps = std::max(steps, depth);
    const std::size_t middle = (begin + end) / 2;
    const std::int32_t low = Search(d, begin, middle, depth + 1, steps);
    const std::int32_t high = Search(d, middle + 1, end, depth + 1, steps);
    nodes_.push_back({d.bounds[middle], d.column, {low, high}, false});
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }

  // Doubles: thresholds of each column, ascending; keys become their places.
  void Rank() {
    if (!source_.doubles) return;
    std::vector<std::vector<Key>> lists(forest_.columns_.size());
    const auto add = [&](std::int32_t column, Key key) {
      if (key != kAlways && key != kNeverYet) lists[column].push_back(key);
    };
    for (const RawNode& node : nodes_)
      if (!node.leaf) add(node.column, node.key);
    for (const RawTest& test : raw_tests_) {
      add(test.column, test.above);
      if (test.interval) add(test.column, test.up_to);
    }
    forest_.starts_.push_back(0);
    for (std::vector<Key>& list : lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      forest_.thresholds_.insert(forest_.thresholds_.end(), list.begin(), list.end());
      forest_.starts_.push_back(static_cast<std::int32_t>(forest_.thresholds_.size()));
    }
  }

  std::int32_t Final(std::int32_t column, Key key) const {
    if (!source_.doubles || key == kAlways || key == kNeverYet) return Narrow(key);
    const auto begin = forest_.thresholds_.begin() + forest_.starts_[column],
               end = forest_.thresholds_.begin() + forest_.starts_[column + 1];
    return static_cast<std::int32_t>(std::lower_bound(begin, end, key) - begin);
  }

  void Finish() {
    constexpr auto kRows = static_cast<std::int32_t>(kForestRows),
                   kSize = static_cast<std::int32_t>(sizeof(ForestNode));
    if (nodes_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() / kSize))
      Fail(Code::kNotImplemented, "expected at most ", std::numeric_limits<std::int32_t>::max() / kSize,
           " nodes in a tree ensemble, found ", nodes_.size());
    for (ForestTree& tree : forest_.trees_) tree.root *= kSize;
    forest_.nodes_.reserve(nodes_.size());
    for (const RawNode& n : nodes_) {
      forest_.nodes_.push_back({n.leaf ? static_cast<std::int32_t>(n.key) : Final(n.column, n.key),
                                n.column * kRows,
                                {n.next[0] * kSize, n.next[1] * kSize}});
    }
    for (std::size_t i = 0; i < raw_tests_.size(); ++i) {
      forest_.tests_[i].above = Final(raw_tests_[i].column, raw_tests_[i].above);
      if (raw_tests_[i].interval) forest_.tests_[i].up_to = Final(raw_tests_[i].column, raw_tests_[i].up_to);
    }
    if (forest_.columns_.empty()) forest_.columns_.push_back({0, true});  // leaves read a key, too
    if (source_.doubles && forest_.starts_.size() < 2) forest_.starts_ = {0, 0};
  }

  const ForestSource& source_;
  Forest forest_;
  std::vector<RawNode> nodes_;
  std::vector<RawTest> raw_tests_;            // beside forest_.tests_
  std::vector<std::int32_t> entry_, height_;  // of splits; height 0: not made yet
  std::vector<bool> open_;                    // being made: reaching it again is a circle
  std::vector<std::int32_t> leaf_node_, leaf_slot_;
  std::unordered_map<std::int64_t, std::int32_t> column_of_;
};

Forest Forest::Build(const ForestSource& source) { return ForestBuilder(source).Run(); }

void Forest::SetValues(std::vector<float> values, std::span<const std::int32_t> targets) {
  values_ = std::move(values);
  values_.resize(values_.size() + std::size_t{kMaxWords} * 32);  // kernels read whole vectors
  for (std::size_t t = 0; t < trees_.size(); ++t) trees_[t].target = targets[t];
}

ForestView Forest::view() const {
  return {trees_.data(), nodes_.data(), words_.data(), tests_.data(), values_.data(), columns_.data(), column_count()};
}

void Forest::Keys(const float* x, std::int64_t stride, std::int64_t rows, std::int32_t* keys) const {
  ForestOf().keys(view(), x, stride, rows, keys);
}

void Forest::Keys(const double* x, std::int64_t stride, std::int64_t rows, std::int32_t* keys) const {
  for (std::size_t c = 0; c < columns_.size(); ++c, keys += kForestRows) {
    const auto begin = thresholds_.begin() + starts_[c], end = thresholds_.begin() + starts_[c + 1];
    for (std::int64_t r = 0; r < kForestRows; ++r) {
      const double value = r < rows ? x[r * stride + columns_[c].feature] : 0;
      keys[r] = std::isnan(value) ? (columns_[c].nan_is_high ? kHighNan : kLowNan)
                                  : static_cast<std::int32_t>(std::lower_bound(begin, end, KeyOf(value)) - begin);
    }
  }
}

}  // namespace sardonyx::kernels
