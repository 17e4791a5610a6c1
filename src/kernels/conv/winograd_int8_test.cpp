// kernels/conv/winograd_int8_test.cpp - integer Winograd convolutions, in every variant this CPU can run, equal 64-bit
// sums bit for bit, up to the largest that their weights allow.
#include "kernels/conv/winograd_int8.h"

#include <gtest/gtest.h>

#include <random>

#include "kernels/conv/conv_int8.h"
#include "kernels/conv/conv_test.h"

namespace sardonyx::kernels {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr Index3 kOne = {1, 1, 1};

Case Square(int64_t channels, int64_t outputs, int64_t rows, int64_t columns, int64_t pad = 1, int64_t batch = 1) {
  return {"3x3", batch, channels, outputs, 1, {1, rows, columns}, {1, 3, 3}, kOne, kOne, {0, pad, pad}, {0, pad, pad}};
}

ConvShape WinogradShape(const Case& c) {
  ConvShape s = Shape(c, false);
  s.in_layout = s.out_layout = kLast;
  return s;
}

int Value(std::uint8_t byte, bool is_signed) { return is_signed ? static_cast<std::int8_t>(byte) : byte; }

struct Problem {
  Bytes x, w, zeros;  // x: channels last
  bool x_signed = false, w_signed = true;
  int x_zero = 0;
  std::vector<std::int32_t> bias;
};

Bytes Random(int64_t count, std::mt19937& engine) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::uint8_t& b : bytes) {
    const std::uint32_t r = engine();
    const std::uint8_t extremes[] = {0, 0x7F, 0x80, 0xFF};
    b = (r & 0x300) != 0 ? extremes[r & 3] : static_cast<std::uint8_t>(r >> 16);
  }
  return bytes;
}

Problem MakeProblem(const ConvShape& s, int flags) {
  std::mt19937 engine(static_cast<std::uint32_t>(flags));
  Problem p;
  p.x_signed = (flags & 1) != 0, p.w_signed = (flags & 2) == 0;
  p.x_zero = p.x_signed ? (flags & 4) != 0 ? 127 : -128 : (flags & 4) != 0 ? 255 : 3;
  p.x = Random(s.batch * s.in_channels * Volume(s.in), engine);
  p.w = Random(s.in_channels * s.out_channels * 9, engine);
  p.zeros = Random(flags % 3 == 0 ? 0 : flags % 3 == 1 ? 1 : s.out_channels, engine);
  for (int64_t m = 0; m < s.out_channels && flags % 2 == 0; ++m)
    p.bias.push_back(static_cast<std::int32_t>(engine()) >> 10);
  return p;
}

// Channels last.
std::vector<int64_t> SumsOf(const ConvShape& s, const Problem& p) {
  std::vector<int64_t> sums;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t pixel = 0; pixel < Volume(s.out); ++pixel)
      for (int64_t m = 0; m < s.out_channels; ++m) {
        const int w_zero = p.zeros.empty() ? 0 : Value(p.zeros[p.zeros.size() == 1 ? 0 : m], p.w_signed);
        int64_t sum = p.bias.empty() ? 0 : p.bias[m];
        for (int64_t tap = 0; tap < 9; ++tap) {
          const int64_t h = pixel / s.out[2] + tap / 3 - s.pad_begin[1],
                        w = pixel % s.out[2] + tap % 3 - s.pad_begin[2];
          if (h < 0 || h >= s.in[1] || w < 0 || w >= s.in[2]) continue;
          for (int64_t c = 0; c < s.in_channels; ++c)
            sum +=
                static_cast<int64_t>(
                    Value(p.x[At(kLast, s.in_channels, Volume(s.in), n, c, h * s.in[2] + w)], p.x_signed) - p.x_zero) *
                (Value(p.w[(m * s.in_channels + c) * 9 + tap], p.w_signed) - w_zero);
        }
        sums.push_back(sum);
      }
  return sums;
}

ConvInt8Weights WeightsOf(const Problem& p) {
  return {p.w.data(), p.w_signed, p.zeros.data(), static_cast<int64_t>(p.zeros.size())};
}

