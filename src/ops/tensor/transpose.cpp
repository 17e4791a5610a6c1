// ops/tensor/transpose.cpp - Transpose.
#include "kernels/copy/strided_copy.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct TransposeState {
  std::vector<std::int64_t> perm;  // empty: reversed
};

// Fails unless `perm` holds each axis of `rank` once.
void CheckPerm(const std::vector<std::int64_t>& perm, std::size_t rank) {
  std::vector<bool> seen(rank);
  bool good = perm.size() == rank;
  for (std::size_t i = 0; good && i < rank; ++i) {
    good = perm[i] >= 0 && perm[i] < static_cast<std::int64_t>(rank) && !seen[static_cast<std::size_t>(perm[i])];
    if (good) seen[static_cast<std::size_t>(perm[i])] = true;
  }
  if (!good)
    Fail(Code::kInvalidGraph, "expected perm to be a permutation of ", rank, " axes, found ", ToText(Dims(perm)));
}

void InferTranspose(InferContext& c) {
  const std::vector<std::int64_t> perm = c.Ints("perm");
  if (!c.HasRank(0)) {
    if (perm.empty()) return c.SetOutput(0, c.InputDType(0));
    return c.SetOutput(0, c.InputDType(0), std::vector<Dim>(perm.size()));
  }
  const std::vector<Dim>& x = c.InputDims(0);
  std::vector<Dim> dims(x.rbegin(), x.rend());
  if (c.Has("perm")) {
    CheckPerm(perm, x.size());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = x[static_cast<std::size_t>(perm[i])];
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
  if (x.size() <= 1 && IsInteger(c.InputDType(0))) {
    if (auto data = c.ShapeData(0)) c.SetShapeData(0, std::move(*data));
  }
}

void RunTranspose(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::vector<std::int64_t>& perm = c.state<TransposeState>().perm;
  const std::size_t rank = x.rank();
  Shape strides, shape;
  strides.Resize(rank);
  shape.Resize(rank);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * x.shape[i];
  kernels::StridedLoops loops;
  std::int64_t to = x.count;
  const auto axis = [&](std::size_t i) { return perm.empty() ? rank - 1 - i : static_cast<std::size_t>(perm[i]); };
  for (std::size_t i = 0; i < rank; ++i) shape[i] = x.shape[axis(i)];
  const TensorRef& y = c.Output(0, shape);
  if (x.count == 0) return;
  for (std::size_t i = 0; i < rank; ++i) {
    to /= shape[i];
    if (!loops.Add(shape[i], strides[axis(i)], to)) {
      Fail(Code::kNotImplemented, "rank ", rank, " is beyond ", kernels::StridedLoops::kMaxRank);
    }
  }
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

Prepared PrepareTranspose(PrepareContext& c) { return WithState(RunTranspose, TransposeState{c.Ints("perm")}); }

constexpr OpDef kTransposeOps[] = {
    {.name = "Transpose",
     .since = {1, 13, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferTranspose,
     .prepare = PrepareTranspose},
};

}  // namespace

std::span<const OpDef> TransposeOps() { return kTransposeOps; }

}  // namespace sardonyx::ops
