// ops/tensor/where.cpp - Where: elements of X or Y chosen by a condition; all three broadcast.
#include "kernels/elementwise/simple.h"
#include "ops/cost_context.h"
#include "ops/elementwise.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"
#include "ops/shapes/broadcast.h"

namespace sardonyx::ops {
namespace {

// z[i] = condition[i] ? x[i * step_x] : y[i * step_y]; steps are 0 or 1.
template <typename T>
void Select(const bool* condition, const T* x, std::int64_t step_x, const T* y, std::int64_t step_y, T* z,
            std::int64_t n) {
  if constexpr (std::is_unsigned_v<T>) {
    const kernels::SelectLoops loops = kernels::Select(sizeof(T));
    kernels::SelectFn* run = step_x == 1 ? (step_y == 1 ? loops.both : loops.repeated_y)
                                         : (step_y == 1 ? loops.repeated_x : loops.repeated_both);
    return run(condition, x, y, z, static_cast<std::size_t>(n));
  }
  for (std::int64_t i = 0; i < n; ++i) z[i] = condition[i] ? x[i * step_x] : y[i * step_y];
}

template <typename T>
void RunWhere(KernelContext& c) {
  const OutputRef z = c.Output(0);
  if (z.count == 0) return;
  const auto* condition = c.Input(0).As<const bool>();
  const auto *x = c.Input(1).As<const T>(), *y = c.Input(2).As<const T>();
  const Dims shapes[] = {c.Input(0).shape, c.Input(1).shape, c.Input(2).shape};
  const BroadcastPlan plan(z.shape, shapes);
  const bool one_condition = plan.repeats(0);
  const std::int64_t step_x = plan.repeats(1) ? 0 : 1, step_y = plan.repeats(2) ? 0 : 1;
  c.parallel().For(z.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    plan.ForRange(begin, end, [&](const BroadcastRun& r) {
      T* to = z.As<T>() + r.out;
      const bool* chosen = condition + r.in[0];
      const T *from_x = x + r.in[1], *from_y = y + r.in[2];
      if (!one_condition) return Select(chosen, from_x, step_x, from_y, step_y, to, r.count);
      const T* from = *chosen ? from_x : from_y;
      if ((*chosen ? step_x : step_y) == 0) {
        std::fill_n(to, r.count, *from);
      } else if (from != to) {
        std::copy_n(from, r.count, to);
      }
    });
  });
}

Prepared PrepareWhere(PrepareContext& c) {
  const DType dtype = c.InputDType(1);
  if (c.InputDType(2) != DType::kUndefined && dtype != c.InputDType(2))
    c.Fail(Code::kInvalidGraph, "expected X and Y of one type, found ", Name(dtype), " and ", Name(c.InputDType(2)));
  switch (Bits(dtype)) {
    case 8:
      return {.run = RunWhere<std::uint8_t>, .state = nullptr};
    case 16:
      return {.run = RunWhere<std::uint16_t>, .state = nullptr};
    case 32:
      return {.run = RunWhere<std::uint32_t>, .state = nullptr};
    case 64:
      return {.run = RunWhere<std::uint64_t>, .state = nullptr};
    case 128:
      return {.run = RunWhere<std::complex<double>>, .state = nullptr};
    default:
      if (dtype == DType::kString) return {.run = RunWhere<std::string>, .state = nullptr};
      c.Unsupported("input 'X'", dtype);
  }
}

// The elements of the condition, 0 or 1, as far as they are known.
std::optional<std::vector<Dim>> KnownCondition(const InferContext& c) {
  const Tensor* constant = c.Constant(0);
  if (constant == nullptr) return c.Rank(0) <= 1 ? c.ShapeData(0) : std::nullopt;
  if (constant->dtype() != DType::kBool || constant->shape().rank() > 1) return std::nullopt;
  const auto elements = constant->span<bool>();
  return std::vector<Dim>(elements.begin(), elements.end());
}

// The elements of a small integer result.
void InferContents(InferContext& c) {
  const auto condition = KnownCondition(c);
  const auto x = c.ShapeData(1), y = c.ShapeData(2);
  if (!condition || !x || !y) return;
  if (c.InputDType(1) != DType::kInt64 && c.InputDType(1) != DType::kInt32) return;
  if (!c.HasRank(1) || !c.HasRank(2) || c.Rank(1) > 1 || c.Rank(2) > 1) return;
  const std::size_t m = condition->size();
  const std::size_t n = std::max({m, x->size(), y->size()});
  for (const std::size_t size : {m, x->size(), y->size()})
    if (size != 1 && size != n) return;
  std::vector<Dim> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Dim& chosen = (*condition)[m == 1 ? 0 : i];
    if (!chosen.known()) continue;
    const auto& from = chosen.number() != 0 ? *x : *y;
    out[i] = from[from.size() == 1 ? 0 : i];
  }
  c.SetShapeData(0, std::move(out));
}

void InferWhere(InferContext& c) {
  const DType dtype = c.InputDType(1) != DType::kUndefined ? c.InputDType(1) : c.InputDType(2);
  if (!c.HasRank(0) || !c.HasRank(1) || !c.HasRank(2)) return c.SetOutput(0, dtype);
  c.SetOutput(0, dtype, BroadcastDims(c, BroadcastDims(c, c.InputDims(0), c.InputDims(1)), c.InputDims(2)));
  InferContents(c);
}

constexpr OpDef kWhereOps[] = {
    {.name = "Where",
     .since = {9, 16},
     .types = kNumbers | kComplexes | DTypeSet{DType::kBool, DType::kString} | kFloat8s,
     .typed_input = 1,
     .infer = InferWhere,
     .prepare = PrepareWhere,
     .cost = CountNothing,
     .traits = kMayAlias | kElementwise},
    {.domain = "com.microsoft",
     .name = "QLinearWhere",
     .since = {1},
     .types = kQuantized8,
     .typed_input = 1,
     .infer = InferQLinearWhere,
     .prepare = PrepareQLinearWhere,
     .cost = CountNothing},
};

}  // namespace

std::span<const OpDef> WhereOps() { return kWhereOps; }

}  // namespace sardonyx::ops
