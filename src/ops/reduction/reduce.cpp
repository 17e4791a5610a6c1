// ops/reduction/reduce.cpp - ReduceSum, ReduceMean, ReduceMax and the other seven, over any axes and all types.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "kernels/reduce/reduce_f32.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/quantized_operators.h"
#include "ops/reduction/reduce_any.h"
#include "ops/reduction/reduce_layout.h"
#include "ops/registry.h"
#include "ops/shapes/reduce_plan.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using kernels::ReduceKind;

struct Name {
  std::string_view name;
  Reduction reduction;
};
constexpr Name kNames[] = {{"ReduceSum", Reduction::kSum},
                           {"ReduceMean", Reduction::kMean},
                           {"ReduceMax", Reduction::kMax},
                           {"ReduceMin", Reduction::kMin},
                           {"ReduceProd", Reduction::kProd},
                           {"ReduceL1", Reduction::kL1},
                           {"ReduceL2", Reduction::kL2},
                           {"ReduceLogSum", Reduction::kLogSum},
                           {"ReduceSumSquare", Reduction::kSumSquare},
                           {"ReduceLogSumExp", Reduction::kLogSumExp}};

struct ReduceState {
  Reduction reduction = Reduction::kSum;
  bool keepdims = true;
  bool noop_with_empty_axes = false;
};

ReduceState ReadReduce(const AttributeReader& c) {
  ReduceState state;
  for (const Name& row : kNames) {
    if (c.op_type() == row.name) state.reduction = row.reduction;
  }
  state.keepdims = c.Int("keepdims", 1) == 1;
  state.noop_with_empty_axes = c.Flag("noop_with_empty_axes");
  return state;
}

// Which axes are reduced. A scalar may be reduced along an axis 0 that it lacks, as exporters write it.
ReducedAxes AxesOf(std::span<const std::int64_t> axes, std::size_t rank, bool noop_with_empty_axes) {
  const auto is_first = [](std::int64_t axis) { return axis == 0 || axis == -1; };
  if (rank == 0 && std::all_of(axes.begin(), axes.end(), is_first)) axes = {};
  return MarkAxes(axes, rank, axes.empty() && !noop_with_empty_axes);
}

void InferShapeData(InferContext& c, Reduction reduction) {
  const auto data = c.ShapeData(0);
  if (!data || c.Rank(0) != 1 || c.Int("keepdims", 1) == 1 || data->empty()) return;
  Dim result = (*data)[0];
  for (std::size_t i = 1; i < data->size(); ++i) {
    const Dim& next = (*data)[i];
    switch (reduction) {
      case Reduction::kSum:
        result = result + next;
        break;
      case Reduction::kProd:
        result = result * next;
        break;
      case Reduction::kMax:
        result = Max(result, next);
        break;
      case Reduction::kMin:
        result = Min(result, next);
        break;
      default:
        return;
    }
  }
  c.SetShapeData(0, {result});
}

void InferReduce(InferContext& c) {
  const ReduceState state = ReadReduce(c);
  const DType dtype = c.InputDType(0);
  if (!c.HasRank(0)) return c.SetOutput(0, dtype);
  std::optional<std::vector<std::int64_t>> axes = std::vector<std::int64_t>();
  if (c.HasInput(1)) axes = c.ConstantInts(1);
  if (!axes) {
    const Type& type = c.InputType(1);
    const bool one = type.has_rank && type.rank() == 1 && type.dims[0].known() && type.dims[0].number() == 1;
    if (state.keepdims) return c.SetOutput(0, dtype, std::vector<Dim>(c.Rank(0)));
    // Of several axes some may be the same.
    if (!one || c.Rank(0) == 0) return c.SetOutput(0, dtype);
    return c.SetOutput(0, dtype, std::vector<Dim>(c.Rank(0) - 1));
  }
  const ReducedAxes reduced = AxesOf(*axes, c.Rank(0), state.noop_with_empty_axes);
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < c.Rank(0); ++i) {
    if (!reduced[i])
      dims.push_back(c.InputDims(0)[i]);
    else if (state.keepdims)
      dims.push_back(Dim(1));
  }
  c.SetOutput(0, dtype, std::move(dims));
  if (c.Rank(0) == 1 && reduced[0]) InferShapeData(c, state.reduction);
}

