// ops/attention/paged_state.cpp - reads and checks attributes and shapes of PagedAttention.
#include "ops/attention/paged_state.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "ops/attention/paged_cache.h"

namespace sardonyx::ops {
namespace {

using namespace paged;

constexpr std::string_view kNames[] = {
    "query",         "key",           "value",     "key_cache", "value_cache",       "cumulative_sequence_length",
    "past_seqlens",  "block_table",   "cos_cache", "sin_cache", "slot_mapping",      "head_sink",
    "q_norm_weight", "k_norm_weight", "k_scale",   "v_scale",   "attention_metadata"};

void Expect(const KernelContext& c, std::size_t i, std::initializer_list<std::int64_t> want) {
  if (!c.HasInput(i)) return;
  const Dims shape = c.Input(i).shape, wanted(want.begin(), want.size());
  if (!Shape::Equal(shape, wanted)) {
    Fail(Code::kInvalidArgument, "input ", i, " ('", kNames[i], "'): expected ", ToText(wanted), ", found ",
         ToText(shape));
  }
}

void ExpectRank(const KernelContext& c, std::size_t i, std::size_t rank, std::string_view form) {
  if (c.Input(i).rank() != rank) {
    Fail(Code::kInvalidArgument, "input ", i, " ('", kNames[i], "'): expected ", form, ", found ",
         ToText(c.Input(i).shape));
  }
}

void ExpectScales(const KernelContext& c, std::size_t i, bool per_channel, std::int64_t heads, std::int64_t size) {
  if (!c.HasInput(i)) return;
  const TensorRef& scales = c.Input(i);
  const bool whole = scales.count == heads * size && scales.rank() > 0 && scales.shape.back() == size;
  if (per_channel ? whole : scales.count == 1) return;
  const std::int64_t want[] = {heads, 1, size};
  Fail(Code::kInvalidArgument, "input ", i, " ('", kNames[i], "'): expected ",
       per_channel ? ToText(want) : "one element", ", found ", ToText(scales.shape));
}

// The type that the cache `i` stores.
DType ReadElement(PrepareContext& c, std::size_t i, std::string_view attribute) {
  const DType stored = c.InputDType(i);
  const std::string name = c.String(attribute, "");
  if (stored == DType::kUInt8) {
    if (name == "int4") return DType::kInt4;
    if (name == "float4e2m1") return DType::kFloat4E2M1;
    c.Fail(Code::kInvalidArgument, "attribute '", attribute, "': expected int4 or float4e2m1 for a cache of uint8, ",
           "found '", name, "'");
  }
  if (!name.empty() && name != Name(stored)) {
    c.Fail(Code::kInvalidArgument, "attribute '", attribute, "': expected '' or ", Name(stored),
           ", the type of the cache, found '", name, "'");
  }
  return stored;
}

// Whether each element of a head has a scale of its own.
bool ReadScales(PrepareContext& c, std::size_t i, DType element, std::string_view attribute) {
  const std::string kind = c.String(attribute, "NONE");
  if (kind != "NONE" && kind != "PER_TENSOR" && kind != "PER_CHANNEL") {
    c.Fail(Code::kInvalidArgument, "attribute '", attribute, "': expected NONE, PER_TENSOR or PER_CHANNEL, found '",
           kind, "'");
  }
  const bool quantized = PagedCache::IsQuantized(element);
  if (quantized == (kind == "NONE")) {
    c.Fail(Code::kInvalidArgument, "attribute '", attribute, "': expected ",
           quantized ? "PER_TENSOR or PER_CHANNEL" : "NONE", " for a cache of ", Name(element), ", found '", kind, "'");
  }
  if (quantized != c.HasInput(i)) {
    c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected ", quantized ? "scales" : "none", " for a cache of ",
           Name(element), ", found ", quantized ? "none" : "some");
  }
  return kind == "PER_CHANNEL";
}

void CheckLatent(PrepareContext& c, const PagedState& s) {
  for (const std::size_t i : {kV, kVCache, kVScale}) {
    if (c.HasInput(i))
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected none where kv_cache_layout is LATENT");
  }
  if (!c.HasInput(kK))
    c.Fail(Code::kInvalidArgument, c.InputText(kK), ": expected one where kv_cache_layout is LATENT");
  if (s.kv_heads != 1) {
    c.Fail(Code::kInvalidArgument, "attribute 'kv_num_heads': expected 1 where kv_cache_layout is LATENT, found ",
           s.kv_heads);
  }
  if (c.String("v_quant_type", "NONE") != "NONE" || !c.String("v_cache_dtype", "").empty()) {
    c.Fail(Code::kInvalidArgument,
           "attributes 'v_quant_type' and 'v_cache_dtype': expected none where kv_cache_layout is LATENT");
  }
  if (c.HasOutput(kVCacheOut)) {
    c.Fail(Code::kInvalidArgument, "output 2 ('value_cache_out'): expected none where kv_cache_layout is LATENT");
  }
}

}  // namespace

