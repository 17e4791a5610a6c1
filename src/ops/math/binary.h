// ops/math/binary.h - the kernel of all operators of two operands that broadcast.
#pragma once

#include "kernels/elementwise/binary.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

// z[i] = f(x[i], y[i]) on inputs 0 and 1 of one type. to_bool: a comparison. swap: f(y, x).
Prepared PrepareBinary(PrepareContext& c, kernels::BinaryKind kind, bool to_bool = false, bool swap = false);

}  // namespace sardonyx::ops
