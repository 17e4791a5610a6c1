// planner/in_place_op.h - operators that say themselves which outputs may overwrite which inputs.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "ops/op_def.h"

namespace sardonyx::planner {

// Every row with the trait kCustom that takes part in planning is one.
struct InPlaceOp : ops::OpDef {
  std::vector<std::pair<std::size_t, std::size_t>> in_place;  // input, output that may have its memory
};

}  // namespace sardonyx::planner
