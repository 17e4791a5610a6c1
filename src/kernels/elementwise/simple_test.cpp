// kernels/elementwise/simple_test.cpp - every vector form that this CPU can run, against scalar code, at every length
// from 0 to two vectors and in place.
#include "kernels/elementwise/simple.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sardonyx::kernels {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 127, 1000};

template <typename T>
std::vector<T> Numbers(std::size_t n) {
  std::mt19937_64 random(7);
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(random());
  constexpr T kEdges[] = {0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), static_cast<T>(-1)};
  for (std::size_t i = 0; i < n; i += 3) x[i] = kEdges[(i / 3) % std::size(kEdges)];
  return x;
}

template <typename T, typename F>
void ExpectMap(const SimpleTable& table, SimpleKind kind, DType dtype, F f, T low = {}, T high = {}) {
  SimpleFn* run = table.simple(kind, dtype);
  ASSERT_NE(run, nullptr);
  for (const std::size_t n : kLengths) {
    const std::vector<T> x = Numbers<T>(n);
    std::vector<T> want(n), got(n), in_place = x;
    std::ranges::transform(x, want.begin(), f);
    run(x.data(), got.data(), n, &low, &high);
    run(in_place.data(), in_place.data(), n, &low, &high);
    EXPECT_EQ(got, want) << Name(dtype) << " kind " << static_cast<int>(kind) << " length " << n;
    EXPECT_EQ(in_place, want) << Name(dtype) << " kind " << static_cast<int>(kind) << " length " << n;
  }
}

template <typename T>
void ExpectIntegers(const SimpleTable& table, DType dtype) {
  const auto negative = [](T x) { return static_cast<T>(0u - static_cast<std::make_unsigned_t<T>>(x)); };
  ExpectMap<T>(table, SimpleKind::kNeg, dtype, negative);
  ExpectMap<T>(table, SimpleKind::kAbs, dtype, [&](T x) { return x < 0 ? negative(x) : x; });
  ExpectMap<T>(table, SimpleKind::kRelu, dtype, [](T x) { return std::max(x, T(0)); });
  ExpectMap<T>(table, SimpleKind::kSign, dtype, [](T x) { return static_cast<T>(x > 0 ? 1 : (x < 0 ? -1 : 0)); });
  ExpectMap<T>(table, SimpleKind::kBitwiseNot, dtype, [](T x) { return static_cast<T>(~x); });
  const T low = static_cast<T>(std::is_signed_v<T> ? -5 : 5), high = 100;
  ExpectMap<T>(
      table, SimpleKind::kClip, dtype, [&](T x) { return std::clamp(x, low, high); }, low, high);
  ExpectMap<T>(
      table, SimpleKind::kClip, dtype, [&](T) { return low; }, high, low);  // low above high
}

TEST(Simple, IntegersInEveryForm) {
  for (const auto& [isa, make] : Runnable(SimpleVariants())) {
    SCOPED_TRACE(Name(isa));
    const SimpleTable table = make();
    ExpectIntegers<std::int8_t>(table, DType::kInt8);
    ExpectIntegers<std::int16_t>(table, DType::kInt16);
    ExpectIntegers<std::int32_t>(table, DType::kInt32);
    ExpectIntegers<std::int64_t>(table, DType::kInt64);
    ExpectIntegers<std::uint8_t>(table, DType::kUInt8);
    ExpectIntegers<std::uint16_t>(table, DType::kUInt16);
    ExpectIntegers<std::uint32_t>(table, DType::kUInt32);
    ExpectIntegers<std::uint64_t>(table, DType::kUInt64);
    ExpectMap<std::uint8_t>(table, SimpleKind::kNot, DType::kBool, [](std::uint8_t x) { return x == 0; });
    EXPECT_EQ(table.simple(SimpleKind::kAbs, DType::kFloat), nullptr);
    EXPECT_EQ(table.simple(SimpleKind::kIsNaN, DType::kInt32), nullptr);
  }
}

