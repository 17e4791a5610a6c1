// kernels/pool/pool_taps.h - pooling of planes of types other than float, with positions, and of powers: the windows of
// a row of outputs take their elements together, one tap after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/pool/pool_shape.h"

namespace sardonyx::kernels {

// Element i of a row of n outputs takes x[i * stride]. The later of two NaN, or the first of equal elements, is the
// maximum. at[i] becomes first + i * stride where element i is the new maximum, and any element is one over at[i] < 0.
template <typename T>
using MaxTapFn = void(const T* x, std::ptrdiff_t stride, std::size_t n, T* best);
template <typename T>
using MaxTapAtFn = void(const T* x, std::ptrdiff_t stride, std::size_t n, std::int64_t first, T* best,
                        std::int64_t* at);
// sums[i] += |x[i * stride]|^power; kNoPower stands for x itself.
constexpr double kNoPower = std::numeric_limits<double>::quiet_NaN();
template <typename T>
using AddTapFn = void(const T* x, std::ptrdiff_t stride, std::size_t n, double power, double* sums);

template <typename T>
struct PoolTapLoops {
  MaxTapFn<T>* max = nullptr;
  MaxTapAtFn<T>* max_at = nullptr;
  AddTapFn<T>* add = nullptr;  // floating types only
};

// The vector forms of one ISA.
struct PoolTapTable {
  PoolTapLoops<float> f32;
  PoolTapLoops<double> f64;
  PoolTapLoops<std::int8_t> s8;
  PoolTapLoops<std::uint8_t> u8;
};
using PoolTapTableFn = PoolTapTable();
std::span<const Variant<PoolTapTableFn>> PoolTapVariants();

#define SDX_DECLARE(isa)         \
  namespace isa {                \
  PoolTapTableFn PoolTapKernels; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// x [planes, in...], y [planes, out...]. T: float, double, int8 or uint8. at, unless it is null: the position of each
// maximum in its plane, -1 for a window without elements.
template <typename T>
void MaxPoolTaps(const PoolShape& shape, std::int64_t planes, const T* x, T* y, std::int64_t* at, Parallel& parallel);

// The mean (of shape.average), or the p-th root of the sum of |x|^p. T: float or double.
template <typename T>
void SumPoolTaps(const PoolShape& shape, std::int64_t planes, const T* x, double p, T* y, Parallel& parallel);

}  // namespace sardonyx::kernels