// Allocates the output and returns the plan.
ReducePlan Begin(KernelContext& c) {
  const auto& state = c.state<ReduceState>();
  const Dims shape = c.Input(0).shape;
  std::span<const std::int64_t> axes;
  if (c.HasInput(1)) axes = c.Input(1).Span<const std::int64_t>();
  const ReducedAxes reduced = AxesOf(axes, shape.size(), state.noop_with_empty_axes);
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i])
      out.Append(shape[i]);
    else if (state.keepdims)
      out.Append(1);
  }
  c.Output(0, out);
  return MakeReducePlan(shape, reduced);
}

double Join(ReduceKind kind, double a, double b) {
  switch (kind) {
    case ReduceKind::kMax:
      return b > a || b != b ? b : a;
    case ReduceKind::kMin:
      return b < a || b != b ? b : a;
    case ReduceKind::kProd:
      return a * b;
    default:
      return a + b;
  }
}

double Finish(Reduction reduction, double value, std::int64_t count) {
  switch (reduction) {
    case Reduction::kMean:
      return value / static_cast<double>(count);
    case Reduction::kL2:
      return std::sqrt(value);
    case Reduction::kLogSum:
      return std::log(value);
    default:
      return value;
  }
}

bool NeedsFinish(Reduction reduction) {
  return reduction == Reduction::kMean || reduction == Reduction::kL2 || reduction == Reduction::kLogSum;
}

// Rows that lie one after the other, each with an output of its own, and none so long that threads should share it.
bool IsPlain(const ReducePlan& p) {
  return p.repeats == 1 && p.n > 0 && p.n <= kReducePiece &&
         (p.kept_count == 0 || (p.kept_count == 1 && p.kept[0].stride == p.n));
}

void ReducePlainRows(KernelContext& c, const ReducePlan& p, Reduction reduction, const float* x, float* y) {
  const kernels::ReduceF32Set& kernel = kernels::ReduceF32();
  const ReduceKind kind = KindOf(reduction);
  const bool finish = NeedsFinish(reduction);
  c.parallel().For(p.outer, std::max<std::int64_t>(1, kReduceGrain / p.n), [&](std::int64_t begin, std::int64_t end) {
    if (p.n <= kernels::kShortRow) {
      kernel.short_rows(kind, x + begin * p.n, end - begin, p.n, y + begin);
      for (std::int64_t o = begin; finish && o < end; ++o)
        y[o] = static_cast<float>(Finish(reduction, static_cast<double>(y[o]), p.n));
      return;
    }
    for (std::int64_t o = begin; o < end; ++o)
      y[o] = static_cast<float>(Finish(reduction, kernel.row(kind, x + o * p.n, p.n), p.n));
  });
}

// Rows: every piece of every row on its own, joined in order, so that threads do not change the bits.
void ReduceRows(KernelContext& c, const ReducePlan& p, Reduction reduction, const float* x, float* y, double* partial) {
  const kernels::ReduceF32Set& kernel = kernels::ReduceF32();
  const ReduceKind kind = KindOf(reduction);
  const std::int64_t pieces = (p.n + kReducePiece - 1) / kReducePiece, per_output = p.repeats * pieces;
  const std::int64_t grain = std::max<std::int64_t>(1, kReduceGrain / std::min(p.n, kReducePiece));
  c.parallel().For(p.outer * per_output, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t rest = i % per_output, piece = rest % pieces * kReducePiece;
      const float* row = x + p.KeptOffset(i / per_output) + p.ReducedOffset(rest / pieces) + piece;
      partial[i] = kernel.row(kind, row, std::min(kReducePiece, p.n - piece));
    }
  });
  for (std::int64_t o = 0; o < p.outer; ++o) {
    double value = static_cast<double>(kernels::ReduceIdentity(kind));
    for (std::int64_t i = 0; i < per_output; ++i) value = Join(kind, value, partial[o * per_output + i]);
    y[o] = static_cast<float>(Finish(reduction, value, p.reduced_total));
  }
}

// log(sum(e^x)) of rows, from their maximum so that nothing overflows.
void LogSumExpRows(KernelContext& c, const ReducePlan& p, const float* x, float* y) {
  const kernels::ReduceF32Set& kernel = kernels::ReduceF32();
  const std::int64_t grain = std::max<std::int64_t>(1, kReduceGrain / std::max<std::int64_t>(1, p.reduced_total));
  c.parallel().For(p.outer, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      const float* base = x + p.KeptOffset(o);
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t r = 0; r < p.repeats; ++r) {
        max = Join(ReduceKind::kMax, max, kernel.row(ReduceKind::kMax, base + p.ReducedOffset(r), p.n));
      }
      const float shift = std::isinf(max) ? 0.0f : static_cast<float>(max);
      for (std::int64_t r = 0; r < p.repeats; ++r) sum += kernel.sum_exp(base + p.ReducedOffset(r), p.n, shift);
      y[o] = std::isinf(max) ? static_cast<float>(max) : static_cast<float>(std::log(sum) + static_cast<double>(shift));
    }
  });
}

