// kernels/conv/depthwise_int8.cpp - computes the rows of an 8-bit depthwise convolution from copies of the few rows of
// the image that a row of windows reads, with their padding.
#include "kernels/conv/depthwise_int8.h"

#include <algorithm>
#include <cstring>

#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kBlock = 64;  // pixels and channels at a time where the output is channels first
constexpr int64_t kPartsPerThread = 2;
constexpr int64_t kFewestTaps = 65536;  // that a part of the rows is worth
constexpr std::size_t kOverRead = 64;   // bytes read beyond the last row
constexpr Variant<DepthwiseInt8Fn> kSigned[] = {SDX_VARIANTS(DepthwiseInt8Signed)};
constexpr Variant<DepthwiseInt8Fn> kUnsigned[] = {SDX_VARIANTS(DepthwiseInt8Unsigned)};

// How many parts of the output's rows are computed apart.
int64_t PartCount(const ConvShape& s, int threads) {
  const int64_t rows = s.out[0] * s.out[1];
  const int64_t worth = CeilDivide(rows * s.out[2] * s.out_channels * Product(s.kernel), kFewestTaps);
  return threads == 1 ? 1 : std::clamp<int64_t>(worth, 1, std::min(rows, kPartsPerThread * threads));
}

// What a part keeps: a copy for each row of taps, which row of the image each holds, and where each row of taps reads.
struct PartLayout {
  explicit PartLayout(const ConvShape& s) {
    const auto round_up = [](std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; };
    rows = s.kernel[0] * s.kernel[1];
    width = (s.out[2] - 1) * s.stride[2] + s.kernel[2] * s.dilation[2] + 1;
    row_bytes = width * s.in_channels;
    reads = round_up(static_cast<std::size_t>(rows) * sizeof(int64_t));
    copies = reads + round_up(static_cast<std::size_t>(rows) * sizeof(const std::byte*));
    total = copies + round_up(static_cast<std::size_t>(rows * row_bytes) + kOverRead);
  }
  int64_t rows, width, row_bytes;
  std::size_t reads, copies, total;
};

// The rows of the image that the windows of a row of positions read.
class WindowRows {
 public:
  WindowRows(const ConvShape& s, int x_zero, const IntegerConvolution& g, const PartLayout& layout, std::byte* part)
      : s_(s),
        x_(reinterpret_cast<const std::uint8_t*>(g.x)),
        zero_(static_cast<std::uint8_t>(x_zero)),
        tiles_(*g.tiles),
        layout_(layout),
        held_(reinterpret_cast<int64_t*>(part)),
        reads_(reinterpret_cast<const std::byte**>(part + layout.reads)),
        copies_(part + layout.copies) {
    std::fill_n(held_, layout.rows, kNone);
  }

  // For each row of taps.
  const std::byte* const* At(int64_t row) {
    const int64_t d = row / s_.out[1] * s_.stride[0], h = row % s_.out[1] * s_.stride[1];
    for (int64_t i = 0; i < s_.kernel[0]; ++i)
      for (int64_t j = 0; j < s_.kernel[1]; ++j) {
        // Rows that follow each other take turns, so that a copy stays until it is last read.
        const int64_t turn = s_.dilation[1] == 1 ? (h + j) % s_.kernel[1] : j;
        reads_[i * s_.kernel[1] + j] = Hold(i * s_.kernel[1] + turn, d + i * s_.dilation[0] - s_.pad_begin[0],
                                            h + j * s_.dilation[1] - s_.pad_begin[1]);
      }
    return reads_;
  }

 private:
  static constexpr int64_t kNone = -2, kPadding = -1;

  const std::byte* Hold(int64_t copy, int64_t d, int64_t h) {
    const bool inside = d >= 0 && d < s_.in[0] && h >= 0 && h < s_.in[1];
    const int64_t row = inside ? d * s_.in[1] + h : kPadding;
    std::byte* const to = copies_ + copy * layout_.row_bytes;
    if (held_[copy] != row) Fill(row, reinterpret_cast<std::uint8_t*>(to));
    held_[copy] = row;
    return to;
  }

