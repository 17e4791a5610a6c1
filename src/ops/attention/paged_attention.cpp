// ops/attention/paged_attention.cpp - com.microsoft PagedAttention: attention of sequences whose tokens lie one behind
// the other, over caches of keys and values in blocks that a table assigns to sequences.
//
// The new rows go to the caches first. Then sequences with equally many queries are taken together, as far as their
// keys and values fit into the last cache level as floats; their blocks are gathered, from the first that a window
// reaches, and the kernel of all attention runs over them. Scales of quantized caches are not part of the gathered
// numbers: those of keys are multiplied into the queries, those of values into the result.
#include "ops/attention/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/rotary.h"
#include "kernels/norm/affine_f32.h"
#include "kernels/reduce/reduce_f32.h"
#include "ops/attention/heads.h"
#include "ops/attention/paged_cache.h"
#include "ops/attention/paged_state.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/same_rows.h"

namespace sardonyx::ops {
namespace {

using namespace paged;

constexpr std::int64_t kGatheredFloats = std::int64_t{1} << 22;  // as many as are gathered at a time, if heads permit

// Sequences [begin, end) with `queries` new tokens each.
struct Group {
  std::int64_t begin, end, queries;
  std::int64_t rows;   // of the longest, from the first that is visible
  std::int64_t heads;  // of the caches that are gathered at a time
  bool unmapped;       // blocks between others are missing
};

class Paged {
 public:
  explicit Paged(KernelContext& c) : c_(c), s_(c.state<PagedState>()), n_(c, s_) {
    c.Output(kKCacheOut, c.Input(kKCache).shape);
    if (!s_.latent) c.Output(kVCacheOut, c.Input(kVCache).shape);
    CheckLengths();
    keys_ = {.element = s_.k_element, .per_channel = s_.k_per_channel, .heads = s_.kv_heads, .size = n_.size};
    values_ = {.element = s_.v_element, .per_channel = s_.v_per_channel, .heads = s_.kv_heads, .size = n_.size};
    wide_ = keys_.stored() + (s_.latent ? 0 : values_.stored());
    PlanGroups();
  }

  void Run() {
    Operands io(c_, DType::kFloat, kUnconverted, 1u << kKCacheOut | 1u << kVCacheOut);
    const auto floats = [&io](std::int64_t rows, std::int64_t row) {
      return io.Add<float>(CheckedMul(static_cast<std::size_t>(rows), static_cast<std::size_t>(row), "attention"));
    };
    const bool turns = s_.rotary || c_.HasInput(kQNorm), moves_q = turns || c_.HasInput(kKScale);
    const std::size_t q_at = floats(moves_q ? n_.tokens : 0, s_.heads * n_.size);
    const std::size_t k_at = floats(turns ? n_.tokens : 0, s_.kv_heads * n_.size);
    const std::size_t ints_at = io.Add<std::int64_t>(static_cast<std::size_t>(2 * n_.tokens + 2 * n_.batch));
    std::int64_t gathered = 0, hidden = 0;
    std::size_t scratch = 0;
    for (const Group& g : groups_) {
      gathered = std::max(gathered, (g.end - g.begin) * g.rows * g.heads * wide_);
      if (g.unmapped) hidden = std::max(hidden, (g.end - g.begin) * g.rows);
      scratch = std::max(scratch, kernels::AttentionF32ScratchBytes(ArgumentsOf(g, g.heads), Threads()));
    }
    gathered_at_ = floats(gathered, 1);
    hidden_at_ = floats(hidden, 1);
    scratch_at_ = io.Add(scratch);
    const Operands::Computing computing(io);
    io_ = &io;
    slots_ = io.At<std::int64_t>(ints_at), positions_ = slots_ + n_.tokens, places_ = positions_ + n_.tokens;
    keys_.scales = io.In<float>(kKScale);
    values_.scales = io.In<float>(kVScale);
    keys_.data = CopyCache(kKCache, kKCacheOut);
    if (!s_.latent) values_.data = CopyCache(kVCache, kVCacheOut);
    FindPlaces();
    SetRows(moves_q ? io.At<float>(q_at) : nullptr, turns ? io.At<float>(k_at) : nullptr);
    StoreRows();
    for (const Group& g : groups_) Attend(g);
    if (values_.scales != nullptr || (s_.latent && keys_.scales != nullptr)) ScaleResult();
  }

