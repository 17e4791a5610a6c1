// kernels/softmax/softmax_f32.cpp - softmax over an axis: how threads share the rows or columns.
#include "kernels/softmax/softmax_f32.h"

#include <algorithm>

namespace sardonyx::kernels {
namespace {

constexpr Variant<SoftmaxRowFn> kRowVariants[] = {SDX_VARIANTS(SoftmaxRow)};
constexpr Variant<SoftmaxColumnsFn> kColumnsVariants[] = {SDX_VARIANTS(SoftmaxColumns)};
constexpr std::int64_t kTile = 64;           // columns of one piece of work
constexpr std::int64_t kElements = 1 << 13;  // about as many elements as are worth a thread

}  // namespace

std::span<const Variant<SoftmaxRowFn>> SoftmaxRowVariants() { return kRowVariants; }
std::span<const Variant<SoftmaxColumnsFn>> SoftmaxColumnsVariants() { return kColumnsVariants; }

void SoftmaxF32(const float* x, std::int64_t outer, std::int64_t n, std::int64_t inner, bool log, float* y,
                Parallel& parallel) {
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    static SoftmaxRowFn* const row = Best(kRowVariants);
    parallel.For(outer, std::max<std::int64_t>(1, kElements / n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) row(x + i * n, n, log, y + i * n);
    });
    return;
  }
  static SoftmaxColumnsFn* const columns = Best(kColumnsVariants);
  const std::int64_t tiles = (inner + kTile - 1) / kTile;
  const std::int64_t grain = std::max<std::int64_t>(1, kElements / (n * std::min(inner, kTile)));
  parallel.For(outer * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i % tiles * kTile, offset = i / tiles * n * inner + at;
      columns(x + offset, n, inner, std::min(kTile, inner - at), log, y + offset);
    }
  });
}

}  // namespace sardonyx::kernels
