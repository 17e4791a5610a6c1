// kernels/ceiling/ceiling.h - loops that run at the full speed of a core; profiles compare nodes with them.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

struct CeilingSet {
  // `rounds` of independent multiply-adds in registers, MultiplyAddsPerRound() each; the result depends on all.
  float (*multiply_adds)(std::int64_t rounds, float seed);
  std::int64_t (*multiply_adds_per_round)();
  // y[i] = x[i] + 1 over n floats: one stream read, one written. y may be x.
  void (*stream)(const float* x, std::int64_t n, float* y);
  // The sum of x[0 .. n): one stream read.
  float (*read)(const float* x, std::int64_t n);
};

#define SDX_DECLARE(isa)                                 \
  namespace isa {                                        \
  float MultiplyAdds(std::int64_t rounds, float seed);   \
  std::int64_t MultiplyAddsPerRound();                   \
  void Stream(const float* x, std::int64_t n, float* y); \
  float Read(const float* x, std::int64_t n);            \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

const CeilingSet& Ceiling(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
