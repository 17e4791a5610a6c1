// ops/shapes/matmul_shape.h - the shapes of a broadcast matrix product, for inference and for a run.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

// Flags of com.microsoft FusedMatMul; all false for MatMul. trans: the last two axes are swapped; trans_batch: the
// matrix's first axis stands before the batch axes, [M, batch..., K] instead of [batch..., M, K].
struct MatMulFlags {
  bool trans_a = false, trans_b = false, trans_batch_a = false, trans_batch_b = false;
};

// Output dims of A x B as numpy.matmul has them; fails where numbers contradict. Both must have a rank.
std::vector<Dim> MatMulDims(const InferContext& c, const std::vector<Dim>& a, const std::vector<Dim>& b,
                            const MatMulFlags& flags = {});

// One operand of a run as stored: matrices [rows, cols] of row stride `ld`, `unit` elements between batch elements.
struct MatMulOperand {
  Dims batch;
  std::int64_t batch_count = 1;
  std::int64_t rows = 1, cols = 1;
  std::int64_t ld = 1, unit = 0;
  bool trans = false;

  std::int64_t outer(bool is_b) const { return trans == is_b ? rows : cols; }  // m or n
  std::int64_t inner(bool is_b) const { return trans == is_b ? cols : rows; }  // k
};
MatMulOperand ViewOperand(Dims x, bool is_b, bool trans = false, bool trans_batch = false);

// The batch of A x B (the product of the broadcast dimensions); fails unless they broadcast and the inner sizes agree.
std::int64_t MatMulBatch(const MatMulOperand& a, const MatMulOperand& b, Shape* batch);

// Offsets of every element of the broadcast batch in an operand, in steps of `unit`.
void BatchOffsets(const MatMulOperand& x, Dims batch, std::int64_t unit, std::int64_t* offsets);
// True if BatchOffsets are i * stride: all distinct (*stride = unit) or all equal (0).
bool RegularBatch(const MatMulOperand& x, std::int64_t batch_count, std::int64_t unit, std::int64_t* stride);

}  // namespace sardonyx::ops
