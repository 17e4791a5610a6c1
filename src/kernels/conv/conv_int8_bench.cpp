// kernels/conv/conv_int8_bench.cpp - 8-bit convolutions of known networks, channels last, as a share of VNNI's ceiling,
// which is four times that of f32 FMA on the same vectors. Weights of 4 MB in all are used in turn.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "kernels/conv/conv_int8.h"
#include "kernels/conv/conv_layers.h"
#include "kernels/gemm/kernel_bench.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr std::size_t kWeightBytes = std::size_t{4} << 20;

ConvShape ShapeOf(const ConvLayer& layer) {
  ConvShape s;
  s.in_channels = layer.in_channels, s.out_channels = layer.out_channels, s.groups = layer.groups;
  const bool two = layer.rows != 1;
  s.in = {1, two ? layer.size : 1, layer.size};
  s.kernel = {1, two ? layer.kernel : 1, layer.kernel};
  s.stride = {1, two ? layer.stride : 1, layer.stride};
  s.dilation = {1, two ? layer.dilation : 1, layer.dilation};
  s.pad_begin = {0, two ? layer.pad : 0, layer.pad};
  for (int i = 0; i < 3; ++i)
    s.out[i] = (s.in[i] + 2 * s.pad_begin[i] - s.dilation[i] * (s.kernel[i] - 1) - 1) / s.stride[i] + 1;
  s.in_layout = s.out_layout = ImageLayout::kChannelsLast;
  return s;
}

int64_t Volume(const std::array<int64_t, 3>& v) { return v[0] * v[1] * v[2]; }

// u8 images, s8 weights with a scale a channel, requantized to u8; one thread. Argument: index of the layer.
void ConvBytes(benchmark::State& state) {
  const ConvLayer& layer = kConvLayers[state.range(0)];
  const ConvShape s = ShapeOf(layer);
  const int64_t taps = Volume(s.kernel) * (s.in_channels / s.groups);
  const auto words = [](int64_t bytes) { return static_cast<std::size_t>(bytes) / 4 + 1; };
  const Floats x = Filled(words(Volume(s.in) * s.in_channels)), w = Filled(words(s.out_channels * taps));
  const Floats y = Filled(words(Volume(s.out) * s.out_channels)), scales = Filled(words(s.out_channels * 4));
  ConvInt8Args args;
  args.shape = s, args.x = x.get(), args.x_zero = 3;
  args.result = Int8Result::kBytes, args.y = y.get(), args.scales = scales.get();
  const std::size_t packed_bytes = ConvInt8PackedBytes(s);
  const Floats scratch = Filled(ConvInt8ScratchBytes(args, 1) / 4);
  std::vector<Floats> packed(std::max<std::size_t>(1, kWeightBytes / packed_bytes));
  Serial serial;
  for (Floats& p : packed) {
    p = Filled(packed_bytes / 4);
    PackConvInt8Weights(s, {w.get()}, reinterpret_cast<std::byte*>(p.get()), serial);
  }
  std::size_t turn = 0;
  double best = 1e9;  // the mean suffers from whatever else the machine does
  for (auto _ : state) {
    args.packed_weights = reinterpret_cast<const std::byte*>(packed[turn++ % packed.size()].get());
    const auto start = std::chrono::steady_clock::now();
    ConvInt8(args, serial, reinterpret_cast<std::byte*>(scratch.get()));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  const double flop = 2.0 * static_cast<double>(Volume(s.out) * s.out_channels * taps);
  state.counters["best_us"] = best * 1e6;
  state.counters["best_share"] = flop / best / (4 * TileCeiling(BestTilesF32()));
  state.SetLabel(layer.name);
}

void Layers(benchmark::internal::Benchmark* bench) {
  for (std::size_t i = 0; i < std::size(kConvLayers); ++i)
    if (!kConvLayers[i].transposed) bench->Arg(static_cast<int64_t>(i));
}
BENCHMARK(ConvBytes)->Apply(Layers)->UseRealTime();

}  // namespace
}  // namespace sardonyx::kernels
