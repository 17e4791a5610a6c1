// ops/attention/position_bias.cpp - com.microsoft RelativePositionBias and GatedRelativePositionBias: addends of
// attention scores that depend on the distance of key and query.
#include <algorithm>
#include <cmath>

#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

// ---- RelativePositionBias: T5's, "Exploring the limits of transfer learning with a unified text-to-text transformer"
// (2020), section 2.1.

struct BucketState {
  bool both_ways = false;
  std::int64_t max_distance = 128;
};

constexpr std::int64_t kLongest = std::int64_t{1} << 31;

void InferPositionBias(InferContext& c) {
  if (c.HasRank(0) && c.Rank(0) != 2)
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected [buckets, heads], found ", c.InputType(0).ToText());
  const auto length = [&](std::size_t i) {
    const auto value = c.ShapeData(i);
    return value && value->size() == 1 ? value->front() : Dim();
  };
  c.SetOutput(0, c.InputDType(0), {Dim(1), c.HasRank(0) ? c.InputDims(0)[1] : Dim(), length(1), length(2)});
}

// Half of the buckets (of one direction) are distances of their own; the others grow with the logarithm up to
// max_distance. `distance`: key - query.
std::int64_t BucketOf(const BucketState& state, std::int64_t buckets, std::int64_t distance) {
  std::int64_t first = 0;
  if (state.both_ways) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(0, -distance);
  }
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  if (exact == 0) return first + std::max<std::int64_t>(0, buckets - 1);
  const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                      std::log(static_cast<float>(state.max_distance) / static_cast<float>(exact));
  const float place = share * static_cast<float>(buckets - exact);
  std::int64_t step = buckets;  // also where max_distance lies below the exact distances
  if (place > 0 && place < static_cast<float>(buckets)) step = static_cast<std::int64_t>(place);
  if (place <= 0 && state.max_distance > exact) step = 0;
  return first + std::min(exact + step, buckets - 1);
}

void RunPositionBias(KernelContext& c) {
  const BucketState& state = c.state<BucketState>();
  const TensorRef& table = c.Input(0);
  const std::int64_t queries = IntAt(c.Input(1), 0), keys = IntAt(c.Input(2), 0);
  if (table.rank() != 2 || table.shape[0] < 2 || queries < 0 || keys < 0 || queries > kLongest || keys > kLongest) {
    Fail(Code::kInvalidArgument, "expected a table [buckets, heads] of at least 2 buckets and lengths in [0, ",
         kLongest, "], found ", ToText(table.shape), ", ", queries, " and ", keys);
  }
  const std::int64_t buckets = table.shape[0], heads = table.shape[1];
  const std::int64_t shape[] = {1, heads, queries, keys};
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  Operands io(c, DType::kFloat, 6);
  const std::size_t bucket_at = io.Add<std::int64_t>(static_cast<std::size_t>(queries + keys - 1));
  const Operands::Computing computing(io);
  auto* bucket = io.At<std::int64_t>(bucket_at);  // of distance d - (queries - 1)
  for (std::int64_t d = 0; d < queries + keys - 1; ++d) bucket[d] = BucketOf(state, buckets, d - (queries - 1));
  // The table lies column by column: all buckets of a head are neighbours.
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / keys);
  c.parallel().For(heads * queries, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* of_head = io.In<float>(0) + row / queries * buckets;
      const std::int64_t* at = bucket + (queries - 1 - row % queries);
      float* to = io.Out<float>(0) + row * keys;
      for (std::int64_t k = 0; k < keys; ++k) to[k] = of_head[at[k]];
    }
  });
}

Prepared PreparePositionBias(PrepareContext& c) {
  const BucketState state{c.Flag("is_bidirectional"), c.Int("max_distance")};
  if (state.max_distance < 1)
    c.Fail(Code::kInvalidArgument, "attribute 'max_distance': expected at least 1, found ", state.max_distance);
  return WithState(RunPositionBias, state);
}

// ---- GatedRelativePositionBias: rel_pos times a gate of each query and head.

struct GateState {
  std::int64_t heads = 1;
};

constexpr std::size_t kQuery = 0, kQueryBias = 1, kPositions = 2, kWeight = 3, kBias = 4, kEco = 5, kOffsets = 6;

void InferGated(InferContext& c) {
  const std::int64_t heads = c.Int("num_heads");
  if (heads < 1) c.Fail(Code::kInvalidArgument, "attribute 'num_heads': expected at least 1, found ", heads);
  const std::size_t rank = c.HasInput(kOffsets) ? 2 : 3;
  if (c.HasRank(kQuery) && c.Rank(kQuery) != rank)
    c.Fail(Code::kInvalidArgument, c.InputText(kQuery), ": expected rank ", rank, rank == 2 ? " with" : " without",
           " a token_offset, found ", c.InputType(kQuery).ToText());
  const std::size_t sized = c.HasInput(kOffsets) ? kOffsets : kQuery;  // has batch and sequence first
  const bool known = c.HasRank(sized) && c.Rank(sized) >= 2;
  const Dim batch = known ? c.InputDims(sized)[0] : Dim(), length = known ? c.InputDims(sized)[1] : Dim();
  c.SetOutput(0, c.InputDType(kQuery), {batch, Dim(heads), length, length});
}

