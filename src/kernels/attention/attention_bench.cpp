// kernels/attention/attention_bench.cpp - attention as a share of the FMA ceiling, and decoding as bytes per second.
#include <benchmark/benchmark.h>

#include "kernels/attention/attention.h"
#include "kernels/gemm/kernel_bench.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

// Arguments: heads, key heads, queries, keys, size; [sequence, heads, size] in memory, as projections write it.
void AttentionHeads(benchmark::State& state) {
  AttentionF32Args a;
  a.batch = 1, a.heads = state.range(0), a.kv_heads = state.range(1);
  a.queries = state.range(2), a.keys = state.range(3), a.size = a.value_size = state.range(4);
  const auto floats = [](int64_t count) { return Filled(static_cast<std::size_t>(count)); };
  const Floats q = floats(a.heads * a.queries * a.size), y = floats(a.heads * a.queries * a.size);
  const Floats k = floats(a.kv_heads * a.keys * a.size), v = floats(a.kv_heads * a.keys * a.size);
  a.q = q.get(), a.k = k.get(), a.v = v.get(), a.y = y.get();
  a.q_strides = a.y_strides = {0, a.size, a.heads * a.size};
  a.k_strides = a.v_strides = {0, a.keys * a.size, a.size};
  a.scale = 0.125f;
  const Floats scratch = floats(static_cast<int64_t>(AttentionF32ScratchBytes(a, 1) / sizeof(float)) + 16);
  Serial serial;
  for (auto _ : state) {
    AttentionF32(a, serial, reinterpret_cast<std::byte*>(scratch.get()));
    benchmark::ClobberMemory();
  }
  SetRates(state, 4.0 * static_cast<double>(a.heads * a.queries * a.keys * a.size), BestTilesF32());
  const double bytes = 8.0 * static_cast<double>(a.kv_heads * a.keys * a.size);
  state.counters["cache_bytes"] =
      benchmark::Counter(bytes * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->Args({12, 12, 128, 128, 64})->Args({12, 12, 197, 197, 64})->Args({6, 6, 1500, 1500, 64});
  bench->Args({12, 12, 1, 129, 64})
      ->Args({12, 12, 1, 4096, 64})
      ->Args({9, 3, 1, 4096, 64})
      ->Args({32, 8, 1, 2048, 128});
  bench->Args({9, 3, 128, 128, 64})->Args({8, 8, 64, 64, 40})->Args({12, 12, 16, 144, 64});
}
BENCHMARK(AttentionHeads)->Apply(Sizes)->UseRealTime();

}  // namespace
}  // namespace sardonyx::kernels
