// kernels/gemm/kernel_test.h - what the tests of the matrix kernels share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/parallel.h"
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

inline double Activated(double x, const Activation& a) {
  const auto hard = [](double v) { return std::max(0.0, std::min(1.0, v)); };
  switch (a.kind) {
    case ActivationKind::kNone:
      return x;
    case ActivationKind::kRelu:
      return std::max(x, 0.0);
    case ActivationKind::kClip:
      return std::min<double>(std::max<double>(x, a.alpha), a.beta);
    case ActivationKind::kLeakyRelu:
      return x < 0 ? a.alpha * x : x;
    case ActivationKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case ActivationKind::kHardSigmoid:
      return hard(a.alpha * x + a.beta);
    case ActivationKind::kHardSwish:
      return x * hard(x / 6 + 0.5);
    case ActivationKind::kSilu:
      return x / (1 + std::exp(-x));
    case ActivationKind::kGeluTanh:
      return x / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    case ActivationKind::kQuickGelu:
      return x / (1 + std::exp(-double{a.alpha} * x));
    case ActivationKind::kElu:
      return x < 0 ? a.alpha * std::expm1(x) : x;
    case ActivationKind::kSelu:
      return a.beta * (x < 0 ? a.alpha * std::expm1(x) : x);
    case ActivationKind::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case ActivationKind::kSoftsign:
      return x / (1 + std::abs(x));
    case ActivationKind::kThresholdedRelu:
      return x > a.alpha ? x : 0;
  }
  return x;
}

}  // namespace sardonyx::kernels
