// planner/plan_text.h - a plan as text, for people and tests.
//
// clang-format off
//   plan of g(float[2,3] x, int64[1] n {6})
//   steps:
//     0  t = Add(x, w)
//     2  z = NonZero(v)  late
//   values:
//     x  float[2,3]  input x
//     t  float[2,3]  arena host + 0
//     v  float[6]    arena host + 0
//     z  late
//   buffers:
//     host + 0, 24 bytes, steps 0 to 2: t, v
//   arenas: host 64 bytes
//   outputs: z late
// clang-format on
//
// The first line is the key: types of the inputs, and the contents of those on which shapes depend. Steps have their
// number in the graph; those that are not listed have nothing to do (views, results that the key implies). Values in
// the same bytes have the same place; a buffer lists the values that lie in it, one after the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/plan.h"

namespace sardonyx::planner {

// "arena", "input" ...
std::string_view NameOf(PlannedSlot::Place place);

// The slots whose values lie in a buffer: the one that it was made for, those that view it or were written over it.
std::vector<int> SlotsIn(const Outline& outline, const Plan& plan, const PlannedBuffer& buffer);

// `plan` must belong to `outline`. Plans of bodies are not included.
std::string PlanText(const Outline& outline, const Plan& plan);

}  // namespace sardonyx::planner
