// kernels/nbits/nbits_test.cpp - products with packed weights against float64, on every ISA this machine has.
#include "kernels/nbits/nbits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/float_control.h"
#include "base/small_float.h"
#include "kernels/gemm/kernel_test.h"
#include "kernels/nbits/nbits_tile.h"

namespace sardonyx::kernels {
namespace {

struct Problem {
  NBitsShape shape;
  std::vector<std::uint8_t> q;
  std::vector<float> scales, zeros, a, bias;
  std::vector<double> weights;  // [n, k]

  Problem(NBitsShape s, int64_t m, std::uint32_t seed) : shape(s) {
    std::mt19937 engine(seed);
    const int64_t blocks = s.blocks(), blob = s.block * s.bits / 8;
    q.resize(static_cast<std::size_t>(s.n * blocks * blob));
    for (std::uint8_t& byte : q) byte = static_cast<std::uint8_t>(engine());
    scales = Random(static_cast<std::size_t>(s.n * blocks), seed + 1);
    if (s.half_scales) {
      for (float& scale : scales) scale = static_cast<float>(Half(scale));
    }
    zeros.assign(scales.size(), static_cast<float>(1 << (s.bits - 1)));
    if (s.has_zeros) {
      for (float& zero : zeros) zero = static_cast<float>(engine() % (1u << s.bits));
    }
    a = Random(static_cast<std::size_t>(m * s.k), seed + 2);
    bias = Random(static_cast<std::size_t>(s.n), seed + 3);
    for (int64_t n = 0; n < s.n; ++n) {
      for (int64_t k = 0; k < s.k; ++k) {
        const auto i = static_cast<std::size_t>(n * blocks + k / s.block);
        const int64_t bit = k * s.bits;
        const int value = (q[static_cast<std::size_t>(n * blocks * blob + bit / 8)] >> (bit % 8)) & ((1 << s.bits) - 1);
        weights.push_back((value - static_cast<double>(zeros[i])) * static_cast<double>(scales[i]));
      }
    }
  }
};

// The largest error, relative to the sum of |a w| of each element.
double ErrorOf(const Problem& p, int64_t m, bool int8, const NBitsSet& set, const TileF32Set& tiles, Parallel& parallel,
               std::vector<float>* y) {
  Scratch packed(NBitsPackedBytes(p.shape, &set));
  PackNBits(p.shape, {p.q.data(), p.scales.data(), p.zeros.data()}, packed.data(), parallel, &set);
  y->assign(static_cast<std::size_t>(m * p.shape.n), -99);
  NBitsArgs g;
  g.shape = p.shape, g.packed = packed.data(), g.m = m, g.a = p.a.data(), g.lda = p.shape.k, g.y = y->data();
  g.ldy = p.shape.n, g.bias = p.bias.data(), g.int8_activations = int8, g.set = &set, g.tiles = &tiles;
  Scratch scratch(NBitsScratchBytes(g, parallel.ThreadCount()));
  MultiplyNBits(g, parallel, scratch.data());
  double worst = 0;
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t n = 0; n < p.shape.n; ++n) {
      double sum = static_cast<double>(p.bias[static_cast<std::size_t>(n)]), size = std::abs(sum);
      for (int64_t k = 0; k < p.shape.k; ++k) {
        const double term = static_cast<double>(p.a[static_cast<std::size_t>(r * p.shape.k + k)]) *
                            p.weights[static_cast<std::size_t>(n * p.shape.k + k)];
        sum += term;
        size += std::abs(term);
      }
      const double got = static_cast<double>((*y)[static_cast<std::size_t>(r * p.shape.n + n)]);
      worst = std::max(worst, std::abs(got - sum) / size);
    }
  }
  return worst;
}

template <typename F>
void ForEachIsa(F f) {
  for (const Isa isa : SupportedIsas()) f(NBitsOf(isa), TilesF32(isa));
}

TEST(NBits, MatchesFloat64ForAllBitsBlocksAndEdges) {
  for (const int bits : {2, 4, 8}) {
    for (const int64_t block : {16, 32, 128}) {
      for (const bool zeros : {false, true}) {
        for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 29}) {
          const Problem p({.n = 37, .k = 200, .block = block, .bits = bits, .has_zeros = zeros}, m, 11);
          ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
            Serial serial;
            std::vector<float> y;
            EXPECT_LT(ErrorOf(p, m, false, set, tiles, serial, &y), 1e-6)
                << Name(set.isa) << " bits " << bits << " block " << block << " rows " << m;
          });
        }
      }
    }
  }
}

TEST(NBits, RoundsActivationsToBytesWhereAllowed) {
  for (const int bits : {2, 4, 8}) {
    for (const bool zeros : {false, true}) {
      for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 19, 64, 65, 66, 67, 69}) {
        const Problem p({.n = 40, .k = 300, .block = 32, .bits = bits, .has_zeros = zeros}, m, 4);
        ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
          Serial serial;
          std::vector<float> y;
          // Each element of a is off by at most 1/254 of its block's largest.
          EXPECT_LT(ErrorOf(p, m, true, set, tiles, serial, &y), 4e-3) << Name(set.isa) << " bits " << bits;
        });
      }
    }
  }
}

