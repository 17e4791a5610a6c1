// optimizer/layout/layout_axis_operators.cpp - operators that know axes, not images: the axes they name are mapped.
//
// To add one: its row in kOperators, a function that describes it, and one that changes it where it names axes.
#include <algorithm>

#include "ops/schema/schema.h"
#include "optimizer/layout/layout_operator.h"

namespace sardonyx::optimizer {
namespace {

using Ints = std::vector<std::int64_t>;

std::size_t Rank(const LayoutChange& c) { return c.input_types[0].rank(); }

// ---- Elementwise

// y[i] = f(a[i], b[i] ...) with broadcasting: inputs of the result's rank follow, shorter ones must be constant or one
// element.
bool DescribeElementwise(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type& y = OutputType(graph, node);
  if (!IsImage(y) || node.FindAttribute("axis") != nullptr || node.outputs.size() != 1) return false;
  StayFirst(node, layout);
  layout.variables.resize(1);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!HasInput(node, i)) continue;
    const Type& type = InputType(graph, node, i);
    if (!type.is_tensor() || !type.has_rank || type.rank() > y.rank()) return false;
    const bool one = std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& d) { return d == Dim(1); });
    if (type.rank() == y.rank()) {
      layout.inputs[i] = 0;
    } else if (!one && graph.value(node.inputs[i]).constant() == nullptr) {
      return false;
    }
  }
  layout.outputs[0] = 0;
  return true;
}

// Shorter constants get all axes: [C, 1, 1] becomes [1, 1, 1, C].
void ChangeElementwise(const LayoutChange& c) {
  const std::size_t rank = c.output_types[0].rank();
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
    if (!HasInput(c.node(), i) || c.layout.Follows(i)) continue;
    const Tensor* constant = c.graph.value(c.node().inputs[i]).constant();
    if (constant == nullptr || constant->count() == 1) continue;
    Shape full;
    for (std::size_t k = constant->shape().rank(); k < rank; ++k) full.Append(1);
    for (const std::int64_t dim : constant->shape()) full.Append(dim);
    const std::string name = c.graph.value(c.node().inputs[i]).name;
    c.graph.SetInput(c.id, i, c.graph.AddConstant(name, TensorToLast(c.graph, c.registry, constant->Reshaped(full))));
  }
}

// ---- One axis in an attribute: Concat, Split, Softmax ...

template <std::int64_t kDefault>
bool DescribeAxis(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!DescribeMain(graph, node, layout)) return false;
  const std::size_t rank = InputType(graph, node, 0).rank();
  Ints axis = {IntAttribute(node, "axis", kDefault)};
  return NormalizeAxes(axis, rank);
}

template <std::int64_t kDefault>
void ChangeAxis(const LayoutChange& c) {
  Ints axis = {IntAttribute(c.node(), "axis", kDefault)};
  NormalizeAxes(axis, Rank(c));
  c.node().SetAttribute("axis", AxisToLast(axis[0], Rank(c)));
}

// Softmax reads its axis best where it is contiguous.
bool DescribeSoftmax(const Graph& graph, const Node& node, NodeLayout& layout) {
  // Before version 13 everything from the axis on is one row; QLinearSoftmax says the version in an attribute.
  const std::int64_t version = node.domain.empty() ? node.since_version : IntAttribute(node, "opset", 13);
  if (version < 13 || !DescribeAxis<-1>(graph, node, layout)) return false;
  Ints axis = {IntAttribute(node, "axis", -1)};
  const std::size_t rank = InputType(graph, node, 0).rank();
  NormalizeAxes(axis, rank);
  const double cost = MovingCost(InputType(graph, node, 0));
  if (axis[0] + 1 != static_cast<std::int64_t>(rank)) layout.variables[0].first_cost = cost;
  if (axis[0] != 1) layout.variables[0].last_cost = cost;
  return true;
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
  Ints axis = {IntAttribute(node, "axis", 1)};
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

void ChangeQLinearConcat(const LayoutChange& c) {
  Ints axis = {IntAttribute(c.node(), "axis", 1)};
  NormalizeAxes(axis, c.output_types[0].rank());
  c.node().SetAttribute("axis", AxisToLast(axis[0], c.output_types[0].rank()));
}

// One scale, or a scale for each index of an axis; blocks lie along an axis of the scales, too.
bool DescribeQuantization(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (IntAttribute(node, "block_size", 0) != 0 || !DescribeMain(graph, node, layout)) return false;
  const Type& scale = InputType(graph, node, 1);
  if (!scale.HasStaticShape() || scale.rank() > 1) return false;
  Ints axis = {IntAttribute(node, "axis", 1)};
  return scale.rank() == 0 || scale.dims[0] == Dim(1) || NormalizeAxes(axis, InputType(graph, node, 0).rank());
}

void ChangeQuantization(const LayoutChange& c) {
  const Type& scale = c.input_types[1];
  if (scale.rank() == 1 && scale.dims[0] != Dim(1)) ChangeAxis<1>(c);
}

bool DescribeSplit(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!DescribeAxis<0>(graph, node, layout)) return false;
  std::fill(layout.outputs.begin(), layout.outputs.end(), 0);
  return true;
}

