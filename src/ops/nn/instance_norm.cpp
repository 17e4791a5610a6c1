// ops/nn/instance_norm.cpp - InstanceNormalization, GroupNormalization, MeanVarianceNormalization, LpNormalization and
// LRN.
#include <algorithm>
#include <cmath>

#include "kernels/norm/affine_f32.h"
#include "kernels/norm/group_norm_last_f32.h"
#include "kernels/norm/short_rows.h"
#include "kernels/reduce/reduce_any.h"
#include "ops/channels_last.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/nn/group_planes.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/layout_images.h"
#include "ops/shapes/reduce_plan.h"
#include "ops/spell_context.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

struct GroupState {
  double epsilon = 1e-5;
  std::int64_t groups = 0;  // 0: one for each channel
};

// How many groups the channels make, after checking that scale and bias fit.
std::int64_t CheckedGroups(KernelContext& c, std::int64_t channels) {
  const std::int64_t groups = c.state<GroupState>().groups == 0 ? channels : c.state<GroupState>().groups;
  if (channels % groups != 0) {
    Fail(Code::kInvalidArgument, "expected channels divisible by ", groups, " groups, found ",
         ToText(c.Input(0).shape));
  }
  const std::int64_t each = c.Input(1).count == groups ? groups : channels;
  for (const std::size_t i : {1u, 2u}) {
    if (c.Input(i).count != each) {
      Fail(Code::kInvalidArgument, "expected ", each, " values of the ", i == 1 ? "scale" : "bias", " (input ", i,
           "), found ", ToText(c.Input(i).shape));
    }
  }
  return groups;
}

void RunGroupNormLast(KernelContext& c) {
  const Dims shape = c.Input(0).shape;
  if (c.Input(0).count == 0) return;
  if (shape.size() < 3) Fail(Code::kInvalidArgument, "expected an input [N, ..., C], found ", ToText(shape));
  kernels::GroupNormLastArgs args;
  args.batch = shape[0], args.channels = shape[shape.size() - 1];
  args.pixels = ElementCount(shape, 1, shape.size() - 1);
  args.groups = CheckedGroups(c, args.channels);
  args.epsilon = c.state<GroupState>().epsilon;
  args.per_group = c.Input(1).count != args.channels;
  Operands io(c, DType::kFloat);
  const std::size_t scratch = io.Add(kernels::GroupNormLastScratchBytes(args));
  const Operands::Computing computing(io);
  args.x = io.In<float>(0), args.scale = io.In<float>(1), args.bias = io.In<float>(2), args.y = io.Out<float>(0);
  kernels::GroupNormLastF32(args, c.parallel(), io.At(scratch));
}

template <typename T>
void RunGroupNorm(KernelContext& c) {
  const auto& state = c.state<GroupState>();
  const Dims shape = c.Input(0).shape;
  if (c.Input(0).count == 0) return;
  if (shape.size() < 2) Fail(Code::kInvalidArgument, "expected an input [N, C, ...], found ", ToText(shape));
  GroupPlanes<T> planes;
  planes.batch = shape[0], planes.channels = shape[1], planes.pixels = ElementCount(shape, 2, shape.size());
  planes.groups = CheckedGroups(c, planes.channels);
  planes.epsilon = state.epsilon;
  planes.per_group = c.Input(1).count != planes.channels;  // in version 18
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  planes.x = io.In<T>(0), planes.scale = io.In<T>(1), planes.bias = io.In<T>(2), planes.y = io.Out<T>(0);
  NormalizeGroups(planes, c.parallel());
}

Prepared PrepareGroupNorm(PrepareContext& c) {
  GroupState state;
  state.epsilon = static_cast<double>(c.Float("epsilon", 1e-5f));
  if (c.op_type() == "GroupNormalization") {
    state.groups = c.Int("num_groups");
    if (state.groups < 1)
      c.Fail(Code::kInvalidArgument, "attribute 'num_groups': expected at least 1, found ", state.groups);
  }
  if (IsChannelsLast(c)) return WithState(RunGroupNormLast, state);
  return WithState(c.InputDType(0) == DType::kDouble ? RunGroupNorm<double> : RunGroupNorm<float>, state);
}

