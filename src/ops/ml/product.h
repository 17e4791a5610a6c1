// ops/ml/product.h - rows times constant coefficients in f32, for the linear and support vector models of ai.onnx.ml.
#pragma once

#include <span>

#include "kernels/gemm/epilogue.h"
#include "ops/cost_context.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

// Coefficients [N, K] packed once: y [M, N] = alpha * x [M, K] * coefficients' + bias [N].
class ConstantProduct {
 public:
  ConstantProduct() = default;
  ConstantProduct(std::span<const float> coefficients, std::int64_t n, std::int64_t k);
  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }
  std::size_t ScratchBytes(std::int64_t m, Parallel& parallel) const;
  // `scratch`: ScratchBytes, 64-byte aligned.
  void Run(const float* x, std::int64_t m, const kernels::Epilogue& epilogue, float* y, Parallel& parallel,
           std::byte* scratch) const;

 private:
  std::int64_t n_ = 0, k_ = 0;
  Tensor packed_;
};

// The cost of a product of each row of input 0 with every vector in an attribute, a list of floats.
void CountVectors(CostContext& c, std::string_view attribute);

// What a run needs besides its inputs and outputs, in the one block of scratch memory: f32 copies of inputs of other
// types, intermediate matrices, the product's own.
class ScratchParts {
 public:
  // The place of `count` elements; parts begin at multiples of 64 bytes.
  template <typename T>
  std::size_t Add(std::int64_t count) {
    return AddBytes(CheckedMul(static_cast<std::size_t>(count), sizeof(T), "the size of scratch memory"));
  }
  std::size_t AddBytes(std::size_t bytes) {
    const std::size_t at = size_;
    size_ += (bytes + 63) / 64 * 64;
    return at;
  }
  void Allocate(KernelContext& c) { base_ = size_ == 0 ? nullptr : c.Scratch<std::byte>(size_); }
  template <typename T = std::byte>
  T* At(std::size_t place) const {
    return static_cast<T*>(static_cast<void*>(base_ + place));
  }

 private:
  std::size_t size_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace sardonyx::ops
