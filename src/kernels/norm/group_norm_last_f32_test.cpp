// kernels/norm/group_norm_last_f32_test.cpp - group and instance normalisation against statistics in float64.
#include "kernels/norm/group_norm_last_f32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sardonyx::kernels {
namespace {

void Check(const Isa& isa, std::int64_t pixels, std::int64_t channels, std::int64_t groups, bool per_group) {
  GroupNormLastArgs a;
  a.batch = 2, a.pixels = pixels, a.channels = channels, a.groups = groups, a.per_group = per_group;
  std::vector<float> x(static_cast<std::size_t>(2 * pixels * channels)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 5 + std::sin(0.37f * static_cast<float>(i * i % 4093));
  const std::int64_t parameters = per_group ? groups : channels;
  std::vector<float> scale, bias;
  for (std::int64_t i = 0; i < parameters; ++i) {
    scale.push_back(0.5f + static_cast<float>(i % 7));
    bias.push_back(static_cast<float>(i % 5) - 2);
  }
  a.x = x.data(), a.y = y.data(), a.scale = scale.data(), a.bias = bias.data();
  std::vector<std::byte> memory(GroupNormLastScratchBytes(a) + 64);
  const auto offset = -reinterpret_cast<std::uintptr_t>(memory.data()) & 63;
  Serial serial;
  GroupNormLastF32(a, serial, memory.data() + offset, isa);
  const std::int64_t each = channels / groups;
  for (std::int64_t image = 0; image < 2; ++image)
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t group = c / each;
      const auto at = [&](std::int64_t p, std::int64_t channel) {
        return static_cast<std::size_t>((image * pixels + p) * channels + channel);
      };
      double mean = 0, variance = 0;
      for (std::int64_t p = 0; p < pixels; ++p)
        for (std::int64_t k = 0; k < each; ++k) mean += x[at(p, group * each + k)];
      mean /= static_cast<double>(each * pixels);
      for (std::int64_t p = 0; p < pixels; ++p)
        for (std::int64_t k = 0; k < each; ++k) variance += std::pow(x[at(p, group * each + k)] - mean, 2);
      variance /= static_cast<double>(each * pixels);
      const auto parameter = static_cast<std::size_t>(per_group ? group : c);
      for (std::int64_t p = 0; p < pixels; ++p) {
        const double want = (x[at(p, c)] - mean) / std::sqrt(variance + a.epsilon) * scale[parameter] + bias[parameter];
        // The mean, of magnitude 5, is rounded to float and amplified by scale / deviation.
        const double bound = 64 * 0x1p-24 * 6 * scale[parameter] / std::sqrt(variance + a.epsilon) + 1e-6;
        EXPECT_NEAR(y[at(p, c)], want, bound) << Name(isa) << " pixel " << p << " channel " << c;
      }
    }
}

TEST(GroupNormLast, EveryVariantMatchesFloat64) {
  for (const Isa isa : SupportedIsas()) {
    Check(isa, 1, 6, 3, false);
    Check(isa, 63, 20, 20, false);
    Check(isa, 200, 32, 1, false);
    Check(isa, 129, 24, 4, true);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
