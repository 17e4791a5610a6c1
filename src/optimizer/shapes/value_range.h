// optimizer/shapes/value_range.h - bounds for the elements of a value, as far as they follow from the graph.
#pragma once

#include "ir/graph.h"

namespace sardonyx::optimizer {

// Infinite ends mean that infinities may be among the elements. NaN is not considered.
struct ValueRange {
  double low = 0, high = 0;
};

// What comes from computations with weights and data counts as ordinary: within +-1e30, so that only a constant, an
// input of the graph or arithmetic with a huge constant makes an infinity.
ValueRange RangeOf(const Graph& graph, ValueId value);

inline bool MayBeNegativeInfinity(const Graph& graph, ValueId value) {
  return RangeOf(graph, value).low < -3.4028235e38;
}

}  // namespace sardonyx::optimizer
