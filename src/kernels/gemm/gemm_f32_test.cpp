// kernels/gemm/gemm_f32_test.cpp - f32 GEMM on every ISA of this CPU against float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/float_control.h"
#include "base/small_float.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

struct Case {
  int64_t m, n, k;
  bool trans_a = false, trans_b = false, packed = false;
  bool epilogue = true;
  UnaryKind activation = UnaryKind::kNone;
};

std::string Describe(const Case& c, const TileF32Set& set) {
  return std::string(Name(set.isa)) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
         std::to_string(c.k) + (c.trans_a ? " A^T" : "") + (c.trans_b ? " B^T" : "") + (c.packed ? " packed" : "");
}

constexpr float kCanary = 12345.0f;

// One product with strides wider than its rows; compares each element with float64, and the gaps with the canary.
void Check(const Case& c, const TileF32Set& set, Parallel& parallel) {
  SCOPED_TRACE(Describe(c, set));
  const int64_t lda = (c.trans_a ? c.m : c.k) + (c.k % 1024 == 0 ? 0 : 3),
                ldb = (c.trans_b ? c.k : c.n) + (c.n == 1 && !c.trans_b ? 0 : 5);
  const int64_t ldc = c.n == 1 ? 1 : c.n + 2;
  const auto a = Random(static_cast<std::size_t>((c.trans_a ? c.k : c.m) * lda + 1), 1);
  const auto b = Random(static_cast<std::size_t>((c.trans_b ? c.n : c.k) * ldb + 1), 2);
  const auto bias_n = Random(static_cast<std::size_t>(c.n), 3), bias_m = Random(static_cast<std::size_t>(c.m), 4);
  const auto residual = Random(static_cast<std::size_t>(c.m * ldc + 1), 5);
  std::vector<float> y(static_cast<std::size_t>(c.m * ldc + 1), kCanary);
  GemmF32Args g;
  g.m = c.m, g.n = c.n, g.k = c.k;
  g.a = a.data(), g.lda = lda, g.trans_a = c.trans_a;
  g.b = b.data(), g.ldb = ldb, g.trans_b = c.trans_b;
  g.c = y.data(), g.ldc = ldc;
  g.tiles = &set;
  if (c.epilogue) {
    g.epilogue = {.alpha = 0.5f,
                  .bias_scale = 2,
                  .bias_n = bias_n.data(),
                  .bias_m = bias_m.data(),
                  .bias = 0.25f,
                  .residual = residual.data(),
                  .residual_stride = ldc,
                  .beta = -3,
                  .activation = {}};
    g.epilogue.activation = {c.activation, -0.5f, 0.75f};
  }
  Scratch packed(GemmF32PackedCount(c.k, c.n, &set) * sizeof(float));
  if (c.packed) {
    float* copy = reinterpret_cast<float*>(packed.data());
    PackGemmF32B(c.k, c.n, b.data(), ldb, c.trans_b, copy, parallel, &set);
    g.packed_b = copy;
  }
  Scratch scratch(GemmF32ScratchBytes(g, parallel.ThreadCount()));
  GemmF32(g, parallel, scratch.data());
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < c.k; ++p) {
        const double term = static_cast<double>(c.trans_a ? a[p * lda + i] : a[i * lda + p]) *
                            (c.trans_b ? b[j * ldb + p] : b[p * ldb + j]);
        sum += term, magnitude += std::abs(term);
      }
      double x = sum, extra = 0;
      if (c.epilogue) {
        x = 0.5 * sum + 2 * (bias_n[j] + bias_m[i] + 0.25) - 3.0 * residual[i * ldc + j];
        extra = 2 * (std::abs(bias_n[j]) + std::abs(bias_m[i]) + 0.25) + 3 * std::abs(residual[i * ldc + j]);
      }
      const double bound =
          (static_cast<double>(std::max<int64_t>(c.k, 1)) * 2 * magnitude + 8 * (extra + magnitude)) * 0x1p-24;
      ASSERT_NEAR(y[i * ldc + j], Activated(x, g.epilogue.activation), 1.1 * bound + 1e-6) << "at " << i << ", " << j;
    }
    for (int64_t j = c.n; j < ldc; ++j) ASSERT_EQ(y[i * ldc + j], kCanary) << "gap written in row " << i;
  }
}

