// ops/tensor/concat_split.cpp - Concat and Split.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/dim_facts.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"
#include "ops/shapes/joined_dims.h"
#include "ops/shapes/layout_axes.h"
#include "ops/spell_context.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

struct AxisState {
  std::int64_t axis;
};

// Copies a part between its own tensor and the whole one, in which it begins at `at` of the axis. Nothing if it is a
// part of it in memory.
void CopyPart(const TensorRef& from, const OutputRef& to, Dims part, std::size_t axis, std::int64_t at, bool joins,
              Parallel& parallel) {
  const std::size_t rank = part.size();
  const std::int64_t outer = ElementCount(part, 0, axis);
  const auto stride = [&](const auto& tensor) {  // of the axis
    return axis + 1 == rank ? 1 : ElementCount(tensor.shape, axis + 1, rank - 1) * tensor.RowPitch();
  };
  const auto block = [&](const auto& tensor) {  // all of the axis
    return axis + 1 == rank ? tensor.RowPitch() : tensor.shape[axis] * stride(tensor);
  };
  const std::int64_t offset = at * (joins ? stride(to) : stride(from));
  const std::int64_t from_offset = joins ? 0 : offset, to_offset = joins ? offset : 0;
  if (from.As<std::byte>() != nullptr && to.pitch + from.pitch != 0 &&
      from.As<std::byte>() + ByteSize(from.dtype, from_offset) == to.As<std::byte>() + ByteSize(to.dtype, to_offset))
    return;
  kernels::StridedLoops loops;
  loops.Add(outer, block(from), block(to));
  if (axis + 1 == rank) {
    loops.Add(part[axis], 1, 1);
  } else if (from.pitch + to.pitch == 0) {
    loops.Add(ElementCount(part, axis, rank), 1, 1);
  } else {
    loops.Add(ElementCount(part, axis, rank - 1), from.RowPitch(), to.RowPitch());
    loops.Add(part[rank - 1], 1, 1);
  }
  kernels::StridedCopy(from.dtype, loops, from.data, from_offset, to.data, to_offset, parallel);
}

bool TakesPitch(const Node&, Port port) { return port.output || port.index == 0; }
bool TakesPitchEverywhere(const Node&, Port) { return true; }

// ---- Concat

void InferConcat(InferContext& c) {
  std::vector<std::size_t> inputs(c.InputCount());
  std::iota(inputs.begin(), inputs.end(), std::size_t{0});
  std::optional<std::vector<Dim>> dims = JoinedDims(c, inputs);
  if (!dims) return c.SetOutput(0, c.InputDType(0));
  const std::size_t rank = dims->size();
  c.SetOutput(0, c.InputDType(0), std::move(*dims));
  if (rank != 1 || !IsInteger(c.InputDType(0))) return;
  std::vector<Dim> elements;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    const auto part = c.ShapeData(i);
    if (!part) return;
    elements.insert(elements.end(), part->begin(), part->end());
  }
  c.SetShapeData(0, std::move(elements));
}

void RunConcat(KernelContext& c) {
  const std::size_t axis = NormalizeAxis(c.state<AxisState>().axis, c.Input(0).rank());
  std::size_t reference = 0;
  for (std::size_t i = c.InputCount(); i-- > 0;)
    if (c.Input(i).rank() > axis && c.Input(i).shape[axis] != 0) reference = i;
  const Dims first = c.Input(reference).shape;
  Shape shape(first);
  shape[axis] = 0;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    const Dims x = c.Input(i).shape;
    bool fits = x.size() == first.size();
    for (std::size_t d = 0; fits && d < x.size(); ++d) fits = d == axis || x[axis] == 0 || x[d] == first[d];
    if (!fits) {
      Fail(Code::kInvalidArgument, "expected inputs that differ in dimension ", axis, " only, found shapes ",
           ToText(first), " and ", ToText(x), " (input ", i, ")");
    }
    shape[axis] += x[axis];
  }
  const OutputRef y = c.Output(0, shape);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    const TensorRef& x = c.Input(i);
    if (x.count != 0) CopyPart(x, y, x.shape, axis, at, true, c.parallel());
    at += x.shape[axis];
  }
}

Prepared PrepareConcat(PrepareContext& c) { return WithState(RunConcat, AxisState{c.Int("axis")}); }

