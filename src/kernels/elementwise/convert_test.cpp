// kernels/elementwise/convert_test.cpp - block conversions against the scalar ones, on every ISA.
#include "kernels/elementwise/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/float_control.h"

namespace sardonyx::kernels {
namespace {

TEST(Convert, EveryHalfAndBFloatReadsAsItsFloatAndBack) {
  std::vector<std::uint16_t> all(65536), back(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> y(all.size());
  for (const auto& [isa, table] : Runnable(ConvertVariants())) {
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      table().to_floats(dtype)(all.data(), 0, all.size(), y.data());
      table().from_floats(dtype)(y.data(), y.size(), back.data(), 0);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const float want = dtype == DType::kFloat16 ? Half::ToFloat(all[i])
                                                    : std::bit_cast<float>(static_cast<std::uint32_t>(all[i]) << 16);
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(y[i])) << Name(isa) << i;
        } else {
          EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(want)) << Name(isa) << " " << i;
          EXPECT_EQ(back[i], all[i]) << Name(isa);
        }
      }
    }
  }
}

TEST(Convert, HalvesAreTheirFloatsWhereDenormalFloatsAreZeros) {
  std::vector<std::uint16_t> finite;
  for (std::uint32_t i = 0; i < 65536; ++i)
    if ((i & 0x7C00) != 0x7C00) finite.push_back(static_cast<std::uint16_t>(i));
  finite.resize(finite.size() - 3);  // no whole vectors
  std::vector<float> y(finite.size());
  for (const auto& [isa, table] : Runnable(ConvertVariants())) {
    {
      const FloatControlScope scope(WithoutDenormals(FloatControl()));
      table().to_floats(DType::kFloat16)(finite.data(), 0, finite.size(), y.data());
    }
    for (std::size_t i = 0; i < finite.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(Half::ToFloat(finite[i])))
          << Name(isa) << " " << finite[i];
  }
}

TEST(Convert, FloatsRoundToHalfAndBFloatAsTheScalarFormDoes) {
  std::vector<float> x;
  for (std::uint32_t i = 0; i < 1u << 18; ++i) x.push_back(std::bit_cast<float>(i * 16411u + (i >> 3)));
  std::vector<std::uint16_t> y(x.size());
  for (const auto& [isa, table] : Runnable(ConvertVariants())) {
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      table().from_floats(dtype)(x.data(), x.size(), y.data(), 0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) continue;
        ASSERT_EQ(y[i], dtype == DType::kFloat16 ? Half(x[i]).bits : BFloat16(x[i]).bits) << Name(isa) << " " << x[i];
      }
    }
  }
}

TEST(Convert, FloatsOutsideTheIntegersBecomeTheSmallestOne) {
  const float x[] = {1.9f, -1.9f, 300.0f, 3e9f, -3e9f, 1e20f, NAN, INFINITY};
  std::int32_t i32[8];
  std::int64_t i64[8];
  std::uint8_t u8[8];
  FromFloats(DType::kInt32)(x, 8, i32, 0);
  FromFloats(DType::kInt64)(x, 8, i64, 0);
  FromFloats(DType::kUInt8)(x, 8, u8, 0);
  const std::int32_t want32[] = {1, -1, 300, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN};
  const std::int64_t want64[] = {1, -1, 300, 3000000000, -3000000000, INT64_MIN, INT64_MIN, INT64_MIN};
  const std::uint8_t want8[] = {1, 255, 44, 0, 0, 0, 0, 0};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(i32[i], want32[i]) << x[i];
    EXPECT_EQ(i64[i], want64[i]) << x[i];
    EXPECT_EQ(u8[i], want8[i]) << x[i];
  }
}

TEST(Convert, PackedTypesKeepTheirNeighboursAndClearTheUnusedBits) {
  std::uint8_t bytes[3] = {0xff, 0xff, 0xff};
  const std::int64_t x[] = {1, -2, 3, -8, 7};
  FromInts(DType::kInt4)(x, 5, bytes, 0);
  EXPECT_EQ(bytes[0], 0xe1);
  EXPECT_EQ(bytes[1], 0x83);
  EXPECT_EQ(bytes[2], 0x07);
  std::int64_t back[4];
  ToInts(DType::kInt4)(bytes, 1, 4, back);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(back[i], x[i + 1]);
}

// 1 + 2^-11 + 2^-40 lies above the middle of two halves; a float in between would round it to the middle and then down.
TEST(Convert, DoublesAreRoundedOnceToHalf) {
  const double x = 1 + 0x1p-11 + 0x1p-40;
  std::uint16_t y = 0;
  FromDoubles(DType::kFloat16)(&x, 1, &y, 0);
  EXPECT_EQ(y, 0x3c01);
}

}  // namespace
}  // namespace sardonyx::kernels
