// ops/recurrent/recurrent_cell.h - one step of one sequence: from the gates' linear parts to the new hidden (and cell)
// state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/recurrent/cell_f32.h"
#include "ops/recurrent/recurrent_activation.h"

namespace sardonyx::ops {

// A step of `units` units; their gates lie in blocks as kernels/recurrent/cell_f32.h says. `gates` [G * units] holds
// x W^T + Wb + Rb on entry; `recurrent` [G * units] is h R^T. Both are overwritten.
template <typename T>
struct CellStep {
  std::int64_t units = 0, block = 0;
  std::int64_t hidden = 0;                           // from one peephole to the next
  const RecurrentActivation* activations = nullptr;  // f; f, g; f, g, h
  float clip = -1;                                   // below 0: none
  T* gates = nullptr;
  T* recurrent = nullptr;             // of a GRU whose reset gate comes before the second product: z and r
  const T* h = nullptr;               // [units], the old state
  T* new_h = nullptr;                 // [units], may be h
  T* c = nullptr;                     // LSTM
  const T* peephole = nullptr;        // LSTM: [3][units] of i, o, f, or null
  const T* recurrent_bias = nullptr;  // GRU, linear before reset: Rb of the hidden gate, or null
  T* reset_hidden = nullptr;          // GRU: [units], r * h for the second product
  T* product = nullptr;               // GRU: [units], the second product
  bool input_forget = false;          // LSTM: f = 1 - i
};

// Calls run(first unit, units) for every block.
template <typename T, typename Run>
void ForEachBlock(const CellStep<T>& s, Run run) {
  for (std::int64_t first = 0; first < s.units; first += s.block) run(first, std::min(s.block, s.units - first));
}

// True if the vector kernels do this step: f sigmoid, the others tanh, nothing clipped.
template <typename T>
bool IsPlain(const CellStep<T>& s, std::size_t activations) {
  if (!std::is_same_v<T, float> || s.clip >= 0 || s.peephole != nullptr || s.input_forget) return false;
  for (std::size_t i = 0; i < activations; ++i) {
    const kernels::UnaryKind usual = i == 0 ? kernels::UnaryKind::kSigmoid : kernels::UnaryKind::kTanh;
    if (s.activations[i].kind != usual) return false;
  }
  return true;
}

template <typename T>
void RnnStep(const CellStep<T>& s) {
  for (std::int64_t i = 0; i < s.units; ++i) s.new_h[i] = s.gates[i] + s.recurrent[i];
  ActivateRow(s.activations[0], s.clip, s.new_h, s.units);
}

// Gates i, o, f, c.
template <typename T>
void LstmStep(const CellStep<T>& s) {
  if constexpr (std::is_same_v<T, float>) {
    if (IsPlain(s, 3)) return kernels::CellF32().lstm(s.units, s.block, s.gates, s.recurrent, s.c, s.new_h);
  }
  for (std::int64_t i = 0; i < 4 * s.units; ++i) s.gates[i] += s.recurrent[i];
  ForEachBlock(s, [&s](std::int64_t first, std::int64_t n) {
    T *in = s.gates + 4 * first, *out = in + n, *forget = out + n, *cell = forget + n, *state = s.recurrent + 4 * first;
    T *c = s.c + first, *h = s.new_h + first;
    const T* peephole = s.peephole == nullptr ? nullptr : s.peephole + first;
    if (peephole != nullptr) {
      const T* of_forget = peephole + 2 * s.hidden;
      for (std::int64_t i = 0; i < n; ++i) in[i] += peephole[i] * c[i], forget[i] += of_forget[i] * c[i];
    }
    ActivateRow(s.activations[0], s.clip, in, n);
    if (s.input_forget) {
      for (std::int64_t i = 0; i < n; ++i) forget[i] = 1 - in[i];
    } else {
      ActivateRow(s.activations[0], s.clip, forget, n);
    }
    ActivateRow(s.activations[1], s.clip, cell, n);
    for (std::int64_t i = 0; i < n; ++i) state[i] = c[i] = forget[i] * c[i] + in[i] * cell[i];
    for (std::int64_t i = 0; peephole != nullptr && i < n; ++i) out[i] += peephole[s.hidden + i] * c[i];
    ActivateRow(s.activations[0], s.clip, out, n);
    ActivateRow(s.activations[2], s.clip, state, n);
    for (std::int64_t i = 0; i < n; ++i) h[i] = out[i] * state[i];
  });
}

// Gates z, r, h. First, where the reset comes before the second product: the update gate, and r * h for the product.
template <typename T>
void GruGates(const CellStep<T>& s) {
  if constexpr (std::is_same_v<T, float>) {
    if (IsPlain(s, 2)) {
      return kernels::CellF32().gru_gates(s.units, s.block, s.gates, s.recurrent, s.h, s.reset_hidden);
    }
  }
  ForEachBlock(s, [&s](std::int64_t first, std::int64_t n) {
    T* gates = s.gates + 3 * first;
    for (std::int64_t i = 0; i < 2 * n; ++i) gates[i] += s.recurrent[2 * first + i];
    ActivateRow(s.activations[0], s.clip, gates, 2 * n);
    for (std::int64_t i = 0; i < n; ++i) s.reset_hidden[first + i] = gates[n + i] * s.h[first + i];
  });
}

template <typename T>
void FinishGru(const CellStep<T>& s, std::int64_t first, std::int64_t n) {
  T *update = s.gates + 3 * first, *candidate = update + 2 * n;
  ActivateRow(s.activations[1], s.clip, candidate, n);
  for (std::int64_t i = 0; i < n; ++i) s.new_h[first + i] = (1 - update[i]) * candidate[i] + update[i] * s.h[first + i];
}

// Then the new state.
template <typename T>
void GruState(const CellStep<T>& s) {
  if constexpr (std::is_same_v<T, float>) {
    if (IsPlain(s, 2)) return kernels::CellF32().gru_state(s.units, s.block, s.gates, s.product, s.h, s.new_h);
  }
  ForEachBlock(s, [&s](std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) s.gates[3 * first + 2 * n + i] += s.product[first + i];
    FinishGru(s, first, n);
  });
}

// Where the reset follows the product, all at once.
template <typename T>
void GruStep(const CellStep<T>& s) {
  if constexpr (std::is_same_v<T, float>) {
    if (IsPlain(s, 2)) {
      return kernels::CellF32().gru(s.units, s.block, s.gates, s.recurrent, s.recurrent_bias, s.h, s.new_h);
    }
  }
  ForEachBlock(s, [&s](std::int64_t first, std::int64_t n) {
    T *gates = s.gates + 3 * first, *reset = gates + n, *candidate = reset + n;
    const T *recurrent = s.recurrent + 3 * first, *product = recurrent + 2 * n;
    for (std::int64_t i = 0; i < 2 * n; ++i) gates[i] += recurrent[i];
    ActivateRow(s.activations[0], s.clip, gates, 2 * n);
    for (std::int64_t i = 0; i < n; ++i)
      candidate[i] += reset[i] * (product[i] + (s.recurrent_bias != nullptr ? s.recurrent_bias[first + i] : T(0)));
    FinishGru(s, first, n);
  });
}

}  // namespace sardonyx::ops
