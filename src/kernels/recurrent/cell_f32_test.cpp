// kernels/recurrent/cell_f32_test.cpp - LSTM and GRU steps of every ISA at every length against float64.
#include "kernels/recurrent/cell_f32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sardonyx::kernels {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
std::vector<float> Wave(std::int64_t n, float step) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 3 * std::sin(step * static_cast<float>(i + 1));
  return v;
}

// The blocks that n units are tested in: one, and of a vector or two.
std::vector<std::int64_t> Blocks(std::int64_t n) {
  std::vector<std::int64_t> blocks = {n};
  for (const std::int64_t block : {16, 32})
    if (block < n) blocks.push_back(block);
  return blocks;
}
// Where gate g of unit i lies among `count` gates.
std::size_t At(std::int64_t n, std::int64_t block, std::int64_t count, std::int64_t g, std::int64_t i) {
  const std::int64_t first = i / block * block, units = std::min(block, n - first);
  return static_cast<std::size_t>(first * count + g * units + i - first);
}

TEST(CellF32, LstmMatchesFloat64) {
  for (const Isa isa : SupportedIsas()) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      for (const std::int64_t block : Blocks(n)) {
        const std::vector<float> gates = Wave(4 * n, 0.7f), recurrent = Wave(4 * n, 1.3f), old = Wave(n, 0.2f);
        std::vector<float> c = old, h(n);
        CellF32(isa).lstm(n, block, gates.data(), recurrent.data(), c.data(), h.data());
        for (std::int64_t i = 0; i < n; ++i) {
          const auto gate = [&](std::int64_t g) {
            const std::size_t at = At(n, block, 4, g, i);
            return static_cast<double>(gates[at] + recurrent[at]);
          };
          const double state = Sigmoid(gate(2)) * static_cast<double>(old[i]) + Sigmoid(gate(0)) * std::tanh(gate(3));
          EXPECT_NEAR(static_cast<double>(c[i]), state, 2e-6) << Name(isa) << ' ' << n << ' ' << block;
          EXPECT_NEAR(static_cast<double>(h[i]), Sigmoid(gate(1)) * std::tanh(state), 2e-6)
              << Name(isa) << ' ' << n << ' ' << block;
        }
      }
    }
  }
}

// Sigmoid and tanh alone, from far below to far above where they end: with an old state of 0 and a forget gate of 0,
// the state is sigmoid(i) * tanh(c), and a large i or c leaves the other.
TEST(CellF32, SigmoidAndTanhAreExactTo4e7AndStayInTheirRange) {
  for (const Isa isa : SupportedIsas()) {
    for (int k = -4000; k <= 4000; ++k) {
      const float x = 0.0123f * static_cast<float>(k);
      const float sigmoid_of[] = {x, 60, -60, 60}, tanh_of[] = {60, 60, -60, x}, none[4] = {};
      float c = 0, h = 0;
      CellF32(isa).lstm(1, 1, sigmoid_of, none, &c, &h);
      EXPECT_NEAR(static_cast<double>(c), Sigmoid(static_cast<double>(x)), 4e-7) << Name(isa) << ' ' << x;
      EXPECT_TRUE(c >= 0 && c <= 1) << Name(isa) << ' ' << x << ": " << c;
      c = 0;
      CellF32(isa).lstm(1, 1, tanh_of, none, &c, &h);
      EXPECT_NEAR(static_cast<double>(c), std::tanh(static_cast<double>(x)), 4e-7) << Name(isa) << ' ' << x;
      EXPECT_TRUE(c >= -1 && c <= 1) << Name(isa) << ' ' << x << ": " << c;
    }
  }
}

TEST(CellF32, InfiniteGatesAreTheEndsAndNaNStays) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : SupportedIsas()) {
    const float open[] = {infinity, infinity, -infinity, -infinity}, none[4] = {};
    float c = 5, h = 0;
    CellF32(isa).lstm(1, 1, open, none, &c, &h);
    EXPECT_NEAR(c, -1, 1e-6f) << Name(isa);
    EXPECT_NEAR(h, std::tanh(-1.0f), 1e-6f) << Name(isa);
    for (int gate = 0; gate < 4; ++gate) {
      float gates[] = {1, 1, 1, 1};
      gates[gate] = nan;
      c = 1, h = 0;
      CellF32(isa).lstm(1, 1, gates, none, &c, &h);
      EXPECT_TRUE(std::isnan(h)) << Name(isa) << ", gate " << gate;
    }
    const float old = infinity;
    float state = 0, reset[] = {0, -infinity, nan};
    CellF32(isa).gru(1, 1, reset, none, nullptr, &old, &state);
    EXPECT_TRUE(std::isnan(state)) << Name(isa);
  }
}

