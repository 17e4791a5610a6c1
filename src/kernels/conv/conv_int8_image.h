// kernels/conv/conv_int8_image.h - how an 8-bit convolution reads its input: in place, or from a copy as A'
// (tile_int8.h) with a border of x_zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv_int8_args.h"
#include "kernels/conv/implicit_gemm.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {

struct ConvInt8Image {
  enum class Reader : std::uint8_t { kTiles, kClipping, kDepthwise };
  // s: the shape as it is computed; run: values that are read one after the other.
  ConvInt8Image(const ConvInt8Args& args, const ConvShape& s, Reader reader, std::int64_t run, const TileInt8Set& t);
  Index3 Pitch() const {  // bytes
    const std::int64_t pixel = channels * value_bytes;
    return {size[1] * size[2] * pixel, size[2] * pixel, pixel};
  }
  std::size_t Bytes() const;
  // Makes the copy of the image x; not where it is read in place.
  void Fill(const ConvInt8Args& args, const ConvShape& s, const TileInt8Set& t, const std::uint8_t* x, std::byte* copy,
            Parallel& parallel) const;

  Index3 size, lead;
  bool in_place;
  std::int64_t channels, value_bytes;
};

}  // namespace sardonyx::kernels
