// bindings/python/src/streamed_histogram.h - counts of numbers of which nobody knows beforehand how far they reach.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sardonyx::python {

// Bins that are equally wide on each side of zero, up to a reach of that side that doubles when a number lies farther
// out: pairs of bins become one then, so that data need be read only once. NaN is passed over; infinities count for the
// ends alone.
class StreamedHistogram {
 public:
  static constexpr std::size_t kSide = 1 << 14;  // bins on each side

  void Add(const float* x, std::size_t count);

  // What this would be if each number had gone through Relu.
  StreamedHistogram Relu();

  // Counts of all bins from -reach_below to reach_above.
  const std::vector<std::int64_t>& Counts() {
    Flush();
    return sums_;
  }
  float reach_below() const { return reach_below_; }
  float reach_above() const { return reach_above_; }
  float low() const { return low_; }
  float high() const { return high_; }
  float smallest() const { return smallest_; }  // magnitude

 private:
  static constexpr std::size_t kTables = 2;           // equal numbers follow each other often: their additions overlap
  static constexpr std::size_t kBins = 2 * kSide + 1;  // the last is for the reach itself
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  void AddPart(const float* x, std::size_t count);
  void Count(const float* x, std::size_t count);
  void Flush();

  float reach_below_ = 0, reach_above_ = 0, low_ = kInfinity, high_ = -kInfinity, smallest_ = kInfinity;
  std::int64_t infinite_below_ = 0;  // how often there was -infinity
  std::size_t pending_ = 0;          // numbers in the tables, whose counts must not overflow
  std::array<std::vector<std::uint32_t>, kTables> tables_{std::vector<std::uint32_t>(kBins),
                                                          std::vector<std::uint32_t>(kBins)};
  std::vector<std::int64_t> sums_ = std::vector<std::int64_t>(2 * kSide);
};

struct NumbersToCount {
  StreamedHistogram* histogram;
  const float* x;
  std::size_t count;
};

// Adds all of them on that many threads. Each histogram is there at most once.
void AddAll(std::vector<NumbersToCount> work, std::size_t threads);

}  // namespace sardonyx::python
