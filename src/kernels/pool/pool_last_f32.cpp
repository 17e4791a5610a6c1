// kernels/pool/pool_last_f32.cpp - pooling of channels-last images: which pixels make which output pixel.
#include "kernels/pool/pool_last_f32.h"

#include <algorithm>
#include <limits>

namespace sardonyx::kernels {
namespace {

constexpr Variant<PoolPixelFn> kMaxVariants[] = SDX_VARIANTS(MaxPoolPixel);
constexpr Variant<PoolPixelFn> kAverageVariants[] = SDX_VARIANTS(AveragePoolPixel);
constexpr std::int64_t kTapsAtOnce = 64;

// The taps of one axis that lie in the image, [first, last), and where tap 0 is.
struct TapRange {
  TapRange(const PoolShape& p, int axis, std::int64_t out) : input(out * p.stride[axis] - p.pad_begin[axis]) {
    const std::int64_t dilation = p.dilation[axis];
    first = input < 0 ? (-input + dilation - 1) / dilation : 0;
    last = input >= p.in[axis] ? 0 : std::min(p.kernel[axis], (p.in[axis] - 1 - input) / dilation + 1);
  }
  std::int64_t input, first, last;
};

struct PixelTask {
  const PoolShape& p;
  std::int64_t channels;
  PoolPixelFn* run;

  // Output pixels of row (od, oh) of one image.
  void Row(const float* x, std::int64_t od, std::int64_t oh, float* y) const {
    const TapRange depth(p, 0, od), height(p, 1, oh);
    const std::int64_t rows = p.average ? PoolTaps(p, 0, od) * PoolTaps(p, 1, oh) : 0;
    for (std::int64_t ow = 0; ow < p.out[2]; ++ow, y += channels) {
      const TapRange width(p, 2, ow);
      const float* taps[kTapsAtOnce];
      PoolPixel pixel;
      pixel.taps = taps, pixel.channels = channels, pixel.y = y;
      const float divisor = p.average ? static_cast<float>(rows * PoolTaps(p, 2, ow)) : 0;
      const auto flush = [&](bool done) {
        pixel.divisor = done ? divisor : 0;
        run(pixel);
        pixel.tap_count = 0;
        pixel.more = true;
      };
      for (std::int64_t kd = depth.first; kd < depth.last; ++kd)
        for (std::int64_t kh = height.first; kh < height.last; ++kh)
          for (std::int64_t kw = width.first; kw < width.last; ++kw) {
            if (pixel.tap_count == kTapsAtOnce) flush(false);
            const std::int64_t d = depth.input + kd * p.dilation[0], h = height.input + kh * p.dilation[1];
            taps[pixel.tap_count++] = x + ((d * p.in[1] + h) * p.in[2] + width.input + kw * p.dilation[2]) * channels;
          }
      if (pixel.tap_count > 0) {
        flush(true);
      } else {
        const float nothing =
            p.average ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
        std::fill_n(y, channels, nothing);
      }
    }
  }
};

}  // namespace

void PoolLastF32(const PoolShape& p, std::int64_t batch, std::int64_t channels, const float* x, float* y,
                 Parallel& parallel, const Isa* isa) {
  PoolPixelFn* run = Best(p.average ? kAverageVariants : kMaxVariants);
  for (const auto& variant : p.average ? kAverageVariants : kMaxVariants)
    if (isa != nullptr && variant.isa == *isa) run = variant.run;
  const PixelTask task{p, channels, run};
  const std::int64_t image_rows = p.out[0] * p.out[1], image = p.in[0] * p.in[1] * p.in[2] * channels;
  const std::int64_t row_work = p.out[2] * channels * p.kernel[0] * p.kernel[1] * p.kernel[2];
  const std::int64_t grain = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(row_work, 1));
  parallel.For(batch * image_rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      task.Row(x + row / image_rows * image, row % image_rows / p.out[1], row % p.out[1],
               y + row * p.out[2] * channels);
  });
}

}  // namespace sardonyx::kernels
