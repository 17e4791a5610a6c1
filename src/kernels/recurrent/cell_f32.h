// kernels/recurrent/cell_f32.h - one step of an LSTM or GRU with its usual activations (sigmoid and tanh), f32.
//
// `gates` is the inputs' part with all biases, `recurrent` the state's part. Errors: those of sigmoid and tanh (4e-7),
// tested in cell_f32_test.cpp.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// Units come in blocks: the gates of a block's units follow each other, gate by gate, then come those of the next
// block. The last block may have fewer units. One block is the order of the operators.
struct CellF32Set {
  // Gates i, o, f, c of n units. c is the old state on entry, the new one after; h the new one.
  void (*lstm)(std::int64_t n, std::int64_t block, const float* gates, const float* recurrent, float* c, float* h);
  // Gates z, r, h, where the reset gate follows the product with the state: h = (1 - z) * tanh(gate + r * (product +
  // bias)) + z * old. bias may be null, h be old.
  void (*gru)(std::int64_t n, std::int64_t block, const float* gates, const float* recurrent, const float* bias,
              const float* old, float* h);
  // Where it comes before: first z, which stays in gates, and reset_hidden = r * h, from gates z, r in `recurrent`;
  void (*gru_gates)(std::int64_t n, std::int64_t block, float* gates, const float* recurrent, const float* h,
                    float* reset_hidden);
  // then h = (1 - z) * tanh(gate + product) + z * old, product [n] without blocks.
  void (*gru_state)(std::int64_t n, std::int64_t block, const float* gates, const float* product, const float* old,
                    float* h);
};

#define SDX_DECLARE(isa)                                                                                             \
  namespace isa {                                                                                                    \
  void LstmCell(std::int64_t n, std::int64_t block, const float* gates, const float* recurrent, float* c, float* h); \
  void GruCell(std::int64_t n, std::int64_t block, const float* gates, const float* recurrent, const float* bias,    \
               const float* old, float* h);                                                                          \
  void GruGates(std::int64_t n, std::int64_t block, float* gates, const float* recurrent, const float* h,            \
                float* reset_hidden);                                                                                \
  void GruState(std::int64_t n, std::int64_t block, const float* gates, const float* product, const float* old,      \
                float* h);                                                                                           \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

const CellF32Set& CellF32(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
