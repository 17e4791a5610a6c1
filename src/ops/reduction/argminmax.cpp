// ops/reduction/argminmax.cpp - ArgMax and ArgMin, of the first or the last extreme element.
#include <algorithm>

#include "kernels/reduce/columns.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/layout_axes.h"

namespace sardonyx::ops {
namespace {

struct ArgState {
  std::int64_t axis = 0;
  bool keepdims = true, last = false, min = false;
};

void InferArg(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, DType::kInt64);
  const std::size_t axis = AxisOf(c, c.Int("axis", 0), c.Rank(0));
  std::vector<Dim> dims = c.InputDims(0);
  const bool empty = dims[axis].known() && dims[axis].number() == 0;
  dims[axis] = Dim(1);
  const bool asked = std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.known() && d.number() != 0; });
  if (empty && asked) {
    c.Fail(Code::kInvalidArgument, "expected elements along axis ", axis, ", found ", c.InputType(0).ToText());
  }
  if (c.Int("keepdims", 1) != 1) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  c.SetOutput(0, DType::kInt64, std::move(dims));
}

constexpr std::int64_t kColumns = 64;  // neighbours that are searched together, so that memory is read in its order

template <typename T>
void FindInColumns(kernels::ExtremeKind kind, const T* x, std::int64_t n, std::int64_t inner, std::int64_t columns,
                   std::int64_t* y) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // rows whose places 32 bits hold
  T best[kColumns];
  std::int32_t at[kColumns];
  std::copy_n(x, columns, best);
  std::fill_n(y, columns, std::int64_t{0});
  for (std::int64_t first = 1; first < n; first += kMost) {
    std::fill_n(at, columns, -1);
    kernels::ColumnKernels().extremes.Of<T>()(kind, x + first * inner, std::min(kMost, n - first), inner, columns, best,
                                              at);
    for (std::int64_t j = 0; j < columns; ++j)
      if (at[j] >= 0) y[j] = first + at[j];
  }
}

template <typename T>
void FindAll(Parallel& parallel, kernels::ExtremeKind kind, const T* x, std::int64_t outer, std::int64_t n,
             std::int64_t inner, std::int64_t* y) {
  if (inner == 1) {
    parallel.For(outer, std::max<std::int64_t>(1, 8192 / n), [&](std::int64_t begin, std::int64_t end) {
      kernels::ColumnKernels().extreme_rows.Of<T>()(kind, x + begin * n, end - begin, n, y + begin);
    });
    return;
  }
  const std::int64_t tiles = (inner + kColumns - 1) / kColumns;
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / n / std::min(inner, kColumns));
  parallel.For(outer * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % tiles * kColumns;
      const T* base = x + i / tiles * n * inner + first;
      FindInColumns<T>(kind, base, n, inner, std::min(kColumns, inner - first), y + i / tiles * inner + first);
    }
  });
}

template <typename T>
void RunArg(KernelContext& c) {
  const auto& state = c.state<ArgState>();
  const Dims shape = c.Input(0).shape;
  if (c.Output(0).count == 0) return;
  Operands io(c, kDTypeOf<T>, 0, 1);
  const Operands::Computing computing(io);
  const std::size_t axis = shape.empty() ? 0 : NormalizeAxis(state.axis, shape.size());
  const std::int64_t n = shape.empty() ? 1 : shape[axis];
  if (n == 0) Fail(Code::kInvalidArgument, "expected elements along axis ", axis, ", found ", ToText(shape));
  const std::int64_t outer = ElementCount(shape, 0, axis);
  const std::int64_t inner = shape.empty() ? 1 : ElementCount(shape, axis + 1, shape.size());
  const T* x = io.In<T>(0);
  std::int64_t* y = c.Output(0).As<std::int64_t>();
  FindAll(c.parallel(), kernels::ExtremeKind{state.min, state.last}, x, outer, n, inner, y);
}

Prepared PrepareArg(PrepareContext& c) {
  const ArgState state = {c.Int("axis", 0), c.Int("keepdims", 1) == 1, c.Flag("select_last_index"),
                          c.op_type() == "ArgMin"};
  const DType dtype = c.InputDType(0);
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) return WithState(RunArg<float>, state);
  Prepared prepared;
  const bool found =
      VisitDType<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                 std::uint32_t, std::uint64_t>(dtype, [&]<typename T>() { prepared = WithState(RunArg<T>, state); });
  if (!found) c.Unsupported(c.InputText(0), dtype);
  return prepared;
}

bool DescribeArg(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!IsImage(InputType(graph, node, 0))) return false;
  std::vector<std::int64_t> axis = {IntAttribute(node, "axis", 0)};
  if (!NormalizeAxes(axis, InputType(graph, node, 0).rank())) return false;
  return DescribeReduced(graph, node, layout, axis);
}

constexpr LayoutDef kArgLayout = {"its axis is mapped", DescribeArg, ChangeAxis<0>};

constexpr OpDef kArgMinMaxOps[] = {
    {.name = "ArgMax",
     .since = {1, 11, 12, 13},
     .types = kNumbers,
     .infer = InferArg,
     .prepare = PrepareArg,
     .cost = CountOncePerInput,
     .layout = &kArgLayout},
    {.name = "ArgMin",
     .since = {1, 11, 12, 13},
     .types = kNumbers,
     .infer = InferArg,
     .prepare = PrepareArg,
     .cost = CountOncePerInput,
     .layout = &kArgLayout},
};

}  // namespace

std::span<const OpDef> ArgMinMaxOps() { return kArgMinMaxOps; }

}  // namespace sardonyx::ops
