// ops/tensor/unfold.cpp - com.microsoft.UnfoldTensor: all slices of `size` elements along an axis, `step` apart, with
// the elements of a slice in a new last axis.
#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct UnfoldState {
  std::int64_t axis = -1, size = 0, step = 1;
};

UnfoldState ReadUnfold(const AttributeReader& c) {
  const UnfoldState state = {c.Int("dim", -1), c.Int("size"), c.Int("step", 1)};
  if (state.size < 1) c.Fail(Code::kInvalidArgument, "attribute 'size': expected at least 1, found ", state.size);
  if (state.step < 1) c.Fail(Code::kInvalidArgument, "attribute 'step': expected at least 1, found ", state.step);
  return state;
}

// How many slices there are along an axis of `length` elements.
std::int64_t CountSlices(const UnfoldState& state, std::int64_t length) {
  if (length < state.size)
    Fail(Code::kInvalidArgument, "expected a size of at most ", length, " along the axis, found ", state.size);
  return (length - state.size) / state.step + 1;
}

void InferUnfold(InferContext& c) {
  const UnfoldState state = ReadUnfold(c);
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  Dim& along = dims[AxisOf(c, state.axis, dims.size())];
  if (along.known() && along.number() < state.size) {
    c.Fail(Code::kInvalidArgument, "attribute 'size': expected at most ", along.number(), ", the length of axis ",
           state.axis, " of ", c.InputType(0).ToText(), ", found ", state.size);
  }
  along = along.known() ? Dim(CountSlices(state, along.number())) : Dim();
  dims.emplace_back(state.size);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunUnfold(KernelContext& c) {
  const UnfoldState& state = c.state<UnfoldState>();
  const TensorRef& x = c.Input(0);
  const std::size_t axis = NormalizeAxis(state.axis, x.rank());
  Shape shape(x.shape);
  shape[axis] = CountSlices(state, x.shape[axis]);
  shape.Append(state.size);
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  constexpr std::size_t kMaxRank = kernels::StridedLoops::kMaxRank;
  if (shape.size() > kMaxRank)
    Fail(Code::kNotImplemented, "expected a rank of at most ", kMaxRank - 1, ", found rank ", x.rank());
  kernels::StridedLoops loops;
  std::int64_t from = x.count, to = y.count;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    from /= x.shape[i];
    to /= shape[i];
    if (shape[i] > 1) loops.Add(shape[i], i == axis ? state.step * from : from, to);
  }
  if (state.size > 1) loops.Add(state.size, ElementCount(x.shape, axis + 1, x.rank()), 1);
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

Prepared PrepareUnfold(PrepareContext& c) { return WithState(RunUnfold, ReadUnfold(c)); }

constexpr OpDef kUnfoldOps[] = {
    {.domain = "com.microsoft",
     .name = "UnfoldTensor",
     .since = {1},
     .types = kAllTypes,
     .infer = InferUnfold,
     .prepare = PrepareUnfold,
     .cost = CountNothing},
};

}  // namespace

std::span<const OpDef> UnfoldOps() { return kUnfoldOps; }

}  // namespace sardonyx::ops
