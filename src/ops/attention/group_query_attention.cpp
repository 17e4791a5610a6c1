// ops/attention/group_query_attention.cpp - com.microsoft GroupQueryAttention: decoders' attention with grouped heads,
// caches of keys and values, rotary embedding, local windows and softmax sinks.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/attention/rotary.h"
#include "kernels/elementwise/convert.h"
#include "kernels/norm/affine_f32.h"
#include "kernels/reduce/reduce_f32.h"
#include "ops/attention/attention_cost.h"
#include "ops/attention/attention_mask.h"
#include "ops/attention/group_query_state.h"
#include "ops/attention/heads.h"
#include "ops/attention/quantized_cache.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/same_rows.h"

namespace sardonyx::ops {
namespace {

using namespace group_query;

void InferGroupQuery(InferContext& c) {
  const GroupQueryState s = ReadGroupQueryState(c);
  const DType dtype = c.InputDType(kQ), cache = c.HasInput(kPastK) ? c.InputDType(kPastK) : dtype;
  const auto total = c.ShapeData(kTotal);
  const Dim keys = total && total->size() == 1 ? total->front() : Dim();
  if (!c.HasRank(kQ)) {
    for (std::size_t i = 0; i < 4; ++i)
      if (c.HasOutput(i)) c.SetOutput(i, i == kPresentK || i == kPresentV ? cache : dtype);
    return;
  }
  if (c.Rank(kQ) != 3) c.Fail(Code::kInvalidArgument, "expected a query of rank 3, found ", c.InputType(kQ).ToText());
  const std::vector<Dim>& q = c.InputDims(kQ);
  const Dim size = FloorDiv(q[2], Dim(c.HasInput(kK) ? s.heads : s.heads + 2 * s.kv_heads));
  c.SetOutput(kY, dtype, {q[0], q[1], Dim(s.heads) * size});
  const Dim stored = cache == DType::kUInt8 ? CeilDiv(size, Dim(2)) : size;
  Dim rows = keys;
  if (c.HasInput(kPastK)) {
    rows = c.HasRank(kPastK) && c.Rank(kPastK) == 4 ? c.InputDims(kPastK)[2] : Dim();
    if (!s.sliding) rows = Max(rows, keys);
  }
  for (const std::size_t i : {kPresentK, kPresentV}) {
    if (c.HasOutput(i)) c.SetOutput(i, cache, {q[0], Dim(s.kv_heads), rows, stored});
  }
  if (c.HasOutput(kScores)) c.SetOutput(kScores, dtype, {q[0], Dim(s.heads), q[1], keys});
}

class GroupQuery {
 public:
  explicit GroupQuery(KernelContext& c)
      : c_(c), state_(c.state<GroupQueryState>()), n_(ReadGroupQuerySizes(c, state_)) {
    if (state_.sliding) StageRows();
    const std::int64_t cache[] = {n_.batch, state_.kv_heads, state_.sliding ? n_.past_rows : n_.rows, n_.stored};
    for (const std::size_t i : {kPresentK, kPresentV})
      if (c.HasOutput(i)) c.Output(i, cache);
    if (c.HasOutput(kScores)) {
      const std::int64_t scores[] = {n_.batch, state_.heads, n_.queries, n_.keys};
      c.Output(kScores, scores);
    }
    CheckLengths();
    CheckRotary();
  }

