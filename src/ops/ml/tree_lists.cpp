// ops/ml/tree_lists.cpp - converts TreeEnsembleRegressor and TreeEnsembleClassifier, whose nodes are named by tree and
// id, to the one form of tree ensembles.
#include "ops/ml/tree_lists.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ops/ml/tree_model.h"

namespace sardonyx::ops {
namespace {

using kernels::Branch;
using kernels::Split;
using Ints = std::span<const std::int64_t>;

constexpr std::uint8_t kLeaf = 255;

std::uint8_t ModeOf(const AttributeReader& c, const std::string& text) {
  static constexpr std::string_view kTexts[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  if (text == "LEAF") return kLeaf;
  for (std::size_t i = 0; i < std::size(kTexts); ++i)
    if (text == kTexts[i]) return static_cast<std::uint8_t>(i);
  c.Fail(Code::kInvalidGraph,
         "attribute 'nodes_modes': expected LEAF or BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ; found '", text, "'");
}

// Finds nodes by tree and id. Exporters number the nodes of a tree 0, 1, 2 ...: then no search is needed.
class NodeIndex {
 public:
  NodeIndex(const AttributeReader& c, Ints trees, Ints ids) : c_(c), trees_(trees), ids_(ids) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      bool plain = true;
      if (i == 0 || trees[i] != trees[i - 1]) {
        plain = starts_.try_emplace(trees[i], i).second;
        start = i;
      }
      if (!plain || ids[i] != static_cast<std::int64_t>(i - start)) {
        Sort();
        break;
      }
    }
  }

  std::int64_t Find(std::int64_t tree, std::int64_t id) {
    if (sorted_.empty()) {
      if (tree != last_tree_ || last_start_ < 0) {
        const auto found = starts_.find(tree);
        last_tree_ = tree;
        last_start_ = found == starts_.end() ? -1 : static_cast<std::int64_t>(found->second);
      }
      if (last_start_ >= 0 && id >= 0 && id < static_cast<std::int64_t>(ids_.size()) - last_start_ &&
          trees_[last_start_ + id] == tree) {
        return last_start_ + id;
      }
    } else {
      const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(tree, id),
                                          [&](auto a, auto key) { return std::pair(trees_[a], ids_[a]) < key; });
      if (found != sorted_.end() && trees_[*found] == tree && ids_[*found] == id) return *found;
    }
    c_.Fail(Code::kInvalidGraph, "expected a node ", id, " in tree ", tree, ", found none");
  }

 private:
  void Sort() {
    sorted_.resize(ids_.size());
    std::iota(sorted_.begin(), sorted_.end(), 0);
    std::sort(sorted_.begin(), sorted_.end(),
              [&](auto a, auto b) { return std::pair(trees_[a], ids_[a]) < std::pair(trees_[b], ids_[b]); });
    for (std::size_t i = 1; i < sorted_.size(); ++i) {
      const auto a = sorted_[i - 1], b = sorted_[i];
      if (trees_[a] == trees_[b] && ids_[a] == ids_[b])
        c_.Fail(Code::kInvalidGraph, "node ", ids_[b], " of tree ", trees_[b], " is given twice");
    }
  }

  const AttributeReader& c_;
  Ints trees_, ids_;
  std::unordered_map<std::int64_t, std::size_t> starts_;
  std::vector<std::int64_t> sorted_;  // empty: ids are places within their trees
  std::int64_t last_tree_ = 0, last_start_ = -1;
};

// A list of floats, or a tensor under the name with _as_tensor.
class Numbers {
 public:
  Numbers(const AttributeReader& c, const std::string& name)
      : floats_(c.FloatsView(name)), doubles_(TensorDoubles(c, name + "_as_tensor")) {
    if (!floats_.empty() && !doubles_.empty())
      c.Fail(Code::kInvalidGraph, "expected only one of '", name, "' and '", name, "_as_tensor', found both");
  }
  std::size_t size() const { return std::max(floats_.size(), doubles_.size()); }
  double operator[](std::size_t i) const { return doubles_.empty() ? static_cast<double>(floats_[i]) : doubles_[i]; }

 private:
  std::span<const float> floats_;
  std::vector<double> doubles_;
};

struct NodeLists {
  Ints trees, ids, features, on_true, on_false, missing;
  std::span<const std::string> modes;
  Numbers values;

  explicit NodeLists(const AttributeReader& c)
      : trees(c.IntsView("nodes_treeids")),
        ids(c.IntsView("nodes_nodeids")),
        features(c.IntsView("nodes_featureids")),
        on_true(c.IntsView("nodes_truenodeids")),
        on_false(c.IntsView("nodes_falsenodeids")),
        missing(c.IntsView("nodes_missing_value_tracks_true")),
        modes(c.StringsView("nodes_modes")),
        values(c, "nodes_values") {
    const std::size_t n = ids.size();
    CheckSize(c, "nodes_treeids", trees.size(), n);
    CheckSize(c, "nodes_featureids", features.size(), n);
    CheckSize(c, "nodes_truenodeids", on_true.size(), n);
    CheckSize(c, "nodes_falsenodeids", on_false.size(), n);
    CheckSize(c, "nodes_modes", modes.size(), n);
    CheckSize(c, "nodes_values", values.size(), n);
    if (n >= std::size_t{1} << 30) c.Fail(Code::kInvalidGraph, "expected fewer than 2^30 nodes, found ", n);
  }
};

