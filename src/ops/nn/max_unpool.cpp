// ops/nn/max_unpool.cpp - MaxUnpool: values go back to where MaxPool found them, zeros elsewhere.
#include <algorithm>
#include <cstring>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/window.h"

namespace sardonyx::ops {
namespace {

Dim UnpooledSize(const WindowAttributes& w, std::size_t axis, const Dim& in) {
  return (in - Dim(1)) * Dim(w.stride(axis)) + Dim(w.kernel[axis]) - Dim(w.pad_begin(axis)) - Dim(w.pad_end(axis));
}

WindowAttributes ReadUnpool(const AttributeReader& c) {
  WindowAttributes w = ReadWindow(c);
  if (w.kernel.empty()) c.Fail(Code::kInvalidGraph, "attribute 'kernel_shape' is required and missing");
  CheckWindowRank(c, w, w.kernel.size());
  return w;
}

void InferUnpool(InferContext& c) {
  const WindowAttributes w = ReadUnpool(c);
  if (c.HasInput(2)) {
    if (const auto shape = c.ShapeData(2)) return c.SetOutput(0, c.InputDType(0), *shape);
    return c.SetOutput(0, c.InputDType(0));
  }
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  if (c.Rank(0) != w.kernel.size() + 2) {
    c.Fail(Code::kInvalidArgument, "expected an input of rank ", w.kernel.size() + 2, ", found ",
           c.InputType(0).ToText());
  }
  CheckWindowRank(c, w, c.Rank(0) - 2);
  std::vector<Dim> dims = c.InputDims(0);
  for (std::size_t i = 0; i < w.kernel.size(); ++i) dims[2 + i] = UnpooledSize(w, i, dims[2 + i]);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// Indices count in the tensor that the window alone would give; an output_shape pads it at the end of every axis.
template <typename T>
void Scatter(const T* x, std::span<const std::int64_t> indices, Dims inner, Dims outer, T* y) {
  const std::int64_t size = ElementCount(inner);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::int64_t rest = indices[i], at = 0, step = 1;
    if (rest < 0 || rest >= size) {
      Fail(Code::kInvalidArgument, "expected indices in [0, ", size, "), found ", rest, " at element ", i);
    }
    for (std::size_t axis = inner.size(); axis-- > 0;) {
      at += rest % inner[axis] * step;
      rest /= inner[axis];
      step *= outer[axis];
    }
    y[at] = x[i];
  }
}

void RunUnpool(KernelContext& c) {
  const auto& w = c.state<WindowAttributes>();
  const TensorRef &x = c.Input(0), &indices = c.Input(1);
  if (x.rank() != w.kernel.size() + 2 || indices.count != x.count) {
    Fail(Code::kInvalidArgument, "expected an input of rank ", w.kernel.size() + 2, " and as many indices, found ",
         ToText(x.shape), " and ", ToText(indices.shape));
  }
  Shape inner(x.shape);
  for (std::size_t i = 0; i < w.kernel.size(); ++i) inner[2 + i] = UnpooledSize(w, i, Dim(x.dim(2 + i))).number();
  Shape outer = inner;
  if (c.HasInput(2)) outer = Shape(Dims(c.Input(2).As<std::int64_t>(), static_cast<std::size_t>(c.Input(2).count)));
  bool fits = outer.rank() == inner.rank();
  for (std::size_t i = 0; fits && i < inner.rank(); ++i) fits = outer[i] >= inner[i];
  if (!fits)
    Fail(Code::kInvalidArgument, "expected an output_shape of at least ", ToText(inner), ", found ", ToText(outer));
  const OutputRef y = c.Output(0, outer);
  if (y.count != 0) std::memset(y.data, 0, y.byte_size());
  const auto at = indices.Span<const std::int64_t>();
  switch (Bits(x.dtype)) {
    case 16:
      return Scatter(x.As<std::uint16_t>(), at, inner, outer, y.As<std::uint16_t>());
    case 32:
      return Scatter(x.As<std::uint32_t>(), at, inner, outer, y.As<std::uint32_t>());
    default:
      return Scatter(x.As<std::uint64_t>(), at, inner, outer, y.As<std::uint64_t>());
  }
}

Prepared PrepareUnpool(PrepareContext& c) { return WithState(RunUnpool, ReadUnpool(c)); }

constexpr OpDef kMaxUnpoolOps[] = {
    {.name = "MaxUnpool", .since = {9, 11, 22}, .types = kIeeeFloats, .infer = InferUnpool, .prepare = PrepareUnpool},
};

}  // namespace

std::span<const OpDef> MaxUnpoolOps() { return kMaxUnpoolOps; }

}  // namespace sardonyx::ops