// Gather along an axis by a vector of indices keeps the rank.
bool DescribeGather(const Graph& graph, const Node& node, NodeLayout& layout) {
  return InputType(graph, node, 1).has_rank && InputType(graph, node, 1).rank() == 1 &&
         DescribeAxis<0>(graph, node, layout);
}

// ---- Axes in an input: Slice, Pad, the reductions

// The axes in input `at`, or all of the first `count` ones.
std::optional<Ints> AxesInput(const Graph& graph, const Node& node, std::size_t at, std::size_t rank,
                              std::size_t count) {
  Ints axes;
  if (HasInput(node, at)) {
    const auto given = ConstantInts(graph, node, at);
    if (!given) return std::nullopt;
    axes = *given;
  } else {
    for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (!NormalizeAxes(axes, rank)) return std::nullopt;
  return axes;
}

void MapAxesInput(const LayoutChange& c, std::size_t at, std::size_t count) {
  Ints axes = *AxesInput(c.graph, c.node(), at, Rank(c), count);
  for (std::int64_t& axis : axes) axis = AxisToLast(axis, Rank(c));
  SetInts(c, at, "axes_last", axes);
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

bool DescribePad(const Graph& graph, const Node& node, NodeLayout& layout) {
  return DescribeMain(graph, node, layout) &&
         AxesInput(graph, node, 3, InputType(graph, node, 0).rank(), InputType(graph, node, 0).rank()).has_value();
}

void ChangePad(const LayoutChange& c) { MapAxesInput(c, 3, Rank(c)); }

// A reduction; one that drops axes must leave the others in their order.
bool DescribeReduced(const Graph& graph, const Node& node, NodeLayout& layout, const Ints& axes) {
  const std::size_t rank = InputType(graph, node, 0).rank();
  FollowMain(node, layout);
  if (IntAttribute(node, "keepdims", 1) != 0) return OutputType(graph, node).has_rank;
  layout.outputs[0] = kStaysFirst;
  const auto kept = [&](std::int64_t axis) { return std::find(axes.begin(), axes.end(), axis) == axes.end(); };
  bool image = false;
  for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(rank); ++axis) image = image || kept(axis);
  return !kept(1) || !image;
}

bool DescribeReduce(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!IsImage(InputType(graph, node, 0))) return false;
  const std::size_t rank = InputType(graph, node, 0).rank();
  auto axes = AxesInput(graph, node, 1, rank, rank);
  if (!axes) return false;
  if (axes->empty()) {
    if (IntAttribute(node, "noop_with_empty_axes", 0) != 0) return false;
    axes = AxesInput(graph, Node(), 0, rank, rank);
  }
  return DescribeReduced(graph, node, layout, *axes);
}

void ChangeReduce(const LayoutChange& c) {
  if (HasInput(c.node(), 1)) MapAxesInput(c, 1, Rank(c));
}

// The axes are an attribute.
bool DescribeQLinearReduceMean(const Graph& graph, const Node& node, NodeLayout& layout) {
  const AttributeValue* given = node.FindAttribute("axes");
  if (given == nullptr || !IsImage(InputType(graph, node, 0))) return false;
  Ints axes = std::get<Ints>(*given);
  return !axes.empty() && NormalizeAxes(axes, InputType(graph, node, 0).rank()) &&
         DescribeReduced(graph, node, layout, axes);
}

void ChangeQLinearReduceMean(const LayoutChange& c) {
  Ints axes = std::get<Ints>(*c.node().FindAttribute("axes"));
  NormalizeAxes(axes, Rank(c));
  for (std::int64_t& axis : axes) axis = AxisToLast(axis, Rank(c));
  c.node().SetAttribute("axes", axes);
}

bool DescribeArg(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!IsImage(InputType(graph, node, 0))) return false;
  Ints axis = {IntAttribute(node, "axis", 0)};
  if (!NormalizeAxes(axis, InputType(graph, node, 0).rank())) return false;
  return DescribeReduced(graph, node, layout, axis);
}

// ---- One number an axis in an input: Expand, Tile, Resize