  void Run() {
    const bool integers = state_.cache_bits != 0;
    // Caches of 16-bit floats are read and written as they are stored.
    const bool halves = !integers && !state_.sliding && c_.HasOutput(kPresentK) && c_.HasOutput(kPresentV) &&
                        c_.Output(kPresentK).dtype != DType::kFloat;
    constexpr std::uint32_t kInts = 1u << kLengths | 1u << kTotal | 1u << kPositions;
    const bool stored = integers || halves;
    Operands io(c_, DType::kFloat, kInts | (stored ? 1u << kPastK | 1u << kPastV : 0),
                stored ? 1u << kPresentK | 1u << kPresentV : 0);
    SetArguments();
    if (halves) {
      args_.to_floats = kernels::ToFloats(c_.Output(kPresentK).dtype);
      args_.element_bytes = sizeof(std::uint16_t);
      args_.stored_k = c_.Output(kPresentK).data, args_.stored_v = c_.Output(kPresentV).data;
    }
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    const bool moves_q = state_.rotary || c_.HasInput(kQNorm);
    const std::size_t q_at = io.Add<float>(moves_q ? floats(n_.batch * state_.heads * n_.queries * n_.size) : 0);
    const std::int64_t cache = n_.batch * state_.kv_heads * n_.rows * n_.size;
    const bool own = integers || state_.sliding;
    const bool own_k = own || !c_.HasOutput(kPresentK), own_v = own || !c_.HasOutput(kPresentV);
    const std::int64_t news_count = n_.batch * state_.kv_heads * n_.queries * n_.size;
    const std::size_t k_at = io.Add<float>(own_k ? floats(cache) : halves ? floats(news_count) : 0);
    const std::size_t v_at = io.Add<float>(own_v ? floats(cache) : halves ? floats(news_count) : 0);
    const std::size_t ints_at = io.Add<std::int64_t>(floats(2 * n_.batch));
    const std::size_t sinks_at = io.Add<float>(floats(state_.smooth ? state_.heads : 0));
    const bool stages = state_.sliding && c_.HasInput(kAddend);
    const std::size_t addend_at = io.Add<float>(stages ? floats(ElementCount(StagedShape())) : 0);
    const std::size_t scratch_at = io.Add(kernels::AttentionF32ScratchBytes(args_, c_.parallel().ThreadCount()));
    const Operands::Computing computing(io);
    SetPlaces(io.At<std::int64_t>(ints_at));
    SetSinks(io, io.At<float>(sinks_at));
    const std::int64_t row = n_.packed ? (state_.heads + 2 * state_.kv_heads) * n_.size : state_.kv_heads * n_.size;
    const float* q = io.In<float>(kQ);
    const float* k = n_.packed ? Behind(q, state_.heads * n_.size) : io.In<float>(kK);
    const float* v = n_.packed ? Behind(k, state_.kv_heads * n_.size) : io.In<float>(kV);
    const Heads queries =
        RowsOfHeads(n_.batch, n_.queries, state_.heads, n_.size, n_.packed ? row : state_.heads * n_.size);
    const Heads news = RowsOfHeads(n_.batch, n_.queries, state_.kv_heads, n_.size, row);
    args_.q = q, args_.q_strides = queries.strides;
    if (moves_q) {
      const Heads to = BlocksOfHeads(n_.batch, state_.heads, n_.queries, n_.size);
      Place(q, queries, io.In<float>(kQNorm), true, io.At<float>(q_at), to, false, io);
      args_.q = io.At<float>(q_at), args_.q_strides = to.strides;
    }
    float* keys = own_k || halves ? io.At<float>(k_at) : io.Out<float>(kPresentK);
    float* values = own_v || halves ? io.At<float>(v_at) : io.Out<float>(kPresentV);
    const Heads store = BlocksOfHeads(n_.batch, state_.kv_heads, n_.rows, n_.size);
    FillCaches(io, {k, v, news}, keys, values, store);
    if (halves) keys = values = nullptr;
    args_.k = keys, args_.v = values, args_.k_strides = args_.v_strides = store.strides;
    args_.y = io.Out<float>(kY);
    args_.y_strides = RowsOfHeads(n_.batch, n_.queries, state_.heads, n_.size, state_.heads * n_.size).strides;
    if (c_.HasInput(kAddend)) {
      const MaskedScores scores{n_.batch, n_.queries, args_.keys, 0};
      const float* addend = io.In<float>(kAddend);
      if (stages) addend = StageAddend(addend, io.At<float>(addend_at));
      const Shape shape = stages ? StagedShape() : Shape(c_.Input(kAddend).shape);
      args_.bias[0] = BroadcastAddend(shape, addend, state_.heads, scores);
    }
    if (c_.HasOutput(kScores)) args_.scores = io.Out<float>(kScores);
    kernels::AttentionF32(args_, c_.parallel(), io.At(scratch_at));
    if (state_.sliding && !integers) {
      KeepLastRows(keys, store, io.Out<float>(kPresentK));
      KeepLastRows(values, store, io.Out<float>(kPresentV));
    }
  }

 private:
  std::int64_t Length(std::int64_t b) const { return c_.Input(kLengths).As<const std::int32_t>()[b] + std::int64_t{1}; }
  // The first prompt has no past, whatever its padding; else the new rows are the last ones.
  bool FirstPrompt() const { return n_.queries == n_.keys; }
  std::int64_t Past(std::int64_t b) const { return FirstPrompt() ? 0 : Length(b) - n_.queries; }

