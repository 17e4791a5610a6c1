// kernels/pool/pool_last_int8_test.cpp - maxima of channels-last bytes, in every variant, against plain loops.
#include "kernels/pool/pool_last_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
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

int Value(std::uint8_t byte, bool is_signed) { return is_signed ? static_cast<std::int8_t>(byte) : byte; }

int Expected(const PoolShape& p, const std::uint8_t* x, std::int64_t channels, std::int64_t pixel, std::int64_t c,
             bool is_signed) {
  int most = is_signed ? -128 : 0;
  for (std::int64_t kh = 0; kh < p.kernel[1]; ++kh)
    for (std::int64_t kw = 0; kw < p.kernel[2]; ++kw) {
      const std::int64_t h = pixel / p.out[2] * p.stride[1] - p.pad_begin[1] + kh * p.dilation[1];
      const std::int64_t w = pixel % p.out[2] * p.stride[2] - p.pad_begin[2] + kw * p.dilation[2];
      if (h < 0 || h >= p.in[1] || w < 0 || w >= p.in[2]) continue;
      most = std::max(most, Value(x[(h * p.in[2] + w) * channels + c], is_signed));
    }
  return most;
}

TEST(MaxPoolLastInt8, EveryVariantMatchesPlainLoops) {
  Serial serial;
  std::mt19937 engine(1);
  for (const Isa isa : SupportedIsas()) {
    for (const std::int64_t channels : {1, 3, 16, 65, 200})
      for (const PoolShape& p : {Shape3(7, 3, 2, 1, 1), Shape3(9, 2, 1, 2, 0), Shape3(12, 9, 1, 1, 4),
                                 Shape3(1, 1, 1, 1, 0), Shape3(2, 2, 3, 5, 4)})
        for (const bool is_signed : {false, true}) {
          const std::int64_t image = p.in[1] * p.in[2] * channels, outputs = p.out[1] * p.out[2];
          std::vector<std::uint8_t> x(static_cast<std::size_t>(2 * image));
          for (std::uint8_t& v : x) v = static_cast<std::uint8_t>(engine() >> 13);
          std::vector<std::uint8_t> y(static_cast<std::size_t>(2 * outputs * channels) + 1, 77);
          MaxPoolLastInt8(p, 2, channels, is_signed, x.data(), y.data(), serial, isa);
          for (std::int64_t i = 0; i < 2 * outputs * channels; ++i) {
            const std::int64_t pixel = i / channels;
            ASSERT_EQ(Value(y[i], is_signed), Expected(p, x.data() + pixel / outputs * image, channels, pixel % outputs,
                                                       i % channels, is_signed))
                << Name(isa) << " channels " << channels << " at " << i;
          }
          ASSERT_EQ(y.back(), 77);
        }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
