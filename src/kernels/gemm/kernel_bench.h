// kernels/gemm/kernel_bench.h - what the benchmarks of the matrix kernels share.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Floats = std::unique_ptr<float[], Free>;

// Numbers between -1 and 1 of all 24 bits.
inline Floats Filled(std::size_t count) {
  const std::size_t bytes = (count * sizeof(float) + 63) / 64 * 64 + 64;
  Floats p(static_cast<float*>(std::aligned_alloc(64, bytes)));
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    const auto value = static_cast<std::int32_t>(state) >> 8;
    p[i] = static_cast<float>(value) * 0x1p-23f;
  }
  return p;
}

// FLOP/s of the tile itself on data in the first cache level: what the driver can reach at most.
inline double TileCeiling(const TileF32Set& set) {
  const Floats a = Filled(896), b = Filled(2048), c = Filled(448);
  TileF32Args t;
  t.a0 = a.get(), t.a_row_stride = 64, t.k = 64, t.b = b.get(), t.b_stride = set.columns;
  t.a1 = t.a0 + (set.rows + 1) / 2 * t.a_row_stride;
  t.c0 = c.get(), t.c_row_stride = 32, t.columns = set.columns, t.c1 = t.c0 + (set.rows + 1) / 2 * t.c_row_stride;
  t.prefetch = reinterpret_cast<const char*>(b.get());
  t.taps = 1;
  double best = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) set.wide[set.rows - 1](t);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, 200.0 * 2 * 64 * static_cast<double>(set.rows * set.columns) / time.count());
  }
  return best;
}

// Prints FLOP/s and the share of the ceiling, from the operations of one iteration.
inline void SetRates(benchmark::State& state, double flop, const TileF32Set& set) {
  const double all = flop * static_cast<double>(state.iterations());
  state.counters["flops"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["share"] = benchmark::Counter(all / TileCeiling(set), benchmark::Counter::kIsRate);
  state.SetLabel(std::string(Name(set.isa)));
}

}  // namespace sardonyx::kernels
