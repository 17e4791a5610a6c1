// ops/tensor/shape_layout.cpp - Shape reports sizes in the author's order; Reshape may keep a channels-last image.
#include "ops/tensor/shape_layout.h"

#include <algorithm>

namespace sardonyx::ops {
namespace {

using Ints = std::vector<std::int64_t>;

bool DescribeShape(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!IsImage(InputType(graph, node, 0))) return false;
  StayFirst(node, layout);
  layout.variables.resize(1);
  layout.inputs[0] = 0;
  return true;
}

// The sizes of all axes, then those that are asked for in their order.
void ChangeShape(const LayoutChange& c) {
  const auto rank = static_cast<std::int64_t>(c.input_types[0].rank());
  const auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = clamp(IntAttribute(c.node(), "start", 0)),
                     end = clamp(IntAttribute(c.node(), "end", rank));
  Ints wanted;
  for (std::int64_t axis = start; axis < end; ++axis) wanted.push_back(AxisToLast(axis, c.input_types[0].rank()));
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

}  // namespace

constexpr LayoutDef kShapeLayout = {"its result is brought into order", DescribeShape, ChangeShape};
constexpr LayoutDef kReshapeLayout = {"where it keeps N and C", DescribeReshape, ChangeReshape};

}  // namespace sardonyx::ops
