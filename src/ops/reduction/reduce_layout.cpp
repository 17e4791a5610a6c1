// ops/reduction/reduce_layout.cpp - maps the axes of a reduction, given by an input or an attribute, to the
// channels-last layout.
#include "ops/reduction/reduce_layout.h"

#include "ops/shapes/layout_axes.h"

namespace sardonyx::ops {
namespace {

using Ints = std::vector<std::int64_t>;

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
  if (HasInput(c.node(), 1)) MapAxesInput(c, 1, c.input_types[0].rank());
}

bool DescribeQLinearReduceMean(const Graph& graph, const Node& node, NodeLayout& layout) {
  const AttributeValue* given = node.FindAttribute("axes");
  if (given == nullptr || !IsImage(InputType(graph, node, 0))) return false;
  Ints axes = std::get<Ints>(*given);
  return !axes.empty() && NormalizeAxes(axes, InputType(graph, node, 0).rank()) &&
         DescribeReduced(graph, node, layout, axes);
}

void ChangeQLinearReduceMean(const LayoutChange& c) {
  const std::size_t rank = c.input_types[0].rank();
  Ints axes = std::get<Ints>(*c.node().FindAttribute("axes"));
  NormalizeAxes(axes, rank);
  for (std::int64_t& axis : axes) axis = AxisToLast(axis, rank);
  c.node().SetAttribute("axes", axes);
}

}  // namespace

constexpr LayoutDef kReduceLayout = {"its axes are mapped", DescribeReduce, ChangeReduce};
constexpr LayoutDef kQLinearReduceMeanLayout = {"its axes are mapped", DescribeQLinearReduceMean,
                                                ChangeQLinearReduceMean};

}  // namespace sardonyx::ops
