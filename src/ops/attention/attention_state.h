// ops/attention/attention_state.h - what the kernels of Attention share: its inputs, outputs and attributes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/attention/heads.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

namespace attention {
inline constexpr std::size_t kQ = 0, kK = 1, kV = 2, kMask = 3, kPastK = 4, kPastV = 5, kLengths = 6;
inline constexpr std::size_t kSinks = 6;  // of SinkAttention, which takes no lengths
inline constexpr std::size_t kY = 0, kPresentK = 1, kPresentV = 2, kScores = 3;
}  // namespace attention

// Lengths and windows are cut to this size, so that sums of them are numbers.
inline constexpr std::int64_t kBeyondAllKeys = std::int64_t{1} << 40;

struct AttentionState {
  std::int64_t q_heads = 0, kv_heads = 0;  // 0: from 4-D inputs
  double scale = 0;                        // 0: 1 / sqrt(head size)
  double softcap = 0;
  bool causal = false;
  std::int64_t left = -1, right = -1;  // window
  std::int64_t scores_mode = 0;
  bool same_rows = false;  // see AttentionF32Args
  bool sinks = false;      // the node is a SinkAttention
  CacheAxes cache_axes = kBlocksOfHeads;
};

void RunAttentionF64(KernelContext& c);  // attention_f64.cpp

}  // namespace sardonyx::ops
