// ops/math/unary_ints.h - the unary operators on integers, and those that write or read bools.
#pragma once

#include "kernels/elementwise/unary.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

// Abs, Neg, Relu, Sign or Shrink (bias a, lambd b) of integers.
Prepared PrepareUnaryInts(PrepareContext& c, kernels::UnaryKind kind, float a = 0, float b = 0);
Prepared PrepareBitwiseNot(PrepareContext& c);
Prepared PrepareNot(PrepareContext& c);

}  // namespace sardonyx::ops
