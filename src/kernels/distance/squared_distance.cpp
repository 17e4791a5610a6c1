// kernels/distance/squared_distance.cpp - chooses among the variants of squared_distance.isa.cpp; packs the points.
#include "kernels/distance/squared_distance.h"

namespace sardonyx::kernels {
namespace {

constexpr Variant<SquaredDistancesFn<float>> kF32[] = {SDX_VARIANTS(SquaredDistancesF32)};
constexpr Variant<SquaredDistancesFn<double>> kF64[] = {SDX_VARIANTS(SquaredDistancesF64)};

}  // namespace

std::span<const Variant<SquaredDistancesFn<float>>> SquaredDistancesF32Variants() { return kF32; }
std::span<const Variant<SquaredDistancesFn<double>>> SquaredDistancesF64Variants() { return kF64; }

std::int64_t PackedPointCount(std::int64_t n, std::int64_t k) {
  return (n + kDistanceBlock - 1) / kDistanceBlock * kDistanceBlock * k;
}

template <typename T>
void PackPoints(const T* b, std::int64_t n, std::int64_t k, T* points) {
  for (std::int64_t begin = 0; begin < n; begin += kDistanceBlock) {
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < kDistanceBlock; ++j) *points++ = begin + j < n ? b[(begin + j) * k + i] : T{0};
  }
}
template void PackPoints(const float* b, std::int64_t n, std::int64_t k, float* points);
template void PackPoints(const double* b, std::int64_t n, std::int64_t k, double* points);

}  // namespace sardonyx::kernels
