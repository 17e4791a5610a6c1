// kernels/gemm/gemm_split_test.cpp - f32 products on parts in bf16: as exact as f32 products, and left to those where
// they would not be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Matrices {
  int64_t m, n, k;
  std::vector<float> a, b;
};

Matrices RandomMatrices(int64_t m, int64_t n, int64_t k) {
  return {m, n, k, Random(static_cast<std::size_t>(m * k), 1), Random(static_cast<std::size_t>(k * n), 2)};
}

std::vector<float> Multiply(const Matrices& x, const TileF32Set& set, bool packed, Parallel& parallel) {
  std::vector<float> y(static_cast<std::size_t>(x.m * x.n));
  GemmF32Args g;
  g.m = x.m, g.n = x.n, g.k = x.k, g.tiles = &set;
  g.a = x.a.data(), g.lda = x.k, g.b = x.b.data(), g.ldb = x.n, g.c = y.data(), g.ldc = x.n;
  Scratch copy(GemmF32PackedCount(x.k, x.n, &set) * sizeof(float));
  if (packed) {
    auto* panels = reinterpret_cast<float*>(copy.data());
    PackGemmF32B(x.k, x.n, x.b.data(), x.n, false, panels, parallel, &set);
    g.packed_b = panels;
  }
  Scratch scratch(GemmF32ScratchBytes(g, parallel.ThreadCount()));
  GemmF32(g, parallel, scratch.data());
  return y;
}

struct Errors {
  double largest, mean;  // relative to the sum of magnitudes
};
Errors ErrorsOf(const Matrices& x, const std::vector<float>& y) {
  Errors e = {0, 0};
  for (int64_t i = 0; i < x.m; ++i)
    for (int64_t j = 0; j < x.n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < x.k; ++p) {
        const double term = static_cast<double>(x.a[i * x.k + p]) * x.b[p * x.n + j];
        sum += term, magnitude += std::abs(term);
      }
      const double error = magnitude == 0 ? 0 : std::abs(y[i * x.n + j] - sum) / magnitude;
      e.largest = std::max(e.largest, error), e.mean += error / static_cast<double>(x.m * x.n);
    }
  return e;
}

// No worse than twice the error of the f32 tiles, whatever the numbers look like.
void ExpectAsExactAsFloats(const Matrices& x) {
  const TileF32Set* split = SplitSetForTests();
  if (split == nullptr) GTEST_SKIP() << "this CPU has no AVX-512";
  Serial serial;
  for (const bool packed : {false, true}) {
    const Errors of_parts = ErrorsOf(x, Multiply(x, *split, packed, serial));
    const Errors of_floats = ErrorsOf(x, Multiply(x, TilesF32(Isa::avx512), packed, serial));
    EXPECT_LE(of_parts.largest, 2 * of_floats.largest + 0x1p-24);
    EXPECT_LE(of_parts.mean, 2 * of_floats.mean + 0x1p-28);
    EXPECT_LT(of_parts.largest, 0x1p-20);
  }
}

TEST(GemmSplit, RandomNumbersAreAsExactAsFloats) {
  for (const int64_t k : {32, 33, 34, 63, 100, 768, 1025, 2100}) ExpectAsExactAsFloats(RandomMatrices(37, 70, k));
  for (const int64_t m : {16, 17, 31, 32, 33, 48, 65}) ExpectAsExactAsFloats(RandomMatrices(m, 49, 50));
}

TEST(GemmSplit, BadlyScaledNumbersAreAsExactAsFloats) {
  Matrices x = RandomMatrices(40, 64, 200);
  for (int64_t i = 0; i < x.m; ++i)
    for (int64_t p = 0; p < x.k; ++p) x.a[i * x.k + p] *= std::exp2(static_cast<float>((i * 7 + p * 5) % 37 - 18));
  for (int64_t p = 0; p < x.k; ++p)
    for (int64_t j = 0; j < x.n; ++j) x.b[p * x.n + j] *= std::exp2(static_cast<float>(j % 41 - 20));
  ExpectAsExactAsFloats(x);
}

