// kernels/ceiling/ceiling.isa.cpp - compiled once per ISA; see ceiling.h.
#include "kernels/ceiling/ceiling.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

// Enough chains to hide a latency of 5 cycles on two units.
constexpr int kChains = 12;

// The compiler must make each value, and may not fold the loop away.
static inline void KeepInRegister(Vec& v) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(v));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(v));
#else
  asm volatile("" : "+m"(v));
#endif
}

float MultiplyAdds(std::int64_t rounds, float seed) {
  const Vec factor = Broadcast(0.999f), addend = Broadcast(seed);
  Vec sum[kChains];
  for (int c = 0; c < kChains; ++c) sum[c] = Broadcast(static_cast<float>(c));
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (int c = 0; c < kChains; ++c) {
      sum[c] = sum[c] * factor + addend;
      KeepInRegister(sum[c]);
    }
  }
  Vec all = sum[0];
  for (int c = 1; c < kChains; ++c) all = all + sum[c];
  float lanes[kLanes];
  Store(lanes, all);
  float result = 0;
  for (const float lane : lanes) result += lane;
  return result;
}

std::int64_t MultiplyAddsPerRound() { return kChains * kLanes; }

void Stream(const float* x, std::int64_t n, float* y) {
  const Vec one = Broadcast(1.0f);
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int k = 0; k < 4; ++k) Store(y + i + k * kLanes, Load(x + i + k * kLanes) + one);
  }
  for (; i < n; ++i) y[i] = x[i] + 1.0f;
}

}  // namespace sardonyx::kernels::SDX_ISA
