// optimizer/shapes/selection.h - reads Slice, Split and Gather of one index in one form: as a part of an axis.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// Elements [begin, begin + count) of an axis whose size is known.
struct Selection {
  ValueId from = kNoValue;
  std::size_t axis = 0;
  std::int64_t begin = 0, count = 0;
  std::int64_t size = 0;    // of the axis
  bool drops_axis = false;  // Gather with an index of rank 0
};

// What output `output` of the node selects; nothing if it is no selection along one axis in steps of 1, or depends on
// what is not known. Nodes must be in their newest spelling.
std::optional<Selection> SelectionOf(const Graph& graph, const Node& node, std::size_t output);

}  // namespace sardonyx::optimizer