TEST(GemmSplit, SumsThatCancelAreAsExactAsFloats) {
  Matrices x = RandomMatrices(33, 64, 128);
  for (int64_t i = 0; i < x.m; ++i)
    for (int64_t p = 1; p < x.k; p += 2) x.a[i * x.k + p] = -x.a[i * x.k + p - 1] * (1 + 0x1p-20f);
  for (int64_t p = 1; p < x.k; p += 2) std::copy_n(&x.b[(p - 1) * x.n], x.n, &x.b[p * x.n]);
  ExpectAsExactAsFloats(x);
}

// Those that must not be split: the results are those of the f32 tiles, bit for bit.
TEST(GemmSplit, NumbersBeyondBf16UnitsAreMultipliedAsFloats) {
  const TileF32Set* split = SplitSetForTests();
  if (split == nullptr) GTEST_SKIP() << "this CPU has no AVX-512";
  Serial serial;
  for (const float special : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
    for (const bool in_a : {true, false}) {
      Matrices x = RandomMatrices(40, 96, 64);
      (in_a ? x.a : x.b)[100] = special;
      if (!in_a) std::fill(x.a.begin(), x.a.begin() + 64, 0.0f);  // 0 * Inf
      const auto y = Multiply(x, *split, true, serial), floats = Multiply(x, TilesF32(Isa::avx512), true, serial);
      const int64_t columns = in_a ? x.n : 32;  // the panels of B without the number may be split
      for (int64_t i = 0; i < x.m; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t at = i * x.n + j;
          EXPECT_EQ(std::memcmp(&y[at], &floats[at], 4), 0) << special << ": " << y[at] << " for " << floats[at];
        }
    }
  }
  for (const float scale : {0x1p-100f, 0x1p-60f, 0x1p-145f}) {
    Matrices x = RandomMatrices(40, 96, 64);
    for (float& v : x.a) v *= scale;
    for (float& v : x.b) v *= 0x1p-30f;
    const auto y = Multiply(x, *split, true, serial), floats = Multiply(x, TilesF32(Isa::avx512), true, serial);
    EXPECT_EQ(std::memcmp(y.data(), floats.data(), y.size() * sizeof(float)), 0) << scale;
  }
}

TEST(GemmSplit, BitsDoNotDependOnThreads) {
  const TileF32Set* split = SplitSetForTests();
  if (split == nullptr) GTEST_SKIP() << "this CPU has no AVX-512";
  Serial serial;
  ThreeInTurn threads;
  for (const bool packed : {false, true}) {
    const Matrices x = RandomMatrices(150, 200, 170);
    EXPECT_EQ(Multiply(x, *split, packed, serial), Multiply(x, *split, packed, threads));
  }
}

TEST(GemmSplit, NumbersOfFewBitsHaveFewParts) {
  const TileF32Set* set = SplitSetForTests();
  if (set == nullptr) GTEST_SKIP() << "this CPU has no AVX-512";
  for (const int bits : {8, 11, 24}) {
    std::vector<float> x = Random(100, 7);
    for (float& v : x) {
      int exponent = 0;
      v = std::ldexp(std::round(std::ldexp(std::frexp(v, &exponent), bits)), exponent - bits);
    }
    std::vector<std::uint16_t> parts(300);
    const SplitFacts facts = set->split->split(100, x.data(), parts.data(), 100);
    EXPECT_EQ(facts.Parts(), bits == 8 ? 1 : bits == 11 ? 2 : 3);
    for (std::size_t i = 0; i < x.size(); ++i) {
      double sum = 0;
      for (std::size_t p = 0; p < 3; ++p) {
        const std::uint32_t part = std::uint32_t{parts[p * 100 + i]} << 16;
        float value;
        std::memcpy(&value, &part, 4);
        sum += value;
      }
      EXPECT_EQ(sum, x[i]);
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
