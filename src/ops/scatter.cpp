// ops/scatter.cpp - Scatter, ScatterElements, ScatterND, TensorScatter: a copy of a tensor with updates written into
// it.
#include "kernels/copy/strided_copy.h"
#include "ops/combine.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct ScatterState {
  std::int64_t axis;
  CombineFn* combine;
};

void CopyData(KernelContext& c, const TensorRef& y) {
  const TensorRef& x = c.Input(0);
  kernels::CopyAll(x.dtype, x.data, y.data, x.count, c.parallel());
}

void InferScatter(InferContext& c) { c.SetOutputType(0, c.InputType(0)); }

CombineFn* ReadReduction(PrepareContext& c) {
  CombineFn* combine = FindCombine(c.String("reduction", "none"), c.InputDType(0));
  if (combine == nullptr) c.Unsupported("reduction of", c.InputDType(0));
  return combine;
}

// ---- ScatterElements

// Writes the updates of [begin, end) of the loops before the axis: these write to different places.
void ScatterOuter(KernelContext& c, const TensorRef& y, std::size_t axis, std::int64_t begin, std::int64_t end) {
  const TensorRef& indices = c.Input(1);
  const TensorRef& updates = c.Input(2);
  CombineFn* combine = c.state<ScatterState>().combine;
  const std::size_t rank = y.rank(), last = rank - 1;
  const std::int64_t n = indices.shape[last];
  const std::int64_t rows = ElementCount(indices.shape, axis, rank) / n;
  const std::int64_t stride = ElementCount(y.shape, axis + 1, rank), size = y.shape[axis];
  for (std::int64_t row = begin * rows; row < end * rows; ++row) {
    std::int64_t base = 0, rest = row, step = y.shape[last];
    for (std::size_t d = last; d-- > 0;) {
      if (d != axis) base += rest % indices.shape[d] * step;
      rest /= indices.shape[d];
      step *= y.shape[d];
    }
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t at = row * n + j;
      const std::int64_t k = CheckedIndex(IntAt(indices, at), size);
      combine(y.dtype, updates.data, at, y.data, base + k * stride + (axis == last ? 0 : j), 1);
    }
  }
}

void RunScatterElements(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& indices = c.Input(1);
  const TensorRef& updates = c.Input(2);
  const std::size_t axis = NormalizeAxis(c.state<ScatterState>().axis, x.rank());
  bool fits = indices.rank() == x.rank() && Shape::Equal(indices.shape, updates.shape);
  for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = d == axis || indices.shape[d] <= x.shape[d];
  if (!fits) {
    Fail(Code::kInvalidArgument, "expected indices and updates of one shape within the data's, ", ToText(x.shape),
         ", but along axis ", axis, "; found ", ToText(indices.shape), " and ", ToText(updates.shape));
  }
  const TensorRef& y = c.Output(0, x.shape);
  CopyData(c, y);
  if (indices.count == 0) return;
  const std::int64_t outer = ElementCount(indices.shape, 0, axis);
  const std::int64_t grain = IsSubByte(x.dtype) ? outer : std::max<std::int64_t>(1, 4096 * outer / indices.count);
  c.parallel().For(outer, grain, [&](std::int64_t begin, std::int64_t end) { ScatterOuter(c, y, axis, begin, end); });
}

Prepared PrepareScatterElements(PrepareContext& c) {
  return WithState(RunScatterElements, ScatterState{c.Int("axis", 0), ReadReduction(c)});
}

// ---- ScatterND

void RunScatterNd(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& indices = c.Input(1);
  const TensorRef& updates = c.Input(2);
  const std::int64_t width = indices.rank() == 0 ? 0 : indices.shape.back();
  bool fits = indices.rank() > 0 && width <= static_cast<std::int64_t>(x.rank());
  Shape expected;
  if (fits) {
    for (std::size_t d = 0; d + 1 < indices.rank(); ++d) expected.Append(indices.shape[d]);
    for (std::size_t d = static_cast<std::size_t>(width); d < x.rank(); ++d) expected.Append(x.shape[d]);
    fits = Shape::Equal(expected, updates.shape);
  }
  if (!fits) {
    Fail(Code::kInvalidArgument, "expected updates of shape ", ToText(expected), " for data ", ToText(x.shape),
         " and indices ", ToText(indices.shape), ", found ", ToText(updates.shape));
  }
  const TensorRef& y = c.Output(0, x.shape);
  CopyData(c, y);
  const std::int64_t run = ElementCount(x.shape, static_cast<std::size_t>(width), x.rank());
  const std::int64_t rows = ElementCount(indices.shape, 0, indices.rank() - 1);
  CombineFn* combine = c.state<ScatterState>().combine;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t offset = 0;
    for (std::int64_t d = 0; d < width; ++d) {
      const std::int64_t size = x.shape[static_cast<std::size_t>(d)];
      offset = offset * size + CheckedIndex(IntAt(indices, row * width + d), size);
    }
    combine(x.dtype, updates.data, row * run, y.data, offset * run, run);
  }
}

