// optimizer/fusion/padding_mask.h - recognizes the summand of attention scores that hides padding.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace sardonyx::optimizer {

struct PaddingMask {
  ValueId mask;   // [batch, key]; 1 (or true) keeps a key, 0 hides it
  double filter;  // what is added to the scores of a hidden key
};

// Nothing unless `summand` is computed element by element, by a formula that is 0 for a one and a large negative number
// for a zero, from such a mask, whatever the mask's spelling. Integers in it are taken to be zeros and ones.
std::optional<PaddingMask> FindPaddingMask(const Graph& graph, ValueId summand, const Dim& batch, const Dim& keys);

}  // namespace sardonyx::optimizer