  // ---- A sliding cache of C rows holds the rows [0, Resident) of the last positions. All rows of a call, those before
  // it and the new ones, are staged in memory of their own; attention counts keys from the first of these.
  std::int64_t Resident(std::int64_t positions) const {
    const std::int64_t capacity = n_.past_rows, step = capacity - state_.window + 1;
    return positions <= capacity ? positions : positions - step * ((positions - capacity + step - 1) / step);
  }
  // Rows of the cache that come before the new ones.
  std::int64_t CachedRows(std::int64_t b) const { return state_.sliding ? Resident(Past(b)) : Past(b); }
  std::int64_t CachedAndNew(std::int64_t b) const { return CachedRows(b) + Length(b) - Past(b); }

  void StageRows() {
    if (!c_.HasInput(kPastK) || state_.window > n_.past_rows) {
      Fail(Code::kInvalidArgument, "expected past_key and past_value of at least local_window_size = ", state_.window,
           " rows where sliding_window_cache is 1, found ",
           c_.HasInput(kPastK) ? ToText(c_.Input(kPastK).shape) : "none");
    }
    n_.rows = n_.queries;
    for (std::int64_t b = 0; b < n_.batch; ++b)
      n_.rows = std::max(n_.rows, Resident(std::max<std::int64_t>(0, Past(b))) + n_.queries);
  }
  Shape StagedShape() const {
    const Dims given = c_.Input(kAddend).shape;
    const std::int64_t heads = given.size() == 4 ? given[1] : 1;
    return Shape{n_.batch, heads, n_.queries, n_.rows};
  }
  // The addend's columns count positions of the whole sequence; those of the staged rows are picked.
  const float* StageAddend(const float* addend, float* staged) const {
    const Dims given = c_.Input(kAddend).shape;
    const Shape shape = StagedShape();
    const std::int64_t want[] = {given.size() == 4 && given[0] == 1 ? 1 : n_.batch, shape[1], n_.queries, n_.keys};
    if (!Shape::Equal(given, want) || (shape[1] != 1 && shape[1] != state_.heads)) {
      Fail(Code::kInvalidArgument, "expected attention_bias [1 or ", n_.batch, ", 1 or ", state_.heads, ", ",
           n_.queries, ", ", n_.keys, "], found ", ToText(given));
    }
    std::fill_n(staged, ElementCount(shape), 0.0f);
    const std::int64_t rows = shape[1] * n_.queries;
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      const std::int64_t first = Past(b) - CachedRows(b), count = CachedAndNew(b);
      const float* from = addend + (given[0] == 1 ? 0 : b * rows * n_.keys) + first;
      for (std::int64_t row = 0; row < rows; ++row)
        std::copy_n(from + row * n_.keys, count, staged + (b * rows + row) * n_.rows);
    }
    return staged;
  }
  void KeepLastRows(const float* staged, const Heads& store, float* present) const {
    if (present == nullptr) return;
    const std::int64_t head = n_.past_rows * n_.size;
    for (std::int64_t i = 0; i < n_.batch * state_.kv_heads; ++i) {
      const std::int64_t b = i / state_.kv_heads, kept = Resident(Length(b));
      const float* from = staged + store.Offset(b, i % state_.kv_heads, CachedAndNew(b) - kept);
      float* to = present + i * head;
      std::copy_n(from, kept * n_.size, to);
      std::fill_n(to + kept * n_.size, head - kept * n_.size, 0.0f);
    }
  }

  void CheckLengths() const {
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      const std::int64_t past = Past(b);
      const bool fits = state_.sliding || (past + n_.queries <= n_.rows && past <= n_.past_rows);
      if (Length(b) < 1 || Length(b) > n_.keys || past < 0 || !fits) {
        Fail(Code::kInvalidArgument, "expected seqlens_k in [", FirstPrompt() ? 0 : n_.queries - 1, ", ", n_.keys - 1,
             "] with a cache of ", n_.past_rows, " rows, found ", Length(b) - 1);
      }
    }
  }

