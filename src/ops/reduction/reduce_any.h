// ops/reduction/reduce_any.h - the reductions of doubles and integers, and those of floats that have no vector form.
#pragma once

#include <cstdint>

#include "kernels/reduce/reduce_f32.h"
#include "ops/kernel_context.h"
#include "ops/shapes/reduce_plan.h"

namespace sardonyx::ops {

enum class Reduction : std::uint8_t { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kLogSum, kLogSumExp, kSumSquare };

// What is done element by element.
kernels::ReduceKind KindOf(Reduction reduction);

inline constexpr std::int64_t kReducePiece = 1 << 16;  // elements of a row that one piece of work takes
inline constexpr std::int64_t kReduceGrain = 1 << 14;  // elements worth a thread

// y = the reduction of x. T: float, double, bool, or an integer of 8 (extremes only), 32 or 64 bits. Integers sum and
// multiply modulo 2^64 and are cut to their width at the end.
template <typename T>
void ReduceAny(KernelContext& c, const ReducePlan& plan, Reduction reduction, const T* x, T* y);

}  // namespace sardonyx::ops
