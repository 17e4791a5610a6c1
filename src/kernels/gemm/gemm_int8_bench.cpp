// kernels/gemm/gemm_int8_bench.cpp - 8-bit GEMM; VNNI's ceiling is four times that of f32 FMA on the same vectors.
#include "kernels/gemm/gemm_int8.h"
#include "kernels/gemm/kernel_bench.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

// Arguments: index of the variant, M, N, K, 1 if B is packed beforehand, 1 if A and B are u8 with a zero point of B.
void GemmBytes(benchmark::State& state) {
  const auto rows = Runnable(TileInt8Variants());
  const auto row = static_cast<std::size_t>(state.range(0));
  if (row >= rows.size()) return state.SkipWithError("not on this CPU");
  const TileInt8Set& set = *rows[row].second();
  GemmInt8Args g;
  g.m = state.range(1), g.n = state.range(2), g.k = state.range(3), g.tiles = &set;
  g.b_signed = state.range(5) == 0;
  const std::uint8_t zero = 120;
  if (!g.b_signed) g.b_zero = &zero;
  const Floats a = Filled(static_cast<std::size_t>(g.m * g.k)), c = Filled(static_cast<std::size_t>(g.m * g.n));
  const Floats b = Filled(static_cast<std::size_t>(g.n * g.k)),
               packed = Filled(GemmInt8PackedBytes(g.k, g.n, &set) / 4);
  g.a = a.get(), g.lda = g.k, g.b = b.get(), g.ldb = g.n, g.c = c.get(), g.ldc = g.n;
  Serial serial;
  PackGemmInt8B(g.k, g.n, g.b, g.ldb, g.b_signed, packed.get(), serial, &set);
  if (state.range(4) != 0) g.packed_b = packed.get();
  const Floats scratch = Filled(GemmInt8ScratchBytes(g, 1) / 4);
  for (auto _ : state) {
    GemmInt8(g, serial, reinterpret_cast<std::byte*>(scratch.get()));
    benchmark::ClobberMemory();
  }
  SetRates(state, 2.0 * static_cast<double>(g.m * g.n * g.k), TilesF32(set.isa));
}
BENCHMARK(GemmBytes)->ArgsProduct({{0, 1, 2, 3}, {512}, {512}, {512}, {1}, {0}})->UseRealTime();
BENCHMARK(GemmBytes)->ArgsProduct({{0, 1}, {2, 4, 8, 16, 128}, {768}, {768}, {1}, {0}})->UseRealTime();
BENCHMARK(GemmBytes)->ArgsProduct({{0}, {128}, {768}, {768}, {0, 1}, {1}})->UseRealTime();
BENCHMARK(GemmBytes)->ArgsProduct({{0}, {1}, {1024}, {1024}, {0, 1}, {0}})->UseRealTime();

}  // namespace
}  // namespace sardonyx::kernels