PagedState ReadPagedState(const AttributeReader& c) {
  PagedState s;
  s.heads = c.Int("num_heads");
  s.kv_heads = c.Int("kv_num_heads");
  constexpr std::int64_t kMost = 1 << 20;
  if (s.heads < 1 || s.kv_heads < 1 || s.heads > kMost || s.heads % s.kv_heads != 0) {
    c.Fail(Code::kInvalidArgument, "expected num_heads in [1, ", kMost, "] and divisible by kv_num_heads, found ",
           s.heads, " and ", s.kv_heads);
  }
  s.scale = c.Float("scale", 0);
  s.softcap = c.Float("softcap", 0);
  s.norm_epsilon = c.Float("qk_norm_epsilon", 1e-6f);
  s.window = c.Int("local_window_size", -1);
  if (s.window < -1) {
    c.Fail(Code::kInvalidArgument, "attribute 'local_window_size': expected -1 or more, found ", s.window);
  }
  s.window = std::clamp<std::int64_t>(s.window, 0, std::int64_t{1} << 40);
  s.rotary = c.Flag("do_rotary");
  s.interleaved = c.Flag("rotary_interleaved");
  s.causal = c.Flag("is_causal", true);
  s.rotary_offset = c.Int("rotary_offset", 0);
  if (s.rotary_offset < 0 || s.rotary_offset % 8 != 0) {
    c.Fail(Code::kInvalidArgument, "attribute 'rotary_offset': expected a multiple of 8, found ", s.rotary_offset);
  }
  const std::string layout = c.String("kv_cache_layout", "SEPARATE");
  if (layout != "SEPARATE" && layout != "LATENT") {
    c.Fail(Code::kInvalidArgument, "attribute 'kv_cache_layout': expected SEPARATE or LATENT, found '", layout, "'");
  }
  s.latent = layout == "LATENT";
  s.value_size = c.Int("v_head_size", 0);
  if (s.value_size < 0) {
    c.Fail(Code::kInvalidArgument, "attribute 'v_head_size': expected 0 or more, found ", s.value_size);
  }
  return s;
}

void ReadPagedCaches(PrepareContext& c, PagedState* state) {
  if (state->latent) {
    CheckLatent(c, *state);
  } else {
    if (c.HasInput(kK) != c.HasInput(kV)) {
      c.Fail(Code::kInvalidArgument, "expected a key and a value together, found only one");
    }
    if (!c.HasInput(kVCache)) {
      c.Fail(Code::kInvalidArgument, c.InputText(kVCache), ": expected one where kv_cache_layout is SEPARATE");
    }
  }
  if (c.HasInput(kQNorm) != c.HasInput(kKNorm)) {
    c.Fail(Code::kInvalidArgument, "expected q_norm_weight and k_norm_weight together, found only one");
  }
  if (c.HasInput(kQNorm) && !(state->norm_epsilon > 0)) {
    c.Fail(Code::kInvalidArgument, "attribute 'qk_norm_epsilon': expected more than 0, found ", state->norm_epsilon);
  }
  if (state->rotary && (!c.HasInput(kCos) || !c.HasInput(kSin))) {
    c.Fail(Code::kInvalidArgument, "expected cos_cache and sin_cache for do_rotary, found ",
           c.HasInput(kCos) || c.HasInput(kSin) ? "only one" : "none");
  }
  // New rows go to the outputs: an input may be constant, and others may read it.
  if (!c.HasOutput(kKCacheOut)) c.Unsupported("a node without the output key_cache_out");
  if (!state->latent && !c.HasOutput(kVCacheOut)) c.Unsupported("a node without the output value_cache_out");
  state->k_element = ReadElement(c, kKCache, "k_cache_dtype");
  state->k_per_channel = ReadScales(c, kKScale, state->k_element, "k_quant_type");
  if (state->latent) return;
  state->v_element = ReadElement(c, kVCache, "v_cache_dtype");
  state->v_per_channel = ReadScales(c, kVScale, state->v_element, "v_quant_type");
}

