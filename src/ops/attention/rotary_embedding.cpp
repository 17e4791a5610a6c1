// ops/attention/rotary_embedding.cpp - RotaryEmbedding: rotates pairs of each head's elements by the angle of their
// position; and com.microsoft.MRotaryEmbedding, where pairs belong to one of three positions (time, height, width).
#include <algorithm>

#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

// Where ai.onnx and com.microsoft have the inputs.
struct Inputs {
  std::size_t cos, sin, positions;
};
constexpr Inputs kOnnx = {1, 2, 3};
constexpr Inputs kMicrosoft = {2, 3, 1};

struct RotaryState {
  std::int64_t heads = 0, rotated = 0;
  bool interleaved = false;
  Inputs in = kOnnx;
};

void InferRotary(InferContext& c) {
  if (c.HasRank(0) && c.Rank(0) != 3 && c.Rank(0) != 4) {
    c.Fail(Code::kInvalidArgument, "expected an input of rank 3 or 4, found ", c.InputType(0).ToText());
  }
  c.SetOutputType(0, c.InputType(0));
}

struct Sizes {
  std::int64_t batch, sequence, heads, size;
  std::int64_t batch_stride, row_stride, head_stride;
};

Sizes MakeSizes(Dims x, const RotaryState& state, std::int64_t rotated_by_cache) {
  if (x.size() == 4) return {x[0], x[2], x[1], x[3], x[1] * x[2] * x[3], x[3], x[2] * x[3]};
  std::int64_t heads = state.heads;
  if (heads == 0 && rotated_by_cache > 0) heads = x[2] / rotated_by_cache;  // com.microsoft: from the cache's width
  if (heads < 1 || x[2] % heads != 0) {
    Fail(Code::kInvalidArgument, "attribute 'num_heads': expected a divisor of the hidden size of ", ToText(x),
         ", found ", state.heads);
  }
  return {x[0], x[1], heads, x[2] / heads, x[1] * x[2], x[2], x[2] / heads};
}

void Rotate(const float* x, const float* cos, const float* sin, std::int64_t half, std::int64_t size, bool interleaved,
            float* y) {
  for (std::int64_t i = 0; i < half; ++i) {
    const std::int64_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : half + i;
    const float real = cos[i] * x[a] - sin[i] * x[b], imaginary = sin[i] * x[a] + cos[i] * x[b];
    y[a] = real;
    y[b] = imaginary;
  }
  std::copy(x + 2 * half, x + size, y + 2 * half);
}

void RunRotary(KernelContext& c) {
  const auto& state = c.state<RotaryState>();
  const Inputs& in = state.in;
  const Dims cache = c.Input(in.cos).shape;
  const std::int64_t half = cache.empty() ? 0 : cache.back();
  const Sizes s = MakeSizes(c.Input(0).shape, state, state.rotated == 0 ? 2 * half : 0);
  const std::int64_t rotated = state.rotated == 0 ? s.size : state.rotated;
  if (half * 2 != rotated || rotated > s.size || !Shape::Equal(cache, c.Input(in.sin).shape)) {
    Fail(Code::kInvalidArgument, "expected cos_cache and sin_cache of width ", rotated / 2, " for heads of ", s.size,
         ", found ", ToText(cache), " and ", ToText(c.Input(in.sin).shape));
  }
  if (half == 0) return;  // heads without elements
  const bool by_position = c.HasInput(in.positions);
  const std::int64_t cache_rows = c.Input(in.cos).count / half;
  if (!by_position && cache_rows != s.batch * s.sequence) {
    Fail(Code::kInvalidArgument, "expected cos_cache and sin_cache [", s.batch, ", ", s.sequence, ", ", half,
         "], found ", ToText(cache));
  }
  const std::int64_t positions = by_position ? c.Input(in.positions).count : 0;
  if (by_position && positions != 1 && positions != s.batch * s.sequence) {
    Fail(Code::kInvalidArgument, "expected position_ids [", s.batch, ", ", s.sequence, "], found ",
         ToText(c.Input(in.positions).shape));
  }
  Operands io(c, DType::kFloat, 1u << in.positions);
  const Operands::Computing computing(io);
  c.parallel().For(
      s.batch * s.sequence, std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, s.heads * s.size)),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          std::int64_t row = i;
          if (by_position) {
            const std::int64_t* ids = c.Input(in.positions).As<std::int64_t>();
            row = positions == 1 ? ids[0] : ids[i];
            if (positions == 1 && row >= 0 && row < cache_rows) row += i % s.sequence;
            if (row < 0 || row >= cache_rows) {
              Fail(Code::kInvalidArgument, "expected position_ids in [0, ", cache_rows, "), found ", row, " at ", i);
            }
          }
          for (std::int64_t h = 0; h < s.heads; ++h) {
            const std::int64_t at = i / s.sequence * s.batch_stride + i % s.sequence * s.row_stride + h * s.head_stride;
            Rotate(io.In<float>(0) + at, io.In<float>(in.cos) + row * half, io.In<float>(in.sin) + row * half, half,
                   s.size, state.interleaved, io.Out<float>(0) + at);
          }
        }
      });
}

// ---- com.microsoft MRotaryEmbedding

constexpr std::int64_t kStreams = 3;

struct MultiState {
  RotaryState rotary;
  std::vector<std::int64_t> sections;  // pairs of each position
  bool woven = false;                  // positions take turns, as far as their sections go
  float scale = 1;
};

// The position that pair `i` belongs to.
std::int64_t StreamOf(const MultiState& state, std::int64_t i) {
  const std::vector<std::int64_t>& sections = state.sections;
  if (!state.woven) return i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
  const std::int64_t turn = i % kStreams;
  return turn != 0 && i < kStreams * sections[static_cast<std::size_t>(turn)] ? turn : 0;
}