struct AxesState {
  std::vector<std::int64_t> axes;
  std::int64_t p = 0;  // LpNormalization: 1 or 2; 0: mean and variance
  bool divides = true;
  bool images = false;  // the axes are those of [N, C, H, W], of which an input may lack the last
};

ReducedAxes MarkedAxes(const AxesState& state, std::size_t rank) {
  std::vector<std::int64_t> axes = state.axes;
  if (state.images) std::erase_if(axes, [&](std::int64_t axis) { return axis >= static_cast<std::int64_t>(rank); });
  return MarkAxes(axes, rank);
}

// What the differences from the mean are divided by, from the sum of their sizes or squares.
double Divisor(const AxesState& state, double sum, double count) {
  if (state.p == 0) sum = std::sqrt(sum / count) + 1e-9;
  if (state.p == 2) sum = std::sqrt(sum);
  return sum == 0 || !state.divides ? 1 : sum;  // nothing but zeros stays that
}

double SumOfSizes(const float* x, std::int64_t n) {
  return kernels::ReduceF32().row(kernels::ReduceKind::kSumAbs, x, n);
}
double SumOfSizes(const double* x, std::int64_t n) {
  return kernels::ReduceAny().Sums<double>().row(kernels::ReduceKind::kSumAbs, x, n);
}

// Group i, element by element, in double.
template <typename T>
void NormElements(const AxesState& state, const ReducePlan& p, std::int64_t i, const T* x, T* y) {
  const std::int64_t base = p.KeptOffset(i / p.inner) + i % p.inner;
  const auto for_each = [&](auto step) {
    for (std::int64_t r = 0; r < p.repeats; ++r) {
      const std::int64_t at = base + p.ReducedOffset(r);
      for (std::int64_t k = 0; k < p.n; ++k) step(at + k * p.inner);
    }
  };
  const auto count = static_cast<double>(p.reduced_total);
  double mean = 0, sum = 0;
  if (state.p == 0) for_each([&](std::int64_t at) { mean += static_cast<double>(x[at]); });
  mean /= count;
  for_each([&](std::int64_t at) {
    const double v = static_cast<double>(x[at]) - mean;
    sum += state.p == 1 ? std::abs(v) : v * v;
  });
  const double divisor = Divisor(state, sum, count);
  for_each([&](std::int64_t at) { y[at] = static_cast<T>((static_cast<double>(x[at]) - mean) / divisor); });
}

// Group i, whose blocks are contiguous rows. False where the sums leave the range in which floats are exact enough.
template <typename T>
bool NormRows(const AxesState& state, const ReducePlan& p, std::int64_t i, const T* x, T* y) {
  const auto count = static_cast<double>(p.reduced_total);
  const std::int64_t base = p.KeptOffset(i);
  double total = 0, sum = 0;
  for (std::int64_t r = 0; state.p == 0 && r < p.repeats; ++r) total += Sum(x + base + p.ReducedOffset(r), p.n);
  const T mean = static_cast<T>(total / count);
  for (std::int64_t r = 0; r < p.repeats; ++r) {
    const T* row = x + base + p.ReducedOffset(r);
    sum += state.p == 1 ? SumOfSizes(row, p.n) : Deviations(row, p.n, mean);
  }
  if (!(sum > 1e-25 && sum < 1e25)) return false;
  const T factor = static_cast<T>(1 / Divisor(state, sum, count));
  for (std::int64_t r = 0; r < p.repeats; ++r) {
    const std::int64_t at = base + p.ReducedOffset(r);
    Affine(x + at, p.n, mean, factor, T(0), y + at);
  }
  return true;
}

