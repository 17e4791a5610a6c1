// kernels/pool/pool_taps_test.cpp - the taps of every vector form that this CPU can run, and whole pools, against plain
// loops.
#include "kernels/pool/pool_taps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sardonyx::kernels {
namespace {

template <typename T>
std::vector<T> Numbers(std::size_t n, bool with_nan) {
  std::mt19937 random(5);
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(static_cast<int>(random() % 21) - (std::is_signed_v<T> ? 10 : 0));
  if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 0; i < n && with_nan; i += 13) x[i] = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t i = 0; i < n; i += 7) x[i] = -std::numeric_limits<T>::infinity();
  }
  return x;
}

template <typename T>
bool Same(T a, T b) {
  return a == b || (a != a && b != b);
}

template <typename T>
void ExpectTaps(const PoolTapLoops<T>& loops) {
  for (const std::ptrdiff_t stride : {1, 2, 3}) {
    for (const std::size_t n : {0, 1, 5, 16, 31, 67}) {
      const std::vector<T> x = Numbers<T>(n * 3 + 1, true);
      std::vector<T> best(n, T(2)), indexed(n, T(2));
      std::vector<std::int64_t> at(n);
      for (std::size_t i = 0; i < n; ++i) at[i] = i % 4 == 0 ? -1 : 1000;
      loops.max(x.data(), stride, n, best.data());
      loops.max_at(x.data(), stride, n, 50, indexed.data(), at.data());
      for (std::size_t i = 0; i < n; ++i) {
        const T v = x[i * static_cast<std::size_t>(stride)];
        const bool larger = v > T(2) || v != v, take = larger || i % 4 == 0;
        EXPECT_TRUE(Same(best[i], larger ? v : T(2)));
        EXPECT_TRUE(Same(indexed[i], take ? v : T(2)));
        EXPECT_EQ(at[i], take ? 50 + static_cast<std::int64_t>(i) * stride : 1000);
      }
      if (loops.add == nullptr) continue;
      const std::vector<T> finite = Numbers<T>(n * 3 + 1, false);
      for (const double power : {kNoPower, -1.0, 0.0, 1.0, 2.0, 3.0}) {
        std::vector<double> sums(n, 0.5);
        loops.add(finite.data(), stride, n, power, sums.data());
        for (std::size_t i = 0; i < n; ++i) {
          const auto v = static_cast<double>(finite[i * static_cast<std::size_t>(stride)]);
          EXPECT_EQ(sums[i], 0.5 + (std::isnan(power) ? v : std::pow(std::abs(v), power)));
        }
      }
    }
  }
}

TEST(PoolTaps, EveryForm) {
  for (const auto& [isa, make] : Runnable(PoolTapVariants())) {
    SCOPED_TRACE(Name(isa));
    const PoolTapTable table = make();
    ExpectTaps(table.f32);
    ExpectTaps(table.f64);
    ExpectTaps(table.s8);
    ExpectTaps(table.u8);
  }
}

std::vector<PoolShape> Shapes() {
  std::vector<PoolShape> shapes(6);
  shapes[0].in = {1, 9, 300}, shapes[0].kernel = {1, 3, 3}, shapes[0].pad_begin = {0, 1, 1},
  shapes[0].out = {1, 9, 300};
  shapes[1].in = {3, 8, 11}, shapes[1].kernel = {2, 2, 3}, shapes[1].stride = {1, 2, 2}, shapes[1].out = {2, 4, 5};
  shapes[2].in = {1, 1, 40}, shapes[2].kernel = {1, 1, 4}, shapes[2].dilation = {1, 1, 3},
  shapes[2].pad_begin = {0, 0, 5};
  shapes[2].stride = {1, 1, 3}, shapes[2].out = {1, 1, 13};
  shapes[3].in = {1, 1, 5}, shapes[3].kernel = {1, 1, 3}, shapes[3].stride = {1, 1, 7}, shapes[3].out = {1, 1, 3};
  shapes[3].pad_begin = {0, 0, 6};
  shapes[4].in = {1, 4, 4}, shapes[4].kernel = {1, 9, 9}, shapes[4].pad_begin = {0, 4, 4}, shapes[4].out = {1, 4, 4};
  shapes[5].in = {1, 2, 3}, shapes[5].kernel = {1, 1, 1}, shapes[5].pad_begin = {0, 1, 1}, shapes[5].out = {1, 4, 5};
  return shapes;
}

