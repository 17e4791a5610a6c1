// kernels/attention/attention.cpp - the loops around the row kernels and the f32 tile: how the work is split by heads,
// queries and keys.
//
// A unit of work is (batch, key head) x (chunk of rows); the rows are the queries of all query heads that share the key
// head. With many rows, each block of keys is packed once per unit and multiplied by the rows in tiles. With few rows
// (kFewQueries), chunks of keys are units of their own, and a second step joins their results.
#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_rows.h"
#include "kernels/attention/past_copy.h"
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kChunkRows = 448;  // rows of one unit: their results stay in the second cache level
// Multiplications below which threads cost more than they give. With few rows keys and values come from memory.
constexpr int64_t kSerialWork = 1 << 17, kSerialWorkOfFew = 1 << 15;
constexpr int64_t kMaxTileRows = 16;
constexpr float kMasked = -1e38f;  // biases below this are masks: exporters write -infinity or the lowest float

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

// Whether all of kMaskStep biases are masks; without branches, so that compilers make vectors of it.
constexpr int64_t kMaskStep = 16;
bool AreMasked(const float* x) {
  std::int32_t other = 0;
  for (int64_t i = 0; i < kMaskStep; ++i) other |= static_cast<std::int32_t>(!(x[i] < kMasked));
  return other == 0;
}

// Whether `count` weights of each row are 0.
bool AreZero(const float* x, int64_t count, int64_t stride, int64_t rows) {
  std::int32_t other = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; ++i) other |= static_cast<std::int32_t>(x[r * stride + i] != 0);
  return other == 0;
}

struct Range {
  int64_t first = 0, end = 0;
};

// A row of a unit: query `query` of head `head`.
struct RowAt {
  int64_t head, query;
};

struct RowState {
  float top, sum;
};

class Attention {
 public:
  Attention(const AttentionF32Args& args, int threads)
      : a_(args),
        tiles_(args.tiles != nullptr ? *args.tiles : BestTilesF32()),
        rows_(args.rows != nullptr ? *args.rows : AttentionRows()),
        group_(args.kv_heads > 0 ? args.heads / args.kv_heads : 0),
        unit_rows_(group_ * args.queries),
        few_(!args.same_rows && unit_rows_ <= kFewQueries),
        all_see_all_(args.counts == nullptr && args.firsts == nullptr && !args.causal && args.left < 0 &&
                     args.right < 0 && args.bias[0].data == nullptr && args.bias[1].data == nullptr),
        past_k_(args, args.past_k, args.k_strides, args.size),
        past_v_(args, args.past_v, args.v_strides, args.value_size) {
    block_ = std::min(kKeyBlock, std::max<int64_t>(1, a_.keys));
    score_stride_ = RoundUp(block_, 2 * tiles_.columns) + 16;  // a whole number of lines, no power of two
    value_stride_ = RoundUp(std::max<int64_t>(1, a_.value_size), 16);
    q_stride_ = RoundUp(std::max<int64_t>(1, a_.size), 16) + 16;
    PlanUnits(threads);
  }

  std::size_t ScratchBytes() const {
    return static_cast<std::size_t>(slots_ * slot_floats_ + part_floats_) * sizeof(float);
  }