  void CheckRotary() {
    if (!state_.rotary) return;
    if (!c_.HasInput(kCos) || !c_.HasInput(kSin)) {
      Fail(Code::kInvalidArgument, "expected cos_cache and sin_cache for do_rotary, found none");
    }
    const Dims cos = c_.Input(kCos).shape;
    if (cos.size() != 2 || !Shape::Equal(cos, c_.Input(kSin).shape) || 2 * cos[1] > n_.size) {
      Fail(Code::kInvalidArgument, "expected cos_cache and sin_cache [positions, ", n_.size / 2, " or less], found ",
           ToText(cos), " and ", ToText(c_.Input(kSin).shape));
    }
    half_ = cos[1];
    if (c_.HasInput(kPositions) && c_.Input(kPositions).count < (FirstPrompt() ? 1 : n_.batch * n_.queries)) {
      Fail(Code::kInvalidArgument, "expected position_ids [", n_.batch, ", ", n_.queries, "], found ",
           ToText(c_.Input(kPositions).shape));
    }
  }

  void SetArguments() {
    args_.batch = n_.batch, args_.heads = state_.heads, args_.kv_heads = state_.kv_heads;
    args_.queries = n_.queries, args_.keys = state_.sliding ? n_.rows : n_.keys,
    args_.size = args_.value_size = n_.size;
    args_.scale = state_.scale != 0 ? state_.scale : 1 / std::sqrt(static_cast<float>(n_.size));
    args_.cap = state_.softcap;
    args_.causal = state_.causal;
    args_.same_rows = state_.same_rows;
    if (state_.window >= 0) args_.left = state_.window - 1;
    args_.stage = state_.scores == 1 ? kernels::ScoreStage::kBiased : kernels::ScoreStage::kSoftmax;
  }