void UpgradeConcat(UpgradeContext& c) {
  if (!c.attributes().Has("axis")) c.SetAttribute("axis", std::int64_t{1});  // the default of version 1
}

// ---- Split

// The size of part i of `parts` where no sizes are given: equal, the last one smaller.
std::int64_t EvenPart(std::int64_t size, std::size_t parts, std::size_t i) {
  const auto n = static_cast<std::int64_t>(parts);
  const std::int64_t chunk = (size + n - 1) / n;
  return std::clamp<std::int64_t>(size - static_cast<std::int64_t>(i) * chunk, 0, chunk);
}

// What ONNX Runtime finds when it loads the model.
void CheckParts(const InferContext& c, const Dim& split, std::size_t parts) {
  if (!split.known()) return;
  const auto count = static_cast<std::int64_t>(parts);
  const auto sizes = c.ConstantInts(1);
  if (!c.HasInput(1) && !c.Has("num_outputs") && count > 0 && split.number() % count != 0)
    c.Fail(Code::kInvalidArgument, "expected a dimension divisible by ", count, ", the number of outputs, found ",
           split.number());
  if (!sizes || std::any_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size < 0; })) return;
  std::int64_t left = split.number();
  for (const std::int64_t size : *sizes) left -= std::min(size, left + 1);  // below 0 at once: no sum overflows
  if (left != 0)
    c.Fail(Code::kInvalidArgument, "expected ", count, " split sizes with the sum ", split.number(), ", found ",
           ToText(Dims(*sizes)));
}

void InferSplit(InferContext& c) {
  const std::size_t parts = c.OutputCount();
  if (!c.HasRank(0)) {
    for (std::size_t i = 0; i < parts; ++i) c.SetOutput(i, c.InputDType(0));
    return;
  }
  const std::vector<Dim>& x = c.InputDims(0);
  const std::size_t axis = AxisOf(c, c.Int("axis", 0), x.size());
  const bool whole = parts == 1 && c.Int("num_outputs", 1) > 1;  // ONNX Runtime counts the outputs
  if (c.Has("num_outputs") && c.Int("num_outputs") != static_cast<std::int64_t>(parts) && !whole) {
    c.Fail(Code::kInvalidGraph, "attribute 'num_outputs': expected ", parts, ", as the node has outputs, found ",
           c.Int("num_outputs"));
  }
  const auto sizes = c.HasInput(1) ? c.ShapeData(1) : std::nullopt;
  if (sizes && sizes->size() != parts) {
    c.Fail(Code::kInvalidArgument, "expected ", parts, " split sizes, one for each output, found ", sizes->size());
  }
  CheckParts(c, x[axis], parts);
  const bool scalars = x.size() == 1 && IsInteger(c.InputDType(0));
  const auto data = scalars ? c.ShapeData(0) : std::nullopt;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    std::vector<Dim> dims = x;
    if (sizes) {
      dims[axis] = (*sizes)[i];
    } else if (!c.HasInput(1)) {
      if (x[axis].known()) {
        dims[axis] = EvenPart(x[axis].number(), parts, i);
      } else {
        dims[axis] = parts == 1             ? x[axis]
                     : c.Has("num_outputs") ? Dim()
                                            : FloorDiv(x[axis], Dim(static_cast<std::int64_t>(parts)));
      }
    } else {
      dims[axis] = Dim();
    }
    if (data && at >= 0 && dims[axis].known() && dims[axis].number() >= 0 &&
        at + dims[axis].number() <= static_cast<std::int64_t>(data->size())) {
      c.SetShapeData(i, {data->begin() + at, data->begin() + at + dims[axis].number()});
      at += dims[axis].number();
    } else {
      at = -1;
    }
    c.SetOutput(i, c.InputDType(0), std::move(dims));
  }
}

struct SplitState {
  std::int64_t axis;
  bool uneven;  // the last part may be smaller (num_outputs); before version 18 the parts must be equal
};

