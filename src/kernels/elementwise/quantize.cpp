// kernels/elementwise/quantize.cpp - dispatch of the quantization loops, and dynamic quantization, by the range of the
// values themselves.
#include "kernels/elementwise/quantize.h"

#include <algorithm>
#include <cmath>

namespace sardonyx::kernels {

static constexpr Variant<QuantizeTableFn> kVariants[] = {SDX_VARIANTS(QuantizeKernels)};

std::span<const Variant<QuantizeTableFn>> QuantizeVariants() { return kVariants; }

const QuantizeTable& Quantization() {
  static const QuantizeTable best = Best(kVariants)();
  return best;
}

constexpr std::int64_t kPart = 1 << 14;  // values of a range found at a time

std::size_t DynamicRangeFloats(std::int64_t count) { return 2 * static_cast<std::size_t>((count + kPart - 1) / kPart); }

DynamicScale QuantizeDynamically(const float* x, std::int64_t count, std::uint8_t* y, float* ranges,
                                 Parallel& parallel) {
  const QuantizeTable& table = Quantization();
  const std::int64_t parts = (count + kPart - 1) / kPart;
  parallel.For(parts, 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t first = p * kPart, size = std::min(kPart, count - first);
      table.range(x + first, static_cast<std::size_t>(size), &ranges[2 * p], &ranges[2 * p + 1]);
    }
  });
  float low = 0, high = 0;
  for (std::int64_t p = 0; p < parts; ++p) low = std::min(low, ranges[2 * p]), high = std::max(high, ranges[2 * p + 1]);
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  // fmax and fmin give a bound for NaN, which infinite ranges make.
  const float zero = std::nearbyint(std::fmin(std::fmax(-low / scale, 0.0f), 255.0f));
  QuantizeFn* const quantize = table.quantize(DType::kUInt8, true);
  parallel.For(count, kPart, [&](std::int64_t begin, std::int64_t end) {
    quantize(x + begin, &scale, &zero, 0.0f, 255.0f, static_cast<std::size_t>(end - begin), y + begin);
  });
  return {scale, static_cast<std::uint8_t>(zero)};
}

}  // namespace sardonyx::kernels