void RunMultiRotary(KernelContext& c) {
  const auto& state = c.state<MultiState>();
  const Inputs& in = kMicrosoft;
  const Dims cache = c.Input(in.cos).shape, ids = c.Input(in.positions).shape;
  const std::int64_t half = cache.size() == 2 ? cache[1] : 0;
  const Sizes s = MakeSizes(c.Input(0).shape, state.rotary, state.rotary.rotated == 0 ? 2 * half : 0);
  const std::int64_t rotated = state.rotary.rotated == 0 ? s.size : state.rotary.rotated;
  if (half * 2 != rotated || rotated > s.size || !Shape::Equal(cache, c.Input(in.sin).shape)) {
    Fail(Code::kInvalidArgument, "expected cos_cache and sin_cache of width ", rotated / 2, " for heads of ", s.size,
         ", found ", ToText(cache), " and ", ToText(c.Input(in.sin).shape));
  }
  const std::int64_t sections = state.sections[0] + state.sections[1] + state.sections[2];
  if (sections != half) {
    Fail(Code::kInvalidArgument, "attribute 'mrope_section': expected sections of together ", half,
         ", the width of cos_cache, found ", sections);
  }
  if (ids.size() != 3 || ids[0] != kStreams || ids[1] != s.batch || ids[2] != s.sequence) {
    Fail(Code::kInvalidArgument, "input 1 ('position_ids'): expected shape [3, ", s.batch, ", ", s.sequence,
         "], found ", ToText(ids));
  }
  const std::int64_t tokens = s.batch * s.sequence;
  for (const std::int64_t id : c.Input(in.positions).Span<std::int64_t>()) {
    if (id < 0 || id >= cache[0])
      Fail(Code::kInvalidArgument, "input 1 ('position_ids'): expected positions in [0, ", cache[0], "), found ", id);
  }
  if (c.Output(0).count == 0) return;
  Operands io(c, DType::kFloat, 1u << in.positions);
  const std::size_t angles_at = io.Add<float>(2 * static_cast<std::size_t>(tokens * half));
  const Operands::Computing computing(io);
  float* angles = io.At<float>(angles_at);
  c.parallel().For(
      tokens, std::max<std::int64_t>(1, 4096 / (s.heads * s.size)), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          float *cos = angles + 2 * i * half, *sin = cos + half;
          for (std::int64_t k = 0; k < half; ++k) {
            const std::int64_t row = c.Input(in.positions).As<std::int64_t>()[StreamOf(state, k) * tokens + i];
            cos[k] = io.In<float>(in.cos)[row * half + k] * state.scale;
            sin[k] = io.In<float>(in.sin)[row * half + k] * state.scale;
          }
          for (std::int64_t h = 0; h < s.heads; ++h) {
            const std::int64_t at = i / s.sequence * s.batch_stride + i % s.sequence * s.row_stride + h * s.head_stride;
            Rotate(io.In<float>(0) + at, cos, sin, half, s.size, state.rotary.interleaved, io.Out<float>(0) + at);
          }
        }
      });
}

Prepared PrepareMultiRotary(PrepareContext& c) {
  MultiState state;
  state.rotary = {c.Int("num_heads", 0), c.Int("rotary_embedding_dim", 0), c.Flag("interleaved"), kMicrosoft};
  state.sections = c.Ints("mrope_section");
  state.scale = c.Float("scale", 1);
  const std::int64_t layout = c.Int("mrope_layout", 0);
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (state.sections.size() != kStreams ||
      std::ranges::any_of(state.sections, [](std::int64_t section) { return section < 0 || section > kMost; })) {
    c.Fail(Code::kInvalidArgument, "attribute 'mrope_section': expected 3 numbers of at least 0, found ",
           ToText(Dims(state.sections)));
  }
  if (layout != 0 && layout != 1)
    c.Fail(Code::kInvalidArgument, "attribute 'mrope_layout': expected 0 or 1, found ", layout);
  if (c.InputDType(1) != DType::kInt64) c.Unsupported(c.InputText(1), c.InputDType(1));
  state.woven = layout == 1;
  return WithState(RunMultiRotary, std::move(state));
}

Prepared PrepareRotary(PrepareContext& c) {
  RotaryState state;
  state.heads = c.Int("num_heads", 0);
  state.rotated = c.Int("rotary_embedding_dim", 0);
  state.interleaved = c.Flag("interleaved");
  if (c.node().domain == "com.microsoft") {
    state.in = kMicrosoft;
    if (c.Float("scale", 1) != 1 || c.Flag("is_packed_batching"))
      c.Unsupported("attribute 'scale' other than 1 or attribute 'is_packed_batching'");
  }
  return WithState(RunRotary, state);
}

constexpr DTypeSet kRotaryTypes = {DType::kFloat, DType::kFloat16, DType::kBFloat16};

constexpr OpDef kRotaryEmbeddingOps[] = {
    {.domain = "com.microsoft",
     .name = "MRotaryEmbedding",
     .since = {1},
     .types = kRotaryTypes,
     .infer = InferRotary,
     .prepare = PrepareMultiRotary,
     .cost = CountTwicePerOutput},
    {.name = "RotaryEmbedding",
     .since = {23},
     .types = kRotaryTypes,
     .infer = InferRotary,
     .prepare = PrepareRotary,
     .cost = CountTwicePerOutput},
    {.domain = "com.microsoft",
     .name = "RotaryEmbedding",
     .since = {1},
     .types = kRotaryTypes,
     .infer = InferRotary,
     .prepare = PrepareRotary,
     .cost = CountTwicePerOutput},
};

}  // namespace

std::span<const OpDef> RotaryEmbeddingOps() { return kRotaryEmbeddingOps; }

}  // namespace sardonyx::ops
