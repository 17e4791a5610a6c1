// kernels/conv/conv_int8_image.cpp - copies images for 8-bit convolutions, row after row.
#include "kernels/conv/conv_int8_image.h"

#include <algorithm>
#include <cstring>

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr std::size_t kOverRead = 64;  // bytes that a group may lie beyond the image
constexpr int64_t kFillBlock = 64;     // pixels and channels transposed at a time

bool IsFirst(ImageLayout layout) { return layout == ImageLayout::kChannelsFirst; }

class ImageFiller {
 public:
  ImageFiller(const ConvInt8Args& args, const ConvShape& s, const ConvInt8Image& input, const TileInt8Set& t)
      : args_(args), s_(s), input_(input), t_(t), shift_(t.AShift(args.x_signed)) {}

  void Run(const std::uint8_t* x, std::byte* image, Parallel& parallel) const {
    const int64_t rows = input_.size[0] * input_.size[1];
    const int64_t row_bytes = input_.size[2] * input_.channels * input_.value_bytes;
    parallel.For(rows, std::max<int64_t>(1, 32768 / row_bytes), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) FillRow(x, row, image + row * row_bytes);
    });
  }

 private:
  void FillRow(const std::uint8_t* x, int64_t row, std::byte* out) const {
    const int64_t c = input_.channels, pixel = c * input_.value_bytes;
    const int64_t d = row / input_.size[1] - input_.lead[0], h = row % input_.size[1] - input_.lead[1];
    const int64_t width = std::clamp<int64_t>(input_.size[2] - input_.lead[2], 0, s_.in[2]);
    if (d < 0 || d >= s_.in[0] || h < 0 || h >= s_.in[1] || width == 0) return Pad(out, input_.size[2] * c);
    const int64_t lead = input_.lead[2], first = (d * s_.in[1] + h) * s_.in[2];
    Pad(out, lead * c);
    Pad(out + (lead + width) * pixel, (input_.size[2] - lead - width) * c);
    if (IsFirst(s_.in_layout)) return FillFirst(x + first, width, out + lead * pixel);
    t_.pack_row(x + first * c, width * c, args_.x_signed, out + lead * pixel);
  }

  void Pad(std::byte* out, int64_t values) const {
    const int value = args_.x_zero + shift_;
    if (t_.bytes) {
      std::memset(out, value, static_cast<std::size_t>(values));
    } else {
      std::fill_n(reinterpret_cast<std::int16_t*>(out), values, static_cast<std::int16_t>(value));
    }
  }

  // A row of a channels-first image: blocks are transposed as they are, then become A'.
  void FillFirst(const std::uint8_t* x, int64_t width, std::byte* out) const {
    const int64_t c = input_.channels, plane = Product(s_.in);
    if (t_.bytes && !args_.x_signed) return t_.transpose(c, width, x, plane, reinterpret_cast<std::uint8_t*>(out), c);
    std::uint8_t block[kFillBlock * kFillBlock];
    if (c <= kFillBlock) {  // whole pixels follow each other in a block, too
      const int64_t most = kFillBlock * kFillBlock / c;
      for (int64_t w = 0; w < width; w += most) {
        const int64_t pixels = std::min(most, width - w);
        t_.transpose(c, pixels, x + w, plane, block, c);
        t_.pack_row(block, pixels * c, args_.x_signed, out + w * c * input_.value_bytes);
      }
      return;
    }
    for (int64_t w = 0; w < width; w += kFillBlock)
      for (int64_t first = 0; first < c; first += kFillBlock) {
        const int64_t pixels = std::min(kFillBlock, width - w), count = std::min(kFillBlock, c - first);
        t_.transpose(count, pixels, x + first * plane + w, plane, block, kFillBlock);
        for (int64_t p = 0; p < pixels; ++p)
          t_.pack_row(block + p * kFillBlock, count, args_.x_signed, out + ((w + p) * c + first) * input_.value_bytes);
      }
  }

  const ConvInt8Args& args_;
  const ConvShape& s_;
  const ConvInt8Image& input_;
  const TileInt8Set& t_;
  int shift_;
};

}  // namespace

ConvInt8Image::ConvInt8Image(const ConvInt8Args& args, const ConvShape& s, Reader reader, int64_t run,
                             const TileInt8Set& t) {
  for (int i = 0; i < 3; ++i) size[i] = (s.out[i] - 1) * s.stride[i] + (s.kernel[i] - 1) * s.dilation[i] + 1;
  lead = s.pad_begin;
  channels = s.in_channels;
  value_bytes = t.ValueBytes();
  if (reader == Reader::kDepthwise) {  // copies rows itself
    in_place = true;
    return;
  }
  if (reader == Reader::kClipping) {  // takes the image as it is
    in_place = !IsFirst(s.in_layout);
    size = s.in, lead = {0, 0, 0};
    return;
  }
  in_place = t.bytes && !args.x_signed && !IsFirst(s.in_layout) && s.pad_begin == Index3{0, 0, 0} &&
             size[0] <= s.in[0] && size[1] <= s.in[1] && size[2] <= s.in[2] && run % t.GroupValues() == 0;
  if (in_place) size = s.in;
}

std::size_t ConvInt8Image::Bytes() const {
  if (in_place) return 0;
  return (static_cast<std::size_t>(Product(size) * channels * value_bytes) + kOverRead + 63) & ~std::size_t{63};
}

void ConvInt8Image::Fill(const ConvInt8Args& args, const ConvShape& s, const TileInt8Set& t, const std::uint8_t* x,
                         std::byte* copy, Parallel& parallel) const {
  ImageFiller(args, s, *this, t).Run(x, copy, parallel);
}

}  // namespace sardonyx::kernels
