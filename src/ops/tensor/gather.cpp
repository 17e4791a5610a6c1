// ops/tensor/gather.cpp - Gather, GatherElements, GatherND: elements picked by indices.
#include "kernels/copy/pick.h"
#include "kernels/copy/storage.h"
#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/layout_axes.h"

namespace sardonyx::ops {
namespace {

using kernels::StorageAt;
using kernels::VisitStorage;

constexpr std::int64_t kBytesPerTask = 32 * 1024;

struct GatherState {
  std::int64_t axis;
};

// Calls body(begin, end) over [0, rows); on one thread for elements that share bytes.
template <typename Storage>
void ForRows(Parallel& parallel, std::int64_t rows, std::int64_t run, Parallel::Body body) {
  const std::int64_t bytes =
      std::max<std::int64_t>(1, run * static_cast<std::int64_t>(sizeof(typename Storage::Element)));
  const std::int64_t grain = Storage::kPacked ? rows : std::max<std::int64_t>(1, kBytesPerTask / (bytes + 8));
  parallel.For(rows, std::max<std::int64_t>(1, grain), body);
}

// y[i] = x[j] or a short run of them: no call of memcpy for a single element.
template <typename Storage>
void Pick(Storage y, std::int64_t to, typename Storage::Source x, std::int64_t from, std::int64_t run) {
  if (run == 1) {
    y.Set(to, x.Get(from));
  } else {
    y.CopyRun(to, x, from, run);
  }
}

// Indices are int32 or int64.
template <typename F>
void VisitIndices(const TensorRef& indices, F&& f) {
  if (indices.dtype == DType::kInt32) return f(indices.As<std::int32_t>());
  if (indices.dtype == DType::kInt64) return f(indices.As<std::int64_t>());
  Fail(Code::kNotImplemented, "expected indices of type int32 or int64, found ", Name(indices.dtype));
}

// ---- Gather

// The elements of a 1-D integer input that constant indices pick.
void GatherShapeData(InferContext& c) {
  if (c.Rank(0) != 1 || !c.HasRank(1) || c.Rank(1) > 1 || !IsInteger(c.InputDType(0))) return;
  const auto data = c.ShapeData(0);
  const auto indices = c.ConstantInts(1);
  if (!data || !indices) return;
  std::vector<Dim> elements;
  for (const std::int64_t i : *indices) {
    elements.push_back((*data)[static_cast<std::size_t>(CheckedIndex(i, static_cast<std::int64_t>(data->size())))]);
  }
  c.SetShapeData(0, std::move(elements));
}

void InferGather(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<Dim>& x = c.InputDims(0);
  const auto axis = static_cast<std::ptrdiff_t>(AxisOf(c, c.Int("axis", 0), x.size()));
  std::vector<Dim> dims(x.begin(), x.begin() + axis);
  dims.insert(dims.end(), c.InputDims(1).begin(), c.InputDims(1).end());
  dims.insert(dims.end(), x.begin() + axis + 1, x.end());
  c.SetOutput(0, c.InputDType(0), std::move(dims));
  GatherShapeData(c);
}

template <typename Storage, typename Index>
void GatherRows(KernelContext& c, const OutputRef& y, std::size_t axis, const Index* indices) {
  const TensorRef& x = c.Input(0);
  const std::int64_t size = x.shape[axis], count = c.Input(1).count;
  const std::int64_t run = ElementCount(x.shape, axis + 1, x.rank());
  const typename Storage::Source from = StorageAt<Storage>(x.data);
  const Storage to = StorageAt<Storage>(y.data);
  if (run == 0) return;
  ForRows<Storage>(c.parallel(), y.count / run, run, [&](std::int64_t begin, std::int64_t end) {
    if (run == 1 && count == 1) {  // a column of a matrix
      const std::int64_t index = CheckedIndex(indices[0], size);
      for (std::int64_t row = begin; row < end; ++row) to.Set(row, from.Get(row * size + index));
      return;
    }
    std::int64_t outer = begin / count, i = begin % count;
    for (std::int64_t row = begin; row < end; ++row) {
      Pick(to, row * run, from, (outer * size + CheckedIndex(indices[i], size)) * run, run);
      if (++i == count) {
        i = 0;
        ++outer;
      }
    }
  });
}

void RunGather(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& indices = c.Input(1);
  const std::size_t axis = NormalizeAxis(c.state<GatherState>().axis, x.rank());
  Shape shape;
  for (std::size_t i = 0; i < axis; ++i) shape.Append(x.shape[i]);
  for (const std::int64_t d : indices.shape) shape.Append(d);
  for (std::size_t i = axis + 1; i < x.rank(); ++i) shape.Append(x.shape[i]);
  const OutputRef y = c.Output(0, shape);
  VisitStorage(x.dtype, [&]<typename Storage>() {
    VisitIndices(indices, [&](const auto* values) { GatherRows<Storage>(c, y, axis, values); });
  });
}

Prepared PrepareGather(PrepareContext& c) { return WithState(RunGather, GatherState{c.Int("axis", 0)}); }

// ---- GatherElements

void InferGatherElements(InferContext& c) {
  if (c.HasRank(0) && c.HasRank(1) && c.Rank(0) != c.Rank(1)) {
    c.Fail(Code::kInvalidArgument, "expected indices of the rank of the data, found ", c.InputType(1).ToText(), " for ",
           c.InputType(0).ToText());
  }
  if (!c.HasRank(1)) return c.SetOutput(0, c.InputDType(0));
  c.SetOutput(0, c.InputDType(0), c.InputDims(1));
}

// The place in x of the first element of a row (the last dimension) of the indices, the axis left out.
std::int64_t RowOffset(Dims x, Dims indices, std::size_t axis, std::int64_t row) {
  const std::size_t rank = x.size();
  std::int64_t offset = 0, stride = x[rank - 1];
  for (std::size_t d = rank - 1; d-- > 0;) {
    const std::int64_t i = row % indices[d];
    row /= indices[d];
    if (d != axis) offset += i * stride;
    stride *= x[d];
  }
  return offset;
}

// Calls row(base, first, at): the n elements from y[first] on are those of x, from x[base] on, that the indices
// at[0..n) pick.
template <typename Index, typename Row>
void ForPickedRows(KernelContext& c, std::size_t axis, const Index* indices, std::int64_t grain, const Row& row) {
  const TensorRef& x = c.Input(0);
  const Dims shape = c.Input(1).shape;
  const std::int64_t n = shape.back();
  c.parallel().For(c.Input(1).count / n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) row(RowOffset(x.shape, shape, axis, i), i * n, indices + i * n);
  });
}

