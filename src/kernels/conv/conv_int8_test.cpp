// kernels/conv/conv_int8_test.cpp - 8-bit convolutions, in every variant this CPU can run, equal 64-bit sums bit for
// bit.
#include "kernels/conv/conv_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "kernels/conv/conv_test.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {
namespace {

// What varies besides the sizes.
struct Kinds {
  bool x_signed = false, w_signed = true;
  int x_zero = 0;
  int w_zeros = 0;  // 0 none, 1 one, 2 one a channel
  Int8Result result = Int8Result::kBytes;
  bool y_signed = false, bias = true;
  ImageLayout in_layout = kLast, out_layout = kLast;
  bool sum = false;     // with a value like the result
  bool narrow = false;  // all but a few values of x lie close to its zero point
  bool small = false;   // weights have 7 bits
  ConvInt8Way way = ConvInt8Way::kAnyWeights;
};

// Extreme values are frequent: 255 * 127 four times is what saturating instructions get wrong.
std::vector<std::uint8_t> RandomBytes(int64_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));  // exact: sanitizers see reads beyond
  for (std::uint8_t& b : bytes) {
    const std::uint32_t r = engine();
    const std::uint8_t extremes[] = {0, 0x7F, 0x80, 0xFF};
    b = (r & 0x300) != 0 ? extremes[r & 3] : static_cast<std::uint8_t>(r >> 16);
  }
  return bytes;
}

int Value(std::uint8_t byte, bool is_signed) { return is_signed ? static_cast<std::int8_t>(byte) : byte; }

struct Data {
  std::vector<std::uint8_t> x, w, zeros;  // channels first
  std::vector<std::int32_t> bias;
  std::vector<float> scales;
};

Data MakeData(const ConvShape& s, const Kinds& kinds) {
  Data d;
  d.x = RandomBytes(s.batch * s.in_channels * Volume(s.in), 1);
  std::mt19937 mostly(6);
  for (std::uint8_t& x : d.x)
    if (kinds.narrow && mostly() % 40 != 0)
      x = static_cast<std::uint8_t>(kinds.x_zero + (kinds.x_zero > 20 || kinds.x_signed ? -20 : 0) +
                                    static_cast<int>(mostly() % 60));
  d.w = RandomBytes(s.out_channels * (s.in_channels / s.groups) * Volume(s.kernel), 2);
  for (std::uint8_t& w : d.w)
    if (kinds.small) w = static_cast<std::uint8_t>(std::clamp(Value(w, true), -64, 64));
  d.zeros = RandomBytes(kinds.w_zeros == 2 ? s.out_channels : kinds.w_zeros, 3);
  for (std::uint8_t& zero : d.zeros)
    if (kinds.way == ConvInt8Way::kSmallWeights)
      zero = static_cast<std::uint8_t>(std::clamp(Value(zero, true), -64, 64));
  std::mt19937 engine(4);
  for (int64_t m = 0; m < s.out_channels; ++m) {
    d.bias.push_back(static_cast<std::int32_t>(engine()) >> 14);
    d.scales.push_back(1e-4f * static_cast<float>(1 + engine() % 100));
  }
  return d;
}