TEST(GemmF32, EveryRowCountAndColumnEdgeOfEveryIsa) {
  Serial serial;
  for (const TileF32Set* set : Sets())
    for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 29})
      for (const int64_t n : {1, 7, 16, 17, 31, 32, 33, 65})
        for (const bool packed : {false, true}) Check({m, n, 19, false, false, packed}, *set, serial);
}

TEST(GemmF32, GivesARowTheSameBitsForAnyNumberOfRowsWhereAsked) {
  constexpr int64_t kRows = 40;
  enum Form { kPlain, kTransposed, kPackedFloats, kPackedHalves };
  for (const TileF32Set* set : Sets()) {
    for (const int64_t k : {5, 64, 300, 1500}) {
      for (const int64_t n : {1, 3, 16, 35, 64}) {
        for (const Form form : {kPlain, kTransposed, kPackedFloats, kPackedHalves}) {
          const auto a = Random(static_cast<std::size_t>(kRows * k), 1), b = Random(static_cast<std::size_t>(n * k), 2);
          const auto bias = Random(static_cast<std::size_t>(n), 3);
          std::vector<std::uint16_t> halves(b.size());
          for (std::size_t i = 0; i < b.size(); ++i) halves[i] = Half(b[i]).bits;
          ThreeInTurn three;
          Scratch packed(GemmF32PackedCount(k, n, set) * sizeof(float));
          Scratch packed_half(GemmHalfPackedCount(k, n, set) * sizeof(std::uint16_t));
          GemmF32Args g;
          g.n = n, g.k = k, g.a = a.data(), g.lda = k, g.b = b.data(), g.ldb = form == kTransposed ? k : n, g.ldc = n;
          g.trans_b = form == kTransposed;
          g.tiles = set, g.same_rows = true, g.epilogue.bias_n = bias.data(), g.epilogue.alpha = 0.7f;
          if (form == kPackedFloats) {
            auto* floats = reinterpret_cast<float*>(packed.data());
            PackGemmF32B(k, n, b.data(), n, false, floats, three, set);
            g.packed_b = floats;
          } else if (form == kPackedHalves) {
            auto* to = reinterpret_cast<std::uint16_t*>(packed_half.data());
            PackGemmHalfB(k, n, halves.data(), n, false, to, three, set);
            g.packed_half = to;
          }
          const auto product = [&](int64_t m) {
            std::vector<float> y(static_cast<std::size_t>(m * n));
            g.m = m, g.c = y.data();
            Scratch scratch(GemmF32ScratchBytes(g, 3));
            GemmF32(g, three, scratch.data());
            return y;
          };
          const std::vector<float> all = product(kRows);
          for (const int64_t m : {1, 2, 3, 4, 7, 8, 9, 15}) {
            const std::vector<float> want(all.begin(), all.begin() + m * n);
            EXPECT_EQ(product(m), want) << Name(set->isa) << " " << m << "x" << n << "x" << k << " form " << form;
          }
        }
      }
    }
  }
}

TEST(GemmF32, TransposedOperands) {
  Serial serial;
  for (const TileF32Set* set : Sets())
    for (const int64_t m : {1, 3, 5, 30})
      for (const int64_t n : {1, 5, 32, 50})
        for (const int64_t k : {1, 4, 33, 70, 96})
          for (const int flags : {1, 2, 3, 6, 7})
            Check({m, n, k, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0}, *set, serial);
}

TEST(GemmF32, TransposedAIsCopied) {
  ThreeInTurn threads;
  for (const TileF32Set* set : Sets())
    for (const int64_t m : {8, 17, 61})
      for (const int64_t n : {128, 129, 140})
        for (const int64_t k : {1, 33, 1500})
          for (const int flags : {1, 3, 5}) Check({m, n, k, true, (flags & 2) != 0, (flags & 4) != 0}, *set, threads);
}

