// ops/nn/global_pool.cpp - GlobalAveragePool, GlobalMaxPool and GlobalLpPool: one number per plane.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reduce/reduce_f32.h"
#include "ops/channels_last.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/nn/infer_images.h"
#include "ops/nn/lp_power.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"
#include "ops/schema/schema.h"
#include "ops/shapes/layout_images.h"

namespace sardonyx::ops {
namespace {

enum class GlobalKind : std::uint8_t { kAverage, kMax, kLp };

struct GlobalState {
  GlobalKind kind = GlobalKind::kAverage;
  double p = 2;
};

}  // namespace

void InferGlobalPool(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  if (c.Rank(0) < 2) c.Fail(Code::kInvalidArgument, "expected an input [N, C, ...], found ", c.InputType(0).ToText());
  std::vector<Dim> dims(c.Rank(0), Dim(1));
  const std::size_t channels = IsChannelsLast(c) ? c.Rank(0) - 1 : 1;
  dims[0] = c.InputDims(0)[0];
  dims[channels] = c.InputDims(0)[channels];
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

namespace {

double Plane(const GlobalState& state, const float* x, std::int64_t n) {
  using kernels::ReduceKind;
  const auto& kernel = kernels::ReduceF32();
  if (state.kind == GlobalKind::kAverage) return kernel.row(ReduceKind::kSum, x, n) / static_cast<double>(n);
  if (state.kind == GlobalKind::kMax) return kernel.row(ReduceKind::kMax, x, n);
  if (state.p == 1) return kernel.row(ReduceKind::kSumAbs, x, n);
  if (state.p == 2) return std::sqrt(kernel.row(ReduceKind::kSumSquare, x, n));
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::pow(std::abs(static_cast<double>(x[i])), state.p);
  return std::pow(sum, 1 / state.p);
}

double Plane(const GlobalState& state, const double* x, std::int64_t n) {
  double sum = 0, max = -HUGE_VAL;
  for (std::int64_t i = 0; i < n; ++i) {
    max = x[i] > max || x[i] != x[i] ? x[i] : max;
    sum += state.kind == GlobalKind::kLp ? std::pow(std::abs(x[i]), state.p) : x[i];
  }
  if (state.kind == GlobalKind::kMax) return max;
  return state.kind == GlobalKind::kAverage ? sum / static_cast<double>(n) : std::pow(sum, 1 / state.p);
}

template <typename T>
void RunGlobal(KernelContext& c) {
  const auto& state = c.state<GlobalState>();
  const Dims shape = c.Input(0).shape;
  if (c.Output(0).count == 0) return;
  const std::int64_t n = ElementCount(shape, 2, shape.size());
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  const T* x = io.In<T>(0);
  T* y = io.Out<T>(0);
  c.parallel().For(c.Output(0).count, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(n, 1)),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(Plane(state, x + i * n, n));
                   });
}

// The plane of channel k is every C-th element from x + k on.
template <typename T>
void RunGlobalLast(KernelContext& c) {
  const auto& state = c.state<GlobalState>();
  const Dims shape = c.Input(0).shape;
  if (c.Output(0).count == 0) return;
  const std::int64_t channels = shape.back(), n = ElementCount(shape, 1, shape.size() - 1);
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  const T* x = io.In<T>(0);
  T* y = io.Out<T>(0);
  const bool max = state.kind == GlobalKind::kMax;
  c.parallel().For(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> sums(static_cast<std::size_t>(channels));
    for (std::int64_t image = begin; image < end; ++image) {
      std::fill(sums.begin(), sums.end(), max ? -HUGE_VAL : 0.0);
      const T* from = x + image * n * channels;
      for (std::int64_t at = 0; at < n; ++at, from += channels) {
        for (std::int64_t k = 0; k < channels; ++k) {
          double& sum = sums[static_cast<std::size_t>(k)];
          const auto element = static_cast<double>(from[k]);
          sum = !max ? sum + element : element > sum || element != element ? element : sum;
        }
      }
      for (std::int64_t k = 0; k < channels; ++k) {
        const double sum = sums[static_cast<std::size_t>(k)];
        y[image * channels + k] = static_cast<T>(max ? sum : sum / static_cast<double>(n));
      }
    }
  });
}

