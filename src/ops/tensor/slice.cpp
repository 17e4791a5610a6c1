// ops/tensor/slice.cpp - Slice: a range of each axis, with steps of either direction.
#include <limits>
#include <numeric>

#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/dim_facts.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/layout_axes.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

struct Cut {
  std::int64_t start, step, count;
};

// start, end and step of one axis of `size` elements, clamped as the standard says: a start before the first element is
// the first element, backwards too (NumPy takes none there).
Cut CutAxis(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t size) {
  if (step == 0) Fail(Code::kInvalidArgument, "expected steps other than 0, found 0");
  if (step == std::numeric_limits<std::int64_t>::min()) step = -std::numeric_limits<std::int64_t>::max();
  const auto clamp = [&](std::int64_t at) {
    if (at < 0) at += size;  // a large negative number stays negative: size is not
    return step > 0 ? std::clamp<std::int64_t>(at, 0, size) : std::clamp<std::int64_t>(at, -1, size - 1);
  };
  start = clamp(start);
  if (size > 0) start = std::max<std::int64_t>(start, 0);
  end = clamp(end);
  const std::int64_t span = step > 0 ? end - start : start - end;
  const std::int64_t width = step > 0 ? step : -step;
  return {start, step, span <= 0 ? 0 : (span - 1) / width + 1};
}

constexpr std::int64_t kMaxStart = std::numeric_limits<std::int32_t>::max();

// A slice of symbolic dimensions: what can be said without knowing the size.
Dim CutDim(const Dim& size, const Dim& start, const Dim& end, std::int64_t step) {
  if (size.known() && start.known() && end.known()) {
    return CutAxis(start.number(), end.number(), step, size.number()).count;
  }
  if (step != 1) {
    const bool all_backwards = step == -1 && start.known() && start.number() == -1 && end.known() &&
                               end.number() <= std::numeric_limits<std::int32_t>::min();
    if (all_backwards) return size;
    return step > 1 ? CeilDiv(CutDim(size, start, end, 1), Dim(step)) : Dim();
  }
  const bool to_end = (end.known() && end.number() >= std::numeric_limits<std::int32_t>::max()) || SameDim(size, end);
  if (start.known() && start.number() == 0) {
    if (to_end) return size;
    if (end.known() && end.number() < 0) return end.number() >= -kMaxStart ? WithoutLast(size, -end.number()) : Dim();
    if (NeverNegative(end)) return Min(end, size);
    return Dim();
  }
  if (start.symbolic()) {
    if (!NeverNegative(start)) return to_end ? LastElements(Dim(0) - start, size) : Dim();
    if (to_end) return NeverNegative(size - start) ? size - start : Max(size - start, Dim(0));
    return NeverNegative(end - start) && NeverNegative(size) ? Min(end, size) - Min(start, size) : Dim();
  }
  if (!start.known()) return Dim();
  if (start.number() < 0) return to_end && start.number() >= -kMaxStart ? Min(Dim(-start.number()), size) : Dim();
  if (to_end) return Max(size - start, Dim(0));
  return end.known() && end.number() < 0 && end.number() >= -kMaxStart ? Max(size + end - start, Dim(0)) : Dim();
}

struct SliceArguments {
  std::vector<Dim> starts, ends;
  std::vector<std::int64_t> axes, steps;
};

// nullopt where axes or steps are not known, or not even how many there are.
std::optional<SliceArguments> KnownArguments(const InferContext& c) {
  auto starts = c.ShapeData(1), ends = c.ShapeData(2);
  if (!starts || !ends) return std::nullopt;
  SliceArguments a{std::move(*starts), std::move(*ends), {}, {}};
  a.axes.resize(a.starts.size());
  std::iota(a.axes.begin(), a.axes.end(), std::int64_t{0});
  a.steps.assign(a.starts.size(), 1);
  if (c.HasInput(3)) {
    const auto axes = c.ConstantInts(3);
    if (!axes) return std::nullopt;
    a.axes = *axes;
  }
  if (c.HasInput(4)) {
    const auto steps = c.ConstantInts(4);
    if (!steps) return std::nullopt;
    a.steps = *steps;
  }
  if (a.ends.size() != a.starts.size() || a.axes.size() != a.starts.size() || a.steps.size() != a.starts.size()) {
    c.Fail(Code::kInvalidArgument, "expected as many starts, ends, axes and steps, found ", a.starts.size(), ", ",
           a.ends.size(), ", ", a.axes.size(), " and ", a.steps.size());
  }
  return a;
}

