// kernels/pool/pool_last.h - the loops of channels-last pooling: which input pixels each output pixel is made of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/pool/pool_shape.h"

namespace sardonyx::kernels {

// Pointers to some of the pixels of a window.
template <typename T>
struct PoolWindow {
  static constexpr std::int64_t kMost = 64;
  const T* pixels[kMost];
  std::int64_t count = 0;
  bool more = false;  // not the first of the window
};

// x [batch, in..., channels], y [batch, out..., channels].
template <typename T>
struct PoolImages {
  const PoolShape& shape;
  std::int64_t batch, channels;
  const T* x;
  T* y;
};

// A row of output pixels: of the image at x, at (depth, height), written to y.
template <typename T>
struct PoolLastRow {
  const T* x;
  std::int64_t depth, height;
  T* y;
};

// `add(window, ow, y, last)` gets the window of each pixel of the row in pieces of at most kMost taps; the last piece
// has none if the window is empty.
template <typename T, typename Add>
void ForPoolPixels(const PoolShape& p, std::int64_t channels, const PoolLastRow<T>& row, const Add& add) {
  const PoolTapRange depth(p, 0, row.depth), height(p, 1, row.height);
  const std::int64_t in_pixel = p.in_pixel != 0 ? p.in_pixel : channels, step = p.dilation[2] * in_pixel;
  T* y = row.y;
  for (std::int64_t ow = 0; ow < p.out[2]; ++ow, y += p.out_pixel != 0 ? p.out_pixel : channels) {
    const PoolTapRange width(p, 2, ow);
    PoolWindow<T> window;
    for (std::int64_t kd = depth.first; kd < depth.last; ++kd)
      for (std::int64_t kh = height.first; kh < height.last; ++kh) {
        const std::int64_t d = depth.input + kd * p.dilation[0], h = height.input + kh * p.dilation[1];
        const T* pixel = row.x + ((d * p.in[1] + h) * p.in[2] + width.input + width.first * p.dilation[2]) * in_pixel;
        for (std::int64_t kw = width.first; kw < width.last; ++kw, pixel += step) {
          if (window.count == PoolWindow<T>::kMost) {
            add(window, ow, y, false);
            window.count = 0;
            window.more = true;
          }
          window.pixels[window.count++] = pixel;
        }
      }
    add(window, ow, y, true);
  }
}

// All rows of y. A thread takes rows of about `work` taps of a channel at once.
template <typename T, typename Run>
void ForPoolRows(const PoolImages<T>& images, std::int64_t work, Parallel& parallel, const Run& run) {
  const PoolShape& p = images.shape;
  const std::int64_t image_rows = p.out[0] * p.out[1];
  const std::int64_t image = p.in[0] * p.in[1] * p.in[2] * (p.in_pixel != 0 ? p.in_pixel : images.channels);
  const std::int64_t row_elements = p.out[2] * (p.out_pixel != 0 ? p.out_pixel : images.channels);
  const std::int64_t row_work = p.out[2] * images.channels * PoolTapsInImage(p);
  const std::int64_t grain = std::max<std::int64_t>(1, work / std::max<std::int64_t>(row_work, 1));
  parallel.For(images.batch * image_rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      run(PoolLastRow<T>{images.x + i / image_rows * image, i % image_rows / p.out[1], i % p.out[1],
                         images.y + i * row_elements});
  });
}

}  // namespace sardonyx::kernels
