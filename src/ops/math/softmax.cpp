// ops/math/softmax.cpp - Softmax, LogSoftmax and Hardmax; before opset 13 the input counts as a matrix split at `axis`.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reduce/columns.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/math/softmax_any.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"
#include "ops/shapes/layout_axes.h"
#include "ops/spell_context.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

struct SoftmaxState {
  std::int64_t axis = -1;
  bool flatten = false;  // below version 13: everything from `axis` on is one row
  bool log = false;
};

SoftmaxState ReadSoftmax(const AttributeReader& c) {
  const bool flatten = c.node().since_version < 13;
  return {c.Int("axis", flatten ? 1 : -1), flatten, c.op_type() == "LogSoftmax"};
}

void InferSoftmax(InferContext& c) {
  const SoftmaxState state = ReadSoftmax(c);
  if (c.HasRank(0)) {
    const auto rank = static_cast<std::int64_t>(c.Rank(0));
    const bool all = state.flatten && state.axis == rank;
    const bool scalar = rank == 0 && (state.axis == 0 || state.axis == -1);
    if (!all && !scalar) AxisOf(c, state.axis, c.Rank(0));
  }
  InferSameAsInput(c);
}

struct Split {
  std::int64_t outer = 1, n = 1, inner = 1;
};

Split SplitAt(const SoftmaxState& state, Dims shape) {
  if (shape.empty()) return {};
  const bool all = state.flatten && state.axis == static_cast<std::int64_t>(shape.size());
  const std::size_t axis = all ? shape.size() : NormalizeAxis(state.axis, shape.size());
  Split s;
  s.outer = ElementCount(shape, 0, axis);
  if (state.flatten) {
    s.n = ElementCount(shape, axis, shape.size());
  } else {
    s.n = shape[axis];
    s.inner = ElementCount(shape, axis + 1, shape.size());
  }
  return s;
}

template <typename T>
void RunSoftmax(KernelContext& c) {
  const auto& state = c.state<SoftmaxState>();
  if (c.Output(0).count == 0) return;
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  const Split s = SplitAt(state, c.Input(0).shape);
  SoftmaxAny(io.In<T>(0), s.outer, s.n, s.inner, state.log, io.Out<T>(0), c.parallel());
}

// Writes 1 at the first largest element of each of up to 64 columns, 0 elsewhere.
template <typename T>
void MarkLargest(const T* x, std::int64_t n, std::int64_t inner, std::int64_t columns, T* y) {
  T best[64];
  std::int64_t at[64] = {};
  std::copy_n(x, columns, best);
  for (std::int64_t k = 1; k < n; ++k) {
    const T* row = x + k * inner;
    for (std::int64_t j = 0; j < columns; ++j) {
      if (row[j] > best[j]) [[unlikely]] {
        best[j] = row[j];
        at[j] = k;
      }
    }
  }
  for (std::int64_t k = 0; k < n; ++k) std::fill_n(y + k * inner, columns, T(0));
  for (std::int64_t j = 0; j < columns; ++j) y[at[j] * inner + j] = T(1);
}

// A NaN is no larger than what comes before it.
template <typename T>
std::int64_t PlaceBesideNan(const T* x, std::int64_t n) {
  std::int64_t at = 0;
  for (std::int64_t k = 1; k < n; ++k)
    if (x[k] > x[at]) at = k;
  return at;
}

// Rows that follow each other.
template <typename T>
void MarkLargestOfRows(const T* x, std::int64_t rows, std::int64_t n, T* y) {
  constexpr std::int64_t kRows = 64;
  std::int64_t at[kRows];
  for (std::int64_t first = 0; first < rows; first += kRows, x += kRows * n, y += kRows * n) {
    const std::int64_t count = std::min(kRows, rows - first);
    kernels::ColumnKernels().extreme_rows.Of<T>()({}, x, count, n, at);
    for (std::int64_t r = 0; r < count; ++r)
      if (x[r * n + at[r]] != x[r * n + at[r]]) at[r] = PlaceBesideNan(x + r * n, n);
    std::fill_n(y, count * n, T(0));
    for (std::int64_t r = 0; r < count; ++r) y[r * n + at[r]] = T(1);
  }
}

template <typename T>
void RunHardmax(KernelContext& c) {
  const auto& state = c.state<SoftmaxState>();
  if (c.Output(0).count == 0) return;
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  const Split s = SplitAt(state, c.Input(0).shape);
  const T* x = io.In<T>(0);
  T* y = io.Out<T>(0);
  constexpr std::int64_t kColumns = 64;  // neighbours that are searched together
  const std::int64_t tiles = (s.inner + kColumns - 1) / kColumns;
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / s.n / std::min(s.inner, kColumns));
  c.parallel().For(s.outer * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    if (s.inner == 1) return MarkLargestOfRows(x + begin * s.n, end - begin, s.n, y + begin * s.n);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % tiles * kColumns, base = i / tiles * s.n * s.inner + first;
      MarkLargest(x + base, s.n, s.inner, std::min(kColumns, s.inner - first), y + base);
    }
  });
}

