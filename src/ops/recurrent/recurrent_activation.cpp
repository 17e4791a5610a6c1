// ops/recurrent/recurrent_activation.cpp - finds and applies the activation functions of RNN, GRU and LSTM.
#include "ops/recurrent/recurrent_activation.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "kernels/elementwise/unary.h"
#include "kernels/gemm/tile_f32.h"
#include "ops/activation.h"

namespace sardonyx::ops {
namespace {

using kernels::UnaryKind;

// What only these operators have; the other functions are those of the table of activations.
struct FunctionRow {
  std::string_view name;
  FloatFunction function;
};
constexpr FunctionRow kFunctions[] = {
    {"Affine", {UnaryKind::kLinear, {"alpha", 1}, {"beta", 0}}},
    {"ScaledTanh", {UnaryKind::kScaledTanh, {"alpha", 1}, {"beta", 1}}},
};

bool SameLetters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

const FloatFunction& FindFunction(const AttributeReader& c, std::string_view name) {
  for (const FunctionRow& row : kFunctions)
    if (SameLetters(row.name, name)) return row.function;
  for (const ActivationDef& row : Activations())
    if (row.in_cells && SameLetters(row.name, name)) return row.function;
  c.Fail(Code::kInvalidArgument, "attribute 'activations': expected functions such as Tanh, Sigmoid or Relu, found '",
         name, "'");
}

template <typename T>
void Clip(float limit, T* x, std::int64_t n) {
  if (!(limit >= 0)) return;
  const T high = static_cast<T>(limit);
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::max(-high, std::min(high, x[i]));
}

}  // namespace

std::vector<RecurrentActivation> ReadActivations(const AttributeReader& c, std::size_t count,
                                                 const std::vector<std::string_view>& defaults) {
  const std::vector<std::string> names = c.Strings("activations");
  const std::vector<float> alphas = c.Floats("activation_alpha"), betas = c.Floats("activation_beta");
  // As the schema gives RNN two defaults for one direction, more names than needed are allowed.
  if (!names.empty() && names.size() < count) {
    c.Fail(Code::kInvalidArgument, "attribute 'activations': expected ", count, " values, found ", names.size());
  }
  std::vector<RecurrentActivation> activations;
  std::size_t alpha = 0, beta = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const FloatFunction& f = FindFunction(c, names.empty() ? defaults[i % defaults.size()] : names[i]);
    RecurrentActivation a = {f.kind, f.a.otherwise, f.b.otherwise};
    if (!f.a.attribute.empty() && alpha < alphas.size()) a.alpha = alphas[alpha++];
    if (!f.b.attribute.empty() && beta < betas.size()) a.beta = betas[beta++];
    activations.push_back(a);
  }
  return activations;
}

void ActivateRow(const RecurrentActivation& activation, float limit, float* x, std::int64_t n) {
  Clip(limit, x, n);
  kernels::BestTilesF32().activate(x, 1, n, n, activation);
}

void ActivateRow(const RecurrentActivation& activation, float limit, double* x, std::int64_t n) {
  Clip(limit, x, n);
  kernels::UnaryF64(activation.kind)(x, x, static_cast<std::size_t>(n), activation.alpha, activation.beta);
}

}  // namespace sardonyx::ops
