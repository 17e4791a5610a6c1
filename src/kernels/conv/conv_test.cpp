// kernels/conv/conv_test.cpp - convolutions on every ISA of this CPU, in all layouts, against float64.
#include "kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

using Index3 = std::array<int64_t, 3>;
constexpr auto kFirst = ImageLayout::kChannelsFirst;
constexpr auto kLast = ImageLayout::kChannelsLast;

int64_t Volume(const Index3& v) { return v[0] * v[1] * v[2]; }

struct Case {
  const char* name;
  int64_t batch, in_channels, out_channels, groups;
  Index3 in, kernel;
  Index3 stride = {1, 1, 1}, dilation = {1, 1, 1}, pad_begin = {0, 0, 0}, pad_end = {0, 0, 0};
  Index3 output_padding = {0, 0, 0};
};

ConvShape Shape(const Case& c, bool transposed) {
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
int64_t At(ImageLayout layout, int64_t channels, int64_t pixels, int64_t n, int64_t c, int64_t pixel) {
  return layout == kFirst ? (n * channels + c) * pixels + pixel : (n * pixels + pixel) * channels + c;
}

struct Sums {
  std::vector<double> sum, magnitude;  // channels first
};

// Walks all (input, tap, output) triples of both kinds of convolution; channels first.
Sums Reference(const ConvShape& s, bool transposed, const std::vector<float>& x, const std::vector<float>& w) {
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

std::vector<float> InLayout(const std::vector<float>& first, ImageLayout layout, int64_t batch, int64_t channels,
                            int64_t pixels) {
  std::vector<float> moved(first.size());
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < pixels; ++p)
        moved[At(layout, channels, pixels, n, c, p)] = first[At(kFirst, channels, pixels, n, c, p)];
  return moved;
}

enum class Extras { kNone, kAll, kResidualIsY };

// NOLINTNEXTLINE(readability-function-size): everything that varies between runs
std::vector<float> Convolve(ConvShape s, bool transposed, const std::vector<float>& x, const std::vector<float>& w,
                            const std::vector<float>& residual, const Epilogue& epilogue, Extras extras,
                            const TileF32Set& set, Parallel& parallel) {
  Scratch packed((transposed ? ConvTransposeF32PackedCount(s, &set) : ConvF32PackedCount(s, &set)) * sizeof(float));
  Scratch scratch(transposed ? ConvTransposeF32ScratchBytes(s, parallel.ThreadCount(), &set)
                             : ConvF32ScratchBytes(s, parallel.ThreadCount(), &set));
  const auto in = InLayout(x, s.in_layout, s.batch, s.in_channels, Volume(s.in));
  const auto added = InLayout(residual, s.out_layout, s.batch, s.out_channels, Volume(s.out));
  std::vector<float> y(added.size(), std::nanf(""));
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
  return y;
}

void Check(const Case& c, bool transposed) {
  ConvShape s = Shape(c, transposed);
  const int64_t taps = Volume(s.kernel), pixels = Volume(s.out);
  const auto x = Random(static_cast<std::size_t>(s.batch * s.in_channels * Volume(s.in)), 1);
  const auto w = Random(static_cast<std::size_t>(s.in_channels / s.groups * s.out_channels * taps), 2);
  const auto bias = Random(static_cast<std::size_t>(s.out_channels), 3);
  const auto residual = Random(static_cast<std::size_t>(s.batch * s.out_channels * pixels), 4);
  const Sums want = Reference(s, transposed, x, w);
  Serial serial;
  ThreeInTurn threads;
  int run = 0;
  for (const TileF32Set* set : Sets())
    for (const ImageLayout in : {kFirst, kLast})
      for (const ImageLayout out : {kFirst, kLast})
        for (const Extras extras : {Extras::kNone, Extras::kAll, Extras::kResidualIsY}) {
          SCOPED_TRACE(std::string(c.name) + (transposed ? " transposed " : " ") + std::string(Name(set->isa)) +
                       (in == kFirst ? " first" : " last") + (out == kFirst ? " to first" : " to last") + " extras " +
                       std::to_string(static_cast<int>(extras)));
          s.in_layout = in, s.out_layout = out;
          Epilogue e;
          if (extras != Extras::kNone) {
            e.alpha = 0.5f, e.bias_scale = 2, e.bias_n = bias.data(), e.beta = -1;
            e.activation.kind = extras == Extras::kAll ? ActivationKind::kRelu : ActivationKind::kTanh;
          }
          Parallel& parallel = run++ % 2 == 0 ? static_cast<Parallel&>(serial) : threads;
          const auto y = Convolve(s, transposed, x, w, residual, e, extras, *set, parallel);
          for (int64_t i = 0; i < s.batch * s.out_channels * pixels; ++i) {
            const int64_t n = i / (s.out_channels * pixels), channel = i / pixels % s.out_channels;
            double value = want.sum[i], extra = 0;
            if (extras != Extras::kNone) {
              value = 0.5 * value + 2.0 * bias[channel] - residual[i];
              extra = 2 * std::abs(bias[channel]) + std::abs(residual[i]);
            }
            const int64_t per_sum = taps * (s.in_channels / s.groups);
            const auto terms = static_cast<double>(per_sum);
            const double bound = (2 * terms * want.magnitude[i] + 8 * (extra + want.magnitude[i])) * 0x1p-24 + 4e-7;
            ASSERT_NEAR(y[At(out, s.out_channels, pixels, n, channel, i % pixels)], Activated(value, e.activation),
                        bound)
                << "element " << i;
          }
        }
}

constexpr Case kCases[] = {
    {"pointwise", 2, 19, 33, 1, {1, 5, 7}, {1, 1, 1}},
    {"pointwise, strided", 2, 8, 40, 1, {1, 7, 9}, {1, 1, 1}, {1, 2, 2}},
    {"pointwise, padded", 1, 5, 6, 1, {1, 4, 4}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 2}},
    {"pointwise, many channels", 2, 1024, 5, 1, {1, 3, 5}, {1, 1, 1}},
    {"pointwise, many channels, strided", 1, 512, 5, 1, {1, 3, 17}, {1, 1, 1}, {1, 1, 2}},
    {"pointwise, groups", 2, 12, 8, 4, {1, 5, 5}, {1, 1, 1}},
    {"3x3", 2, 17, 33, 1, {1, 9, 15}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"3x3 at 7x7", 1, 16, 48, 1, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"3x3 without pads", 1, 4, 5, 1, {1, 6, 20}, {1, 3, 3}},
    {"3x3 of stride 2", 2, 6, 32, 1, {1, 11, 12}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0}, {0, 1, 1}},
    {"3x3 dilated", 1, 6, 20, 1, {1, 12, 13}, {1, 3, 3}, {1, 1, 1}, {1, 2, 3}, {0, 2, 3}, {0, 2, 3}},
    {"7x7 stem", 1, 3, 64, 1, {1, 30, 31}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}},
    {"groups", 2, 12, 20, 4, {1, 6, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"1-D", 2, 8, 24, 1, {1, 1, 300}, {1, 1, 5}, {1, 1, 2}, {1, 1, 1}, {0, 0, 2}, {0, 0, 2}},
    {"a column", 1, 8, 24, 1, {1, 70, 1}, {1, 3, 1}, {1, 1, 1}, {1, 2, 1}, {0, 1, 0}, {0, 1, 0}},
    {"3-D", 1, 5, 10, 1, {4, 5, 6}, {3, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}},
    {"only padding is read", 1, 3, 4, 1, {1, 2, 2}, {1, 2, 2}, {1, 4, 4}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}},
    {"one channel", 1, 1, 1, 1, {1, 9, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"one channel to many", 1, 1, 18, 1, {1, 9, 40}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"depthwise 3x3", 2, 37, 37, 37, {1, 8, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"depthwise of stride 2", 1, 130, 130, 130, {1, 9, 10}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0}, {0, 1, 1}},
    {"depthwise dilated", 1, 5, 5, 5, {1, 20, 22}, {1, 3, 3}, {1, 1, 3}, {1, 2, 2}, {0, 2, 2}, {0, 2, 2}},
    {"depthwise 9x9", 1, 7, 7, 7, {1, 12, 12}, {1, 9, 9}, {1, 1, 1}, {1, 1, 1}, {0, 4, 4}, {0, 4, 4}},
    {"depthwise with multiplier", 2, 6, 18, 6, {1, 7, 7}, {1, 3, 3}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"depthwise 1-D", 1, 6, 6, 6, {1, 1, 5000}, {1, 1, 4}, {1, 1, 1}, {1, 1, 1}, {0, 0, 3}, {0, 0, 0}},
    {"depthwise 3-D", 1, 4, 4, 4, {5, 6, 7}, {3, 3, 3}, {2, 1, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {"depthwise 1x1", 2, 9, 9, 9, {1, 4, 5}, {1, 1, 1}},
};

TEST(ConvF32, EveryWayInEveryLayoutOnEveryIsa) {
  for (const Case& c : kCases) Check(c, false);
}

constexpr Case kTransposedCases[] = {
    {"2x2 of stride 2", 2, 17, 33, 1, {1, 5, 7}, {1, 2, 2}, {1, 2, 2}},
    {"4x4 of stride 2", 1, 8, 20, 1, {1, 5, 6}, {1, 4, 4}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"3x3 with output padding",
     1,
     4,
     5,
     1,
     {1, 5, 5},
     {1, 3, 3},
     {1, 2, 2},
     {1, 1, 1},
     {0, 1, 1},
     {0, 1, 1},
     {0, 1, 1}},
    {"3x3 of stride 1", 1, 6, 7, 1, {1, 6, 20}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"stride above kernel", 1, 3, 4, 1, {1, 4, 4}, {1, 2, 2}, {1, 3, 3}},
    {"dilated", 1, 3, 4, 1, {1, 4, 5}, {1, 3, 3}, {1, 2, 3}, {1, 2, 2}, {0, 1, 2}, {0, 0, 1}},
    {"groups", 1, 6, 9, 3, {1, 4, 5}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"1-D", 2, 5, 6, 1, {1, 1, 90}, {1, 1, 16}, {1, 1, 8}, {1, 1, 1}, {0, 0, 4}, {0, 0, 4}},
    {"3-D", 1, 3, 4, 1, {3, 4, 3}, {2, 3, 3}, {2, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"wide pads", 1, 3, 4, 1, {1, 5, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 3, 3}, {0, 2, 2}},
};

TEST(ConvTransposeF32, EveryWayInEveryLayoutOnEveryIsa) {
  for (const Case& c : kTransposedCases) Check(c, true);
}

TEST(ConvF32, BitsDoNotDependOnThreads) {
  Serial serial;
  ThreeInTurn threads;
  ConvShape s = Shape({"", 1, 40, 70, 1, {1, 40, 40}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, false);
  const auto x = Random(64000, 1), w = Random(25200, 2), residual = Random(112000, 3);
  for (const TileF32Set* set : Sets())
    for (const ImageLayout layout : {kFirst, kLast}) {
      s.in_layout = s.out_layout = layout;
      EXPECT_EQ(Convolve(s, false, x, w, residual, {}, Extras::kAll, *set, serial),
                Convolve(s, false, x, w, residual, {}, Extras::kAll, *set, threads));
    }
}

}  // namespace
}  // namespace sardonyx::kernels
