// ops/ml/tree_score.h - the scores of rows in a tree ensemble of any types and aggregation.
#pragma once

#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "kernels/tree/forest_builder.h"
#include "ops/kernel_context.h"
#include "ops/ml/tree_model.h"

namespace sardonyx::ops {

// Trees are summed in groups of 64 and the groups' sums in order, so that bits depend neither on threads nor on the
// number of rows.
class TreeScorer {
 public:
  explicit TreeScorer(const TreeModel& model);

  // Calls finish(row, scores [targets], seen [targets]) for every row of x [N, F], on any thread; `scores` may be
  // changed. seen[k] is 0 if no leaf had a weight for target k: then the score is 0. Averages are divided.
  using Finish = FunctionRef<void(std::int64_t row, double* scores, const std::uint8_t* seen)>;
  void Score(KernelContext& c, const TensorRef& x, std::int64_t rows, std::int64_t width, Finish finish) const;

  std::int64_t targets() const { return targets_; }

 private:
  enum class Form : std::uint8_t {
    kValues,   // f32 sums, one target per tree
    kRows,     // f32 sums, a row of weights per leaf
    kGeneral,  // any aggregation, in f64
  };
  struct Block;

  void ChooseForm(const TreeModel& model);
  bool SetSingleValues(const TreeModel& model);
  bool SetRows(const TreeModel& model);
  std::vector<std::uint8_t> AlwaysSeen(const TreeModel& model) const;

  std::int64_t groups() const;
  std::size_t SumBytes() const;
  std::size_t BlockBytes(DType dtype, std::int64_t width) const;
  Block MakeBlock(std::byte* memory, DType dtype, std::int64_t width) const;
  void MakeKeys(const Block& b, const TensorRef& x, std::int64_t first, std::int64_t rows, std::int64_t width) const;
  void AddGroup(const Block& b, std::int64_t group, std::int64_t rows, std::byte* sums) const;
  void AddGeneral(const std::int32_t* slots, std::int64_t trees, std::int64_t rows, std::byte* sums) const;
  void Merge(const std::byte* from, bool first, std::byte* to) const;
  void FinishRows(const Block& b, std::int64_t first, std::int64_t rows, Finish finish) const;
  void ScoreByRows(KernelContext& c, const TensorRef& x, std::int64_t rows, std::int64_t width, Finish finish) const;
  void ScoreByTrees(KernelContext& c, const TensorRef& x, std::int64_t rows, std::int64_t width, Finish finish) const;

  kernels::Forest forest_;
  Form form_ = Form::kGeneral;
  std::int64_t targets_ = 1;
  Aggregate aggregate_ = Aggregate::kSum;
  std::vector<float> rows_;                 // kRows: [slots, targets]
  std::vector<std::int32_t> first_weight_;  // kGeneral
  std::vector<LeafWeight> weights_;         // kGeneral
  std::vector<std::uint8_t> seen_;          // of the f32 forms
};

}  // namespace sardonyx::ops