TEST(GemmF32, LongRowsAndColumnsOfVectors) {
  ThreeInTurn threads;
  for (const TileF32Set* set : Sets()) {
    Check({1, 2100, 40}, *set, threads);
    Check({1, 2100, 40, true}, *set, threads);
    Check({150, 1, 40}, *set, threads);
    Check({150, 1, 40, false, true}, *set, threads);
    Check({3, 2100, 40, false, true}, *set, threads);
  }
}

TEST(GemmF32, ShortSums) {
  ThreeInTurn threads;
  for (const TileF32Set* set : Sets())
    for (const int64_t k : {1, 2, 3, 4, 5, 6, 7, 8, 9})
      for (const int64_t m : {7, 8, 9, 45})
        for (const int64_t n : {9, 16, 17, 70})
          for (const int flags : {0, 1, 2, 3, 4, 7})
            Check({m, n, k, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, flags != 4}, *set, threads);
}

TEST(GemmF32, FewColumnsBeyondWholePanels) {
  ThreeInTurn threads;
  for (const TileF32Set* set : Sets())
    for (const int64_t rest : {1, 2, 3, 4})
      for (const int64_t panels : {0, 2})
        for (const int64_t m : {1, 2, 6, 70})
          for (const int64_t k : {64, 81, 2500})
            for (const int flags : {0, 1, 2, 3, 4, 5, 6})
              if (k < 2000 || flags == 0 || flags == 4)
                Check({m, panels * set->columns + rest, k, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0}, *set,
                      threads);
}

TEST(GemmF32, FewRowsAgainstManyPanels) {
  ThreeInTurn threads;
  for (const TileF32Set* set : Sets())
    for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9})
      for (const int64_t panels : {1, 2, 3, 4, 5, 9})
        for (const bool trans_a : {false, true}) {
          Check({m, panels * set->columns, 0, trans_a, false, true}, *set, threads);
          Check({m, panels * set->columns, 70, trans_a, false, true}, *set, threads);
          if (m % 4 == 1 || m >= 7) Check({m, panels * set->columns - 5, 1500, trans_a, true, true}, *set, threads);
        }
}

// Drafted tokens are verified with the bits that one token at a time would have given.
TEST(GemmF32, BitsOfARowDoNotDependOnTheRowsBesideIt) {
  ThreeInTurn threads;
  const int64_t n = 300, k = 700, rows = RowPanelsArgs::kRows;
  const auto a = Random(static_cast<std::size_t>(rows * k), 1), b = Random(static_cast<std::size_t>(k * n), 2);
  for (const TileF32Set* set : Sets()) {
    Scratch packed(GemmF32PackedCount(k, n, set) * sizeof(float));
    auto* copy = reinterpret_cast<float*>(packed.data());
    PackGemmF32B(k, n, b.data(), n, false, copy, threads, set);
    const auto product = [&](int64_t first, int64_t m) {
      std::vector<float> y(static_cast<std::size_t>(m * n));
      GemmF32Args g;
      g.m = m, g.n = n, g.k = k, g.a = a.data() + first * k, g.lda = k, g.packed_b = copy, g.c = y.data(), g.ldc = n;
      g.tiles = set;
      GemmF32(g, threads, nullptr);
      return y;
    };
    for (int64_t m = 2; m <= rows; ++m) {
      const auto together = product(0, m);
      for (int64_t row = 0; row < m; ++row) {
        const auto alone = product(row, 1);
        ASSERT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + row * n))
            << Name(set->isa) << " row " << row << " of " << m;
      }
    }
  }
}

TEST(GemmF32, PanelsFromACacheGiveTheSameBits) {
  for (const TileF32Set* set : Sets())
    for (const int64_t k : {0, 1, 70, 300})
      for (int64_t rows = 1; rows <= RowPanelsArgs::kRows; ++rows)
        for (const int64_t panels : {1, 2, 3, 4, 9}) {
          const int64_t n = panels * set->columns;
          const auto a = Random(static_cast<std::size_t>(rows * k + 1), 1), b = Random(std::size_t(n * k + 1), 2);
          const auto sums = [&](bool cached) {
            std::vector<float> y(static_cast<std::size_t>(rows * n), -1.0f);
            set->row_panels({k, rows, panels, a.data(), k, 1, y.data(), n, cached}, b.data());
            return y;
          };
          ASSERT_EQ(sums(true), sums(false)) << Name(set->isa) << " k " << k << " rows " << rows << " of " << panels;
        }
}

