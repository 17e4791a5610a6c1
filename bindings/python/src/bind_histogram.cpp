// bindings/python/src/bind_histogram.cpp - ranges and histograms of arrays, which calibration asks for millions of
// times.
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "session.h"

namespace sardonyx::python {
namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The smallest and largest numbers of the array, or of their magnitudes; NaN is passed over. (NaN, NaN) if there is
// none.
nb::tuple RangeOf(const Floats& array, bool absolute) {
  constexpr std::size_t kLanes = 16;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::array<float, kLanes> low, high;
  low.fill(kInfinity);
  high.fill(-kInfinity);
  {
    const nb::gil_scoped_release release;
    const float* x = array.data();
    const std::size_t count = array.shape(0);
    const auto take = [&](std::size_t lane, float value) {
      const float v = absolute ? std::fabs(value) : value;
      low[lane] = v < low[lane] ? v : low[lane];
      high[lane] = v > high[lane] ? v : high[lane];
    };
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, x[i + lane]);
    for (; i < count; ++i) take(0, x[i]);
    for (std::size_t lane = 1; lane < kLanes; ++lane) {
      low[0] = low[lane] < low[0] ? low[lane] : low[0];
      high[0] = high[lane] > high[0] ? high[lane] : high[0];
    }
  }
  if (low[0] > high[0]) return nb::make_tuple(std::nan(""), std::nan(""));
  return nb::make_tuple(low[0], high[0]);
}

// Adds to each count the numbers between its two edges, the lower one included; the last bin has its upper edge, too.
// Numbers outside and NaN are passed over. The edges are nearly equally far apart, so that a product finds the bin up
// to rounding.
void AddCounts(const Floats& array, const Floats& bounds, const Counts& counts, bool absolute) {
  const std::size_t bins = counts.shape(0);
  if (bins == 0 || bounds.shape(0) != bins + 1)
    throw nb::value_error("expected at least one count and one edge more than counts");
  const float* edges = bounds.data();
  const float first = edges[0], last = edges[bins];
  const double scale = static_cast<double>(bins) / (static_cast<double>(last) - static_cast<double>(first));
  if (!std::isfinite(scale) || scale <= 0) throw nb::value_error("expected finite edges in ascending order");
  const nb::gil_scoped_release release;
  // Equal numbers follow each other often: separate tables let their additions overlap.
  constexpr std::size_t kTables = 4;
  std::vector<std::int64_t> tables(kTables * bins);
  const auto take = [&](std::int64_t* table, float value) {
    const float v = absolute ? std::fabs(value) : value;
    if (!(v >= first && v <= last)) return;
    auto bin = static_cast<std::size_t>((static_cast<double>(v) - static_cast<double>(first)) * scale);
    if (bin >= bins) bin = bins - 1;
    while (bin > 0 && v < edges[bin]) --bin;
    while (bin + 1 < bins && v >= edges[bin + 1]) ++bin;
    ++table[bin];
  };
  const float* x = array.data();
  const std::size_t count = array.shape(0);
  std::size_t i = 0;
  for (; i + kTables <= count; i += kTables)
    for (std::size_t k = 0; k < kTables; ++k) take(tables.data() + k * bins, x[i + k]);
  for (; i < count; ++i) take(tables.data(), x[i]);
  std::int64_t* sums = counts.data();
  for (std::size_t k = 0; k < kTables; ++k)
    for (std::size_t bin = 0; bin < bins; ++bin) sums[bin] += tables[k * bins + bin];
}

// Bins that are equally wide on both sides of zero, up to a reach that doubles when a number lies farther out: pairs of
// bins become one then, so that data need be read only once.
class StreamedHistogram {
 public:
  static constexpr std::size_t kSide = 1 << 14;  // bins on each side

  // Counts the numbers of an array; NaN and infinities are told by the ends alone.
  void Add(const Floats& array) {
    const nb::gil_scoped_release release;
    constexpr std::size_t kPart = 4096;  // stays in the first cache between its range and its counts
    const float* x = array.data();
    const std::size_t count = array.shape(0);
    for (std::size_t i = 0; i < count; i += kPart) AddPart(x + i, std::min(kPart, count - i));
  }

  // Counts of all bins from -reach to reach.
  std::vector<std::int64_t> Counts() {
    Flush();
    return sums_;
  }
  float reach() const { return reach_; }
  float low() const { return low_; }
  float high() const { return high_; }
  float smallest() const { return smallest_; }  // magnitude

 private:
  static constexpr std::size_t kTables = 2;       // equal numbers follow each other often: their additions overlap
  static constexpr std::size_t kNaN = 2 * kSide;  // a bin that is passed over
  static constexpr std::size_t kMostPending = std::size_t{1} << 31;
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static constexpr float kLeastReach = 0x1p-100F;  // kSide divided by it is finite
  static constexpr float kMostReach = std::numeric_limits<float>::max();

