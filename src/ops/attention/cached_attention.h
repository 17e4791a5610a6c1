// ops/attention/cached_attention.h - attention over keys and values that may lie partly in a cache. All attention
// operators share this code between their inputs and kernels/attention.
#pragma once

#include "ops/attention/heads.h"
#include "ops/operands.h"

namespace sardonyx::ops {

// Where the numbers lie once an Operands::Computing has begun.
struct AttentionData {
  const float *q = nullptr, *k = nullptr, *v = nullptr;  // as `q`, `k`, `v` of CachedAttention view them
  const float *past_k = nullptr, *past_v = nullptr;      // [batch, heads, past_rows, size], or null
  float *present_k = nullptr, *present_v = nullptr;      // [batch, heads, cache_rows, size]; null: nobody asks for them
  // These four where CachedAttention::cache_type is another one than float.
  const void *stored_past_k = nullptr, *stored_past_v = nullptr;
  void *stored_k = nullptr, *stored_v = nullptr;
  float* y = nullptr;
  const float* bias = nullptr;  // of the projections: heads * size of q, then of k, then of v
};

// Use: set the fields, Plan, begin an Operands::Computing, complete `args` with masks, Run.
class CachedAttention {
 public:
  Heads q, k, v, y;                           // k and v: the new rows only
  std::int64_t past = 0;                      // rows of the cache in front of the new ones
  std::int64_t past_rows = 0;                 // rows that the past has memory for, per head
  std::int64_t cache_rows = 0;                // rows that the present has memory for, per head
  bool gather_k = false, gather_v = false;    // past or present exist: keys (values) are gathered in one piece
  bool present_k = false, present_v = false;  // into memory of the caller
  bool bias_q = false, bias_kv = false;       // AttentionData::bias is added to queries; to keys and values
  // Caches of 16-bit floats are read and written as they are stored; both are the caller's then, without biases, beams
  // and memory for more rows than there are.
  DType cache_type = DType::kFloat;
  CacheAxes cache_axes = kBlocksOfHeads;
  // Beam search: key j of row b stands in the cache of row b - b % beams + beam_table[b * beam_table_rows + j].
  std::int64_t beams = 1;
  const std::int32_t* beam_table = nullptr;
  std::int64_t beam_table_rows = 0;
  kernels::AttentionF32Args args;  // Plan and Run set sizes, strides and pointers

  // Fails where heads or sizes do not go together.
  void Plan(Operands& io, int threads);
  void Run(Operands& io, const AttentionData& data, Parallel& parallel);

 private:
  Heads CacheOf(const Heads& source, std::int64_t rows) const;
  void Gather(const float* from, const Heads& source, const float* bias, const float* past_data, float* to,
              kernels::PastRows* rows, Parallel& parallel);
  void Store(const float* from, const Heads& source, void* to, Parallel& parallel) const;
  void RunStored(Operands& io, const AttentionData& data, Parallel& parallel);
  const float* FollowBeams(const float* from, const Heads& source, float* to) const;

  std::size_t q_at_ = 0, k_at_ = 0, v_at_ = 0, scratch_at_ = 0, beam_k_at_ = 0, beam_v_at_ = 0;
};

}  // namespace sardonyx::ops