// Numbers of 16 bits and what they are as floats, every exponent and sign.
struct HalfMatrix {
  std::vector<std::uint16_t> bits;
  std::vector<float> values;
};
HalfMatrix RandomHalfs(std::size_t count, HalfKind kind) {
  HalfMatrix m;
  m.values = Random(count, 7);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 11 == 0) m.values[i] *= 1e-7f;  // denormal as float16
    if (kind == HalfKind::kFloat16) {
      const Half half(m.values[i]);
      m.bits.push_back(std::bit_cast<std::uint16_t>(half));
      m.values[i] = static_cast<float>(half);
    } else {
      const BFloat16 half(m.values[i]);
      m.bits.push_back(std::bit_cast<std::uint16_t>(half));
      m.values[i] = static_cast<float>(half);
    }
  }
  return m;
}

void CheckHalf(int64_t m, int64_t n, int64_t k, bool trans_b, HalfKind kind, const TileF32Set& set) {
  SCOPED_TRACE(Describe({m, n, k, false, trans_b}, set));
  ThreeInTurn threads;
  const auto a = Random(static_cast<std::size_t>(m * k), 1);
  const HalfMatrix b = RandomHalfs(static_cast<std::size_t>(n * k), kind);
  Scratch packed(GemmHalfPackedCount(k, n, &set) * 2 + 64);
  auto* copy = reinterpret_cast<std::uint16_t*>(packed.data());
  PackGemmHalfB(k, n, b.bits.data(), trans_b ? k : n, trans_b, copy, threads, &set);
  std::vector<float> y(static_cast<std::size_t>(m * n));
  GemmF32Args g;
  g.m = m, g.n = n, g.k = k, g.a = a.data(), g.lda = k, g.c = y.data(), g.ldc = n, g.tiles = &set;
  g.packed_half = copy, g.half_kind = kind;
  Scratch scratch(GemmF32ScratchBytes(g, 3));
  GemmF32(g, threads, scratch.data());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double term = static_cast<double>(a[i * k + p]) * b.values[trans_b ? j * k + p : p * n + j];
        sum += term, magnitude += std::abs(term);
      }
      ASSERT_NEAR(y[i * n + j], sum, static_cast<double>(k) * 2 * magnitude * 0x1p-24 + 1e-30) << i << ", " << j;
    }
}

TEST(GemmF32, PackedInSixteenBits) {
  for (const TileF32Set* set : Sets())
    for (const HalfKind kind : {HalfKind::kFloat16, HalfKind::kBFloat16})
      for (const bool trans_b : {false, true}) {
        for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 20})
          for (const int64_t n : {1, 31, 65, 300}) CheckHalf(m, n, 70, trans_b, kind, *set);
        for (const int64_t m : {1, 7, 8, 15}) CheckHalf(m, 40, 1500, trans_b, kind, *set);
      }
}

TEST(Widen, EveryFloat16AndBFloat16) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const TileF32Set* set : Sets()) {
    std::vector<float> wide(all.size());
    set->widen(HalfKind::kFloat16, 65536, all.data(), wide.data());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float want = static_cast<float>(std::bit_cast<Half>(all[i]));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(wide[i])) << i;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(want)) << Name(set->isa) << i;
      }
    }
    set->widen(HalfKind::kBFloat16, 65536, all.data(), wide.data());
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), static_cast<std::uint32_t>(i) << 16) << Name(set->isa);
  }
}

TEST(Widen, KeepsDenormalFloat16WhereDenormalFloatsAreZeros) {
  std::vector<std::uint16_t> all(2048);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i / 2 | i % 2 << 15);
  for (const TileF32Set* set : Sets()) {
    std::vector<float> wide(all.size());
    {
      const FloatControlScope scope(WithoutDenormals(FloatControl()));
      set->widen(HalfKind::kFloat16, 2048, all.data(), wide.data());
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]),
                std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<Half>(all[i]))))
          << Name(set->isa) << " " << all[i];
  }
}

