// kernels/conv/depthwise_int8.cpp - computes the rows of an 8-bit depthwise convolution.
#include "kernels/conv/depthwise_int8.h"

#include <algorithm>

#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kBlock = 64;  // pixels and channels at a time where the output is channels first
constexpr Variant<DepthwiseInt8Fn> kBytes[] = {SDX_VARIANTS(DepthwiseInt8Bytes)};
constexpr Variant<DepthwiseInt8Fn> kWords[] = {SDX_VARIANTS(DepthwiseInt8Words)};

class Depthwise {
 public:
  explicit Depthwise(const IntegerConvolution& g) : g_(g), run_(Best(g.tiles->bytes ? kBytes : kWords, g.tiles->isa)) {}

  void Row(int64_t row) const {
    const int64_t channels = g_.Channels(), width = g_.count[2], size = g_.ResultBytes();
    auto* y = static_cast<std::byte*>(g_.y);
    if (g_.out_layout == ImageLayout::kChannelsLast)
      return Run(row, 0, width, 0, channels, y + row * width * channels * size, channels);
    for (int64_t column = 0; column < width; column += kBlock)
      for (int64_t c = 0; c < channels; c += kBlock) {
        alignas(64) std::byte block[kBlock * kBlock * 4];
        const int64_t pixels = std::min(kBlock, width - column), count = std::min(kBlock, channels - c);
        Run(row, column, pixels, c, count, block, kBlock);
        std::byte* to = y + (c * g_.out_pixels + row * width + column) * size;
        if (size == 1) {
          g_.tiles->transpose(pixels, count, reinterpret_cast<const std::uint8_t*>(block), kBlock,
                              reinterpret_cast<std::uint8_t*>(to), g_.out_pixels);
        } else {  // moves bits, whatever they mean
          BestTilesF32().transpose(pixels, count, reinterpret_cast<const float*>(block), kBlock,
                                   reinterpret_cast<float*>(to), g_.out_pixels);
        }
      }
  }

 private:
  // `pixels` positions from `column` on and channels [c, c + count); c: a multiple of kDepthwiseLanes.
  void Run(int64_t row, int64_t column, int64_t pixels, int64_t c, int64_t count, std::byte* y,
           std::ptrdiff_t y_step) const {
    DepthwiseInt8Args a{};
    a.x = g_.x + g_.InputOffset(row, column) + c * g_.group_in_bytes;
    a.x_step = g_.x_step[2];
    a.offsets = g_.run_offsets, a.taps = g_.runs;
    a.w = reinterpret_cast<const std::int16_t*>(g_.panels) + DepthwiseInt8Index(g_.runs, 0, c);
    a.w_block = DepthwiseInt8BlockValues(g_.runs);
    a.pixels = pixels, a.channels = count;
    a.terms = g_.terms + c;
    a.result = g_.result;
    a.scales = g_.scales != nullptr ? g_.scales + c : nullptr;
    a.low = g_.Low(), a.high = g_.High(), a.zero = static_cast<std::uint32_t>(g_.y_zero);
    a.y = y, a.y_step = y_step;
    run_(a);
  }

  const IntegerConvolution& g_;
  DepthwiseInt8Fn* run_;
};

}  // namespace

void RunDepthwiseInt8(const IntegerConvolution& g, Parallel& parallel) {
  const int64_t rows = g.count[0] * g.count[1];
  const Depthwise depthwise(g);
  const int64_t work = g.count[2] * g.Channels() * g.runs;
  parallel.For(rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) depthwise.Row(row);
  });
}

}  // namespace sardonyx::kernels
