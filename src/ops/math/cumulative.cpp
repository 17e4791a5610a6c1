// ops/math/cumulative.cpp - CumSum and CumProd along an axis, forwards or backwards, with or without the element
// itself.
#include <algorithm>
#include <cstdlib>

#include "kernels/copy/stream.h"
#include "kernels/reduce/columns.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct CumulativeState {
  bool exclusive = false, reverse = false, product = false;
};

void InferCumulative(InferContext& c) {
  c.SetOutputType(0, c.InputType(0));
  const auto axis = c.ConstantInts(1);
  if (axis && axis->size() == 1 && c.HasRank(0)) AxisOf(c, (*axis)[0], c.Rank(0));
}

std::int64_t ReadAxis(const TensorRef& axis) {
  if (axis.count != 1) Fail(Code::kInvalidArgument, "expected one axis, found ", ToText(axis.shape));
  return axis.dtype == DType::kInt32 ? *axis.As<std::int32_t>() : *axis.As<std::int64_t>();
}

// Floats add up in double, so that long sums stay exact to a rounding; integers wrap around.
template <typename T>
using Total = typename kernels::RunningTotal<T>::Type;

// The places of a row along the axis, in the order in which they are summed.
struct Line {
  std::int64_t first, step, count;
};

template <typename T>
void SumRow(const CumulativeState& state, const Line& line, const T* from, T* to) {
  Total<T> total = state.product ? Total<T>(1) : Total<T>(0);
  for (std::int64_t k = 0, at = line.first; k < line.count; ++k, at += line.step) {
    const auto element = static_cast<Total<T>>(from[at]);
    const Total<T> next = state.product ? total * element : total + element;
    to[at] = static_cast<T>(state.exclusive ? total : next);
    total = next;
  }
}

// Neighbours that are summed together, so that memory is read in its order: as many as leave every thread some.
constexpr std::int64_t kColumns = 2048, kLeastColumns = 128;

std::int64_t TileOf(std::int64_t inner, std::int64_t outer, int threads) {
  const std::int64_t share = inner * std::min<std::int64_t>(outer, threads) / threads;
  return std::clamp(share / kLeastColumns * kLeastColumns, kLeastColumns, kColumns);
}

template <typename T>
void SumColumns(const CumulativeState& state, const Line& line, std::int64_t columns, const T* from, T* to) {
  alignas(64) Total<T> totals[kColumns];
  std::fill_n(totals, columns, state.product ? Total<T>(1) : Total<T>(0));
  kernels::ColumnKernels().running.Of<T>()({state.exclusive, state.product}, from + line.first, line.count, line.step,
                                           columns, totals, to + line.first);
}

constexpr std::int64_t kStreamedColumns = 512;  // fewer that are not whole rows have too many parts of lines

// As SumColumns, but results leave from a block past the caches: whole rows, as many as fit, or parts of one row.
template <typename T>
void StreamColumns(const CumulativeState& state, const Line& line, std::int64_t columns, const T* from, T* to) {
  alignas(64) Total<T> totals[kColumns];
  alignas(64) T block[kColumns];
  std::fill_n(totals, columns, state.product ? Total<T>(1) : Total<T>(0));
  kernels::StreamFn* const stream = kernels::Stream();
  const std::int64_t most = columns == std::abs(line.step) ? kColumns / columns : 1;
  for (std::int64_t k = 0; k < line.count; k += most) {
    const std::int64_t rows = std::min(most, line.count - k), at = line.first + k * line.step;
    const std::int64_t before = line.step < 0 ? (rows - 1) * line.step : 0;  // of the row that lies first in memory
    kernels::ColumnKernels().running.Of<T>()({state.exclusive, state.product}, from + at, rows, line.step, columns,
                                             totals, block - before);
    stream(block, to + at + before, static_cast<std::size_t>(rows * columns) * sizeof(T));
  }
}

template <typename T>
void RunCumulative(KernelContext& c) {
  const auto& state = c.state<CumulativeState>();
  const TensorRef& x = c.Input(0);
  const std::size_t axis = NormalizeAxis(ReadAxis(c.Input(1)), x.rank());
  if (x.count == 0) return;
  Operands io(c, kDTypeOf<T>, 2);
  const Operands::Computing computing(io);
  const std::int64_t n = x.dim(axis), outer = ElementCount(x.shape, 0, axis);
  const std::int64_t inner = ElementCount(x.shape, axis + 1, x.rank());
  const T* from = io.In<T>(0);
  T* to = io.Out<T>(0);
  const std::int64_t tile = TileOf(inner, outer, c.parallel().ThreadCount()), tiles = (inner + tile - 1) / tile;
  const bool streamed = x.byte_size() >= kernels::kStreamedBytes && x.data != c.Output(0).data &&
                        (tiles == 1 ? inner > 1 : tile >= kStreamedColumns);
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / n / std::min(inner, tile));
  c.parallel().For(outer * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t base = i / tiles * n * inner + i % tiles * tile;
      const Line line = {state.reverse ? base + (n - 1) * inner : base, state.reverse ? -inner : inner, n};
      if (inner == 1) {
        SumRow(state, line, from, to);
      } else {
        (streamed ? StreamColumns<T> : SumColumns<T>)(state, line, std::min(tile, inner - i % tiles * tile), from, to);
      }
    }
    if (streamed) kernels::FinishStreaming();
  });
}

Prepared PrepareCumulative(PrepareContext& c) {
  const CumulativeState state = {c.Flag("exclusive"), c.Flag("reverse"), c.op_type() == "CumProd"};
  switch (c.InputDType(0)) {
    case DType::kDouble:
      return WithState(RunCumulative<double>, state);
    case DType::kInt32:
      return WithState(RunCumulative<std::int32_t>, state);
    case DType::kInt64:
      return WithState(RunCumulative<std::int64_t>, state);
    case DType::kUInt32:
      return WithState(RunCumulative<std::uint32_t>, state);
    case DType::kUInt64:
      return WithState(RunCumulative<std::uint64_t>, state);
    default:
      return WithState(RunCumulative<float>, state);
  }
}

constexpr DTypeSet kCumulativeTypes =
    kIeeeFloats | DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};

constexpr OpDef kCumulativeOps[] = {
    {.name = "CumProd",
     .since = {26},
     .types = kCumulativeTypes,
     .infer = InferCumulative,
     .prepare = PrepareCumulative},
    {.name = "CumSum",
     .since = {11, 14},
     .types = kCumulativeTypes,
     .infer = InferCumulative,
     .prepare = PrepareCumulative,
     .cost = CountOncePerInput},
};

}  // namespace

std::span<const OpDef> CumulativeOps() { return kCumulativeOps; }

}  // namespace sardonyx::ops
