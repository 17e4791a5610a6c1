// kernels/distance/squared_distance.h - squared Euclidean distances of a row to many points.
//
// y[j] = sum over k of (a[k] - b[k, j])^2, added in the order of k: at most K + 2 roundings. Large squares are never
// subtracted from each other, so the distances of near points stay accurate.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

constexpr std::int64_t kDistanceBlock = 64;  // points are padded to a multiple of it

// a [k]; points [padded / block][k][block]; y [n].
template <typename T>
using SquaredDistancesFn = void(const T* a, std::int64_t k, const T* points, std::int64_t n, T* y);

#define SDX_DECLARE(isa)                          \
  namespace isa {                                 \
  SquaredDistancesFn<float> SquaredDistancesF32;  \
  SquaredDistancesFn<double> SquaredDistancesF64; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

std::span<const Variant<SquaredDistancesFn<float>>> SquaredDistancesF32Variants();
std::span<const Variant<SquaredDistancesFn<double>>> SquaredDistancesF64Variants();

// Elements of packed points [n, k].
std::int64_t PackedPointCount(std::int64_t n, std::int64_t k);
// b [n, k] into blocks, zeros beyond n.
template <typename T>
void PackPoints(const T* b, std::int64_t n, std::int64_t k, T* points);

}  // namespace sardonyx::kernels