  void SetPlaces(std::int64_t* memory) {
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      memory[b] = CachedRows(b);
      memory[n_.batch + b] = CachedAndNew(b);
    }
    args_.positions = memory;
    args_.counts = memory + n_.batch;
  }

  void SetSinks(Operands& io, float* zeros) {
    args_.sinks = io.In<float>(kSinks);
    if (args_.sinks != nullptr && c_.Input(kSinks).count != state_.heads) {
      Fail(Code::kInvalidArgument, "expected head_sink [", state_.heads, "], found ", ToText(c_.Input(kSinks).shape));
    }
    if (args_.sinks != nullptr || !state_.smooth) return;
    std::fill_n(zeros, state_.heads, 0.0f);
    args_.sinks = zeros;
  }

  // New rows of keys and values.
  struct News {
    const float *k, *v;
    Heads heads;
  };
  // Where caches hold floats, `keys` and `values` are all of them; else rows that only this call needs.
  void FillCaches(Operands& io, const News& news, float* keys, float* values, const Heads& store) {
    if (args_.to_floats != nullptr) {
      const Heads rows = BlocksOfHeads(n_.batch, state_.kv_heads, n_.queries, n_.size);
      Place(news.k, news.heads, io.In<float>(kKNorm), true, keys, rows, false, io);
      Place(news.v, news.heads, nullptr, false, values, rows, false, io);
      TakePasts(HalvesOf(kPastK), static_cast<std::uint16_t*>(c_.Output(kPresentK).data), HalvesOf(kPastV),
                static_cast<std::uint16_t*>(c_.Output(kPresentV).data), store);
      StoreHalves(kPresentK, keys, store);
      return StoreHalves(kPresentV, values, store);
    }
    const bool integers = state_.cache_bits != 0;
    if (!integers) {
      TakePasts(io.In<float>(kPastK), keys, io.In<float>(kPastV), values, store);
    }
    Place(news.k, news.heads, io.In<float>(kKNorm), true, keys, store, true, io);
    Place(news.v, news.heads, nullptr, false, values, store, true, io);
    if (integers) {
      UseIntegers(kPastK, kPresentK, CacheOf(io, kKScale, state_.k_per_channel), keys, store);
      UseIntegers(kPastV, kPresentV, CacheOf(io, kVScale, state_.v_per_channel), values, store);
    }
  }

  // Leaves the rows of the past to the kernel, which copies them beside their use, and writes zeros behind the new
  // rows.
  template <typename T>
  void TakePasts(const T* past_k, T* keys, const T* past_v, T* values, const Heads& store) {
    const kernels::HeadStrides strides = BlocksOfHeads(n_.batch, state_.kv_heads, n_.past_rows, n_.size).strides;
    args_.pasts = args_.positions;
    if (past_k != keys) args_.past_k = {past_k, keys, strides};
    if (past_v != values) args_.past_v = {past_v, values, strides};
    std::int64_t shortest = n_.rows;
    for (std::int64_t b = 0; b < n_.batch; ++b) shortest = std::min(shortest, CachedRows(b) + n_.queries);
    if (shortest == n_.rows || (past_k == keys && past_v == values)) return;
    const std::int64_t heads = n_.batch * state_.kv_heads;
    c_.parallel().For(2 * heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* to = i < heads ? keys : values;
        if (to == (i < heads ? past_k : past_v)) continue;
        const std::int64_t b = i % heads / state_.kv_heads, first = CachedRows(b) + n_.queries;
        std::fill_n(to + store.Offset(b, i % state_.kv_heads, first), (n_.rows - first) * n_.size, T{});
      }
    });
  }

  const std::uint16_t* HalvesOf(std::size_t past) const {
    return c_.HasInput(past) ? static_cast<const std::uint16_t*>(c_.Input(past).data) : nullptr;
  }

  // The new rows in 16 bits, behind the past.
  void StoreHalves(std::size_t present, const float* news, const Heads& store) const {
    auto* to = static_cast<std::uint16_t*>(c_.Output(present).data);
    kernels::FromFloatsFn* round = kernels::FromFloats(c_.Output(present).dtype);
    const std::int64_t count = n_.queries * n_.size;
    for (std::int64_t i = 0; i < n_.batch * state_.kv_heads; ++i) {
      const std::int64_t b = i / state_.kv_heads, at = store.Offset(b, i % state_.kv_heads, CachedRows(b));
      round(news + i * count, static_cast<std::size_t>(count), to, at);
    }
  }

  QuantizedCache CacheOf(const Operands& io, std::size_t scale, bool per_channel) const {
    const std::int64_t want = per_channel ? state_.kv_heads * n_.size : 1;
    if (!c_.HasInput(scale) || c_.Input(scale).count != want) {
      Fail(Code::kInvalidArgument, "expected a k_scale and a v_scale of ", want, " elements, found ",
           c_.HasInput(scale) ? ToText(c_.Input(scale).shape) : "none");
    }
    return {state_.cache_bits, n_.size, io.In<float>(scale), per_channel};
  }

  // UseIntegers for caches that slide: `floats` are the staged rows.
  void SlideIntegers(std::size_t past, std::size_t present, const QuantizedCache& cache, float* floats,
                     const Heads& store) const {
    const std::int64_t bytes = cache.row_bytes(), head_bytes = n_.past_rows * bytes;
    const auto* from = c_.Input(past).As<const std::byte>();
    auto* to = c_.Output(present).As<std::byte>();
    c_.parallel().For(n_.batch * state_.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t b = i / state_.kv_heads, h = i % state_.kv_heads, rows = CachedRows(b);
        const std::int64_t kept = Resident(Length(b)), dropped = CachedAndNew(b) - kept;
        const std::byte* old = from + i * head_bytes;
        std::byte* head = to + i * head_bytes;
        float* wide = floats + store.Offset(b, h);
        for (std::int64_t s = 0; s < rows; ++s) cache.Load(h, old + s * bytes, wide + s * n_.size);
        for (std::int64_t s = rows; s < rows + n_.queries; ++s) cache.Round(h, wide + s * n_.size);
        const std::int64_t old_kept = std::max<std::int64_t>(0, rows - dropped);
        if (old_kept > 0) std::memmove(head, old + dropped * bytes, static_cast<std::size_t>(old_kept * bytes));
        for (std::int64_t s = old_kept; s < kept; ++s) {
          cache.Store(h, wide + (dropped + s) * n_.size, head + s * bytes);
        }
        std::fill_n(head + kept * bytes, head_bytes - kept * bytes, std::byte{0});
      }
    });
  }

  // The new rows of `floats` go to the present as integers; all rows come back as floats, the new ones rounded.
  void UseIntegers(std::size_t past, std::size_t present, const QuantizedCache& cache, float* floats,
                   const Heads& store) const {
    if (state_.sliding) return SlideIntegers(past, present, cache, floats, store);
    const std::int64_t bytes = cache.row_bytes();
    const auto* from = c_.HasInput(past) ? c_.Input(past).As<const std::byte>() : nullptr;
    auto* to = c_.Output(present).As<std::byte>();
    c_.parallel().For(n_.batch * state_.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t b = i / state_.kv_heads, h = i % state_.kv_heads, rows = Past(b);
        std::byte* head = to + i * n_.rows * bytes;
        float* wide = floats + store.Offset(b, h);
        if (from != to) {
          if (from != nullptr) std::copy_n(from + i * n_.past_rows * bytes, rows * bytes, head);
          std::fill_n(head + (rows + n_.queries) * bytes, (n_.rows - rows - n_.queries) * bytes, std::byte{0});
        }
        for (std::int64_t s = rows; s < rows + n_.queries; ++s) cache.Store(h, wide + s * n_.size, head + s * bytes);
        for (std::int64_t s = 0; s < rows + n_.queries; ++s) cache.Load(h, head + s * bytes, wide + s * n_.size);
      }
    });
  }

  std::int64_t Position(std::int64_t b, std::int64_t s) const {
    if (!c_.HasInput(kPositions)) return Past(b) + s;
    const auto* ids = c_.Input(kPositions).As<const std::int64_t>();
    const std::int64_t first = ids[FirstPrompt() ? 0 : b * n_.queries + s];
    return FirstPrompt() && first >= 0 && first < c_.Input(kCos).dim(0) ? first + s : first;
  }

  // Copies rows, normalised and turned where that is asked for; behind the past if `append`.
  // NOLINTNEXTLINE(readability-function-size): two views and what happens in between
  void Place(const float* from, const Heads& source, const float* norm, bool turn, float* to, const Heads& target,
             bool append, const Operands& io) const {
    const float *cos = io.In<float>(kCos), *sin = io.In<float>(kSin);
    const bool rotate = turn && state_.rotary;
    const std::int64_t per_row = source.heads * n_.size;
    const std::int64_t cache_rows = rotate ? c_.Input(kCos).dim(0) : 0;
    const auto place = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t b = i / n_.queries, s = i % n_.queries;
        const std::int64_t position = rotate ? Position(b, s) : 0;
        if (rotate && (position < 0 || position >= cache_rows)) {
          Fail(Code::kInvalidArgument, "expected positions in [0, ", cache_rows, "), found ", position);
        }
        for (std::int64_t h = 0; h < source.heads; ++h) {
          const float* x = from + source.Offset(b, h, s);
          float* y = to + target.Offset(b, h, s + (append ? CachedRows(b) : 0));
          if (norm != nullptr) {
            Normalise(x, norm, y);
            x = y;
          }
          if (rotate) {
            rotary_(x, cos + position * half_, sin + position * half_, half_, n_.size, state_.interleaved, y);
          } else if (x != y) {
            std::copy_n(x, n_.size, y);
          }
        }
      }
    };
    c_.parallel().For(n_.batch * n_.queries, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, per_row)),
                      place);
  }

  void Normalise(const float* x, const float* weight, float* y) const {
    const double squares = kernels::ReduceF32().row(kernels::ReduceKind::kSumSquare, x, n_.size);
    const double factor =
        1 / std::sqrt(squares / static_cast<double>(n_.size) + static_cast<double>(state_.norm_epsilon));
    kernels::AffineF32().row(x, n_.size, 0, static_cast<float>(factor), weight, nullptr, y);
  }

  KernelContext& c_;
  const GroupQueryState& state_;
  GroupQuerySizes n_;
  kernels::AttentionF32Args args_;
  kernels::RotaryFn* rotary_ = kernels::BestRotary();
  std::int64_t half_ = 0;
};

