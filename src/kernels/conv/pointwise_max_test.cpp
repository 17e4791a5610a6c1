// kernels/conv/pointwise_max_test.cpp - the maximum of a 1x1 convolution is that of ConvF32's results.
#include "kernels/conv/pointwise_max.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/conv/conv_test.h"
#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Sizes {
  int64_t groups, positions, in_channels, out_channels, x_pixel;
};

// The image that ConvF32 makes of all positions, and the maximum of each channel and group.
std::vector<float> Expected(const Sizes& s, const std::vector<float>& x, const std::vector<float>& w,
                            const Epilogue& epilogue, const TileF32Set& set) {
  ConvShape shape = Shape({"", 1, s.in_channels, s.out_channels, 1, {1, 1, s.groups * s.positions}, {1, 1, 1}}, false);
  shape.in_layout = shape.out_layout = kLast;
  shape.in_pixel = s.x_pixel;
  Serial serial;
  Scratch packed(ConvF32PackedCount(shape, &set) * sizeof(float)), scratch(ConvF32ScratchBytes(shape, 1, &set));
  auto* weights = reinterpret_cast<float*>(packed.data());
  PackConvF32Weights(shape, w.data(), weights, serial, &set);
  std::vector<float> image(static_cast<std::size_t>(s.groups * s.positions * s.out_channels));
  ConvF32Args args;
  args.shape = shape, args.x = x.data(), args.packed_weights = weights, args.y = image.data();
  args.epilogue = epilogue, args.tiles = &set;
  ConvF32(args, serial, scratch.data());
  std::vector<float> y(static_cast<std::size_t>(s.groups * s.out_channels), -INFINITY);
  for (int64_t g = 0; g < s.groups; ++g)
    for (int64_t i = 0; i < s.positions * s.out_channels; ++i) {
      float& most = y[static_cast<std::size_t>(g * s.out_channels + i % s.out_channels)];
      const float value = image[static_cast<std::size_t>(g * s.positions * s.out_channels + i)];
      if (value > most || std::isnan(value)) most = value;
    }
  return y;
}

std::vector<float> Maxima(const Sizes& s, const std::vector<float>& x, const std::vector<float>& w,
                          const Epilogue& epilogue, const TileF32Set& set, Parallel& parallel) {
  Scratch packed(PointwiseMaxPackedCount(s.in_channels, s.out_channels, &set) * sizeof(float));
  auto* weights = reinterpret_cast<float*>(packed.data());
  PackPointwiseMax(s.in_channels, s.out_channels, w.data(), weights, parallel, &set);
  std::vector<float> y(static_cast<std::size_t>(s.groups * s.out_channels), 7.0f);
  PointwiseMaxArgs args;
  args.groups = s.groups, args.positions = s.positions;
  args.in_channels = s.in_channels, args.out_channels = s.out_channels, args.x_pixel = s.x_pixel;
  args.x = x.data(), args.packed = weights, args.y = y.data(), args.bias = epilogue.bias_n;
  args.activation = epilogue.activation, args.tiles = &set;
  Scratch scratch(PointwiseMaxScratchBytes(args, parallel.ThreadCount()));
  PointwiseMax(args, parallel, scratch.data());
  return y;
}

void ExpectSame(const std::vector<float>& found, const std::vector<float>& want) {
  ASSERT_EQ(found.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]))
      ASSERT_TRUE(std::isnan(found[i])) << "element " << i << ": " << found[i];
    else
      ASSERT_EQ(found[i], want[i]) << "element " << i;
  }
}

std::vector<float> RandomX(const Sizes& s, std::uint32_t seed) {
  return Random(static_cast<std::size_t>(s.groups * s.positions * s.x_pixel), seed);
}

constexpr Sizes kSizes[] = {
    {1, 1024, 70, 150, 70},  {3, 1000, 3, 500, 3},  {2, 333, 17, 4, 20}, {40, 16, 24, 33, 24}, {11, 7, 9, 1, 9},
    {1, 5000, 200, 40, 200}, {2, 97, 64, 1024, 64}, {5, 4, 1, 2, 1},     {300, 1, 40, 70, 41},
};

TEST(PointwiseMax, TakesTheMaximumOfTheConvolution) {
  Serial serial;
  ThreeInTurn three;
  for (const Sizes& s : kSizes)
    for (const TileF32Set* set : Sets())
      for (const UnaryKind kind : {UnaryKind::kNone, UnaryKind::kClip, UnaryKind::kSwish}) {
        const auto x = RandomX(s, 1), w = Random(static_cast<std::size_t>(s.in_channels * s.out_channels), 2),
                   bias = Random(static_cast<std::size_t>(s.out_channels), 3);
        Epilogue epilogue;
        epilogue.activation = {kind, -0.5f, 1};
        if (kind != UnaryKind::kClip) epilogue.bias_n = bias.data();
        const auto want = Expected(s, x, w, epilogue, *set);
        SCOPED_TRACE(testing::Message() << Name(set->isa) << ", " << s.groups << " groups of " << s.positions << " x "
                                        << s.in_channels << " -> " << s.out_channels << ", activation "
                                        << static_cast<int>(kind));
        ASSERT_NO_FATAL_FAILURE(ExpectSame(Maxima(s, x, w, epilogue, *set, serial), want));
        ASSERT_NO_FATAL_FAILURE(ExpectSame(Maxima(s, x, w, epilogue, *set, three), want));
      }
}

// At any position, also where maxima of parts of the positions are joined.
TEST(PointwiseMax, KeepsNan) {
  const Sizes s = {2, 5000, 100, 37, 100};
  const auto w = Random(static_cast<std::size_t>(s.in_channels * s.out_channels), 2);
  ThreeInTurn three;
  for (const TileF32Set* set : Sets())
    for (const int64_t at : {int64_t{0}, int64_t{1}, int64_t{2499}, int64_t{4996}, int64_t{4999}}) {
      auto x = RandomX(s, 1);
      x[static_cast<std::size_t>((s.positions + at) * s.x_pixel)] = kNan;
      const auto y = Maxima(s, x, w, {}, *set, three);
      for (int64_t j = 0; j < s.out_channels; ++j) {
        EXPECT_FALSE(std::isnan(y[static_cast<std::size_t>(j)])) << "of the group without NaN, channel " << j;
        EXPECT_TRUE(std::isnan(y[static_cast<std::size_t>(s.out_channels + j)])) << "position " << at << ", " << j;
      }
    }
}

TEST(PointwiseMax, OfNothingIsMinusInfinity) {
  Serial serial;
  const std::vector<float> x(4), w = Random(60, 2);
  for (const TileF32Set* set : Sets()) {
    EXPECT_EQ(Maxima({2, 0, 3, 20, 3}, x, w, {}, *set, serial), std::vector<float>(40, -INFINITY));
    EXPECT_TRUE(Maxima({0, 9, 3, 20, 3}, x, w, {}, *set, serial).empty());
  }
}

}  // namespace
}  // namespace sardonyx::kernels
