// ops/math/narrow_weights.cpp - finds constant weights that 16 bits hold as exactly as 32.
#include "ops/math/narrow_weights.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "kernels/dispatch.h"
#include "kernels/elementwise/convert.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kFewest = std::int64_t{1} << 15;
constexpr std::int64_t kBlock = 1024;

bool IsBFloat16(const float* x, std::int64_t n) {
  std::uint32_t low = 0;
  for (std::int64_t i = 0; i < n; ++i) low |= std::bit_cast<std::uint32_t>(x[i]) & 0xffffu;
  return low == 0;
}

// n is at most kBlock.
bool IsFloat16(const float* x, std::int64_t n) {
  static kernels::FromFloatsFn* const round = kernels::FromFloats(DType::kFloat16);
  static kernels::ToFloatsFn* const widen = kernels::ToFloats(DType::kFloat16);
  std::array<std::uint16_t, kBlock> halves;
  std::array<float, kBlock> back;
  round(x, static_cast<std::size_t>(n), halves.data(), 0);
  widen(halves.data(), 0, static_cast<std::size_t>(n), back.data());
  return std::memcmp(x, back.data(), static_cast<std::size_t>(n) * sizeof(float)) == 0;
}

}  // namespace

bool ConvertsFloat16() { return kernels::BestIsa() != kernels::Isa::baseline; }

DType ExactType(const float* x, std::int64_t count, Parallel& parallel) {
  if (count < kFewest) return DType::kFloat;
  std::atomic<bool> bfloat16 = true, float16 = ConvertsFloat16();
  const auto look = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end && (bfloat16 || float16); i += kBlock) {
      const std::int64_t n = std::min(kBlock, end - i);
      if (bfloat16 && !IsBFloat16(x + i, n)) bfloat16 = false;
      if (float16 && !IsFloat16(x + i, n)) float16 = false;
    }
  };
  look(0, kBlock);  // nearly all other weights are told by their first numbers
  if (bfloat16 || float16) parallel.For(count, std::int64_t{1} << 18, look);
  return bfloat16 ? DType::kBFloat16 : float16 ? DType::kFloat16 : DType::kFloat;
}

}  // namespace sardonyx::ops
