// kernels/norm/group_norm_last_f32.cpp - computes sums, then deviations, then the result, block by block of pixels.
#include "kernels/norm/group_norm_last_f32.h"

#include <algorithm>
#include <cmath>

#include "kernels/norm/affine_f32.h"
#include "kernels/reduce/reduce_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr Variant<DeviationColumnsFn> kDeviationVariants[] = {SDX_VARIANTS(DeviationColumns)};
constexpr int64_t kBlock = 64;  // pixels

std::size_t RoundUp64(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }

struct Layout {
  explicit Layout(const GroupNormLastArgs& a)
      : blocks((a.pixels + kBlock - 1) / kBlock),
        rows(RoundUp64(static_cast<std::size_t>(a.batch * a.channels) * sizeof(float))),
        partial(RoundUp64(static_cast<std::size_t>(a.batch * blocks * a.channels) * sizeof(float))) {}
  int64_t blocks;
  std::size_t rows, partial;  // bytes of one number for each image and channel, and for each block, too
};

// The sum over blocks and channels of one group of one image.
double GroupSum(const GroupNormLastArgs& a, int64_t blocks, const float* partial, int64_t image, int64_t group) {
  const int64_t each = a.channels / a.groups;
  double sum = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    const float* row = partial + (image * blocks + b) * a.channels + group * each;
    for (int64_t c = 0; c < each; ++c) sum += static_cast<double>(row[c]);
  }
  return sum;
}

// Calls f(image, first pixel, pixels, block) for all blocks.
template <typename F>
void ForBlocks(const GroupNormLastArgs& a, int64_t blocks, Parallel& parallel, const F& f) {
  const int64_t grain = std::max<int64_t>(1, 16384 / (kBlock * a.channels));
  parallel.For(a.batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kBlock;
      f(i / blocks, first, std::min(kBlock, a.pixels - first), i);
    }
  });
}

}  // namespace

std::size_t GroupNormLastScratchBytes(const GroupNormLastArgs& args) {
  const Layout layout(args);
  return 3 * layout.rows + layout.partial;
}

void GroupNormLastF32(const GroupNormLastArgs& a, Parallel& parallel, std::byte* scratch, Isa isa) {
  const Layout layout(a);
  const auto floats = [&](std::size_t at) { return reinterpret_cast<float*>(scratch + at); };
  float *mean = floats(0), *factor = floats(layout.rows), *bias = floats(2 * layout.rows),
        *partial = floats(3 * layout.rows);
  const ReduceF32Set& reduce = ReduceF32(isa);
  const AffineF32Set& affine = AffineF32(isa);
  DeviationColumnsFn* deviations = Best(kDeviationVariants, isa);
  const int64_t each = a.channels / a.groups, blocks = layout.blocks;
  const double count = static_cast<double>(each * a.pixels);
  const auto pixel = [&](int64_t image, int64_t first) { return (image * a.pixels + first) * a.channels; };
  ForBlocks(a, blocks, parallel, [&](int64_t image, int64_t first, int64_t pixels, int64_t i) {
    float* sums = partial + i * a.channels;
    std::fill_n(sums, a.channels, 0.0f);
    reduce.columns(ReduceKind::kSum, a.x + pixel(image, first), pixels, a.channels, a.channels, sums);
  });
  for (int64_t i = 0; i < a.batch * a.groups; ++i) {
    const double sum = GroupSum(a, blocks, partial, i / a.groups, i % a.groups);
    std::fill_n(mean + i * each, each, static_cast<float>(sum / count));
  }
  ForBlocks(a, blocks, parallel, [&](int64_t image, int64_t first, int64_t pixels, int64_t i) {
    deviations(a.x + pixel(image, first), pixels, a.channels, mean + image * a.channels, partial + i * a.channels);
  });
  for (int64_t i = 0; i < a.batch * a.groups; ++i) {
    const int64_t group = i % a.groups;
    const double sum = GroupSum(a, blocks, partial, i / a.groups, group);
    const double inverse = 1 / std::sqrt(sum / count + a.epsilon);
    for (int64_t c = 0; c < each; ++c) {
      const int64_t at = a.per_group ? group : group * each + c;
      factor[i * each + c] = static_cast<float>(inverse * static_cast<double>(a.scale[at]));
      bias[i * each + c] = a.bias[at];
    }
  }
  ForBlocks(a, blocks, parallel, [&](int64_t image, int64_t first, int64_t pixels, int64_t) {
    const int64_t row = image * a.channels;
    for (int64_t p = first; p < first + pixels; ++p)
      affine.columns(a.x + pixel(image, p), a.channels, mean + row, factor + row, bias + row, a.y + pixel(image, p));
  });
}

}  // namespace sardonyx::kernels
