// kernels/elementwise/elementwise_bench.cpp - time of the elementwise loops in the first-level cache and from memory.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/unary.h"

namespace sardonyx::kernels {
namespace {

std::vector<float> Ramp(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 4096) / 500 - 4;
  return x;
}

// range(0): elements; range(1): the kind.
void BM_Unary(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<float> x = Ramp(n);
  std::vector<float> y(n);
  UnaryF32Fn* const run = UnaryF32(static_cast<UnaryKind>(state.range(1)));
  for (auto _ : state) run(x.data(), y.data(), n, 1, 0);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
void BM_Binary(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<float> x = Ramp(n), y = Ramp(n);
  std::vector<float> z(n);
  BinaryFn* const run = Binary(static_cast<BinaryKind>(state.range(1)), DType::kFloat).both;
  for (auto _ : state) benchmark::DoNotOptimize(run(x.data(), y.data(), z.data(), n));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
void BM_FloatsToHalvesAndBack(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<float> x = Ramp(n);
  std::vector<std::uint16_t> y(n);
  for (auto _ : state) {
    FromFloats(DType::kFloat16)(x.data(), n, y.data(), 0);
    ToFloats(DType::kFloat16)(y.data(), 0, n, x.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

constexpr std::int64_t Of(UnaryKind kind) { return static_cast<std::int64_t>(kind); }
constexpr std::int64_t Of(BinaryKind kind) { return static_cast<std::int64_t>(kind); }

BENCHMARK(BM_Unary)->ArgsProduct({{4096, 1 << 22},
                                  {Of(UnaryKind::kRelu), Of(UnaryKind::kExp), Of(UnaryKind::kLog),
                                   Of(UnaryKind::kSigmoid), Of(UnaryKind::kTanh), Of(UnaryKind::kErf),
                                   Of(UnaryKind::kGelu), Of(UnaryKind::kSwish), Of(UnaryKind::kSin)}});
BENCHMARK(BM_Binary)->ArgsProduct({{4096, 1 << 22},
                                   {Of(BinaryKind::kAdd), Of(BinaryKind::kMax), Of(BinaryKind::kLess)}});
BENCHMARK(BM_FloatsToHalvesAndBack)->Arg(4096)->Arg(1 << 22);

}  // namespace
}  // namespace sardonyx::kernels