// Channels first; as 64-bit sums.
std::vector<int64_t> ReferenceSums(const ConvShape& s, const Kinds& kinds, const Data& d) {
  const int64_t pixels = Volume(s.out), taps = Volume(s.kernel), ci = s.in_channels / s.groups;
  const int64_t co = s.out_channels / s.groups;
  std::vector<int64_t> sums(static_cast<std::size_t>(s.batch * s.out_channels * pixels));
  for (int64_t i = 0; i < static_cast<int64_t>(sums.size()); ++i) {
    const int64_t n = i / pixels / s.out_channels, m = i / pixels % s.out_channels, p = i % pixels;
    const Index3 out = {p / (s.out[1] * s.out[2]), p / s.out[2] % s.out[1], p % s.out[2]};
    const int w_zero = d.zeros.empty() ? 0 : Value(d.zeros[d.zeros.size() == 1 ? 0 : m], kinds.w_signed);
    int64_t sum = kinds.bias ? d.bias[m] : 0;
    for (int64_t t = 0; t < taps; ++t) {
      const Index3 tap = {t / (s.kernel[1] * s.kernel[2]), t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
      Index3 in;
      bool inside = true;
      for (int a = 0; a < 3; ++a) {
        in[a] = out[a] * s.stride[a] + tap[a] * s.dilation[a] - s.pad_begin[a];
        inside = inside && in[a] >= 0 && in[a] < s.in[a];
      }
      if (!inside) continue;
      const int64_t pixel = (in[0] * s.in[1] + in[1]) * s.in[2] + in[2];
      for (int64_t c = 0; c < ci; ++c) {
        const int x = Value(d.x[At(kFirst, s.in_channels, Volume(s.in), n, m / co * ci + c, pixel)], kinds.x_signed);
        sum += static_cast<int64_t>(x - kinds.x_zero) * (Value(d.w[(m * ci + c) * taps + t], kinds.w_signed) - w_zero);
      }
    }
    sums[i] = sum;
  }
  return sums;
}

// NOLINTNEXTLINE(readability-function-size): everything that varies between runs
void CheckSet(const Case& c, const Kinds& kinds, const ConvShape& s, const Data& d, const std::vector<int64_t>& sums,
              const TileInt8Set& set, Parallel& parallel) {
  SCOPED_TRACE(std::string(c.name) + " " + std::string(Name(set.isa)) + (set.bytes ? " VNNI" : "") +
               (kinds.x_signed ? " s8" : " u8") + (kinds.w_signed ? " s8" : " u8") + " zeros " +
               std::to_string(kinds.x_zero) + "/" + std::to_string(kinds.w_zeros));
  std::vector<std::uint8_t> x(d.x.size());
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t i = 0; i < s.in_channels; ++i)
      for (int64_t p = 0; p < Volume(s.in); ++p)
        x[At(s.in_layout, s.in_channels, Volume(s.in), n, i, p)] =
            d.x[At(kFirst, s.in_channels, Volume(s.in), n, i, p)];
  const std::size_t size = kinds.result == Int8Result::kBytes ? 1 : 4;
  std::vector<std::uint8_t> y(sums.size() * size + 1, 77);
  ConvInt8Args args;
  args.shape = s, args.x = x.data(), args.x_signed = kinds.x_signed, args.x_zero = kinds.x_zero;
  args.bias = kinds.bias ? d.bias.data() : nullptr;
  args.result = kinds.result, args.y = y.data(), args.scales = d.scales.data();
  args.y_signed = kinds.y_signed, args.y_zero = kinds.y_signed ? -3 : 11;
  args.tiles = &set, args.way = kinds.way;
  const auto z = RandomBytes(static_cast<int64_t>(sums.size()), 5);
  const float sum_zero = kinds.y_signed ? 20 : 90;
  const float constant = sum_zero - (static_cast<float>(args.y_zero) * 0.7f + 17 * 0.45f);
  if (kinds.sum) args.sum = {z.data(), 0.7f, 0.45f, constant, kinds.y_signed};
  Scratch packed(ConvInt8PackedBytes(s, &set, kinds.way)), scratch(ConvInt8ScratchBytes(args, parallel.ThreadCount()));
  const ConvInt8Weights weights = {d.w.data(), kinds.w_signed, d.zeros.data(), static_cast<int64_t>(d.zeros.size())};
  EXPECT_TRUE(ConvInt8WeightsFit(s, weights, kinds.way));
  PackConvInt8Weights(s, weights, packed.data(), parallel, &set, kinds.way);
  args.packed_weights = packed.data();
  std::atomic<bool> is_wide = false;
  if (kinds.small) {  // the second run knows what the first one found out
    args.is_wide = &is_wide;
    ConvInt8(args, parallel, scratch.data());
    std::fill(y.begin(), y.end(), 77);
  }
  ConvInt8(args, parallel, scratch.data());
  const int low = LowestByte(kinds.y_signed), high = HighestByte(kinds.y_signed);
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t m = 0; m < s.out_channels; ++m)
      for (int64_t p = 0; p < Volume(s.out); ++p) {
        const int64_t at = At(s.out_layout, s.out_channels, Volume(s.out), n, m, p);
        const auto sum = static_cast<std::int32_t>(sums[At(kFirst, s.out_channels, Volume(s.out), n, m, p)]);
        const float scaled = static_cast<float>(sum) * d.scales[m];
        if (kinds.result == Int8Result::kSums) {
          ASSERT_EQ(reinterpret_cast<const std::int32_t*>(y.data())[at], sum) << n << ", " << m << ", " << p;
        } else if (kinds.result == Int8Result::kFloats) {
          ASSERT_EQ(reinterpret_cast<const float*>(y.data())[at], scaled) << n << ", " << m << ", " << p;
        } else {
          const int want = std::clamp(static_cast<int>(std::nearbyint(scaled)) + args.y_zero, low, high);
          if (kinds.sum) {  // the order of float operations is free: a half may go either way
            const double added = (want - args.y_zero) * 0.7f + (Value(z[at], kinds.y_signed) - 17.0) * 0.45f;
            const double exact = std::clamp<double>(added + sum_zero, low, high);
            ASSERT_NEAR(Value(y[at], kinds.y_signed), exact, 0.5001) << n << ", " << m << ", " << p;
            continue;
          }
          ASSERT_EQ(Value(y[at], kinds.y_signed), want) << n << ", " << m << ", " << p;
        }
      }
  ASSERT_EQ(y.back(), 77);
}

