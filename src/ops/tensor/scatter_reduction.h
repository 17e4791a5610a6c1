// ops/tensor/scatter_reduction.h - y[i] = f(y[i], u[i]) for the reductions of the scatter operators, by element type.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace sardonyx::ops {

// to[at..at+n) = f(to[at..at+n), from[begin..begin+n)); a plain copy for "none". Of each element in order.
using ScatterReductionFn = void(DType dtype, const void* from, std::int64_t begin, void* to, std::int64_t at,
                                std::int64_t n);

// The function of `reduction` ("none", "add", "mul", "min", "max"); nullptr if the type has none. Integers wrap around,
// NaN wins min and max, add and max of bools is or, mul and min is and. Fails with kInvalidGraph on other names.
ScatterReductionFn* FindScatterReduction(std::string_view reduction, DType dtype);

}  // namespace sardonyx::ops
