// ops/product.h - matrix products of kernels/gemm under one name, for code that is written once for float and double.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_any.h"

namespace sardonyx::ops {

// C = alpha * A * B (+ C where `accumulate`). The GEMM family's arguments for T.
template <typename T>
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t lda = 0;
  bool trans_a = false;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  bool trans_b = false;
  T* c = nullptr;
  std::int64_t ldc = 0;
  T alpha = 1;
  bool accumulate = false;
  std::int64_t batch = 1, a_batch_stride = 0, b_batch_stride = 0, c_batch_stride = 0;
  const std::int64_t* a_batch_offsets = nullptr;
  const std::int64_t* b_batch_offsets = nullptr;
  const T* packed_b = nullptr;
  // What follows: float only.
  const std::uint16_t* packed_half = nullptr;
  kernels::HalfKind half_kind = kernels::HalfKind::kFloat16;
  bool rounds_to_bf16 = false;
  bool same_rows = false;
  const float* bias = nullptr;      // [N], added to every row
  const float* residual = nullptr;  // like C, added; or null. Not with `accumulate`
  kernels::Activation activation;
};

inline kernels::GemmF32Args GemmArgs(const Product<float>& p) {
  kernels::GemmF32Args g;
  g.m = p.m, g.n = p.n, g.k = p.k;
  g.a = p.a, g.lda = p.lda, g.trans_a = p.trans_a;
  g.b = p.b, g.ldb = p.ldb, g.trans_b = p.trans_b, g.packed_b = p.packed_b;
  g.packed_half = p.packed_half, g.half_kind = p.half_kind;
  g.rounds_to_bf16 = p.rounds_to_bf16, g.same_rows = p.same_rows;
  g.c = p.c, g.ldc = p.ldc;
  g.epilogue.alpha = p.alpha;
  g.batch = p.batch;
  g.a_batch_stride = p.a_batch_stride, g.b_batch_stride = p.b_batch_stride, g.c_batch_stride = p.c_batch_stride;
  g.a_batch_offsets = p.a_batch_offsets, g.b_batch_offsets = p.b_batch_offsets;
  g.epilogue.bias_n = p.bias;
  g.epilogue.activation = p.activation;
  if (p.accumulate || p.residual != nullptr) {
    g.epilogue.residual = p.accumulate ? p.c : p.residual;
    g.epilogue.residual_stride = p.ldc;
    g.residual_batch_stride = p.c_batch_stride;
  }
  return g;
}

template <typename T>
kernels::GemmAnyArgs<T> GemmArgs(const Product<T>& p) {
  kernels::GemmAnyArgs<T> g;
  g.m = p.m, g.n = p.n, g.k = p.k;
  g.a = p.a, g.lda = p.lda, g.trans_a = p.trans_a;
  g.b = p.b, g.ldb = p.ldb, g.trans_b = p.trans_b, g.packed_b = p.packed_b;
  g.c = p.c, g.ldc = p.ldc;
  g.alpha = p.alpha;
  g.batch = p.batch;
  g.a_batch_stride = p.a_batch_stride, g.b_batch_stride = p.b_batch_stride, g.c_batch_stride = p.c_batch_stride;
  g.a_batch_offsets = p.a_batch_offsets, g.b_batch_offsets = p.b_batch_offsets;
  if (p.accumulate) {
    g.beta = 1;
    g.c0 = p.c;
    g.c0_row_stride = p.ldc;
    g.c0_column_stride = 1;
    g.c0_batch_stride = p.c_batch_stride;
  }
  return g;
}

// Bytes of scratch; the pointers of `p` may still be null unless they say what is given (packed_b, offsets).
inline std::size_t ProductScratch(const Product<float>& p, int threads) {
  kernels::GemmF32Args args = GemmArgs(p);
  static const float kThere = 0;
  if (p.accumulate) args.epilogue.residual = &kThere;
  return kernels::GemmF32ScratchBytes(args, threads);
}
template <typename T>
std::size_t ProductScratch(const Product<T>& p, int threads) {
  kernels::GemmAnyArgs<T> args = GemmArgs(p);
  static const T kThere = 0;
  if (p.accumulate) args.c0 = &kThere;
  return kernels::GemmAnyScratchBytes(args, threads);
}

inline void RunProduct(const Product<float>& p, Parallel& parallel, std::byte* scratch) {
  kernels::GemmF32(GemmArgs(p), parallel, scratch);
}
template <typename T>
void RunProduct(const Product<T>& p, Parallel& parallel, std::byte* scratch) {
  kernels::GemmAny(GemmArgs(p), parallel, scratch);
}

}  // namespace sardonyx::ops
