// ops/math/topk.cpp - TopK: the k largest or smallest elements of an axis with their indices; among equal ones the
// first.
#include <algorithm>

#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

struct TopKState {
  std::int64_t axis = -1;
  bool largest = true, sorted = true;
};

void InferTopK(InferContext& c) {
  if (!c.HasRank(0)) {
    c.SetOutput(0, c.InputDType(0));
    return c.SetOutput(1, DType::kInt64);
  }
  std::vector<Dim> dims = c.InputDims(0);
  const std::size_t axis = AxisOf(c, c.Int("axis", -1), dims.size());
  const auto k = c.ShapeData(1);
  const Dim count = k && k->size() == 1 ? (*k)[0] : Dim();
  if (count.known() && (count.number() < 0 || (dims[axis].known() && count.number() > dims[axis].number()))) {
    c.Fail(Code::kInvalidArgument, "expected k in [0, ", dims[axis].ToText(), "], found ", count.number());
  }
  dims[axis] = count;
  c.SetOutput(1, DType::kInt64, dims);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// Values are compared as numbers; NaN is greater than all of them.
template <typename T>
bool Less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return false;
    if (b != b) return true;
  }
  return a < b;
}

template <typename T>
struct Ranked {
  const T* x;
  std::int64_t stride;
  bool largest;
  bool operator()(std::int64_t a, std::int64_t b) const {
    const T &va = x[a * stride], &vb = x[b * stride];
    if (largest ? Less(vb, va) : Less(va, vb)) return true;
    if (largest ? Less(va, vb) : Less(vb, va)) return false;
    return a < b;
  }
};

// The places of the k best of n, best first, into order[0, k).
template <typename T>
void Select(const Ranked<T>& better, std::int64_t n, std::int64_t k, bool sorted, std::int64_t* order) {
  if (k * 8 < n) {  // few of many: a heap of the best with the worst on top
    for (std::int64_t i = 0; i < k; ++i) order[i] = i;
    std::make_heap(order, order + k, better);
    for (std::int64_t i = k; i < n; ++i) {
      if (!better(i, order[0])) continue;
      std::pop_heap(order, order + k, better);
      order[k - 1] = i;
      std::push_heap(order, order + k, better);
    }
    std::sort_heap(order, order + k, better);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) order[i] = i;
  if (k < n) std::nth_element(order, order + k, order + n, better);
  if (sorted || k < n) std::sort(order, order + k, better);
}

template <typename T>
void RunTopK(KernelContext& c) {
  const auto& state = c.state<TopKState>();
  const TensorRef& x = c.Input(0);
  const std::size_t axis = NormalizeAxis(state.axis, x.rank());
  const std::int64_t n = x.dim(axis);
  if (c.Input(1).count != 1) Fail(Code::kInvalidArgument, "expected one k, found ", ToText(c.Input(1).shape));
  const std::int64_t k = *c.Input(1).As<std::int64_t>();
  if (k < 0 || k > n) Fail(Code::kInvalidArgument, "expected k in [0, ", n, "], found ", k);
  Shape shape(x.shape);
  shape[axis] = k;
  const OutputRef y = c.Output(0, shape);
  std::int64_t* indices = c.HasOutput(1) ? c.Output(1, shape).As<std::int64_t>() : nullptr;
  if (y.count == 0) return;
  const std::int64_t outer = ElementCount(x.shape, 0, axis), inner = ElementCount(x.shape, axis + 1, x.rank());
  // Every piece of work has room for the indices of one row.
  const std::int64_t jobs = std::min<std::int64_t>(outer * inner, 64);
  Operands io(c, kDTypeOf<T>, 2, 2);
  const std::size_t orders = io.Add<std::int64_t>(static_cast<std::size_t>(jobs * n));
  const Operands::Computing computing(io);
  const T* from = io.In<T>(0);
  T* to = io.Out<T>(0);
  c.parallel().For(jobs, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t job = begin; job < end; ++job) {
      std::int64_t* order = io.At<std::int64_t>(orders) + job * n;
      for (std::int64_t i = outer * inner * job / jobs; i < outer * inner * (job + 1) / jobs; ++i) {
        const T* row = from + i / inner * n * inner + i % inner;
        Select(Ranked<T>{row, inner, state.largest}, n, k, state.sorted, order);
        for (std::int64_t j = 0; j < k; ++j) {
          const std::int64_t at = (i / inner * k + j) * inner + i % inner;
          to[at] = row[order[j] * inner];
          if (indices != nullptr) indices[at] = order[j];
        }
      }
    }
  });
}

Prepared PrepareTopK(PrepareContext& c) {
  const TopKState state = {c.Int("axis", -1), c.Flag("largest", true), c.Flag("sorted", true)};
  const DType dtype = c.InputDType(0);
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) return WithState(RunTopK<float>, state);
  Prepared prepared;
  const bool found =
      VisitDType<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                 std::uint32_t, std::uint64_t>(dtype, [&]<typename T>() { prepared = WithState(RunTopK<T>, state); });
  if (!found) c.Unsupported(c.InputText(0), dtype);
  return prepared;
}

void UpgradeTopK(UpgradeContext& c) {
  if (c.version() > 1) return;
  const auto k = c.Take("k");
  if (!k) c.attributes().Fail(Code::kInvalidGraph, "attribute 'k' is required and missing");
  c.SetConstantInput(1, Tensor::Of<std::int64_t>({std::get<std::int64_t>(*k)}, Shape{1}));
}

constexpr OpDef kTopKOps[] = {
    {.name = "TopK",
     .since = {1, 10, 11, 24},
     .types = kNumbers,
     .infer = InferTopK,
     .prepare = PrepareTopK,
     .upgrade = UpgradeTopK,
     .cost = CountOncePerInput},
};

}  // namespace

std::span<const OpDef> TopKOps() { return kTopKOps; }

}  // namespace sardonyx::ops
