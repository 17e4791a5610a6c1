// kernels/gemm/gemm_any_bench.cpp - f64 GEMM, whose ceiling is half that of f32, and integer GEMM.
#include "kernels/gemm/gemm_any.h"
#include "kernels/gemm/kernel_bench.h"

namespace sardonyx::kernels {
namespace {

template <typename T>
void GemmOther(benchmark::State& state) {
  const auto isa = static_cast<Isa>(state.range(0));
  if (!Supported(isa)) return state.SkipWithError("not on this CPU");
  GemmAnyArgs<T> g;
  g.m = g.n = g.k = state.range(1), g.isa = isa;
  const std::size_t floats = static_cast<std::size_t>(g.m * g.m) * sizeof(T) / 4;
  const Floats a = Filled(floats), b = Filled(floats), c = Filled(floats),
               scratch = Filled(GemmAnyScratchBytes(g, 1) / 4);
  g.a = reinterpret_cast<const T*>(a.get()), g.b = reinterpret_cast<const T*>(b.get());
  g.c = reinterpret_cast<T*>(c.get()), g.lda = g.ldb = g.ldc = g.m;
  Serial serial;
  for (auto _ : state) {
    GemmAny(g, serial, reinterpret_cast<std::byte*>(scratch.get()));
    benchmark::ClobberMemory();
  }
  SetRates(state, 2.0 * static_cast<double>(g.m * g.n * g.k), TilesF32(isa));
}
const auto kIsas = benchmark::CreateDenseRange(0, static_cast<int>(Isa::baseline), 1);
BENCHMARK(GemmOther<double>)->ArgsProduct({kIsas, {256}})->UseRealTime();
BENCHMARK(GemmOther<std::int32_t>)->ArgsProduct({kIsas, {256}})->UseRealTime();
BENCHMARK(GemmOther<std::int64_t>)->ArgsProduct({kIsas, {256}})->UseRealTime();

}  // namespace
}  // namespace sardonyx::kernels