void ReduceColumns(KernelContext& c, const ReducePlan& p, Reduction reduction, const float* x, float* y) {
  const kernels::ReduceF32Set& kernel = kernels::ReduceF32();
  const ReduceKind kind = KindOf(reduction);
  // Memory is read faster in long runs; threads share short ones where there are few of them.
  const std::int64_t tile = p.outer >= c.parallel().ThreadCount() ? 1024 : 256;
  const std::int64_t tiles = (p.inner + tile - 1) / tile;
  const std::int64_t work = std::max<std::int64_t>(1, p.reduced_total * std::min(tile, p.inner));
  const bool finish = NeedsFinish(reduction);
  c.parallel().For(p.outer * tiles, std::max<std::int64_t>(1, kReduceGrain / work),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t at = i % tiles * tile, columns = std::min(tile, p.inner - at);
                       const float* base = x + p.KeptOffset(i / tiles) + at;
                       float* to = y + i / tiles * p.inner + at;
                       std::fill_n(to, columns, kernels::ReduceIdentity(kind));
                       for (std::int64_t r = 0; r < p.repeats; ++r) {
                         kernel.columns(kind, base + p.ReducedOffset(r), p.n, p.inner, columns, to);
                       }
                       for (std::int64_t k = 0; finish && k < columns; ++k) {
                         to[k] = static_cast<float>(Finish(reduction, static_cast<double>(to[k]), p.reduced_total));
                       }
                     }
                   });
}

// log(sum(e^x)) of `columns` neighbouring columns, at most kExpColumns, a few rows of exponentials at a time.
constexpr std::int64_t kExpColumns = 256, kExpRows = 16;

void LogSumExpTile(const ReducePlan& p, const float* base, std::int64_t columns, float* y) {
  const kernels::ReduceF32Set& kernel = kernels::ReduceF32();
  const kernels::BinaryFn* const subtract = kernels::Binary(kernels::BinaryKind::kSub, DType::kFloat).both;
  kernels::UnaryF32Fn* const exp = kernels::UnaryF32(kernels::UnaryKind::kExp);
  alignas(64) float shift[kExpColumns], powers[kExpRows * kExpColumns], part[kExpColumns];
  double sums[kExpColumns] = {};
  std::fill_n(y, columns, kernels::ReduceIdentity(ReduceKind::kMax));
  for (std::int64_t r = 0; r < p.repeats; ++r)
    kernel.columns(ReduceKind::kMax, base + p.ReducedOffset(r), p.n, p.inner, columns, y);
  std::transform(y, y + columns, shift, [](float max) { return std::isinf(max) ? 0.0f : max; });
  for (std::int64_t r = 0; r < p.repeats; ++r) {
    const float* x = base + p.ReducedOffset(r);
    for (std::int64_t k = 0; k < p.n; k += kExpRows) {
      const std::int64_t rows = std::min(kExpRows, p.n - k);
      for (std::int64_t i = 0; i < rows; ++i)
        subtract(x + (k + i) * p.inner, shift, powers + i * columns, static_cast<std::size_t>(columns));
      exp(powers, powers, static_cast<std::size_t>(rows * columns), 1, 0);
      std::fill_n(part, columns, 0.0f);
      kernel.columns(ReduceKind::kSum, powers, rows, columns, columns, part);
      for (std::int64_t j = 0; j < columns; ++j) sums[j] += static_cast<double>(part[j]);
    }
  }
  for (std::int64_t j = 0; j < columns; ++j)
    if (!std::isinf(y[j])) y[j] = static_cast<float>(std::log(sums[j]) + static_cast<double>(y[j]));
}

void LogSumExpColumns(KernelContext& c, const ReducePlan& p, const float* x, float* y) {
  const std::int64_t tiles = (p.inner + kExpColumns - 1) / kExpColumns;
  const std::int64_t work = std::max<std::int64_t>(1, p.reduced_total * std::min(kExpColumns, p.inner));
  c.parallel().For(p.outer * tiles, std::max<std::int64_t>(1, kReduceGrain / 4 / work),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t at = i % tiles * kExpColumns;
                       LogSumExpTile(p, x + p.KeptOffset(i / tiles) + at, std::min(kExpColumns, p.inner - at),
                                     y + i / tiles * p.inner + at);
                     }
                   });
}

