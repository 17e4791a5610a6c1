// kernels/gemm/gemm_f32_bench.cpp - f32 GEMM as a share of the FMA ceiling, and matrix times vector as bytes per
// second.
#include <benchmark/benchmark.h>

#include <string>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/kernel_bench.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

// Arguments: ISA, M, N, K, 1 if B is packed beforehand, copies of B used in turn (more than fit the caches: as in a
// network).
void Gemm(benchmark::State& state) {
  const auto isa = static_cast<Isa>(state.range(0));
  if (!Supported(isa)) return state.SkipWithError("not on this CPU");
  const TileF32Set& set = TilesF32(isa);
  GemmF32Args g;
  g.m = state.range(1), g.n = state.range(2), g.k = state.range(3), g.tiles = &set;
  const bool packed = state.range(4) != 0;
  const int64_t copies = state.range(5);
  const auto per_copy = packed ? static_cast<int64_t>(GemmF32PackedCount(g.k, g.n, &set)) : g.k * g.n;
  const Floats a = Filled(static_cast<std::size_t>(g.m * g.k)), c = Filled(static_cast<std::size_t>(g.m * g.n));
  const Floats b = Filled(static_cast<std::size_t>(per_copy * copies));
  g.a = a.get(), g.lda = g.k, g.ldb = g.n, g.c = c.get(), g.ldc = g.n;
  if (packed) g.packed_b = b.get();
  const Floats scratch = Filled(GemmF32ScratchBytes(g, 1) / sizeof(float) + 16);
  Serial serial;
  int64_t turn = 0;
  for (auto _ : state) {
    (packed ? g.packed_b : g.b) = b.get() + turn * per_copy;
    turn = (turn + 1) % copies;
    GemmF32(g, serial, reinterpret_cast<std::byte*>(scratch.get()));
    benchmark::ClobberMemory();
  }
  const double flop = 2.0 * static_cast<double>(g.m * g.n * g.k);
  SetRates(state, flop, set);
  state.counters["B_bytes"] =
      benchmark::Counter(4.0 * static_cast<double>(g.n * g.k * state.iterations()), benchmark::Counter::kIsRate);
}

void Sizes(benchmark::internal::Benchmark* bench) {
  for (int isa = 0; isa <= static_cast<int>(Isa::baseline); ++isa) bench->Args({isa, 512, 512, 512, 1, 1});
  bench->Args({0, 512, 512, 512, 0, 1})->Args({0, 128, 768, 768, 1, 40})->Args({0, 128, 3072, 768, 1, 12});
  bench->Args({0, 128, 768, 3072, 1, 12})->Args({0, 197, 768, 768, 1, 40})->Args({0, 128, 128, 64, 0, 1});
  bench->Args({0, 1, 4096, 4096, 1, 4})->Args({0, 1, 4096, 4096, 0, 4})->Args({0, 4, 4096, 4096, 1, 4});
  bench->Args({0, 8, 4096, 1024, 1, 8})->Args({0, 8, 512, 256, 1, 1})->Args({0, 3136, 64, 64, 1, 1});
}
BENCHMARK(Gemm)->Apply(Sizes)->UseRealTime();

// Arguments: M, N, K, 1 if A and B are rounded to bf16 (0: multiplied as floats), copies of B used in turn; the best
// tiles of this CPU.
void GemmBf16(benchmark::State& state) {
  GemmF32Args g;
  g.m = state.range(0), g.n = state.range(1), g.k = state.range(2), g.tiles = &BestTilesF32();
  g.rounds_to_bf16 = state.range(3) != 0;
  const int64_t copies = state.range(4);
  const auto per_copy = static_cast<int64_t>(GemmF32PackedCount(g.k, g.n));
  const Floats a = Filled(static_cast<std::size_t>(g.m * g.k)), c = Filled(static_cast<std::size_t>(g.m * g.n));
  const Floats b = Filled(static_cast<std::size_t>(per_copy * copies));
  g.a = a.get(), g.lda = g.k, g.ldb = g.n, g.c = c.get(), g.ldc = g.n;
  g.packed_half = reinterpret_cast<const std::uint16_t*>(b.get()), g.half_kind = HalfKind::kBFloat16;
  if (!g.rounds_to_bf16) g.packed_half = nullptr, g.packed_b = b.get();
  const Floats scratch = Filled(GemmF32ScratchBytes(g, 1) / sizeof(float) + 16);
  Serial serial;
  int64_t turn = 0;
  for (auto _ : state) {
    if (g.rounds_to_bf16)
      g.packed_half = reinterpret_cast<const std::uint16_t*>(b.get()) + turn * per_copy;
    else
      g.packed_b = b.get() + turn * per_copy;
    turn = (turn + 1) % copies;
    GemmF32(g, serial, reinterpret_cast<std::byte*>(scratch.get()));
    benchmark::ClobberMemory();
  }
  SetRates(state, 2.0 * static_cast<double>(g.m * g.n * g.k), *g.tiles);
}
BENCHMARK(GemmBf16)
    ->ArgsProduct({{512}, {512}, {512}, {0, 1}, {1}})
    ->ArgsProduct({{16, 32, 128}, {768}, {768}, {0, 1}, {40}})
    ->ArgsProduct({{128}, {3072}, {768}, {0, 1}, {12}})
    ->ArgsProduct({{3136}, {64, 256}, {64}, {0, 1}, {1}})
    ->UseRealTime();

}  // namespace
}  // namespace sardonyx::kernels