class Gated {
 public:
  explicit Gated(KernelContext& c) : c_(c), heads_(c.state<GateState>().heads), io_(c, DType::kFloat, 1u << kOffsets) {
    const bool packed = c.HasInput(kOffsets);
    const Dims query = c.Input(kQuery).shape, sized = packed ? c.Input(kOffsets).shape : query;
    const Dims weight = c.Input(kWeight).shape;
    if (query.size() != (packed ? 2u : 3u) || sized.size() < 2 || weight.size() != 2) Refuse();
    batch_ = sized[0], length_ = sized[1];
    size_ = weight[0], columns_ = weight[1];
    const std::int64_t positions[] = {1, heads_, length_, length_};
    const bool fits = query.back() == heads_ * size_ && columns_ % 2 == 0 &&
                      c.Input(kQueryBias).count == heads_ * size_ && c.Input(kBias).count == columns_ &&
                      c.Input(kEco).count == heads_ && Shape::Equal(c.Input(kPositions).shape, positions) &&
                      (!packed || query[0] <= batch_ * length_);
    if (!fits) Refuse();
    gates_at_ = io_.Add<float>(static_cast<std::size_t>(batch_ * heads_ * length_));
    sums_at_ = io_.Add<float>(static_cast<std::size_t>(2 * size_ + 2));
  }

  void Run() {
    if (c_.Output(0).count == 0) return;
    const Operands::Computing computing(io_);
    SumColumns();
    FillGates();
    const std::int64_t rows = batch_ * heads_ * length_;
    const float *gates = io_.At<float>(gates_at_), *positions = io_.In<float>(kPositions);
    c_.parallel().For(rows, std::max<std::int64_t>(1, 16384 / length_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* from = positions + row % (heads_ * length_) * length_;
        float* to = io_.Out<float>(0) + row * length_;
        for (std::int64_t k = 0; k < length_; ++k) to[k] = gates[row] * from[k];
      }
    });
  }

 private:
  [[noreturn]] void Refuse() const {
    Fail(Code::kInvalidArgument, "expected queries [batch, sequence, heads * size] (or [tokens, heads * size] and ",
         "offsets), query_bias [heads * size], rel_pos [1, heads, sequence, sequence], weight [size, D], bias [D] with "
         "an ",
         "even D and eco_a [1, heads, 1, 1] of ", heads_, " heads, found ", ToText(c_.Input(kQuery).shape), ", ",
         ToText(c_.Input(kQueryBias).shape), ", ", ToText(c_.Input(kPositions).shape), ", ",
         ToText(c_.Input(kWeight).shape), ", ", ToText(c_.Input(kBias).shape), " and ", ToText(c_.Input(kEco).shape));
  }

  // Both halves of the linear layer's results are summed, so the halves of its columns may be summed first.
  void SumColumns() {
    float* sums = io_.At<float>(sums_at_);
    const std::int64_t half = columns_ / 2;
    for (std::int64_t i = 0; i <= size_; ++i) {
      const float* row = i < size_ ? io_.In<float>(kWeight) + i * columns_ : io_.In<float>(kBias);
      for (const std::int64_t part : {0, 1}) {
        double sum = 0;
        for (std::int64_t k = 0; k < half; ++k) sum += static_cast<double>(row[part * half + k]);
        sums[part * (size_ + 1) + i] = static_cast<float>(sum);
      }
    }
  }

  // The row of queries of a position; null for padding, whose query counts as 0.
  const float* QueryAt(std::int64_t token) const { return io_.In<float>(kQuery) + token * heads_ * size_; }

  void FillGates() {
    const std::int64_t positions = batch_ * length_;
    float* gates = io_.At<float>(gates_at_);
    if (!c_.HasInput(kOffsets)) {
      for (std::int64_t at = 0; at < positions; ++at) FillGatesOf(at, QueryAt(at), gates);
      return;
    }
    const std::int64_t tokens = c_.Input(kQuery).shape[0];
    for (std::int64_t at = 0; at < positions; ++at) FillGatesOf(at, nullptr, gates);
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t at = c_.Input(kOffsets).As<std::int32_t>()[token];
      if (at < 0 || at >= positions)
        Fail(Code::kInvalidArgument, "expected offsets in [0, ", positions, "), found ", at, " for token ", token);
      FillGatesOf(at, QueryAt(token), gates);
    }
  }

  void FillGatesOf(std::int64_t position, const float* query, float* gates) const {
    const float *sums = io_.At<float>(sums_at_), *bias = io_.In<float>(kQueryBias);
    for (std::int64_t head = 0; head < heads_; ++head) {
      double gate[2];
      for (const std::int64_t part : {0, 1}) {
        const float* weights = sums + part * (size_ + 1);
        double sum = static_cast<double>(weights[size_]);
        for (std::int64_t i = 0; query != nullptr && i < size_; ++i)
          sum += static_cast<double>((query[head * size_ + i] + bias[head * size_ + i]) * weights[i]);
        gate[part] = 1 / (1 + std::exp(-sum));
      }
      const double value = gate[0] * (gate[1] * static_cast<double>(io_.In<float>(kEco)[head]) - 1) + 2;
      gates[(position / length_ * heads_ + head) * length_ + position % length_] = static_cast<float>(value);
    }
  }

  KernelContext& c_;
  std::int64_t heads_, batch_ = 0, length_ = 0, size_ = 0, columns_ = 0;
  Operands io_;
  std::size_t gates_at_ = 0, sums_at_ = 0;
};

void RunGated(KernelContext& c) { Gated(c).Run(); }

Prepared PrepareGated(PrepareContext& c) { return WithState(RunGated, GateState{c.Int("num_heads")}); }

constexpr OpDef kPositionBiasOps[] = {
    {.domain = "com.microsoft",
     .name = "GatedRelativePositionBias",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferGated,
     .prepare = PrepareGated},
    {.domain = "com.microsoft",
     .name = "RelativePositionBias",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferPositionBias,
     .prepare = PreparePositionBias},
};

}  // namespace

std::span<const OpDef> PositionBiasOps() { return kPositionBiasOps; }

}  // namespace sardonyx::ops