Prepared PrepareScatterNd(PrepareContext& c) { return WithState(RunScatterNd, ScatterState{0, ReadReduction(c)}); }

// ---- TensorScatter: rows of a cache, written at an index per batch

struct CacheState {
  std::int64_t axis;
  bool circular;
};

void RunTensorScatter(KernelContext& c) {
  const TensorRef& cache = c.Input(0);
  const TensorRef& update = c.Input(1);
  const CacheState& state = c.state<CacheState>();
  const std::size_t axis = NormalizeAxis(state.axis, cache.rank());
  bool fits = cache.rank() == update.rank() && axis > 0;
  for (std::size_t d = 0; fits && d < cache.rank(); ++d) fits = d == axis || cache.shape[d] == update.shape[d];
  if (!fits || update.shape[axis] > cache.shape[axis]) {
    Fail(Code::kInvalidArgument, "expected an update of the cache's shape, ", ToText(cache.shape),
         ", or shorter along axis ", axis, " (not the batch), found ", ToText(update.shape));
  }
  const TensorRef& y = c.Output(0, cache.shape);
  CopyData(c, y);
  const std::int64_t batches = cache.shape[0], length = cache.shape[axis], added = update.shape[axis];
  const std::int64_t rows = ElementCount(cache.shape, 1, axis), run = ElementCount(cache.shape, axis + 1, cache.rank());
  if (c.HasInput(2) && c.Input(2).count != batches) {
    Fail(Code::kInvalidArgument, "expected ", batches, " write indices, found ", c.Input(2).count);
  }
  for (std::int64_t b = 0; b < batches; ++b) {
    const std::int64_t begin = c.HasInput(2) ? IntAt(c.Input(2), b) : 0;
    if (begin < 0 || (!state.circular && begin + added > length)) {
      Fail(Code::kInvalidArgument, "write index ", begin, " of batch ", b, " is outside of [0, ", length - added, "]");
    }
    const std::int64_t at = length == 0 ? 0 : begin % length, first = std::min(added, length - at);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t to = (b * rows + r) * length, from = (b * rows + r) * added;
      kernels::CopyElements(y.dtype, update.data, from * run, y.data, (to + at) * run, first * run);
      kernels::CopyElements(y.dtype, update.data, (from + first) * run, y.data, to * run, (added - first) * run);
    }
  }
}

Prepared PrepareTensorScatter(PrepareContext& c) {
  const std::string mode = c.String("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    c.Fail(Code::kInvalidGraph, "attribute 'mode': expected linear or circular, found '", mode, "'");
  }
  return WithState(RunTensorScatter, CacheState{c.Int("axis", -2), mode == "circular"});
}

// Not kMayAlias: the output might take the place of the updates, which are read after the data has been copied.
constexpr OpDef kScatterOps[] = {
    {.name = "Scatter", .since = {9, 11}, .types = kAllTypes, .infer = InferScatter, .prepare = PrepareScatterElements},
    {.name = "ScatterElements",
     .since = {11, 13, 16, 18},
     .types = kAllTypes,
     .infer = InferScatter,
     .prepare = PrepareScatterElements},
    {.name = "ScatterND",
     .since = {11, 13, 16, 18},
     .types = kAllTypes,
     .infer = InferScatter,
     .prepare = PrepareScatterNd},
    {.name = "TensorScatter",
     .since = {24},
     .types = kAllTypes,
     .infer = InferScatter,
     .prepare = PrepareTensorScatter},
};

}  // namespace

std::span<const OpDef> ScatterOps() { return kScatterOps; }

}  // namespace sardonyx::ops