// On every variant of this CPU.
void Check(const Case& c, const Kinds& kinds, Parallel& parallel) {
  ConvShape s = Shape(c, false);
  s.in_layout = kinds.in_layout, s.out_layout = kinds.out_layout;
  const Data d = MakeData(s, kinds);
  const std::vector<int64_t> sums = ReferenceSums(s, kinds, d);
  for (const TileInt8Set* set : RunnableTilesInt8()) CheckSet(c, kinds, s, d, sums, *set, parallel);
}

const Case kCases[] = {
    {"1x1", 2, 8, 40, 1, {1, 5, 7}, {1, 1, 1}},
    {"1x1 of odd channels", 1, 17, 33, 1, {1, 4, 5}, {1, 1, 1}},
    {"1x1 strided", 2, 12, 16, 1, {1, 7, 9}, {1, 1, 1}, {1, 2, 2}},
    {"1x1 strided and padded, of as many outputs",
     1,
     8,
     17,
     1,
     {1, 9, 2},
     {1, 1, 1},
     {1, 2, 1},
     {1, 1, 1},
     {0, 1, 1},
     {0, 1, 0}},
    {"3x3", 1, 8, 20, 1, {1, 7, 16}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"3x3 of 7x7", 1, 16, 33, 1, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"3x3 strided", 2, 5, 17, 1, {1, 9, 31}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 0, 1}},
    {"3x3 dilated", 1, 6, 9, 1, {1, 9, 10}, {1, 3, 3}, {1, 1, 1}, {1, 2, 3}, {0, 2, 3}, {0, 2, 3}},
    {"3x3 dilated so that the middle alone reads",
     2,
     8,
     17,
     1,
     {1, 6, 7},
     {1, 3, 3},
     {1, 1, 1},
     {1, 6, 7},
     {0, 6, 7},
     {0, 6, 7}},
    {"3x3 dilated so that rows differ",
     1,
     24,
     40,
     2,
     {1, 9, 11},
     {1, 3, 3},
     {1, 1, 1},
     {1, 7, 6},
     {0, 7, 6},
     {0, 7, 6}},
    {"5x1 dilated and strided", 1, 16, 9, 1, {1, 12, 5}, {1, 5, 1}, {1, 3, 1}, {1, 5, 1}, {0, 10, 0}, {0, 10, 0}},
    {"3x2x1 dilated", 1, 8, 5, 1, {3, 4, 6}, {3, 2, 1}, {1, 1, 1}, {3, 4, 1}, {3, 4, 0}, {3, 4, 0}},
    {"stem", 1, 3, 24, 1, {1, 20, 23}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}},
    {"one channel", 1, 1, 1, 1, {1, 6, 150}, {1, 3, 3}},
    {"1-D", 2, 10, 7, 1, {1, 1, 40}, {1, 1, 5}, {1, 1, 3}, {1, 1, 1}, {0, 0, 2}, {0, 0, 2}},
    {"3-D", 1, 3, 5, 1, {4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 0, 1}, {0, 1, 0}},
    {"groups", 1, 12, 18, 3, {1, 5, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"merged groups", 1, 32, 16, 8, {1, 5, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"wide groups", 1, 80, 96, 2, {1, 3, 8}, {1, 1, 1}},
    {"depthwise", 2, 17, 17, 17, {1, 9, 13}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"depthwise of many even groups", 1, 96, 96, 96, {1, 9, 13}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"depthwise strided", 1, 67, 67, 67, {1, 9, 70}, {1, 5, 5}, {1, 2, 1}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
    {"depthwise of half a block", 1, 24, 24, 24, {1, 6, 7}, {1, 3, 3}},
    {"depthwise of an even number of taps", 1, 40, 40, 40, {1, 1, 40}, {1, 1, 4}, {1, 1, 3}},
    {"depthwise of one tap", 2, 32, 32, 32, {1, 5, 6}, {1, 1, 1}},
    {"depthwise of three channels", 1, 3, 3, 3, {1, 6, 9}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"depthwise 5x5", 1, 8, 8, 8, {1, 7, 11}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
    {"depthwise 5x5 strided", 1, 13, 13, 13, {1, 9, 12}, {1, 5, 5}, {1, 2, 2}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
    {"depthwise dilated", 1, 72, 72, 72, {1, 9, 10}, {1, 3, 3}, {1, 1, 1}, {1, 2, 3}, {0, 2, 3}, {0, 2, 3}},
    {"depthwise of equal steps", 1, 40, 40, 40, {1, 9, 14}, {1, 3, 3}, {1, 2, 2}, {1, 2, 2}, {0, 2, 2}, {0, 2, 2}},
    {"depthwise 7x7 strided", 1, 120, 120, 120, {1, 7, 8}, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {0, 3, 3}, {0, 3, 3}},
    {"depthwise 4x3", 1, 20, 20, 20, {1, 6, 9}, {1, 4, 3}, {1, 1, 1}, {1, 1, 1}, {0, 2, 1}, {0, 1, 1}},
    {"depthwise 3-D", 1, 6, 6, 6, {4, 5, 9}, {3, 3, 3}, {2, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {"depthwise of little but padding", 1, 9, 9, 9, {1, 2, 2}, {1, 3, 3}, {1, 1, 1}, {1, 3, 3}, {0, 5, 5}, {0, 5, 5}},
    {"depthwise with two a group", 1, 6, 12, 6, {1, 6, 7}, {1, 3, 3}},
    {"long sums", 1, 300, 3, 1, {1, 3, 4}, {1, 2, 2}},
    {"long rows", 1, 60, 5, 1, {1, 2, 150}, {1, 2, 3}},
};

TEST(ConvInt8, EverySizeAndLayout) {
  ThreeInTurn threads;
  for (const Case& c : kCases)
    for (int layouts = 0; layouts < 4; ++layouts) {
      Kinds kinds;
      kinds.x_zero = 130;
      kinds.in_layout = (layouts & 1) != 0 ? kFirst : kLast;
      kinds.out_layout = (layouts & 2) != 0 ? kFirst : kLast;
      kinds.result = (layouts & 1) != 0 ? Int8Result::kSums : Int8Result::kBytes;
      Check(c, kinds, threads);
    }
}

// Where sums of two products must fit into 16 bits, a few values are multiplied apart from the others.
TEST(ConvInt8, FewValuesFarFromTheOthers) {
  ThreeInTurn threads;
  for (const Case& c : kCases)
    for (int flags = 0; flags < 4; ++flags) {
      Kinds kinds;
      kinds.narrow = true;
      kinds.x_signed = flags == 1, kinds.x_zero = flags == 1 ? -20 : flags == 2 ? 0 : 130;
      kinds.in_layout = flags == 3 ? kFirst : kLast;
      kinds.out_layout = flags == 2 ? kFirst : kLast;
      kinds.w_zeros = flags == 1 ? 2 : 0;
      Check(c, kinds, threads);
    }
}

// Where sums of four products may fit into 16 bits, unless too many values are large.
const Case kOfManyOutputs[] = {
    {"1x1 to many", 2, 72, 136, 1, {1, 5, 7}, {1, 1, 1}},
    {"1x1 of odd channels to many", 1, 37, 129, 1, {1, 9, 9}, {1, 1, 1}},
    {"3x3 to many", 1, 20, 150, 1, {1, 6, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"groups to many", 1, 68, 272, 2, {1, 4, 5}, {1, 1, 1}},
};

TEST(ConvInt8, SmallWeights) {
  ThreeInTurn threads;
  for (const Case& c : kOfManyOutputs)
    for (int flags = 0; flags < 6; ++flags) {
      Kinds kinds;
      kinds.small = true, kinds.narrow = flags % 3 != 0;
      kinds.x_signed = flags == 1, kinds.x_zero = flags == 1 ? -20 : flags == 2 ? 0 : 130;
      kinds.in_layout = flags == 3 ? kFirst : kLast;
      kinds.out_layout = flags == 4 ? kFirst : kLast;
      kinds.w_zeros = flags == 5 ? 2 : 0;
      kinds.result = flags == 4 ? Int8Result::kSums : Int8Result::kBytes;
      Check(c, kinds, threads);
    }
}

TEST(ConvInt8, SmallWeightsAsBytes) {
  ThreeInTurn threads;
  for (const Case& c : kCases)
    for (int flags = 0; flags < 6; ++flags) {
      Kinds kinds;
      kinds.small = true, kinds.way = ConvInt8Way::kSmallWeights;
      kinds.x_signed = flags % 2 == 1, kinds.x_zero = flags == 1 ? -20 : flags == 2 ? 0 : 100;
      kinds.in_layout = flags == 3 ? kFirst : kLast;
      kinds.out_layout = flags == 4 ? kFirst : kLast;
      kinds.w_zeros = flags == 5 ? 2 : 0;
      kinds.result = flags == 4 ? Int8Result::kSums : Int8Result::kBytes;
      Check(c, kinds, threads);
    }
}

// Weights that are read as they are, and where the others are.
TEST(ConvInt8, WeightsThatAreSmall) {
  const ConvShape s = Shape({"1x1", 1, 2, 3, 1, {1, 1, 1}, {1, 1, 1}}, false);
  const auto fits = [&](std::vector<std::int8_t> w, bool is_signed) {
    return ConvInt8WeightsFit(s, {.w = w.data(), .w_signed = is_signed}, ConvInt8Way::kSmallWeights);
  };
  EXPECT_TRUE(fits({-64, 64, 0, 1, 64, -64}, true));
  EXPECT_FALSE(fits({-64, 64, 0, 1, 65, 0}, true));
  EXPECT_FALSE(fits({0, 1, 2, 3, 4, -65}, true));
  EXPECT_FALSE(fits({0, 1, 2, 3, 4, 5}, false));
  const std::int8_t zeros[] = {65}, w[6] = {};
  EXPECT_FALSE(ConvInt8WeightsFit(s, {.w = w, .zeros = zeros, .zero_count = 1}, ConvInt8Way::kSmallWeights));
  ConvShape wide = Shape({"1x1", 1, 128, 128, 1, {1, 7, 7}, {1, 1, 1}}, false);
  const bool clips = BestTilesInt8().clipped != nullptr;
  EXPECT_EQ(ChooseConvInt8Way(wide), ConvInt8Way::kAnyWeights);
  wide.out_channels = 64;
  EXPECT_EQ(ChooseConvInt8Way(wide), clips ? ConvInt8Way::kSmallWeights : ConvInt8Way::kAnyWeights);
}

// Layers whose values are spread are found out once.
TEST(ConvInt8, RemembersWideValues) {
  const Case c = {"1x1", 1, 128, 128, 1, {1, 9, 9}, {1, 1, 1}};
  ConvShape s = Shape(c, false);
  s.in_layout = s.out_layout = kLast;
  Serial serial;
  for (const TileInt8Set* set : RunnableTilesInt8())
    for (const bool narrow : {false, true}) {
      Data d = MakeData(s, Kinds{.x_zero = 130, .small = true});
      if (narrow)
        for (std::uint8_t& x : d.x) x = static_cast<std::uint8_t>(120 + x % 20);
      Scratch packed(ConvInt8PackedBytes(s, set));
      PackConvInt8Weights(s, {.w = d.w.data()}, packed.data(), serial, set);
      std::vector<std::int32_t> y(static_cast<std::size_t>(s.out_channels * Volume(s.out)));
      std::atomic<bool> is_wide = false;
      ConvInt8Args args;
      args.shape = s, args.x = d.x.data(), args.x_zero = 130, args.y = y.data(), args.tiles = set;
      args.packed_weights = packed.data(), args.is_wide = &is_wide;
      Scratch scratch(ConvInt8ScratchBytes(args, 1));
      ConvInt8(args, serial, scratch.data());
      EXPECT_EQ(is_wide, set->clipped != nullptr && !narrow) << Name(set->isa) << " " << narrow;
    }
}

TEST(ConvInt8, EveryKindOfValueAndZeroPoint) {
  Serial serial;
  for (const Case& c : kCases)
    for (int flags = 0; flags < 8; ++flags)
      for (int w_zeros = 0; w_zeros < 3; ++w_zeros) {
        Kinds kinds;
        kinds.x_signed = (flags & 1) != 0, kinds.w_signed = (flags & 2) != 0, kinds.y_signed = (flags & 4) != 0;
        kinds.x_zero = (flags & 1) != 0 ? -128 : 255;
        kinds.w_zeros = w_zeros;
        kinds.bias = w_zeros != 1;
        kinds.result = w_zeros == 0 ? Int8Result::kFloats : Int8Result::kBytes;
        Check(c, kinds, serial);
      }
}

TEST(ConvInt8, DepthwiseWithZeroPointsAtEitherEnd) {
  ThreeInTurn threads;
  for (const Case& c : kCases) {
    if (c.groups == 1 || c.groups != c.out_channels) continue;
    for (const int zero : {-128, 127, 0, 255}) {
      Kinds kinds;
      kinds.x_signed = zero == -128 || zero == 127, kinds.x_zero = zero;
      kinds.w_signed = zero != 0, kinds.w_zeros = zero == 255 ? 0 : 2;
      kinds.y_signed = zero > 0;
      Check(c, kinds, threads);
    }
  }
}

TEST(ConvInt8, AddsAValueOfTheResultsShape) {
  ThreeInTurn threads;
  for (const Case& c : kCases)
    for (int flags = 0; flags < 4; ++flags) {
      const bool is_signed = (flags & 1) != 0;
      Kinds kinds;
      kinds.sum = true, kinds.y_signed = is_signed, kinds.w_zeros = is_signed ? 1 : 0;
      if ((flags & 2) != 0) kinds.small = true, kinds.way = ConvInt8Way::kSmallWeights;
      ConvShape shape = Shape(c, false);
      shape.out_layout = kLast;
      if (ConvInt8Adds(shape)) Check(c, kinds, threads);
    }
}

TEST(ConvInt8, ManyPixelsOnManyThreads) {
  ThreeInTurn threads;
  Check({"many", 1, 32, 64, 1, {1, 40, 65}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, {}, threads);
  Check({"many 1x1", 3, 64, 40, 1, {1, 20, 20}, {1, 1, 1}}, {}, threads);
  Kinds narrow;
  narrow.narrow = true, narrow.x_zero = 128;
  Check({"many narrow", 1, 36, 200, 1, {1, 20, 21}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, narrow,
        threads);
}

}  // namespace
}  // namespace sardonyx::kernels
