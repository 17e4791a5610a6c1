// kernels/gemm/gemm.h - f32 matrix products: C[M, N] = epilogue(A[M, K] * B[K, N]), one or a batch of them.
//
// Constant B is packed once (PackGemmF32B). Everything else is decided here: cache blocking, threads, the M = 1 path,
// packing B on the fly. Nothing allocates or throws. The bits of C do not depend on the number of threads; they may
// depend on the ISA, on the shape (see same_rows) and on whether B was packed. Error of C: at most K * 2^-24 * sum
// |A||B| per element (a chain of K fused multiply-adds; without FMA twice that), tested in gemm_f32_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/gemm/epilogue.h"
#include "kernels/gemm/half_kind.h"

namespace sardonyx::kernels {

struct TileF32Set;  // kernels/gemm/tile_f32.h

// All strides are in elements. A, B, C need only the alignment of float; packed_b and scratch 64 bytes.
struct GemmF32Args {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;  // may be 0: the sums are 0

  const float* a = nullptr;  // [M, K], row stride lda >= K; trans_a: [K, M], row stride lda >= M
  std::int64_t lda = 0;
  bool trans_a = false;

  const float* b = nullptr;  // [K, N], row stride ldb >= N; trans_b: [N, K], row stride ldb >= K. Unused with packed_b
  std::int64_t ldb = 0;
  bool trans_b = false;
  const float* packed_b = nullptr;  // from PackGemmF32B with the same n, k, tiles; batch element i: see b_batch_stride

  const std::uint16_t* packed_half = nullptr;  // instead of packed_b: from PackGemmHalfB; strides count its elements
  HalfKind half_kind = HalfKind::kFloat16;

  // A and B may be rounded to bf16 where the CPU multiplies such numbers faster; sums are floats. Without it that
  // happens only where nothing is lost: with packed_half of bf16, and A whose elements are such numbers.
  bool rounds_to_bf16 = false;
  // The bits of a row of C do not depend on M: few rows take the path of many, which is slower for them.
  bool same_rows = false;

  float* c = nullptr;  // [M, N], row stride ldc >= N; overlaps neither A nor B
  std::int64_t ldc = 0;
  Epilogue epilogue;  // bias_n and bias_m are shared by the whole batch

  // Element i of the batch uses a + i * a_batch_stride, or a + a_batch_offsets[i] where offsets are given (broadcast
  // MatMul); the same for b. With packed_b the stride and offsets of b count floats of the packed copies (multiples of
  // GemmF32PackedCount). Shared B (stride 0) with consecutive A and C is run as one tall product.
  std::int64_t batch = 1;
  std::int64_t a_batch_stride = 0;
  std::int64_t b_batch_stride = 0;
  std::int64_t c_batch_stride = 0;
  std::int64_t residual_batch_stride = 0;
  const std::int64_t* a_batch_offsets = nullptr;
  const std::int64_t* b_batch_offsets = nullptr;

  const TileF32Set* tiles = nullptr;  // null: the best of this CPU; tests name others
};

// Floats of packed B: [N / nr, rounded up][K][nr], zeros beyond N; nr depends on the ISA.
std::size_t GemmF32PackedCount(std::int64_t k, std::int64_t n, const TileF32Set* tiles = nullptr);

// Packs B ([K, N], or [N, K] if trans_b; row stride ldb) into `packed` (64-byte aligned, GemmF32PackedCount floats).
void PackGemmF32B(std::int64_t k, std::int64_t n, const float* b, std::int64_t ldb, bool trans_b, float* packed,
                  Parallel& parallel, const TileF32Set* tiles = nullptr);

// The same for B in 16 bits: the elements stay as they are.
std::size_t GemmHalfPackedCount(std::int64_t k, std::int64_t n, const TileF32Set* tiles = nullptr);
void PackGemmHalfB(std::int64_t k, std::int64_t n, const std::uint16_t* b, std::int64_t ldb, bool trans_b,
                   std::uint16_t* packed, Parallel& parallel, const TileF32Set* tiles = nullptr);

// Bytes of scratch that GemmF32 needs for these sizes and flags with up to `threads` threads; the pointers may still be
// null, but whether packed_b, packed_half, residual and offsets are given must be told by any non-null value. Often 0.
std::size_t GemmF32ScratchBytes(const GemmF32Args& args, int threads);

// Runs the product(s). scratch: GemmF32ScratchBytes(args, parallel.ThreadCount()) bytes, 64-byte aligned, or null if 0.
// M up to 8 with packed B (decoders, recurrent cells) costs no more than one loop over B: pass a Serial to stay on the
// calling thread.
void GemmF32(const GemmF32Args& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
