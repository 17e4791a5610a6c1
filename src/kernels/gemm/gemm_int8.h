// kernels/gemm/gemm_int8.h - 8-bit matrix products with exact 32-bit sums, returned as they are, as bytes or as floats.
//
// sum[m, n] = bias[n] + sum over k of (A[m, k] - a_zero[m]) * (B[k, n] - b_zero[n]), modulo 2^32, exact on every ISA:
// no saturating 16-bit sums anywhere. int8_result.h says how C is made of the sums. Nothing allocates or throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/gemm/int8_result.h"

namespace sardonyx::kernels {

struct TileInt8Set;  // kernels/gemm/tile_int8.h

// A and B are u8 or s8, each its own choice. Strides count elements. packed_b and scratch are 64-byte aligned.
struct GemmInt8Args {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  const void* a = nullptr;  // [M, K], row stride lda
  std::int64_t lda = 0;
  bool a_signed = false;
  const void* a_zero = nullptr;  // of A's type: null (0), one value, or [M] if a_zero_per_row
  bool a_zero_per_row = false;

  const void* b = nullptr;  // [K, N], or [N, K] if b_transposed, row stride ldb; unused with packed_b
  std::int64_t ldb = 0;
  bool b_transposed = false;
  bool b_signed = false;
  const void* b_zero = nullptr;  // of B's type: null (0), one value, or [N] if b_zero_per_column
  bool b_zero_per_column = false;
  const void* packed_b = nullptr;  // from PackGemmInt8B; holds b_signed, not the zero points

  const std::int32_t* bias = nullptr;  // [N]; null: 0

  Int8Result result = Int8Result::kSums;
  void* c = nullptr;  // [M, N] of the result's type, row stride ldc
  std::int64_t ldc = 0;
  const float* scales = nullptr;  // one value, or [N] if scale_per_column; not for kSums
  bool scale_per_column = false;
  const float* row_scales = nullptr;  // [M], multiplied with the scale; null: 1
  const float* float_bias = nullptr;  // [N], kFloats; null: 0
  int c_zero = 0;                     // kBytes
  bool c_signed = false;

  // As in GemmF32Args, of elements (every matrix with the same zero points, scales and biases); offsets of packed B
  // count bytes (multiples of GemmInt8PackedBytes).
  std::int64_t batch = 1;
  std::int64_t a_batch_stride = 0;
  std::int64_t b_batch_stride = 0;
  std::int64_t c_batch_stride = 0;
  const std::int64_t* a_batch_offsets = nullptr;
  const std::int64_t* b_batch_offsets = nullptr;

  const TileInt8Set* tiles = nullptr;  // null: the best of this CPU; tests name others
};

// Bytes of packed B, the sums of its columns included.
std::size_t GemmInt8PackedBytes(std::int64_t k, std::int64_t n, const TileInt8Set* tiles = nullptr);
void PackGemmInt8B(std::int64_t k, std::int64_t n, const void* b, std::int64_t ldb, bool b_signed, void* packed,
                   Parallel& parallel, const TileInt8Set* tiles = nullptr);

std::size_t GemmInt8ScratchBytes(const GemmInt8Args& args, int threads);
void GemmInt8(const GemmInt8Args& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
