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

template <Vec (*kF)(Vec x, Vec a, Vec b)>
void MapRows(float* c, int64_t rows, int64_t columns, ptrdiff_t stride, float a, float b) {
  const Vec va = Broadcast(a), vb = Broadcast(b);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = c + r * stride;
    if (columns == 2 * kLanes) {  // a row of a tile
      const Vec low = kF(Load(row), va, vb), high = kF(Load(row + kLanes), va, vb);
      Store(row, low);
      Store(row + kLanes, high);
      continue;
    }
    for (int64_t i = 0; i < columns; i += kLanes) {
      const Lanes lanes = FirstLanes(columns - i);
      Store(row + i, kF(Load(row + i, lanes), va, vb), lanes);
    }
  }
}

Vec Zero() { return Broadcast(0.0f); }
Vec HardSigmoid(Vec x, Vec a, Vec b) { return Max(Zero(), Min(Broadcast(1.0f), a * x + b)); }

enum class When : std::uint8_t { kAlways, kAIsOne };
struct Row {
  UnaryKind kind;
  MapRowsFn* run;
  When when = When::kAlways;
};
constexpr Row kRows[] = {
    {UnaryKind::kClip, MapRows<[](Vec x, Vec low, Vec high) { return Min(high, Max(low, x)); }>},
    {UnaryKind::kElu, MapRows<[](Vec x, Vec a, Vec) { return Elu(x, a); }>},
    {UnaryKind::kGelu, MapRows<[](Vec x, Vec, Vec) { return Gelu(x); }>},
    {UnaryKind::kGeluTanh, MapRows<[](Vec x, Vec, Vec) { return GeluTanh(x); }>},
    {UnaryKind::kHardSigmoid, MapRows<HardSigmoid>},
    {UnaryKind::kHardSwish,
     MapRows<[](Vec x, Vec, Vec) -> Vec { return x * HardSigmoid(x, Broadcast(1.0f / 6), Broadcast(0.5f)); }>},
    {UnaryKind::kLeakyRelu, MapRows<[](Vec x, Vec a, Vec) -> Vec { return x < Zero() ? a * x : x; }>},
    {UnaryKind::kRelu, MapRows<[](Vec x, Vec, Vec) { return Max(Zero(), x); }>},
    {UnaryKind::kSelu, MapRows<[](Vec x, Vec a, Vec gamma) -> Vec { return gamma * Elu(x, a); }>},
    {UnaryKind::kSigmoid, MapRows<[](Vec x, Vec, Vec) { return Sigmoid(x); }>, When::kAIsOne},
    {UnaryKind::kSoftplus, MapRows<[](Vec x, Vec, Vec) { return Softplus(x); }>},
    {UnaryKind::kSoftsign, MapRows<[](Vec x, Vec, Vec) { return Softsign(x); }>},
    {UnaryKind::kSwish, MapRows<[](Vec x, Vec a, Vec) -> Vec { return x * Sigmoid(a * x); }>},
    {UnaryKind::kSwish, MapRows<[](Vec x, Vec, Vec) -> Vec { return x * Sigmoid(x); }>, When::kAIsOne},
    {UnaryKind::kTanh, MapRows<[](Vec x, Vec, Vec) { return Tanh(x); }>},
    {UnaryKind::kThresholdedRelu, MapRows<[](Vec x, Vec a, Vec) -> Vec { return a < x ? x : Zero(); }>},
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
