// kernels/conv/winograd_test.cpp - Winograd convolutions on every ISA of this CPU, in all layouts, against float64.
//
// The bound of an output is the error that rounding can make in its own tile: the transforms are written again here, as
// matrices, and applied to magnitudes.
#include "kernels/conv/winograd.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/conv/conv_test.h"

namespace sardonyx::kernels {
namespace {

using Matrix = std::vector<std::vector<double>>;

struct Transforms {
  Matrix g, b, a;  // of weights [S][3], inputs [S][S], outputs [M][S]
};

Transforms Of(ConvAlgorithm algorithm) {
  if (algorithm == ConvAlgorithm::kWinograd2)
    return {{{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
            {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
            {{1, 1, 1, 0}, {0, 1, -1, 1}}};
  const double p = 5.0 / 8, q = 3.0 / 2, pp = p * p, qq = q * q;
  const double at_p = 1 / (2 * pp * (pp - qq)), at_q = 1 / (2 * qq * (qq - pp));
  return {{{1 / (pp * qq), 0, 0},
           {at_p, at_p * p, at_p * pp},
           {at_p, -at_p * p, at_p * pp},
           {at_q, at_q * q, at_q * qq},
           {at_q, -at_q * q, at_q * qq},
           {0, 0, 1}},
          {{pp * qq, 0, -pp - qq, 0, 1, 0},
           {0, -qq * p, -qq, p, 1, 0},
           {0, qq * p, -qq, -p, 1, 0},
           {0, -pp * q, -pp, q, 1, 0},
           {0, pp * q, -pp, -q, 1, 0},
           {0, pp * qq, 0, -pp - qq, 0, 1}},
          {{1, 1, 1, 1, 1, 0}, {0, p, -p, q, -q, 0}, {0, pp, pp, qq, qq, 0}, {0, p * pp, -p * pp, q * qq, -q * qq, 1}}};
}

// m x m^T, or |m| |x| |m|^T
Matrix Sandwich(const Matrix& m, const Matrix& x, bool magnitudes) {
  const auto value = [&](double v) { return magnitudes ? std::abs(v) : v; };
  const std::size_t rows = m.size(), inner = x.size();
  Matrix half(rows, std::vector<double>(inner)), out(rows, std::vector<double>(rows));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < inner; ++j)
      for (std::size_t k = 0; k < inner; ++k) half[i][j] += value(m[i][k]) * value(x[k][j]);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j)
      for (std::size_t k = 0; k < inner; ++k) out[i][j] += half[i][k] * value(m[j][k]);
  return out;
}

// What rounding can do to each output, channels first, in units of 2^-24; x and w channels first.
std::vector<double> Bounds(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w) {
  const Transforms t = Of(s.algorithm);
  const auto m = static_cast<int64_t>(t.a.size()), span = m + 2;
  const int64_t pixels = s.out[1] * s.out[2];
  std::vector<double> bounds(static_cast<std::size_t>(s.batch * s.out_channels * pixels));
  const auto tile_of = [&](int64_t n, int64_t c, int64_t row, int64_t column) {
    Matrix d(static_cast<std::size_t>(span), std::vector<double>(static_cast<std::size_t>(span)));
    for (int64_t i = 0; i < span; ++i)
      for (int64_t j = 0; j < span; ++j) {
        const int64_t h = row + i - s.pad_begin[1], v = column + j - s.pad_begin[2];
        if (h >= 0 && h < s.in[1] && v >= 0 && v < s.in[2])
          d[i][j] = x[((n * s.in_channels + c) * s.in[1] + h) * s.in[2] + v];
      }
    return d;
  };
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t row = 0; row < s.out[1]; row += m)
      for (int64_t column = 0; column < s.out[2]; column += m)
        for (int64_t o = 0; o < s.out_channels; ++o) {
          Matrix sum(static_cast<std::size_t>(span), std::vector<double>(static_cast<std::size_t>(span)));
          for (int64_t c = 0; c < s.in_channels; ++c) {
            const Matrix d = tile_of(n, c, row, column);
            Matrix kernel(3, std::vector<double>(3));
            for (int64_t k = 0; k < 9; ++k) kernel[k / 3][k % 3] = w[(o * s.in_channels + c) * 9 + k];
            const Matrix u = Sandwich(t.g, kernel, false), v = Sandwich(t.b, d, false), rough = Sandwich(t.b, d, true);
            for (int64_t i = 0; i < span; ++i)
              for (int64_t j = 0; j < span; ++j)
                sum[i][j] += std::abs(u[i][j]) *
                             ((static_cast<double>(s.in_channels) + 10) * std::abs(v[i][j]) + 8 * rough[i][j]);
          }
          const Matrix out = Sandwich(t.a, sum, true);
          for (int64_t i = 0; i < std::min(m, s.out[1] - row); ++i)
            for (int64_t j = 0; j < std::min(m, s.out[2] - column); ++j)
              bounds[(n * s.out_channels + o) * pixels + (row + i) * s.out[2] + column + j] = out[i][j];
        }
  return bounds;
}

constexpr Case kCases[] = {
    {"a tile and a bit", 1, 5, 3, 1, {1, 5, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"one position", 1, 4, 18, 1, {1, 1, 1}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"whole vectors", 1, 16, 32, 1, {1, 12, 16}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"odd everything", 2, 19, 37, 1, {1, 11, 13}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"no pads", 1, 8, 9, 1, {1, 9, 8}, {1, 3, 3}},
    {"pads beyond the kernel", 1, 3, 4, 1, {1, 3, 2}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 4, 5}, {0, 3, 6}},
    {"uneven pads", 1, 7, 20, 1, {1, 6, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 2}, {0, 1, 0}},
    {"several blocks", 1, 6, 33, 1, {1, 40, 50}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {"few tiles, many panels", 1, 20, 100, 1, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
};

// x, w: channels first. `extras` as in conv_test.cpp.
void Check(const Case& c, const std::vector<float>& x, const std::vector<float>& w) {
  ConvShape s = Shape(c, false);
  ASSERT_TRUE(WinogradFits(s)) << c.name;
  const int64_t pixels = Volume(s.out);
  const auto bias = Random(static_cast<std::size_t>(s.out_channels), 3);
  const auto residual = Random(static_cast<std::size_t>(s.batch * s.out_channels * pixels), 4);
  const Sums want = Reference(s, false, x, w);
  Serial serial;
  ThreeInTurn threads;
  int run = 0;
  for (const ConvAlgorithm algorithm : {ConvAlgorithm::kWinograd2, ConvAlgorithm::kWinograd4}) {
    s.algorithm = algorithm;
    const auto bounds = Bounds(s, x, w);
    for (const TileF32Set* set : Sets())
      for (const ImageLayout in : {kFirst, kLast})
        for (const ImageLayout out : {kFirst, kLast})
          for (const Extras extras : {Extras::kNone, Extras::kAll, Extras::kResidualIsY}) {
            SCOPED_TRACE(std::string(c.name) + " F" + std::to_string(2 * static_cast<int>(algorithm)) + " " +
                         std::string(Name(set->isa)) + (in == kFirst ? " first" : " last") +
                         (out == kFirst ? " to first" : " to last") + " extras " +
                         std::to_string(static_cast<int>(extras)));
            s.in_layout = in, s.out_layout = out;
            Epilogue e;
            if (extras != Extras::kNone) {
              e.alpha = 0.5f, e.bias_scale = 2, e.bias_n = bias.data(), e.beta = -1;
              e.activation.kind = extras == Extras::kAll ? UnaryKind::kRelu : UnaryKind::kTanh;
            }
            Parallel& parallel = run++ % 2 == 0 ? static_cast<Parallel&>(serial) : threads;
            const auto y = Convolve(s, false, x, w, residual, e, extras, *set, parallel);
            for (int64_t i = 0; i < s.batch * s.out_channels * pixels; ++i) {
              const int64_t n = i / (s.out_channels * pixels), channel = i / pixels % s.out_channels;
              double value = want.sum[i], extra = 0;
              if (extras != Extras::kNone) {
                value = 0.5 * value + 2.0 * bias[channel] - residual[i];
                extra = 2 * std::abs(bias[channel]) + std::abs(residual[i]);
              }
              // Without FMA every multiplication rounds, too.
              const double bound = (2 * bounds[i] + 8 * extra) * 0x1p-24 + 4e-7;
              ASSERT_NEAR(y[At(out, s.out_channels, pixels, n, channel, i % pixels)], Activated(value, e.activation),
                          bound)
                  << "element " << i;
            }
          }
  }
}

TEST(Winograd, EveryFormInEveryLayoutOnEveryIsa) {
  for (const Case& c : kCases)
    Check(c, Random(static_cast<std::size_t>(c.batch * c.in_channels * Volume(c.in)), 1),
          Random(static_cast<std::size_t>(c.in_channels * c.out_channels * 9), 2));
}

TEST(Winograd, BadlyScaledChannelsKeepTheBound) {
  const Case c = {"scaled", 1, 21, 10, 1, {1, 9, 10}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}};
  auto x = Random(static_cast<std::size_t>(c.in_channels * Volume(c.in)), 1);
  auto w = Random(static_cast<std::size_t>(c.in_channels * c.out_channels * 9), 2);
  const auto scale = [](int64_t channel) { return std::pow(10.0f, static_cast<float>(channel % 7 - 3)); };
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= scale(static_cast<int64_t>(i) / Volume(c.in));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] /= scale(static_cast<int64_t>(i) / 9 % c.in_channels);
  Check(c, x, w);
}

// The header says how the error compares with a direct sum on usual data; beside it stands what is measured.
TEST(Winograd, UsualDataLosesLittleAgainstTheDirectSum) {
  ConvShape s = Shape({"", 1, 128, 32, 1, {1, 14, 14}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, false);
  constexpr std::size_t kPixels = 196, kIn = 128, kOut = 32;
  const auto x = Random(kIn * kPixels, 1), w = Random(kOut * kIn * 9, 2), residual = Random(kOut * kPixels, 3);
  const Sums want = Reference(s, false, x, w);
  Serial serial;
  for (const TileF32Set* set : Sets()) {
    const auto error = [&](ConvAlgorithm algorithm) {
      s.algorithm = algorithm;
      const auto y = Convolve(s, false, x, w, residual, {}, Extras::kNone, *set, serial);
      double worst = 0;
      for (std::size_t i = 0; i < y.size(); ++i) worst = std::max(worst, std::abs(y[i] - want.sum[i]));
      return worst;
    };
    const double direct = error(ConvAlgorithm::kDirect);
    EXPECT_LT(error(ConvAlgorithm::kWinograd2), 1.5 * direct) << Name(set->isa);
    EXPECT_LT(error(ConvAlgorithm::kWinograd4), 4 * direct) << Name(set->isa);
  }
}

TEST(Winograd, BitsDoNotDependOnThreads) {
  Serial serial;
  ThreeInTurn threads;
  constexpr std::size_t kIn = 40, kOut = 70;
  const auto w = Random(kIn * kOut * 9, 2);
  for (const int64_t size : {40, 9})
    for (const ConvAlgorithm algorithm : {ConvAlgorithm::kWinograd2, ConvAlgorithm::kWinograd4}) {
      ConvShape s =
          Shape({"", 1, 40, 70, 1, {1, size, size}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, false);
      s.algorithm = algorithm;
      const auto pixels = static_cast<std::size_t>(size * size);
      const auto x = Random(kIn * pixels, 1), residual = Random(kOut * pixels, 3);
      for (const TileF32Set* set : Sets())
        EXPECT_EQ(Convolve(s, false, x, w, residual, {}, Extras::kAll, *set, serial),
                  Convolve(s, false, x, w, residual, {}, Extras::kAll, *set, threads));
    }
}

TEST(Winograd, PartsOfWiderImages) {
  ThreeInTurn threads;
  for (const Case& c : kCases) {
    ConvShape s = Shape(c, false);
    s.in_layout = s.out_layout = kLast;
    const auto x = Random(static_cast<std::size_t>(s.batch * s.in_channels * Volume(s.in)), 1);
    const auto w = Random(static_cast<std::size_t>(s.in_channels * s.out_channels * 9), 2);
    const auto residual = Random(static_cast<std::size_t>(s.batch * s.out_channels * Volume(s.out)), 4);
    Epilogue e;
    e.activation.kind = UnaryKind::kTanh;
    for (const ConvAlgorithm algorithm : {ConvAlgorithm::kWinograd2, ConvAlgorithm::kWinograd4}) {
      s.algorithm = algorithm;
      ConvShape wide = s;
      wide.in_pixel = s.in_channels + 3, wide.out_pixel = s.out_channels + 5, wide.residual_pixel = s.out_channels + 1;
      for (const TileF32Set* set : Sets())
        for (const Extras extras : {Extras::kNone, Extras::kAll, Extras::kResidualIsY})
          EXPECT_EQ(Convolve(s, false, x, w, residual, e, extras, *set, threads),
                    Convolve(wide, false, x, w, residual, e, extras, *set, threads))
              << c.name;
    }
  }
}

TEST(Winograd, IsChosenWhereItPays) {
  const auto choice = [](int64_t in, int64_t out, int64_t size, Case c = {}) {
    c.batch = 1, c.in_channels = in, c.out_channels = out, c.groups = 1, c.in = {1, size, size}, c.kernel = {1, 3, 3};
    c.pad_begin = c.pad_end = {0, 1, 1};
    ConvShape s = Shape(c, false);
    if (size == 0) s.out = {1, 0, 0};
    return ChooseConvF32Algorithm(s);
  };
  EXPECT_EQ(choice(64, 64, 56), ConvAlgorithm::kWinograd4);
  EXPECT_EQ(choice(256, 256, 14), ConvAlgorithm::kWinograd2);
  EXPECT_EQ(choice(512, 512, 7), ConvAlgorithm::kDirect);
  EXPECT_EQ(choice(3, 64, 56), ConvAlgorithm::kDirect);
  EXPECT_EQ(choice(64, 64, 0), ConvAlgorithm::kWinograd4);
  EXPECT_EQ(choice(1024, 512, 0), ConvAlgorithm::kWinograd2);
  EXPECT_EQ(choice(64, 64, 56, {.stride = {1, 2, 2}}), ConvAlgorithm::kDirect);
  EXPECT_EQ(choice(64, 64, 56, {.dilation = {1, 2, 2}}), ConvAlgorithm::kDirect);
}

}  // namespace
}  // namespace sardonyx::kernels
