// ops/attention/group_query_state.h - attributes, inputs and sizes of GroupQueryAttention.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/kernel_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

namespace group_query {
inline constexpr std::size_t kQ = 0, kK = 1, kV = 2, kPastK = 3, kPastV = 4, kLengths = 5, kTotal = 6, kCos = 7,
                             kSin = 8;
inline constexpr std::size_t kPositions = 9, kAddend = 10, kSinks = 11, kKScale = 12, kVScale = 13, kQNorm = 14,
                             kKNorm = 15;
inline constexpr std::size_t kY = 0, kPresentK = 1, kPresentV = 2, kScores = 3;
}  // namespace group_query

struct GroupQueryState {
  std::int64_t heads = 1, kv_heads = 1;
  float scale = 0, softcap = 0, norm_epsilon = 1e-6f;
  std::int64_t window = -1;
  bool sliding = false;     // the caches hold the last rows only, those of the window at least
  std::int64_t scores = 0;  // 1: before, 2: after softmax
  int cache_bits = 0;       // of integers in the caches; 0: they hold floats
  bool k_per_channel = false, v_per_channel = false;
  bool rotary = false, interleaved = false, smooth = false, causal = true;
  bool same_rows = false;  // see AttentionF32Args
};

// Fails where attributes contradict each other.
GroupQueryState ReadGroupQueryState(const AttributeReader& c);
// Adds what follows from the type of the caches.
void ReadGroupQueryCache(PrepareContext& c, GroupQueryState* state);

// The sizes of one call, checked.
struct GroupQuerySizes {
  std::int64_t batch, queries, size, keys, past_rows, rows;
  std::int64_t stored;  // elements of a row in the caches
  bool packed;
};

GroupQuerySizes ReadGroupQuerySizes(KernelContext& c, const GroupQueryState& s);

}  // namespace sardonyx::ops
