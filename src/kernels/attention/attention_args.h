// kernels/attention/attention_args.h - what attention is asked for: its sizes, where its tensors lie, and what a query
// sees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise/convert.h"

namespace sardonyx::kernels {

struct TileF32Set;        // kernels/gemm/tile_f32.h
struct AttentionRowsSet;  // kernels/attention/attention_rows.h

// Element (batch b, head h, row s, i) of a tensor lies at b * batch + h * head + s * row + i.
struct HeadStrides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};

// What is added to the scores: element (batch, head, query, key) at data + batch * .. + head * .. + query * .. + key.
struct ScoreBias {
  const float* data = nullptr;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
};

// Which scores are stored where somebody asks for them.
enum class ScoreStage : std::uint8_t { kRaw, kCapped, kBiased, kSoftmax };

// Keys or values of an earlier call, which are copied to where this call's are.
struct PastRows {
  const void* from = nullptr;  // null: nothing is copied
  void* to = nullptr;          // k or stored_k, v or stored_v
  HeadStrides strides;         // of `from`
};

struct AttentionF32Args {
  std::int64_t batch = 0;
  std::int64_t heads = 0;     // of the queries
  std::int64_t kv_heads = 0;  // divides heads; query head h reads key head h / (heads / kv_heads)
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t size = 0;        // of a query and of a key
  std::int64_t value_size = 0;  // of a value and of a row of y

  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* y = nullptr;  // overlaps none of the inputs
  HeadStrides q_strides, k_strides, v_strides, y_strides;
  // Keys and values of another type, each row without gaps: k and v are null then, and rows become floats where they
  // are used.
  ToFloatsFn* to_floats = nullptr;
  const void* stored_k = nullptr;
  const void* stored_v = nullptr;

  // The first pasts[b] (null: `past`) keys and values of batch b come from here: few queries copy them beside their
  // use, so that they are read from memory once. The others are in their place already.
  PastRows past_k, past_v;
  std::int64_t past = 0;
  const std::int64_t* pasts = nullptr;
  std::size_t element_bytes = sizeof(float);  // of keys and values as they are stored

  float scale = 1;
  float cap = 0;  // 0: none; else scores become cap * tanh(score / cap)
  ScoreBias bias[2];

  // Query i of batch b stands at p = i + position + positions[b] (null: 0) and sees the keys j with
  // firsts[b] <= j < counts[b] (null: 0 and `keys`), j <= p if causal, j >= p - left and j <= p + right where these are
  // not negative. A query that sees nothing gives zeros.
  std::int64_t position = 0;
  const std::int64_t* positions = nullptr;
  const std::int64_t* firsts = nullptr;
  const std::int64_t* counts = nullptr;
  bool causal = false;
  bool last_sees_all = false;  // the last query is not limited by `causal`
  std::int64_t left = -1;
  std::int64_t right = -1;

  const float* sinks = nullptr;  // [heads] or null: e^sink joins the sum of each row's exponentials

  // The bits of a row of y depend on what its query sees alone, not on how many other queries and keys there are: few
  // queries take the path of many, which is slower for them.
  bool same_rows = false;

  float* scores = nullptr;  // null, or [batch, heads, queries, keys]: the scores at `stage`
  ScoreStage stage = ScoreStage::kSoftmax;

  const TileF32Set* tiles = nullptr;  // null: the best of this CPU; tests name others
  const AttentionRowsSet* rows = nullptr;
};

}  // namespace sardonyx::kernels
