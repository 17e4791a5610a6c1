// ops/ml/tree_score.cpp - chooses a form for an ensemble's sums, and runs it in blocks of rows and groups of trees.
#include "ops/ml/tree_score.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/convert.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kBlock = kernels::kForestRows;
constexpr std::int64_t kGroup = 64;            // trees
constexpr std::int64_t kWorthAThread = 20000;  // cycles: what waking a worker takes, several times over
constexpr std::size_t kRoom = std::size_t{4} << 20;

std::size_t Padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

// One block's memory: keys, slots, sums of a group and of all, one row's scores, converted rows.
struct TreeScorer::Block {
  std::int32_t *keys, *slots;
  std::byte *group, *total;
  double* scores;
  std::uint8_t* seen;
  float* rows;
};

TreeScorer::TreeScorer(const TreeModel& model)
    : forest_(kernels::Forest::Build(model.source)), targets_(model.targets), aggregate_(model.aggregate) {
  ChooseForm(model);
}

// For each target 1 if every row is sure to meet a weight for it, 0 if none can, 2 if that depends on the row.
std::vector<std::uint8_t> TreeScorer::AlwaysSeen(const TreeModel& model) const {
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(targets_), 0);
  for (const LeafWeight& w : model.weights) seen[w.target] = 2;
  std::vector<std::int32_t> leaves_with(seen.size());
  for (const kernels::ForestTree& tree : forest_.trees()) {
    std::fill(leaves_with.begin(), leaves_with.end(), 0);
    for (std::int32_t s = tree.first_slot; s < tree.first_slot + tree.slots; ++s) {
      const std::int32_t leaf = forest_.LeafOf(s);
      std::int32_t last = -1;
      for (std::int32_t i = model.first_weight[leaf]; i < model.first_weight[leaf + 1]; ++i) {
        if (model.weights[i].target != last) ++leaves_with[model.weights[i].target];
        last = model.weights[i].target;
      }
    }
    for (std::size_t k = 0; k < seen.size(); ++k)
      if (seen[k] == 2 && tree.slots > 0 && leaves_with[k] == tree.slots) seen[k] = 1;
  }
  return seen;
}

void TreeScorer::ChooseForm(const TreeModel& model) {
  const bool sums = aggregate_ == Aggregate::kSum || aggregate_ == Aggregate::kAverage;
  constexpr std::int64_t kMostSeen = 4096;  // targets; AlwaysSeen takes trees x targets steps
  if (sums && !model.source.doubles && targets_ <= kMostSeen) {
    seen_ = AlwaysSeen(model);
    if (std::find(seen_.begin(), seen_.end(), 2) == seen_.end()) {
      if (SetSingleValues(model)) {
        form_ = Form::kValues;
        return;
      }
      if (SetRows(model)) {
        form_ = Form::kRows;
        return;
      }
    }
  }
  form_ = Form::kGeneral;
  first_weight_ = model.first_weight;
  weights_ = model.weights;
}

bool TreeScorer::SetSingleValues(const TreeModel& model) {
  std::vector<float> values(static_cast<std::size_t>(forest_.slot_count()), 0.0f);
  std::vector<std::int32_t> targets;
  for (const kernels::ForestTree& tree : forest_.trees()) {
    std::int32_t target = -1;
    for (std::int32_t s = tree.first_slot; s < tree.first_slot + tree.slots; ++s) {
      const std::int32_t leaf = forest_.LeafOf(s), first = model.first_weight[leaf];
      const std::int32_t count = model.first_weight[leaf + 1] - first;
      if (count == 0) continue;
      if (count > 1 || (target >= 0 && model.weights[first].target != target)) return false;
      target = model.weights[first].target;
      values[s] = static_cast<float>(model.weights[first].weight);
    }
    targets.push_back(std::max(target, 0));
  }
  forest_.SetValues(std::move(values), targets);
  return true;
}

