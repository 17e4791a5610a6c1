// ops/attention/group_query_state.cpp - reads and checks attributes and sizes of GroupQueryAttention.
#include "ops/attention/group_query_state.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace sardonyx::ops {

using namespace group_query;

GroupQueryState ReadGroupQueryState(const AttributeReader& c) {
  GroupQueryState s;
  s.heads = c.Int("num_heads");
  s.kv_heads = c.Int("kv_num_heads");
  constexpr std::int64_t kMostHeads = 1 << 20;
  if (s.heads < 1 || s.kv_heads < 1 || s.heads > kMostHeads || s.heads % s.kv_heads != 0) {
    c.Fail(Code::kInvalidArgument, "expected num_heads in [1, ", kMostHeads, "] and divisible by kv_num_heads, found ",
           s.heads, " and ", s.kv_heads);
  }
  s.scale = c.Float("scale", 0);
  s.softcap = c.Float("softcap", 0);
  s.norm_epsilon = c.Float("qk_norm_epsilon", 1e-6f);
  s.window = std::min(c.Int("local_window_size", -1), std::int64_t{1} << 40);
  s.sliding = c.Flag("sliding_window_cache");
  if (s.sliding && s.window < 1) {
    c.Fail(Code::kInvalidArgument,
           "attribute 'local_window_size': expected at least 1 where sliding_window_cache is 1, ", "found ", s.window);
  }
  s.rotary = c.Flag("do_rotary");
  s.interleaved = c.Flag("rotary_interleaved");
  s.smooth = c.Int("smooth_softmax", 0) > 0;
  s.causal = c.Flag("causal", true);
  s.scores = c.Int("qk_output", 0);
  if (s.scores < 0 || s.scores > 2)
    c.Fail(Code::kInvalidArgument, "attribute 'qk_output': expected 0 to 2, found ", s.scores);
  if (!s.causal && s.window >= 0) {
    c.Fail(Code::kInvalidArgument, "attribute 'local_window_size': expected -1 where causal is 0, found ", s.window);
  }
  return s;
}

void ReadGroupQueryCache(PrepareContext& c, GroupQueryState* state) {
  const DType cache = c.HasInput(kPastK) ? c.InputDType(kPastK) : c.InputDType(kQ);
  // Beside a query of float, caches of 16 bits are what the optimizer leaves of a model in float16.
  const bool narrow = cache == DType::kFloat16 || cache == DType::kBFloat16;
  if (cache == c.InputDType(kQ) || (c.InputDType(kQ) == DType::kFloat && narrow)) return;
  if (cache != DType::kInt8 && cache != DType::kUInt8) c.Unsupported("a cache", cache);
  state->cache_bits = cache == DType::kInt8 ? 8 : 4;
  const std::int64_t bits = c.Int("kv_cache_bit_width", 8);
  if (bits != state->cache_bits) {
    c.Fail(Code::kInvalidArgument, "attribute 'kv_cache_bit_width': expected ", state->cache_bits, " for a cache of ",
           Name(cache), ", found ", bits);
  }
  const auto per_channel = [&](std::string_view name) {
    const std::string kind = c.String(name, "NONE");
    if (kind != "PER_TENSOR" && kind != "PER_CHANNEL") {
      c.Fail(Code::kInvalidArgument, "attribute '", name, "': expected PER_TENSOR or PER_CHANNEL, found '", kind, "'");
    }
    return kind == "PER_CHANNEL";
  };
  state->k_per_channel = per_channel("k_quant_type");
  state->v_per_channel = per_channel("v_quant_type");
  if (!c.HasOutput(kPresentK) || !c.HasOutput(kPresentV)) c.Unsupported("a cache of integers without present outputs");
}

GroupQuerySizes ReadGroupQuerySizes(KernelContext& c, const GroupQueryState& s) {
  GroupQuerySizes n{};
  const Dims q = c.Input(kQ).shape;
  n.batch = q[0], n.queries = q[1];
  n.packed = !c.HasInput(kK);
  const std::int64_t heads = n.packed ? s.heads + 2 * s.kv_heads : s.heads;
  n.size = q[2] / heads;
  n.stored = s.cache_bits == 4 ? (n.size + 1) / 2 : n.size;
  n.keys = c.Input(kTotal).count == 1 ? c.Input(kTotal).As<const std::int32_t>()[0] : -1;
  n.past_rows = c.HasInput(kPastK) && c.Input(kPastK).rank() == 4 ? c.Input(kPastK).dim(2) : 0;
  n.rows = std::max(n.past_rows, n.keys);
  if (q[2] % heads != 0 || n.keys < 0 || c.Input(kLengths).count != n.batch) {
    Fail(Code::kInvalidArgument, "expected a query of ", heads, " heads, ", n.batch,
         " seqlens_k and one total_sequence_length, found ", ToText(q), ", ", ToText(c.Input(kLengths).shape), " and ",
         ToText(c.Input(kTotal).shape));
  }
  if (!n.packed) {
    const std::int64_t want[] = {n.batch, n.queries, s.kv_heads * n.size};
    if (!c.HasInput(kV) || !Shape::Equal(c.Input(kK).shape, want) || !Shape::Equal(c.Input(kV).shape, want)) {
      Fail(Code::kInvalidArgument, "expected key and value ", ToText(want), ", found ", ToText(c.Input(kK).shape),
           " and ", c.HasInput(kV) ? ToText(c.Input(kV).shape) : "none");
    }
  }
  for (const std::size_t i : {kQNorm, kKNorm}) {
    if (c.HasInput(i) && c.Input(i).count != n.size) {
      Fail(Code::kInvalidArgument, "expected q_norm_weight and k_norm_weight [", n.size, "], found ",
           ToText(c.Input(i).shape));
    }
  }
  if (c.HasInput(kPastK) != c.HasInput(kPastV)) {
    Fail(Code::kInvalidArgument, "expected past_key and past_value together, found only one");
  }
  if (c.HasInput(kPastK)) {
    const std::int64_t want[] = {n.batch, s.kv_heads, n.past_rows, n.stored};
    if (!Shape::Equal(c.Input(kPastK).shape, want) || !Shape::Equal(c.Input(kPastV).shape, want)) {
      Fail(Code::kInvalidArgument, "expected past_key and past_value ", ToText(want), ", found ",
           ToText(c.Input(kPastK).shape), " and ", ToText(c.Input(kPastV).shape));
    }
  }
  return n;
}

}  // namespace sardonyx::ops
