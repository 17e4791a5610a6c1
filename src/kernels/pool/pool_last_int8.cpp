// kernels/pool/pool_last_int8.cpp - max pooling of channels-last bytes: which pixels make which output pixel.
#include "kernels/pool/pool_last_int8.h"

#include <algorithm>
#include <cstring>

namespace sardonyx::kernels {
namespace {

constexpr Variant<BytePoolPixelFn> kUnsigned[] = SDX_VARIANTS(MaxPoolPixelU8);
constexpr Variant<BytePoolPixelFn> kSigned[] = SDX_VARIANTS(MaxPoolPixelS8);
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

struct RowTask {
  const PoolShape& p;
  std::int64_t channels;
  bool is_signed;
  BytePoolPixelFn* run;

  // Output pixels of row (od, oh) of one image.
  void Row(const std::uint8_t* x, std::int64_t od, std::int64_t oh, std::uint8_t* y) const {
    const TapRange depth(p, 0, od), height(p, 1, oh);
    for (std::int64_t ow = 0; ow < p.out[2]; ++ow, y += channels) {
      const TapRange width(p, 2, ow);
      const std::uint8_t* taps[kTapsAtOnce];
      BytePoolPixel pixel;
      pixel.taps = taps, pixel.channels = channels, pixel.y = y;
      const auto flush = [&] {
        run(pixel);
        pixel.tap_count = 0;
        pixel.more = true;
      };
      for (std::int64_t kd = depth.first; kd < depth.last; ++kd)
        for (std::int64_t kh = height.first; kh < height.last; ++kh)
          for (std::int64_t kw = width.first; kw < width.last; ++kw) {
            if (pixel.tap_count == kTapsAtOnce) flush();
            const std::int64_t d = depth.input + kd * p.dilation[0], h = height.input + kh * p.dilation[1];
            taps[pixel.tap_count++] = x + ((d * p.in[1] + h) * p.in[2] + width.input + kw * p.dilation[2]) * channels;
          }
      if (pixel.tap_count > 0) flush();
      if (!pixel.more) std::memset(y, is_signed ? 0x80 : 0, static_cast<std::size_t>(channels));
    }
  }
};

}  // namespace

// NOLINTNEXTLINE(readability-function-size): sizes and kinds of one call
void MaxPoolLastInt8(const PoolShape& p, std::int64_t batch, std::int64_t channels, bool is_signed, const void* x,
                     void* y, Parallel& parallel, const Isa* isa) {
  BytePoolPixelFn* run = Best(is_signed ? kSigned : kUnsigned);
  for (const auto& variant : is_signed ? kSigned : kUnsigned)
    if (isa != nullptr && variant.isa == *isa) run = variant.run;
  const RowTask task{p, channels, is_signed, run};
  const std::int64_t image_rows = p.out[0] * p.out[1], image = p.in[0] * p.in[1] * p.in[2] * channels;
  const std::int64_t row_work = p.out[2] * channels * p.kernel[0] * p.kernel[1] * p.kernel[2];
  const std::int64_t grain = std::max<std::int64_t>(1, 131072 / std::max<std::int64_t>(row_work, 1));
  const auto* from = static_cast<const std::uint8_t*>(x);
  auto* to = static_cast<std::uint8_t*>(y);
  parallel.For(batch * image_rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      task.Row(from + row / image_rows * image, row % image_rows / p.out[1], row % p.out[1],
               to + row * p.out[2] * channels);
  });
}

}  // namespace sardonyx::kernels