// Pays where most leaves weigh most targets.
bool TreeScorer::SetRows(const TreeModel& model) {
  const std::int64_t size = forest_.slot_count() * targets_;
  if (size > 4 * static_cast<std::int64_t>(model.weights.size()) + 65536) return false;
  rows_.assign(static_cast<std::size_t>(size), 0.0f);
  for (std::int64_t s = 0; s < forest_.slot_count(); ++s) {
    const std::int32_t leaf = forest_.LeafOf(s);
    for (std::int32_t i = model.first_weight[leaf]; i < model.first_weight[leaf + 1]; ++i)
      rows_[s * targets_ + model.weights[i].target] += static_cast<float>(model.weights[i].weight);
  }
  return true;
}

// ---- Memory

std::int64_t TreeScorer::groups() const { return (forest_.tree_count() + kGroup - 1) / kGroup; }

std::size_t TreeScorer::SumBytes() const {
  const auto count = static_cast<std::size_t>(targets_ * kBlock);
  return Padded(form_ == Form::kGeneral ? count * (sizeof(double) + 1) : count * sizeof(float));
}

std::size_t TreeScorer::BlockBytes(DType dtype, std::int64_t width) const {
  const bool converted = dtype != DType::kFloat && dtype != DType::kDouble;
  const auto targets = static_cast<std::size_t>(targets_);
  return Padded(static_cast<std::size_t>(forest_.column_count() * kBlock) * sizeof(std::int32_t)) +
         Padded(kGroup * kBlock * sizeof(std::int32_t)) + 2 * SumBytes() + Padded((targets + 1) * sizeof(double)) +
         Padded(targets + 1) + (converted ? Padded(static_cast<std::size_t>(kBlock * width) * sizeof(float)) : 0);
}

TreeScorer::Block TreeScorer::MakeBlock(std::byte* memory, DType dtype, std::int64_t width) const {
  const auto take = [&](std::size_t bytes) -> void* {
    std::byte* const at = memory;
    memory += Padded(bytes);
    return at;
  };
  const bool converted = dtype != DType::kFloat && dtype != DType::kDouble;
  const auto targets = static_cast<std::size_t>(targets_);
  Block b{};
  b.keys = static_cast<std::int32_t*>(
      take(static_cast<std::size_t>(forest_.column_count() * kBlock) * sizeof(std::int32_t)));
  b.slots = static_cast<std::int32_t*>(take(kGroup * kBlock * sizeof(std::int32_t)));
  b.group = static_cast<std::byte*>(take(SumBytes()));
  b.total = static_cast<std::byte*>(take(SumBytes()));
  b.scores = static_cast<double*>(take((targets + 1) * sizeof(double)));
  b.seen = static_cast<std::uint8_t*>(take(targets + 1));
  if (converted) b.rows = static_cast<float*>(take(static_cast<std::size_t>(kBlock * width) * sizeof(float)));
  return b;
}

// ---- One block

void TreeScorer::MakeKeys(const Block& b, const TensorRef& x, std::int64_t first, std::int64_t rows,
                          std::int64_t width) const {
  if (x.dtype == DType::kDouble) return forest_.Keys(x.As<const double>() + first * width, width, rows, b.keys);
  if (x.dtype == DType::kFloat) return forest_.Keys(x.As<const float>() + first * width, width, rows, b.keys);
  kernels::ToFloats(x.dtype)(x.data, first * width, static_cast<std::size_t>(rows * width), b.rows);
  forest_.Keys(b.rows, width, rows, b.keys);
}

void TreeScorer::AddGroup(const Block& b, std::int64_t group, std::int64_t rows, std::byte* sums) const {
  std::memset(sums, 0, SumBytes());
  const kernels::ForestView view = forest_.view();
  const kernels::ForestKernels& kernel = kernels::ForestOf();
  const std::int64_t begin = group * kGroup, end = std::min(begin + kGroup, forest_.tree_count());
  auto* const floats = static_cast<float*>(static_cast<void*>(sums));
  if (form_ == Form::kValues) return kernel.add_values(view, begin, end, b.keys, rows, floats);
  kernel.slots(view, begin, end, b.keys, rows, b.slots);
  if (form_ == Form::kRows) return kernel.add_rows(rows_.data(), targets_, b.slots, end - begin, rows, floats);
  AddGeneral(b.slots, end - begin, rows, sums);
}

