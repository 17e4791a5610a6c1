// ops/dim_facts.h - what is certain of symbolic dimensions, whatever their symbols stand for.
#pragma once

#include "ir/dim.h"

namespace sardonyx::ops {

// True if it is at least 0 for all sizes of its symbols, as far as that can be seen.
bool NeverNegative(const Dim& d);
// The broadcast of two dimensions where one is the other with a bound: min(n, 512) beside n, or max(0, n) beside n.
// Where both broadcast at all, n is the result: else they differ, and neither is 1. Unknown for all other pairs.
Dim BoundedBroadcast(const Dim& x, const Dim& y);

}  // namespace sardonyx::ops