template <typename T>
void RunAny(KernelContext& c) {
  const ReducePlan plan = Begin(c);
  if (c.Output(0).count == 0) return;
  ReduceAny<T>(c, plan, c.state<ReduceState>().reduction, c.Input(0).As<T>(), c.Output(0).As<T>());
}

void RunFloat(KernelContext& c) {
  const ReducePlan plan = Begin(c);
  const Reduction reduction = c.state<ReduceState>().reduction;
  if (c.Output(0).count == 0) return;
  Operands io(c, DType::kFloat, 2);
  const bool rows = plan.inner == 1 && plan.n > 0;
  const std::size_t partial = io.Add<double>(
      rows && !IsPlain(plan)
          ? static_cast<std::size_t>(plan.outer * plan.repeats * ((plan.n + kReducePiece - 1) / kReducePiece))
          : 0);
  const Operands::Computing computing(io);
  const float* x = io.In<float>(0);
  float* y = io.Out<float>(0);
  if (plan.reduced_total == 0) {
    ReduceAny<float>(c, plan, reduction, x, y);
  } else if (reduction == Reduction::kLogSumExp) {
    (rows ? LogSumExpRows : LogSumExpColumns)(c, plan, x, y);
  } else if (!rows) {
    ReduceColumns(c, plan, reduction, x, y);
  } else if (IsPlain(plan)) {
    ReducePlainRows(c, plan, reduction, x, y);
  } else {
    ReduceRows(c, plan, reduction, x, y, io.At<double>(partial));
  }
}

Prepared PrepareReduce(PrepareContext& c) {
  const ReduceState state = ReadReduce(c);
  const bool extreme = state.reduction == Reduction::kMax || state.reduction == Reduction::kMin;
  switch (c.InputDType(0)) {
    case DType::kDouble:
      return WithState(RunAny<double>, state);
    case DType::kInt32:
      return WithState(RunAny<std::int32_t>, state);
    case DType::kInt64:
      return WithState(RunAny<std::int64_t>, state);
    case DType::kUInt32:
      return WithState(RunAny<std::uint32_t>, state);
    case DType::kUInt64:
      return WithState(RunAny<std::uint64_t>, state);
    case DType::kInt8:
      if (extreme) return WithState(RunAny<std::int8_t>, state);
      break;
    case DType::kUInt8:
      if (extreme) return WithState(RunAny<std::uint8_t>, state);
      break;
    case DType::kBool:
      if (extreme) return WithState(RunAny<bool>, state);
      break;
    default:
      return WithState(RunFloat, state);
  }
  c.Unsupported(c.InputText(0), c.InputDType(0));
}

void UpgradeReduce(UpgradeContext& c) {
  const int axes_since = c.node.op_type == "ReduceSum" ? 13 : 18;
  if (c.version() < axes_since) c.AttributeToInput("axes", 1);
}

constexpr DTypeSet kReduceTypes = kIeeeFloats | DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};
constexpr DTypeSet kExtremeTypes = kReduceTypes | DTypeSet{DType::kInt8, DType::kUInt8, DType::kBool};

constexpr OpDef Row(std::string_view name, Few<int> since, DTypeSet types = kReduceTypes) {
  return {.name = name,
          .since = since,
          .types = types,
          .infer = InferReduce,
          .prepare = PrepareReduce,
          .upgrade = UpgradeReduce,
          .cost = CountOncePerInput,
          .layout = &kReduceLayout};
}

constexpr OpDef kReduceOps[] = {
    Row("ReduceL1", {1, 11, 13, 18}),
    Row("ReduceL2", {1, 11, 13, 18}),
    Row("ReduceLogSum", {1, 11, 13, 18, 28}),
    Row("ReduceLogSumExp", {1, 11, 13, 18, 28}),
    Row("ReduceMax", {1, 11, 12, 13, 18, 20}, kExtremeTypes),
    Row("ReduceMean", {1, 11, 13, 18}),
    Row("ReduceMin", {1, 11, 12, 13, 18, 20}, kExtremeTypes),
    Row("ReduceProd", {1, 11, 13, 18}),
    Row("ReduceSum", {1, 11, 13}),
    Row("ReduceSumSquare", {1, 11, 13, 18}),
    {.domain = "com.microsoft",
     .name = "QLinearReduceMean",
     .since = {1},
     .types = kQuantized8,
     .infer = InferQLinearMean,
     .prepare = PrepareQLinearMean,
     .cost = CountOncePerInput,
     .layout = &kQLinearReduceMeanLayout},
};

}  // namespace

std::span<const OpDef> ReduceOps() { return kReduceOps; }

}  // namespace sardonyx::ops
