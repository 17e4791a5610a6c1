// kernels/gemm/gemm_any_test.cpp - f64 and integer GEMM on every ISA of this CPU, against long double and wrapped sums.
#include "kernels/gemm/gemm_any.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

template <typename T>
class GemmAnyTest : public ::testing::Test {};
using Types = ::testing::Types<double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(GemmAnyTest, Types);

template <typename T>
std::vector<T> RandomOf(int64_t count, std::uint32_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> values(static_cast<std::size_t>(count + 1));
  for (T& v : values) {
    if constexpr (std::is_same_v<T, double>)
      v = std::normal_distribution<double>()(engine);
    else
      v = static_cast<T>(engine());  // products and sums overflow: they must wrap
  }
  return values;
}

struct Case {
  int64_t m, n, k;
  bool trans_a = false, trans_b = false;
  int addend = 0;  // 0 none, 1 matrix, 2 row, 3 column
  int64_t batch = 1;
  bool packed = false;
};

template <typename T>
void Check(const Case& c, Isa isa, Parallel& parallel) {
  SCOPED_TRACE(std::string(Name(isa)) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
               std::to_string(c.k));
  const int64_t lda = (c.trans_a ? c.m : c.k) + (c.k % 512 == 0 ? 0 : 1), ldb = (c.trans_b ? c.k : c.n) + 2,
                ldc = c.n + 1;
  const int64_t a_item = (c.trans_a ? c.k : c.m) * lda, b_item = (c.trans_b ? c.n : c.k) * ldb;
  const auto a = RandomOf<T>(c.batch * a_item, 1), b = RandomOf<T>(c.batch * b_item, 2), c0 = RandomOf<T>(c.m * c.n, 3);
  std::vector<T> y(static_cast<std::size_t>(c.batch * c.m * ldc + 1), T{9});
  GemmAnyArgs<T> g;
  g.m = c.m, g.n = c.n, g.k = c.k, g.a = a.data(), g.lda = lda, g.trans_a = c.trans_a;
  g.b = b.data(), g.ldb = ldb, g.trans_b = c.trans_b, g.c = y.data(), g.ldc = ldc, g.isa = isa;
  g.batch = c.batch, g.a_batch_stride = a_item, g.b_batch_stride = b_item, g.c_batch_stride = c.m * ldc;
  if (c.addend != 0) {
    g.alpha = T{3}, g.beta = T{2}, g.c0 = c0.data();
    g.c0_row_stride = c.addend == 1 ? c.n : c.addend == 3 ? 1 : 0, g.c0_column_stride = c.addend == 3 ? 0 : 1;
  }
  const auto packed_each = static_cast<int64_t>(GemmAnyPackedCount<T>(c.k, c.n, isa));
  std::vector<T> packed(static_cast<std::size_t>(c.packed ? c.batch * packed_each + 1 : 0));
  if (c.packed) {
    for (int64_t e = 0; e < c.batch; ++e)
      PackGemmAnyB(c.k, c.n, b.data() + e * b_item, ldb, c.trans_b, packed.data() + e * packed_each, isa);
    g.packed_b = packed.data(), g.b = nullptr, g.b_batch_stride = packed_each;
  }
  Scratch scratch(GemmAnyScratchBytes(g, parallel.ThreadCount()));
  GemmAny(g, parallel, scratch.data());
  using Wide = std::conditional_t<std::is_same_v<T, double>, long double, std::uint64_t>;
  for (int64_t e = 0; e < c.batch; ++e)
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        Wide sum = 0, magnitude = 0;
        for (int64_t p = 0; p < c.k; ++p) {
          const Wide term = static_cast<Wide>(a[e * a_item + (c.trans_a ? p * lda + i : i * lda + p)]) *
                            static_cast<Wide>(b[e * b_item + (c.trans_b ? j * ldb + p : p * ldb + j)]);
          sum += term;
          if constexpr (std::is_same_v<T, double>) magnitude += std::abs(term);
        }
        if (c.addend != 0) {
          const T added = c0[i * g.c0_row_stride + j * g.c0_column_stride];
          sum = 3 * sum + 2 * static_cast<Wide>(added);
          if constexpr (std::is_same_v<T, double>) magnitude = 3 * magnitude + 2 * std::abs(added);
        }
        const T got = y[(e * c.m + i) * ldc + j];
        if constexpr (std::is_same_v<T, double>)
          ASSERT_NEAR(got, static_cast<double>(sum), static_cast<double>((c.k + 4) * magnitude) * 0x1p-53)
              << i << ", " << j;
        else
          ASSERT_EQ(got, static_cast<T>(sum)) << i << ", " << j;
      }
      ASSERT_EQ(y[(e * c.m + i) * ldc + c.n], T{9});
    }
}

TYPED_TEST(GemmAnyTest, EdgesTransposesAddendsAndBatches) {
  Serial serial;
  ThreeInTurn threads;
  for (const Isa isa : SupportedIsas()) {
    for (const int64_t m : {0, 1, 2, 3, 4, 5, 6, 11, 12, 13, 31})
      for (const int64_t n : {0, 1, 3, 16, 17, 33}) Check<TypeParam>({m, n, 9}, isa, serial);
    for (int flags = 0; flags < 8; ++flags)
      for (int addend = 0; addend < 4; ++addend)
        Check<TypeParam>({7, 21, 30, (flags & 1) != 0, (flags & 2) != 0, addend, 3, (flags & 4) != 0}, isa, threads);
    // Rows of A that alias in the cache are copied.
    for (const bool packed : {false, true}) Check<TypeParam>({9, 70, 1024, false, false, 0, 1, packed}, isa, threads);
    Check<TypeParam>({3, 5, 0, false, false, 1}, isa, serial);
    Check<TypeParam>({150, 40, 60, false, true, 1}, isa, threads);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
