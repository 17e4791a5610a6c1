// ops/nn/group_norm.cpp - com.microsoft GroupNorm and SkipGroupNorm: group normalization of images that are channels
// last unless an attribute says otherwise, after adding two tensors and before SiLU if the node asks for it.
#include "kernels/norm/group_norm_last_f32.h"
#include "ops/cost_context.h"
#include "ops/elementwise.h"
#include "ops/nn/group_planes.h"
#include "ops/operands.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kGamma = 1, kBeta = 2, kSkip = 3, kBias = 4;

struct State {
  double epsilon = 0;
  std::int64_t groups = 1;
  bool channels_last = true, silu = false;
};

// The sizes of X, whose layout the rest no longer asks for.
struct Image {
  std::int64_t batch = 0, channels = 0, pixels = 0;
  bool last = true;
};

void InferGroupNorm(InferContext& c) {
  if (c.HasRank(kX) && c.Rank(kX) < 3) {
    c.Fail(Code::kInvalidArgument, c.InputText(kX), ": expected images of rank 3 or more, found ",
           c.InputType(kX).ToText());
  }
  c.SetOutputType(0, c.InputType(kX));
  if (c.HasOutput(1)) c.SetOutputType(1, c.InputType(kX));
}

Image ReadImage(KernelContext& c, const State& state) {
  const Dims x = c.Input(kX).shape;
  if (x.size() < 3) Fail(Code::kInvalidArgument, "input 0 ('X'): expected images of rank 3 or more, found ", ToText(x));
  Image image{x[0], state.channels_last ? x.back() : x[1], 0, state.channels_last};
  image.pixels = state.channels_last ? ElementCount(x, 1, x.size() - 1) : ElementCount(x, 2, x.size());
  if (image.channels % state.groups != 0) {
    Fail(Code::kInvalidArgument, "input 0 ('X'): expected channels divisible by ", state.groups, " groups, found ",
         ToText(x), " with ", image.channels, " channels");
  }
  for (const std::size_t i : {kGamma, kBeta, kBias}) {
    if (c.HasInput(i) && (c.Input(i).rank() != 1 || c.Input(i).count != image.channels)) {
      Fail(Code::kInvalidArgument, "input ", i, ": expected one value for each of the ", image.channels,
           " channels, found shape ", ToText(c.Input(i).shape));
    }
  }
  return image;
}

// Whether `skip` has one value for each image and channel, not one for each element of X.
bool SkipRepeats(KernelContext& c, const Image& image) {
  const Dims x = c.Input(kX).shape, skip = c.Input(kSkip).shape;
  if (std::ranges::equal(x, skip)) return false;
  bool fits = skip.size() == 2 || skip.size() == x.size();
  const std::size_t channel = image.last || skip.size() == 2 ? skip.size() - 1 : 1;
  for (std::size_t i = 0; fits && i < skip.size(); ++i)
    fits = skip[i] == (i == 0 ? image.batch : i == channel ? image.channels : 1);
  if (!fits) {
    Fail(Code::kInvalidArgument, "input 3 ('skip'): expected the shape of X, ", ToText(x),
         ", or one value for each of ", image.batch, " images and ", image.channels, " channels, found shape ",
         ToText(skip));
  }
  return true;
}

// sum = X + skip + bias.
void AddSkip(const Operands& io, const Image& image, bool repeats, float* sum, Parallel& parallel) {
  const float *x = io.In<float>(kX), *skip = io.In<float>(kSkip), *bias = io.In<float>(kBias);
  const auto& kernel = kernels::AffineF32();
  const std::int64_t width = image.last ? image.channels : image.pixels,
                     rows = image.batch * (image.last ? image.pixels : image.channels);
  parallel.For(rows, std::max<std::int64_t>(1, kGrain / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * width;
      if (image.last) {
        kernel.add(x + at, skip + (repeats ? row / image.pixels * width : at), bias, width, sum + at);
        continue;
      }
      const float added = bias == nullptr ? 0 : bias[row % image.channels];
      if (!repeats) kernel.add(x + at, skip + at, nullptr, width, sum + at);
      kernel.scalar(repeats ? x + at : sum + at, width, 0, 1, repeats ? skip[row] + added : added, sum + at);
    }
  });
}

