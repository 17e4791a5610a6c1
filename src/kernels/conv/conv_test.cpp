// kernels/conv/conv_test.cpp - convolutions on every ISA of this CPU, in all layouts, against float64.
#include "kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/small_float.h"
#include "kernels/conv/conv_test.h"
#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

// wide: images are parts of wider ones, in layouts that are both channels last.
void Check(const Case& c, bool transposed, bool wide = false) {
  ConvShape s = Shape(c, transposed);
  if (wide) s.in_pixel = s.in_channels + 3, s.out_pixel = s.out_channels + 5, s.residual_pixel = s.out_channels + 1;
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
          if (wide && (in == kFirst || out == kFirst)) continue;
          SCOPED_TRACE(std::string(c.name) + (transposed ? " transposed " : " ") + std::string(Name(set->isa)) +
                       (in == kFirst ? " first" : " last") + (out == kFirst ? " to first" : " to last") + " extras " +
                       std::to_string(static_cast<int>(extras)));
          s.in_layout = in, s.out_layout = out;
          Epilogue e;
          if (extras != Extras::kNone) {
            e.alpha = 0.5f, e.bias_scale = 2, e.bias_n = bias.data(), e.beta = -1;
            e.activation.kind = extras == Extras::kAll ? UnaryKind::kRelu : UnaryKind::kTanh;
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
    {"pointwise on one pixel", 1, 70, 45, 1, {1, 1, 1}, {1, 1, 1}},
    {"pointwise on few pixels", 3, 40, 33, 1, {1, 1, 2}, {1, 1, 1}},
    {"pointwise to one channel on few pixels", 1, 128, 1, 1, {1, 1, 3}, {1, 1, 1}},
    {"pointwise, a panel and two columns, on few pixels", 1, 128, 34, 1, {1, 1, 3}, {1, 1, 1}},
    {"pointwise, groups", 2, 12, 8, 4, {1, 5, 5}, {1, 1, 1}},
    {"3x3", 2, 17, 33, 1, {1, 9, 15}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"3x3 at 7x7", 1, 16, 48, 1, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"3x3 without pads", 1, 4, 5, 1, {1, 6, 20}, {1, 3, 3}},
    {"3x3 of stride 2", 2, 6, 32, 1, {1, 11, 12}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0}, {0, 1, 1}},
    {"3x3 dilated", 1, 6, 20, 1, {1, 12, 13}, {1, 3, 3}, {1, 1, 1}, {1, 2, 3}, {0, 2, 3}, {0, 2, 3}},
    {"3x3 dilated as wide as the image",
     1,
     5,
     20,
     1,
     {1, 16, 18},
     {1, 3, 3},
     {1, 1, 1},
     {1, 9, 12},
     {0, 9, 12},
     {0, 9, 12}},
    {"3x3 dilated beyond the image",
     2,
     5,
     33,
     1,
     {1, 6, 8},
     {1, 3, 3},
     {1, 1, 1},
     {1, 12, 12},
     {0, 12, 12},
     {0, 12, 12}},
    {"4x3 dilated beyond the image, strided, uneven pads",
     2,
     72,
     20,
     1,
     {1, 6, 5},
     {1, 4, 3},
     {1, 2, 3},
     {1, 7, 11},
     {0, 9, 13},
     {0, 17, 12}},
    {"3x3 dilated, strided, groups", 1, 8, 12, 2, {1, 20, 21}, {1, 3, 3}, {1, 2, 2}, {1, 7, 6}, {0, 7, 6}, {0, 7, 6}},
    {"wide pads", 1, 4, 5, 1, {1, 3, 3}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 5, 6}, {0, 5, 6}},
    {"7x7 stem", 1, 3, 64, 1, {1, 30, 31}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}},
    {"groups", 2, 12, 20, 4, {1, 6, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"many narrow groups", 1, 64, 64, 16, {1, 9, 10}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"narrow groups, uneven", 2, 24, 12, 4, {1, 6, 17}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups of eight", 1, 48, 48, 6, {1, 40, 31}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups of eight, batch", 3, 40, 40, 5, {1, 13, 13}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups of eight, narrow image", 2, 32, 32, 4, {1, 5, 1}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups of eight, two columns", 1, 24, 24, 3, {1, 9, 2}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups of eight at 7x7", 1, 72, 72, 9, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups of eight, 17 columns, no pads", 1, 16, 16, 2, {1, 6, 19}, {1, 3, 3}},
    {"groups of eight, strided, pad behind", 1, 16, 16, 2, {1, 8, 18}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {}, {0, 1, 1}},
    {"groups of eight, wide pads", 1, 16, 16, 2, {1, 3, 4}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 4, 2}, {0, 4, 2}},
    {"groups of eight, pads above", 1, 16, 16, 2, {1, 3, 14}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 5, 1}, {0, 4, 1}},
    {"groups of eight, five rows", 1, 24, 24, 3, {1, 11, 29}, {1, 5, 3}, {1, 3, 1}, {1, 1, 1}, {0, 2, 1}, {0, 2, 1}},
    {"groups of seven and six", 2, 21, 18, 3, {1, 10, 25}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups of many to eight", 1, 192, 24, 3, {1, 6, 13}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups of eight, 1-D", 2, 24, 24, 3, {1, 1, 50}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}},
    {"groups of eight, dilated", 1, 16, 16, 2, {1, 9, 20}, {1, 3, 3}, {1, 1, 1}, {1, 1, 2}, {0, 1, 2}, {0, 1, 2}},
    {"1-D", 2, 8, 24, 1, {1, 1, 300}, {1, 1, 5}, {1, 1, 2}, {1, 1, 1}, {0, 0, 2}, {0, 0, 2}},
    {"a column", 1, 8, 24, 1, {1, 70, 1}, {1, 3, 1}, {1, 1, 1}, {1, 2, 1}, {0, 1, 0}, {0, 1, 0}},
    {"3-D", 1, 5, 10, 1, {4, 5, 6}, {3, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}},
    {"3-D, dilated and padded", 1, 3, 10, 1, {4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {3, 2, 4}, {3, 2, 4}, {3, 2, 4}},
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

TEST(ConvF32, PartsOfWiderImages) {
  for (const Case& c : kCases) Check(c, false, true);
  // A pixel of 4 KB: alone it would be copied.
  Check({"512 of 1024 channels", 1, 1021, 9, 1, {1, 3, 12}, {1, 1, 1}}, false, true);
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
    {"stride far above the outputs",  // the second tap of the second pixel falls on the third one
     1,
     3,
     4,
     1,
     {1, 1, 4},
     {1, 1, 3},
     {1, 1, 1'000'000'007},
     {1, 1, 700'000'001},
     {0, 0, 1'700'000'006},
     {0, 0, 2'700'000'012}},
    {"as many phases as taps", 1, 3, 4, 1, {1, 1, 3}, {1, 2, 3000}, {1, 2, 3000}},
    {"dilated", 1, 3, 4, 1, {1, 4, 5}, {1, 3, 3}, {1, 2, 3}, {1, 2, 2}, {0, 1, 2}, {0, 0, 1}},
    {"strides and dilations of one factor",
     1,
     3,
     4,
     1,
     {1, 3, 9},
     {1, 5, 7},
     {1, 9, 6},
     {1, 6, 4},
     {0, 1, 2},
     {0, 0, 1}},
    {"strides and dilations of no factor",
     1,
     3,
     4,
     1,
     {1, 3, 9},
     {1, 2, 4},
     {1, 5, 7},
     {1, 7, 3},
     {0, 1, 2},
     {0, 0, 1}},
    {"groups", 1, 6, 9, 3, {1, 4, 5}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"1-D", 2, 5, 6, 1, {1, 1, 90}, {1, 1, 16}, {1, 1, 8}, {1, 1, 1}, {0, 0, 4}, {0, 0, 4}},
    {"3-D", 1, 3, 4, 1, {3, 4, 3}, {2, 3, 3}, {2, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"wide pads", 1, 3, 4, 1, {1, 5, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 3, 3}, {0, 2, 2}},
};

TEST(ConvTransposeF32, EveryWayInEveryLayoutOnEveryIsa) {
  for (const Case& c : kTransposedCases) Check(c, true);
}

// Padding that only far taps read takes no more memory than a border as wide as the image.
TEST(ConvF32, ALargeDilationTakesNoLargeHalo) {
  for (const TileF32Set* set : Sets()) {
    std::size_t bytes[2];
    for (const int64_t far : {0, 1}) {
      const int64_t dilation = far == 0 ? 16 : 1000;
      ConvShape s = Shape({"",
                           1,
                           40,
                           48,
                           1,
                           {1, 16, 16},
                           {1, 3, 3},
                           {1, 1, 1},
                           {1, dilation, dilation},
                           {0, dilation, dilation},
                           {0, dilation, dilation}},
                          false);
      s.in_layout = s.out_layout = kLast;
      bytes[far] = ConvF32ScratchBytes(s, 2, set);
    }
    EXPECT_EQ(bytes[1], bytes[0]);
    EXPECT_GE(bytes[0], std::size_t{48 * 48 * 40 * sizeof(float)});
  }
}

TEST(ConvF32, BitsDoNotDependOnThreads) {
  Serial serial;
  ThreeInTurn threads;
  for (const Case& c : {Case{"", 1, 40, 70, 1, {1, 40, 40}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
                        Case{"", 1, 72, 72, 9, {1, 37, 37}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}}) {
    ConvShape s = Shape(c, false);
    const auto count = [](int64_t channels, const Index3& size) {
      return static_cast<std::size_t>(channels * Volume(size));
    };
    const auto x = Random(count(c.in_channels, s.in), 1), residual = Random(count(c.out_channels, s.out), 4);
    const auto w = Random(count(c.in_channels / c.groups * c.out_channels, c.kernel), 2);
    for (const TileF32Set* set : Sets())
      for (const ImageLayout layout : {kFirst, kLast}) {
        s.in_layout = s.out_layout = layout;
        EXPECT_EQ(Convolve(s, false, x, w, residual, {}, Extras::kAll, *set, serial),
                  Convolve(s, false, x, w, residual, {}, Extras::kAll, *set, threads));
      }
  }
}

// As with more threads than there are bands of rows: a border is then made around a whole image.
class ThousandInTurn final : public Parallel {
 public:
  void For(int64_t count, int64_t grain, Body body) override { ThreeInTurn().For(count, grain, body); }
  int ThreadCount() const override { return 1000; }
};

TEST(ConvF32, ABorderInBandsKeepsTheBits) {
  constexpr Case kBanded[] = {
      {"3x3 of stride 2", 2, 9, 40, 1, {1, 61, 47}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
      {"uneven strides and pads", 2, 5, 33, 1, {1, 82, 60}, {1, 5, 4}, {1, 3, 2}, {1, 1, 1}, {0, 2, 3}, {0, 4, 0}},
      {"tiles of several runs of taps",
       2,
       128,
       36,
       2,
       {1, 23, 24},
       {1, 3, 3},
       {1, 1, 1},
       {1, 1, 1},
       {0, 1, 1},
       {0, 1, 1}},
      {"tiles of two rows", 3, 60, 5, 1, {1, 293, 6}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
      {"dilated", 1, 16, 20, 1, {1, 60, 40}, {1, 3, 3}, {1, 1, 1}, {1, 2, 3}, {0, 2, 3}, {0, 2, 3}},
      {"a band of padding alone", 1, 8, 16, 1, {1, 20, 40}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 30, 5}, {0, 30, 5}},
      {"a row", 1, 40, 33, 1, {1, 1, 3000}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}},
      {"a dilated row", 2, 24, 20, 1, {1, 1, 1999}, {1, 1, 7}, {1, 1, 1}, {1, 1, 5}, {0, 0, 15}, {0, 0, 15}},
      {"a row with groups", 1, 48, 48, 2, {1, 1, 1801}, {1, 1, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 4}},
      {"a row in much padding", 1, 20, 9, 1, {1, 1, 30}, {1, 1, 5}, {1, 1, 3}, {1, 1, 1}, {0, 0, 2999}, {0, 0, 1700}},
      {"whole images", 16, 12, 40, 1, {1, 9, 11}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
  };
  Serial serial;
  ThreeInTurn three;
  ThousandInTurn whole;
  for (const Case& c : kBanded) {
    SCOPED_TRACE(c.name);
    ConvShape s = Shape(c, false);
    const auto x = Random(static_cast<std::size_t>(c.batch * c.in_channels * Volume(s.in)), 1);
    auto w = Random(static_cast<std::size_t>(c.in_channels / c.groups * c.out_channels * Volume(c.kernel)), 2);
    // NaN where the sums of the first and last channel take padding below or above an image.
    const auto taps = static_cast<std::size_t>(Volume(c.kernel));
    w[taps - 1] = w[w.size() - taps] = std::numeric_limits<float>::infinity();
    const auto residual = Random(static_cast<std::size_t>(c.batch * c.out_channels * Volume(s.out)), 4);
    for (const TileF32Set* set : Sets())
      for (const ImageLayout in : {kFirst, kLast})
        for (const ImageLayout out : {kFirst, kLast}) {
          s.in_layout = in, s.out_layout = out;
          EXPECT_NE(ConvF32ScratchBytes(s, 2, set), ConvF32ScratchBytes(s, 1000, set));  // two threads, two bands
          const auto bits = [&](Parallel& parallel) {
            const auto y = Convolve(s, false, x, w, residual, {}, Extras::kAll, *set, parallel);
            std::vector<std::uint32_t> same(y.size());
            std::ranges::transform(y, same.begin(), [](float v) { return std::bit_cast<std::uint32_t>(v); });
            return same;
          };
          const auto want = bits(whole);
          EXPECT_EQ(bits(serial), want);
          EXPECT_EQ(bits(three), want);
        }
  }
}

// Scratch memory for a large image depends on the threads, not on the image.
TEST(ConvF32, ABorderInBandsTakesLittleMemory) {
  for (const TileF32Set* set : Sets()) {
    ConvShape s =
        Shape({"", 8, 32, 32, 1, {1, 224, 224}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, false);
    s.in_layout = s.out_layout = kLast;
    EXPECT_LE(ConvF32ScratchBytes(s, 2, set), std::size_t{300} << 10);
    EXPECT_GE(ConvF32ScratchBytes(s, 1000, set), std::size_t{225 * 225 * 32 * sizeof(float)});
    s = Shape({"", 1, 64, 64, 1, {1, 1, 9000}, {1, 1, 7}, {1, 1, 1}, {1, 1, 3}, {0, 0, 9}, {0, 0, 9}}, false);
    s.in_layout = s.out_layout = kLast;
    EXPECT_LE(ConvF32ScratchBytes(s, 2, set), std::size_t{300} << 10);
    EXPECT_GE(ConvF32ScratchBytes(s, 1000, set), std::size_t{9000 * 64 * sizeof(float)});
  }
}

// 1x1 kernels in bf16 are the sums of rounded numbers: of those that are bf16 already, as exact as any.
TEST(Conv, PointwiseInBf16) {
  for (const int64_t stride : {1, 2}) {
    const Case c = {"", 2, 40, 110, 1, {1, 5, 7}, {1, 1, 1}, {1, stride, stride}};
    ConvShape s = Shape(c, false);
    s.in_layout = s.out_layout = kLast;
    s.rounds_to_bf16 = true;
    const auto rounded = [](std::vector<float> values) {
      for (float& v : values) v = static_cast<float>(BFloat16(v));
      return values;
    };
    const int64_t pixels = Volume(s.out);
    const auto x = rounded(Random(static_cast<std::size_t>(s.batch * s.in_channels * Volume(s.in)), 1));
    const auto w = rounded(Random(static_cast<std::size_t>(s.in_channels * s.out_channels), 2));
    const auto bias = Random(static_cast<std::size_t>(s.out_channels), 3);
    const auto residual = Random(static_cast<std::size_t>(s.batch * s.out_channels * pixels), 4);
    const Sums want = Reference(s, false, x, w);
    Epilogue e;
    e.bias_n = bias.data();
    e.activation.kind = UnaryKind::kRelu;
    Serial serial;
    ThreeInTurn threads;
    for (const TileF32Set* set : Bf16Sets())
      for (Parallel* parallel : {static_cast<Parallel*>(&serial), static_cast<Parallel*>(&threads)}) {
        const auto y = Convolve(s, false, x, w, residual, e, Extras::kAll, *set, *parallel);
        for (int64_t n = 0; n < s.batch; ++n)
          for (int64_t channel = 0; channel < s.out_channels; ++channel)
            for (int64_t p = 0; p < pixels; ++p) {
              const int64_t at = At(kFirst, s.out_channels, pixels, n, channel, p);
              const double value = std::max(0.0, want.sum[at] + bias[channel] + residual[at]);
              ASSERT_NEAR(y[At(kLast, s.out_channels, pixels, n, channel, p)], value,
                          want.magnitude[at] * 0x1p-18 + 1e-6);
            }
      }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