kernels::PickedRow PickedRowOf(const TensorRef& x, std::size_t axis) {
  return {x.shape[axis], ElementCount(x.shape, axis + 1, x.rank()), axis + 1 == x.rank() ? 0 : 1};
}

// Elements of 1, 2, 4 or 8 bytes.
template <typename Index>
void PickElementRows(KernelContext& c, const OutputRef& y, std::size_t axis, const Index* indices,
                     kernels::PickFn<Index>* pick) {
  const TensorRef& x = c.Input(0);
  const kernels::PickedRow picked = PickedRowOf(x, axis);
  const std::int64_t n = c.Input(1).shape.back(), bytes = Bits(x.dtype) / 8;
  const std::int64_t grain = std::max<std::int64_t>(1, kBytesPerTask / 16 / n);
  ForPickedRows(c, axis, indices, grain, [&](std::int64_t base, std::int64_t first, const Index* at) {
    const std::int64_t done = pick(picked, x.As<std::byte>() + base * bytes, at, n, y.As<std::byte>() + first * bytes);
    if (done < n) CheckedIndex(at[done], picked.size);
  });
}

template <typename Storage, typename Index>
void GatherElementRows(KernelContext& c, const OutputRef& y, std::size_t axis, const Index* indices) {
  const kernels::PickedRow picked = PickedRowOf(c.Input(0), axis);
  const std::int64_t n = c.Input(1).shape.back();
  const typename Storage::Source from = StorageAt<Storage>(c.Input(0).data);
  const Storage to = StorageAt<Storage>(y.data);
  const std::int64_t grain = Storage::kPacked ? y.count / n : std::max<std::int64_t>(1, kBytesPerTask / 16 / n);
  ForPickedRows(c, axis, indices, grain, [&](std::int64_t base, std::int64_t first, const Index* at) {
    for (std::int64_t j = 0; j < n; ++j)
      to.Set(first + j, from.Get(base + CheckedIndex(at[j], picked.size) * picked.stride + j * picked.next));
  });
}

