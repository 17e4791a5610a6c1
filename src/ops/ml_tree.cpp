// ops/ml_tree.cpp - ai.onnx.ml: TreeEnsemble and TreeEnsembleRegressor.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kernels/elementwise/convert.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";

enum class Branch : std::uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
enum class Aggregate { kAverage, kSum, kMin, kMax };
enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

struct TreeNode {
  Branch mode = Branch::kLeq;
  bool missing_is_true = false;
  std::int64_t feature = 0;
  double split = 0;
  std::int64_t next[2] = {0, 0};    // [false, true]: a node, or -1 - leaf
  std::size_t first = 0, last = 0;  // of kMember: members[first, last)
};

struct LeafWeight {
  std::int64_t target;
  double weight;
};

struct Ensemble {
  std::vector<TreeNode> nodes;
  std::vector<std::int64_t> roots;  // a node, or -1 - leaf
  std::vector<std::vector<LeafWeight>> leaves;
  std::vector<double> members, base;
  std::int64_t targets = 1;
  Aggregate aggregate = Aggregate::kSum;
  PostTransform post = PostTransform::kNone;
};

bool Takes(const Ensemble& e, const TreeNode& node, double x) {
  if (std::isnan(x) && node.missing_is_true) return true;
  switch (node.mode) {
    case Branch::kLeq:
      return x <= node.split;
    case Branch::kLt:
      return x < node.split;
    case Branch::kGte:
      return x >= node.split;
    case Branch::kGt:
      return x > node.split;
    case Branch::kEq:
      return x == node.split;
    case Branch::kNeq:
      return x != node.split;
    case Branch::kMember:
      break;
  }
  return std::find(e.members.begin() + static_cast<std::ptrdiff_t>(node.first),
                   e.members.begin() + static_cast<std::ptrdiff_t>(node.last),
                   x) != e.members.begin() + static_cast<std::ptrdiff_t>(node.last);
}

const std::vector<LeafWeight>& LeafOf(const Ensemble& e, std::int64_t at, const double* x) {
  for (std::size_t steps = 0; at >= 0; ++steps) {
    if (steps > e.nodes.size()) Fail(Code::kInvalidGraph, "the nodes of a tree form a circle");
    const TreeNode& node = e.nodes[static_cast<std::size_t>(at)];
    at = node.next[Takes(e, node, x[node.feature]) ? 1 : 0];
  }
  return e.leaves[static_cast<std::size_t>(-1 - at)];
}

// The inverse of the normal distribution, by Winitzki's approximation of the inverse error function (as ONNX Runtime).
double Probit(double p) {
  const double x = 2 * p - 1, log = std::log((1 - x) * (1 + x)), v = 2 / (3.14159 * 0.147) + 0.5 * log;
  return std::sqrt(2.0) * (x < 0 ? -1 : 1) * std::sqrt(-v + std::sqrt(v * v - log / 0.147));
}

void Transform(PostTransform post, std::vector<double>& scores) {
  if (post == PostTransform::kLogistic) {
    for (double& s : scores) s = 1 / (1 + std::exp(-s));
  } else if (post == PostTransform::kProbit) {
    for (double& s : scores) s = Probit(s);
  } else if (post != PostTransform::kNone) {
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& s : scores) {
      s = post == PostTransform::kSoftmaxZero && s == 0 ? 0 : std::exp(s - most);
      sum += s;
    }
    for (double& s : scores) s /= sum;
  }
}

void Score(const Ensemble& e, const double* x, std::vector<double>& scores, std::vector<bool>& seen) {
  scores.assign(static_cast<std::size_t>(e.targets), 0);
  seen.assign(scores.size(), false);
  for (const std::int64_t root : e.roots) {
    for (const auto& [target, weight] : LeafOf(e, root, x)) {
      const auto t = static_cast<std::size_t>(target);
      double& score = scores[t];
      if (e.aggregate == Aggregate::kMin) {
        score = seen[t] ? std::min(score, weight) : weight;
      } else if (e.aggregate == Aggregate::kMax) {
        score = seen[t] ? std::max(score, weight) : weight;
      } else {
        score += weight;
      }
      seen[t] = true;
    }
  }
  for (std::size_t t = 0; t < scores.size(); ++t) {
    if (e.aggregate == Aggregate::kAverage) scores[t] /= static_cast<double>(e.roots.size());
    if (!e.base.empty()) scores[t] += e.base[t];
  }
  Transform(e.post, scores);
}

void RunEnsemble(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const Ensemble& e = c.state<Ensemble>();
  if (x.rank() != 2) Fail(Code::kInvalidArgument, "expected an input [N, F], found shape ", ToText(x.shape));
  for (const TreeNode& node : e.nodes) {
    if (node.feature >= x.shape[1])
      Fail(Code::kInvalidArgument, "feature ", node.feature, " is outside of an input ", ToText(x.shape));
  }
  const std::int64_t shape[] = {x.shape[0], e.targets};
  const TensorRef& y = c.Output(0, shape);
  const auto width = static_cast<std::size_t>(x.shape[1]);
  c.parallel().For(x.shape[0], 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> features(width), scores;
    std::vector<bool> seen;
    for (std::int64_t row = begin; row < end; ++row) {
      kernels::ToDoubles(x.dtype)(x.data, row * x.shape[1], width, features.data());
      Score(e, features.data(), scores, seen);
      kernels::FromDoubles(y.dtype)(scores.data(), scores.size(), y.data, row * e.targets);
    }
  });
}