bool DescribeSized(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type& sizes = InputType(graph, node, 1);
  return DescribeMain(graph, node, layout) && sizes.HasStaticShape() && sizes.rank() == 1 &&
         sizes.dims[0] == Dim(static_cast<std::int64_t>(InputType(graph, node, 0).rank()));
}

void ChangeSized(const LayoutChange& c) { PermuteInput(c, 1, Rank(c)); }

// Resize since version 18 may name its axes.
bool DescribeResize(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (node.since_version < 18 || !DescribeMain(graph, node, layout)) return false;
  if (const AttributeValue* axes = node.FindAttribute("axes")) {
    Ints given = std::get<Ints>(*axes);
    if (!NormalizeAxes(given, InputType(graph, node, 0).rank())) return false;
  }
  layout.variables[0].first_cost = MovingCost(OutputType(graph, node));
  return true;
}

void ChangeResize(const LayoutChange& c) {
  Ints axes;
  for (std::size_t i = 0; i < Rank(c); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (const AttributeValue* given = c.node().FindAttribute("axes")) axes = std::get<Ints>(*given);
  NormalizeAxes(axes, Rank(c));
  for (std::int64_t& axis : axes) axis = AxisToLast(axis, Rank(c));
  c.node().SetAttribute("axes", axes);
}

bool DescribeUpsample(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!DescribeSized(graph, node, layout)) return false;
  layout.variables[0].first_cost = MovingCost(OutputType(graph, node));
  return true;
}

// ---- Shape, Reshape, Transpose

bool DescribeShape(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!IsImage(InputType(graph, node, 0))) return false;
  StayFirst(node, layout);
  layout.variables.resize(1);
  layout.inputs[0] = 0;
  return true;
}

// The sizes of all axes, then those that are asked for in their order.
void ChangeShape(const LayoutChange& c) {
  const auto rank = static_cast<std::int64_t>(Rank(c));
  const auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = clamp(IntAttribute(c.node(), "start", 0)),
                     end = clamp(IntAttribute(c.node(), "end", rank));
  Ints wanted;
  for (std::int64_t axis = start; axis < end; ++axis) wanted.push_back(AxisToLast(axis, Rank(c)));
  c.node().RemoveAttribute("start");
  c.node().RemoveAttribute("end");
  const ValueId output = c.node().outputs[0];
  const ValueId all =
      c.graph.AddValue(c.graph.FreshName(c.graph.value(output).name), Type::TensorOf(DType::kInt64, {Dim(rank)}));
  c.graph.MoveOutput(c.id, 0, all);
  const ValueId indices = c.graph.AddConstant("axes_last", Tensor::Vector<std::int64_t>(wanted));
  const ValueId picked = AddLayoutNode(c.graph, c.node(), "Gather", {all, indices}, {}, c.graph.value(output).type);
  c.graph.MoveOutput(c.graph.value(picked).producer, 0, output);
}

// The target of a Reshape in "last"; empty if it cannot be told before the run.
Ints ReshapeTarget(const Type& y) {
  Ints target;
  bool open = false;
  const Type last = TypeToLast(y);
  for (std::size_t i = 0; i < last.rank(); ++i) {
    const Dim& dim = last.dims[i];
    if (dim.known() && dim.number() == 0) return {};
    if (!dim.known() && i > 0 && open) return {};
    open = open || (!dim.known() && i > 0);
    target.push_back(dim.known() ? dim.number() : i == 0 ? 0 : -1);
  }
  return target;
}

// A Reshape that keeps N and C only moves the borders of the spatial axes.
bool DescribeReshape(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type &x = InputType(graph, node, 0), &y = OutputType(graph, node);
  if (!IsImage(x) || !IsImage(y) || IntAttribute(node, "allowzero", 0) != 0) return false;
  if (!SameDim(x.dims[0], y.dims[0]) || !SameDim(x.dims[1], y.dims[1]) || ReshapeTarget(y).empty()) return false;
  FollowMain(node, layout);
  return true;
}

void ChangeReshape(const LayoutChange& c) { SetInts(c, 1, "shape_last", ReshapeTarget(c.output_types[0])); }

Ints PermOf(const Node& node, std::size_t rank) {
  if (const AttributeValue* perm = node.FindAttribute("perm")) return std::get<Ints>(*perm);
  Ints reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
  return reversed;
}

// A Transpose of three axes may lead to either layout: to "last" if an image comes in, else from it.
bool ComesFromAnImage(const Graph& graph, const Node& node) {
  const NodeId producer = graph.value(node.inputs[0]).producer;
  if (producer == kNoNode) return false;
  const Node& before = graph.node(producer);
  if (before.op_type == "Reshape" && !before.inputs.empty()) {
    const Type &x = InputType(graph, before, 0), &y = InputType(graph, node, 0);
    return IsImage(x) && x.rank() > 3 && SameDim(x.dims[0], y.dims[0]) && SameDim(x.dims[1], y.dims[1]);
  }
  return before.op_type == "Conv" || before.op_type == "FusedConv";
}

