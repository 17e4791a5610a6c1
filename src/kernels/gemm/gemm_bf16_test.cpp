// kernels/gemm/gemm_bf16_test.cpp - f32 products on units for bf16: the sums of rounded numbers, and only where they
// may be rounded or are bf16 already.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x); }
float Rounded(float x) { return std::isnan(x) ? x : std::bit_cast<float>((Bits(x) + 0x8000) & 0xFFFF0000); }

struct Case {
  std::int64_t m, n, k;
  enum { kPacked, kHalves, kRowMajor } b = kPacked;
  bool epilogue = false;
};

struct Data {
  std::vector<float> a, b, bias, residual;
};

Data MakeData(const Case& c) {
  return {Random(static_cast<std::size_t>(c.m * c.k), 1), Random(static_cast<std::size_t>(c.k * c.n), 2),
          Random(static_cast<std::size_t>(c.n), 3), Random(static_cast<std::size_t>(c.m * c.n), 4)};
}

std::vector<float> Multiply(const Case& c, const Data& d, const TileF32Set& set, bool rounds, Parallel& parallel) {
  std::vector<float> y(static_cast<std::size_t>(c.m * c.n));
  GemmF32Args g;
  g.m = c.m, g.n = c.n, g.k = c.k, g.tiles = &set, g.rounds_to_bf16 = rounds;
  g.a = d.a.data(), g.lda = c.k, g.b = d.b.data(), g.ldb = c.n, g.c = y.data(), g.ldc = c.n;
  Scratch floats(GemmF32PackedCount(c.k, c.n, &set) * sizeof(float)), halves(GemmHalfPackedCount(c.k, c.n, &set) * 2);
  if (c.b == Case::kPacked) {
    auto* panels = reinterpret_cast<float*>(floats.data());
    PackGemmF32B(c.k, c.n, d.b.data(), c.n, false, panels, parallel, &set);
    g.packed_b = panels;
  } else if (c.b == Case::kHalves) {
    std::vector<std::uint16_t> b;
    for (const float x : d.b) b.push_back(static_cast<std::uint16_t>(Bits(Rounded(x)) >> 16));
    auto* panels = reinterpret_cast<std::uint16_t*>(halves.data());
    PackGemmHalfB(c.k, c.n, b.data(), c.n, false, panels, parallel, &set);
    g.packed_half = panels, g.half_kind = HalfKind::kBFloat16;
  }
  if (c.epilogue) {
    g.epilogue.bias_n = d.bias.data();
    g.epilogue.residual = d.residual.data(), g.epilogue.residual_stride = c.n;
    g.epilogue.activation = {UnaryKind::kGelu};
  }
  Scratch scratch(GemmF32ScratchBytes(g, parallel.ThreadCount()));
  GemmF32(g, parallel, scratch.data());
  return y;
}

void ExpectSumsOfRounded(const Case& c, const Data& d, const std::vector<float>& y) {
  for (std::int64_t i = 0; i < c.m; ++i)
    for (std::int64_t j = 0; j < c.n; ++j) {
      double sum = c.epilogue ? double{d.bias[j]} + d.residual[i * c.n + j] : 0, magnitude = std::abs(sum);
      for (std::int64_t p = 0; p < c.k; ++p) {
        const double term = double{Rounded(d.a[i * c.k + p])} * Rounded(d.b[p * c.n + j]);
        sum += term, magnitude += std::abs(term);
      }
      const double want = c.epilogue ? Activated(sum, {UnaryKind::kGelu}) : sum;
      ASSERT_NEAR(y[i * c.n + j], want, static_cast<double>(c.k + 8) * magnitude * 0x1p-24 + 1e-6) << i << ", " << j;
    }
}

TEST(GemmBf16, SumsOfRoundedNumbersInEverySizeOfTile) {
  Serial serial;
  for (const TileF32Set* set : Bf16Sets())
    for (const auto kind : {Case::kPacked, Case::kHalves, Case::kRowMajor}) {
      for (const std::int64_t m : {16, 17, 29, 31, 32, 33, 45, 65})
        for (const std::int64_t n : {96, 97, 110, 128}) {
          const Case c = {m, n, 50, kind};
          const Data d = MakeData(c);
          ExpectSumsOfRounded(c, d, Multiply(c, d, *set, true, serial));
        }
      for (const std::int64_t k : {32, 33, 34, 63, 100, 1025, 2100}) {
        const Case c = {37, 110, k, kind, true};
        const Data d = MakeData(c);
        ExpectSumsOfRounded(c, d, Multiply(c, d, *set, true, serial));
      }
    }
}

TEST(GemmBf16, BitsDoNotDependOnThreads) {
  Serial serial;
  ThreeInTurn threads;
  for (const TileF32Set* set : Bf16Sets())
    for (const auto kind : {Case::kPacked, Case::kHalves, Case::kRowMajor}) {
      const Case c = {150, 200, 170, kind};
      const Data d = MakeData(c);
      EXPECT_EQ(Multiply(c, d, *set, true, serial), Multiply(c, d, *set, true, threads));
    }
}

// Without leave to round, B of bf16 and A of other numbers are multiplied as floats; where A is bf16, too, nothing is
// lost by the faster units.
TEST(GemmBf16, RoundsOnlyWithLeave) {
  Serial serial;
  for (const TileF32Set* set : Bf16Sets()) {
    TileF32Set floats = *set;
    floats.bf16 = nullptr;
    const Case c = {40, 100, 96, Case::kHalves};
    Data d = MakeData(c);
    EXPECT_EQ(Multiply(c, d, *set, false, serial), Multiply(c, d, floats, false, serial));
    for (float& x : d.a) x = Rounded(x);
    EXPECT_EQ(Multiply(c, d, *set, false, serial), Multiply(c, d, *set, true, serial));
    const Case packed = {40, 100, 96, Case::kPacked};
    EXPECT_EQ(Multiply(packed, d, *set, false, serial), Multiply(packed, d, floats, false, serial));
  }
}

TEST(GemmBf16, InfinitiesAndNanStay) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Serial serial;
  for (const TileF32Set* set : Bf16Sets())
    for (const float special : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0x7F800001u),
                                std::bit_cast<float>(0xFFFFFFFFu)}) {
      const Case c = {32, 100, 64};
      Data d = MakeData(c);
      d.a[3 * c.k + 5] = special;
      d.b[7 * c.n + 40] = special;
      const auto y = Multiply(c, d, *set, true, serial);
      for (std::int64_t i = 0; i < c.m; ++i)
        for (std::int64_t j = 0; j < c.n; ++j) {
          const float at = y[i * c.n + j];
          if (i != 3 && j != 40)
            EXPECT_TRUE(std::isfinite(at));
          else if (std::isnan(special))
            EXPECT_TRUE(std::isnan(at)) << i << ", " << j;
          else
            EXPECT_FALSE(std::isfinite(at)) << i << ", " << j;
        }
    }
}

}  // namespace
}  // namespace sardonyx::kernels
