// ops/attention/embed_layer_norm.cpp - com.microsoft EmbedLayerNormalization and QEmbedLayerNormalization: the sum of
// word, position and segment embeddings, normalised; and the length of each row of the mask.
#include <cmath>

#include "kernels/elementwise/convert.h"
#include "kernels/norm/affine_f32.h"
#include "kernels/reduce/reduce_f32.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kIds = 0, kSegments = 1, kWords = 2, kPositions = 3, kSegmentTable = 4, kGamma = 5, kBeta = 6;
constexpr std::size_t kMask = 7, kPositionIds = 8;
constexpr std::size_t kY = 0, kMaskIndex = 1, kSum = 2;

// QEmbedLayerNormalization: scales and zero points of the words, positions, segments, gamma and beta, in this order.
constexpr std::size_t kScales = 8, kZeros = 13;

struct State {
  float epsilon = 1e-12f;
  bool quantized = false;
};

QuantizedScale ScaleOf(KernelContext& c, std::size_t which) {
  return c.state<State>().quantized ? ReadScale(c, kScales + which, kZeros + which) : QuantizedScale{};
}

void InferEmbed(InferContext& c) {
  const bool quantized = c.op_type() == "QEmbedLayerNormalization";
  const DType dtype = quantized ? DType::kFloat : c.InputDType(kGamma);  // tables may be of float16 beside floats
  if (!c.HasRank(kIds) || !c.HasRank(kWords)) {
    c.SetOutput(kY, dtype);
    if (c.HasOutput(kMaskIndex)) c.SetOutput(kMaskIndex, DType::kInt32);
    if (c.HasOutput(kSum)) c.SetOutput(kSum, dtype);
    return;
  }
  if (c.Rank(kIds) != 2 || c.Rank(kWords) != 2) {
    c.Fail(Code::kInvalidArgument, "expected input_ids and word_embedding of rank 2, found ",
           c.InputType(kIds).ToText(), " and ", c.InputType(kWords).ToText());
  }
  const std::vector<Dim> dims = {c.InputDims(kIds)[0], c.InputDims(kIds)[1], c.InputDims(kWords)[1]};
  c.SetOutput(kY, dtype, dims);
  if (c.HasOutput(kMaskIndex)) c.SetOutput(kMaskIndex, DType::kInt32, {dims[0]});
  if (c.HasOutput(kSum)) c.SetOutput(kSum, dtype, dims);
}

// A table of embeddings whose rows are read as floats.
class Table {
 public:
  Table(const TensorRef& table, std::string_view name, QuantizedScale scale)
      : table_(table), name_(name), scale_(scale) {
    if (table.rank() != 2) Fail(Code::kInvalidArgument, "expected ", name, " of rank 2, found ", ToText(table.shape));
    read_ = kernels::ToFloats(table.dtype);
  }
  std::int64_t size() const { return table_.dim(1); }
  const float* Row(std::int64_t row, float* memory) const {
    // Indices may count from the end, as those of the Gather nodes that this operator takes the place of.
    if (row < -table_.dim(0) || row >= table_.dim(0)) {
      Fail(Code::kInvalidArgument, "expected indices of ", name_, " in [", -table_.dim(0), ", ", table_.dim(0),
           "), found ", row);
    }
    if (row < 0) row += table_.dim(0);
    const std::int64_t begin = row * size();
    if (table_.dtype == DType::kFloat) return table_.As<const float>() + begin;
    read_(table_.data, begin, static_cast<std::size_t>(size()), memory);
    if (scale_.scale == 1 && scale_.zero == 0) return memory;
    for (std::int64_t i = 0; i < size(); ++i) memory[i] = (memory[i] - scale_.zero) * scale_.scale;
    return memory;
  }

 private:
  TensorRef table_;
  std::string_view name_;
  QuantizedScale scale_;
  kernels::ToFloatsFn* read_ = nullptr;
};

