// ops/math/narrow_weights_test.cpp - which weights 16 bits hold exactly, and products with such weights.
#include "ops/math/narrow_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/gemm/gemm.h"
#include "ops/math/packed_matrix.h"
#include "testing/tolerance.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 15;

// Numbers with at most `bits` bits after the leading one, between 2^-4 and 2^4.
std::vector<float> Numbers(std::int64_t count, int bits) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto fraction = static_cast<float>((i * 7919) % (1 << bits)) / static_cast<float>(1 << bits);
    numbers.push_back(std::ldexp(1 + fraction, static_cast<int>(i % 9) - 4) * (i % 2 == 0 ? 1.0f : -1.0f));
  }
  return numbers;
}

DType TypeOf(const std::vector<float>& x) {
  Serial serial;
  return ExactType(x.data(), static_cast<std::int64_t>(x.size()), serial);
}

DType Float16Here() { return kernels::BestIsa() == kernels::Isa::baseline ? DType::kFloat : DType::kFloat16; }

TEST(NarrowWeights, FindsTheTypeThatHoldsEveryNumber) {
  EXPECT_EQ(TypeOf(Numbers(kMany, 7)), DType::kBFloat16);
  EXPECT_EQ(TypeOf(Numbers(kMany, 10)), Float16Here());
  EXPECT_EQ(TypeOf(Numbers(kMany, 11)), DType::kFloat);
  EXPECT_EQ(TypeOf(Numbers(kMany - 1, 7)), DType::kFloat);  // too few
}

TEST(NarrowWeights, OneNumberDecides) {
  for (const std::int64_t at : {std::int64_t{0}, kMany / 2, kMany + 6}) {
    std::vector<float> x = Numbers(kMany + 7, 10);
    x[static_cast<std::size_t>(at)] = 1.0f / 3;
    EXPECT_EQ(TypeOf(x), DType::kFloat) << at;
    x = Numbers(kMany + 7, 7);
    x[static_cast<std::size_t>(at)] = std::ldexp(1.0f, 20);  // no number of float16
    EXPECT_EQ(TypeOf(x), DType::kBFloat16) << at;
    x[static_cast<std::size_t>(at)] = 1 + std::ldexp(1.0f, -10);  // none of bfloat16
    EXPECT_EQ(TypeOf(x), Float16Here()) << at;
  }
}

TEST(NarrowWeights, SpecialNumbersKeepTheirBits) {
  std::vector<float> x = Numbers(kMany, 10);
  x[1] = -0.0f, x[2] = std::numeric_limits<float>::infinity(), x[3] = std::ldexp(1.0f, -24);
  EXPECT_EQ(TypeOf(x), Float16Here());
  x[3] = std::ldexp(1.0f, -25);  // below the least number of float16
  EXPECT_EQ(TypeOf(x), DType::kFloat);
}

TEST(NarrowWeights, ProductsWithPackedWeightsAreThoseOfTheFloats) {
  Serial serial;
  constexpr std::int64_t kK = 129, kN = 261;
  for (const std::int64_t m : {1, 3, 40}) {
    const std::vector<float> a = Numbers(m * kK, 20);
    for (const bool trans : {false, true}) {
      for (const int bits : {7, 10, 20}) {
        const std::vector<float> numbers = Numbers(kK * kN, bits);
        Tensor b(DType::kFloat, trans ? Shape{kN, kK} : Shape{kK, kN});
        std::copy(numbers.begin(), numbers.end(), b.data<float>());
        const PackedMatrix packed =
            PackMatrix(b, b.dtype(), {.k = kK, .n = kN, .ld = trans ? kK : kN, .trans = trans}, serial);
        EXPECT_EQ(packed.data.dtype(), TypeOf(numbers)) << bits;

        std::vector<float> y(static_cast<std::size_t>(m * kN));
        kernels::GemmF32Args args;
        args.m = m, args.n = kN, args.k = kK;
        args.a = a.data(), args.lda = kK;
        args.c = y.data(), args.ldc = kN;
        packed.GiveTo<float>(args);
        Tensor scratch(DType::kUInt8, Shape{static_cast<std::int64_t>(kernels::GemmF32ScratchBytes(args, 1))});
        kernels::GemmF32(args, serial, static_cast<std::byte*>(scratch.raw()));
        for (std::int64_t i = 0; i < m * kN; ++i) {
          double sum = 0, size = 0;
          for (std::int64_t j = 0; j < kK; ++j) {
            const double term = double{a[static_cast<std::size_t>(i / kN * kK + j)]} *
                                numbers[static_cast<std::size_t>(trans ? i % kN * kK + j : j * kN + i % kN)];
            sum += term, size += std::abs(term);
          }
          ASSERT_NEAR(y[static_cast<std::size_t>(i)], sum, 1e-6 * size) << m << trans << bits << " at " << i;
        }
      }
    }
  }
}

// Halves are packed as the floats that they are where A is float: as they are, or in bf16.
TEST(NarrowWeights, HalvesArePackedAsTheirFloatsAre) {
  Serial serial;
  constexpr std::int64_t kK = 129, kN = 261;
  const std::vector<float> numbers = Numbers(kK * kN, 10);
  for (const bool trans : {false, true}) {
    const Shape shape = trans ? Shape{kN, kK} : Shape{kK, kN};
    Tensor floats(DType::kFloat, shape), halves(DType::kFloat16, shape);
    std::copy(numbers.begin(), numbers.end(), floats.data<float>());
    std::transform(numbers.begin(), numbers.end(), halves.data<Half>(), [](float x) { return Half(x); });
    const MatrixLayout layout = {.k = kK, .n = kN, .ld = trans ? kK : kN, .trans = trans};
    for (const bool rounds : {false, true}) {
      const PackedMatrix want = PackMatrix(floats, DType::kFloat, layout, serial, rounds);
      const PackedMatrix got = PackMatrix(halves, DType::kFloat, layout, serial, rounds);
      EXPECT_EQ(got.data.dtype(), rounds ? DType::kBFloat16 : Float16Here());
      EXPECT_TRUE(testing::SameBits(got.data, want.data));
      EXPECT_EQ(got.rounds_to_bf16, rounds);
    }
    const PackedMatrix alone = PackMatrix(halves, DType::kFloat16, layout, serial, true);
    EXPECT_EQ(alone.data.dtype(), DType::kFloat16);
    EXPECT_FALSE(alone.rounds_to_bf16);
  }
}

}  // namespace
}  // namespace sardonyx::ops
