// bindings/python/src/streamed_histogram.cpp - the loops over the numbers, in vectors of AVX2 where there are such.
#include "streamed_histogram.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

namespace sardonyx::python {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLeastReach = 0x1p-100F;  // kSide divided by it is finite
constexpr float kMostReach = std::numeric_limits<float>::max();
constexpr std::size_t kPart = 4096;  // numbers that stay in the first cache between their ends and their counts
constexpr std::size_t kBlock = 512;  // numbers whose bins are known before they are counted

struct Ends {
  float low = kInfinity, high = -kInfinity, smallest = kInfinity;
  bool has_nan = false;
};

// The ends of the numbers; NaN is passed over.
[[gnu::always_inline]] inline Ends EndsOf(const float* x, std::size_t count) {
  constexpr std::size_t kLanes = 16;
  float low[kLanes], high[kLanes], smallest[kLanes];
  std::int32_t nans[kLanes] = {};
  std::fill_n(low, kLanes, kInfinity), std::fill_n(high, kLanes, -kInfinity), std::fill_n(smallest, kLanes, kInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float v = x[i + lane], magnitude = std::fabs(v);
      low[lane] = v < low[lane] ? v : low[lane];
      high[lane] = v > high[lane] ? v : high[lane];
      smallest[lane] = magnitude < smallest[lane] ? magnitude : smallest[lane];
      nans[lane] |= v == v ? 0 : -1;
    }
  Ends ends;
  for (; i < count; ++i) {
    ends.low = std::min(ends.low, x[i]), ends.high = std::max(ends.high, x[i]);
    ends.smallest = std::min(ends.smallest, std::fabs(x[i]));
    ends.has_nan |= x[i] != x[i];
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    ends.low = std::min(ends.low, low[lane]), ends.high = std::max(ends.high, high[lane]);
    ends.smallest = std::min(ends.smallest, smallest[lane]);
    ends.has_nan |= nans[lane] != 0;
  }
  return ends;
}

// The bin of each number, which lies within the reach. Scales are powers of two, but for the largest reach, so that
// products are exact; what is not below 0 is rounded down by the conversion.
[[gnu::always_inline]] inline void BinsOf(const float* x, std::size_t count, float scale_below, float scale_above,
                                          std::int32_t* bins) {
  constexpr auto kMiddle = static_cast<float>(StreamedHistogram::kSide);
  for (std::size_t i = 0; i < count; ++i) {
    const float scale = x[i] < 0 ? scale_below : scale_above;
    bins[i] = static_cast<std::int32_t>(x[i] * scale + kMiddle);
  }
}

Ends PlainEnds(const float* x, std::size_t count) { return EndsOf(x, count); }
void PlainBins(const float* x, std::size_t count, float scale_below, float scale_above, std::int32_t* bins) {
  BinsOf(x, count, scale_below, scale_above, bins);
}

#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target("avx2")]] Ends WideEnds(const float* x, std::size_t count) { return EndsOf(x, count); }
[[gnu::target("avx2")]] void WideBins(const float* x, std::size_t count, float scale_below, float scale_above,
                                      std::int32_t* bins) {
  BinsOf(x, count, scale_below, scale_above, bins);
}
#endif

// The loops for this machine.
struct Loops {
  decltype(&PlainEnds) ends = PlainEnds;
  decltype(&PlainBins) bins = PlainBins;
};

const Loops& TheLoops() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const Loops loops = __builtin_cpu_supports("avx2") ? Loops{WideEnds, WideBins} : Loops{};
#else
  static const Loops loops;
#endif
  return loops;
}

// Bin i becomes what 2 i and 2 i + 1 were, counted from the middle; `step` leads away from it.
void MergePairs(std::int64_t* first, std::ptrdiff_t step) {
  constexpr auto kSide = static_cast<std::ptrdiff_t>(StreamedHistogram::kSide);
  for (std::ptrdiff_t i = 0; i < kSide; ++i)
    first[i * step] = 2 * i + 1 < kSide ? first[2 * i * step] + first[(2 * i + 1) * step] : 0;
}

