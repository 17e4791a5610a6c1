// ops/image/non_max_suppression.cpp - NonMaxSuppression: the best boxes of each class that do not overlap a better one.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/sort_by_upper_half.h"
#include "kernels/region/overlap.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

using kernels::BoxBlock;
using kernels::kBlockBoxes;
using kernels::SearchedBox;

struct NmsState {
  bool center_point;
};

SearchedBox ReadBox(const float* b, bool center_point) {
  SearchedBox box;
  if (center_point) {
    box = {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2, 0};
  } else {
    box = {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3]), 0};
  }
  box.area = (box.y2 - box.y1) * (box.x2 - box.x1);
  return box;
}

// The definition, to the last bit: what the vectors find is only who to ask.
bool Overlap(const SearchedBox& a, const SearchedBox& b, float threshold) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1), width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area <= 0 || b.area <= 0) return false;
  const float common = height * width;
  return common / (a.area + b.area - common) > threshold;
}

// The boxes chosen so far, in strips of the axis along which boxes lie further apart: only boxes in a common strip can
// overlap. A box lies in every strip that it touches. Detectors shift the boxes of each class out of the others' reach,
// and then a strip holds those of few classes.
class ChosenBoxes {
 public:
  // `boxes` are the candidates.
  void Reset(const std::vector<SearchedBox>& boxes) {
    blocks_.resize(1);
    filled_.assign(1, 0);
    blocks_[0].clear();
    scale_ = 0;
    const Extent x = ExtentOf(boxes, &SearchedBox::x1, &SearchedBox::x2),
                 y = ExtentOf(boxes, &SearchedBox::y1, &SearchedBox::y2);
    along_x_ = x.parts() > y.parts();
    const Extent& axis = along_x_ ? x : y;
    const double parts = std::min({axis.parts(), static_cast<double>(boxes.size()) / kBlockBoxes, 1024.0});
    if (!(parts >= 2)) return;  // also where sizes are not finite: one strip holds all
    low_ = axis.low;
    scale_ = parts / (axis.high - axis.low);
    blocks_.resize(static_cast<std::size_t>(parts) + 1);
    filled_.assign(blocks_.size(), 0);
    for (auto& strip : blocks_) strip.clear();
  }

  bool Overlaps(const SearchedBox& box, float threshold) const {
    if (!(box.area > 0)) return false;
    const std::size_t end = StripOf(High(box)) + 1;
    for (std::size_t strip = StripOf(Low(box)); strip < end; ++strip)
      if (OverlapsIn(blocks_[strip], box, threshold)) return true;
    return false;
  }

  void Add(const SearchedBox& box) {
    if (!(box.area > 0)) return;  // overlaps nothing
    const std::size_t end = StripOf(High(box)) + 1;
    for (std::size_t strip = StripOf(Low(box)); strip < end; ++strip) {
      const std::size_t lane = filled_[strip]++ % kBlockBoxes;
      if (lane == 0) blocks_[strip].push_back(Empty());
      BoxBlock& block = blocks_[strip].back();
      block.y1[lane] = box.y1, block.x1[lane] = box.x1, block.y2[lane] = box.y2, block.x2[lane] = box.x2;
      block.area[lane] = box.area;
    }
  }

 private:
  struct Extent {
    double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0, count = 0;
    // How many boxes of the mean size stand in a row.
    double parts() const { return sum > 0 ? (high - low) / (sum / count) : 0; }
  };

  static Extent ExtentOf(const std::vector<SearchedBox>& boxes, float SearchedBox::*low, float SearchedBox::*high) {
    Extent e;
    for (const SearchedBox& box : boxes) {
      e.low = std::min(e.low, static_cast<double>(box.*low));
      e.high = std::max(e.high, static_cast<double>(box.*high));
      e.sum += static_cast<double>(box.*high) - static_cast<double>(box.*low);
      e.count += 1;
    }
    return e;
  }

  static BoxBlock Empty() {
    BoxBlock block = {};
    std::fill_n(block.y1, kBlockBoxes, std::numeric_limits<float>::infinity());
    std::fill_n(block.x1, kBlockBoxes, std::numeric_limits<float>::infinity());
    return block;
  }

  float Low(const SearchedBox& box) const { return along_x_ ? box.x1 : box.y1; }
  float High(const SearchedBox& box) const { return along_x_ ? box.x2 : box.y2; }
  // Grows with v, so that boxes that overlap share a strip.
  std::size_t StripOf(float v) const {
    if (scale_ == 0) return 0;
    const double strip = (static_cast<double>(v) - low_) * scale_;
    return static_cast<std::size_t>(std::clamp(strip, 0.0, static_cast<double>(blocks_.size() - 1)));
  }

  bool OverlapsIn(const std::vector<BoxBlock>& strip, const SearchedBox& box, float threshold) const {
    const auto end = static_cast<std::int64_t>(strip.size());
    std::int32_t near[kBlockBoxes];
    for (std::int64_t i = 0; (i = find_(strip.data(), i, end, box, threshold * 0.9999f, near)) < end; ++i) {
      const BoxBlock& b = strip[static_cast<std::size_t>(i)];
      for (std::int64_t k = 0; k < kBlockBoxes; ++k)
        if (near[k] != 0 && Overlap(box, {b.y1[k], b.x1[k], b.y2[k], b.x2[k], b.area[k]}, threshold)) return true;
    }
    return false;
  }

  kernels::FindOverlapFn* find_ = kernels::FindOverlapFunction();
  std::vector<std::vector<BoxBlock>> blocks_;  // of each strip
  std::vector<std::size_t> filled_;            // boxes of each strip
  bool along_x_ = false;
  double low_ = 0, scale_ = 0;
};

