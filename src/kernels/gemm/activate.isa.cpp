// kernels/gemm/activate.isa.cpp - activations of rows that a product or convolution has just stored.
//
// Every kind works: one without a row here is computed by its vector form in elementwise/unary.isa.cpp. A row is worth
// adding where a form with fewer instructions is accurate enough. To add one: its row, its bound in activate_test.cpp.
#include <array>

#include "kernels/elementwise/unary.h"
#include "kernels/gemm/row_f32.h"
#include "kernels/simd/math_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

using MapRowsFn = void(float* c, int64_t rows, int64_t columns, ptrdiff_t stride, float a, float b);

// Four vectors together, of one row or of two rows of a tile, then what is left.
template <auto kF>
[[gnu::flatten]] void MapRows(float* c, int64_t rows, int64_t columns, ptrdiff_t stride, float a, float b) {
  const Vec va = Broadcast(a), vb = Broadcast(b);
  const auto map = [&](float* p, ptrdiff_t from_pair) {
    const auto at = [&](int i) { return p + i / 2 * from_pair + i % 2 * kLanes; };
    const Several<4> y = kF(ForEach<4>([&](int i) { return Load(at(i)); }), va, vb);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) Store(at(i), y.v[i]);
  };
  int64_t r = 0;
  if (columns == 2 * kLanes)
    for (; r + 2 <= rows; r += 2) map(c + r * stride, stride);
  for (; r < rows; ++r) {
    float* row = c + r * stride;
    int64_t i = 0;
    for (; i + 4 * kLanes <= columns; i += 4 * kLanes) map(row + i, 2 * kLanes);
    for (; i < columns; i += kLanes) {
      const Lanes lanes = FirstLanes(columns - i);
      Store(row + i, kF(Load(row + i, lanes), va, vb), lanes);
    }
  }
}

Vec Zero() { return Broadcast(0.0f); }
template <typename V>
[[gnu::always_inline]] inline V HardSigmoid(V x, Vec a, Vec b) {
  return Max(Zero(), Min(Broadcast(1.0f), a * x + b));
}

enum class When : std::uint8_t { kAlways, kAIsOne };
struct Row {
  UnaryKind kind;
  MapRowsFn* run;
  When when = When::kAlways;
};
constexpr Row kRows[] = {
    {UnaryKind::kClip, MapRows<[](auto x, Vec low, Vec high) { return Min(high, Max(low, x)); }>},
    {UnaryKind::kElu, MapRows<[](auto x, Vec a, Vec) { return Elu(x, a); }>},
    {UnaryKind::kGelu, MapRows<[](auto x, Vec, Vec) { return Gelu(x); }>},
    {UnaryKind::kGeluTanh, MapRows<[](auto x, Vec, Vec) { return GeluTanh(x); }>},
    {UnaryKind::kHardSigmoid, MapRows<[](auto x, Vec a, Vec b) { return HardSigmoid(x, a, b); }>},
    {UnaryKind::kHardSwish,
     MapRows<[](auto x, Vec, Vec) { return x * HardSigmoid(x, Broadcast(1.0f / 6), Broadcast(0.5f)); }>},
    {UnaryKind::kLeakyRelu,
     MapRows<[](auto x, Vec a, Vec) { return Each([a](Vec v) { return v < Zero() ? a * v : v; }, x); }>},
    {UnaryKind::kRelu, MapRows<[](auto x, Vec, Vec) { return Max(Zero(), x); }>},
    {UnaryKind::kSelu, MapRows<[](auto x, Vec a, Vec gamma) { return gamma * Elu(x, a); }>},
    {UnaryKind::kSigmoid, MapRows<[](auto x, Vec, Vec) { return Sigmoid(x); }>, When::kAIsOne},
    {UnaryKind::kSoftplus, MapRows<[](auto x, Vec, Vec) { return Softplus(x); }>},
    {UnaryKind::kSoftsign, MapRows<[](auto x, Vec, Vec) { return Softsign(x); }>},
    {UnaryKind::kSwish, MapRows<[](auto x, Vec a, Vec) { return x * Sigmoid(a * x); }>},
    {UnaryKind::kSwish, MapRows<[](auto x, Vec, Vec) { return x * Sigmoid(x); }>, When::kAIsOne},
    {UnaryKind::kTanh, MapRows<[](auto x, Vec, Vec) { return Tanh(x); }>},
    {UnaryKind::kThresholdedRelu,
     MapRows<[](auto x, Vec a, Vec) { return Each([a](Vec v) { return a < v ? v : Zero(); }, x); }>},
};

// By kind, for any a and for a = 1.
struct Forms {
  MapRowsFn* any = nullptr;
  MapRowsFn* for_one = nullptr;
};
constexpr auto kForms = [] {
  std::array<Forms, static_cast<std::size_t>(UnaryKind::kCount)> forms = {};
  for (const Row& row : kRows) {
    Forms& of_kind = forms[static_cast<std::size_t>(row.kind)];
    if (row.when == When::kAlways) of_kind.any = row.run;
    of_kind.for_one = row.run;
  }
  return forms;
}();

}  // namespace

void Activate(float* c, int64_t rows, int64_t columns, ptrdiff_t stride, const Activation& activation) {
  const auto& [kind, a, b] = activation;
  if (kind == UnaryKind::kNone) return;
  const Forms& forms = kForms[static_cast<std::size_t>(kind)];
  if (MapRowsFn* const run = a == 1 ? forms.for_one : forms.any; run != nullptr)
    return run(c, rows, columns, stride, a, b);
  UnaryF32Fn* const run = FindUnaryF32(kind);
  for (int64_t r = 0; r < rows; ++r) run(c + r * stride, c + r * stride, static_cast<std::size_t>(columns), a, b);
}

}  // namespace sardonyx::kernels::SDX_ISA
