// kernels/gemm/gemm_int8_test.cpp - 8-bit GEMM, in every variant this CPU can run, equals 64-bit sums bit for bit.
#include "kernels/gemm/gemm_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/gemm/kernel_test.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {
namespace {

struct Case {
  int64_t m, n, k;
  bool a_signed = false, b_signed = true;
  int a_zero = 0, b_zero = 0;  // 0 none, 1 one value, 2 per row or column
  bool packed = false;
  int64_t batch = 1;
  bool narrow = false;      // all but a few values of A lie close together
  bool transposed = false;  // B is stored by columns
};

// Extreme values are frequent: 255 * 127 four times is what saturating instructions get wrong.
std::vector<std::uint8_t> RandomBytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<std::uint8_t> bytes(count + 64);
  for (std::uint8_t& b : bytes) {
    const std::uint32_t r = engine();
    const std::uint8_t extremes[] = {0, 0x7F, 0x80, 0xFF};
    b = (r & 0x300) != 0 ? extremes[r & 3] : static_cast<std::uint8_t>(r);
  }
  return bytes;
}

// Close to `middle`, but for one in 40 that is extreme.
std::vector<std::uint8_t> NarrowBytes(std::size_t count, std::uint32_t seed, int middle) {
  std::mt19937 engine(seed);
  std::vector<std::uint8_t> bytes = RandomBytes(count, seed + 1);
  for (std::uint8_t& b : bytes)
    if (engine() % 40 != 0)
      b = static_cast<std::uint8_t>(std::max<int>(0, middle - 30 + static_cast<int>(engine() % 60)));
  return bytes;
}

int Value(const std::vector<std::uint8_t>& bytes, int64_t i, bool is_signed) {
  return is_signed ? static_cast<std::int8_t>(bytes[i]) : bytes[i];
}

void Check(const Case& c, const TileInt8Set& set, Parallel& parallel) {
  SCOPED_TRACE(std::string(Name(set.isa)) + (set.bytes ? " VNNI " : " ") + std::to_string(c.m) + "x" +
               std::to_string(c.n) + "x" + std::to_string(c.k) + (c.a_signed ? " s8" : " u8") +
               (c.b_signed ? " s8" : " u8") + (c.packed ? " packed" : ""));
  const int64_t lda = c.k + 3, ldb = (c.transposed ? c.k : c.n) + 1, ldc = c.n + 2;
  const int64_t b_size = (c.transposed ? c.n : c.k) * ldb;
  const auto a_count = static_cast<std::size_t>(c.batch * c.m * lda);
  const int middle = (c.a_signed ? 256 : 0) + static_cast<int>(c.k % 5 * 40) - (c.a_signed ? 80 : 0);
  const auto a = c.narrow ? NarrowBytes(a_count, 1, middle) : RandomBytes(a_count, 1);
  const auto b = RandomBytes(static_cast<std::size_t>(c.batch * b_size), 2);
  const auto a_zero = RandomBytes(static_cast<std::size_t>(c.m), 3),
             b_zero = RandomBytes(static_cast<std::size_t>(c.n), 4);
  std::vector<std::int32_t> y(static_cast<std::size_t>(c.batch * c.m * ldc), 77);
  GemmInt8Args g;
  g.m = c.m, g.n = c.n, g.k = c.k, g.a = a.data(), g.lda = lda, g.a_signed = c.a_signed;
  g.b = b.data(), g.ldb = ldb, g.b_signed = c.b_signed, g.c = y.data(), g.ldc = ldc, g.tiles = &set;
  if (c.a_zero != 0) g.a_zero = a_zero.data(), g.a_zero_per_row = c.a_zero == 2;
  if (c.b_zero != 0) g.b_zero = b_zero.data(), g.b_zero_per_column = c.b_zero == 2;
  g.batch = c.batch, g.a_batch_stride = c.m * lda, g.b_batch_stride = b_size, g.c_batch_stride = c.m * ldc;
  g.b_transposed = c.transposed;
  const std::size_t packed_bytes = GemmInt8PackedBytes(c.k, c.n, &set);
  Scratch packed(packed_bytes * static_cast<std::size_t>(c.batch));
  if (c.packed) {
    for (int64_t i = 0; i < c.batch; ++i)
      PackGemmInt8B(c.k, c.n, b.data() + i * c.k * ldb, ldb, c.b_signed,
                    packed.data() + i * static_cast<int64_t>(packed_bytes), parallel, &set);
    g.packed_b = packed.data(), g.b_batch_stride = static_cast<int64_t>(packed_bytes);
  }
  Scratch scratch(GemmInt8ScratchBytes(g, parallel.ThreadCount()));
  GemmInt8(g, parallel, scratch.data());
  for (int64_t e = 0; e < c.batch; ++e)
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        const int za = c.a_zero == 0 ? 0 : Value(a_zero, c.a_zero == 2 ? i : 0, c.a_signed);
        const int zb = c.b_zero == 0 ? 0 : Value(b_zero, c.b_zero == 2 ? j : 0, c.b_signed);
        int64_t sum = 0;
        for (int64_t p = 0; p < c.k; ++p)
          sum += static_cast<int64_t>(Value(a, (e * c.m + i) * lda + p, c.a_signed) - za) *
                 (Value(b, e * b_size + (c.transposed ? j * ldb + p : p * ldb + j), c.b_signed) - zb);
        ASSERT_EQ(y[(e * c.m + i) * ldc + j], static_cast<std::int32_t>(sum)) << "at " << i << ", " << j;
      }
      for (int64_t j = c.n; j < ldc; ++j) ASSERT_EQ(y[(e * c.m + i) * ldc + j], 77);
    }
}