  void AddPart(const float* x, std::size_t count) {
    constexpr std::size_t kLanes = 16;
    std::array<float, kLanes> low, high, small;
    low.fill(kInfinity), high.fill(-kInfinity), small.fill(kInfinity);
    const auto take = [&](std::size_t lane, float v) {
      const float magnitude = std::fabs(v);
      low[lane] = v < low[lane] ? v : low[lane];
      high[lane] = v > high[lane] ? v : high[lane];
      small[lane] = magnitude < small[lane] ? magnitude : small[lane];
    };
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, x[i + lane]);
    for (; i < count; ++i) take(0, x[i]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      low_ = std::min(low_, low[lane]), high_ = std::max(high_, high[lane]);
      smallest_ = std::min(smallest_, small[lane]);
    }
    const float farthest = std::max(std::fabs(low_), std::fabs(high_));
    if (low_ > high_ || farthest == kInfinity) return;
    if (farthest > reach_) Widen(farthest);
    Count(x, count);
  }

  void Count(const float* x, std::size_t count) {
    constexpr std::size_t kBlock = 512;
    std::array<std::int32_t, kBlock> bins;
    // A power of two, but for the largest reach: products are exact. Zeros alone have no reach, and lie in the middle.
    const float scale = reach_ > 0 ? static_cast<float>(kSide) / reach_ : 0;
    constexpr auto kMiddle = static_cast<float>(kSide);
    constexpr auto kLast = static_cast<std::int32_t>(2 * kSide - 1);
    if ((pending_ += count) > kMostPending) Flush(), pending_ = count;
    for (std::size_t start = 0; start < count; start += kBlock) {
      const std::size_t size = std::min(kBlock, count - start);
      for (std::size_t i = 0; i < size; ++i) {
        const float v = x[start + i];
        // What is not below 0 is rounded down by the conversion.
        const auto place = static_cast<std::int32_t>((v == v ? v : 0.0F) * scale + kMiddle);
        const std::int32_t inside = place < kLast ? place : kLast;  // the reach itself belongs to the last bin
        bins[i] = v == v ? inside : static_cast<std::int32_t>(kNaN);
      }
      std::size_t i = 0;
      for (; i + kTables <= size; i += kTables)
        for (std::size_t k = 0; k < kTables; ++k) ++tables_[k][static_cast<std::size_t>(bins[i + k])];
      for (; i < size; ++i) ++tables_[0][static_cast<std::size_t>(bins[i])];
    }
  }

  void Flush() {
    for (std::vector<std::uint32_t>& table : tables_) {
      for (std::size_t bin = 0; bin < 2 * kSide; ++bin) sums_[bin] += table[bin];
      std::fill(table.begin(), table.end(), 0);
    }
    pending_ = 0;
  }

  // Makes the reach a power of two that is not below `farthest`, or the largest number of the type.
  void Widen(float farthest) {
    if (reach_ == 0) {
      reach_ = std::clamp(std::exp2(std::ceil(std::log2(farthest))), kLeastReach, kMostReach);
      while (reach_ < farthest) reach_ = std::min(reach_ * 2, kMostReach);
    }
    if (reach_ < farthest) Flush();
    while (reach_ < farthest) {
      reach_ = std::min(reach_ * 2, kMostReach);
      MergePairs(sums_.data());
    }
  }

  // Bin kSide + i holds what 2 i and 2 i + 1 behind the middle held; the same in front of it.
  static void MergePairs(std::int64_t* table) {
    for (std::size_t i = 0; i < kSide; ++i) {
      const bool is_there = 2 * i + 1 < kSide;
      std::int64_t* behind = table + kSide;
      behind[i] = is_there ? behind[2 * i] + behind[2 * i + 1] : 0;
      std::int64_t* before = table + kSide - 1;
      *(before - i) = is_there ? *(before - 2 * i) + *(before - 2 * i - 1) : 0;
    }
  }

  float reach_ = 0, low_ = kInfinity, high_ = -kInfinity, smallest_ = kInfinity;
  std::size_t pending_ = 0;  // numbers in the tables, whose counts must not overflow
  std::array<std::vector<std::uint32_t>, kTables> tables_{std::vector<std::uint32_t>(kNaN + 1),
                                                          std::vector<std::uint32_t>(kNaN + 1)};
  std::vector<std::int64_t> sums_ = std::vector<std::int64_t>(2 * kSide);
};

}  // namespace

void AddHistogram(nb::module_& module) {
  nb::class_<StreamedHistogram>(module, "StreamedHistogram")
      .def(nb::init<>())
      .def("add", &StreamedHistogram::Add, nb::arg("array"))
      .def("counts", &StreamedHistogram::Counts)
      .def_prop_ro("reach", &StreamedHistogram::reach)
      .def_prop_ro("low", &StreamedHistogram::low)
      .def_prop_ro("high", &StreamedHistogram::high)
      .def_prop_ro("smallest", &StreamedHistogram::smallest);
  module.def("range_of", &RangeOf, nb::arg("array"), nb::arg("absolute"));
  module.def("add_counts", &AddCounts, nb::arg("array"), nb::arg("edges"), nb::arg("counts"), nb::arg("absolute"));
}

}  // namespace sardonyx::python
