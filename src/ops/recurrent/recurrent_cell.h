// ops/recurrent/recurrent_cell.h - one step of one sequence: from the gates' linear parts to the new hidden (and cell)
// state.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/recurrent/cell_f32.h"
#include "ops/recurrent/recurrent_activation.h"

namespace sardonyx::ops {

// `gates` [G * hidden] holds x W^T + Wb + Rb on entry; `recurrent` [G * hidden] is h R^T. Both are overwritten.
template <typename T>
struct CellStep {
  std::int64_t hidden = 0;
  const RecurrentActivation* activations = nullptr;  // f; f, g; f, g, h
  float clip = -1;  // below 0: none
  T* gates = nullptr;
  T* recurrent = nullptr;
  T* h = nullptr;                     // [hidden], the old state on entry
  T* c = nullptr;                     // LSTM
  const T* peephole = nullptr;        // LSTM: [3 * hidden] of i, o, f, or null
  const T* recurrent_bias = nullptr;  // GRU, linear before reset: Rb of the hidden gate, or null
  T* reset_hidden = nullptr;          // GRU: [hidden], r * h for the second product
  bool input_forget = false;          // LSTM: f = 1 - i
};

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
  for (std::int64_t i = 0; i < s.hidden; ++i) s.h[i] = s.gates[i] + s.recurrent[i];
  ActivateRow(s.activations[0], s.clip, s.h, s.hidden);
}

// Gates i, o, f, c.
template <typename T>
void LstmStep(const CellStep<T>& s) {
  const std::int64_t n = s.hidden;
  if constexpr (std::is_same_v<T, float>) {
    if (IsPlain(s, 3)) return kernels::CellF32().lstm(n, s.gates, s.recurrent, s.c, s.h);
  }
  T *in = s.gates, *out = in + n, *forget = out + n, *cell = forget + n, *state = s.recurrent;
  for (std::int64_t i = 0; i < 4 * n; ++i) s.gates[i] += s.recurrent[i];
  if (s.peephole != nullptr) {
    for (std::int64_t i = 0; i < n; ++i) in[i] += s.peephole[i] * s.c[i], forget[i] += s.peephole[2 * n + i] * s.c[i];
  }
  ActivateRow(s.activations[0], s.clip, in, n);
  if (s.input_forget) {
    for (std::int64_t i = 0; i < n; ++i) forget[i] = 1 - in[i];
  } else {
    ActivateRow(s.activations[0], s.clip, forget, n);
  }
  ActivateRow(s.activations[1], s.clip, cell, n);
  for (std::int64_t i = 0; i < n; ++i) state[i] = s.c[i] = forget[i] * s.c[i] + in[i] * cell[i];
  if (s.peephole != nullptr) {
    for (std::int64_t i = 0; i < n; ++i) out[i] += s.peephole[n + i] * s.c[i];
  }
  ActivateRow(s.activations[0], s.clip, out, n);
  ActivateRow(s.activations[2], s.clip, state, n);
  for (std::int64_t i = 0; i < n; ++i) s.h[i] = out[i] * state[i];
}

// Gates z, r, h. First the update and reset gates; where the reset comes before the second product, r * h for it.
template <typename T>
void GruGates(const CellStep<T>& s) {
  const std::int64_t n = s.hidden;
  if constexpr (std::is_same_v<T, float>) {
    if (IsPlain(s, 2)) return kernels::CellF32().gru_gates(n, s.gates, s.recurrent, s.h, s.reset_hidden);
  }
  for (std::int64_t i = 0; i < 2 * n; ++i) s.gates[i] += s.recurrent[i];
  ActivateRow(s.activations[0], s.clip, s.gates, 2 * n);
  for (std::int64_t i = 0; s.reset_hidden != nullptr && i < n; ++i) s.reset_hidden[i] = s.gates[n + i] * s.h[i];
}

// Then the hidden gate: recurrent + 2 * hidden holds (r * h) R^T, or h R^T where the reset comes after.
template <typename T>
void GruState(const CellStep<T>& s, bool linear_before_reset) {
  const std::int64_t n = s.hidden;
  if constexpr (std::is_same_v<T, float>) {
    if (IsPlain(s, 2)) {
      return kernels::CellF32().gru_state(n, s.gates, s.recurrent + 2 * n, s.recurrent_bias, linear_before_reset, s.h);
    }
  }
  T *update = s.gates, *reset = s.gates + n, *candidate = s.gates + 2 * n;
  const T* product = s.recurrent + 2 * n;
  for (std::int64_t i = 0; i < n; ++i) {
    if (linear_before_reset) {
      candidate[i] += reset[i] * (product[i] + (s.recurrent_bias != nullptr ? s.recurrent_bias[i] : T(0)));
    } else {
      candidate[i] += product[i];
    }
  }
  ActivateRow(s.activations[1], s.clip, candidate, n);
  for (std::int64_t i = 0; i < n; ++i) s.h[i] = (1 - update[i]) * candidate[i] + update[i] * s.h[i];
}

}  // namespace sardonyx::ops