template <typename T, typename ToFloat>
void ExpectTests(const SimpleTable& table, DType dtype, const std::vector<T>& x, ToFloat to_float) {
  const std::pair<SimpleKind, bool (*)(double)> rows[] = {
      {SimpleKind::kIsNaN, [](double v) { return std::isnan(v); }},
      {SimpleKind::kIsInf, [](double v) { return std::isinf(v); }},
      {SimpleKind::kIsPositiveInf, [](double v) { return std::isinf(v) && v > 0; }},
      {SimpleKind::kIsNegativeInf, [](double v) { return std::isinf(v) && v < 0; }},
  };
  for (const auto& [kind, holds] : rows) {
    std::vector<std::uint8_t> got(x.size());
    table.simple(kind, dtype)(x.data(), got.data(), x.size(), nullptr, nullptr);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(got[i] != 0, holds(to_float(x[i]))) << Name(dtype) << " kind " << static_cast<int>(kind) << " at " << i;
  }
}

TEST(Simple, TestsOfFloatsInEveryForm) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x;
  for (int i = 0; i < 40; ++i)
    for (const double v : {0.0, -0.0, 1.5, kInf, -kInf, kNaN, -kNaN, 5e-324, 1.7e308}) x.push_back(v);
  x.push_back(std::bit_cast<double>(0x7ff0000000000001));  // a signalling NaN
  std::vector<float> narrow(x.begin(), x.end());
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const auto& [isa, make] : Runnable(SimpleVariants())) {
    SCOPED_TRACE(Name(isa));
    const SimpleTable table = make();
    ExpectTests(table, DType::kDouble, x, [](double v) { return v; });
    ExpectTests(table, DType::kFloat, narrow, [](float v) { return static_cast<double>(v); });
    ExpectTests(table, DType::kBFloat16, all, [](std::uint16_t v) {
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16));
    });
    ExpectTests(table, DType::kFloat16, all, [&](std::uint16_t v) {
      if ((v & 0x7c00) != 0x7c00) return 0.0;
      return (v & 0x3ff) != 0 ? kNaN : (v >> 15 != 0 ? -kInf : kInf);
    });
  }
}

template <typename T>
void ExpectSelect(const SelectLoops& loops) {
  for (const std::size_t n : kLengths) {
    const std::vector<T> x = Numbers<T>(n + 1), y(n + 1, T(3));
    std::vector<char> condition(n);
    for (std::size_t i = 0; i < n; ++i) condition[i] = (i * 7 % 5) < 2;
    const auto* chosen = reinterpret_cast<const bool*>(condition.data());
    const auto expect = [&](SelectFn* run, std::size_t step_x, std::size_t step_y) {
      std::vector<T> got(n);
      run(chosen, x.data(), y.data(), got.data(), n);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(got[i], condition[i] ? x[i * step_x] : y[i * step_y]) << sizeof(T) << " bytes, " << i << " of " << n;
    };
    expect(loops.both, 1, 1);
    expect(loops.repeated_x, 0, 1);
    expect(loops.repeated_y, 1, 0);
    expect(loops.repeated_both, 0, 0);
  }
}

TEST(Simple, ChoicesInEveryForm) {
  for (const auto& [isa, make] : Runnable(SimpleVariants())) {
    SCOPED_TRACE(Name(isa));
    const SimpleTable table = make();
    ExpectSelect<std::uint8_t>(table.select(1));
    ExpectSelect<std::uint16_t>(table.select(2));
    ExpectSelect<std::uint32_t>(table.select(4));
    ExpectSelect<std::uint64_t>(table.select(8));
  }
}

template <typename T>
void ExpectRamp(RampFn* ramp) {
  ASSERT_NE(ramp, nullptr);
  for (const std::size_t n : kLengths) {
    for (const std::int64_t step : {std::int64_t{1}, std::int64_t{-3}, std::numeric_limits<std::int64_t>::max()}) {
      std::vector<T> y(n);
      ramp(41, static_cast<std::uint64_t>(step), y.data(), n);
      std::uint64_t want = 41;
      for (std::size_t i = 0; i < n; ++i, want += static_cast<std::uint64_t>(step))
        ASSERT_EQ(y[i], static_cast<T>(want)) << n << " " << i;
    }
  }
}

TEST(Simple, RampsInEveryForm) {
  for (const auto& [isa, make] : Runnable(SimpleVariants())) {
    SCOPED_TRACE(Name(isa));
    ExpectRamp<std::uint16_t>(make().ramp(2));
    ExpectRamp<std::uint32_t>(make().ramp(4));
    ExpectRamp<std::uint64_t>(make().ramp(8));
  }
}

}  // namespace
}  // namespace sardonyx::kernels
