// optimizer/rules/exchange_options.h - how models for ONNX Runtime are to be written: the choices of the passes in
// optimizer/passes/exchange.
#pragma once

namespace sardonyx::optimizer {

// What attention reads of a mask [batch, key] of zeros and ones. kLength: the number of ones in each row, which must
// stand first. The numbers are those of onnxruntime.transformers' AttentionMaskFormat.
enum class PaddingForm { kLength = 0, kLengthAndStart = 1, kMask = 2, kNone = 3 };

struct ExchangeOptions {
  PaddingForm padding = PaddingForm::kMask;
  bool joins_projections = true;  // false: MultiHeadAttention also where Attention could take the projections in
  bool multi_head_bias = true;    // MultiHeadAttention takes the biases of the projections in
};

}  // namespace sardonyx::optimizer