void Normalize(const State& state, const Image& image, const Operands& io, const float* x, Parallel& parallel,
               std::byte* scratch) {
  if (image.last) {
    kernels::GroupNormLastArgs args;
    args.batch = image.batch, args.pixels = image.pixels, args.channels = image.channels;
    args.groups = state.groups, args.epsilon = state.epsilon;
    args.x = x, args.scale = io.In<float>(kGamma), args.bias = io.In<float>(kBeta), args.y = io.Out<float>(0);
    return kernels::GroupNormLastF32(args, parallel, scratch);
  }
  GroupPlanes<float> planes;
  planes.batch = image.batch, planes.channels = image.channels, planes.pixels = image.pixels;
  planes.groups = state.groups, planes.epsilon = state.epsilon;
  planes.x = x, planes.scale = io.In<float>(kGamma), planes.bias = io.In<float>(kBeta), planes.y = io.Out<float>(0);
  NormalizeGroups(planes, parallel);
}

void RunGroupNorm(KernelContext& c) {
  const State& state = c.state<State>();
  const Image image = ReadImage(c, state);
  const bool repeats = c.HasInput(kSkip) && SkipRepeats(c, image);
  if (c.Input(kX).count == 0) return;
  Operands io(c, DType::kFloat);
  kernels::GroupNormLastArgs sizes;
  sizes.batch = image.batch, sizes.pixels = image.pixels, sizes.channels = image.channels, sizes.groups = state.groups;
  const std::size_t scratch = io.Add(image.last ? kernels::GroupNormLastScratchBytes(sizes) : 0);
  const Operands::Computing computing(io);
  const float* x = io.In<float>(kX);
  if (c.HasInput(kSkip)) {
    float* sum = c.HasOutput(1) ? io.Out<float>(1) : io.Out<float>(0);
    AddSkip(io, image, repeats, sum, c.parallel());
    x = sum;
  }
  Normalize(state, image, io, x, c.parallel(), io.At(scratch));
  if (!state.silu) return;
  float* y = io.Out<float>(0);
  c.parallel().For(c.Output(0).count, kHeavyGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels::UnaryF32(kernels::UnaryKind::kSwish)(y + begin, y + begin, static_cast<std::size_t>(end - begin), 1, 0);
  });
}

Prepared PrepareGroupNorm(PrepareContext& c) {
  State state;
  state.epsilon = static_cast<double>(c.Float("epsilon", 1e-5f));
  state.groups = c.Int("groups");
  state.channels_last = c.Flag("channels_last", true);
  const std::int64_t activation = c.Int("activation");
  if (state.groups < 1) c.Fail(Code::kInvalidArgument, "attribute 'groups': expected at least 1, found ", state.groups);
  if (activation != 0 && activation != 1) {
    c.Fail(Code::kInvalidArgument, "attribute 'activation': expected 0 (none) or 1 (SiLU), found ", activation);
  }
  state.silu = activation == 1;
  return WithState(RunGroupNorm, state);
}

constexpr OpDef Row(std::string_view name) {
  return {.domain = "com.microsoft",
          .name = name,
          .since = {1},
          .types = {DType::kFloat, DType::kFloat16},
          .infer = InferGroupNorm,
          .prepare = PrepareGroupNorm,
          .cost = CountNormalization};
}

constexpr OpDef kGroupNormOps[] = {Row("GroupNorm"), Row("SkipGroupNorm")};

}  // namespace

std::span<const OpDef> GroupNormOps() { return kGroupNormOps; }

}  // namespace sardonyx::ops
