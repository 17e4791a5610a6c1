// ops/ml/distance.cpp - com.microsoft.CDist: distances of the rows of A [M, K] to the rows of B [N, K].
#include "ops/ml/distance.h"

#include <algorithm>
#include <cmath>

#include "kernels/distance/squared_distance.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kGrain = 65536;  // products that are worth a thread

struct DistanceState {
  bool root = false;
  Tensor packed;  // B, if it is constant: [K, N] in blocks
  std::int64_t n = 0, k = 0;
};

template <typename T>
kernels::SquaredDistancesFn<T>* Kernel() {
  if constexpr (std::is_same_v<T, float>) {
    return kernels::Best(kernels::SquaredDistancesF32Variants());
  } else {
    return kernels::Best(kernels::SquaredDistancesF64Variants());
  }
}

template <typename T>
void RunDistance(KernelContext& c) {
  const DistanceState& state = c.state<DistanceState>();
  const TensorRef& a = c.Input(0);
  const bool packed = state.packed.defined();
  if (a.rank() != 2 || (!packed && c.Input(1).rank() != 2))
    Fail(Code::kInvalidArgument, "expected matrices, found ", ToText(a.shape), " and ", ToText(c.Input(1).shape));
  const std::int64_t m = a.shape[0], k = a.shape[1];
  const std::int64_t n = packed ? state.n : c.Input(1).shape[0], other = packed ? state.k : c.Input(1).shape[1];
  if (k != other)
    Fail(Code::kInvalidArgument, "expected rows of one length, found [", m, ", ", k, "] and [", n, ", ", other, "]");
  const std::int64_t shape[] = {m, n};
  T* y = c.Output(0, shape).As<T>();
  if (m == 0 || n == 0) return;
  const T* points = state.packed.data<T>();
  if (!packed) {
    T* room = c.Scratch<T>(static_cast<std::size_t>(std::max<std::int64_t>(1, kernels::PackedPointCount(n, k))));
    kernels::PackPoints(c.Input(1).As<const T>(), n, k, room);
    points = room;
  }
  const auto run = Kernel<T>();
  const bool root = state.root;
  const T* rows = a.As<const T>();
  c.parallel().For(m, std::max<std::int64_t>(1, kGrain / (n * (k + 1))), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      run(rows + i * k, k, points, n, y + i * n);
      for (std::int64_t j = 0; root && j < n; ++j) y[i * n + j] = std::sqrt(y[i * n + j]);
    }
  });
}

template <typename T>
Prepared PrepareOf(PrepareContext& c, DistanceState state) {
  const Tensor* b = c.Constant(1);
  if (b != nullptr && b->shape().rank() == 2) {
    state.n = b->shape()[0], state.k = b->shape()[1];
    state.packed = Packed(b->dtype(), Shape{kernels::PackedPointCount(state.n, state.k)}, [&](Tensor& packed) {
      kernels::PackPoints(b->data<T>(), state.n, state.k, packed.data<T>());
    });
    c.MarkPacked(1);
  }
  return WithState(RunDistance<T>, std::move(state));
}

}  // namespace

void InferDistance(InferContext& c) {
  const DType dtype = c.InputDType(0);
  for (std::size_t i = 0; i < 2; ++i) {
    if (c.HasRank(i) && c.Rank(i) != 2)
      c.Fail(Code::kInvalidArgument, "expected matrices, found ", c.InputType(i).ToText(), " as input ", i);
  }
  c.SetOutput(0, dtype, {c.HasRank(0) ? c.InputDims(0)[0] : Dim(), c.HasRank(1) ? c.InputDims(1)[0] : Dim()});
}

Prepared PrepareDistance(PrepareContext& c) {
  const std::string metric = c.String("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    c.Fail(Code::kInvalidGraph, "attribute 'metric': expected euclidean or sqeuclidean, found '", metric, "'");
  DistanceState state;
  state.root = metric == "euclidean";
  return c.InputDType(0) == DType::kDouble ? PrepareOf<double>(c, std::move(state))
                                           : PrepareOf<float>(c, std::move(state));
}

}  // namespace sardonyx::ops
