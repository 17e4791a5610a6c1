// ops/tensor/center_crop_pad.cpp - CenterCropPad: tensors cut or padded around their centre.
#include <algorithm>

#include "kernels/copy/strided_copy.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kMaxRank = 16;

struct CenterState {
  std::vector<std::int64_t> axes;  // empty: all
};

void InferCenter(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const std::vector<std::int64_t> axes = c.Ints("axes");
  const auto target = c.ShapeData(1);
  const std::size_t count = axes.empty() ? dims.size() : axes.size();
  if (target && target->size() != count) {
    c.Fail(Code::kInvalidArgument, "expected ", count, " sizes, found ", target->size());
  }
  std::vector<bool> seen(dims.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = axes.empty() ? i : AxisOf(c, axes[i], dims.size());
    if (seen[at])
      c.Fail(Code::kInvalidArgument, "attribute 'axes': expected each axis once, found axis ", at, " twice");
    seen[at] = true;
    dims[at] = target ? (*target)[i] : Dim();
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunCenter(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::vector<std::int64_t>& axes = c.state<CenterState>().axes;
  const Shape target = IntsOf(c.Input(1));
  if (target.size() != (axes.empty() ? x.rank() : axes.size())) {
    Fail(Code::kInvalidArgument, "expected ", axes.empty() ? x.rank() : axes.size(), " sizes, found ", ToText(target));
  }
  Shape shape(x.shape);
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] < 0) Fail(Code::kInvalidArgument, "expected sizes of at least 0, found ", ToText(target));
    shape[axes.empty() ? i : NormalizeAxis(axes[i], x.rank())] = target[i];
  }
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  const std::uint64_t zero[2] = {};
  const std::string empty;
  kernels::FillElements(x.dtype, IsString(x.dtype) ? static_cast<const void*>(&empty) : zero, 0, y.data, 0, y.count);
  kernels::StridedLoops loops;
  std::int64_t from = 1, to = 1, from_offset = 0, to_offset = 0;
  if (x.rank() > kMaxRank)
    Fail(Code::kNotImplemented, "expected a rank of at most ", kMaxRank, ", found rank ", x.rank());
  std::int64_t from_stride[kMaxRank], to_stride[kMaxRank];
  for (std::size_t d = x.rank(); d-- > 0;) {
    from_stride[d] = from;
    to_stride[d] = to;
    const std::int64_t extra = x.shape[d] - shape[d];
    if (extra > 0) from_offset += extra / 2 * from;
    if (extra < 0) to_offset += -extra / 2 * to;
    from *= x.shape[d];
    to *= shape[d];
  }
  for (std::size_t d = 0; d < x.rank(); ++d) loops.Add(std::min(x.shape[d], shape[d]), from_stride[d], to_stride[d]);
  kernels::StridedCopy(x.dtype, loops, x.data, from_offset, y.data, to_offset, c.parallel());
}

Prepared PrepareCenter(PrepareContext& c) { return WithState(RunCenter, CenterState{c.Ints("axes")}); }

constexpr OpDef kCenterCropPadOps[] = {
    {.name = "CenterCropPad", .since = {18}, .types = kAllTypes, .infer = InferCenter, .prepare = PrepareCenter},
};

}  // namespace

std::span<const OpDef> CenterCropPadOps() { return kCenterCropPadOps; }

}  // namespace sardonyx::ops
