// kernels/elementwise/unary_test.cpp - every vector form that this CPU can run, against the double form, on a sparse
// sample of all floats.
#include "kernels/elementwise/unary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/conv/conv_kernels.h"

namespace sardonyx::kernels {
namespace {

std::vector<UnaryKind> AllKinds() {
  std::vector<UnaryKind> kinds;
  for (int kind = 0; kind < static_cast<int>(UnaryKind::kCount); ++kind) kinds.push_back(static_cast<UnaryKind>(kind));
  return kinds;
}

// Floats of every sign and exponent, 64 mantissas each, the special ones, and a dense stretch around zero.
std::vector<float> Inputs() {
  std::vector<float> x;
  for (std::uint32_t top = 0; top < 512; ++top)
    for (std::uint32_t i = 0; i < 64; ++i) x.push_back(std::bit_cast<float>(top << 23 | (i * 0x1f35bu & 0x7fffffu)));
  for (int i = -24000; i <= 24000; ++i) x.push_back(static_cast<float>(i) / 1000);
  for (const float special : {88.72f, 88.73f, -103.9f, -87.4f, 0.625f, 1.0f, 12000.5f, 3.4e38f}) x.push_back(special);
  return x;
}

double UlpOf(double value) {
  const double size = std::max(std::abs(value), 0x1p-126);
  return std::ldexp(1.0, std::max(std::ilogb(size), -126) - 23);
}

TEST(UnaryF32, EveryVariantIsWithinItsBoundOfTheDoubleForm) {
  const std::vector<float> x = Inputs();
  const std::vector<double> wide(x.begin(), x.end());
  std::vector<float> y(x.size());
  std::vector<double> want(x.size());
  for (const auto& [isa, find] : Runnable(UnaryF32Variants())) {
    for (const UnaryKind kind : AllKinds()) {
      const UnaryFunction& f = UnaryFunctionOf(kind);
      find(kind)(x.data(), y.data(), x.size(), f.a, f.b);
      f.f64(wide.data(), want.data(), x.size(), f.a, f.b);
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(want[i]) || std::isinf(static_cast<float>(want[i]))) {
          const auto narrow = static_cast<float>(want[i]);
          // A product near the largest float may overflow one step early or late.
          const bool same = std::isnan(narrow) ? std::isnan(y[i]) : y[i] == narrow || std::abs(y[i]) > 3.4e38f;
          if (!same) worst = 1e9, at = i;
          continue;
        }
        double unit = UlpOf(want[i]);
        if (f.of_product) unit = std::max(unit, 0x1p-24 * std::max(1.0, std::abs(wide[i])));
        const double error = std::abs(y[i] - want[i]) / unit;
        if (!(error <= worst)) worst = error, at = i;
      }
      EXPECT_LE(worst, f.ulps) << Name(isa) << " kind " << static_cast<int>(kind) << " x = " << x[at] << ": " << y[at]
                               << ", expected " << want[at];
    }
  }
}

TEST(UnaryF32, EveryLengthWritesItsElementsOnlyAndInPlace) {
  for (const auto& [isa, find] : Runnable(UnaryF32Variants())) {
    for (std::size_t n = 0; n <= 70; ++n) {
      std::vector<float> x(n + 1, -2.0f);
      x[n] = 7.0f;
      find(UnaryKind::kAbs)(x.data(), x.data(), n, 0, 0);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(x[i], 2.0f) << Name(isa) << " n=" << n;
      EXPECT_EQ(x[n], 7.0f) << Name(isa) << " n=" << n;
    }
  }
}

// Flags that make Highway choose narrower vectors than the ISA has would cost half the speed without a sign.
TEST(UnaryF32, VectorsHaveTheWidthOfTheirIsa) {
  for (const auto& [isa, bytes] : Runnable(VectorBytesVariants())) {
    const auto width = static_cast<std::size_t>(ConvKernelsOf(isa).lanes) * sizeof(float);  // of simd/vec_f32.h
    EXPECT_LE(bytes(), width) << Name(isa);
    EXPECT_TRUE(bytes() == width || isa == Isa::baseline) << Name(isa) << ": " << bytes();
  }
}

}  // namespace
}  // namespace sardonyx::kernels