Prepared PrepareGlobal(PrepareContext& c) {
  GlobalState state;
  state.kind = c.op_type() == "GlobalMaxPool"  ? GlobalKind::kMax
               : c.op_type() == "GlobalLpPool" ? GlobalKind::kLp
                                               : GlobalKind::kAverage;
  state.p = static_cast<double>(c.Int("p", 2));
  const bool is_double = c.InputDType(0) == DType::kDouble;
  if (IsChannelsLast(c)) return WithState(is_double ? RunGlobalLast<double> : RunGlobalLast<float>, state);
  return WithState(is_double ? RunGlobal<double> : RunGlobal<float>, state);
}

bool DescribeGlobalPool(const Graph& graph, const Node& node, NodeLayout& layout) {
  const std::int64_t p = IntAttribute(node, "p", 2);
  if (node.op_type == "GlobalLpPool" && p != 1 && p != 2) return false;
  return DescribeMain(graph, node, layout);
}

// The reduction of all axes but the first and the last.
void ChangeGlobalPool(const LayoutChange& c) {
  Node& node = c.node();
  const bool l1 = IntAttribute(node, "p", 2) == 1;
  node.op_type = node.op_type == "GlobalAveragePool" ? "ReduceMean"
                 : node.op_type == "GlobalMaxPool"   ? "ReduceMax"
                 : l1                                ? "ReduceL1"
                                                     : "ReduceL2";
  node.since_version = FindSchema("", node.op_type)->since_version;
  node.RemoveAttribute("p");
  std::vector<std::int64_t> axes;
  for (std::size_t i = 1; i + 1 < c.input_types[0].rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  SetInts(c, 1, "axes_last", axes);
}

constexpr LayoutDef kGlobalPoolLayout = {"becomes a reduction", DescribeGlobalPool, ChangeGlobalPool};
constexpr LayoutDef kQLinearGlobalLayout = {"attribute channels_last", DescribeMain, SetChannelsLast};

constexpr OpDef LastRow(std::string_view name) {
  return {.domain = kChannelsLastDomain,
          .name = name,
          .since = {1},
          .types = kIeeeFloats,
          .infer = InferGlobalPool,
          .prepare = PrepareGlobal,
          .cost = CountOncePerInput};
}

constexpr OpDef kGlobalPoolOps[] = {
    LastRow("GlobalAveragePool"),
    LastRow("GlobalMaxPool"),
    {.name = "GlobalAveragePool",
     .since = {1, 22},
     .types = kIeeeFloats,
     .infer = InferGlobalPool,
     .prepare = PrepareGlobal,
     .cost = CountOncePerInput,
     .layout = &kGlobalPoolLayout},
    {.name = "GlobalLpPool",
     .since = {1, 2, 22},
     .types = kIeeeFloats,
     .infer = InferGlobalPool,
     .prepare = PrepareGlobal,
     .upgrade = UpgradeLpPower,
     .cost = CountOncePerInput,
     .layout = &kGlobalPoolLayout},
    {.name = "GlobalMaxPool",
     .since = {1, 22},
     .types = kIeeeFloats,
     .infer = InferGlobalPool,
     .prepare = PrepareGlobal,
     .cost = CountOncePerInput,
     .layout = &kGlobalPoolLayout},
    {.domain = "com.microsoft",
     .name = "QLinearGlobalAveragePool",
     .since = {1},
     .types = kQuantized8,
     .infer = InferQLinearGlobalMean,
     .prepare = PrepareQLinearGlobalMean,
     .cost = CountOncePerInput,
     .layout = &kQLinearGlobalLayout},
};

}  // namespace

std::span<const OpDef> GlobalPoolOps() { return kGlobalPoolOps; }

}  // namespace sardonyx::ops