// The convolution's result of `bytes` bytes for each sum, with one more that must stay.
Bytes Convolve(ConvInt8Args args, const Problem& p, std::size_t bytes, Parallel& parallel) {
  const ConvShape& s = args.shape;
  Bytes y(static_cast<std::size_t>(s.batch * s.out_channels * Volume(s.out)) * bytes + 1, 77);
  args.x = p.x.data(), args.x_signed = p.x_signed, args.x_zero = p.x_zero, args.y = y.data();
  args.bias = p.bias.empty() ? nullptr : p.bias.data();
  Scratch packed(ConvInt8PackedBytes(s, args.tiles, args.way)),
      scratch(ConvInt8ScratchBytes(args, parallel.ThreadCount()));
  PackConvInt8Weights(s, WeightsOf(p), packed.data(), parallel, args.tiles, args.way);
  args.packed_weights = packed.data();
  ConvInt8(args, parallel, scratch.data());
  EXPECT_EQ(y.back(), 77);
  return y;
}

void ExpectSums(const ConvShape& s, const Problem& p, Parallel& parallel) {
  ASSERT_TRUE(WinogradInt8Fits(s, WeightsOf(p)));
  const std::vector<int64_t> sums = SumsOf(s, p);
  for (const TileInt8Set* set : RunnableTilesInt8()) {
    SCOPED_TRACE(std::string(Name(set->isa)) + " " + std::to_string(s.out[1]) + "x" + std::to_string(s.out[2]));
    ConvInt8Args args;
    args.shape = s, args.tiles = set, args.way = ConvInt8Way::kWinograd;
    const Bytes y = Convolve(args, p, 4, parallel);
    for (std::size_t i = 0; i < sums.size(); ++i)
      ASSERT_EQ(reinterpret_cast<const std::int32_t*>(y.data())[i], static_cast<std::int32_t>(sums[i])) << i;
  }
}

TEST(WinogradInt8, EverySizeOfEdges) {
  ThreeInTurn threads;
  int flags = 0;
  for (int64_t rows = 1; rows <= 9; ++rows)
    for (const int64_t columns : {1, 2, 3, 4, 5, 8, 11}) {
      const ConvShape s = WinogradShape(Square(32, 32, rows, columns));
      ExpectSums(s, MakeProblem(s, flags++), threads);
    }
}

TEST(WinogradInt8, PadsAndBatches) {
  ThreeInTurn threads;
  for (int flags = 0; flags < 12; ++flags) {
    const ConvShape s = WinogradShape(Square(64, 32, 6, 7, flags % 3, 1 + flags % 4));
    ExpectSums(s, MakeProblem(s, flags), threads);
  }
}

// Blocks and panels are cut otherwise for one thread and for several.
TEST(WinogradInt8, ManyTiles) {
  ThreeInTurn threads;
  Serial serial;
  for (const int64_t size : {20, 37}) {
    const ConvShape s = WinogradShape(Square(32, 96, size, size));
    ExpectSums(s, MakeProblem(s, 5), threads);
    ExpectSums(s, MakeProblem(s, 8), serial);
  }
}

// All results and summands: as the direct algorithm has them.
TEST(WinogradInt8, FinishesAsTheDirectAlgorithm) {
  ThreeInTurn threads;
  std::mt19937 engine(3);
  for (const bool is_signed : {false, true})
    for (const bool adds : {false, true})
      for (const Int8Result result : {Int8Result::kBytes, Int8Result::kFloats}) {
        if (adds && result == Int8Result::kFloats) continue;
        const ConvShape s = WinogradShape(Square(32, 64, 7, 10));
        const Problem p = MakeProblem(s, is_signed ? 3 : 4);
        std::vector<float> scales;
        for (int64_t m = 0; m < s.out_channels; ++m) scales.push_back(1e-5f * static_cast<float>(1 + engine() % 100));
        const Bytes z = Random(s.out_channels * Volume(s.out), engine);
        ConvInt8Args args;
        args.shape = s, args.result = result, args.scales = scales.data();
        args.y_signed = is_signed, args.y_zero = is_signed ? -3 : 11;
        if (adds) args.sum = {z.data(), 0.7f, 0.45f, is_signed ? 5.0f : 90.0f, is_signed};
        const std::size_t size = result == Int8Result::kBytes ? 1 : 4;
        for (const TileInt8Set* set : RunnableTilesInt8()) {
          args.tiles = set;
          args.way = ConvInt8Way::kAnyWeights;
          const Bytes direct = Convolve(args, p, size, threads);
          args.way = ConvInt8Way::kWinograd;
          EXPECT_EQ(Convolve(args, p, size, threads), direct) << Name(set->isa) << " " << is_signed << adds;
        }
      }
}

