// kernels/conv/conv_bench.cpp - convolutions of known networks as a share of the FMA ceiling, in both layouts.
//
// The share counts the multiplications of the direct sum, so Winograd can be above 1. Weights of 16 MB in all are used
// in turn: in a network they come from memory, not from the cache. benchmarks/conv_layers.py runs the same table
// through ONNX Runtime. To add a layer: a row of kLayers.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/conv/conv_layers.h"
#include "kernels/gemm/kernel_bench.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

// The caller and one worker that spins while a loop is measured.
class TwoThreads final : public Parallel {
 public:
  TwoThreads() : worker_([this] { Work(); }) {}
  ~TwoThreads() override {
    stop_ = true;
    worker_.join();
  }
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;

  void For(int64_t count, int64_t grain, Body body) override {
    if (count <= grain) {
      if (count > 0) body(0, count);
      return;
    }
    body_ = &body;
    count_ = count;
    grain_ = grain;
    next_.store(0);
    epoch_.fetch_add(1);
    Take();
    while (done_.load(std::memory_order_acquire) != epoch_.load()) {
    }
  }
  int ThreadCount() const override { return 2; }

 private:
  void Take() {
    for (int64_t begin = next_.fetch_add(grain_); begin < count_; begin = next_.fetch_add(grain_))
      (*body_)(begin, std::min(count_, begin + grain_));
  }
  void Work() {
    for (int seen = 0; !stop_;) {
      if (epoch_.load(std::memory_order_acquire) == seen) continue;
      ++seen;
      Take();
      done_.store(seen, std::memory_order_release);
    }
  }

  Body* body_ = nullptr;
  int64_t count_ = 0, grain_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<int> epoch_{0}, done_{0};
  std::atomic<bool> stop_{false};
  std::thread worker_;
};

ConvShape Shape(const ConvLayer& l, ImageLayout layout) {
  ConvShape s;
  s.in_layout = s.out_layout = layout;
  s.in_channels = l.in_channels, s.out_channels = l.out_channels, s.groups = l.groups;
  const int64_t reach = l.dilation * (l.kernel - 1);
  const int64_t out = l.transposed ? l.size * l.stride : (l.size + 2 * l.pad - reach - 1) / l.stride + 1;
  s.in = {1, l.rows == 1 ? 1 : l.size, l.size}, s.out = {1, l.rows == 1 ? 1 : out, out};
  s.kernel = {1, l.rows == 1 ? 1 : l.kernel, l.kernel}, s.stride = {1, l.rows == 1 ? 1 : l.stride, l.stride};
  s.dilation = {1, l.rows == 1 ? 1 : l.dilation, l.dilation}, s.pad_begin = {0, l.rows == 1 ? 0 : l.pad, l.pad};
  return s;
}

int64_t Volume(const std::array<int64_t, 3>& v) { return v[0] * v[1] * v[2]; }

// Arguments: index of the layer, 0 NCHW / 1 NHWC / 2 NCHW to NHWC, threads.
void Convolution(benchmark::State& state) {
  const ConvLayer& layer = kConvLayers[state.range(0)];
  const bool transposed = layer.transposed;
  ConvShape s = Shape(layer, state.range(1) == 0 ? ImageLayout::kChannelsFirst : ImageLayout::kChannelsLast);
  if (state.range(1) == 2) s.out_layout = ImageLayout::kChannelsLast;
  if (!transposed) s.algorithm = ChooseConvF32Algorithm(s);
  if (const char* name = std::getenv("SDX_ALG")) s.algorithm = static_cast<ConvAlgorithm>(name[0] - '0');
  Serial serial;
  std::unique_ptr<TwoThreads> two = state.range(2) == 2 ? std::make_unique<TwoThreads>() : nullptr;
  Parallel& parallel = two ? static_cast<Parallel&>(*two) : serial;
  const int threads = static_cast<int>(state.range(2));
  const Floats x = Filled(static_cast<std::size_t>(s.in_channels * Volume(s.in)));
  const Floats y = Filled(static_cast<std::size_t>(s.out_channels * Volume(s.out)));
  const Floats w = Filled(static_cast<std::size_t>(s.in_channels / s.groups * s.out_channels * Volume(s.kernel)));
  const std::size_t packed_count = transposed ? ConvTransposeF32PackedCount(s) : ConvF32PackedCount(s);
  const std::size_t copies = std::clamp<std::size_t>((std::size_t{4} << 20) / packed_count, 1, 8);
  std::vector<Floats> packed;
  for (std::size_t i = 0; i < copies; ++i) {
    packed.push_back(Filled(packed_count));
    (transposed ? PackConvTransposeF32Weights : PackConvF32Weights)(s, w.get(), packed[i].get(), serial, nullptr);
  }
  const Floats scratch =
      Filled((transposed ? ConvTransposeF32ScratchBytes(s, threads) : ConvF32ScratchBytes(s, threads)) / 4);
  ConvF32Args args;
  args.shape = s, args.x = x.get(), args.y = y.get();
  args.epilogue.activation.kind = UnaryKind::kRelu;
  std::size_t turn = 0;
  double best = 1e9;  // the mean suffers from whatever else the machine does
  for (auto _ : state) {
    args.packed_weights = packed[turn++ % copies].get();
    const auto start = std::chrono::steady_clock::now();
    (transposed ? ConvTransposeF32 : ConvF32)(args, parallel, reinterpret_cast<std::byte*>(scratch.get()));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  const double positions = static_cast<double>(transposed ? Volume(s.in) : Volume(s.out));
  const int64_t per_position = s.in_channels / s.groups * s.out_channels * Volume(s.kernel);
  const double flop = 2.0 * positions * static_cast<double>(per_position);
  SetRates(state, flop / threads, BestTilesF32());
  state.counters["best_us"] = best * 1e6;
  state.counters["best_share"] = flop / threads / best / TileCeiling(BestTilesF32());
  state.SetLabel(std::string(Name(BestTilesF32().isa)) + " " + layer.name);
}

void Layers(benchmark::internal::Benchmark* bench) {
  for (std::size_t i = 0; i < std::size(kConvLayers); ++i)
    for (const int64_t layout : {0, 1, 2})
      for (const int64_t threads : {1, 2}) bench->Args({static_cast<int64_t>(i), layout, threads});
}
BENCHMARK(Convolution)->Apply(Layers)->UseRealTime();

}  // namespace
}  // namespace sardonyx::kernels