 private:
  int Threads() const { return c_.parallel().ThreadCount(); }
  std::int64_t Int(std::size_t input, std::int64_t i) const { return c_.Input(input).As<const std::int32_t>()[i]; }
  std::int64_t Past(std::int64_t b) const { return Int(kPast, b); }
  std::int64_t FirstToken(std::int64_t b) const { return Int(kCumulative, b); }
  std::int64_t Queries(std::int64_t b) const { return FirstToken(b + 1) - FirstToken(b); }
  // The first position that a query sees.
  std::int64_t FirstRow(std::int64_t b) const {
    return s_.window == 0 ? 0 : std::max<std::int64_t>(0, Past(b) - (s_.window - 1));
  }
  std::int64_t Rows(std::int64_t b) const { return Past(b) + Queries(b) - FirstRow(b); }
  std::int64_t Block(std::int64_t b, std::int64_t position) const {
    return Int(kTable, b * n_.table_columns + position / n_.block_size);
  }

  void CheckLengths() const {
    for (std::int64_t b = 0; b <= n_.batch; ++b) {
      const std::int64_t least = b == 0 ? 0 : FirstToken(b - 1), found = FirstToken(b);
      const std::int64_t most = b == 0 ? 0 : n_.tokens;
      if (found < (b == n_.batch ? n_.tokens : least) || found > most) {
        Fail(Code::kInvalidArgument, "input 5 ('cumulative_sequence_length'): expected rising numbers from 0 to the ",
             n_.tokens, " tokens of the query, found ", found, " at ", b);
      }
    }
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      const std::int64_t past = Past(b), blocks = (past + Queries(b) + n_.block_size - 1) / n_.block_size;
      if (past < 0 || blocks > n_.table_columns) {
        Fail(Code::kInvalidArgument, "input 6 ('past_seqlens'): expected 0 or more, and with ", Queries(b),
             " new tokens no more than the ", n_.table_columns, " blocks of ", n_.block_size,
             " in the block_table, found ", past, " at ", b);
      }
    }
    for (std::int64_t t = 0; c_.HasInput(kSlots) && t < n_.tokens; ++t) {
      if (Int(kSlots, t) < -1 || Int(kSlots, t) >= n_.blocks * n_.block_size) {
        Fail(Code::kInvalidArgument, "input 10 ('slot_mapping'): expected -1 or numbers below ",
             n_.blocks * n_.block_size, ", found ", Int(kSlots, t), " at ", t);
      }
    }
    for (std::int64_t b = 0; b < n_.batch && s_.rotary; ++b) {
      if (Queries(b) > 0 && Past(b) + Queries(b) > c_.Input(kCos).dim(0)) {
        Fail(Code::kInvalidArgument, "input 8 ('cos_cache'): expected at least ", Past(b) + Queries(b),
             " positions, found ", ToText(c_.Input(kCos).shape));
      }
    }
  }

  // Whether blocks that queries see are missing; fails for those that do not exist.
  bool HasUnmapped(std::int64_t b) const {
    bool unmapped = false;
    for (std::int64_t i = FirstRow(b) / n_.block_size; i * n_.block_size < Past(b) + Queries(b); ++i) {
      const std::int64_t block = Int(kTable, b * n_.table_columns + i);
      if (block < -1 || block >= n_.blocks) {
        Fail(Code::kInvalidArgument, "input 7 ('block_table'): expected blocks in [0, ", n_.blocks,
             "), or -1 for none, found ", block, " at [", b, ", ", i, "]");
      }
      unmapped = unmapped || block < 0;
    }
    return unmapped;
  }

