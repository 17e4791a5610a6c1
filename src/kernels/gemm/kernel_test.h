// kernels/gemm/kernel_test.h - what the tests of the matrix kernels share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/parallel.h"
#include "kernels/elementwise/unary.h"
#include "kernels/gemm/tile_bf16.h"
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {

using std::int64_t;

// Runs the ranges of a loop one after the other, last first, as if three threads had taken them.
class ThreeInTurn final : public Parallel {
 public:
  void For(int64_t count, int64_t grain, Body body) override {
    for (int64_t end = count; end > 0;) {
      const int64_t begin = (end - 1) / grain * grain;
      body(begin, end);
      end = begin;
    }
  }
  int ThreadCount() const override { return 3; }
};

// The best f32 tiles with each way of multiplying bf16.
inline std::vector<const TileF32Set*> Bf16Sets() {
  static const std::vector<TileF32Set> sets = [] {
    std::vector<TileF32Set> all;
    for (const TileBf16Set* bf16 : RunnableTilesBf16()) all.push_back(BestTilesF32()), all.back().bf16 = bf16;
    return all;
  }();
  std::vector<const TileF32Set*> found;
  for (const TileF32Set& set : sets) found.push_back(&set);
  return found;
}

// Those of every ISA of this CPU.
inline std::vector<const TileF32Set*> Sets() {
  std::vector<const TileF32Set*> sets;
  for (const Isa isa : SupportedIsas()) sets.push_back(&TilesF32(isa));
  return sets;
}

inline std::vector<float> Random(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) v = normal(engine);
  return values;
}

// Memory aligned to 64 bytes, as kernels want it.
struct Scratch {
  explicit Scratch(std::size_t bytes) : memory(bytes / sizeof(Line) + 1) {}
  std::byte* data() { return memory[0].bytes; }
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory;
};

inline double Activated(double x, const Activation& activation) {
  UnaryF64(activation.kind)(&x, &x, 1, activation.alpha, activation.beta);
  return x;
}

}  // namespace sardonyx::kernels