void CheckShapes(KernelContext& c, std::int64_t hidden) {
  const Dims ids = c.Input(kIds).shape;
  const auto same = [&](std::size_t i, std::string_view name) {
    if (c.HasInput(i) && !Shape::Equal(c.Input(i).shape, ids)) {
      Fail(Code::kInvalidArgument, "expected ", name, " ", ToText(ids), ", found ", ToText(c.Input(i).shape));
    }
  };
  same(kSegments, "segment_ids");
  same(kMask, "mask");
  if (c.HasInput(kSegments) != c.HasInput(kSegmentTable)) {
    Fail(Code::kInvalidArgument, "expected segment_ids and segment_embedding together, found only one");
  }
  if (!c.state<State>().quantized && c.HasInput(kPositionIds)) {
    const Dims p = c.Input(kPositionIds).shape;
    if (p.size() != 2 || (p[0] != 1 && p[0] != ids[0]) || p[1] != ids[1]) {
      Fail(Code::kInvalidArgument, "expected position_ids [1 or ", ids[0], ", ", ids[1], "], found ", ToText(p));
    }
  }
  for (const std::size_t i : {kGamma, kBeta}) {
    if (c.Input(i).count != hidden) {
      Fail(Code::kInvalidArgument, "expected gamma and beta [", hidden, "], found ", ToText(c.Input(i).shape));
    }
  }
}

void CountMask(KernelContext& c) {
  if (!c.HasOutput(kMaskIndex)) return;
  auto* lengths = c.Output(kMaskIndex).As<std::int32_t>();
  const Dims ids = c.Input(kIds).shape;
  for (std::int64_t b = 0; b < ids[0]; ++b) {
    lengths[b] = 0;
    if (!c.HasInput(kMask)) continue;
    const auto* mask = c.Input(kMask).As<const std::int32_t>() + b * ids[1];
    for (std::int64_t s = 0; s < ids[1]; ++s) lengths[b] += mask[s] == 1 ? 1 : 0;
  }
}

// A quantized vector as floats.
const float* Widen(const TensorRef& x, QuantizedScale scale, float* to) {
  kernels::ToFloats(x.dtype)(x.data, 0, static_cast<std::size_t>(x.count), to);
  for (std::int64_t i = 0; i < x.count; ++i) to[i] = (to[i] - scale.zero) * scale.scale;
  return to;
}

