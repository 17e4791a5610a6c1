// kernels/recurrent/cell_f32.isa.cpp - LSTM and GRU steps, one source for every ISA.
#include "kernels/recurrent/cell_f32.h"

#include "kernels/simd/math_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// Calls step(first, units, i, lanes) for each vector of units: those of the block that begins with unit `first`, from
// its unit i on.
template <typename Step>
void ForEachVector(int64_t n, int64_t block, Step step) {
  for (int64_t first = 0; first < n; first += block) {
    const int64_t units = n - first < block ? n - first : block;
    for (int64_t i = 0; i < units; i += kLanes) step(first, units, i, FirstLanes(units - i));
  }
}

Vec NewState(Vec update, Vec candidate, Vec old) { return (Broadcast(1) - update) * candidate + update * old; }

}  // namespace

void LstmCell(int64_t n, int64_t block, const float* gates, const float* recurrent, float* c, float* h) {
  ForEachVector(n, block, [=](int64_t first, int64_t units, int64_t i, Lanes l) {
    const auto gate = [=](int64_t g) {
      const int64_t at = 4 * first + g * units + i;
      return Load(gates + at, l) + Load(recurrent + at, l);
    };
    const Vec state = Sigmoid(gate(2)) * Load(c + first + i, l) + Sigmoid(gate(0)) * Tanh(gate(3));
    Store(c + first + i, state, l);
    Store(h + first + i, Sigmoid(gate(1)) * Tanh(state), l);
  });
}

void GruCell(int64_t n, int64_t block, const float* gates, const float* recurrent, const float* bias, const float* old,
             float* h) {
  ForEachVector(n, block, [=](int64_t first, int64_t units, int64_t i, Lanes l) {
    const int64_t at = 3 * first + i, candidate = at + 2 * units;
    const Vec update = Sigmoid(Load(gates + at, l) + Load(recurrent + at, l));
    const Vec reset = Sigmoid(Load(gates + at + units, l) + Load(recurrent + at + units, l));
    Vec part = Load(recurrent + candidate, l);
    if (bias != nullptr) part = part + Load(bias + first + i, l);
    const Vec fresh = Tanh(Load(gates + candidate, l) + reset * part);
    Store(h + first + i, NewState(update, fresh, Load(old + first + i, l)), l);
  });
}

void GruGates(int64_t n, int64_t block, float* gates, const float* recurrent, const float* h, float* reset_hidden) {
  ForEachVector(n, block, [=](int64_t first, int64_t units, int64_t i, Lanes l) {
    float* update = gates + 3 * first + i;
    const float* product = recurrent + 2 * first + i;
    Store(update, Sigmoid(Load(update, l) + Load(product, l)), l);
    const Vec reset = Sigmoid(Load(update + units, l) + Load(product + units, l));
    Store(reset_hidden + first + i, reset * Load(h + first + i, l), l);
  });
}

void GruState(int64_t n, int64_t block, const float* gates, const float* product, const float* old, float* h) {
  ForEachVector(n, block, [=](int64_t first, int64_t units, int64_t i, Lanes l) {
    const Vec update = Load(gates + 3 * first + i, l);
    const Vec fresh = Tanh(Load(gates + 3 * first + 2 * units + i, l) + Load(product + first + i, l));
    Store(h + first + i, NewState(update, fresh, Load(old + first + i, l)), l);
  });
}

}  // namespace sardonyx::kernels::SDX_ISA