  void Fill(int64_t row, std::uint8_t* to) const {
    const int64_t c = s_.in_channels, lead = std::min(s_.pad_begin[2], layout_.width);
    const int64_t width = row == kPadding ? 0 : std::min(s_.in[2], layout_.width - lead);
    const auto pad = [&](int64_t from, int64_t end) {
      std::memset(to + from * c, zero_, static_cast<std::size_t>((end - from) * c));
    };
    pad(0, lead);
    pad(lead + width, layout_.width);
    if (width == 0) return;
    if (s_.in_layout == ImageLayout::kChannelsLast) {
      std::memcpy(to + lead * c, x_ + row * s_.in[2] * c, static_cast<std::size_t>(width * c));
    } else {
      tiles_.transpose(c, width, x_ + row * s_.in[2], Product(s_.in), to + lead * c, c);
    }
  }

  const ConvShape& s_;
  const std::uint8_t* x_;
  std::uint8_t zero_;
  const TileInt8Set& tiles_;
  const PartLayout& layout_;
  int64_t* held_;
  const std::byte** reads_;
  std::byte* copies_;
};

class Depthwise {
 public:
  Depthwise(const ConvShape& s, bool x_signed, const IntegerConvolution& g)
      : s_(s), g_(g), run_(Best(x_signed ? kSigned : kUnsigned, g.tiles->isa)) {}

  void Row(int64_t row, const std::byte* const* reads) const {
    const int64_t channels = g_.Channels(), width = g_.count[2], size = g_.ResultBytes();
    auto* y = static_cast<std::byte*>(g_.y);
    if (g_.out_layout == ImageLayout::kChannelsLast)
      return Run(reads, 0, width, 0, channels, y + row * width * channels * size, channels);
    for (int64_t column = 0; column < width; column += kBlock)
      for (int64_t c = 0; c < channels; c += kBlock) {
        alignas(64) std::byte block[kBlock * kBlock * 4];
        const int64_t pixels = std::min(kBlock, width - column), count = std::min(kBlock, channels - c);
        Run(reads, column, pixels, c, count, block, kBlock);
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
  void Run(const std::byte* const* reads, int64_t column, int64_t pixels, int64_t c, int64_t count, std::byte* y,
           std::ptrdiff_t y_step) const {
    DepthwiseInt8Args a{};
    a.row_count = s_.kernel[0] * s_.kernel[1], a.columns = s_.kernel[2];
    a.x_step = s_.stride[2] * s_.in_channels, a.column_step = s_.dilation[2] * s_.in_channels;
    a.rows = reads, a.x_offset = column * a.x_step + c;
    a.w = reinterpret_cast<const std::int16_t*>(g_.panels) + DepthwiseInt8Index(a.row_count, a.columns, 0, c);
    a.w_block = DepthwiseInt8BlockValues(a.row_count * a.columns);
    a.pixels = pixels, a.channels = count;
    a.terms = g_.terms + c;
    a.result = g_.result;
    a.scales = g_.scales != nullptr ? g_.scales + c : nullptr;
    a.low = g_.Low(), a.high = g_.High(), a.zero = static_cast<std::uint32_t>(g_.y_zero);
    a.y = y, a.y_step = y_step;
    run_(a);
  }

  const ConvShape& s_;
  const IntegerConvolution& g_;
  DepthwiseInt8Fn* run_;
};

}  // namespace

std::size_t DepthwiseInt8ScratchBytes(const ConvShape& shape, int threads) {
  return static_cast<std::size_t>(PartCount(shape, threads)) * PartLayout(shape).total;
}

void RunDepthwiseInt8(const ConvShape& s, bool x_signed, int x_zero, const IntegerConvolution& g, Parallel& parallel,
                      std::byte* scratch) {
  const int64_t rows = g.count[0] * g.count[1], parts = PartCount(s, parallel.ThreadCount());
  const Depthwise depthwise(s, x_signed, g);
  const PartLayout layout(s);
  parallel.For(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      WindowRows window(s, x_zero, g, layout, scratch + static_cast<std::size_t>(part) * layout.total);
      for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row)
        depthwise.Row(row, window.At(row));
    }
  });
}

}  // namespace sardonyx::kernels
