// bindings/python/src/bind_histogram.cpp - ranges and histograms of arrays, which calibration asks for millions of
// times.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "session.h"
#include "streamed_histogram.h"

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

// Pairs of a histogram and an array of float32.
void AddToAll(const std::vector<std::pair<StreamedHistogram*, Floats>>& pairs, std::size_t threads) {
  std::vector<NumbersToCount> work;
  work.reserve(pairs.size());
  for (const auto& [histogram, array] : pairs) work.push_back({histogram, array.data(), array.shape(0)});
  const nb::gil_scoped_release release;
  AddAll(std::move(work), threads);
}

nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> CountsOf(StreamedHistogram& histogram) {
  auto counts = std::make_unique<std::vector<std::int64_t>>(histogram.Counts());
  std::int64_t* data = counts->data();
  const std::size_t size = counts->size();
  nb::capsule owner(counts.get(), [](void* made) noexcept { delete static_cast<std::vector<std::int64_t>*>(made); });
  static_cast<void>(counts.release());
  return {data, {size}, owner};
}

}  // namespace

void AddHistogram(nb::module_& module) {
  nb::class_<StreamedHistogram>(module, "StreamedHistogram")
      .def(nb::init<>())
      .def("counts", &CountsOf)
      .def("relu", &StreamedHistogram::Relu)
      .def_prop_ro("reach_below", &StreamedHistogram::reach_below)
      .def_prop_ro("reach_above", &StreamedHistogram::reach_above)
      .def_prop_ro("low", &StreamedHistogram::low)
      .def_prop_ro("high", &StreamedHistogram::high)
      .def_prop_ro("smallest", &StreamedHistogram::smallest);
  module.def("add_to_histograms", &AddToAll, nb::arg("pairs"), nb::arg("threads"));
  module.def("range_of", &RangeOf, nb::arg("array"), nb::arg("absolute"));
  module.def("add_counts", &AddCounts, nb::arg("array"), nb::arg("edges"), nb::arg("counts"), nb::arg("absolute"));
}

}  // namespace sardonyx::python