void RunPickedElements(KernelContext& c, const OutputRef& y, std::size_t axis) {
  const TensorRef& x = c.Input(0);
  const TensorRef& indices = c.Input(1);
  const bool whole_bytes = !IsString(x.dtype) && Bits(x.dtype) >= 8;
  const kernels::PickLoops loops = kernels::Pick(whole_bytes ? static_cast<std::size_t>(Bits(x.dtype) / 8) : 0);
  if (loops.by_int64 == nullptr) {
    VisitStorage(x.dtype, [&]<typename Storage>() {
      VisitIndices(indices, [&](const auto* values) { GatherElementRows<Storage>(c, y, axis, values); });
    });
  } else {
    VisitIndices(indices, [&]<typename Index>(const Index* values) {
      if constexpr (sizeof(Index) == 4)
        PickElementRows(c, y, axis, values, loops.by_int32);
      else
        PickElementRows(c, y, axis, values, loops.by_int64);
    });
  }
}

void RunGatherElements(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& indices = c.Input(1);
  const std::size_t axis = NormalizeAxis(c.state<GatherState>().axis, x.rank());
  bool fits = x.rank() == indices.rank();
  for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = d == axis || indices.shape[d] <= x.shape[d];
  if (!fits) {
    Fail(Code::kInvalidArgument, "expected indices no larger than the data ", ToText(x.shape), " except along axis ",
         axis, ", found shape ", ToText(indices.shape));
  }
  const OutputRef y = c.Output(0, indices.shape);
  if (y.count == 0) return;
  RunPickedElements(c, y, axis);
}

Prepared PrepareGatherElements(PrepareContext& c) {
  return WithState(RunGatherElements, GatherState{c.Int("axis", 0)});
}

// ---- GatherND

struct GatherNdState {
  std::int64_t batch_dims;
};

void InferGatherNd(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<Dim>& x = c.InputDims(0);
  const std::vector<Dim>& indices = c.InputDims(1);
  const auto batch = static_cast<std::size_t>(c.Int("batch_dims", 0));
  if (indices.empty() || x.empty() || batch >= std::min(x.size(), indices.size())) {
    c.Fail(Code::kInvalidArgument, "attribute 'batch_dims': expected less than the ranks of data and indices, found ",
           batch, " for ", c.InputType(0).ToText(), " and ", c.InputType(1).ToText());
  }
  if (!indices.back().known()) return c.SetOutput(0, c.InputDType(0));
  const std::int64_t width = indices.back().number();
  if (width < 0 || width > static_cast<std::int64_t>(x.size() - batch)) {
    c.Fail(Code::kInvalidArgument, "expected at most ", x.size() - batch, " indices per element of data ",
           c.InputType(0).ToText(), ", found ", width);
  }
  std::vector<Dim> dims(indices.begin(), indices.end() - 1);
  dims.insert(dims.end(), x.begin() + static_cast<std::ptrdiff_t>(batch) + width, x.end());
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

template <typename Storage, typename Index>
void GatherNdRows(KernelContext& c, const OutputRef& y, std::size_t batch, const Index* indices) {
  const TensorRef& x = c.Input(0);
  const Dims shape = c.Input(1).shape;
  const auto width = static_cast<std::size_t>(shape.back());
  const std::int64_t run = ElementCount(x.shape, batch + width, x.rank());
  const std::int64_t block = ElementCount(x.shape, batch, x.rank());  // of one batch
  const std::int64_t rows = ElementCount(shape, 0, shape.size() - 1);
  const std::int64_t rows_of_batch = ElementCount(shape, batch, shape.size() - 1);
  const typename Storage::Source from = StorageAt<Storage>(x.data);
  const Storage to = StorageAt<Storage>(y.data);
  ForRows<Storage>(c.parallel(), rows, run, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t first = begin / rows_of_batch * block, next = (begin / rows_of_batch + 1) * rows_of_batch;
    for (std::int64_t row = begin; row < end; ++row) {
      if (row == next) first += block, next += rows_of_batch;
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < width; ++d) {
        const std::int64_t size = x.shape[batch + d];
        offset = offset * size +
                 CheckedIndex(indices[row * static_cast<std::int64_t>(width) + static_cast<std::int64_t>(d)], size);
      }
      Pick(to, row * run, from, first + offset * run, run);
    }
  });
}