  void PlanGroups() {
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      if (Queries(b) == 0) continue;
      const bool unmapped = HasUnmapped(b);
      Group* last = groups_.empty() ? nullptr : &groups_.back();
      if (last != nullptr && last->end == b && last->queries == Queries(b)) {
        const std::int64_t rows = std::max(last->rows, Rows(b));
        if ((b + 1 - last->begin) * rows <= kGatheredFloats / (s_.kv_heads * wide_)) {
          last->end = b + 1, last->rows = rows, last->unmapped = last->unmapped || unmapped;
          continue;
        }
      }
      const auto head = static_cast<std::int64_t>(
          CheckedMul(static_cast<std::size_t>(Rows(b)), static_cast<std::size_t>(wide_), "attention"));
      const std::int64_t heads = kGatheredFloats / head;
      groups_.push_back({b, b + 1, Queries(b), Rows(b), std::clamp<std::int64_t>(heads, 1, s_.kv_heads), unmapped});
    }
  }

  // The output's bytes, with those of the input. Callers who bind both to the same memory spare the copy.
  std::byte* CopyCache(std::size_t input, std::size_t output) const {
    const auto* from = c_.Input(input).As<const std::byte>();
    auto* to = c_.Output(output).As<std::byte>();
    if (from == to) return to;
    const auto bytes = static_cast<std::int64_t>(c_.Input(input).byte_size());
    c_.parallel().For(bytes, 1 << 18, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
    return to;
  }

  void FindPlaces() const {
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      for (std::int64_t t = FirstToken(b); t < FirstToken(b + 1); ++t) {
        const std::int64_t position = Past(b) + t - FirstToken(b), block = Block(b, position);
        positions_[t] = position;
        slots_[t] = block < 0 ? -1 : block * n_.block_size + position % n_.block_size;
        if (c_.HasInput(kSlots)) slots_[t] = Int(kSlots, t);
      }
    }
  }

  // Queries and new keys: where they lie, or normalised, turned and times the scales of the keys where that is wanted.
  void SetRows(float* q_to, float* k_to) {
    const std::int64_t kv = s_.kv_heads * n_.size;
    q_ = io_->In<float>(kQ), k_ = io_->In<float>(kK), v_ = io_->In<float>(kV);
    q_row_ = c_.Input(kQ).dim(1), kv_row_ = n_.packed ? q_row_ : kv;
    if (n_.packed) k_ = Behind(q_, s_.heads * n_.size), v_ = Behind(k_, kv);
    if (q_to != nullptr) {
      Place(q_, q_row_, s_.heads, io_->In<float>(kQNorm), true, q_to);
      q_ = q_to, q_row_ = s_.heads * n_.size;
    }
    k_row_ = kv_row_;
    if (k_to != nullptr) {
      Place(k_, kv_row_, s_.kv_heads, io_->In<float>(kKNorm), false, k_to);
      k_ = k_to, k_row_ = kv;
    }
  }