template <typename F>
void ForSets(F f) {
  for (const TileInt8Set* set : RunnableTilesInt8()) f(*set);
}

TEST(GemmInt8, EveryRowCountAndColumnEdge) {
  Serial serial;
  ForSets([&](const TileInt8Set& set) {
    for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 23, 31, 32, 33})
      for (const int64_t n : {1, 8, 17, 32, 33})
        for (const int64_t k : {1, 2, 3, 4, 5, 64, 131}) Check({m, n, k, false, true, 1, 1}, set, serial);
  });
}

TEST(GemmInt8, EverySignednessAndKindOfZeroPoint) {
  ThreeInTurn threads;
  ForSets([&](const TileInt8Set& set) {
    for (int flags = 0; flags < 8; ++flags)
      for (int a_zero = 0; a_zero < 3; ++a_zero)
        for (int b_zero = 0; b_zero < 3; ++b_zero) {
          Check({9, 40, 70, (flags & 1) != 0, (flags & 2) != 0, a_zero, b_zero, (flags & 4) != 0}, set, threads);
          Check({7, 41, 33, (flags & 1) != 0, (flags & 2) != 0, a_zero, b_zero}, set, threads);
        }
  });
}

// B that is not packed is read where it lies if there are few rows.
TEST(GemmInt8, FewRowsGiveWhatPackedBGives) {
  ThreeInTurn threads;
  constexpr int64_t kN = 53, kK = 67;
  const std::vector<std::uint8_t> a = RandomBytes(8 * kK, 1), b = RandomBytes(kN * kK, 2), b_zero = RandomBytes(kN, 3);
  std::vector<float> scales(kN), row_scales(8), float_bias(kN);
  std::vector<std::int32_t> bias(kN);
  for (int64_t j = 0; j < kN; ++j)
    scales[j] = 1e-4f * static_cast<float>(j + 1), float_bias[j] = static_cast<float>(j), bias[j] = 100 - 7 * j;
  for (int64_t i = 0; i < 8; ++i) row_scales[i] = 0.5f * static_cast<float>(i + 1);
  ForSets([&](const TileInt8Set& set) {
    for (const int64_t m : {1, 4, 7, 8})
      for (int flags = 0; flags < 8; ++flags) {
        GemmInt8Args g;
        g.m = m, g.n = kN, g.k = kK, g.a = a.data(), g.lda = kK, g.b = b.data(), g.ldb = kN, g.tiles = &set;
        g.b_signed = true, g.b_zero = b_zero.data(), g.b_zero_per_column = (flags & 1) != 0;
        g.result = (flags & 2) != 0 ? Int8Result::kBytes : Int8Result::kFloats;
        g.scales = scales.data(), g.scale_per_column = (flags & 1) != 0;
        g.c_zero = 3, g.c_signed = (flags & 4) != 0, g.ldc = kN, g.bias = bias.data();
        if (g.result == Int8Result::kFloats) g.row_scales = row_scales.data(), g.float_bias = float_bias.data();
        std::vector<std::uint8_t> results[2];
        Scratch packed(GemmInt8PackedBytes(kK, kN, &set));
        PackGemmInt8B(kK, kN, b.data(), kN, true, packed.data(), threads, &set);
        for (std::vector<std::uint8_t>& result : results) {
          result.assign(static_cast<std::size_t>(m * kN) * 4, 77);
          g.c = result.data();
          Scratch scratch(GemmInt8ScratchBytes(g, threads.ThreadCount()));
          GemmInt8(g, threads, scratch.data());
          g.packed_b = packed.data();
        }
        EXPECT_EQ(results[0], results[1]) << Name(set.isa) << " " << m << " " << flags;
      }
  });
}

