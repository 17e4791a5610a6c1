// kernels/elementwise/binary_kernel_test.cpp - every vector form of the remainders of floats that this CPU can run,
// against the library's.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/elementwise/binary.h"

namespace sardonyx::kernels {
namespace {

// Any bits, so that exponents differ widely, and numbers near each other.
std::vector<float> Floats(std::size_t n, unsigned seed) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kEdges[] = {0.0f, -0.0f, kInf, -kInf, std::nanf(""), 1e-45f, -3.0f, 5.5f, 3e38f};
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = i % 2 == 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(random()))
                      : static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 8;
  }
  for (std::size_t i = 0; i < n; i += 11) x[i] = kEdges[random() % std::size(kEdges)];
  return x;
}

float Floored(float x, float y) {
  const float r = std::fmod(x, y);
  if (r == 0) return std::copysign(0.0f, y);
  return (r < 0) != (y < 0) ? r + y : r;
}

void ExpectRemainders(const BinaryLoops& loops, float (*want)(float, float)) {
  ASSERT_NE(loops.both, nullptr);
  for (const std::size_t n : {1U, 7U, 64U, 65U, 1000U, 20000U}) {
    const std::vector<float> x = Floats(n, 1), y = Floats(n, 2);
    const auto expect = [&](const std::vector<float>& z, bool one_x, bool one_y) {
      for (std::size_t i = 0; i < n; ++i) {
        const float a = x[one_x ? 0 : i], b = y[one_y ? 0 : i], expected = want(a, b);
        if (expected != expected) {
          ASSERT_NE(z[i], z[i]) << a << " " << b;
        } else {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(z[i]), std::bit_cast<std::uint32_t>(expected)) << a << " " << b;
        }
      }
    };
    std::vector<float> z(n), in_place = y;
    EXPECT_EQ(loops.both(x.data(), y.data(), z.data(), n), n);
    expect(z, false, false);
    loops.both(x.data(), in_place.data(), in_place.data(), n);
    expect(in_place, false, false);
    loops.repeated_y(x.data(), y.data(), z.data(), n);
    expect(z, false, true);
    loops.repeated_x(x.data(), y.data(), z.data(), n);
    expect(z, true, false);
  }
}

TEST(BinaryKernels, RemaindersOfFloatsAreExact) {
  for (const auto& [isa, find] : Runnable(BinaryVariants())) {
    SCOPED_TRACE(Name(isa));
    ExpectRemainders(find(BinaryKind::kFMod, DType::kFloat), [](float x, float y) { return std::fmod(x, y); });
    ExpectRemainders(find(BinaryKind::kMod, DType::kFloat), Floored);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