// Weights whose magnitudes add up to `total` in each output channel.
Problem Largest(const ConvShape& s, int64_t total, bool is_negative) {
  Problem p;
  p.w.assign(static_cast<std::size_t>(s.in_channels * s.out_channels * 9), 0);
  for (int64_t m = 0; m < s.out_channels; ++m) {
    int64_t left = total;
    for (int64_t i = 0; left > 0; ++i) {
      const int64_t size = std::min<int64_t>(left, is_negative ? 128 : 127);
      p.w[m * s.in_channels * 9 + i] = static_cast<std::uint8_t>(is_negative ? -size : size);
      left -= size;
    }
  }
  p.x.assign(static_cast<std::size_t>(s.in_channels * Volume(s.in)), 255);
  return p;
}

TEST(WinogradInt8, GivesBackTheLargestSums) {
  Serial serial;
  constexpr int64_t kMost = ((int64_t{1} << 25) - 1) / 255;
  const ConvShape s = WinogradShape(Square(128, 32, 6, 6));
  for (const bool is_negative : {false, true}) {
    ExpectSums(s, Largest(s, kMost, is_negative), serial);
    const Problem larger = Largest(s, kMost + 1, is_negative);
    EXPECT_FALSE(WinogradInt8Fits(s, WeightsOf(larger)));
  }
  Problem mirrored = Largest(s, kMost, false);  // the largest negative inputs
  std::fill(mirrored.x.begin(), mirrored.x.end(), 0);
  mirrored.x_zero = 255;
  ExpectSums(s, mirrored, serial);
}

// More pixels than are transposed at a time.
TEST(WinogradInt8, ReadsAndStoresChannelsFirst) {
  ThreeInTurn threads;
  ConvShape s = WinogradShape(Square(32, 64, 19, 21, 1, 2));
  const Problem p = MakeProblem(s, 4);
  const std::vector<float> scales(static_cast<std::size_t>(s.out_channels), 1e-4f);
  std::mt19937 engine(5);
  const Bytes z = Random(s.batch * s.out_channels * Volume(s.out), engine);
  for (const auto& [in, out] : {std::pair(kLast, kFirst), {kFirst, kLast}, {kFirst, kFirst}})
    for (const TileInt8Set* set : RunnableTilesInt8())
      for (const Int8Result result : {Int8Result::kBytes, Int8Result::kSums}) {
        s.in_layout = in, s.out_layout = out;
        ConvInt8Args args;
        args.shape = s, args.result = result, args.scales = scales.data(), args.y_zero = 100, args.tiles = set;
        const std::size_t size = result == Int8Result::kBytes ? 1 : 4;
        if (size == 1 && out == kLast) args.sum = {z.data(), 0.7f, 0.45f, 90.0f, false};
        const Bytes direct = Convolve(args, p, size, threads);
        args.way = ConvInt8Way::kWinograd;
        EXPECT_EQ(Convolve(args, p, size, threads), direct) << Name(set->isa) << " " << size;
      }
}

TEST(WinogradInt8, PaysWhereImagesAreLargeAndChannelsWhole) {
  const TileInt8Set& words = WordTilesInt8(BestIsa());
  const auto pays = [&](const Case& c) { return WinogradInt8Pays(WinogradShape(c), words); };
  EXPECT_TRUE(pays(Square(64, 64, 56, 56)));
  EXPECT_FALSE(pays(Square(256, 256, 14, 14))) << "packed weights too large";
  EXPECT_FALSE(pays(Square(512, 512, 7, 7)));
  EXPECT_FALSE(pays(Square(256, 256, 28, 28))) << "packed weights too large";
  EXPECT_TRUE(pays(Square(256, 256, 32, 32)));
  EXPECT_FALSE(pays(Square(64, 48, 56, 56)));
  Case strided = Square(64, 64, 56, 56);
  strided.stride = {1, 2, 2};
  EXPECT_FALSE(pays(strided));
  ConvShape first = WinogradShape(Square(64, 64, 56, 56));
  first.in_layout = first.out_layout = kFirst;
  EXPECT_TRUE(WinogradInt8Pays(first, words));
  ConvShape unknown = WinogradShape(Square(64, 64, 56, 56));
  unknown.out = {1, 0, 0};
  EXPECT_TRUE(WinogradInt8Pays(unknown, words));
  for (const TileInt8Set* set : RunnableTilesInt8())
    EXPECT_EQ(WinogradInt8Pays(WinogradShape(Square(64, 64, 56, 56)), *set), !set->bytes || set->clipped != nullptr);
}

}  // namespace
}  // namespace sardonyx::kernels