std::vector<std::pair<int64_t, int64_t>> TransposeSizes() {
  std::vector<std::pair<int64_t, int64_t>> sizes;
  for (const int64_t rows : {1, 2, 3, 4, 5, 8, 15, 16, 17, 33})
    for (const int64_t columns : {1, 3, 4, 7, 8, 16, 31, 32, 40}) sizes.emplace_back(rows, columns);
  return sizes;
}

TEST(Transpose, EveryEdgeOfEveryIsa) {
  for (const TileF32Set* set : Sets())
    for (const int64_t gap : {0, 2})
      for (const auto& [rows, columns] : TransposeSizes()) {
        const int64_t from_stride = columns + 3, to_stride = rows + gap;
        const auto from = Random(static_cast<std::size_t>(rows * from_stride), 1);
        std::vector<float> to(static_cast<std::size_t>(columns * to_stride + 1), kCanary);
        set->transpose(rows, columns, from.data(), from_stride, to.data(), to_stride);
        for (int64_t c = 0; c < columns; ++c)
          for (int64_t r = 0; r < to_stride; ++r)
            ASSERT_EQ(to[c * to_stride + r], r < rows ? from[r * from_stride + c] : kCanary)
                << Name(set->isa) << " " << rows << "x" << columns << " at " << r << ", " << c;
        ASSERT_EQ(to.back(), kCanary);
      }
}

TEST(GemmF32, EmptyDimensions) {
  Serial serial;
  for (const TileF32Set* set : Sets())
    for (const bool packed : {false, true}) {
      Check({0, 5, 3, false, false, packed}, *set, serial);
      Check({5, 0, 3, false, false, packed}, *set, serial);
      for (const int64_t m : {1, 2, 20}) Check({m, 5, 0, false, false, packed}, *set, serial);
      Check({3, 5, 0, false, true, packed}, *set, serial);
    }
}

TEST(GemmF32, LongSumsAndManyRowsAreCutIntoBlocks) {
  ThreeInTurn threads;
  for (const TileF32Set* set : Sets())
    for (const bool packed : {false, true}) {
      Check({3, 40, 2500, false, false, packed, true, UnaryKind::kRelu}, *set, threads);
      Check({30, 40, 1100, false, true, packed, true, UnaryKind::kTanh}, *set, threads);
      Check({1300, 33, 130, false, false, packed}, *set, threads);
      Check({700, 33, 1030, false, false, packed, false}, *set, threads);
      Check({17, 130, 1024, false, false, packed}, *set, threads);  // rows of A that alias in the cache are copied
    }
}

TEST(GemmF32, BitsDoNotDependOnThreads) {
  Serial serial;
  ThreeInTurn threads;
  for (const TileF32Set* set : Sets())
    for (const bool packed : {false, true})
      for (const int64_t m : {1, 4, 61}) {
        const int64_t n = 333, k = 1500;
        const auto a = Random(static_cast<std::size_t>(m * k), 1), b = Random(static_cast<std::size_t>(k * n), 2);
        Scratch copy(GemmF32PackedCount(k, n, set) * sizeof(float));
        float* aligned = reinterpret_cast<float*>(copy.data());
        PackGemmF32B(k, n, b.data(), n, false, aligned, threads, set);
        std::vector<float> y[2];
        for (int run = 0; run < 2; ++run) {
          y[run].resize(static_cast<std::size_t>(m * n));
          GemmF32Args g;
          g.m = m, g.n = n, g.k = k, g.a = a.data(), g.lda = k, g.b = b.data(), g.ldb = n, g.c = y[run].data(),
          g.ldc = n;
          g.packed_b = packed ? aligned : nullptr;
          g.tiles = set;
          Parallel& parallel = run == 0 ? static_cast<Parallel&>(serial) : threads;
          Scratch scratch(GemmF32ScratchBytes(g, parallel.ThreadCount()));
          GemmF32(g, parallel, scratch.data());
        }
        EXPECT_EQ(y[0], y[1]) << Name(set->isa) << " m = " << m;
      }
}

