// kernels/gemm/gemm_any.h - matrix products of the less common element types: f64, i32, i64, u32, u64.
//
// C[M, N] = alpha * A[M, K] * B[K, N] + beta * C0, integers modulo 2^32 or 2^64. Register tiles per ISA over panels of
// B that are packed on the fly or beforehand. Nothing allocates or throws; bits do not depend on the thread count.
// Error of f64: at most K * 2^-53 * sum |A||B| per element, tested in gemm_any_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// Strides count elements; batch as in GemmF32Args. T: double, int32_t, int64_t, uint32_t, uint64_t.
template <typename T>
struct GemmAnyArgs {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const T* a = nullptr;  // [M, K], trans_a: [K, M]
  std::int64_t lda = 0;
  bool trans_a = false;
  const T* b = nullptr;  // [K, N], trans_b: [N, K]
  std::int64_t ldb = 0;
  bool trans_b = false;
  const T* packed_b = nullptr;  // instead of b: from PackGemmAnyB with the same n, k, isa; strides count its elements
  T* c = nullptr;               // [M, N]
  std::int64_t ldc = 0;
  T alpha = 1;
  T beta = 0;             // used only with c0
  const T* c0 = nullptr;  // null, or an addend [M, N] with the strides below (0 repeats); may be c itself
  std::int64_t c0_row_stride = 0;
  std::int64_t c0_column_stride = 0;
  std::int64_t batch = 1;
  std::int64_t a_batch_stride = 0;
  std::int64_t b_batch_stride = 0;
  std::int64_t c_batch_stride = 0;
  std::int64_t c0_batch_stride = 0;
  const std::int64_t* a_batch_offsets = nullptr;
  const std::int64_t* b_batch_offsets = nullptr;
  Isa isa = BestIsa();  // tests name others
};

// Elements of packed B, and B [K, N] (trans_b: [N, K]) packed into `packed`: for one that is used again and again.
template <typename T>
std::size_t GemmAnyPackedCount(std::int64_t k, std::int64_t n, Isa isa = BestIsa());
template <typename T>
void PackGemmAnyB(std::int64_t k, std::int64_t n, const T* b, std::int64_t ldb, bool trans_b, T* packed,
                  Isa isa = BestIsa());

template <typename T>
std::size_t GemmAnyScratchBytes(const GemmAnyArgs<T>& args, int threads);
template <typename T>
void GemmAny(const GemmAnyArgs<T>& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