void RunGroupQuery(KernelContext& c) { GroupQuery(c).Run(); }

Prepared PrepareGroupQuery(PrepareContext& c) {
  GroupQueryState state = ReadGroupQueryState(c);
  ReadGroupQueryCache(c, &state);
  state.same_rows = WantsSameRows();
  if (state.sliding && c.HasOutput(kScores))
    c.Unsupported("attribute 'sliding_window_cache' with an output of scores, which ONNX Runtime refuses, too");
  if (c.HasInput(kQNorm) != c.HasInput(kKNorm)) {
    c.Fail(Code::kInvalidArgument, "expected q_norm_weight and k_norm_weight together, found only one");
  }
  if (c.HasOutput(kScores) && state.scores == 0)
    c.Fail(Code::kInvalidArgument, "attribute 'qk_output': expected 1 or 2 for the output of scores, found 0");
  return WithState(RunGroupQuery, state);
}

constexpr OpDef kGroupQueryAttentionOps[] = {
    {.domain = "com.microsoft",
     .name = "GroupQueryAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferGroupQuery,
     .prepare = PrepareGroupQuery,
     .cost = CountAttention},
};

}  // namespace

std::span<const OpDef> GroupQueryAttentionOps() { return kGroupQueryAttentionOps; }

}  // namespace sardonyx::ops
