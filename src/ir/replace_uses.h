// ir/replace_uses.h - lets the readers of many values read other values.
#pragma once

#include <span>
#include <utility>

#include "ir/graph.h"

namespace sardonyx {

// Graph::ReplaceUses for each pair (from, to), except that `consumers` may be in another order. No `to` is another
// pair's `from`. Takes time linear in the inputs of the readers, also where one node reads all of these values.
void ReplaceUses(Graph& graph, std::span<const std::pair<ValueId, ValueId>> replaced);

}  // namespace sardonyx
