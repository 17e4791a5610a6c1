// ops/recurrent/recurrent_activation.cpp - the activation functions of RNN, GRU and LSTM.
#include "ops/recurrent/recurrent_activation.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "kernels/gemm/tile_f32.h"

namespace sardonyx::ops {
namespace {

struct FunctionRow {
  std::string_view name;  // lower case
  RecurrentFunction function;
  bool takes_alpha, takes_beta;
  float alpha, beta;  // defaults
};
constexpr FunctionRow kFunctions[] = {
    {"sigmoid", RecurrentFunction::kSigmoid, false, false, 0, 0},
    {"tanh", RecurrentFunction::kTanh, false, false, 0, 0},
    {"relu", RecurrentFunction::kRelu, false, false, 0, 0},
    {"affine", RecurrentFunction::kAffine, true, true, 1, 0},
    {"leakyrelu", RecurrentFunction::kLeakyRelu, true, false, 0.01f, 0},
    {"thresholdedrelu", RecurrentFunction::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", RecurrentFunction::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", RecurrentFunction::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"elu", RecurrentFunction::kElu, true, false, 1, 0},
    {"softsign", RecurrentFunction::kSoftsign, false, false, 0, 0},
    {"softplus", RecurrentFunction::kSoftplus, false, false, 0, 0},
};

const FunctionRow& FindFunction(const AttributeReader& c, const std::string& name) {
  std::string lower = name;
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  for (const FunctionRow& row : kFunctions) {
    if (lower == row.name) return row;
  }
  c.Fail(Code::kInvalidArgument, "expected an activation such as Tanh, Sigmoid or Relu, found '", name, "'");
}

template <typename T>
T Apply(const RecurrentActivation& a, T x) {
  const T alpha = static_cast<T>(a.alpha), beta = static_cast<T>(a.beta);
  switch (a.function) {
    case RecurrentFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case RecurrentFunction::kTanh:
      return std::tanh(x);
    case RecurrentFunction::kRelu:
      return x < 0 ? T(0) : x;
    case RecurrentFunction::kAffine:
      return alpha * x + beta;
    case RecurrentFunction::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case RecurrentFunction::kThresholdedRelu:
      return x > alpha ? x : T(0);
    case RecurrentFunction::kScaledTanh:
      return alpha * std::tanh(beta * x);
    case RecurrentFunction::kHardSigmoid:
      return std::max(T(0), std::min(T(1), alpha * x + beta));
    case RecurrentFunction::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case RecurrentFunction::kSoftsign:
      return x / (1 + std::abs(x));
    case RecurrentFunction::kSoftplus:
      return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
  }
  return x;
}

template <typename T>
void Clip(float limit, T* x, std::int64_t n) {
  if (!(limit > 0)) return;
  const T high = static_cast<T>(limit);
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::max(-high, std::min(high, x[i]));
}

}  // namespace

std::vector<RecurrentActivation> ReadActivations(const AttributeReader& c, std::size_t count,
                                                 const std::vector<RecurrentFunction>& defaults) {
  const std::vector<std::string> names = c.Strings("activations");
  const std::vector<float> alphas = c.Floats("activation_alpha"), betas = c.Floats("activation_beta");
  // As the schema gives RNN two defaults for one direction, more names than needed are allowed.
  if (!names.empty() && names.size() < count) {
    c.Fail(Code::kInvalidArgument, "expected ", count, " activations, found ", names.size());
  }
  std::vector<RecurrentActivation> activations;
  std::size_t alpha = 0, beta = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (names.empty()) {
      activations.push_back({defaults[i % defaults.size()], 0, 0});
      continue;
    }
    const FunctionRow& row = FindFunction(c, names[i]);
    RecurrentActivation a = {row.function, row.alpha, row.beta};
    if (row.takes_alpha && alpha < alphas.size()) a.alpha = alphas[alpha++];
    if (row.takes_beta && beta < betas.size()) a.beta = betas[beta++];
    activations.push_back(a);
  }
  return activations;
}

void ActivateRow(const RecurrentActivation& activation, float limit, float* x, std::int64_t n) {
  Clip(limit, x, n);
  const bool sigmoid = activation.function == RecurrentFunction::kSigmoid;
  if (sigmoid || activation.function == RecurrentFunction::kTanh) {
    const kernels::ActivationKind kind = sigmoid ? kernels::ActivationKind::kSigmoid : kernels::ActivationKind::kTanh;
    return kernels::BestTilesF32().activate(x, 1, n, n, {kind, 0, 0});
  }
  for (std::int64_t i = 0; i < n; ++i) x[i] = Apply(activation, x[i]);
}

void ActivateRow(const RecurrentActivation& activation, float limit, double* x, std::int64_t n) {
  Clip(limit, x, n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = Apply(activation, x[i]);
}

}  // namespace sardonyx::ops
