// ops/math/cumulative.cpp - CumSum and CumProd along an axis, forwards or backwards, with or without the element
// itself.
#include <algorithm>
#include <type_traits>

#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct CumulativeState {
  bool exclusive = false, reverse = false, product = false;
};

void InferCumulative(InferContext& c) {
  c.SetOutputType(0, c.InputType(0));
  const auto axis = c.ConstantInts(1);
  if (axis && axis->size() == 1 && c.HasRank(0)) AxisOf(c, (*axis)[0], c.Rank(0));
}

std::int64_t ReadAxis(const TensorRef& axis) {
  if (axis.count != 1) Fail(Code::kInvalidArgument, "expected one axis, found ", ToText(axis.shape));
  return axis.dtype == DType::kInt32 ? *axis.As<std::int32_t>() : *axis.As<std::int64_t>();
}

// Floats add up in double, so that long sums stay exact to a rounding; integers wrap around.
template <typename T>
struct Accumulate {
  using Type = T;
};
template <>
struct Accumulate<float> {
  using Type = double;
};
template <>
struct Accumulate<std::int32_t> {
  using Type = std::uint32_t;
};
template <>
struct Accumulate<std::int64_t> {
  using Type = std::uint64_t;
};

template <typename T>
void RunCumulative(KernelContext& c) {
  using Total = typename Accumulate<T>::Type;
  const auto& state = c.state<CumulativeState>();
  const TensorRef& x = c.Input(0);
  const std::size_t axis = NormalizeAxis(ReadAxis(c.Input(1)), x.rank());
  if (x.count == 0) return;
  Operands io(c, kDTypeOf<T>, 2);
  const Operands::Computing computing(io);
  const std::int64_t n = x.dim(axis), outer = ElementCount(x.shape, 0, axis);
  const std::int64_t inner = ElementCount(x.shape, axis + 1, x.rank());
  const T* from = io.In<T>(0);
  T* to = io.Out<T>(0);
  c.parallel().For(outer * inner, std::max<std::int64_t>(1, 8192 / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t base = i / inner * n * inner + i % inner;
      Total total = state.product ? Total(1) : Total(0);
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t at = base + (state.reverse ? n - 1 - k : k) * inner;
        const Total element = static_cast<Total>(from[at]);
        const Total next = state.product ? total * element : total + element;
        to[at] = static_cast<T>(state.exclusive ? total : next);
        total = next;
      }
    }
  });
}

Prepared PrepareCumulative(PrepareContext& c) {
  const CumulativeState state = {c.Flag("exclusive"), c.Flag("reverse"), c.op_type() == "CumProd"};
  switch (c.InputDType(0)) {
    case DType::kDouble:
      return WithState(RunCumulative<double>, state);
    case DType::kInt32:
      return WithState(RunCumulative<std::int32_t>, state);
    case DType::kInt64:
      return WithState(RunCumulative<std::int64_t>, state);
    case DType::kUInt32:
      return WithState(RunCumulative<std::uint32_t>, state);
    case DType::kUInt64:
      return WithState(RunCumulative<std::uint64_t>, state);
    default:
      return WithState(RunCumulative<float>, state);
  }
}

constexpr DTypeSet kCumulativeTypes =
    kIeeeFloats | DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};

constexpr OpDef kCumulativeOps[] = {
    {.name = "CumProd",
     .since = {26},
     .types = kCumulativeTypes,
     .infer = InferCumulative,
     .prepare = PrepareCumulative},
    {.name = "CumSum",
     .since = {11, 14},
     .types = kCumulativeTypes,
     .infer = InferCumulative,
     .prepare = PrepareCumulative,
     .cost = CountOncePerInput},
};

}  // namespace

std::span<const OpDef> CumulativeOps() { return kCumulativeOps; }

}  // namespace sardonyx::ops
