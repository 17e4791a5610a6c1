// ops/nn/max_pool_with_mask.cpp - com.microsoft.MaxpoolWithMask: the largest elements of windows whose rows end at the
// first masked pixel.
#include <algorithm>
#include <limits>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/window.h"

namespace sardonyx::ops {
namespace {

WindowAttributes ReadMasked(const AttributeReader& c, const Type& x) {
  WindowAttributes window = ReadWindow(c);
  if (window.kernel.empty()) c.Fail(Code::kInvalidGraph, "attribute 'kernel_shape' is required and missing");
  if (window.kernel.size() > 3)
    c.Fail(Code::kNotImplemented, "attribute 'kernel_shape': expected at most 3 values, found ", window.kernel.size());
  CheckWindowRank(c, window, window.kernel.size());
  if (x.has_rank && x.rank() != window.kernel.size() + 2) {
    c.Fail(Code::kInvalidArgument, "expected an input of rank ", window.kernel.size() + 2, ", found ", x.ToText());
  }
  return window;
}

void InferMasked(InferContext& c) {
  const WindowAttributes window = ReadMasked(c, c.InputType(0));
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = {c.InputDims(0)[0], c.InputDims(0)[1]};
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    dims.push_back(PoolOutput(c, window, i, c.InputDims(0)[2 + i], Dim(window.kernel[i])));
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// The part of a window that lies in the input.
struct Extent {
  std::int64_t first, last;
  Extent(const Window3& w, std::size_t axis, std::int64_t out) {
    const std::int64_t start = out * w.stride[axis] - w.pad_begin[axis];
    first = std::max<std::int64_t>(start, 0);
    last = std::min(start + w.kernel[axis], w.in[axis]);
  }
};

// The mask of the first pixel is not looked at, except along one axis: so it is in ONNX Runtime.
float MaxOf(const Window3& w, const float* x, const std::int32_t* mask, const std::int64_t (&out)[3],
            bool look_at_all) {
  const Extent depth(w, 0, out[0]), height(w, 1, out[1]), width(w, 2, out[2]);
  float best = std::numeric_limits<float>::lowest();
  for (std::int64_t d = depth.first; d < depth.last; ++d) {
    for (std::int64_t h = height.first; h < height.last; ++h) {
      for (std::int64_t i = width.first; i < width.last; ++i) {
        const std::int64_t at = (d * w.in[1] + h) * w.in[2] + i;
        if (mask[at] == 0 && (at > 0 || look_at_all)) break;
        best = std::max(best, x[at]);
      }
    }
  }
  return best;
}

void RunMasked(KernelContext& c) {
  const auto& window = c.state<WindowAttributes>();
  const TensorRef &x = c.Input(0), &mask = c.Input(1);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  bool fits = mask.rank() == x.rank() && mask.count > 0;
  for (std::size_t i = 2; fits && i < x.rank(); ++i) fits = mask.dim(i) == x.dim(i);
  if (!fits) {
    Fail(Code::kInvalidArgument, "input 1 ('M'): expected the spatial dimensions of the input ", ToText(x.shape),
         ", found shape ", ToText(mask.shape));
  }
  const Window3 w = MakeWindow(window, x.shape, Dims(y.shape), Dims(window.kernel));
  const std::int64_t inputs = w.in[0] * w.in[1] * w.in[2], outputs = w.out[0] * w.out[1] * w.out[2];
  const std::int64_t masks = mask.dim(0) * mask.dim(1);  // planes take them in turn
  c.parallel().For(y.count, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t plane = i / outputs, at = i % outputs;
      const std::int64_t out[3] = {at / (w.out[1] * w.out[2]), at / w.out[2] % w.out[1], at % w.out[2]};
      y.As<float>()[i] = MaxOf(w, x.As<float>() + plane * inputs, mask.As<std::int32_t>() + plane % masks * inputs, out,
                               window.kernel.size() == 1);
    }
  });
}

Prepared PrepareMasked(PrepareContext& c) {
  if (c.InputDType(1) != DType::kInt32) c.Unsupported(c.InputText(1), c.InputDType(1));
  return WithState(RunMasked, ReadMasked(c, c.InputType(0)));
}

constexpr OpDef kMaxPoolWithMaskOps[] = {
    {.domain = "com.microsoft",
     .name = "MaxpoolWithMask",
     .since = {1},
     .types = {DType::kFloat},
     .infer = InferMasked,
     .prepare = PrepareMasked},
};

}  // namespace

std::span<const OpDef> MaxPoolWithMaskOps() { return kMaxPoolWithMaskOps; }

}  // namespace sardonyx::ops
