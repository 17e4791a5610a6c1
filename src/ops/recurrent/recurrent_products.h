// ops/recurrent/recurrent_products.h - the products of a recurrent net: the inputs' part of the gates for some steps,
// and the state's part for one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/cpu_info.h"
#include "kernels/gemm/tile_f32.h"
#include "ops/operands.h"
#include "ops/product.h"
#include "ops/recurrent/recurrent_state.h"

namespace sardonyx::ops {

// W and R of a node, and what they are multiplied by.
template <typename T>
class RecurrentProducts {
 public:
  RecurrentProducts(const RecurrentState& state, const RecurrentSizes& sizes, const Operands& io)
      : state_(state), s_(sizes), io_(io) {
    const std::int64_t columns = kernels::BestTilesF32().columns;
    direct_ = state.packed.defined() && state.FirstGates() * s_.hidden % columns == 0 &&
              (!state.TwoProducts() || s_.hidden % columns == 0);
  }

  // True if products with the state write whole panels of packed weights: a row's bits never depend on the rows beside
  // it, and no step needs a plan.
  bool direct() const { return direct_; }

  // x W^T of `rows` rows, which follow each other. What a row becomes does not depend on how many there are.
  Product<T> Inputs(std::int64_t d, std::int64_t rows) const {
    Product<T> p;
    p.m = rows, p.n = s_.gates * s_.hidden, p.k = s_.input;
    p.lda = s_.input, p.ldb = s_.input, p.trans_b = true, p.ldc = p.n;
    p.a = io_.template In<T>(kX);
    SetPacked(p, Packed(d));
    if (!state_.packed.defined() && io_.template In<T>(kW)) p.b = io_.template In<T>(kW) + d * p.n * p.k;
    // All steps together may be few rows, which have a faster path of their own.
    p.same_rows = state_.packed.defined() &&
                  (s_.seq * s_.batch >= kernels::RowPanelsArgs::kRows || p.n <= kernels::BestTilesF32().columns);
    return p;
  }
  // h R^T: all gates that need no second product.
  Product<T> Recurrent(std::int64_t d) const {
    Product<T> p;
    p.m = s_.batch, p.n = state_.FirstGates() * s_.hidden, p.k = s_.hidden;
    p.lda = s_.hidden, p.ldb = s_.hidden, p.trans_b = true, p.ldc = p.n;
    if (state_.packed.defined())
      SetPacked(p, Packed(d) + state_.packed_w);
    else if (io_.template In<T>(kR))
      p.b = io_.template In<T>(kR) + d * s_.gates * s_.hidden * s_.hidden;
    return p;
  }
  Product<T> Hidden(std::int64_t d) const {  // (r * h) R^T of the hidden gate
    Product<T> p = Recurrent(d);
    p.n = p.ldc = s_.hidden;
    if (state_.packed.defined())
      SetPacked(p, Packed(d) + state_.packed_w + state_.packed_r);
    else if (p.b != nullptr)
      p.b += 2 * s_.hidden * s_.hidden;
    return p;
  }

  static void MultiplyInputs(const Product<T>& p, const T* bias, Parallel& parallel, std::byte* scratch) {
    if constexpr (std::is_same_v<T, float>) {
      Product<T> with_bias = p;
      with_bias.bias = bias;
      RunProduct(with_bias, parallel, scratch);
    } else {
      RunProduct(p, parallel, scratch);
      for (std::int64_t i = 0; i < p.m * p.n; ++i) p.c[i] += bias[i % p.n];
    }
  }

  // One of the last two, or some rows and columns of it.
  void Multiply(const Product<T>& p, Parallel& parallel, std::byte* scratch) const {
    if constexpr (std::is_same_v<T, float>) {
      if (direct_) return MultiplyPanels(p);
    }
    RunProduct(p, parallel, scratch);
  }

  // True if the core's cache keeps R from step to step.
  bool KeepsWeights() const { return BytesOfR() <= Cpu().l2_bytes / 8 * 5; }

 private:
  static void SetPacked(Product<float>& p, const float* packed) { p.packed_b = packed; }
  static void SetPacked(Product<double>&, const float*) {}

  std::size_t BytesOfR() const { return static_cast<std::size_t>(s_.gates * s_.hidden * s_.hidden) * sizeof(T); }

  // True if a step finds R in some cache: all but the first do if the shared one holds R of all directions and more.
  bool FindsWeights() const {
    return s_.seq > 1 && BytesOfR() <= Cpu().l3_bytes / 2 / static_cast<std::size_t>(state_.directions);
  }

  const float* Packed(std::int64_t d) const {
    return state_.packed.defined() ? state_.packed.data<float>() + d * state_.PackedEach() : nullptr;
  }

  // More rows than one call takes: four at a time, which keep the multipliers busy, while the first cache level has the
  // panel.
  void MultiplyPanels(const Product<float>& p) const {
    const kernels::TileF32Set& tiles = kernels::BestTilesF32();
    const std::int64_t columns = tiles.columns, panels = p.n / columns;
    const bool cached = FindsWeights();
    if (p.m <= kernels::RowPanelsArgs::kRows)
      return tiles.row_panels({p.k, p.m, panels, p.a, p.lda, 1, p.c, p.ldc, cached}, p.packed_b);
    const std::int64_t parts = (p.m + 3) / 4;
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      for (std::int64_t i = 0; i < parts; ++i) {
        const std::int64_t row = p.m * i / parts, rows = p.m * (i + 1) / parts - row;
        float* c = p.c + row * p.ldc + panel * columns;
        tiles.row_panels({p.k, rows, 1, p.a + row * p.lda, p.lda, 1, c, p.ldc, cached},
                         p.packed_b + panel * columns * p.k);
      }
    }
  }

  const RecurrentState& state_;
  const RecurrentSizes& s_;
  const Operands& io_;
  bool direct_ = false;
};

// Wb + Rb in the blocks of packed weights, of b [2 * gates * hidden] or null; a GRU with linear_before_reset adds Rb of
// its hidden gate later.
template <typename T>
void SumBiases(const RecurrentState& state, const RecurrentSizes& s, const T* b, T* bias) {
  const std::int64_t all = s.gates * s.hidden;
  if (b == nullptr) {
    std::fill_n(bias, all, T(0));
    return;
  }
  const std::int64_t both = state.cell == CellKind::kGru && state.linear_before_reset ? 2 * s.hidden : all;
  for (std::int64_t first = 0; first < s.hidden; first += s.block) {
    const std::int64_t units = std::min(s.block, s.hidden - first);
    T* to = bias + first * s.gates;
    for (std::int64_t g = 0; g < s.gates; ++g)
      for (std::int64_t i = g * s.hidden + first; i < g * s.hidden + first + units; ++i)
        *to++ = b[i] + (i < both ? b[all + i] : T(0));
  }
}

}  // namespace sardonyx::ops