// ---- Reading the attributes

std::vector<double> Doubles(const AttributeReader& c, const std::string& name) {
  std::vector<double> values;
  if (const Tensor* t = c.TensorAttribute(name)) {
    values.resize(static_cast<std::size_t>(t->count()));
    if (kernels::ToDoubles(t->dtype()) == nullptr)
      c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected numbers");
    kernels::ToDoubles(t->dtype())(t->raw(), 0, values.size(), values.data());
  }
  return values;
}

void CheckSize(const AttributeReader& c, std::string_view name, std::size_t found, std::size_t expected) {
  if (found != expected)
    c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected ", expected, " values, found ", found);
}

std::int64_t Checked(const AttributeReader& c, std::string_view name, std::int64_t value, std::size_t size) {
  if (value < 0 || value >= static_cast<std::int64_t>(size)) {
    c.Fail(Code::kInvalidGraph, "attribute '", name, "': ", value, " is outside of [0, ", size, ")");
  }
  return value;
}

// The members of each kMember node in order, ended by NaN.
void ReadMembers(const AttributeReader& c, Ensemble& e) {
  e.members = Doubles(c, "membership_values");
  std::size_t at = 0;
  for (TreeNode& node : e.nodes) {
    if (node.mode != Branch::kMember) continue;
    node.first = at;
    while (at < e.members.size() && !std::isnan(e.members[at])) ++at;
    node.last = at++;
    if (node.last >= e.members.size())
      c.Fail(Code::kInvalidGraph, "attribute 'membership_values' ends before its last set does");
  }
}