template <typename T>
void RunAxesNorm(KernelContext& c) {
  const auto& state = c.state<AxesState>();
  if (c.Input(0).count == 0) return;
  const ReducePlan p = MakeReducePlan(c.Input(0).shape, MarkedAxes(state, c.Input(0).rank()));
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  const T* x = io.In<T>(0);
  T* y = io.Out<T>(0);
  const std::int64_t grain = std::max<std::int64_t>(1, (p.inner == 1 ? 16384 : 4096) / p.reduced_total);
  using Short = kernels::ShortRows<T>;
  const bool is_short = state.p != 0 && p.inner == 1 && p.repeats == 1 && p.n <= Short::kMost &&
                        (p.outer == 1 || p.KeptOffset(1) == p.n);
  const kernels::RowSize size = state.p == 1 ? kernels::RowSize::kSumAbs : kernels::RowSize::kRootSumSquare;
  c.parallel().For(p.outer * p.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (is_short) i += kernels::DivideShortRows(Short{size, x + i * p.n, y + i * p.n, end - i, p.n});
      if (i == end) return;
      if (p.inner != 1 || !NormRows(state, p, i, x, y)) NormElements(state, p, i, x, y);
    }
  });
}

Prepared PrepareAxesNorm(PrepareContext& c) {
  AxesState state;
  if (c.op_type() == "LpNormalization") {
    state.p = c.Int("p", 2);
    if (state.p != 1 && state.p != 2) c.Fail(Code::kInvalidArgument, "attribute 'p': expected 1 or 2, found ", state.p);
    state.axes = {c.Int("axis", -1)};
  } else {
    state.axes = c.Has("axes") ? c.Ints("axes") : std::vector<std::int64_t>{0, 2, 3};
    state.images = !c.Has("axes");
  }
  return WithState(c.InputDType(0) == DType::kDouble ? RunAxesNorm<double> : RunAxesNorm<float>, std::move(state));
}

// The experiment that version 9 replaced.
Prepared PrepareFirstMeanVariance(PrepareContext& c) {
  AxesState state;
  state.axes = c.Flag("across_channels") ? std::vector<std::int64_t>{0, 1, 2, 3} : std::vector<std::int64_t>{0, 2, 3};
  state.divides = c.Int("normalize_variance", 1) != 0;
  state.images = true;
  return WithState(c.InputDType(0) == DType::kDouble ? RunAxesNorm<double> : RunAxesNorm<float>, std::move(state));
}

struct LrnState {
  std::int64_t size = 1;
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
};

template <typename T>
void LrnPlain(const LrnState& s, const T* x, std::int64_t channels, std::int64_t pixels, T* y) {
  const std::int64_t before = (s.size - 1) / 2, after = s.size - 1 - before;
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      double sum = 0;
      for (std::int64_t k = std::max<std::int64_t>(0, channel - before); k <= std::min(channels - 1, channel + after);
           ++k) {
        sum += static_cast<double>(x[k * pixels + i]) * static_cast<double>(x[k * pixels + i]);
      }
      const double base =
          static_cast<double>(s.bias) + static_cast<double>(s.alpha) / static_cast<double>(s.size) * sum;
      const std::int64_t at = channel * pixels + i;
      y[at] = static_cast<T>(static_cast<double>(x[at]) / std::pow(base, static_cast<double>(s.beta)));
    }
  }
}

template <typename T>
void RunLrn(KernelContext& c) {
  const auto& s = c.state<LrnState>();
  const Dims shape = c.Input(0).shape;
  if (c.Input(0).count == 0) return;
  if (shape.size() < 2) Fail(Code::kInvalidArgument, "expected an input [N, C, ...], found ", ToText(shape));
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  const std::int64_t channels = shape[1], pixels = ElementCount(shape, 2, shape.size());
  constexpr std::int64_t kTile = 256;  // pixels of one piece of work
  const std::int64_t tiles = (pixels + kTile - 1) / kTile;
  const std::int64_t before = (s.size - 1) / 2, after = s.size - 1 - before;
  c.parallel().For(shape[0] * tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t plane = i / tiles * channels * pixels, at = i % tiles * kTile;
      const T* x = io.In<T>(0) + plane;
      T* y = io.Out<T>(0) + plane;
      if constexpr (std::is_same_v<T, float>) {
        if (s.beta == 0.75f) {
          kernels::AffineF32().lrn(x + at, channels, pixels, std::min(kTile, pixels - at), before, after,
                                   s.alpha / static_cast<float>(s.size), s.bias, y + at);
          continue;
        }
      }
      if (at == 0) LrnPlain(s, x, channels, pixels, y);
    }
  });
}