// Makes the reach of a side a power of two that is not below `farthest`, or the largest number of the type.
void Widen(float* reach, float farthest, std::int64_t* first, std::ptrdiff_t step) {
  if (*reach == 0) *reach = std::clamp(std::exp2(std::ceil(std::log2(farthest))), kLeastReach, kMostReach);
  while (*reach < farthest) {
    *reach = std::min(*reach * 2, kMostReach);
    MergePairs(first, step);
  }
}

}  // namespace

void StreamedHistogram::Add(const float* x, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kPart) AddPart(x + i, std::min(kPart, count - i));
}

void StreamedHistogram::AddPart(const float* x, std::size_t count) {
  const auto ends_of = TheLoops().ends;
  Ends ends = ends_of(x, count);
  low_ = std::min(low_, ends.low), high_ = std::max(high_, ends.high);
  smallest_ = std::min(smallest_, ends.smallest);
  std::array<float, kPart> finite;
  if (ends.has_nan || ends.low == -kInfinity || ends.high == kInfinity) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isfinite(x[i])) finite[kept++] = x[i];
      infinite_below_ += x[i] == -kInfinity ? 1 : 0;
    }
    x = finite.data(), count = kept;
    ends = ends_of(x, count);
  }
  if (count == 0) return;
  if (-ends.low > reach_below_ || ends.high > reach_above_) {
    Flush();
    if (-ends.low > reach_below_) Widen(&reach_below_, -ends.low, sums_.data() + kSide - 1, -1);
    if (ends.high > reach_above_) Widen(&reach_above_, ends.high, sums_.data() + kSide, 1);
  }
  Count(x, count);
}

void StreamedHistogram::Count(const float* x, std::size_t count) {
  constexpr std::size_t kMostPending = std::size_t{1} << 31;
  std::array<std::int32_t, kBlock> bins;
  // A side without numbers has no reach; zeros lie in the middle.
  const float scale_below = reach_below_ > 0 ? static_cast<float>(kSide) / reach_below_ : 0;
  const float scale_above = reach_above_ > 0 ? static_cast<float>(kSide) / reach_above_ : 0;
  if (pending_ + count > kMostPending) Flush();
  pending_ += count;
  const auto bins_of = TheLoops().bins;
  std::uint32_t* first = tables_[0].data();
  std::uint32_t* second = tables_[1].data();
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t size = std::min(kBlock, count - start);
    bins_of(x + start, size, scale_below, scale_above, bins.data());
    std::size_t i = 0;
    for (; i + 2 <= size; i += 2) {
      std::uint64_t pair;  // one load is cheaper than two
      std::memcpy(&pair, bins.data() + i, sizeof pair);
      ++first[static_cast<std::uint32_t>(pair)];
      ++second[pair >> 32];
    }
    if (i < size) ++first[bins[i]];
  }
}

void StreamedHistogram::Flush() {
  if (pending_ == 0) return;
  for (std::vector<std::uint32_t>& table : tables_) {
    for (std::size_t bin = 0; bin < 2 * kSide; ++bin) sums_[bin] += table[bin];
    sums_[2 * kSide - 1] += table[2 * kSide];
    std::fill(table.begin(), table.end(), 0);
  }
  pending_ = 0;
}

StreamedHistogram StreamedHistogram::Relu() {
  StreamedHistogram made;
  if (low_ > high_) return made;
  const std::vector<std::int64_t>& counts = Counts();
  std::copy(counts.begin() + kSide, counts.end(), made.sums_.begin() + kSide);
  for (std::size_t bin = 0; bin < kSide; ++bin) made.sums_[kSide] += counts[bin];
  made.sums_[kSide] += infinite_below_;
  made.reach_above_ = reach_above_;
  made.low_ = std::max(low_, 0.0F), made.high_ = std::max(high_, 0.0F);
  made.smallest_ = low_ <= 0 ? 0 : smallest_;
  return made;
}

void AddAll(std::vector<NumbersToCount> work, std::size_t threads) {
  // The large ones first, so that all threads end at the same time.
  std::sort(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < work.size(); i = next++) work[i].histogram->Add(work[i].x, work[i].count);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(threads, work.size()); ++i) others.emplace_back(take);
  take();
}

}  // namespace sardonyx::python