TEST(GemmF32, BatchesWithStridesOffsetsAndSharedB) {
  ThreeInTurn threads;
  constexpr int64_t kBatch = 4, kM = 9, kN = 37, kK = 21;
  const auto a = Random(kBatch * kM * kK, 1), b = Random(kBatch * kK * kN, 2);
  const int64_t repeat[kBatch] = {0, kM * kK, 0, kM * kK}, reversed[kBatch] = {3 * kK * kN, 2 * kK * kN, kK * kN, 0};
  for (const TileF32Set* set : Sets())
    for (const int mode : {0, 1, 2}) {  // strides, offsets, shared B
      std::vector<float> y(kBatch * kM * kN);
      GemmF32Args g;
      g.m = kM, g.n = kN, g.k = kK, g.a = a.data(), g.lda = kK, g.b = b.data(), g.ldb = kN, g.c = y.data(), g.ldc = kN;
      g.batch = kBatch, g.a_batch_stride = kM * kK, g.b_batch_stride = mode == 2 ? 0 : kK * kN,
      g.c_batch_stride = kM * kN;
      if (mode == 1) g.a_batch_offsets = repeat, g.b_batch_offsets = reversed;
      g.tiles = set;
      Scratch scratch(GemmF32ScratchBytes(g, 3));
      GemmF32(g, threads, scratch.data());
      for (int64_t e = 0; e < kBatch; ++e)
        for (int64_t i = 0; i < kM; ++i)
          for (int64_t j = 0; j < kN; ++j) {
            const float* pa = a.data() + (mode == 1 ? repeat[e] : e * kM * kK);
            const float* pb = b.data() + (mode == 1 ? reversed[e] : mode == 2 ? 0 : e * kK * kN);
            double sum = 0;
            for (int64_t p = 0; p < kK; ++p) sum += static_cast<double>(pa[i * kK + p]) * pb[p * kN + j];
            ASSERT_NEAR(y[(e * kM + i) * kN + j], sum, 1e-4) << Name(set->isa) << " mode " << mode << " element " << e;
          }
    }
}

TEST(GemmF32, ResidualMayBeTheResult) {
  Serial serial;
  for (const TileF32Set* set : Sets())
    for (const int64_t m : {1, 2, 20}) {
      const int64_t n = 40, k = 1100;
      const auto a = Random(static_cast<std::size_t>(m * k), 1), b = Random(static_cast<std::size_t>(k * n), 2);
      auto y = Random(static_cast<std::size_t>(m * n), 3);
      const auto before = y;
      GemmF32Args g;
      g.m = m, g.n = n, g.k = k, g.a = a.data(), g.lda = k, g.b = b.data(), g.ldb = n, g.c = y.data(), g.ldc = n;
      g.epilogue.residual = y.data(), g.epilogue.residual_stride = n;
      g.tiles = set;
      Scratch scratch(GemmF32ScratchBytes(g, 1));
      GemmF32(g, serial, scratch.data());
      for (int64_t i = 0; i < m * n; ++i) {
        double sum = before[i];
        for (int64_t p = 0; p < k; ++p) sum += static_cast<double>(a[i / n * k + p]) * b[p * n + i % n];
        ASSERT_NEAR(y[i], sum, 2e-3) << Name(set->isa) << " element " << i;
      }
    }
}

TEST(GemmF32, NanSurvivesTheClampOfRelu) {
  Serial serial;
  for (const TileF32Set* set : Sets()) {
    const float a[4] = {1, std::nanf(""), 1, 2}, b[2] = {1, -1};
    float y[2];
    GemmF32Args g;
    g.m = 2, g.n = 1, g.k = 2, g.a = a, g.lda = 2, g.b = b, g.ldb = 1, g.c = y, g.ldc = 1;
    g.epilogue.activation.kind = UnaryKind::kRelu;
    g.tiles = set;
    GemmF32(g, serial, nullptr);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], 0);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
