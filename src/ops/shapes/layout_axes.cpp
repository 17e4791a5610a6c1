// ops/shapes/layout_axes.cpp - channels-last behaviour of operators that name one axis, lists of axes, or one number
// for each axis.
#include "ops/shapes/layout_axes.h"

#include <algorithm>

namespace sardonyx::ops {
namespace {

using Ints = std::vector<std::int64_t>;

// The elements of a constant input of int64 or int32 and rank 0 or 1.
std::optional<std::vector<std::int64_t>> ConstantInts(const Graph& graph, const Node& node, std::size_t i) {
  if (!HasInput(node, i)) return std::nullopt;
  const Tensor* t = graph.value(node.inputs[i]).constant();
  if (t == nullptr || t->shape().rank() > 1) return std::nullopt;
  const auto widened = [&](const auto* data) { return std::vector<std::int64_t>(data, data + t->count()); };
  if (t->dtype() == DType::kInt64) return widened(t->data<std::int64_t>());
  if (t->dtype() == DType::kInt32) return widened(t->data<std::int32_t>());
  return std::nullopt;
}

}  // namespace

bool DescribeAxis(const Graph& graph, const Node& node, NodeLayout& layout, std::int64_t default_axis) {
  if (!DescribeMain(graph, node, layout)) return false;
  Ints axis = {IntAttribute(node, "axis", default_axis)};
  return NormalizeAxes(axis, InputType(graph, node, 0).rank());
}

void ChangeAxis(const LayoutChange& c, std::int64_t default_axis, std::size_t rank) {
  Ints axis = {IntAttribute(c.node(), "axis", default_axis)};
  NormalizeAxes(axis, rank);
  c.node().SetAttribute("axis", AxisToLast(axis[0], rank));
}

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
  Ints axes = *AxesInput(c.graph, c.node(), at, c.input_types[0].rank(), count);
  for (std::int64_t& axis : axes) axis = AxisToLast(axis, c.input_types[0].rank());
  SetInts(c, at, "axes_last", axes);
}

bool DescribeReduced(const Graph& graph, const Node& node, NodeLayout& layout, const Ints& axes) {
  const std::size_t rank = InputType(graph, node, 0).rank();
  FollowMain(node, layout);
  if (IntAttribute(node, "keepdims", 1) == 1) return OutputType(graph, node).has_rank;
  layout.outputs[0] = kStaysFirst;
  const auto kept = [&](std::int64_t axis) { return std::find(axes.begin(), axes.end(), axis) == axes.end(); };
  bool image = false;
  for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(rank); ++axis) image = image || kept(axis);
  return !kept(1) || !image;
}

bool DescribeSized(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type& sizes = InputType(graph, node, 1);
  return DescribeMain(graph, node, layout) && sizes.HasStaticShape() && sizes.rank() == 1 &&
         sizes.dims[0] == Dim(static_cast<std::int64_t>(InputType(graph, node, 0).rank()));
}

// The input is brought into the order of "last".
void ChangeSized(const LayoutChange& c) {
  const std::size_t rank = c.input_types[0].rank();
  const ValueId old = c.node().inputs[1];
  const std::string name = c.graph.value(old).name;
  const Tensor* constant = c.graph.value(old).constant();
  const std::vector<std::int64_t> perm = PermToLast(rank);
  if (constant != nullptr && constant->dtype() == DType::kInt64) {
    std::vector<std::int64_t> values;
    for (const std::int64_t from : perm) values.push_back(constant->data<std::int64_t>()[from]);
    return SetInts(c, 1, name, values);
  }
  const ValueId indices = c.graph.AddConstant("axes_last", Tensor::Vector<std::int64_t>(perm));
  const Type type = Type::TensorOf(c.graph.value(old).type.dtype, {Dim(static_cast<std::int64_t>(rank))});
  c.graph.SetInput(c.id, 1, AddLayoutNode(c.graph, c.node(), "Gather", {old, indices}, {}, type));
}

constexpr LayoutDef kSizedLayout = {"either, the numbers of its axes in its order", DescribeSized, ChangeSized};

}  // namespace sardonyx::ops