// Splits, leaves and roots; returns the place of each node: a split, or -1 - leaf.
std::vector<std::int32_t> ReadNodes(const AttributeReader& c, const NodeLists& lists, NodeIndex& index,
                                    kernels::ForestSource& source) {
  const std::size_t n = lists.ids.size();
  std::vector<std::int32_t> place(n);
  std::vector<std::uint8_t> modes(n);
  std::int32_t splits = 0;
  for (std::size_t i = 0; i < n; ++i) {
    modes[i] = ModeOf(c, lists.modes[i]);
    place[i] = modes[i] == kLeaf ? -1 - source.leaves++ : splits++;
    if (i == 0 || lists.trees[i] != lists.trees[i - 1]) source.roots.push_back(place[i]);
  }
  source.splits.resize(static_cast<std::size_t>(splits));
  for (std::size_t i = 0; i < n; ++i) {
    if (modes[i] == kLeaf) continue;
    Split& split = source.splits[place[i]];
    split.mode = static_cast<Branch>(modes[i]);
    split.missing_is_true = i < lists.missing.size() && lists.missing[i] != 0;
    split.feature = Checked(c, "nodes_featureids", lists.features[i], kMostFeatures);
    split.value = lists.values[i];
    split.on_true = place[index.Find(lists.trees[i], lists.on_true[i])];
    split.on_false = place[index.Find(lists.trees[i], lists.on_false[i])];
  }
  return place;
}

// The weights of the leaves, sorted by leaf and else in the order of the lists. Those of inner nodes have no meaning.
void ReadWeights(const AttributeReader& c, const std::string& kind, const std::vector<std::int32_t>& place,
                 NodeIndex& index, TreeModel& m) {
  const Ints trees = c.IntsView(kind + "_treeids"), nodes = c.IntsView(kind + "_nodeids"),
             targets = c.IntsView(kind + "_ids");
  const Numbers weights(c, kind + "_weights");
  CheckSize(c, kind + "_treeids", trees.size(), weights.size());
  CheckSize(c, kind + "_nodeids", nodes.size(), weights.size());
  CheckSize(c, kind + "_ids", targets.size(), weights.size());
  std::vector<std::int32_t> leaf_of(weights.size());
  std::vector<std::int32_t>& first = m.first_weight;
  first.assign(static_cast<std::size_t>(m.source.leaves) + 1, 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    leaf_of[i] = -1 - place[index.Find(trees[i], nodes[i])];
    Checked(c, kind + "_ids", targets[i], m.targets);
    m.weights_positive = m.weights_positive && !(weights[i] < 0);
    if (leaf_of[i] >= 0) ++first[leaf_of[i] + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  m.weights.resize(static_cast<std::size_t>(first.back()));
  std::vector<std::int32_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (leaf_of[i] >= 0) m.weights[next[leaf_of[i]]++] = {static_cast<std::int32_t>(targets[i]), weights[i]};
  }
  m.one_of_two = m.targets == 2 && !targets.empty() &&
                 std::all_of(targets.begin(), targets.end(), [&](std::int64_t t) { return t == targets[0]; });
}

}  // namespace

TreeModel ReadTreeLists(const AttributeReader& c, DType input, const std::string& kind, std::int64_t targets) {
  static constexpr std::string_view kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  TreeModel m;
  m.source.doubles = input == DType::kDouble;
  m.targets = targets;
  CheckTargets(c, targets);
  const NodeLists lists(c);
  NodeIndex index(c, lists.trees, lists.ids);
  const std::vector<std::int32_t> place = ReadNodes(c, lists, index, m.source);
  ReadWeights(c, kind, place, index, m);
  const Numbers base(c, "base_values");
  const auto count = static_cast<std::int64_t>(base.size());
  const bool classifier = kind == "class";
  if (count != 0 && count != targets && !(classifier && targets == 2 && count == 1)) {
    c.Fail(Code::kInvalidGraph, "attribute 'base_values': expected ", targets, " values, found ", count);
  }
  for (std::size_t i = 0; i < base.size(); ++i) m.base.push_back(base[i]);
  if (!classifier) {
    m.aggregate =
        static_cast<Aggregate>(OneOf(c, "aggregate_function", c.String("aggregate_function", "SUM"), kAggregates));
  }
  m.post = ReadPostTransform(c);
  return m;
}

}  // namespace sardonyx::ops
