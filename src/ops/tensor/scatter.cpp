// ops/tensor/scatter.cpp - Scatter, ScatterElements, ScatterND, TensorScatter: a copy of a tensor with updates written
// into it.
#include <algorithm>
#include <cstring>

#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/spell_context.h"
#include "ops/tensor/scatter_reduction.h"

namespace sardonyx::ops {
namespace {

struct ScatterState {
  std::int64_t axis;
  ScatterReductionFn* combine;
};

void CopyData(KernelContext& c, const OutputRef& y, const TensorRef& updates) {
  const TensorRef& x = c.Input(0);
  if (x.data != y.data && !IsString(x.dtype) && updates.count >= x.count / 2) {
    // Most of it is written again at once: large copies, too, stay in the caches.
    constexpr std::int64_t kBytes = 1 << 18;  // a thread's least share
    const std::int64_t bytes = static_cast<std::int64_t>(ByteSize(x.dtype, x.count));
    return c.parallel().For(bytes, kBytes, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(static_cast<char*>(y.data) + begin, static_cast<const char*>(x.data) + begin,
                  static_cast<std::size_t>(end - begin));
    });
  }
  kernels::CopyAll(x.dtype, x.data, y.data, x.count, c.parallel());
}

void InferScatter(InferContext& c) { c.SetOutputType(0, c.InputType(0)); }

ScatterReductionFn* ReadReduction(PrepareContext& c) {
  ScatterReductionFn* combine = FindScatterReduction(c.String("reduction", "none"), c.InputDType(0));
  if (combine == nullptr) c.Unsupported("attribute 'reduction' and data", c.InputDType(0));
  return combine;
}

constexpr std::int64_t kPlaces = 256;  // that are found together before their updates are written

// Indices [begin, begin + n), not checked.
void ReadIndices(const TensorRef& indices, std::int64_t begin, std::int64_t n, std::int64_t* to) {
  if (indices.dtype == DType::kInt64) {
    std::copy_n(indices.As<std::int64_t>() + begin, n, to);
  } else if (indices.dtype == DType::kInt32) {
    std::copy_n(indices.As<std::int32_t>() + begin, n, to);
  } else {
    Fail(Code::kNotImplemented, "expected indices of type int32 or int64, found ", Name(indices.dtype));
  }
}

// ---- ScatterElements

// The updates of one thread: rows of the last axis, those of one row along the axis after each other. What differs
// outside of the axis is written to different places, so threads share the loops before and after it.
class ElementScatter {
 public:
  ElementScatter(KernelContext& c, const OutputRef& y, std::size_t axis)
      : c_(c), y_(y), indices_(c.Input(1)), axis_(axis), last_(y.rank() - 1) {
    row_ = indices_.shape[last_];
    along_ = axis == last_ ? 1 : indices_.shape[axis];
    after_ = axis == last_ ? 1 : ElementCount(indices_.shape, axis + 1, last_);
    stride_ = ElementCount(y.shape, axis + 1, y.rank());
  }

  // Pieces that may run at the same time.
  std::int64_t Pieces() const { return ElementCount(indices_.shape, 0, axis_) * after_; }
  std::int64_t PieceSize() const { return along_ * row_; }

  void Run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t piece = begin; piece < end; ++piece)
      for (std::int64_t k = 0; k < along_; ++k) CombineRow((piece / after_ * along_ + k) * after_ + piece % after_);
  }

 private:
  // Where row `row` of the indices begins in y, at place 0 of the axis.
  std::int64_t Base(std::int64_t row) const {
    std::int64_t base = 0, step = y_.shape[last_];
    for (std::size_t d = last_; d-- > 0;) {
      if (d != axis_) base += row % indices_.shape[d] * step;
      row /= indices_.shape[d];
      step *= y_.shape[d];
    }
    return base;
  }
  void CombineRow(std::int64_t row) const {
    const std::int64_t base = Base(row), size = y_.shape[axis_], next = axis_ == last_ ? 0 : 1;
    std::int64_t places[kPlaces];
    for (std::int64_t j = 0; j < row_; j += kPlaces) {
      const std::int64_t n = std::min(kPlaces, row_ - j);
      ReadIndices(indices_, row * row_ + j, n, places);
      for (std::int64_t i = 0; i < n; ++i) places[i] = base + CheckedIndex(places[i], size) * stride_ + (j + i) * next;
      c_.state<ScatterState>().combine(y_.dtype, c_.Input(2).data, row * row_ + j, y_.data, places, n, 1);
    }
  }

  KernelContext& c_;
  const OutputRef y_;
  const TensorRef& indices_;
  std::size_t axis_, last_;
  std::int64_t row_, along_, after_, stride_;
};

