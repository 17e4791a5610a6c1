// kernels/recurrent/cell_f32.isa.cpp - LSTM and GRU steps, one source for every ISA.
#include "kernels/recurrent/cell_f32.h"

#include "kernels/simd/math_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename Step>
void ForEachVector(int64_t n, Step step) {
  for (int64_t i = 0; i < n; i += kLanes) step(i, FirstLanes(n - i));
}

}  // namespace

void LstmCell(int64_t n, const float* gates, const float* recurrent, float* c, float* h) {
  ForEachVector(n, [=](int64_t i, Lanes l) {
    const auto gate = [=](int64_t g) { return Load(gates + g * n + i, l) + Load(recurrent + g * n + i, l); };
    const Vec state = Sigmoid(gate(2)) * Load(c + i, l) + Sigmoid(gate(0)) * Tanh(gate(3));
    Store(c + i, state, l);
    Store(h + i, Sigmoid(gate(1)) * Tanh(state), l);
  });
}

void GruGates(int64_t n, float* gates, const float* recurrent, const float* h, float* reset_hidden) {
  ForEachVector(2 * n,
                [=](int64_t i, Lanes l) { Store(gates + i, Sigmoid(Load(gates + i, l) + Load(recurrent + i, l)), l); });
  if (reset_hidden == nullptr) return;
  ForEachVector(n, [=](int64_t i, Lanes l) { Store(reset_hidden + i, Load(gates + n + i, l) * Load(h + i, l), l); });
}

void GruState(int64_t n, const float* gates, const float* product, const float* bias, bool reset, float* h) {
  ForEachVector(n, [=](int64_t i, Lanes l) {
    Vec part = Load(product + i, l);
    if (reset) {
      if (bias != nullptr) part = part + Load(bias + i, l);
      part = part * Load(gates + n + i, l);
    }
    const Vec update = Load(gates + i, l), candidate = Tanh(Load(gates + 2 * n + i, l) + part);
    Store(h + i, (Broadcast(1) - update) * candidate + update * Load(h + i, l), l);
  });
}

}  // namespace sardonyx::kernels::SDX_ISA
