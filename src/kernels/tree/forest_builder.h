// kernels/tree/forest_builder.h - builds a Forest from trees in the form in which a model describes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/forest.h"

namespace sardonyx::kernels {

enum class Branch : std::uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };

// A decision of a model. Children: a split, or -1 - leaf.
struct Split {
  Branch mode = Branch::kLeq;
  bool missing_is_true = false;  // NaN takes the true branch
  std::int32_t feature = 0;
  std::int32_t on_true = 0, on_false = 0;
  std::int32_t first_member = 0, end_member = 0;  // of kMember: members[first, end)
  double value = 0;
};

struct ForestSource {
  std::vector<Split> splits;
  std::vector<std::int32_t> roots;  // a split, or -1 - leaf
  std::vector<double> members;
  std::int32_t leaves = 0;
  bool doubles = false;  // thresholds and rows are doubles; else both are floats
};

// A forest ready to run. Constant once built.
class Forest {
 public:
  // Fails with kInvalidGraph if the splits of a tree form a circle.
  static Forest Build(const ForestSource& source);

  std::int64_t tree_count() const { return static_cast<std::int64_t>(trees_.size()); }
  std::int64_t slot_count() const { return static_cast<std::int64_t>(leaf_of_slot_.size()); }
  std::int32_t LeafOf(std::int64_t slot) const { return leaf_of_slot_[static_cast<std::size_t>(slot)]; }
  std::int32_t max_feature() const { return max_feature_; }  // -1: none
  std::int64_t column_count() const { return static_cast<std::int64_t>(columns_.size()); }
  std::span<const ForestTree> trees() const { return trees_; }
  // About the cycles that `rows` rows of a block take in all trees.
  std::int64_t Cycles(std::int64_t rows) const {
    if (rows <= 2) return 2 * rows * steps_per_row_;
    return (rows + 15) / 16 * 2 * tests_per_row_ + 2 * rows * walked_steps_;
  }

  // Values of slots for ForestKernels::add_values, and the target of each tree.
  void SetValues(std::vector<float> values, std::span<const std::int32_t> targets);
  ForestView view() const;
  // Keys of one block, from floats or doubles.
  void Keys(const float* x, std::int64_t stride, std::int64_t rows, std::int32_t* keys) const;
  void Keys(const double* x, std::int64_t stride, std::int64_t rows, std::int32_t* keys) const;

 private:
  friend class ForestBuilder;
  std::vector<ForestTree> trees_;
  std::vector<ForestNode> nodes_;
  std::vector<ForestWord> words_;
  std::vector<ForestTest> tests_;
  std::vector<float> values_;
  std::vector<ForestColumn> columns_;
  std::vector<std::int32_t> leaf_of_slot_;
  // Of doubles: ascending thresholds of the columns, as 64-bit keys; those of column c are [starts_[c], starts_[c +
  // 1]).
  std::vector<std::int64_t> thresholds_;
  std::vector<std::int32_t> starts_;
  std::int32_t max_feature_ = -1;
  std::int64_t tests_per_row_ = 0, steps_per_row_ = 0, walked_steps_ = 0;  // walked: of trees without bits
};

}  // namespace sardonyx::kernels