Prepared PrepareLrn(PrepareContext& c) {
  LrnState state;
  state.size = c.Int("size");
  if (state.size < 1) c.Fail(Code::kInvalidArgument, "attribute 'size': expected at least 1, found ", state.size);
  state.alpha = c.Float("alpha", 1e-4f);
  state.beta = c.Float("beta", 0.75f);
  state.bias = c.Float("bias", 1);
  return WithState(c.InputDType(0) == DType::kDouble ? RunLrn<double> : RunLrn<float>, state);
}

void TakeConsumedInputs(UpgradeContext& c) { c.Take("consumed_inputs"); }

// One scale and bias for each group becomes one for each channel.
void SpellGroupNorm(SpellContext& c) {
  const Type& x = c.InputType(0);
  const std::int64_t groups = IntAttribute(c.node(), "num_groups", 1);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const ValueId given = c.node().inputs[i];
    const Type type = c.InputType(i);
    if (!type.has_rank || type.rank() != 1 || !type.dims[0].known() || type.dims[0].number() != groups) continue;
    if (!x.has_rank || x.rank() < 2 || !x.dims[1].known())
      c.Fail("a scale and a bias for each group cannot be written for an unknown number of channels");
    const std::int64_t channels = x.dims[1].number();
    if (channels == groups) continue;
    const Type column = Type::TensorOf(type.dtype, Shape{groups, 1});
    const Type square = Type::TensorOf(type.dtype, Shape{groups, channels / groups});
    const ValueId rows = c.Add("Reshape", {given, c.Longs({groups, 1})}, {}, column);
    const ValueId repeated = c.Add("Expand", {rows, c.Longs({groups, channels / groups})}, {}, square);
    const Type all = Type::TensorOf(type.dtype, Shape{channels});
    c.graph().SetInput(c.id(), i, c.Add("Reshape", {repeated, c.Longs({channels})}, {}, all));
  }
}

constexpr OpDef LastRow(std::string_view name) {
  return {.domain = kChannelsLastDomain,
          .name = name,
          .since = {1},
          .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
          .infer = InferSameAsInput,
          .prepare = PrepareGroupNorm,
          .cost = CountNormalization};
}

constexpr OpDef kInstanceNormOps[] = {
    LastRow("GroupNormalization"),
    LastRow("InstanceNormalization"),
    {.name = "GroupNormalization",
     .since = {18, 21},
     .types = kIeeeFloats,
     .infer = InferSameAsInput,
     .prepare = PrepareGroupNorm,
     .cost = CountNormalization,
     .layout = &kMovedFloatLayout,
     .spell = {21, SpellGroupNorm}},
    {.name = "InstanceNormalization",
     .since = {1, 6, 22},
     .types = kIeeeFloats,
     .infer = InferSameAsInput,
     .prepare = PrepareGroupNorm,
     .upgrade = TakeConsumedInputs,
     .cost = CountNormalization,
     .layout = &kMovedFloatLayout},
    {.name = "LRN", .since = {1, 13}, .types = kIeeeFloats, .infer = InferSameAsInput, .prepare = PrepareLrn},
    {.name = "LpNormalization",
     .since = {1, 22},
     .types = kIeeeFloats,
     .infer = InferSameAsInput,
     .prepare = PrepareAxesNorm,
     .cost = CountNormalization},
    {.name = "MeanVarianceNormalization",
     .since = {1},
     .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
     .infer = InferSameAsInput,
     .prepare = PrepareFirstMeanVariance,
     .cost = CountNormalization},
    {.name = "MeanVarianceNormalization",
     .since = {9, 13},
     .types = kIeeeFloats,
     .infer = InferSameAsInput,
     .prepare = PrepareAxesNorm,
     .cost = CountNormalization},
};

}  // namespace

std::span<const OpDef> InstanceNormOps() { return kInstanceNormOps; }

}  // namespace sardonyx::ops