TEST(GemmInt8, ATransposedBOfFewAndOfManyRows) {
  ThreeInTurn threads;
  ForSets([&](const TileInt8Set& set) {
    for (const int64_t m : {1, 2, 3, 5, 8, 9, 33})
      for (const int64_t n : {1, 15, 16, 17, 41})
        for (const int64_t k : {1, 7, 16, 31, 32, 33, 64, 130})
          for (const bool is_signed : {false, true})
            Check({.m = m,
                   .n = n,
                   .k = k,
                   .a_signed = !is_signed,
                   .b_signed = is_signed,
                   .a_zero = 1,
                   .b_zero = 2,
                   .batch = 2,
                   .transposed = true},
                  set, threads);
    Check({.m = 4, .n = 20, .k = 0, .a_zero = 1, .b_zero = 1, .transposed = true}, set, threads);
    Check({.m = 40, .n = 0, .k = 20, .transposed = true}, set, threads);
  });
}

// Where sums of two products must fit into 16 bits, a few values are multiplied apart from the others.
TEST(GemmInt8, FewValuesFarFromTheOthers) {
  Serial serial;
  ThreeInTurn threads;
  ForSets([&](const TileInt8Set& set) {
    for (const int64_t m : {1, 5, 6, 7, 64, 65, 130})
      for (const int64_t n : {1, 8, 9, 16, 33})
        for (const int64_t k : {1, 3, 31, 32, 33, 67, 129}) {
          Check({m, n, k, k % 2 == 0, n % 2 == 0, 1, 1, true, 1, true}, set, serial);
          Check({m, n, k, k % 2 != 0, true, 2, 0, false, 1, true}, set, threads);
        }
    Check({130, 300, 200, false, true, 1, 0, true, 1, true}, set, threads);
    Check({3, 20, 40, true, false, 2, 2, true, 4, true}, set, threads);
  });
}

TEST(GemmInt8, EmptyDimensionsAndBatches) {
  ThreeInTurn threads;
  ForSets([&](const TileInt8Set& set) {
    Check({0, 4, 4}, set, threads);
    Check({4, 0, 4}, set, threads);
    Check({4, 5, 0, true, false, 2, 2}, set, threads);
    Check({5, 37, 21, true, false, 2, 1, false, 2}, set, threads);
    Check({5, 37, 21, true, false, 1, 2, true, 7}, set, threads);
    Check({300, 150, 90, true, false, 1, 1}, set, threads);
  });
}

}  // namespace
}  // namespace sardonyx::kernels
