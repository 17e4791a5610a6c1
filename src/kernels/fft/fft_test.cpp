// kernels/fft/fft_test.cpp - transforms of many lengths against the sum that defines them.
#include "kernels/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace sardonyx::kernels {
namespace {

TEST(Fft, EqualsTheSumForAnyLength) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(-1, 1);
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 60, 64, 100, 127}) {
    std::vector<Fft::Complex> data(static_cast<std::size_t>(n));
    for (auto& x : data) x = {value(random), value(random)};
    auto found = data;
    const Fft fft(n);
    std::vector<Fft::Complex> work(static_cast<std::size_t>(fft.work_count()));
    fft.Transform(found.data(), false, work.data());
    for (std::int64_t k = 0; k < n; ++k) {
      Fft::Complex sum;
      for (std::int64_t t = 0; t < n; ++t) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(k * t % n) / static_cast<double>(n);
        sum += data[static_cast<std::size_t>(t)] * Fft::Complex(std::cos(angle), std::sin(angle));
      }
      EXPECT_LT(std::abs(found[static_cast<std::size_t>(k)] - sum), 1e-12 * static_cast<double>(n + 8))
          << n << " " << k;
    }
    fft.Transform(found.data(), true, work.data());
    for (std::size_t i = 0; i < data.size(); ++i)
      EXPECT_LT(std::abs(found[i] - data[i]), 1e-13 * static_cast<double>(n + 8));
  }
}

}  // namespace
}  // namespace sardonyx::kernels
