// kernels/sample/bilinear.cpp - the choice of the ISA.
#include "kernels/sample/bilinear.h"

namespace sardonyx::kernels {
namespace {

constexpr Variant<FindBilinearFn> kFindVariants[] = {SDX_VARIANTS(FindBilinear)};
constexpr Variant<ReadBilinearFn> kReadVariants[] = {SDX_VARIANTS(ReadBilinear)};

}  // namespace

void FindBilinear(const PointsOfImage& image, const float* points, BilinearBlock& block) {
  Best(kFindVariants)(image, points, block);
}

void ReadBilinear(const BilinearBlock& block, const float* plane, float* y) { Best(kReadVariants)(block, plane, y); }

}  // namespace sardonyx::kernels
