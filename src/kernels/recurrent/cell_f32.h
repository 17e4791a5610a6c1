// kernels/recurrent/cell_f32.h - one step of an LSTM or GRU with its usual activations (sigmoid and tanh), f32.
//
// `gates` is the inputs' part with all biases, `recurrent` the state's part. Errors: those of sigmoid and tanh (4e-7),
// tested in cell_f32_test.cpp.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

struct CellF32Set {
  // Gates i, o, f, c of n each. c and h are the old states on entry, the new ones after.
  void (*lstm)(std::int64_t n, const float* gates, const float* recurrent, float* c, float* h);
  // Gates z, r of n each: gates become their activations; reset_hidden (or null) r * h.
  void (*gru_gates)(std::int64_t n, float* gates, const float* recurrent, const float* h, float* reset_hidden);
  // h = (1 - z) * tanh(gates[2n..] + r * (product + bias)) + z * h; without `reset` r is 1. bias may be null.
  void (*gru_state)(std::int64_t n, const float* gates, const float* product, const float* bias, bool reset, float* h);
};

#define SDX_DECLARE(isa)                                                                                            \
  namespace isa {                                                                                                   \
  void LstmCell(std::int64_t n, const float* gates, const float* recurrent, float* c, float* h);                    \
  void GruGates(std::int64_t n, float* gates, const float* recurrent, const float* h, float* reset_hidden);         \
  void GruState(std::int64_t n, const float* gates, const float* product, const float* bias, bool reset, float* h); \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

const CellF32Set& CellF32(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