void RunSplit(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const SplitState& state = c.state<SplitState>();
  const std::size_t axis = NormalizeAxis(state.axis, x.rank()), parts = c.OutputCount();
  const std::int64_t size = x.shape[axis];
  Shape sizes;
  if (c.HasInput(1)) {
    sizes = IntsOf(c.Input(1));
    std::int64_t sum = 0;
    bool good = sizes.size() == parts;
    for (const std::int64_t s : sizes) {
      good = good && s >= 0 && s <= size;
      sum += good ? s : 0;
    }
    if (!good || sum != size) {
      Fail(Code::kInvalidArgument, "expected ", parts, " split sizes with the sum ", size, " (dimension ", axis, " of ",
           ToText(x.shape), "), found ", ToText(sizes));
    }
  } else if (!state.uneven && size % static_cast<std::int64_t>(parts) != 0) {
    Fail(Code::kInvalidArgument, "expected dimension ", axis, " to be divisible by ", parts,
         ", the number of outputs, found shape ", ToText(x.shape));
  }
  Shape shape(x.shape);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    shape[axis] = c.HasInput(1) ? sizes[i] : EvenPart(size, parts, i);
    if (c.HasOutput(i)) {
      const OutputRef y = c.Output(i, shape);
      if (y.count != 0) CopyPart(x, y, shape, axis, at, false, c.parallel());
    }
    at += shape[axis];
  }
}

Prepared PrepareSplit(PrepareContext& c) {
  return WithState(RunSplit, SplitState{c.Int("axis", 0), c.Has("num_outputs")});
}

void UpgradeSplit(UpgradeContext& c) { c.AttributeToInput("split", 1); }

// Equal parts have to be counted since version 18.
void SpellSplit(SpellContext& c) {
  const Node& node = c.node();
  const bool sized = node.inputs.size() > 1 && node.inputs[1] != kNoValue;
  if (sized || node.FindAttribute("num_outputs") != nullptr) return;
  c.node().SetAttribute("num_outputs", static_cast<std::int64_t>(node.outputs.size()));
}

bool DescribeConcat(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!DescribeAxis<1>(graph, node, layout)) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (InputType(graph, node, i).rank() != InputType(graph, node, 0).rank()) return false;
    layout.inputs[i] = 0;
  }
  return true;
}

// Scale and zero point of the result, then three inputs for each tensor.
bool DescribeQLinearConcat(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type& y = OutputType(graph, node);
  std::vector<std::int64_t> axis = {IntAttribute(node, "axis", 1)};
  if (!IsImage(y) || !NormalizeAxes(axis, y.rank())) return false;
  StayFirst(node, layout);
  layout.variables.resize(1);
  layout.outputs[0] = 0;
  for (std::size_t i = 2; i < node.inputs.size(); i += 3) {
    if (InputType(graph, node, i).rank() != y.rank()) return false;
    layout.inputs[i] = 0;
  }
  return true;
}

bool DescribeSplit(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!DescribeAxis<0>(graph, node, layout)) return false;
  std::fill(layout.outputs.begin(), layout.outputs.end(), 0);
  return true;
}

constexpr LayoutDef kConcatLayout = {"its axis is mapped", DescribeConcat, ChangeAxis<1>};
constexpr LayoutDef kQLinearConcatLayout = {"its axis is mapped", DescribeQLinearConcat, ChangeOutputAxis<1>};
constexpr LayoutDef kSplitLayout = {"its axis is mapped", DescribeSplit, ChangeAxis<0>};

constexpr OpDef kConcatSplitOps[] = {
    {.name = "Concat",
     .since = {1, 4, 11, 13},
     .types = kAllTypes,
     .infer = InferConcat,
     .prepare = PrepareConcat,
     .upgrade = UpgradeConcat,
     .cost = CountNothing,
     .layout = &kConcatLayout,
     .pitch = TakesPitchEverywhere},
    {.name = "Split",
     .since = {1, 2, 11, 13, 18},
     .types = kAllTypes,
     .infer = InferSplit,
     .prepare = PrepareSplit,
     .upgrade = UpgradeSplit,
     .cost = CountNothing,
     .layout = &kSplitLayout,
     .spell = {18, SpellSplit},
     .pitch = TakesPitch,
     .traits = kMovesElements},
    {.domain = "com.microsoft",
     .name = "QLinearConcat",
     .since = {1},
     .types = kQuantized8,
     .typed_input = kQLinearConcatFirst,
     .infer = InferQLinearConcat,
     .prepare = PrepareQLinearConcat,
     .cost = CountNothing,
     .layout = &kQLinearConcatLayout},
};

}  // namespace

std::span<const OpDef> ConcatSplitOps() { return kConcatSplitOps; }

}  // namespace sardonyx::ops
