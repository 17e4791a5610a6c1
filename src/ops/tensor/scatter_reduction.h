// ops/tensor/scatter_reduction.h - y[i] = f(y[i], u[i]) for the reductions of the scatter operators, by element type.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace sardonyx::ops {

// For each of `n` places in order: to[place..place+run) = f(to[place..place+run), u), with the run elements u of `from`
// that follow those of the place before, the first at `begin`; a plain copy for "none".
using ScatterReductionFn = void(DType dtype, const void* from, std::int64_t begin, void* to, const std::int64_t* places,
                                std::int64_t n, std::int64_t run);

// The function of `reduction` ("none", "add", "mul", "min", "max"); nullptr if the type has none. Integers wrap around,
// NaN wins min and max, add and max of bools is or, mul and min is and. Fails with kInvalidGraph on other names.
ScatterReductionFn* FindScatterReduction(std::string_view reduction, DType dtype);

}  // namespace sardonyx::ops