void RunScatterElements(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& indices = c.Input(1);
  const TensorRef& updates = c.Input(2);
  const std::size_t axis = NormalizeAxis(c.state<ScatterState>().axis, x.rank());
  bool fits = indices.rank() == x.rank() && Shape::Equal(indices.shape, updates.shape);
  for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = d == axis || indices.shape[d] <= x.shape[d];
  if (!fits) {
    Fail(Code::kInvalidArgument, "expected indices and updates of one shape, no larger than the data ", ToText(x.shape),
         " except along axis ", axis, ", found ", ToText(indices.shape), " and ", ToText(updates.shape));
  }
  const OutputRef y = c.Output(0, x.shape);
  CopyData(c, y, updates);
  if (indices.count == 0) return;
  const ElementScatter scatter(c, y, axis);
  const std::int64_t pieces = scatter.Pieces();
  const std::int64_t grain = IsSubByte(x.dtype) ? pieces : std::max<std::int64_t>(1, 4096 / scatter.PieceSize());
  c.parallel().For(pieces, grain, [&](std::int64_t begin, std::int64_t end) { scatter.Run(begin, end); });
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
  const OutputRef y = c.Output(0, x.shape);
  CopyData(c, y, updates);
  const std::int64_t run = ElementCount(x.shape, static_cast<std::size_t>(width), x.rank());
  const std::int64_t rows = ElementCount(indices.shape, 0, indices.rank() - 1);
  ScatterReductionFn* combine = c.state<ScatterState>().combine;
  std::int64_t places[kPlaces];
  for (std::int64_t row = 0; row < rows; row += kPlaces) {
    const std::int64_t n = std::min(kPlaces, rows - row);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t offset = 0;
      for (std::int64_t d = 0; d < width; ++d) {
        const std::int64_t size = x.shape[static_cast<std::size_t>(d)];
        offset = offset * size + CheckedIndex(IntAt(indices, (row + i) * width + d), size);
      }
      places[i] = offset * run;
    }
    combine(x.dtype, updates.data, row * run, y.data, places, n, run);
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
  const OutputRef y = c.Output(0, cache.shape);
  CopyData(c, y, update);
  if (update.count == 0) return;
  const std::int64_t batches = cache.shape[0], length = cache.shape[axis], added = update.shape[axis];
  const std::int64_t rows = ElementCount(cache.shape, 1, axis), run = ElementCount(cache.shape, axis + 1, cache.rank());
  if (c.HasInput(2) && c.Input(2).count != batches) {
    Fail(Code::kInvalidArgument, "expected ", batches, " write indices, found ", c.Input(2).count);
  }
  for (std::int64_t b = 0; b < batches; ++b) {
    const std::int64_t begin = c.HasInput(2) ? IntAt(c.Input(2), b) : 0;
    if (begin < 0 || (!state.circular && begin > length - added)) {
      Fail(Code::kInvalidArgument, "expected write indices in [0, ", length - added, "], found ", begin, " for batch ",
           b);
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
void SpellScatter(SpellContext& c) { c.node().op_type = "ScatterElements"; }

constexpr OpDef kScatterOps[] = {
    {.name = "Scatter",
     .since = {9, 11},
     .types = kAllTypes,
     .infer = InferScatter,
     .prepare = PrepareScatterElements,
     .cost = CountNothing,
     .spell = {11, SpellScatter}},
    {.name = "ScatterElements",
     .since = {11, 13, 16, 18},
     .types = kAllTypes,
     .infer = InferScatter,
     .prepare = PrepareScatterElements,
     .cost = CountNothing},
    {.name = "ScatterND",
     .since = {11, 13, 16, 18},
     .types = kAllTypes,
     .infer = InferScatter,
     .prepare = PrepareScatterNd,
     .cost = CountNothing},
    {.name = "TensorScatter",
     .since = {24},
     .types = kAllTypes,
     .infer = InferScatter,
     .prepare = PrepareTensorScatter,
     .cost = CountNothing},
};

}  // namespace

std::span<const OpDef> ScatterOps() { return kScatterOps; }

}  // namespace sardonyx::ops
