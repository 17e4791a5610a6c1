// kernels/pool/pool_last_f32_test.cpp - channels-last pools against the pools of planes and a plain sum.
#include "kernels/pool/pool_last_f32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sardonyx::kernels {
namespace {

PoolShape Shape3(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
  PoolShape p;
  p.in = {1, size, size + 1};
  p.kernel = {1, kernel, kernel};
  p.stride = {1, stride, stride};
  p.dilation = {1, dilation, dilation};
  p.pad_begin = p.pad_end = {0, pad, pad};
  for (int i = 0; i < 3; ++i)
    p.out[i] = (p.in[i] + 2 * p.pad_begin[i] - p.dilation[i] * (p.kernel[i] - 1) - 1) / p.stride[i] + 1;
  return p;
}

std::vector<float> Numbers(std::int64_t count) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.7f * static_cast<float>(i * i % 1013));
  return x;
}

double Expected(const PoolShape& p, const float* x, std::int64_t channels, std::int64_t oh, std::int64_t ow,
                std::int64_t c) {
  double sum = 0, most = -INFINITY;
  for (std::int64_t kh = 0; kh < p.kernel[1]; ++kh)
    for (std::int64_t kw = 0; kw < p.kernel[2]; ++kw) {
      const std::int64_t h = oh * p.stride[1] - p.pad_begin[1] + kh * p.dilation[1];
      const std::int64_t w = ow * p.stride[2] - p.pad_begin[2] + kw * p.dilation[2];
      if (h < 0 || h >= p.in[1] || w < 0 || w >= p.in[2]) continue;
      const double v = x[(h * p.in[2] + w) * channels + c];
      sum += v;
      most = std::max(most, v);
    }
  return p.average ? sum / static_cast<double>(PoolTaps(p, 1, oh) * PoolTaps(p, 2, ow)) : most;
}

TEST(PoolLast, EveryVariantMatchesThePlainSum) {
  Serial serial;
  for (const Isa isa : SupportedIsas()) {
    for (const std::int64_t channels : {1, 3, 16, 37})
      for (PoolShape p : {Shape3(7, 3, 2, 1, 1), Shape3(9, 2, 1, 2, 0), Shape3(12, 9, 1, 1, 4), Shape3(1, 1, 1, 1, 0)})
        for (int kind = 0; kind < 3; ++kind) {
          p.average = kind > 0;
          p.count_include_pad = kind > 1;
          const std::vector<float> x = Numbers(2 * p.in[1] * p.in[2] * channels);
          std::vector<float> y(static_cast<std::size_t>(2 * p.out[1] * p.out[2] * channels), -7.0f);
          PoolLastF32(p, 2, channels, x.data(), y.data(), serial, isa);
          for (std::size_t i = 0; i < y.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const std::int64_t pixel = at / channels, ow = pixel % p.out[2], oh = pixel / p.out[2] % p.out[1];
            const float* image = x.data() + pixel / (p.out[1] * p.out[2]) * p.in[1] * p.in[2] * channels;
            const double taps = static_cast<double>(p.kernel[1] * p.kernel[2]);
            EXPECT_NEAR(y[i], Expected(p, image, channels, oh, ow, at % channels), taps * 0x1p-23)
                << Name(isa) << " kind " << kind << " channels " << channels << " at " << i;
          }
        }
  }
}

TEST(PoolLast, KeepsNaN) {
  Serial serial;
  PoolShape p = Shape3(3, 3, 1, 1, 1);
  std::vector<float> x = Numbers(3 * 4 * 2), y(3 * 4 * 2);
  x[0] = NAN;
  PoolLastF32(p, 1, 2, x.data(), y.data(), serial);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[2]) && !std::isnan(y[1]) && !std::isnan(y.back()));
}

}  // namespace
}  // namespace sardonyx::kernels