void InferSlice(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<Dim>& x = c.InputDims(0);
  const auto a = KnownArguments(c);
  std::vector<Dim> dims = x;
  if (!a) {
    const auto axes = c.HasInput(3) ? c.ConstantInts(3) : std::nullopt;
    if (!axes) {
      dims.assign(dims.size(), Dim());
    } else {
      for (const std::int64_t axis : *axes) dims[AxisOf(c, axis, x.size())] = Dim();
    }
    return c.SetOutput(0, c.InputDType(0), std::move(dims));
  }
  std::vector<bool> seen(x.size());
  for (std::size_t i = 0; i < a->starts.size(); ++i) {
    const std::size_t axis = AxisOf(c, a->axes[i], x.size());
    if (seen[axis]) c.Fail(Code::kInvalidArgument, "expected each axis once, found axis ", axis, " twice");
    seen[axis] = true;
    dims[axis] = CutDim(x[axis], a->starts[i], a->ends[i], a->steps[i]);
  }
  const bool small =
      x.size() == 1 && a->starts.size() == 1 && x[0].known() && a->starts[0].known() && a->ends[0].known();
  c.SetOutput(0, c.InputDType(0), std::move(dims));
  if (!small || !IsInteger(c.InputDType(0))) return;
  if (const auto data = c.ShapeData(0); data && static_cast<std::int64_t>(data->size()) == x[0].number()) {
    const Cut cut = CutAxis(a->starts[0].number(), a->ends[0].number(), a->steps[0], x[0].number());
    std::vector<Dim> elements;
    for (std::int64_t i = 0; i < cut.count; ++i) {
      elements.push_back((*data)[static_cast<std::size_t>(cut.start + i * cut.step)]);
    }
    c.SetShapeData(0, std::move(elements));
  }
}

void RunSlice(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::size_t rank = x.rank();
  const Shape starts = IntsOf(c.Input(1)), ends = IntsOf(c.Input(2));
  const Shape axes = c.HasInput(3) ? IntsOf(c.Input(3)) : Shape{};
  const Shape steps = c.HasInput(4) ? IntsOf(c.Input(4)) : Shape{};
  if (ends.size() != starts.size() || (c.HasInput(3) && axes.size() != starts.size()) ||
      (c.HasInput(4) && steps.size() != starts.size()) || (!c.HasInput(3) && starts.size() > rank)) {
    Fail(Code::kInvalidArgument, "expected as many starts, ends, axes and steps, found ", starts.size(), ", ",
         ends.size(), ", ", axes.size(), " and ", steps.size(), " for an input of rank ", rank);
  }
  constexpr std::size_t kMaxRank = kernels::StridedLoops::kMaxRank;
  if (rank > kMaxRank) Fail(Code::kNotImplemented, "expected a rank of at most ", kMaxRank, ", found rank ", rank);
  Cut cuts[kMaxRank];
  Shape shape(x.shape);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < rank; ++i) cuts[i] = {0, 1, x.shape[i]};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = c.HasInput(3) ? NormalizeAxis(axes[i], rank) : i;
    if (seen >> axis & 1)
      Fail(Code::kInvalidArgument, "expected each axis once, found axis ", axis, " twice in ", ToText(axes));
    seen |= std::uint64_t{1} << axis;
    cuts[axis] = CutAxis(starts[i], ends[i], c.HasInput(4) ? steps[i] : 1, x.shape[axis]);
    shape[axis] = cuts[axis].count;
  }
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  kernels::StridedLoops loops;
  // What the last axis is in memory; rows may lie apart.
  std::int64_t from = x.count, to = y.count, offset = 0;
  if (x.pitch != 0) from = x.count / x.shape[rank - 1] * x.pitch;
  if (y.pitch != 0) to = y.count / shape[rank - 1] * y.pitch;
  for (std::size_t i = 0; i < rank; ++i) {
    from = i + 1 == rank ? 1 : from / x.shape[i];
    to = i + 1 == rank ? 1 : to / shape[i];
    offset += cuts[i].start * from;
    if (cuts[i].count > 1) loops.Add(cuts[i].count, cuts[i].step * from, to);
  }
  kernels::StridedCopy(x.dtype, loops, x.data, offset, y.data, 0, c.parallel());
}

Prepared PrepareSlice(PrepareContext&) { return {RunSlice, nullptr}; }

void UpgradeSlice(UpgradeContext& c) {
  if (c.version() > 1) return;
  c.AttributeToInput("starts", 1);
  c.AttributeToInput("ends", 2);
  c.AttributeToInput("axes", 3);
}

// How many axes Slice names where it has no list of them.
std::size_t SliceCount(const Graph& graph, const Node& node) {
  const Type& starts = InputType(graph, node, 1);
  return starts.HasStaticShape() && starts.rank() == 1 ? static_cast<std::size_t>(starts.dims[0].number()) : SIZE_MAX;
}

bool DescribeSlice(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!DescribeMain(graph, node, layout)) return false;
  const std::size_t count = SliceCount(graph, node), rank = InputType(graph, node, 0).rank();
  return (HasInput(node, 3) || count <= rank) && AxesInput(graph, node, 3, rank, count).has_value();
}

void ChangeSlice(const LayoutChange& c) { MapAxesInput(c, 3, SliceCount(c.graph, c.node())); }

constexpr LayoutDef kSliceLayout = {"its axes are mapped", DescribeSlice, ChangeSlice};

bool TakesPitch(const Node&, Port port) { return port.output || port.index == 0; }

constexpr OpDef kSliceOps[] = {
    {.name = "DynamicSlice",
     .since = {1},
     .types = kAllTypes,
     .infer = InferSlice,
     .prepare = PrepareSlice,
     .cost = CountPicked,
     .traits = kMovesElements},
    {.name = "Slice",
     .since = {1, 10, 11, 13},
     .types = kAllTypes,
     .infer = InferSlice,
     .prepare = PrepareSlice,
     .upgrade = UpgradeSlice,
     .cost = CountPicked,
     .layout = &kSliceLayout,
     .pitch = TakesPitch,
     .traits = kMovesElements},
};

}  // namespace

std::span<const OpDef> SliceOps() { return kSliceOps; }

}  // namespace sardonyx::ops
