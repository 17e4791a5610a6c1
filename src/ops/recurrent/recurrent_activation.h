// ops/recurrent/recurrent_activation.h - the activation functions of RNN, GRU and LSTM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/node_view.h"

namespace sardonyx::ops {

enum class RecurrentFunction : std::uint8_t {
  kSigmoid,
  kTanh,
  kRelu,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus
};

struct RecurrentActivation {
  RecurrentFunction function = RecurrentFunction::kSigmoid;
  float alpha = 0, beta = 0;
};

// `count` activations from the attributes activations, activation_alpha and activation_beta; `defaults` where there are
// none. Alphas and betas belong, in order, to the functions that take one.
std::vector<RecurrentActivation> ReadActivations(const AttributeReader& c, std::size_t count,
                                                 const std::vector<RecurrentFunction>& defaults);

// x[i] = f(clip(x[i])), clip to [-limit, limit] where limit is above 0.
void ActivateRow(const RecurrentActivation& activation, float limit, float* x, std::int64_t n);
void ActivateRow(const RecurrentActivation& activation, float limit, double* x, std::int64_t n);

}  // namespace sardonyx::ops