namespace {

void AddOne(Aggregate aggregate, double weight, bool weighed, double& score, std::uint8_t& seen) {
  if (!weighed) return;
  if (aggregate == Aggregate::kMin) {
    score = seen != 0 ? std::min(score, weight) : weight;
  } else if (aggregate == Aggregate::kMax) {
    score = seen != 0 ? std::max(score, weight) : weight;
  } else {
    score += weight;
  }
  seen = 1;
}

}  // namespace

void TreeScorer::AddGeneral(const std::int32_t* slots, std::int64_t trees, std::int64_t rows, std::byte* sums) const {
  auto* const scores = static_cast<double*>(static_cast<void*>(sums));
  auto* const seen = static_cast<std::uint8_t*>(static_cast<void*>(scores + targets_ * kBlock));
  for (std::int64_t t = 0; t < trees; ++t, slots += kBlock) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int32_t leaf = forest_.LeafOf(slots[r]);
      for (std::int32_t i = first_weight_[leaf]; i < first_weight_[leaf + 1]; ++i) {
        const std::int64_t at = r * targets_ + weights_[i].target;
        AddOne(aggregate_, weights_[i].weight, true, scores[at], seen[at]);
      }
    }
  }
}

void TreeScorer::Merge(const std::byte* from, bool first, std::byte* to) const {
  if (first) {
    std::memcpy(to, from, SumBytes());
    return;
  }
  const std::int64_t count = targets_ * kBlock;
  if (form_ != Form::kGeneral) {
    const auto* const a = static_cast<const float*>(static_cast<const void*>(from));
    auto* const b = static_cast<float*>(static_cast<void*>(to));
    for (std::int64_t i = 0; i < count; ++i) b[i] += a[i];
    return;
  }
  const auto* const scores = static_cast<const double*>(static_cast<const void*>(from));
  const auto* const seen = static_cast<const std::uint8_t*>(static_cast<const void*>(scores + count));
  auto* const to_scores = static_cast<double*>(static_cast<void*>(to));
  auto* const to_seen = static_cast<std::uint8_t*>(static_cast<void*>(to_scores + count));
  for (std::int64_t i = 0; i < count; ++i) AddOne(aggregate_, scores[i], seen[i] != 0, to_scores[i], to_seen[i]);
}

void TreeScorer::FinishRows(const Block& b, std::int64_t first, std::int64_t rows, Finish finish) const {
  const auto* const floats = static_cast<const float*>(static_cast<const void*>(b.total));
  const auto* const doubles = static_cast<const double*>(static_cast<const void*>(b.total));
  const auto* const seen = static_cast<const std::uint8_t*>(static_cast<const void*>(doubles + targets_ * kBlock));
  const double divisor =
      aggregate_ == Aggregate::kAverage ? static_cast<double>(std::max<std::int64_t>(forest_.tree_count(), 1)) : 1;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < targets_; ++k) {
      const double sum = form_ == Form::kGeneral  ? doubles[r * targets_ + k]
                         : form_ == Form::kValues ? static_cast<double>(floats[k * kBlock + r])
                                                  : static_cast<double>(floats[r * targets_ + k]);
      b.scores[k] = sum / divisor;
      b.seen[k] = form_ == Form::kGeneral ? seen[r * targets_ + k] : seen_[k];
    }
    finish(first + r, b.scores, b.seen);
  }
}

// ---- All blocks

