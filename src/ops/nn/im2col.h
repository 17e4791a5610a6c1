// ops/nn/im2col.h - the columns of a convolution: lays out patches of the input as a matrix, and adds columns back into
// an image.
#pragma once

#include <cstdint>

#include "base/parallel.h"
#include "ops/shapes/window.h"

namespace sardonyx::ops {

// cols [channels * kD * kH * kW, oD * oH * oW] of x [channels, D, H, W]; `outside` where a patch reaches out of x.
template <typename T>
void Im2Col(const Window3& w, const T* x, std::int64_t channels, T outside, T* cols, Parallel& parallel) {
  // No structured binding: clang 14 lets no lambda capture one.
  const auto &in = w.in, &out = w.out, &kernel = w.kernel, &stride = w.stride, &dilation = w.dilation,
             &pad = w.pad_begin;
  const std::int64_t taps = kernel[0] * kernel[1] * kernel[2];
  parallel.For(channels * taps, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* plane = x + row / taps * in[0] * in[1] * in[2];
      const std::int64_t tap = row % taps;
      const std::int64_t kd = tap / (kernel[1] * kernel[2]), kh = tap / kernel[2] % kernel[1], kw = tap % kernel[2];
      T* to = cols + row * out[0] * out[1] * out[2];
      for (std::int64_t od = 0; od < out[0]; ++od) {
        const std::int64_t d = od * stride[0] - pad[0] + kd * dilation[0];
        for (std::int64_t oh = 0; oh < out[1]; ++oh) {
          const std::int64_t h = oh * stride[1] - pad[1] + kh * dilation[1];
          const bool inside = d >= 0 && d < in[0] && h >= 0 && h < in[1];
          const T* from = plane + (inside ? (d * in[1] + h) * in[2] : 0);
          for (std::int64_t ow = 0; ow < out[2]; ++ow) {
            const std::int64_t at = ow * stride[2] - pad[2] + kw * dilation[2];
            *to++ = inside && at >= 0 && at < in[2] ? from[at] : outside;
          }
        }
      }
    }
  });
}

// Adds cols [channels * taps, in...] of a transposed convolution to y [channels, out...]; `w` as the transposed
// convolution has it: `in` is the size the columns have, `out` that of y.
template <typename T>
void Col2Im(const Window3& w, const T* cols, std::int64_t channels, T* y, Parallel& parallel) {
  // No structured binding: clang 14 lets no lambda capture one.
  const auto &in = w.in, &out = w.out, &kernel = w.kernel, &stride = w.stride, &dilation = w.dilation,
             &pad = w.pad_begin;
  const std::int64_t taps = kernel[0] * kernel[1] * kernel[2], pixels = in[0] * in[1] * in[2];
  parallel.For(channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin * taps; row < end * taps; ++row) {
      T* plane = y + row / taps * out[0] * out[1] * out[2];
      const std::int64_t tap = row % taps;
      const std::int64_t kd = tap / (kernel[1] * kernel[2]), kh = tap / kernel[2] % kernel[1], kw = tap % kernel[2];
      const T* from = cols + row * pixels;
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const std::int64_t d = pixel / (in[1] * in[2]) * stride[0] - pad[0] + kd * dilation[0];
        const std::int64_t h = pixel / in[2] % in[1] * stride[1] - pad[1] + kh * dilation[1];
        const std::int64_t x = pixel % in[2] * stride[2] - pad[2] + kw * dilation[2];
        if (d < 0 || d >= out[0] || h < 0 || h >= out[1] || x < 0 || x >= out[2]) continue;
        plane[(d * out[1] + h) * out[2] + x] += from[pixel];
      }
    }
  });
}

}  // namespace sardonyx::ops
