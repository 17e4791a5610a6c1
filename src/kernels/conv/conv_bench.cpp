// kernels/conv/conv_bench.cpp - convolutions of known networks as a share of the FMA ceiling, in both layouts.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "kernels/conv/conv.h"
#include "kernels/gemm/kernel_bench.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

// Arguments: 0 NCHW / 1 NHWC, input channels, output channels, image size, kernel, stride, groups, 1 if transposed.
void Convolution(benchmark::State& state) {
  ConvShape s;
  s.in_layout = s.out_layout = state.range(0) == 0 ? ImageLayout::kChannelsFirst : ImageLayout::kChannelsLast;
  s.in_channels = state.range(1), s.out_channels = state.range(2), s.groups = state.range(6);
  const int64_t size = state.range(3), kernel = state.range(4), stride = state.range(5), pad = (kernel - 1) / 2;
  const bool transposed = state.range(7) != 0;
  const int64_t out = transposed ? size * stride : (size + 2 * pad - kernel) / stride + 1;
  s.in = {1, size, size}, s.out = {1, out, out}, s.kernel = {1, kernel, kernel}, s.stride = {1, stride, stride};
  s.pad_begin = {0, pad, pad};
  Serial serial;
  const Floats x = Filled(static_cast<std::size_t>(s.in_channels * size * size));
  const Floats y = Filled(static_cast<std::size_t>(s.out_channels * out * out));
  const Floats w = Filled(static_cast<std::size_t>(s.in_channels / s.groups * s.out_channels * kernel * kernel));
  const Floats packed = Filled(transposed ? ConvTransposeF32PackedCount(s) : ConvF32PackedCount(s));
  const Floats scratch = Filled((transposed ? ConvTransposeF32ScratchBytes(s, 1) : ConvF32ScratchBytes(s, 1)) / 4);
  (transposed ? PackConvTransposeF32Weights : PackConvF32Weights)(s, w.get(), packed.get(), serial, nullptr);
  ConvF32Args args;
  args.shape = s, args.x = x.get(), args.y = y.get(), args.packed_weights = packed.get();
  args.epilogue.activation.kind = ActivationKind::kRelu;
  for (auto _ : state) {
    (transposed ? ConvTransposeF32 : ConvF32)(args, serial, reinterpret_cast<std::byte*>(scratch.get()));
    benchmark::ClobberMemory();
  }
  const int64_t positions = transposed ? size * size : out * out;
  const int64_t per_position = s.in_channels / s.groups * s.out_channels * kernel * kernel;
  const double flop = 2.0 * static_cast<double>(per_position * positions);
  SetRates(state, flop, BestTilesF32());
}

void Layers(benchmark::internal::Benchmark* bench) {
  const int64_t layers[][7] = {{3, 64, 224, 7, 2, 1, 0},     {64, 64, 56, 3, 1, 1, 0},    {128, 128, 28, 3, 1, 1, 0},
                               {256, 256, 14, 3, 1, 1, 0},   {512, 512, 7, 3, 1, 1, 0},   {256, 64, 56, 1, 1, 1, 0},
                               {64, 256, 56, 1, 1, 1, 0},    {512, 128, 28, 1, 1, 1, 0},  {1024, 256, 14, 1, 1, 1, 0},
                               {512, 2048, 7, 1, 1, 1, 0},   {256, 512, 56, 1, 2, 1, 0},  {128, 128, 56, 3, 2, 1, 0},
                               {128, 128, 28, 3, 1, 32, 0},  {32, 32, 112, 3, 1, 32, 0},  {96, 96, 112, 3, 2, 96, 0},
                               {576, 576, 14, 3, 1, 576, 0}, {960, 960, 7, 3, 1, 960, 0}, {128, 64, 56, 2, 2, 1, 1}};
  for (const auto& l : layers)
    for (const int64_t layout : {0, 1}) bench->Args({layout, l[0], l[1], l[2], l[3], l[4], l[5], l[6]});
}
BENCHMARK(Convolution)->Apply(Layers)->UseRealTime();

}  // namespace
}  // namespace sardonyx::kernels
