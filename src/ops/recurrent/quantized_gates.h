// ops/recurrent/quantized_gates.h - the products of DynamicQuantizeLSTM: rows of floats, quantized to 8 bits by their
// range, times quantized weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm_int8.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

// W or R [directions, k, n], int8 or uint8; scale and zero point hold one value or n for each direction.
struct QuantizedWeights {
  std::size_t input = 0, scale = 0, zero = 0;  // which inputs of the node
  Tensor packed;                               // [directions, bytes], undefined unless the weights are constant
  bool is_signed = false;
};

// Fails unless the weights and their zero points have the same 8-bit type.
void CheckQuantizedWeights(PrepareContext& c, const QuantizedWeights& weights);
void PackQuantizedWeights(PrepareContext& c, QuantizedWeights& weights);  // constant ones, of rank 3

class QuantizedGates {
 public:
  // Fails unless the inputs of a run have as many elements as directions, k and n ask for.
  QuantizedGates(KernelContext& c, const QuantizedWeights& weights, std::int64_t directions, std::int64_t k,
                 std::int64_t n);
  // For products of up to `m` rows.
  std::size_t ScratchBytes(std::int64_t m, int threads) const;
  // y [m, n] = a [m, k] times the weights of a direction + bias [n] (or null), where a is rounded to 256 steps between
  // its smallest and its largest element (and 0).
  void Multiply(std::int64_t direction, std::int64_t m, const float* a, const float* bias, float* y, Parallel& parallel,
                std::byte* scratch) const;

 private:
  struct Places {
    std::size_t a, ranges, scales, gemm, bytes;
  };
  kernels::GemmInt8Args Args(std::int64_t direction, std::int64_t m) const;
  Places Layout(std::int64_t m, int threads) const;

  const float* scales_;
  const std::uint8_t *weights_, *zeros_;
  const Tensor& packed_;
  bool is_signed_;
  std::int64_t k_, n_;
  std::int64_t scales_each_, zeros_each_;
};

}  // namespace sardonyx::ops