TEST(NBits, TakesTwoPanelsAtOnceWhateverTheColumns) {
  for (const int64_t n : {1, 15, 16, 17, 31, 32, 33, 47, 48, 70}) {
    const Problem p({.n = n, .k = 320, .block = 32, .bits = 4, .has_zeros = n % 2 == 0}, 67, 5);
    ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
      Serial serial;
      ThreeInTurn three;
      std::vector<float> once, again;
      EXPECT_LT(ErrorOf(p, 67, true, set, tiles, serial, &once), 4e-3) << Name(set.isa) << " columns " << n;
      ErrorOf(p, 67, true, set, tiles, three, &again);
      EXPECT_EQ(once, again) << Name(set.isa) << " columns " << n;
    });
  }
}

// Where bytes have no instruction of their own, their products are added in 16 bits.
TEST(NBits, AddsTheLargestBytesWithoutSaturation) {
  for (const int bits : {2, 4, 8}) {
    for (const std::uint8_t byte : {0x00, 0xFF}) {
      for (const int64_t block : {16, 32, 64, 256}) {
        Problem p({.n = 9, .k = 512, .block = block, .bits = bits}, 3, 12);
        std::fill(p.q.begin(), p.q.end(), byte);
        std::fill(p.scales.begin(), p.scales.end(), 1.0f);
        std::fill(p.bias.begin(), p.bias.end(), 0.0f);
        std::fill_n(p.a.begin(), 512, 127.0f);
        std::fill_n(p.a.begin() + 512, 512, -127.0f);
        const int weight = byte & ((1 << bits) - 1), middle = 1 << (bits - 1);
        ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
          Serial serial;
          std::vector<float> y;
          ErrorOf(p, 3, true, set, tiles, serial, &y);
          EXPECT_EQ(y[8], static_cast<float>(512 * 127 * (weight - middle))) << Name(set.isa) << " bits " << bits;
          EXPECT_EQ(y[9], static_cast<float>(-512 * 127 * (weight - middle))) << Name(set.isa) << " bits " << bits;
        });
      }
    }
  }
}

TEST(NBits, GivesTheSameBitsWithScalesOf16Bits) {
  for (const int bits : {2, 4, 8}) {
    for (const int64_t block : {16, 32, 64, 128}) {
      for (const bool zeros : {false, true}) {
        for (const int64_t m : {1, 3, 8, 17, 67}) {
          const NBitsShape shape{
              .n = 37, .k = 200, .block = block, .bits = bits, .has_zeros = zeros, .half_scales = true};
          const Problem halves(shape, m, 7);
          Problem floats = halves;
          floats.shape.half_scales = false;
          for (const bool int8 : {false, true}) {
            ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
              EXPECT_LT(NBitsPackedBytes(halves.shape, &set), NBitsPackedBytes(floats.shape, &set));
              Serial serial;
              std::vector<float> got, want;
              EXPECT_LT(ErrorOf(halves, m, int8, set, tiles, serial, &got), int8 ? 4e-3 : 1e-6)
                  << Name(set.isa) << " bits " << bits << " block " << block << " rows " << m;
              ErrorOf(floats, m, int8, set, tiles, serial, &want);
              EXPECT_EQ(got, want) << Name(set.isa) << " bits " << bits << " block " << block << " rows " << m;
            });
          }
        }
      }
    }
  }
}

TEST(NBits, ReadsDenormalScalesOf16BitsWhereDenormalFloatsAreZeros) {
  const NBitsShape shape{.n = 37, .k = 200, .has_zeros = true, .half_scales = true};
  for (const int64_t m : {1, 8, 67}) {
    Problem halves(shape, m, 7);
    for (float& scale : halves.scales) scale = static_cast<float>(Half(scale * 1e-6f));
    Problem floats = halves;
    floats.shape.half_scales = false;
    for (const bool int8 : {false, true}) {
      ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
        const FloatControlScope scope(WithoutDenormals(FloatControl()));
        Serial serial;
        std::vector<float> got, want;
        ErrorOf(halves, m, int8, set, tiles, serial, &got);
        ErrorOf(floats, m, int8, set, tiles, serial, &want);
        EXPECT_EQ(got, want) << Name(set.isa) << " rows " << m;
      });
    }
  }
}