// Calls f(x of the plane, offset) for every tap of an output.
template <typename F>
void ForTaps(const PoolShape& p, std::int64_t out, F f) {
  const std::int64_t od = out / (p.out[1] * p.out[2]), oh = out / p.out[2] % p.out[1], ow = out % p.out[2];
  for (std::int64_t kd = 0; kd < p.kernel[0]; ++kd) {
    for (std::int64_t kh = 0; kh < p.kernel[1]; ++kh) {
      for (std::int64_t kw = 0; kw < p.kernel[2]; ++kw) {
        const std::int64_t d = od * p.stride[0] - p.pad_begin[0] + kd * p.dilation[0];
        const std::int64_t h = oh * p.stride[1] - p.pad_begin[1] + kh * p.dilation[1];
        const std::int64_t w = ow * p.stride[2] - p.pad_begin[2] + kw * p.dilation[2];
        if (d < 0 || h < 0 || w < 0 || d >= p.in[0] || h >= p.in[1] || w >= p.in[2]) continue;
        f((d * p.in[1] + h) * p.in[2] + w);
      }
    }
  }
}

template <typename T>
void ExpectPool(const PoolShape& p) {
  constexpr std::int64_t kPlanes = 3;
  const std::int64_t in = p.in[0] * p.in[1] * p.in[2], out = p.out[0] * p.out[1] * p.out[2];
  const std::vector<T> x = Numbers<T>(static_cast<std::size_t>(kPlanes * in), true);
  const auto size = static_cast<std::size_t>(kPlanes * out);
  std::vector<T> y(size), plain(size);
  std::vector<std::int64_t> at(size);
  Serial serial;
  MaxPoolTaps(p, kPlanes, x.data(), y.data(), at.data(), serial);
  MaxPoolTaps<T>(p, kPlanes, x.data(), plain.data(), nullptr, serial);
  for (std::size_t i = 0; i < size; ++i) {
    const T* plane = x.data() + static_cast<std::int64_t>(i) / out * in;
    std::int64_t want = -1;
    T best = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    ForTaps(p, static_cast<std::int64_t>(i) % out, [&](std::int64_t offset) {
      const T v = plane[offset];
      if (want < 0 || v > best || v != v) best = v, want = offset;
    });
    ASSERT_EQ(at[i], want) << i;
    ASSERT_TRUE(Same(y[i], best)) << i;
    ASSERT_TRUE(Same(plain[i], best)) << i;
  }
}

TEST(PoolTaps, MaximaAndPositions) {
  for (const PoolShape& shape : Shapes()) {
    ExpectPool<float>(shape);
    ExpectPool<double>(shape);
    ExpectPool<std::int8_t>(shape);
    ExpectPool<std::uint8_t>(shape);
  }
}

TEST(PoolTaps, MeansAndNorms) {
  for (PoolShape p : Shapes()) {
    const std::int64_t in = p.in[0] * p.in[1] * p.in[2], out = p.out[0] * p.out[1] * p.out[2];
    std::vector<double> x(static_cast<std::size_t>(in));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
    std::vector<double> mean(static_cast<std::size_t>(out)), norm(mean.size());
    Serial serial;
    for (const double power : {1.0, 2.0, 3.0}) {
      p.average = false;
      SumPoolTaps(p, 1, x.data(), power, norm.data(), serial);
      p.average = true;
      SumPoolTaps(p, 1, x.data(), power, mean.data(), serial);
      for (std::size_t i = 0; i < mean.size(); ++i) {
        double sum = 0, powers = 0, taps = 0;
        ForTaps(p, static_cast<std::int64_t>(i), [&](std::int64_t offset) {
          sum += x[static_cast<std::size_t>(offset)], taps += 1;
          powers += std::pow(std::abs(x[static_cast<std::size_t>(offset)]), power);
        });
        EXPECT_NEAR(norm[i], std::pow(powers, 1 / power), 1e-12);
        if (taps > 0) {
          EXPECT_NEAR(mean[i], sum / taps, 1e-12);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