void RunGatherNd(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& indices = c.Input(1);
  const auto batch = static_cast<std::size_t>(c.state<GatherNdState>().batch_dims);
  bool fits = indices.rank() > batch && x.rank() > batch && indices.shape.back() >= 0 &&
              indices.shape.back() <= static_cast<std::int64_t>(x.rank() - batch);
  for (std::size_t d = 0; fits && d < batch; ++d) fits = x.shape[d] == indices.shape[d];
  if (!fits) {
    Fail(Code::kInvalidArgument, "expected indices that share the first ", batch, " dimensions of the data ",
         ToText(x.shape), " and address at most its others, found shape ", ToText(indices.shape));
  }
  Shape shape;
  for (std::size_t d = 0; d + 1 < indices.rank(); ++d) shape.Append(indices.shape[d]);
  for (std::size_t d = batch + static_cast<std::size_t>(indices.shape.back()); d < x.rank(); ++d)
    shape.Append(x.shape[d]);
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  VisitStorage(x.dtype, [&]<typename Storage>() {
    VisitIndices(indices, [&](const auto* values) { GatherNdRows<Storage>(c, y, batch, values); });
  });
}

Prepared PrepareGatherNd(PrepareContext& c) {
  const std::int64_t batch = c.Int("batch_dims", 0);
  if (batch < 0) c.Fail(Code::kInvalidGraph, "attribute 'batch_dims': expected at least 0, found ", batch);
  return WithState(RunGatherNd, GatherNdState{batch});
}

// Gather along an axis by a vector of indices keeps the rank.
bool DescribeGather(const Graph& graph, const Node& node, NodeLayout& layout) {
  return InputType(graph, node, 1).has_rank && InputType(graph, node, 1).rank() == 1 &&
         DescribeAxis<0>(graph, node, layout);
}

constexpr LayoutDef kGatherLayout = {"its axis is mapped", DescribeGather, ChangeAxis<0>};

constexpr OpDef kGatherOps[] = {
    {.name = "Gather",
     .since = {1, 11, 13},
     .types = kAllTypes,
     .infer = InferGather,
     .prepare = PrepareGather,
     .cost = CountPicked,
     .layout = &kGatherLayout,
     .traits = kMovesElements},
    {.domain = "com.microsoft",
     .name = "TorchEmbedding",  // Gather; what else it has is for training
     .since = {1},
     .types = kNumbers,
     .infer = InferGather,
     .prepare = PrepareGather,
     .cost = CountPicked,
     .traits = kMovesElements},
    {.name = "GatherElements",
     .since = {11, 13},
     .types = kAllTypes,
     .infer = InferGatherElements,
     .prepare = PrepareGatherElements,
     .cost = CountPicked,
     .traits = kMovesElements},
    {.domain = "com.microsoft",
     .name = "GatherND",
     .since = {1},
     .types = kAllTypes,
     .infer = InferGatherNd,
     .prepare = PrepareGatherNd,
     .cost = CountPicked,
     .traits = kMovesElements},
    {.name = "GatherND",
     .since = {11, 12, 13},
     .types = kAllTypes,
     .infer = InferGatherNd,
     .prepare = PrepareGatherNd,
     .cost = CountPicked,
     .traits = kMovesElements},
};

}  // namespace

std::span<const OpDef> GatherOps() { return kGatherOps; }

}  // namespace sardonyx::ops
