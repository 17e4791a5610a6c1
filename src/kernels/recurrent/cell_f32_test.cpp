// kernels/recurrent/cell_f32_test.cpp - LSTM and GRU steps of every ISA at every length against float64.
#include "kernels/recurrent/cell_f32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sardonyx::kernels {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
std::vector<float> Wave(std::int64_t n, float step) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 3 * std::sin(step * static_cast<float>(i + 1));
  return v;
}

TEST(CellF32, LstmMatchesFloat64) {
  for (const Isa isa : SupportedIsas()) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      const std::vector<float> gates = Wave(4 * n, 0.7f), recurrent = Wave(4 * n, 1.3f), old = Wave(n, 0.2f);
      std::vector<float> c = old, h(n);
      CellF32(isa).lstm(n, gates.data(), recurrent.data(), c.data(), h.data());
      for (std::int64_t i = 0; i < n; ++i) {
        const auto gate = [&](std::int64_t g) { return static_cast<double>(gates[g * n + i] + recurrent[g * n + i]); };
        const double state = Sigmoid(gate(2)) * static_cast<double>(old[i]) + Sigmoid(gate(0)) * std::tanh(gate(3));
        EXPECT_NEAR(static_cast<double>(c[i]), state, 2e-6) << Name(isa) << ' ' << n;
        EXPECT_NEAR(static_cast<double>(h[i]), Sigmoid(gate(1)) * std::tanh(state), 2e-6) << Name(isa) << ' ' << n;
      }
    }
  }
}

TEST(CellF32, GruMatchesFloat64) {
  for (const Isa isa : SupportedIsas()) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      const std::vector<float> inputs = Wave(3 * n, 0.7f), recurrent = Wave(3 * n, 1.3f), old = Wave(n, 0.2f),
                               bias = Wave(n, 2);
      std::vector<float> gates = inputs, h = old, reset_hidden(n);
      CellF32(isa).gru_gates(n, gates.data(), recurrent.data(), h.data(), reset_hidden.data());
      CellF32(isa).gru_state(n, gates.data(), recurrent.data() + 2 * n, bias.data(), true, h.data());
      for (std::int64_t i = 0; i < n; ++i) {
        const double z = Sigmoid(static_cast<double>(inputs[i] + recurrent[i]));
        const double r = Sigmoid(static_cast<double>(inputs[n + i] + recurrent[n + i]));
        const double part = static_cast<double>(recurrent[2 * n + i]) + static_cast<double>(bias[i]);
        const double candidate = std::tanh(static_cast<double>(inputs[2 * n + i]) + r * part);
        EXPECT_NEAR(static_cast<double>(reset_hidden[i]), r * static_cast<double>(old[i]), 3e-6)
            << Name(isa) << ' ' << n;
        EXPECT_NEAR(static_cast<double>(h[i]), (1 - z) * candidate + z * static_cast<double>(old[i]), 5e-6)
            << Name(isa);
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