Prepared PrepareSoftmax(PrepareContext& c) {
  return WithState(c.InputDType(0) == DType::kDouble ? RunSoftmax<double> : RunSoftmax<float>, ReadSoftmax(c));
}

Prepared PrepareHardmax(PrepareContext& c) {
  return WithState(c.InputDType(0) == DType::kDouble ? RunHardmax<double> : RunHardmax<float>, ReadSoftmax(c));
}

// On the last axis all versions mean the same.
void UpgradeSoftmax(UpgradeContext& c) {
  const Type* x = c.InputType(0);
  const std::int64_t axis = c.attributes().Int("axis", 1);
  c.SetAttribute("axis", axis);
  if (axis == -1 || (x != nullptr && x->has_rank && axis == static_cast<std::int64_t>(x->rank()) - 1))
    c.node.since_version = 13;
}

// The maximum, the difference from it, e^x, their sum, the quotient.
void CountSoftmax(CostContext& c) { c.SetOperations(5 * c.CountOut(0)); }

// Before opset 13 all from the axis on is one row.
void SpellSoftmax(SpellContext& c) {
  const ValueId x = c.node().inputs[0], y = c.node().outputs[0];
  Type flat = c.graph().value(x).type;
  flat.has_rank = false;
  flat.dims.clear();
  const ValueId shape = c.Add("Shape", {x}, {}, {});
  const std::int64_t axis = IntAttribute(c.node(), "axis", 1);
  c.graph().SetInput(c.id(), 0, c.Add("Flatten", {x}, {{"axis", axis}}, flat));
  c.node().SetAttribute("axis", std::int64_t{-1});
  const ValueId result = c.graph().AddValue("", flat);
  c.graph().MoveOutput(c.id(), 0, result);
  const ValueId reshaped = c.Add("Reshape", {result, shape}, {}, c.graph().value(y).type);
  c.graph().MoveOutput(c.graph().value(reshaped).producer, 0, y);
}

// Softmax reads its axis best where it is contiguous.
bool DescribeSoftmax(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!DescribeAxis<-1>(graph, node, layout)) return false;
  if (IntAttribute(node, "opset", 13) < 13) return false;  // QLinearSoftmax: everything from the axis on is one row
  std::vector<std::int64_t> axis = {IntAttribute(node, "axis", -1)};
  const std::size_t rank = InputType(graph, node, 0).rank();
  NormalizeAxes(axis, rank);
  const double cost = MovingCost(InputType(graph, node, 0));
  if (axis[0] + 1 != static_cast<std::int64_t>(rank)) layout.variables[0].first_cost = cost;
  if (axis[0] != 1) layout.variables[0].last_cost = cost;
  return true;
}

constexpr LayoutDef kSoftmaxLayout = {"its axis is mapped, best where that is contiguous", DescribeSoftmax,
                                      ChangeAxis<-1>};

constexpr OpDef Row(std::string_view name, PrepareFn* prepare, CostFn* cost) {
  return {.name = name,
          .since = {13},
          .types = kIeeeFloats,
          .infer = InferSoftmax,
          .prepare = prepare,
          .cost = cost,
          .layout = &kSoftmaxLayout};
}

constexpr OpDef FlatRow(std::string_view name, PrepareFn* prepare, CostFn* cost) {
  return {.name = name,
          .since = {1, 11},
          .types = kIeeeFloats,
          .infer = InferSoftmax,
          .prepare = prepare,
          .upgrade = UpgradeSoftmax,
          .cost = cost,
          .spell = {13, SpellSoftmax}};
}

constexpr OpDef kSoftmaxOps[] = {
    FlatRow("Hardmax", PrepareHardmax, nullptr),
    Row("Hardmax", PrepareHardmax, nullptr),
    FlatRow("LogSoftmax", PrepareSoftmax, CountSoftmax),
    Row("LogSoftmax", PrepareSoftmax, CountSoftmax),
    FlatRow("Softmax", PrepareSoftmax, CountSoftmax),
    Row("Softmax", PrepareSoftmax, CountSoftmax),
    {.domain = "com.microsoft",
     .name = "QLinearSoftmax",
     .since = {1},
     .types = kQuantized8,
     .infer = InferSameAsInput,
     .prepare = PrepareQLinearSoftmax,
     .cost = CountSoftmax,
     .layout = &kSoftmaxLayout},
};

}  // namespace

std::span<const OpDef> SoftmaxOps() { return kSoftmaxOps; }

}  // namespace sardonyx::ops