  void Run(Parallel& parallel, float* scratch) {
    const bool any = units_ > 0 && a_.value_size > 0;
    if (!few_ || !any) past_k_.CopyAll(parallel), past_v_.CopyAll(parallel);
    if (!any) return;
    parts_ = scratch + slots_ * slot_floats_;
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        for (int64_t u = units_ * slot / slots_; u < units_ * (slot + 1) / slots_; ++u) {
          few_ ? RunFew(u, scratch + slot * slot_floats_) : RunMany(u, scratch + slot * slot_floats_);
        }
      }
      if (few_) past_k_.Finish(), past_v_.Finish();
    };
    slots_ == 1 ? run(0, 1) : parallel.For(slots_, 1, run);
    if (few_ && blocks_ > 1) Join();
  }

 private:
  int64_t Groups() const { return a_.batch * a_.kv_heads; }

  void PlanUnits(int threads) {
    blocks_ = std::max<int64_t>(1, CeilDiv(a_.keys, kKeyBlock));
    const int64_t work = Groups() * unit_rows_ * a_.keys * (a_.size + a_.value_size);
    const int64_t wanted = threads <= 1 || work < (few_ ? kSerialWorkOfFew : kSerialWork) ? 1 : int64_t{threads};
    if (few_) {
      units_ = unit_rows_ == 0 ? 0 : Groups() * blocks_;
      slot_floats_ = unit_rows_ * (q_stride_ + score_stride_ + value_stride_) + RoomFloats(kFewKeys);
      if (blocks_ > 1) part_floats_ = units_ * unit_rows_ * PartFloats();
    } else {
      chunks_ = CeilDiv(unit_rows_, kChunkRows);
      // More chunks if threads would be idle; each packs the keys again, so that they must not become small.
      const int64_t most = std::max<int64_t>(1, unit_rows_ / (4 * tiles_.rows));
      if (Groups() * chunks_ < 4 * wanted && wanted > 1) {
        chunks_ = std::clamp(CeilDiv(4 * wanted, std::max<int64_t>(1, Groups())), chunks_, std::max(chunks_, most));
      }
      units_ = Groups() * chunks_;
      const int64_t packed = RoundUp(block_, 2 * tiles_.columns);
      const int64_t rows = CeilDiv(unit_rows_, chunks_);
      packed_k_ = packed * a_.size;
      packed_v_ = block_ * RoundUp(a_.value_size, tiles_.columns);
      slot_floats_ = RoundUp(packed_k_, 16) + RoundUp(packed_v_, 16) + kMaxTileRows * (q_stride_ + score_stride_) +
                     rows * (value_stride_ + 2) + 32 + RoundUp(RoomFloats(block_), 16);
    }
    slot_floats_ = RoundUp(slot_floats_, 16);
    slots_ = std::max<int64_t>(1, std::min(units_, wanted == 1 ? 1 : 4 * wanted));
  }

  // Blocks are equal, or begin where they do for any number of keys.
  int64_t BlockStart(int64_t block) const {
    return a_.same_rows ? std::min(block * kKeyBlock, a_.keys) : a_.keys * block / blocks_;
  }

  int64_t PartFloats() const { return value_stride_ + 16; }

  RowAt At(int64_t group, int64_t row) const {
    return {group % a_.kv_heads * group_ + row / a_.queries, row % a_.queries};
  }

  // The keys that a query sees.
  Range Visible(int64_t b, int64_t query) const {
    Range r{a_.firsts != nullptr ? a_.firsts[b] : 0, a_.counts != nullptr ? a_.counts[b] : a_.keys};
    const int64_t p = query + a_.position + (a_.positions != nullptr ? a_.positions[b] : 0);
    if (a_.causal && !(a_.last_sees_all && query == a_.queries - 1)) r.end = std::min(r.end, p + 1);
    if (a_.right >= 0) r.end = std::min(r.end, p + a_.right + 1);
    if (a_.left >= 0) r.first = std::max(r.first, p - a_.left);
    r.first = std::clamp<int64_t>(r.first, 0, a_.keys);
    r.end = std::clamp<int64_t>(r.end, r.first, a_.keys);
    return r;
  }

  // The keys of [k0, k0 + count) that count for a row, from k0 on: those that it sees but for masked ones at both ends.
  // The weight of a masked key is exactly 0 if the row has another key, beside which its exponential vanishes. A row
  // that seems to have none keeps all: if all its biases are the lowest float, its weights are equal.
  Range Counting(int64_t b, RowAt at, int64_t k0, int64_t count) const {
    const Range seen = Visible(b, at.query);
    const Range all{std::clamp<int64_t>(seen.first - k0, 0, count), std::clamp<int64_t>(seen.end - k0, 0, count)};
    if (all.first >= all.end || a_.scores != nullptr) return all;
    const float* rows[2] = {};
    for (int i = 0; i < 2; ++i) {
      const ScoreBias& bias = a_.bias[i];
      if (bias.data != nullptr) rows[i] = bias.data + b * bias.batch + at.head * bias.head + at.query * bias.query;
    }
    const auto masked = [&](int64_t key) {
      return (rows[0] != nullptr && rows[0][key] < kMasked) || (rows[1] != nullptr && rows[1][key] < kMasked);
    };
    const auto all_masked = [&](int64_t key) {
      return (rows[0] != nullptr && AreMasked(rows[0] + key)) || (rows[1] != nullptr && AreMasked(rows[1] + key));
    };
    Range left = all;
    while (left.first + kMaskStep <= left.end && all_masked(k0 + left.first)) left.first += kMaskStep;
    while (left.first < left.end && masked(k0 + left.first)) ++left.first;
    while (left.first + kMaskStep <= left.end && all_masked(k0 + left.end - kMaskStep)) left.end -= kMaskStep;
    while (left.first < left.end && masked(k0 + left.end - 1)) --left.end;
    return left.first == left.end && masked(seen.first) && masked(seen.end - 1) ? all : left;
  }

  RowState FirstState(int64_t head) const {
    return a_.sinks != nullptr ? RowState{a_.sinks[head], 1} : RowState{-kInfinity, 0};
  }

  const float* QueryAt(int64_t b, RowAt at) const {
    const HeadStrides& s = a_.q_strides;
    return a_.q + b * s.batch + at.head * s.head + at.query * s.row;
  }
  void CopyQuery(int64_t b, RowAt at, float* to) const { rows_.scale(QueryAt(b, at), a_.size, a_.scale, to); }

  float* ScoresOf(int64_t b, RowAt at) const {
    return a_.scores == nullptr ? nullptr : a_.scores + ((b * a_.heads + at.head) * a_.queries + at.query) * a_.keys;
  }

  // Scores of one row against keys [k0, k0 + count) of the block become the weights of its values. Returns what the
  // sums of earlier blocks are to be multiplied with.
  float Weigh(int64_t b, RowAt at, int64_t k0, int64_t count, RowState* state, float* x) const {
    const Range seen = Visible(b, at.query);
    ScoreRow row;
    row.x = x;
    row.count = count;
    row.first = std::clamp<int64_t>(seen.first - k0, 0, count);
    row.end = std::clamp<int64_t>(seen.end - k0, row.first, count);
    for (int i = 0; i < 2; ++i) {
      const ScoreBias& bias = a_.bias[i];
      if (bias.data != nullptr) {
        row.bias[i] = bias.data + b * bias.batch + at.head * bias.head + at.query * bias.query + k0;
      }
    }
    row.top = state->top;
    row.sum = state->sum;
    float* out = ScoresOf(b, at);
    if (out != nullptr && a_.stage == ScoreStage::kRaw) std::copy_n(x, count, out + k0);
    if (a_.cap > 0) rows_.cap(x, count, a_.cap);
    if (out != nullptr && a_.stage == ScoreStage::kCapped) std::copy_n(x, count, out + k0);
    rows_.bias(&row);
    if (out != nullptr && a_.stage >= ScoreStage::kBiased) std::copy_n(x, count, out + k0);
    rows_.exponentials(&row);
    *state = {row.top, row.sum};
    return row.keep;
  }

  void Finish(int64_t b, RowAt at, const RowState& state, const float* sums) const {
    const HeadStrides& s = a_.y_strides;
    const float factor = state.sum == 0 ? 0 : 1 / state.sum;
    rows_.scale(sums, a_.value_size, factor, a_.y + b * s.batch + at.head * s.head + at.query * s.row);
    float* out = ScoresOf(b, at);
    if (out == nullptr || a_.stage != ScoreStage::kSoftmax) return;
    for (int64_t j = 0; j < a_.keys; ++j) {
      out[j] = state.sum == 0 ? 0 : std::exp(out[j] - (state.top == -kInfinity ? 0 : state.top)) * factor;
    }
  }

  // `count` rows of keys or values as floats: where they lie, or in `room`.
  struct Rows {
    const float* data;
    int64_t stride;
  };
  Rows RowsOf(const float* data, const void* stored, const HeadStrides& s, int64_t width, int64_t b, int64_t kv,
              int64_t j, int64_t count, float* room) const {
    const int64_t at = b * s.batch + kv * s.head + j * s.row;
    if (a_.to_floats == nullptr) return {data + at, s.row};
    for (int64_t i = 0; i < count; ++i)
      a_.to_floats(stored, at + i * s.row, static_cast<std::size_t>(width), room + i * width);
    return {room, width};
  }
  // The same of rows that lie in the past still, not where a_.k or a_.v is.
  Rows PastRowsOf(const PastCopy& past, int64_t width, int64_t b, int64_t kv, int64_t j, int64_t count,
                  float* room) const {
    const void* from = past.from();
    return RowsOf(static_cast<const float*>(from), from, past.strides(), width, b, kv, j, count, room);
  }
  Rows Keys(int64_t b, int64_t kv, int64_t j, int64_t count, float* room) const {
    return RowsOf(a_.k, a_.stored_k, a_.k_strides, a_.size, b, kv, j, count, room);
  }
  Rows ValuesAt(int64_t b, int64_t kv, int64_t j, int64_t count, float* room) const {
    return RowsOf(a_.v, a_.stored_v, a_.v_strides, a_.value_size, b, kv, j, count, room);
  }
  int64_t RoomFloats(int64_t rows) const {
    return a_.to_floats == nullptr ? 0 : rows * std::max(a_.size, a_.value_size);
  }

  // The keys of the block that count for any of the rows [begin, end) of a group; all if scores are stored.
  Range SeenByRows(int64_t group, int64_t begin, int64_t end, int64_t k0, int64_t count) const {
    if (a_.scores != nullptr || all_see_all_) return {0, count};
    // Rows of heads with the same biases see the same.
    if (a_.bias[0].head == 0 && a_.bias[1].head == 0) end = std::min(end, begin + a_.queries);
    Range seen{count, 0};
    for (int64_t r = begin; r < end; ++r) {
      const Range row = Counting(group / a_.kv_heads, At(group, r), k0, count);
      if (row.first >= row.end) continue;
      seen.first = std::min(seen.first, row.first);
      seen.end = std::max(seen.end, row.end);
    }
    return {std::min(seen.first, seen.end), seen.end};
  }

  // The keys of a range whose values count: masks that are no infinities, such as -10,000, leave weights of 0 at both
  // ends. Without biases there are none.
  Range Weighing(const float* weights, int64_t stride, int64_t rows, Range seen) const {
    if (a_.bias[0].data == nullptr && a_.bias[1].data == nullptr) return seen;
    const auto step = [&] { return std::min(kMaskStep, seen.end - seen.first); };
    const auto zero = [&](int64_t key) { return AreZero(weights + key, step(), stride, rows); };
    while (step() > 0 && zero(seen.first)) seen.first += step();
    while (step() > 0 && zero(seen.end - step())) seen.end -= step();
    return seen;
  }

  // ---- few rows

  void RunFew(int64_t unit, float* slot) {
    // Where the heads of a key lie side by side, a block of keys is used for all heads while it is near.
    const bool beside = a_.k_strides.head < a_.k_strides.row;
    const int64_t group = beside ? unit % Groups() : unit / blocks_, block = beside ? unit / Groups() : unit % blocks_;
    const int64_t b = group / a_.kv_heads, kv = group % a_.kv_heads;
    const int64_t k0 = BlockStart(block), count = BlockStart(block + 1) - k0;
    float* q = slot;
    float* scores = q + unit_rows_ * q_stride_;
    float* sums = scores + unit_rows_ * score_stride_;
    float* room = sums + unit_rows_ * value_stride_;
    for (int64_t r = 0; r < unit_rows_; ++r) CopyQuery(b, At(group, r), q + r * q_stride_);
    // What no row sees is not read, unless somebody wants its scores.
    Range seen = SeenByRows(group, 0, unit_rows_, k0, count);
    seen.first -= seen.first % kFewKeys;  // whole pairs of vectors from here on: the row kernels write whole ones
    past_k_.Through(b, kv, k0, count, seen.first, seen.end, [&](int64_t j, int64_t step, bool past) {
      const Rows keys =
          past ? PastRowsOf(past_k_, a_.size, b, kv, k0 + j, step, room) : Keys(b, kv, k0 + j, step, room);
      ForRowGroups([&](int64_t r, FewArgs* f) {
        f->keys = step, f->size = a_.size;
        f->q = q + r * q_stride_, f->q_stride = q_stride_;
        f->kv = keys.data, f->kv_stride = keys.stride;
        if (r == 0 && a_.to_floats == nullptr) f->ahead = kFewKeys * keys.stride;
        f->y = scores + r * score_stride_ + j, f->y_stride = score_stride_;
        rows_.few_scores(*f);
      });
    });
    RowState states[kFewQueries];
    for (int64_t r = 0; r < unit_rows_; ++r) {
      const RowAt at = At(group, r);
      states[r] = block == 0 ? FirstState(at.head) : RowState{-kInfinity, 0};
      Weigh(b, at, k0 + seen.first, seen.end - seen.first, &states[r], scores + r * score_stride_ + seen.first);
      std::fill_n(sums + r * value_stride_, a_.value_size, 0.0f);
    }
    seen = Weighing(scores, score_stride_, unit_rows_, seen);
    seen.first -= seen.first % kFewKeys;
    past_v_.Through(b, kv, k0, count, seen.first, seen.end, [&](int64_t j, int64_t step, bool past) {
      const Rows values =
          past ? PastRowsOf(past_v_, a_.value_size, b, kv, k0 + j, step, room) : ValuesAt(b, kv, k0 + j, step, room);
      ForRowGroups([&](int64_t r, FewArgs* f) {
        f->keys = step, f->size = a_.value_size;
        f->q = scores + r * score_stride_ + j, f->q_stride = score_stride_;
        f->kv = values.data, f->kv_stride = values.stride;
        if (r == 0 && a_.to_floats == nullptr) f->ahead = kFewKeys * values.stride;
        f->y = sums + r * value_stride_, f->y_stride = value_stride_;
        rows_.few_values(*f);
      });
    });
    for (int64_t r = 0; r < unit_rows_; ++r) {
      if (blocks_ == 1) {
        Finish(b, At(group, r), states[r], sums + r * value_stride_);
        continue;
      }
      float* part = parts_ + ((group * blocks_ + block) * unit_rows_ + r) * PartFloats();
      part[0] = states[r].top;
      part[1] = states[r].sum;
      std::copy_n(sums + r * value_stride_, a_.value_size, part + 16);
    }
  }

  template <typename F>
  void ForRowGroups(F f) const {
    for (int64_t r = 0; r < unit_rows_; r += kRowGroup) {
      FewArgs args;
      args.rows = std::min(kRowGroup, unit_rows_ - r);
      f(r, &args);
    }
  }

  // Adds up what the chunks of keys gave, in their order.
  void Join() {
    for (int64_t group = 0; group < Groups(); ++group) {
      for (int64_t r = 0; r < unit_rows_; ++r) {
        float* all = parts_ + (group * blocks_ * unit_rows_ + r) * PartFloats();
        const auto part = [&](int64_t i) { return all + i * unit_rows_ * PartFloats(); };
        float top = -kInfinity, sum = 0;
        for (int64_t i = 0; i < blocks_; ++i) top = std::max(top, part(i)[0]);
        float* sums = all + 16;
        for (int64_t i = 0; i < blocks_; ++i) {
          const float factor = part(i)[0] == top ? 1 : part(i)[0] == -kInfinity ? 0 : rows_.ratio(part(i)[0], top);
          sum += part(i)[1] * factor;
          const float* from = part(i) + 16;
          for (int64_t c = 0; c < a_.value_size; ++c) sums[c] = from[c] * factor + (i == 0 ? 0 : sums[c]);
        }
        Finish(group / a_.kv_heads, At(group, r), {top, sum}, sums);
      }
    }
  }

  // ---- many rows

  struct Many {
    int64_t group, b, kv, row0, rows;
    float *packed_k, *packed_v, *q, *scores, *sums;
    RowState* states;
    float* room;
  };

  void RunMany(int64_t unit, float* slot) {
    Many m;
    m.group = unit / chunks_, m.b = m.group / a_.kv_heads, m.kv = m.group % a_.kv_heads;
    const int64_t chunk = unit % chunks_;
    m.row0 = unit_rows_ * chunk / chunks_, m.rows = unit_rows_ * (chunk + 1) / chunks_ - m.row0;
    m.packed_k = slot;
    m.packed_v = m.packed_k + RoundUp(packed_k_, 16);
    m.q = m.packed_v + RoundUp(packed_v_, 16);
    m.scores = m.q + kMaxTileRows * q_stride_;
    m.sums = m.scores + kMaxTileRows * score_stride_;
    m.states = reinterpret_cast<RowState*>(m.sums + m.rows * value_stride_);
    m.room = slot + slot_floats_ - RoundUp(RoomFloats(block_), 16);
    for (int64_t r = 0; r < m.rows; ++r) m.states[r] = FirstState(At(m.group, m.row0 + r).head);
    std::fill_n(m.sums, m.rows * value_stride_, 0.0f);
    const int64_t parts = CeilDiv(m.rows, tiles_.rows);
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t k0 = BlockStart(block), count = BlockStart(block + 1) - k0;
      const Range seen = SeenByRows(m.group, m.row0, m.row0 + m.rows, k0, count);
      if (seen.first >= seen.end) continue;
      Pack(m, k0, seen);
      for (int64_t i = 0; i < parts; ++i) RunTileRows(m, m.rows * i / parts, m.rows * (i + 1) / parts, k0, count);
    }
    for (int64_t r = 0; r < m.rows; ++r) {
      Finish(m.b, At(m.group, m.row0 + r), m.states[r], m.sums + r * value_stride_);
    }
  }

  // Keys as panels [nr keys][size][nr], values as panels [value_size / nr][key][nr]; only whole panels that are seen.
  void Pack(const Many& m, int64_t k0, Range seen) const {
    const int64_t nr = tiles_.columns, count = std::min(a_.keys - k0, block_);
    for (int64_t p = seen.first / nr; p * nr < seen.end; ++p) {
      const int64_t some = std::min(nr, count - p * nr);
      const Rows keys = Keys(m.b, m.kv, k0 + p * nr, some, m.room);
      tiles_.pack_panel(a_.size, some, keys.data, keys.stride, true, m.packed_k + p * nr * a_.size);
    }
    const int64_t first = seen.first / nr * nr;
    const Rows values = ValuesAt(m.b, m.kv, k0 + first, seen.end - first, m.room);
    for (int64_t c = 0; c < a_.value_size; c += nr) {
      tiles_.pack_panel(seen.end - first, std::min(nr, a_.value_size - c), values.data + c, values.stride, false,
                        m.packed_v + c * block_ + first * nr);
    }
  }

  void RunTile(const TileF32Args& t, int64_t rows) const {
    (2 * t.columns <= tiles_.columns ? tiles_.narrow : tiles_.wide)[rows - 1](t);
  }

  void RunTileRows(const Many& m, int64_t begin, int64_t end, int64_t k0, int64_t count) const {
    const Range seen = SeenByRows(m.group, m.row0 + begin, m.row0 + end, k0, count);
    if (seen.first >= seen.end) return;
    const int64_t nr = tiles_.columns, rows = end - begin, half = (rows + 1) / 2, first = seen.first / nr * nr;
    for (int64_t r = 0; r < rows; ++r) CopyQuery(m.b, At(m.group, m.row0 + begin + r), m.q + r * q_stride_);
    TileF32Args t;
    t.k = a_.size;
    t.a0 = m.q, t.a1 = m.q + half * q_stride_, t.a_row_stride = q_stride_;
    t.b_stride = nr;
    t.c_row_stride = score_stride_;
    // Meanwhile the next rows' queries come to the cache, one with each of the first tiles: they lie far apart.
    int64_t next = m.row0 + end;
    const int64_t last = std::min(next + tiles_.rows, m.row0 + m.rows);
    for (int64_t p = first; p < seen.end; p += nr, ++next) {
      const bool fetches = next < last;
      t.prefetch = reinterpret_cast<const char*>(fetches ? QueryAt(m.b, At(m.group, next)) : m.q);
      t.prefetch_step = fetches ? sizeof(float) : 0;
      t.b = m.packed_k + p * a_.size;
      t.c0 = m.scores + p, t.c1 = t.c0 + half * score_stride_;
      t.columns = std::min(nr, RoundUp(seen.end - p, nr / 2));
      RunTile(t, rows);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const RowAt at = At(m.group, m.row0 + begin + r);
      float* sums = m.sums + (begin + r) * value_stride_;
      const float keep =
          Weigh(m.b, at, k0 + first, seen.end - first, &m.states[begin + r], m.scores + r * score_stride_ + first);
      if (keep != 1) rows_.scale(sums, a_.value_size, keep, sums);
    }
    const Range weighing = Weighing(m.scores, score_stride_, rows, {first, seen.end});
    if (weighing.first >= weighing.end) return;
    t.k = weighing.end - weighing.first;
    t.prefetch = reinterpret_cast<const char*>(m.q), t.prefetch_step = 0;
    t.a0 = m.scores + weighing.first, t.a1 = t.a0 + half * score_stride_, t.a_row_stride = score_stride_;
    t.c_row_stride = t.residual_row_stride = value_stride_;
    for (int64_t c = 0; c < a_.value_size; c += nr) {
      t.b = m.packed_v + c * block_ + weighing.first * nr;
      t.c0 = m.sums + begin * value_stride_ + c, t.c1 = t.c0 + half * value_stride_;
      t.residual0 = t.c0, t.residual1 = t.c1;
      t.columns = std::min(nr, a_.value_size - c);
      RunTile(t, rows);
    }
  }

  const AttentionF32Args& a_;
  const TileF32Set& tiles_;
  const AttentionRowsSet& rows_;
  int64_t group_, unit_rows_;
  bool few_, all_see_all_;
  PastCopy past_k_, past_v_;
  int64_t block_ = 0, blocks_ = 1, chunks_ = 1, units_ = 0, slots_ = 1, slot_floats_ = 0, part_floats_ = 0;
  int64_t score_stride_ = 0, value_stride_ = 0, q_stride_ = 0, packed_k_ = 0, packed_v_ = 0;
  float* parts_ = nullptr;
};

}  // namespace

std::size_t AttentionF32ScratchBytes(const AttentionF32Args& args, int threads) {
  return Attention(args, threads).ScratchBytes();
}

void AttentionF32(const AttentionF32Args& args, Parallel& parallel, std::byte* scratch) {
  Attention(args, parallel.ThreadCount()).Run(parallel, reinterpret_cast<float*>(scratch));
}

}  // namespace sardonyx::kernels
