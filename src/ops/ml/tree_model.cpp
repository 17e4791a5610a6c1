// ops/ml/tree_model.cpp - converts TreeEnsemble (version 5) to the one form of tree ensembles.
#include "ops/ml/tree_model.h"

#include <cmath>

#include "kernels/elementwise/convert.h"
#include "ops/ml/tree_lists.h"

namespace sardonyx::ops {

std::vector<double> TensorDoubles(const AttributeReader& c, const std::string& name) {
  std::vector<double> values;
  if (const Tensor* t = c.TensorAttribute(name)) {
    values.resize(static_cast<std::size_t>(t->count()));
    if (kernels::ToDoublesFn* convert = kernels::ToDoubles(t->dtype())) {
      convert(t->raw(), 0, values.size(), values.data());
      return values;
    }
    if (kernels::ToFloats(t->dtype()) == nullptr)
      c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected numbers, found ", Name(t->dtype()));
    std::vector<float> floats(values.size());
    kernels::ToFloats(t->dtype())(t->raw(), 0, floats.size(), floats.data());
    std::copy(floats.begin(), floats.end(), values.begin());
  }
  return values;
}

void CheckSize(const AttributeReader& c, std::string_view name, std::size_t found, std::size_t expected) {
  if (found != expected)
    c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected ", expected, " values, found ", found);
}

std::int32_t Checked(const AttributeReader& c, std::string_view name, std::int64_t value, std::int64_t size) {
  if (value < 0 || value >= size)
    c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected values in [0, ", size, "), found ", value);
  return static_cast<std::int32_t>(value);
}

void CheckTargets(const AttributeReader& c, std::int64_t targets) {
  if (targets < 1 || targets > kMostTargets) {
    c.Fail(Code::kInvalidGraph, "expected a number of targets or classes from 1 to ", kMostTargets, ", found ",
           targets);
  }
}

namespace {

using kernels::Branch;
using kernels::Split;

// The members of each kMember split in order, ended by NaN.
void ReadMembers(const AttributeReader& c, kernels::ForestSource& source) {
  source.members = TensorDoubles(c, "membership_values");
  std::size_t at = 0;
  for (Split& split : source.splits) {
    if (split.mode != Branch::kMember) continue;
    split.first_member = static_cast<std::int32_t>(at);
    while (at < source.members.size() && !std::isnan(source.members[at])) ++at;
    split.end_member = static_cast<std::int32_t>(at++);
    if (static_cast<std::size_t>(split.end_member) >= source.members.size())
      c.Fail(Code::kInvalidGraph,
             "attribute 'membership_values': expected a NaN at the end of each set, found the end of the list");
  }
}

void ReadChildren(const AttributeReader& c, bool side, kernels::ForestSource& source) {
  const std::string_view ids_name = side ? "nodes_truenodeids" : "nodes_falsenodeids",
                         leafs_name = side ? "nodes_trueleafs" : "nodes_falseleafs";
  const std::span<const std::int64_t> ids = c.IntsView(ids_name), leafs = c.IntsView(leafs_name);
  const std::size_t n = source.splits.size();
  CheckSize(c, ids_name, ids.size(), n);
  CheckSize(c, leafs_name, leafs.size(), n);
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t& child = side ? source.splits[i].on_true : source.splits[i].on_false;
    child = leafs[i] != 0 ? -1 - Checked(c, ids_name, ids[i], source.leaves)
                          : Checked(c, ids_name, ids[i], static_cast<std::int64_t>(n));
  }
}

void ReadLeaves(const AttributeReader& c, TreeModel& m) {
  const std::vector<double> weights = TensorDoubles(c, "leaf_weights");
  const std::span<const std::int64_t> targets = c.IntsView("leaf_targetids");
  CheckSize(c, "leaf_targetids", targets.size(), weights.size());
  m.source.leaves = static_cast<std::int32_t>(weights.size());
  m.first_weight.push_back(0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    m.weights.push_back({Checked(c, "leaf_targetids", targets[i], m.targets), weights[i]});
    m.first_weight.push_back(static_cast<std::int32_t>(i + 1));
  }
}

}  // namespace

TreeModel ReadTreeEnsemble(const AttributeReader& c, DType input) {
  TreeModel m;
  m.source.doubles = input == DType::kDouble;
  m.targets = c.Int("n_targets", 1);
  CheckTargets(c, m.targets);
  ReadLeaves(c, m);
  const std::span<const std::int64_t> features = c.IntsView("nodes_featureids"),
                                      missing = c.IntsView("nodes_missing_value_tracks_true");
  const std::vector<double> modes = TensorDoubles(c, "nodes_modes"), splits = TensorDoubles(c, "nodes_splits");
  const std::size_t n = features.size();
  CheckSize(c, "nodes_modes", modes.size(), n);
  CheckSize(c, "nodes_splits", splits.size(), n);
  if (!missing.empty()) CheckSize(c, "nodes_missing_value_tracks_true", missing.size(), n);
  m.source.splits.resize(n);
  ReadChildren(c, false, m.source);
  ReadChildren(c, true, m.source);
  for (std::size_t i = 0; i < n; ++i) {
    Split& split = m.source.splits[i];
    split.mode = static_cast<Branch>(Checked(c, "nodes_modes", static_cast<std::int64_t>(modes[i]), 7));
    split.feature = Checked(c, "nodes_featureids", features[i], kMostFeatures);
    split.value = splits[i];
    split.missing_is_true = !missing.empty() && missing[i] != 0;
  }
  ReadMembers(c, m.source);
  for (const std::int64_t root : c.IntsView("tree_roots"))
    m.source.roots.push_back(Checked(c, "tree_roots", root, static_cast<std::int64_t>(n)));
  m.aggregate = static_cast<Aggregate>(Checked(c, "aggregate_function", c.Int("aggregate_function", 1), 4));
  m.post = static_cast<PostTransform>(Checked(c, "post_transform", c.Int("post_transform", 0), 5));
  return m;
}

}  // namespace sardonyx::ops