bool DescribeTranspose(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type& x = InputType(graph, node, 0);
  if (!IsImage(x)) return false;
  const Ints perm = PermOf(node, x.rank());
  StayFirst(node, layout);
  layout.variables.resize(1);
  if (perm.size() != x.rank()) return false;
  if (perm[0] == 0 && perm[1] == 1) {
    FollowMain(node, layout);
    return true;
  }
  layout.variables[0].first_cost = ChangingCost(x);
  const bool to_last = perm == PermToLast(x.rank()), to_first = perm == PermToFirst(x.rank());
  if (to_last && (!to_first || ComesFromAnImage(graph, node))) {
    layout.inputs[0] = 0;
    return true;
  }
  layout.outputs[0] = 0;
  return to_first;
}

// The three cases of DescribeTranspose: among spatial axes; to "last", whose input is that already; from "last".
void ChangeTranspose(const LayoutChange& c) {
  const std::size_t rank = Rank(c);
  if (c.layout.inputs[0] != kStaysFirst && c.layout.outputs[0] != kStaysFirst) {
    const Ints perm = PermOf(c.node(), rank), to_last = PermToLast(rank);
    Ints changed;
    for (const std::int64_t axis : to_last) changed.push_back(AxisToLast(perm[static_cast<std::size_t>(axis)], rank));
    c.node().SetAttribute("perm", changed);
    return;
  }
  c.node().op_type = "Identity";
  c.node().since_version = ops::FindSchema("", "Identity")->since_version;
  c.node().RemoveAttribute("perm");
}

constexpr LayoutOperator kOperators[] = {
    {"", "ArgMax", DescribeArg, ChangeAxis<0>},
    {"", "ArgMin", DescribeArg, ChangeAxis<0>},
    {"", "Concat", DescribeConcat, ChangeAxis<1>},
    {"", "DequantizeLinear", DescribeQuantization, ChangeQuantization},
    {"", "Expand", DescribeSized, ChangeSized},
    {"", "Gather", DescribeGather, ChangeAxis<0>},
    {"", "Hardmax", DescribeSoftmax, ChangeAxis<-1>},
    {"", "LogSoftmax", DescribeSoftmax, ChangeAxis<-1>},
    {"", "Pad", DescribePad, ChangePad},
    {"", "QuantizeLinear", DescribeQuantization, ChangeQuantization},
    {"", "ReduceL1", DescribeReduce, ChangeReduce},
    {"", "ReduceL2", DescribeReduce, ChangeReduce},
    {"", "ReduceLogSum", DescribeReduce, ChangeReduce},
    {"", "ReduceLogSumExp", DescribeReduce, ChangeReduce},
    {"", "ReduceMax", DescribeReduce, ChangeReduce},
    {"", "ReduceMean", DescribeReduce, ChangeReduce},
    {"", "ReduceMin", DescribeReduce, ChangeReduce},
    {"", "ReduceProd", DescribeReduce, ChangeReduce},
    {"", "ReduceSum", DescribeReduce, ChangeReduce},
    {"", "ReduceSumSquare", DescribeReduce, ChangeReduce},
    {"", "Reshape", DescribeReshape, ChangeReshape},
    {"", "Resize", DescribeResize, ChangeResize},
    {"", "Shape", DescribeShape, ChangeShape},
    {"", "Slice", DescribeSlice, ChangeSlice},
    {"", "Softmax", DescribeSoftmax, ChangeAxis<-1>},
    {"", "Split", DescribeSplit, ChangeAxis<0>},
    {"", "Tile", DescribeSized, ChangeSized},
    {"", "Transpose", DescribeTranspose, ChangeTranspose},
    {"", "Upsample", DescribeUpsample, ChangeSized},
    {"ai.sardonyx", "Lookup8", DescribeMain, nullptr},
    {"com.microsoft", "QLinearConcat", DescribeQLinearConcat, ChangeQLinearConcat},
    {"com.microsoft", "QLinearReduceMean", DescribeQLinearReduceMean, ChangeQLinearReduceMean},
    {"com.microsoft", "QLinearSoftmax", DescribeSoftmax, ChangeAxis<-1>},
};

constexpr LayoutOperator kElementwiseOperator = {"", "", DescribeElementwise, ChangeElementwise};

}  // namespace

std::span<const LayoutOperator> AxisLayoutOperators() { return kOperators; }
const LayoutOperator& ElementwiseLayoutOperator() { return kElementwiseOperator; }

}  // namespace sardonyx::optimizer
