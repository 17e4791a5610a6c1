// kernels/ceiling/ceiling.isa.cpp - the loops of ceiling.h, compiled once per ISA.
#include "kernels/ceiling/ceiling.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

// Enough chains to hide a latency of 5 cycles on two units.
constexpr int kChains = 12;

static inline float SumOfLanes(Vec all) {
  float lanes[kLanes];
  Store(lanes, all);
  float result = 0;
  for (const float lane : lanes) result += lane;
  return result;
}

float MultiplyAdds(std::int64_t rounds, float seed) {
  const Vec factor = Broadcast(0.999f), addend = Broadcast(seed);
  Vec sum[kChains];  // in registers, as every loop over it is unrolled
#pragma GCC unroll 16
  for (int c = 0; c < kChains; ++c) sum[c] = Broadcast(static_cast<float>(c));
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) {
      sum[c] = sum[c] * factor + addend;
      KeepInRegister(sum[c]);
    }
  }
  Vec all = sum[0];
#pragma GCC unroll 16
  for (int c = 1; c < kChains; ++c) all = all + sum[c];
  return SumOfLanes(all);
}

std::int64_t MultiplyAddsPerRound() { return kChains * kLanes; }

void Stream(const float* x, std::int64_t n, float* y) {
  const Vec one = Broadcast(1.0f);
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) Store(y + i + k * kLanes, Load(x + i + k * kLanes) + one);
  }
  for (; i < n; ++i) y[i] = x[i] + 1.0f;
}

float Read(const float* x, std::int64_t n) {
  constexpr int kSums = 8;
  Vec sum[kSums];
#pragma GCC unroll 8
  for (int c = 0; c < kSums; ++c) sum[c] = Broadcast(0.0f);
  std::int64_t i = 0;
  for (; i + kSums * kLanes <= n; i += kSums * kLanes) {
#pragma GCC unroll 8
    for (int c = 0; c < kSums; ++c) sum[c] = sum[c] + Load(x + i + c * kLanes);
  }
  Vec all = sum[0];
#pragma GCC unroll 8
  for (int c = 1; c < kSums; ++c) all = all + sum[c];
  float result = SumOfLanes(all);
  for (; i < n; ++i) result += x[i];
  return result;
}

}  // namespace sardonyx::kernels::SDX_ISA