PagedSizes::PagedSizes(KernelContext& c, const PagedState& s) {
  ExpectRank(c, kQ, 2, "[tokens, hidden]");
  const Dims q = c.Input(kQ).shape;
  packed = !c.HasInput(kK);
  const std::int64_t q_heads = packed ? s.heads + 2 * s.kv_heads : s.heads;
  tokens = q[0], size = q[1] / q_heads;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // without tokens, any number would be a shape
  if (q[1] % q_heads != 0 || size < 1 || size > kMost) {
    Fail(Code::kInvalidArgument, "input 0 ('query'): expected [tokens, a multiple of ", q_heads, " heads], found ",
         ToText(q));
  }
  value_size = s.value_size == 0 ? size : s.value_size;
  if (s.latent ? value_size > size : value_size != size) {
    Fail(Code::kInvalidArgument, "attribute 'v_head_size': expected 0 or ", s.latent ? "at most " : "", size,
         ", found ", value_size);
  }
  if (value_size != size && s.scale == 0) {
    Fail(Code::kInvalidArgument, "attribute 'scale': expected one where v_head_size is not the size of a head");
  }
  Expect(c, kK, {tokens, s.kv_heads * size});
  Expect(c, kV, {tokens, s.kv_heads * size});
  ExpectRank(c, kKCache, 4, "[blocks, block size, heads, head size]");
  blocks = c.Input(kKCache).dim(0), block_size = c.Input(kKCache).dim(1);
  const auto stored = [&](DType element) { return PagedCache::IsPacked(element) ? (size + 1) / 2 : size; };
  Expect(c, kKCache, {blocks, std::max<std::int64_t>(1, block_size), s.kv_heads, stored(s.k_element)});
  Expect(c, kVCache, {blocks, block_size, s.kv_heads, stored(s.v_element)});
  ExpectRank(c, kCumulative, 1, "[batch + 1]");
  batch = c.Input(kCumulative).count - 1;
  if (batch < 0)
    Fail(Code::kInvalidArgument, "input 5 ('cumulative_sequence_length'): expected [batch + 1], found [0]");
  Expect(c, kPast, {batch});
  ExpectRank(c, kTable, 2, "[batch, blocks of a sequence]");
  table_columns = c.Input(kTable).dim(1);
  Expect(c, kTable, {batch, table_columns});
  Expect(c, kSlots, {tokens});
  Expect(c, kSinks, {s.heads});
  Expect(c, kQNorm, {size});
  Expect(c, kKNorm, {size});
  ExpectScales(c, kKScale, s.k_per_channel, s.kv_heads, size);
  ExpectScales(c, kVScale, s.v_per_channel, s.kv_heads, size);
  if (c.HasInput(kMetadata)) Expect(c, kMetadata, {c.Input(kMetadata).count == 3 ? 3 : 2});
  if (!s.rotary) return;
  ExpectRank(c, kCos, 2, "[positions, half of the elements that turn]");
  half = c.Input(kCos).dim(1);
  Expect(c, kSin, {c.Input(kCos).dim(0), half});
  if (s.rotary_offset > size || half > (size - s.rotary_offset) / 2) {
    Fail(Code::kInvalidArgument, "input 8 ('cos_cache'): expected [positions, ",
         std::max<std::int64_t>(0, size - s.rotary_offset) / 2, " or less], found ", ToText(c.Input(kCos).shape));
  }
}

}  // namespace sardonyx::ops
