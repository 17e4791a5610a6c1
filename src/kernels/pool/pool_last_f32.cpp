// kernels/pool/pool_last_f32.cpp - pooling of channels-last images.
#include "kernels/pool/pool_last_f32.h"

#include <algorithm>
#include <limits>

#include "kernels/pool/pool_last.h"

namespace sardonyx::kernels {
namespace {

constexpr Variant<PoolPixelFn> kMaxVariants[] = {SDX_VARIANTS(MaxPoolPixel)};
constexpr Variant<PoolPixelFn> kAverageVariants[] = {SDX_VARIANTS(AveragePoolPixel)};

}  // namespace

// NOLINTNEXTLINE(readability-function-size): sizes of one call
void PoolLastF32(const PoolShape& p, std::int64_t batch, std::int64_t channels, const float* x, float* y,
                 Parallel& parallel, Isa isa) {
  PoolPixelFn* run = Best(p.average ? kAverageVariants : kMaxVariants, isa);
  const float nothing = p.average ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
  ForPoolRows(PoolImages<float>{p, batch, channels, x, y}, 32768, parallel, [&](const PoolLastRow<float>& row) {
    const auto rows = static_cast<double>(p.average ? PoolTaps(p, 0, row.depth) * PoolTaps(p, 1, row.height) : 0);
    ForPoolPixels(p, channels, row, [&](const PoolWindow<float>& window, std::int64_t ow, float* at, bool last) {
      if (window.count == 0) return void(std::fill_n(at, channels, nothing));
      const float divisor = last && p.average ? static_cast<float>(rows * static_cast<double>(PoolTaps(p, 2, ow))) : 0;
      run({window.pixels, window.count, channels, window.more, divisor, at});
    });
  });
}

}  // namespace sardonyx::kernels
