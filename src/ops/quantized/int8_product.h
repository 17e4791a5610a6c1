// ops/quantized/int8_product.h - the 8-bit matrix products of MatMulInteger, QLinearMatMul and similar operators:
// packed B, the batch, and zero points (one value, one per row or column, or one per row or column of every matrix).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm_int8.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/shapes/matmul_shape.h"

namespace sardonyx::ops {

inline constexpr DTypeSet kInt8s = {DType::kInt8, DType::kUInt8};

// Constant B of rank 2, packed once (its zero points stay inputs); undefined if B is none.
struct PackedInt8 {
  Tensor packed;
  Shape b;  // [K, N]
  bool is_signed = false;
  bool transposed = false;  // a B that is not packed is stored as [N, K]
};
// B is stored as [N, K] if `transposed`.
PackedInt8 PackInt8B(PrepareContext& c, std::size_t input, bool transposed = false);

// Which inputs an operator reads; kNoInt8Input where it has none.
inline constexpr std::size_t kNoInt8Input = ~std::size_t{0};
struct Int8Inputs {
  std::size_t a, a_zero, b, b_zero;
};

class Int8Product {
 public:
  // a: the shape of A, whose bytes args.a may be given later. one_row_rule: all rows of A have the same scale, so that
  // the matrices of a batch with one B may be taken as one.
  Int8Product(KernelContext& c, const Int8Inputs& in, const PackedInt8& packed, Dims a, bool a_signed,
              bool one_row_rule);

  kernels::GemmInt8Args args;  // of one matrix
  std::int64_t batch_count() const { return batch_count_; }
  std::int64_t a_matrices() const { return a_.batch_count; }
  std::int64_t b_matrices() const { return b_.batch_count; }

  std::size_t OffsetCount() const { return 2 * static_cast<std::size_t>(batch_count_); }
  // What Run needs once args (but for the pointers) are known.
  std::size_t ScratchBytes(int threads) const {
    return TakesTurns(threads) ? kernels::GemmInt8ScratchBytes(args, threads)
                               : static_cast<std::size_t>(threads) * SlotBytes();
  }
  // Runs the matrices; `change` sees the arguments of a matrix and the indices of its A and B before it runs. As many
  // matrices as threads run at once if `are_independent`: `change` writes nothing but the arguments.
  template <typename Change>
  void Run(KernelContext& c, std::int64_t* offsets, std::byte* scratch, bool are_independent, Change change) const {
    FindMatrices(offsets);
    const auto run = [&](std::int64_t i, Parallel& parallel, std::byte* memory) {
      kernels::GemmInt8Args g = Matrix(i, offsets);
      change(g, offsets[i], offsets[batch_count_ + i]);
      kernels::GemmInt8(g, parallel, memory);
    };
    const std::int64_t threads = c.parallel().ThreadCount();
    if (TakesTurns(c.parallel().ThreadCount())) {
      for (std::int64_t i = 0; i < batch_count_; ++i) run(i, c.parallel(), scratch);
      return;
    }
    Serial serial;
    if (!are_independent) {
      for (std::int64_t i = 0; i < batch_count_; ++i) run(i, serial, scratch);
      return;
    }
    c.parallel().For(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s)
        for (std::int64_t i = batch_count_ * s / threads; i < batch_count_ * (s + 1) / threads; ++i)
          run(i, serial, scratch + static_cast<std::size_t>(s) * SlotBytes());
    });
  }
  void Run(KernelContext& c, std::int64_t* offsets, std::byte* scratch) const {
    Run(c, offsets, scratch, true, [](kernels::GemmInt8Args&, std::int64_t, std::int64_t) {});
  }

 private:
  // Each matrix uses all threads: there are few of them, or they are large.
  bool TakesTurns(std::int64_t threads) const {
    constexpr std::int64_t kLarge = std::int64_t{1} << 24;
    return threads == 1 || batch_count_ < threads || args.m * args.n * args.k >= kLarge;
  }
  std::size_t SlotBytes() const { return (kernels::GemmInt8ScratchBytes(args, 1) + 63) / 64 * 64; }
  void FindMatrices(std::int64_t* offsets) const;
  kernels::GemmInt8Args Matrix(std::int64_t i, const std::int64_t* offsets) const;

  MatMulOperand a_, b_;
  Shape batch_;
  std::int64_t batch_count_ = 1;
  std::int64_t a_zero_stride_ = 0, b_zero_stride_ = 0;  // between matrices
};

// Fails unless there are 1, `each` or `each * matrices` of an input's elements; the stride between matrices.
std::int64_t MatrixStride(const KernelContext& c, std::size_t input, std::int64_t each, std::int64_t matrices);

}  // namespace sardonyx::ops
