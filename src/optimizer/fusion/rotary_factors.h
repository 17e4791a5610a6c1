// optimizer/fusion/rotary_factors.h - the cosines and sines of rotary embeddings: one for each pair of elements, which
// graphs write twice.
#pragma once

#include <optional>

#include "optimizer/rules/rewrite.h"
#include "optimizer/shapes/axis_view.h"

namespace sardonyx::optimizer {

// Which elements of a head are turned together: one of each half, or two that stand side by side.
enum class Pairing { kHalves, kNeighbours };

// Factors [batch or 1, row, 2 * half] in which both elements of each pair are the same, or their one half already.
struct RotaryFactors {
  AxisView view;  // as [batch or 1, row, 2 * half], or [batch or 1, row, half]
  AxisView::Plan plan;
  bool halved = false;
  Dim batch, row;
};

// `value` has the shape [batch or 1, 1, row, 2 * half], or [batch or 1, row, 1, 2 * half] if `heads_last`; or only one
// factor for each pair, `half` of them. Nothing if its pairs are not seen to be equal.
std::optional<RotaryFactors> FindRotaryFactors(const Graph& graph, ValueId value, std::int64_t half, Pairing pairing,
                                               bool heads_last);

// [batch or 1, row, half].
ValueId BuildRotaryFactors(Rewrite& rewrite, const RotaryFactors& factors, std::int64_t half, Pairing pairing);

}  // namespace sardonyx::optimizer