void InferNms(InferContext& c) { c.SetOutput(0, DType::kInt64, {Dim(), Dim(3)}); }

float Threshold(KernelContext& c, std::size_t i, float otherwise) {
  return c.HasInput(i) && c.Input(i).count > 0 ? *c.Input(i).As<float>() : otherwise;
}

struct Limits {
  std::int64_t most;
  float iou, score;
};

// A candidate as one number: the smaller, the better its score, and among equal ones its place in the list.
std::uint64_t RankOf(float score, std::int64_t index) {
  auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);  // -0 is 0
  bits = (bits & 0x80000000u) != 0 ? bits : ~(bits | 0x80000000u);
  return std::uint64_t{bits} << 32 | static_cast<std::uint64_t>(index);
}

// Candidates, the best first. They are sorted in parts as they are asked for, where few of many are.
class Ranking {
 public:
  void Reset(const float* scores, std::int64_t n, const Limits& limits) {
    ranks_.clear();
    for (std::int64_t i = 0; i < n; ++i)
      if (scores[i] > limits.score) ranks_.push_back(RankOf(scores[i], i));
    sorted_ = 0;
    if (limits.most > n / kFewOfMany) SortAll();
    part_ = static_cast<std::size_t>(std::min<std::int64_t>(limits.most, n)) + 32;
  }
  std::size_t size() const { return ranks_.size(); }
  // The box of rank `i`.
  std::int64_t At(std::size_t i) {
    while (i >= sorted_) SortNext();
    return static_cast<std::int64_t>(ranks_[i] & 0xFFFFFFFFu);
  }

 private:
  static constexpr std::int64_t kFewOfMany = 8;

  void SortAll() {
    other_.resize(ranks_.size());
    SortByUpperHalf(ranks_.data(), other_.data(), ranks_.size());
    sorted_ = ranks_.size();
  }
  void SortNext() {
    const auto begin = ranks_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    const std::size_t count = std::min(part_, ranks_.size() - sorted_);
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    if (end != ranks_.end()) std::nth_element(begin, end, ranks_.end());
    std::sort(begin, end);
    sorted_ += count;
    part_ *= 4;
  }

  std::vector<std::uint64_t> ranks_, other_;
  std::size_t sorted_ = 0, part_ = 0;
};

constexpr std::int64_t kBoxesOfOneStrip = 256;  // up to here all chosen boxes are compared sooner than strips are made

// Appends (batch, class, box) of the boxes that stay.
void Suppress(Ranking& ranking, const float* boxes, bool center_point, const Limits& limits, std::int64_t batch,
              std::int64_t label, std::vector<std::int64_t>& selected) {
  std::vector<SearchedBox> candidates;
  if (limits.most > kBoxesOfOneStrip) {
    candidates.reserve(ranking.size());
    for (std::size_t i = 0; i < ranking.size(); ++i)
      candidates.push_back(ReadBox(boxes + ranking.At(i) * 4, center_point));
  }
  ChosenBoxes chosen;
  chosen.Reset(candidates);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < ranking.size() && count < limits.most; ++i) {
    const SearchedBox box = candidates.empty() ? ReadBox(boxes + ranking.At(i) * 4, center_point) : candidates[i];
    if (chosen.Overlaps(box, limits.iou)) continue;
    chosen.Add(box);
    selected.insert(selected.end(), {batch, label, ranking.At(i)});
    ++count;
  }
}

void RunNms(KernelContext& c) {
  const TensorRef& boxes = c.Input(0);
  const TensorRef& scores = c.Input(1);
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.shape[2] != 4 || boxes.shape[0] != scores.shape[0] ||
      boxes.shape[1] != scores.shape[2]) {
    Fail(Code::kInvalidArgument, "expected boxes [B, N, 4] and scores [B, classes, N], found ", ToText(boxes.shape),
         " and ", ToText(scores.shape));
  }
  const std::int64_t batches = boxes.shape[0], n = boxes.shape[1], classes = scores.shape[1];
  const Limits limits = {c.HasInput(2) && c.Input(2).count > 0 ? IntAt(c.Input(2), 0) : 0, Threshold(c, 3, 0),
                         Threshold(c, 4, -std::numeric_limits<float>::infinity())};
  if (!(limits.iou >= 0 && limits.iou <= 1))
    Fail(Code::kInvalidArgument, "expected an iou_threshold in [0, 1], found ", limits.iou);
  if (n > std::numeric_limits<std::uint32_t>::max())
    Fail(Code::kNotImplemented, "expected at most 4294967295 boxes of an image, found ", n);
  std::vector<std::int64_t> selected;
  Ranking ranking;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t k = 0; k < classes && limits.most > 0; ++k) {
      ranking.Reset(scores.As<float>() + (b * classes + k) * n, n, limits);
      Suppress(ranking, boxes.As<float>() + b * n * 4, c.state<NmsState>().center_point, limits, b, k, selected);
    }
  }
  const std::int64_t shape[] = {static_cast<std::int64_t>(selected.size()) / 3, 3};
  std::copy(selected.begin(), selected.end(), c.Output(0, shape).As<std::int64_t>());
}

Prepared PrepareNms(PrepareContext& c) { return WithState(RunNms, NmsState{c.Flag("center_point_box")}); }

constexpr OpDef kNonMaxSuppressionOps[] = {
    {.name = "NonMaxSuppression",
     .since = {10, 11},
     .types = {DType::kFloat},
     .infer = InferNms,
     .prepare = PrepareNms,
     .traits = kSizedByElements},
};

}  // namespace

std::span<const OpDef> NonMaxSuppressionOps() { return kNonMaxSuppressionOps; }

}  // namespace sardonyx::ops
