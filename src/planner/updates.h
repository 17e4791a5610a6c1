// planner/updates.h - operators that update a cache: outputs that may be computed in the memory of an input.
#pragma once

#include <cstddef>
#include <span>

#include "ops/op_def.h"

namespace sardonyx::planner {

// The kernel reads what it needs of the input before it writes there, and leaves the rest as it is.
struct Update {
  std::size_t input = 0, output = 0;
};

std::span<const Update> UpdatesOf(const ops::OpDef& op);

}  // namespace sardonyx::planner
