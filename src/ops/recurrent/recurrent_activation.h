// ops/recurrent/recurrent_activation.h - the activation functions of RNN, GRU and LSTM.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/gemm/epilogue.h"
#include "ops/node_view.h"

namespace sardonyx::ops {

// x becomes the function of it; alpha and beta are its parameters.
using RecurrentActivation = kernels::Activation;

// `count` activations from the attributes activations, activation_alpha and activation_beta; those named by `defaults`
// where there are none. Alphas and betas belong, in order, to the functions that take one.
std::vector<RecurrentActivation> ReadActivations(const AttributeReader& c, std::size_t count,
                                                 const std::vector<std::string_view>& defaults);

// x[i] = f(clip(x[i])), clip to [-limit, limit] where limit is at least 0.
void ActivateRow(const RecurrentActivation& activation, float limit, float* x, std::int64_t n);
void ActivateRow(const RecurrentActivation& activation, float limit, double* x, std::int64_t n);

}  // namespace sardonyx::ops