  void Place(const float* from, std::int64_t row, std::int64_t heads, const float* norm, bool query, float* to) const {
    const std::int64_t group = s_.heads / s_.kv_heads, grain = std::max<std::int64_t>(1, 8192 / (heads * n_.size));
    const bool scaled = query && keys_.scales != nullptr;
    c_.parallel().For(n_.tokens, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          const float* x = from + t * row + h * n_.size;
          float* y = to + (t * heads + h) * n_.size;
          if (norm != nullptr) {
            Normalise(x, norm, y);
          } else {
            std::copy_n(x, n_.size, y);
          }
          if (s_.rotary) Turn(positions_[t], y);
          if (scaled) keys_.Scale(h / group, n_.size, y, y);
        }
      }
    });
  }

  void Turn(std::int64_t position, float* y) const {
    const float *cos = io_->In<float>(kCos) + position * n_.half, *sin = io_->In<float>(kSin) + position * n_.half;
    float* turned = y + s_.rotary_offset;
    rotary_(turned, cos, sin, n_.half, 2 * n_.half, s_.interleaved, turned);
  }

  void Normalise(const float* x, const float* weight, float* y) const {
    const double squares = kernels::ReduceF32().row(kernels::ReduceKind::kSumSquare, x, n_.size);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(n_.size) + static_cast<double>(s_.norm_epsilon));
    kernels::AffineF32().row(x, n_.size, 0, static_cast<float>(factor), weight, nullptr, y);
  }

  // Split by heads, not tokens: two tokens may name the same slot, which then has the row of the later one.
  void StoreRows() const {
    c_.parallel().For(s_.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t h = begin; h < end; ++h) {
        for (std::int64_t t = 0; t < n_.tokens; ++t) {
          if (slots_[t] < 0) continue;
          keys_.Store(slots_[t], h, k_ + t * k_row_ + h * n_.size);
          if (!s_.latent) values_.Store(slots_[t], h, v_ + t * kv_row_ + h * n_.size);
        }
      }
    });
  }

  kernels::AttentionF32Args ArgumentsOf(const Group& g, std::int64_t heads) const {
    kernels::AttentionF32Args args;
    args.batch = g.end - g.begin;
    args.heads = heads * (s_.heads / s_.kv_heads), args.kv_heads = heads;
    args.queries = g.queries, args.keys = g.rows;
    args.size = n_.size, args.value_size = n_.value_size;
    args.scale = s_.scale != 0 ? s_.scale : 1 / std::sqrt(static_cast<float>(n_.size));
    args.cap = s_.softcap;
    args.causal = s_.causal;
    args.same_rows = s_.same_rows;
    if (s_.window > 0) args.left = s_.window - 1;
    return args;
  }

  void Attend(const Group& g) const {
    for (std::int64_t i = 0; i < g.end - g.begin; ++i) {
      const std::int64_t b = g.begin + i;
      places_[i] = Past(b) - FirstRow(b);
      places_[n_.batch + i] = Rows(b);
    }
    for (std::int64_t h = 0; h < s_.kv_heads; h += g.heads) {
      c_.CheckCancelled();
      AttendHeads(g, h, std::min(s_.kv_heads, h + g.heads));
    }
  }

  void AttendHeads(const Group& g, std::int64_t first, std::int64_t end) const {
    const std::int64_t group = s_.heads / s_.kv_heads, heads = end - first, batch = g.end - g.begin;
    const std::int64_t token = FirstToken(g.begin), wide = keys_.stored(), v_wide = values_.stored();
    float* k = io_->At<float>(gathered_at_);
    float* v = s_.latent ? k : k + batch * g.rows * heads * wide;
    Gather(g, first, end, k, v);
    kernels::AttentionF32Args args = ArgumentsOf(g, heads);
    args.q = q_ + token * q_row_ + first * group * n_.size;
    args.q_strides = RowsOfHeads(batch, g.queries, args.heads, n_.size, q_row_).strides;
    args.k = k;
    args.k_strides = {.batch = g.rows * heads * wide, .head = wide, .row = heads * wide};
    args.v = v;
    args.v_strides = args.k_strides;
    if (!s_.latent) args.v_strides = {.batch = g.rows * heads * v_wide, .head = v_wide, .row = heads * v_wide};
    const std::int64_t y_row = s_.heads * n_.value_size;
    args.y = io_->Out<float>(kY) + token * y_row + first * group * n_.value_size;
    args.y_strides = RowsOfHeads(batch, g.queries, args.heads, n_.value_size, y_row).strides;
    args.positions = places_, args.counts = places_ + n_.batch;
    args.sinks = Behind(io_->In<float>(kSinks), first * group);
    if (g.unmapped) args.bias[0] = {.data = io_->At<float>(hidden_at_), .batch = g.rows};
    kernels::AttentionF32(args, c_.parallel(), io_->At(scratch_at_));
  }

  // Rows of the heads [first, end) as floats, [sequence, row, head, size]; rows that are not there are zeros.
  void Gather(const Group& g, std::int64_t first, std::int64_t end, float* k, float* v) const {
    const std::int64_t heads = end - first, k_row = heads * keys_.stored(), v_row = heads * values_.stored();
    float* hidden = g.unmapped ? io_->At<float>(hidden_at_) : nullptr;
    const std::int64_t grain = std::max<std::int64_t>(n_.block_size, 16384 / (heads * wide_));
    c_.parallel().For((g.end - g.begin) * g.rows, grain, [&](std::int64_t i, std::int64_t last) {
      while (i < last) {
        const std::int64_t b = g.begin + i / g.rows, row = i % g.rows, position = FirstRow(b) + row;
        const bool there = row < Rows(b);
        const std::int64_t whole =
            there ? std::min(Rows(b) - row, n_.block_size - position % n_.block_size) : g.rows - row;
        const std::int64_t count = std::min(whole, last - i), block = there ? Block(b, position) : -1;
        if (block >= 0) {
          const std::int64_t slot = block * n_.block_size + position % n_.block_size;
          keys_.Load(slot, count, first, end, k + i * k_row);
          if (!s_.latent) values_.Load(slot, count, first, end, v + i * v_row);
        } else {
          std::fill_n(k + i * k_row, count * k_row, 0.0f);
          if (!s_.latent) std::fill_n(v + i * v_row, count * v_row, 0.0f);
        }
        if (hidden != nullptr) {
          std::fill_n(hidden + i, count, block >= 0 ? 0.0f : -std::numeric_limits<float>::infinity());
        }
        i += count;
      }
    });
  }

  void ScaleResult() const {
    const PagedCache& cache = s_.latent ? keys_ : values_;
    const std::int64_t group = s_.heads / s_.kv_heads, row = s_.heads * n_.value_size;
    c_.parallel().For(n_.tokens, std::max<std::int64_t>(1, 16384 / row), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * s_.heads; i < end * s_.heads; ++i) {
        float* y = io_->Out<float>(kY) + i * n_.value_size;
        cache.Scale(i % s_.heads / group, n_.value_size, y, y);
      }
    });
  }

  KernelContext& c_;
  const PagedState& s_;
  PagedSizes n_;
  PagedCache keys_, values_;
  std::int64_t wide_ = 0;  // floats of a row and a head, key and value
  std::vector<Group> groups_;
  std::size_t gathered_at_ = 0, hidden_at_ = 0, scratch_at_ = 0;
  const Operands* io_ = nullptr;
  std::int64_t *slots_ = nullptr, *positions_ = nullptr, *places_ = nullptr;  // of tokens, of tokens, of a group
  const float *q_ = nullptr, *k_ = nullptr, *v_ = nullptr;
  std::int64_t q_row_ = 0, k_row_ = 0, kv_row_ = 0;
  kernels::RotaryFn* rotary_ = kernels::BestRotary();
};

