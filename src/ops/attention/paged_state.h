// ops/attention/paged_state.h - attributes, inputs and sizes of PagedAttention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "ops/kernel_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

namespace paged {
inline constexpr std::size_t kQ = 0, kK = 1, kV = 2, kKCache = 3, kVCache = 4, kCumulative = 5, kPast = 6, kTable = 7,
                             kCos = 8, kSin = 9, kSlots = 10, kSinks = 11, kQNorm = 12, kKNorm = 13, kKScale = 14,
                             kVScale = 15, kMetadata = 16;
inline constexpr std::size_t kY = 0, kKCacheOut = 1, kVCacheOut = 2;
inline constexpr std::uint32_t kUnconverted =
    1u << kKCache | 1u << kVCache | 1u << kCumulative | 1u << kPast | 1u << kTable | 1u << kSlots;
}  // namespace paged

struct PagedState {
  std::int64_t heads = 1, kv_heads = 1;
  float scale = 0, softcap = 0, norm_epsilon = 1e-6f;  // scale 0: 1 / sqrt(size)
  std::int64_t window = 0;                             // 0: none
  std::int64_t value_size = 0;                         // 0: that of a head
  std::int64_t rotary_offset = 0;
  bool rotary = false, interleaved = false, causal = true;
  bool same_rows = false;                                              // see AttentionF32Args
  bool latent = false;                                                 // values are the first elements of keys
  DType k_element = DType::kUndefined, v_element = DType::kUndefined;  // of the caches, as PagedCache knows them
  bool k_per_channel = false, v_per_channel = false;
};

// Fails where attributes contradict each other.
PagedState ReadPagedState(const AttributeReader& c);
// Adds what follows from the inputs' types, and fails where inputs, outputs and attributes contradict each other.
void ReadPagedCaches(PrepareContext& c, PagedState* state);

// The sizes of one call. The shapes of all inputs are checked, their elements are not.
struct PagedSizes {
  PagedSizes(KernelContext& c, const PagedState& s);

  std::int64_t tokens = 0, batch = 0, size = 0, value_size = 0;
  std::int64_t blocks = 0, block_size = 0, table_columns = 0;
  std::int64_t half = 0;  // pairs that the rotary embedding turns
  bool packed = false;    // keys and values lie in the query
};

}  // namespace sardonyx::ops