void RunEmbed(KernelContext& c) {
  const Dims ids = c.Input(kIds).shape;
  const bool quantized = c.state<State>().quantized, has_segments = c.HasInput(kSegmentTable);
  const Table words(c.Input(kWords), "word_embedding", ScaleOf(c, 0));
  const Table positions(c.Input(kPositions), "position_embedding", ScaleOf(c, 1));
  const Table segments(c.Input(has_segments ? kSegmentTable : kWords), "segment_embedding",
                       has_segments ? ScaleOf(c, 2) : QuantizedScale{});
  const std::int64_t hidden = words.size(), rows = ids[0] * ids[1];
  if (positions.size() != hidden || segments.size() != hidden) {
    Fail(Code::kInvalidArgument, "expected embeddings of ", hidden, " elements, found ", positions.size(), " and ",
         segments.size());
  }
  CheckShapes(c, hidden);
  CountMask(c);
  constexpr std::uint32_t kRaw = 1u << kIds | 1u << kSegments | 1u << kWords | 1u << kPositions | 1u << kSegmentTable |
                                 1u << kMask | 1u << kPositionIds;
  constexpr std::uint32_t kRawIfQuantized = ~0u;
  Operands io(c, DType::kFloat, quantized ? kRawIfQuantized : kRaw, 1u << kMaskIndex);
  const std::size_t affine_at = io.Add<float>(quantized ? 2 * static_cast<std::size_t>(hidden) : 0);
  const std::int64_t jobs =
      std::max<std::int64_t>(1, std::min<std::int64_t>(rows, std::int64_t{4} * c.parallel().ThreadCount()));
  const std::size_t at = io.Add<float>(static_cast<std::size_t>(jobs * 3 * hidden));
  const Operands::Computing computing(io);
  const float *gamma = io.In<float>(kGamma), *beta = io.In<float>(kBeta);
  if (quantized) {
    float* numbers = io.At<float>(affine_at);
    gamma = Widen(c.Input(kGamma), ScaleOf(c, 3), numbers);
    beta = Widen(c.Input(kBeta), ScaleOf(c, 4), numbers + hidden);
  }
  const float epsilon = c.state<State>().epsilon;
  const auto index = [&](std::size_t i, std::int64_t row) { return c.Input(i).As<const std::int32_t>()[row]; };
  const auto run_row = [&](std::int64_t row, float* memory) {
    const std::int64_t s = row % ids[1];
    std::int64_t position = s;
    if (!quantized && c.HasInput(kPositionIds))
      position = index(kPositionIds, c.Input(kPositionIds).dim(0) == 1 ? s : row);
    const float* word = words.Row(index(kIds, row), memory);
    const float* place = positions.Row(position, memory + hidden);
    const float* segment = has_segments ? segments.Row(index(kSegments, row), memory + 2 * hidden) : nullptr;
    float* y = io.Out<float>(kY) + row * hidden;
    float* sum = c.HasOutput(kSum) ? io.Out<float>(kSum) + row * hidden : y;
    const auto& affine = kernels::AffineF32();
    const auto& reduce = kernels::ReduceF32();
    affine.add(word, place, segment, hidden, sum);
    const double n = static_cast<double>(hidden);
    const auto mean = static_cast<float>(static_cast<double>(reduce.row(kernels::ReduceKind::kSum, sum, hidden)) / n);
    const double variance = static_cast<double>(reduce.sum_squared_deviations(sum, hidden, mean)) / n;
    const double inverse = 1 / std::sqrt(variance + static_cast<double>(epsilon));
    affine.row(sum, hidden, mean, static_cast<float>(inverse), gamma, beta, y);
  };
  c.parallel().For(jobs, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t job = begin; job < end; ++job) {
      for (std::int64_t row = rows * job / jobs; row < rows * (job + 1) / jobs; ++row) {
        run_row(row, io.At<float>(at) + job * 3 * hidden);
      }
    }
  });
}

Prepared PrepareEmbed(PrepareContext& c) { return WithState(RunEmbed, State{c.Float("epsilon", 1e-12f)}); }

Prepared PrepareQuantizedEmbed(PrepareContext& c) {
  const DType dtype = c.InputDType(kWords);
  for (const std::size_t i :
       {kPositions, kSegmentTable, kGamma, kBeta, kZeros, kZeros + 1, kZeros + 2, kZeros + 3, kZeros + 4})
    if (c.HasInput(i) && c.InputDType(i) != dtype) c.Unsupported(c.InputText(i), c.InputDType(i));
  const bool segments = c.HasInput(kSegments);
  if (segments != c.HasInput(kScales + 2) || segments != c.HasInput(kZeros + 2)) {
    c.Fail(Code::kInvalidArgument, "expected segment_ids, segment_embedding, its scale and its zero point together, ",
           "found only some");
  }
  return WithState(RunEmbed, State{c.Float("epsilon", 1e-12f), true});
}

void CountEmbedding(CostContext& c) {
  CountNormalization(c);
  for (const std::size_t table : {kWords, kPositions, kSegmentTable}) c.PickFrom(table);
}

constexpr OpDef kEmbedLayerNormOps[] = {
    {.domain = "com.microsoft",
     .name = "EmbedLayerNormalization",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .typed_input = static_cast<int>(kWords),
     .infer = InferEmbed,
     .prepare = PrepareEmbed,
     .cost = CountEmbedding},
    {.domain = "com.microsoft",
     .name = "QEmbedLayerNormalization",
     .since = {1},
     .types = {DType::kInt8, DType::kUInt8},
     .typed_input = static_cast<int>(kWords),
     .infer = InferEmbed,
     .prepare = PrepareQuantizedEmbed,
     .cost = CountEmbedding},
};

}  // namespace

std::span<const OpDef> EmbedLayerNormOps() { return kEmbedLayerNormOps; }

}  // namespace sardonyx::ops