void RunPaged(KernelContext& c) { Paged(c).Run(); }

}  // namespace

void InferPagedAttention(InferContext& c) {
  const PagedState s = ReadPagedState(c);
  constexpr std::size_t kRanks[] = {2, 2, 2, 4, 4, 1, 1, 2, 2, 2, 1, 1, 1, 1};
  for (std::size_t i = 0; i < std::size(kRanks); ++i) {
    if (c.HasRank(i) && c.Rank(i) != kRanks[i]) {
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected rank ", kRanks[i], ", found ",
             c.InputType(i).ToText());
    }
  }
  for (const std::size_t i : {kKCacheOut, kVCacheOut})
    if (c.HasOutput(i)) c.SetOutputType(i, c.InputType(i == kKCacheOut ? kKCache : kVCache));
  if (!c.HasRank(kQ)) return c.SetOutput(kY, c.InputDType(kQ));
  const std::vector<Dim>& q = c.InputDims(kQ);
  const bool packed = !c.HasInput(kK);
  const Dim size =
      s.value_size != 0 ? Dim(s.value_size) : FloorDiv(q[1], Dim(packed ? s.heads + 2 * s.kv_heads : s.heads));
  c.SetOutput(kY, c.InputDType(kQ), {q[0], Dim(s.heads) * size});
}

Prepared PreparePagedAttention(PrepareContext& c) {
  PagedState state = ReadPagedState(c);
  ReadPagedCaches(c, &state);
  state.same_rows = WantsSameRows();
  return WithState(RunPaged, state);
}

}  // namespace sardonyx::ops
