// kernels/conv/conv_test.h - what the tests of convolutions share: cases, a float64 reference, a run in any layout.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {

using Index3 = std::array<int64_t, 3>;
inline constexpr auto kFirst = ImageLayout::kChannelsFirst;
inline constexpr auto kLast = ImageLayout::kChannelsLast;

inline int64_t Volume(const Index3& v) { return v[0] * v[1] * v[2]; }

struct Case {
  const char* name;
  int64_t batch, in_channels, out_channels, groups;
  Index3 in, kernel;
  Index3 stride = {1, 1, 1}, dilation = {1, 1, 1}, pad_begin = {0, 0, 0}, pad_end = {0, 0, 0};
  Index3 output_padding = {0, 0, 0};
};

inline ConvShape Shape(const Case& c, bool transposed) {
  ConvShape s;
  s.batch = c.batch, s.in_channels = c.in_channels, s.out_channels = c.out_channels, s.groups = c.groups;
  s.in = c.in, s.kernel = c.kernel, s.stride = c.stride, s.dilation = c.dilation, s.pad_begin = c.pad_begin;
  for (int i = 0; i < 3; ++i) {
    const int64_t reach = c.dilation[i] * (c.kernel[i] - 1);
    s.out[i] = transposed
                   ? c.stride[i] * (c.in[i] - 1) + c.output_padding[i] + reach + 1 - c.pad_begin[i] - c.pad_end[i]
                   : (c.in[i] + c.pad_begin[i] + c.pad_end[i] - reach - 1) / c.stride[i] + 1;
  }
  return s;
}

// Index of (n, c, pixel) in a layout.
inline int64_t At(ImageLayout layout, int64_t channels, int64_t pixels, int64_t n, int64_t c, int64_t pixel) {
  return layout == kFirst ? (n * channels + c) * pixels + pixel : (n * pixels + pixel) * channels + c;
}

struct Sums {
  std::vector<double> sum, magnitude;  // channels first
};

// Walks all (input, tap, output) triples of both kinds of convolution; channels first.
inline Sums Reference(const ConvShape& s, bool transposed, const std::vector<float>& x, const std::vector<float>& w) {
  const int64_t pixels = Volume(s.out), taps = Volume(s.kernel), ci = s.in_channels / s.groups,
                co = s.out_channels / s.groups;
  Sums r{std::vector<double>(static_cast<std::size_t>(s.batch * s.out_channels * pixels)), {}};
  r.magnitude = r.sum;
  // Positions (a, b, tap) of the strided grid: a = stride * b + dilation * tap - pad; Conv reads a, its transpose
  // writes a.
  const Index3 coarse = transposed ? s.in : s.out, fine = transposed ? s.out : s.in;
  for (int64_t b = 0; b < Volume(coarse); ++b)
    for (int64_t t = 0; t < taps; ++t) {
      const Index3 pb = {b / (coarse[1] * coarse[2]), b / coarse[2] % coarse[1], b % coarse[2]};
      const Index3 pt = {t / (s.kernel[1] * s.kernel[2]), t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
      Index3 pa;
      bool inside = true;
      for (int i = 0; i < 3; ++i) {
        pa[i] = s.stride[i] * pb[i] + s.dilation[i] * pt[i] - s.pad_begin[i];
        inside = inside && pa[i] >= 0 && pa[i] < fine[i];
      }
      if (!inside) continue;
      const int64_t a = (pa[0] * fine[1] + pa[1]) * fine[2] + pa[2], in = transposed ? b : a, out = transposed ? a : b;
      for (int64_t n = 0; n < s.batch; ++n)
        for (int64_t g = 0; g < s.groups; ++g)
          for (int64_t i = 0; i < ci; ++i)
            for (int64_t o = 0; o < co; ++o) {
              const int64_t weight =
                  transposed ? ((g * ci + i) * co + o) * taps + t : ((g * co + o) * ci + i) * taps + t;
              const double term =
                  static_cast<double>(w[weight]) * x[At(kFirst, s.in_channels, Volume(s.in), n, g * ci + i, in)];
              const int64_t y = At(kFirst, s.out_channels, pixels, n, g * co + o, out);
              r.sum[y] += term;
              r.magnitude[y] += std::abs(term);
            }
    }
  return r;
}

inline std::vector<float> InLayout(const std::vector<float>& first, ImageLayout layout, int64_t batch, int64_t channels,
                                   int64_t pixels) {
  std::vector<float> moved(first.size());
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < pixels; ++p)
        moved[At(layout, channels, pixels, n, c, p)] = first[At(kFirst, channels, pixels, n, c, p)];
  return moved;
}

// Pixels of `channels` as the first part of pixels of `pixel` floats, the rest NaN; and back.
inline std::vector<float> Widened(const std::vector<float>& image, int64_t channels, int64_t pixel) {
  std::vector<float> wide(image.size() / static_cast<std::size_t>(channels) * static_cast<std::size_t>(pixel),
                          std::nanf(""));
  for (std::size_t i = 0; i < image.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    wide[static_cast<std::size_t>(at / channels * pixel + at % channels)] = image[i];
  }
  return wide;
}
inline std::vector<float> Narrowed(const std::vector<float>& wide, int64_t channels, int64_t pixel) {
  std::vector<float> image;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (static_cast<int64_t>(i) % pixel < channels)
      image.push_back(wide[i]);
    else
      EXPECT_TRUE(std::isnan(wide[i])) << "written beside the channels, at " << i;
  }
  return image;
}

enum class Extras { kNone, kAll, kResidualIsY };

// NOLINTNEXTLINE(readability-function-size): everything that varies between runs
inline std::vector<float> Convolve(ConvShape s, bool transposed, const std::vector<float>& x,
                                   const std::vector<float>& w, const std::vector<float>& residual,
                                   const Epilogue& epilogue, Extras extras, const TileF32Set& set, Parallel& parallel) {
  Scratch packed((transposed ? ConvTransposeF32PackedCount(s, &set) : ConvF32PackedCount(s, &set)) * sizeof(float));
  Scratch scratch(transposed ? ConvTransposeF32ScratchBytes(s, parallel.ThreadCount(), &set)
                             : ConvF32ScratchBytes(s, parallel.ThreadCount(), &set));
  const auto in = Widened(InLayout(x, s.in_layout, s.batch, s.in_channels, Volume(s.in)), s.in_channels, s.InPixel());
  const auto dense = InLayout(residual, s.out_layout, s.batch, s.out_channels, Volume(s.out));
  if (extras == Extras::kResidualIsY) s.residual_pixel = s.out_pixel;
  const auto added = Widened(dense, s.out_channels, s.ResidualPixel());
  std::vector<float> y(dense.size() / static_cast<std::size_t>(s.out_channels) * static_cast<std::size_t>(s.OutPixel()),
                       std::nanf(""));
  if (extras == Extras::kResidualIsY) y = added;
  ConvF32Args args;
  args.shape = s;
  args.x = in.data(), args.y = y.data(), args.tiles = &set;
  args.epilogue = epilogue;
  if (extras != Extras::kNone) args.epilogue.residual = extras == Extras::kAll ? added.data() : y.data();
  auto* weights = reinterpret_cast<float*>(packed.data());
  (transposed ? PackConvTransposeF32Weights : PackConvF32Weights)(s, w.data(), weights, parallel, &set);
  args.packed_weights = weights;
  (transposed ? ConvTransposeF32 : ConvF32)(args, parallel, scratch.data());
  return Narrowed(y, s.out_channels, s.OutPixel());
}

}  // namespace sardonyx::kernels