void TreeScorer::Score(KernelContext& c, const TensorRef& x, std::int64_t rows, std::int64_t width,
                       Finish finish) const {
  if (forest_.max_feature() >= width) {
    Fail(Code::kInvalidArgument, "expected an input with at least ", forest_.max_feature() + 1, " features, found ",
         ToText(x.shape));
  }
  if (x.count / std::max<std::int64_t>(width, 1) < rows)  // other dimensions may be 0
    Fail(Code::kInvalidArgument, "expected ", rows, " rows of ", width, " features, found ", ToText(x.shape));
  const int threads = c.parallel().ThreadCount();
  const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
  const std::int64_t cycles = blocks * forest_.Cycles(std::min(rows, kBlock));
  const std::size_t bytes =
      static_cast<std::size_t>(blocks) * (BlockBytes(x.dtype, width) + static_cast<std::size_t>(groups()) * SumBytes());
  if (threads > 1 && blocks < std::int64_t{2} * threads && groups() > 1 && cycles > 2 * kWorthAThread &&
      bytes <= kRoom) {
    ScoreByTrees(c, x, rows, width, finish);
  } else {
    ScoreByRows(c, x, rows, width, finish);
  }
}

void TreeScorer::ScoreByRows(KernelContext& c, const TensorRef& x, std::int64_t rows, std::int64_t width,
                             Finish finish) const {
  const std::size_t bytes = BlockBytes(x.dtype, width);
  const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
  // Memory for so many blocks at once that threads share them evenly.
  const std::int64_t at_once = std::min<std::int64_t>(
      blocks,
      std::max<std::int64_t>(static_cast<std::int64_t>(kRoom / bytes), std::int64_t{4} * c.parallel().ThreadCount()));
  const std::int64_t grain =
      std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, forest_.Cycles(std::min(rows, kBlock))));
  if (blocks == 0) return;
  std::byte* const memory =
      c.Scratch<std::byte>(CheckedMul(static_cast<std::size_t>(at_once), bytes, "the size of the tree blocks"));
  for (std::int64_t start = 0; start < blocks; start += at_once) {
    c.CheckCancelled();
    c.parallel().For(std::min(at_once, blocks - start), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Block b = MakeBlock(memory + static_cast<std::size_t>(i) * bytes, x.dtype, width);
        const std::int64_t first = (start + i) * kBlock, count = std::min(kBlock, rows - first);
        MakeKeys(b, x, first, count, width);
        std::memset(b.total, 0, SumBytes());
        for (std::int64_t g = 0; g < groups(); ++g) {
          AddGroup(b, g, count, b.group);
          Merge(b.group, g == 0, b.total);
        }
        FinishRows(b, first, count, finish);
      }
    });
  }
}

void TreeScorer::ScoreByTrees(KernelContext& c, const TensorRef& x, std::int64_t rows, std::int64_t width,
                              Finish finish) const {
  // Every pair of a block and a group has a block of its own: its slots, and the group's sums.
  const std::size_t bytes = BlockBytes(x.dtype, width);
  const std::int64_t blocks = (rows + kBlock - 1) / kBlock, units = blocks * groups();
  std::byte* const memory =
      c.Scratch<std::byte>(static_cast<std::size_t>(blocks) * bytes +
                           static_cast<std::size_t>(units) * (SumBytes() + Padded(kGroup * kBlock * 4)));
  std::byte* const sums = memory + static_cast<std::size_t>(blocks) * bytes;
  std::byte* const slots = sums + static_cast<std::size_t>(units) * SumBytes();
  const auto block = [&](std::int64_t i) {
    return MakeBlock(memory + static_cast<std::size_t>(i) * bytes, x.dtype, width);
  };
  const auto count = [&](std::int64_t i) { return std::min(kBlock, rows - i * kBlock); };
  for (std::int64_t i = 0; i < blocks; ++i) MakeKeys(block(i), x, i * kBlock, count(i), width);
  c.parallel().For(units, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      Block b = block(u / groups());
      b.slots = static_cast<std::int32_t*>(
          static_cast<void*>(slots + static_cast<std::size_t>(u) * Padded(kGroup * kBlock * 4)));
      AddGroup(b, u % groups(), count(u / groups()), sums + static_cast<std::size_t>(u) * SumBytes());
    }
  });
  for (std::int64_t i = 0; i < blocks; ++i) {
    const Block b = block(i);
    for (std::int64_t g = 0; g < groups(); ++g)
      Merge(sums + static_cast<std::size_t>(i * groups() + g) * SumBytes(), g == 0, b.total);
    FinishRows(b, i * kBlock, count(i), finish);
  }
}

}  // namespace sardonyx::ops