Ensemble ReadEnsemble(const AttributeReader& c) {
  Ensemble e;
  const std::vector<std::int64_t> features = c.Ints("nodes_featureids"),
                                  missing = c.Ints("nodes_missing_value_tracks_true");
  const std::vector<double> modes = Doubles(c, "nodes_modes"), splits = Doubles(c, "nodes_splits"),
                            weights = Doubles(c, "leaf_weights");
  const std::size_t n = features.size();
  CheckSize(c, "nodes_modes", modes.size(), n);
  CheckSize(c, "nodes_splits", splits.size(), n);
  if (!missing.empty()) CheckSize(c, "nodes_missing_value_tracks_true", missing.size(), n);
  e.targets = c.Int("n_targets", 1);
  const std::vector<std::int64_t> targets = c.Ints("leaf_targetids");
  CheckSize(c, "leaf_targetids", targets.size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    e.leaves.push_back({{Checked(c, "leaf_targetids", targets[i], static_cast<std::size_t>(e.targets)), weights[i]}});
  }
  e.nodes.resize(n);
  for (int side = 0; side < 2; ++side) {
    const char* ids_name = side == 0 ? "nodes_falsenodeids" : "nodes_truenodeids";
    const std::vector<std::int64_t> ids = c.Ints(ids_name),
                                    leafs = c.Ints(side == 0 ? "nodes_falseleafs" : "nodes_trueleafs");
    CheckSize(c, ids_name, ids.size(), n);
    CheckSize(c, side == 0 ? "nodes_falseleafs" : "nodes_trueleafs", leafs.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      e.nodes[i].next[side] =
          leafs[i] != 0 ? -1 - Checked(c, ids_name, ids[i], e.leaves.size()) : Checked(c, ids_name, ids[i], n);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode& node = e.nodes[i];
    node.mode = static_cast<Branch>(Checked(c, "nodes_modes", static_cast<std::int64_t>(modes[i]), 7));
    node.feature = Checked(c, "nodes_featureids", features[i], std::size_t{1} << 40);
    node.split = splits[i];
    node.missing_is_true = !missing.empty() && missing[i] != 0;
  }
  ReadMembers(c, e);
  for (const std::int64_t root : c.Ints("tree_roots")) e.roots.push_back(Checked(c, "tree_roots", root, n));
  e.aggregate = static_cast<Aggregate>(Checked(c, "aggregate_function", c.Int("aggregate_function", 1), 4));
  e.post = static_cast<PostTransform>(Checked(c, "post_transform", c.Int("post_transform", 0), 5));
  return e;
}

template <typename E, std::size_t N>
E OneOf(const AttributeReader& c, std::string_view name, const std::string& value, const std::string_view (&texts)[N]) {
  for (std::size_t i = 0; i < N; ++i)
    if (texts[i] == value) return static_cast<E>(i);
  c.Fail(Code::kInvalidGraph, "attribute '", name, "': unknown value '", value, "'");
}

std::vector<double> FloatsOrTensor(const AttributeReader& c, const std::string& name) {
  if (c.TensorAttribute(name + "_as_tensor") != nullptr) return Doubles(c, name + "_as_tensor");
  const std::vector<float> values = c.Floats(name);
  return {values.begin(), values.end()};
}

Ensemble ReadRegressor(const AttributeReader& c) {
  static constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  static constexpr std::string_view kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static constexpr std::string_view kPosts[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  Ensemble e;
  const std::vector<std::int64_t> trees = c.Ints("nodes_treeids"), ids = c.Ints("nodes_nodeids"),
                                  features = c.Ints("nodes_featureids");
  const std::vector<std::int64_t> on_true = c.Ints("nodes_truenodeids"), on_false = c.Ints("nodes_falsenodeids");
  const std::vector<std::int64_t> missing = c.Ints("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = c.Strings("nodes_modes");
  const std::vector<double> values = FloatsOrTensor(c, "nodes_values");
  const std::size_t n = ids.size();
  for (const std::size_t size :
       {trees.size(), features.size(), on_true.size(), on_false.size(), modes.size(), values.size()}) {
    CheckSize(c, "nodes_*", size, n);
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> place;  // (tree, node) -> node, or -1 - leaf
  for (std::size_t i = 0; i < n; ++i) {
    const bool leaf = modes[i] == "LEAF";
    const std::int64_t at =
        leaf ? -1 - static_cast<std::int64_t>(e.leaves.size()) : static_cast<std::int64_t>(e.nodes.size());
    if (leaf) {
      e.leaves.emplace_back();
    } else {
      TreeNode node{OneOf<Branch>(c, "nodes_modes", modes[i], kModes), i < missing.size() && missing[i] != 0,
                    Checked(c, "nodes_featureids", features[i], std::size_t{1} << 40), values[i]};
      e.nodes.push_back(node);
    }
    if (!place.emplace(std::pair(trees[i], ids[i]), at).second)
      c.Fail(Code::kInvalidGraph, "node ", ids[i], " of tree ", trees[i], " is given twice");
    if (i == 0 || trees[i] != trees[i - 1]) e.roots.push_back(at);
  }
  const auto find = [&](std::int64_t tree, std::int64_t id) {
    const auto found = place.find({tree, id});
    if (found == place.end()) c.Fail(Code::kInvalidGraph, "tree ", tree, " has no node ", id);
    return found->second;
  };
  for (std::size_t i = 0, at = 0; i < n; ++i) {
    if (modes[i] == "LEAF") continue;
    e.nodes[at].next[0] = find(trees[i], on_false[i]);
    e.nodes[at++].next[1] = find(trees[i], on_true[i]);
  }
  e.targets = c.Int("n_targets", 1);
  const std::vector<std::int64_t> weight_trees = c.Ints("target_treeids"), weight_nodes = c.Ints("target_nodeids"),
                                  targets = c.Ints("target_ids");
  const std::vector<double> weights = FloatsOrTensor(c, "target_weights");
  for (const std::size_t size : {weight_trees.size(), weight_nodes.size(), targets.size()})
    CheckSize(c, "target_*", size, weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int64_t leaf = find(weight_trees[i], weight_nodes[i]);
    if (leaf >= 0) continue;  // weights of inner nodes have no meaning
    e.leaves[static_cast<std::size_t>(-1 - leaf)].push_back(
        {Checked(c, "target_ids", targets[i], static_cast<std::size_t>(e.targets)), weights[i]});
  }
  e.base = FloatsOrTensor(c, "base_values");
  if (!e.base.empty()) CheckSize(c, "base_values", e.base.size(), static_cast<std::size_t>(e.targets));
  e.aggregate = OneOf<Aggregate>(c, "aggregate_function", c.String("aggregate_function", "SUM"), kAggregates);
  e.post = OneOf<PostTransform>(c, "post_transform", c.String("post_transform", "NONE"), kPosts);
  return e;
}

void InferTree(InferContext& c) {
  const Dim rows = c.HasRank(0) && c.Rank(0) == 2 ? c.InputDims(0)[0] : Dim();
  c.SetOutput(0, c.op_type() == "TreeEnsemble" ? c.InputDType(0) : DType::kFloat, {rows, Dim(c.Int("n_targets", 1))});
}

Prepared PrepareEnsemble(PrepareContext& c) { return WithState(RunEnsemble, ReadEnsemble(c)); }
Prepared PrepareRegressor(PrepareContext& c) { return WithState(RunEnsemble, ReadRegressor(c)); }

constexpr OpDef kMlTreeOps[] = {
    {.domain = kMl,
     .name = "TreeEnsemble",
     .since = {5},
     .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
     .infer = InferTree,
     .prepare = PrepareEnsemble},
    {.domain = kMl,
     .name = "TreeEnsembleRegressor",
     .since = {1, 3, 5},
     .types = {DType::kFloat, DType::kDouble, DType::kInt64, DType::kInt32},
     .infer = InferTree,
     .prepare = PrepareRegressor},
};

}  // namespace

std::span<const OpDef> MlTreeOps() { return kMlTreeOps; }

}  // namespace sardonyx::ops