TEST(NBits, KnowsWhetherScalesFitIn16Bits) {
  const NBitsShape shape{.n = 100, .k = 320, .block = 32, .bits = 4, .has_zeros = true};
  std::vector<float> scales(1000, 0.5f), zeros(1000, 3.0f);
  const auto fit = [&] {
    ThreeInTurn three;
    return NBitsScalesFitHalf(shape, {nullptr, scales.data(), zeros.data()}, three);
  };
  const std::pair<float, bool> rows[] = {{-0.0f, true},         {0x1p-24f, true},  // the smallest
                                         {0x1.8p-24f, false},   {0x1.004p-14f, true},
                                         {0x1.002p-14f, false}, {65504.0f, true},  // the largest
                                         {65536.0f, false},     {std::numeric_limits<float>::infinity(), true},
                                         {0.1f, false}};
  for (const auto& [value, expected] : rows) {
    for (const std::size_t at : {0, 500, 999}) {
      scales[at] = value;
      EXPECT_EQ(fit(), expected) << value;
      scales[at] = 0.5f;
      EXPECT_TRUE(fit());
    }
  }
  zeros[999] = 7.75f;
  EXPECT_TRUE(fit());
  zeros[999] = 0.1f;
  EXPECT_FALSE(fit());
}

TEST(NBits, ScratchMemoryOfManyRowsIsEnoughForFewer) {
  ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
    for (const int64_t k : {48, 4096, 14336}) {
      for (const bool int8 : {false, true}) {
        std::size_t most = 0;
        for (int64_t m = 1; m < 40; ++m) {
          NBitsArgs g;
          g.shape = {.n = 64, .k = k}, g.m = m, g.int8_activations = int8, g.set = &set, g.tiles = &tiles;
          most = std::max(most, NBitsScratchBytes(g, 2));
          EXPECT_GE(NBitsScratchBytes(g, 2), most) << Name(set.isa) << " rows " << m << " of " << k;
        }
      }
    }
  });
}

TEST(NBits, WidensLongRowsInPieces) {
  const Problem p({.n = 33, .k = 2500, .block = 64, .bits = 4, .has_zeros = true}, 17, 6);
  ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
    Serial serial;
    std::vector<float> y;
    EXPECT_LT(ErrorOf(p, 17, false, set, tiles, serial, &y), 1e-6) << Name(set.isa);
  });
}

TEST(NBits, HasTheSameBitsForAnyNumberOfThreads) {
  for (const bool int8 : {false, true}) {
    for (const int64_t m : {1, 12}) {
      const Problem p({.n = 700, .k = 640, .block = 32, .bits = 4}, m, 9);
      ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
        Serial serial;
        ThreeInTurn three;
        std::vector<float> once, again;
        ErrorOf(p, m, int8, set, tiles, serial, &once);
        ErrorOf(p, m, int8, set, tiles, three, &again);
        EXPECT_EQ(once, again) << Name(set.isa);
      });
    }
  }
}

TEST(NBits, GivesARowTheSameBitsForAnyNumberOfRowsWhereAsked) {
  constexpr int64_t kRows = 70;
  for (const bool int8 : {false, true}) {
    for (const int bits : {2, 4, 8}) {
      const Problem p({.n = 50, .k = 320, .block = 32, .bits = bits, .has_zeros = bits == 4}, kRows, 9);
      ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
        Serial serial;
        Scratch packed(NBitsPackedBytes(p.shape, &set));
        PackNBits(p.shape, {p.q.data(), p.scales.data(), p.zeros.data()}, packed.data(), serial, &set);
        const auto product = [&](int64_t m) {
          std::vector<float> y(static_cast<std::size_t>(m * p.shape.n));
          NBitsArgs g;
          g.shape = p.shape, g.packed = packed.data(), g.m = m, g.a = p.a.data(), g.lda = p.shape.k, g.y = y.data();
          g.ldy = p.shape.n, g.int8_activations = int8, g.same_rows = true, g.set = &set, g.tiles = &tiles;
          Scratch scratch(NBitsScratchBytes(g, 1));
          MultiplyNBits(g, serial, scratch.data());
          return y;
        };
        const std::vector<float> all = product(kRows);
        for (const int64_t m : {1, 2, 3, 5, 8, 9, 19}) {
          const std::vector<float> want(all.begin(), all.begin() + m * p.shape.n);
          EXPECT_EQ(product(m), want) << Name(set.isa) << " bits " << bits << " int8 " << int8 << " rows " << m;
        }
      });
    }
  }
}

TEST(NBits, KeepsZerosAndNanOfActivations) {
  Problem p({.n = 18, .k = 64, .block = 32, .bits = 4}, 2, 9);
  std::fill_n(p.a.begin(), 64, 0.0f);
  ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
    Serial serial;
    std::vector<float> y;
    ErrorOf(p, 2, true, set, tiles, serial, &y);
    for (std::size_t n = 0; n < 18; ++n) EXPECT_EQ(y[n], p.bias[n]) << Name(set.isa);
  });
  p.a[3] = std::nanf("");
  ForEachIsa([&](const NBitsSet& set, const TileF32Set& tiles) {
    Serial serial;
    std::vector<float> y;
    ErrorOf(p, 2, true, set, tiles, serial, &y);
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[17])) << Name(set.isa);
    EXPECT_FALSE(std::isnan(y[18])) << Name(set.isa);
  });
}

}  // namespace
}  // namespace sardonyx::kernels