TEST(CellF32, GruMatchesFloat64) {
  for (const Isa isa : SupportedIsas()) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      for (const std::int64_t block : Blocks(n)) {
        const std::vector<float> gates = Wave(3 * n, 0.7f), recurrent = Wave(3 * n, 1.3f), old = Wave(n, 0.2f);
        const std::vector<float> bias = Wave(n, 2);
        std::vector<float> h(n), in_place = old;
        CellF32(isa).gru(n, block, gates.data(), recurrent.data(), bias.data(), old.data(), h.data());
        CellF32(isa).gru(n, block, gates.data(), recurrent.data(), bias.data(), in_place.data(), in_place.data());
        EXPECT_EQ(h, in_place);
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = [&](std::int64_t g) { return At(n, block, 3, g, i); };
          const double z = Sigmoid(static_cast<double>(gates[at(0)] + recurrent[at(0)]));
          const double r = Sigmoid(static_cast<double>(gates[at(1)] + recurrent[at(1)]));
          const double part = static_cast<double>(recurrent[at(2)]) + static_cast<double>(bias[i]);
          const double candidate = std::tanh(static_cast<double>(gates[at(2)]) + r * part);
          EXPECT_NEAR(static_cast<double>(h[i]), (1 - z) * candidate + z * static_cast<double>(old[i]), 5e-6)
              << Name(isa) << ' ' << n << ' ' << block;
        }
      }
    }
  }
}

TEST(CellF32, GruWithTheResetBeforeTheProductMatchesFloat64) {
  for (const Isa isa : SupportedIsas()) {
    for (std::int64_t n = 1; n <= 40; ++n) {
      for (const std::int64_t block : Blocks(n)) {
        const std::vector<float> inputs = Wave(3 * n, 0.7f), recurrent = Wave(2 * n, 1.3f), old = Wave(n, 0.2f);
        const std::vector<float> product = Wave(n, 1.9f);
        std::vector<float> gates = inputs, reset_hidden(n), h(n);
        CellF32(isa).gru_gates(n, block, gates.data(), recurrent.data(), old.data(), reset_hidden.data());
        CellF32(isa).gru_state(n, block, gates.data(), product.data(), old.data(), h.data());
        for (std::int64_t i = 0; i < n; ++i) {
          const auto gate = [&](std::int64_t g) {
            const float sum = inputs[At(n, block, 3, g, i)] + recurrent[At(n, block, 2, g, i)];
            return Sigmoid(static_cast<double>(sum));
          };
          const double z = gate(0), before = static_cast<double>(old[i]);
          const double candidate = std::tanh(static_cast<double>(inputs[At(n, block, 3, 2, i)] + product[i]));
          EXPECT_NEAR(static_cast<double>(reset_hidden[i]), gate(1) * before, 3e-6) << Name(isa) << ' ' << n;
          EXPECT_NEAR(static_cast<double>(h[i]), (1 - z) * candidate + z * before, 5e-6)
              << Name(isa) << ' ' << n << ' ' << block;
        }
      }
    }
  }
}

// The gates of unit i of n units in one block, `count` of them.
std::vector<float> GatesOf(const std::vector<float>& all, std::int64_t n, std::int64_t count, std::int64_t i) {
  std::vector<float> one;
  for (std::int64_t g = 0; g < count; ++g) one.push_back(all[g * n + i]);
  return one;
}

// So a thread that has other units computes the same bits.
TEST(CellF32, UnitsDoNotDependOnThoseBesideThem) {
  for (const Isa isa : SupportedIsas()) {
    const CellF32Set& cell = CellF32(isa);
    for (const std::int64_t n : {2, 7, 16, 31, 40, 67}) {
      const std::vector<float> gates = Wave(4 * n, 0.7f), recurrent = Wave(4 * n, 1.3f), old = Wave(n, 0.2f);
      const std::vector<float> bias = Wave(n, 2);
      std::vector<float> c = old, h(n), gru(n), parts = gates, reset(n), state(n);
      cell.lstm(n, n, gates.data(), recurrent.data(), c.data(), h.data());
      cell.gru(n, n, gates.data(), recurrent.data(), bias.data(), old.data(), gru.data());
      cell.gru_gates(n, n, parts.data(), recurrent.data(), old.data(), reset.data());
      cell.gru_state(n, n, parts.data(), bias.data(), old.data(), state.data());
      for (std::int64_t i = 0; i < n; ++i) {
        std::vector<float> own = GatesOf(gates, n, 4, i), product = GatesOf(recurrent, n, 4, i);
        float own_c = old[i], own_h = 0;
        cell.lstm(1, 1, own.data(), product.data(), &own_c, &own_h);
        EXPECT_EQ(own_c, c[i]) << Name(isa) << " LSTM, unit " << i << " of " << n;
        EXPECT_EQ(own_h, h[i]) << Name(isa) << " LSTM, unit " << i << " of " << n;
        cell.gru(1, 1, own.data(), product.data(), &bias[i], &old[i], &own_h);
        EXPECT_EQ(own_h, gru[i]) << Name(isa) << " GRU, unit " << i << " of " << n;
        float own_reset = 0;
        cell.gru_gates(1, 1, own.data(), product.data(), &old[i], &own_reset);
        EXPECT_EQ(own_reset, reset[i]) << Name(isa) << " reset gate, unit " << i << " of " << n;
        cell.gru_state(1, 1, own.data(), &bias[i], &old[i], &own_h);
        EXPECT_EQ(own_h, state[i]) << Name(isa) << " second product, unit " << i << " of " << n;
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
