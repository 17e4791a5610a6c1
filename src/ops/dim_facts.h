// ops/dim_facts.h - what holds for symbolic dimensions whatever their symbols stand for.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dim.h"

namespace sardonyx::ops {

// True if it is at least 0 for all sizes of its symbols, as far as that can be seen.
bool NeverNegative(const Dim& d);
// The one that says more of two dimensions that are equal in every run without an error: a number, else the shorter
// text.
Dim Simpler(const Dim& x, const Dim& y);
// The size of what two parts are joined to: x + y, in one form for parts that are all of one thing ("min(2, n)" of the
// first and "max(0, n - 2)" of the others are n).
Dim JoinedSize(const Dim& x, const Dim& y);
// What is left of an axis without its last elements: max(0, size - count), in one form for an axis whose first element
// was put before it once more ("n + min(1, n)" without one is n).
Dim WithoutLast(const Dim& size, std::int64_t count);
// What a slice from -count to the end takes of an axis of `size` elements. If `count` is 0, that is the whole axis, so
// the result is "last(count, size)" unless both are the same. Unknown if `size` may be less than `count`.
Dim LastElements(const Dim& count, const Dim& size);
// The broadcast of two dimensions where one is the other with a bound: min(n, 512) beside n, max(0, n) beside n, or
// last(n, size) beside n. Where both broadcast at all, n is the result: else they differ, and neither is 1. Unknown for
// all other pairs.
Dim BoundedBroadcast(const Dim& x, const Dim& y);

// Names axes of a broadcast of `a` and `b` (of one rank) that BoundedBroadcast cannot name alone. GPT-2 cuts the rows
// [past, past + n) and the first past + n columns out of a square constant of 256, and broadcasts them with scores of n
// rows and past + n columns: where the columns broadcast, past + n is 256 at most, so that there are n rows.
void NameRowsOfSquare(const std::vector<Dim>& a, const std::vector<Dim>& b, std::vector<Dim>& out);

}  // namespace sardonyx::ops
