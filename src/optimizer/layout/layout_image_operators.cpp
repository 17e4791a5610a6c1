// optimizer/layout/layout_image_operators.cpp - operators that know what a channel is: they become nodes of
// com.ms.internal.nhwc (ops/channels_last.h), or of operators that name the axes.
#include <algorithm>

#include "ops/schema/schema.h"
#include "optimizer/layout/layout_operator.h"

namespace sardonyx::optimizer {
namespace {

using Ints = std::vector<std::int64_t>;

// What the convolution and pooling kernels compute with.
bool IsFloatImage(const Type& type) {
  return IsImage(type) && type.rank() <= 5 &&
         (type.dtype == DType::kFloat || type.dtype == DType::kFloat16 || type.dtype == DType::kBFloat16);
}

void MoveDomain(const LayoutChange& c) {
  c.node().domain = "com.ms.internal.nhwc";
  c.node().since_version = 1;
}

// ---- Convolutions

bool IsDepthwise(const Graph& graph, const Node& node, std::size_t weights) {
  const Type& w = InputType(graph, node, weights);
  return IsImage(w) && w.dims[1] == Dim(1) && IntAttribute(node, "group", 1) > 1;
}

bool IsQuantizedImage(const Type& type) {
  return IsImage(type) && type.rank() <= 5 && (type.dtype == DType::kInt8 || type.dtype == DType::kUInt8);
}

// The kernels read and write either layout; the one that is not channels last costs them most of a transposition. A
// depthwise convolution has one layout.
bool DescribeConvOf(const Graph& graph, const Node& node, std::size_t weights, NodeLayout& layout) {
  const Type &x = InputType(graph, node, 0), &y = OutputType(graph, node);
  if (!IsImage(x) || !IsImage(y) || x.rank() != y.rank()) return false;
  const double in_cost = MovingCost(x), out_cost = MovingCost(y);
  FollowMain(node, layout);
  if (IsDepthwise(graph, node, weights)) {
    layout.variables[0].first_cost = 0.5 * (in_cost + out_cost);
  } else {
    layout.variables.resize(2);
    layout.outputs[0] = 1;
    layout.variables[0].first_cost = in_cost;
    layout.variables[1].first_cost = out_cost;
  }
  return true;
}

bool DescribeConv(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!IsFloatImage(InputType(graph, node, 0)) || !DescribeConvOf(graph, node, 1, layout)) return false;
  if (HasInput(node, 3)) layout.inputs[3] = layout.outputs[0];
  return true;
}

bool DescribeQLinearConv(const Graph& graph, const Node& node, NodeLayout& layout) {
  return IsQuantizedImage(InputType(graph, node, 0)) && DescribeConvOf(graph, node, 3, layout);
}

void ChangeConv(const LayoutChange& c) {
  MoveDomain(c);
  if (c.last[static_cast<std::size_t>(c.layout.inputs[0])] == 0)
    c.node().SetAttribute("channels_first_input", std::int64_t{1});
  if (c.last[static_cast<std::size_t>(c.layout.outputs[0])] == 0)
    c.node().SetAttribute("channels_first_output", std::int64_t{1});
}

// ---- Pools

bool DescribePool(const Graph& graph, const Node& node, NodeLayout& layout) {
  const bool bytes = node.op_type == "MaxPool" && IsQuantizedImage(InputType(graph, node, 0));
  if ((!bytes && !IsFloatImage(InputType(graph, node, 0))) || !DescribeMain(graph, node, layout)) return false;
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return false;  // indices count channels first
  layout.variables[0].first_cost = 0.5 * MovingCost(InputType(graph, node, 0));
  return true;
}

bool DescribeGlobalPool(const Graph& graph, const Node& node, NodeLayout& layout) {
  const std::int64_t p = IntAttribute(node, "p", 2);
  if (node.op_type == "GlobalLpPool" && p != 1 && p != 2) return false;
  return DescribeMain(graph, node, layout);
}

// The reduction of all axes but the first and the last.
void ChangeGlobalPool(const LayoutChange& c) {
  Node& node = c.node();
  const bool l1 = IntAttribute(node, "p", 2) == 1;
  node.op_type = node.op_type == "GlobalAveragePool" ? "ReduceMean"
                 : node.op_type == "GlobalMaxPool"   ? "ReduceMax"
                 : l1                                ? "ReduceL1"
                                                     : "ReduceL2";
  node.since_version = ops::FindSchema("", node.op_type)->since_version;
  node.RemoveAttribute("p");
  Ints axes;
  for (std::size_t i = 1; i + 1 < c.input_types[0].rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  SetInts(c, 1, "axes_last", axes);
}

void SetChannelsLast(const LayoutChange& c) { c.node().SetAttribute("channels_last", std::int64_t{1}); }

// ---- Others

bool DescribeFloatImage(const Graph& graph, const Node& node, NodeLayout& layout) {
  return IsFloatImage(InputType(graph, node, 0)) && DescribeMain(graph, node, layout);
}

constexpr LayoutOperator kOperators[] = {
    {"", "AveragePool", DescribePool, MoveDomain},
    {"", "Conv", DescribeConv, ChangeConv},
    {"", "ConvTranspose", DescribeConv, ChangeConv},
    {"", "DepthToSpace", DescribeMain, MoveDomain},
    {"", "GlobalAveragePool", DescribeGlobalPool, ChangeGlobalPool},
    {"", "GlobalLpPool", DescribeGlobalPool, ChangeGlobalPool},
    {"", "GlobalMaxPool", DescribeGlobalPool, ChangeGlobalPool},
    {"", "GroupNormalization", DescribeFloatImage, MoveDomain},
    {"", "InstanceNormalization", DescribeFloatImage, MoveDomain},
    {"", "MaxPool", DescribePool, MoveDomain},
    {"", "SpaceToDepth", DescribeMain, MoveDomain},
    {"", "QLinearConv", DescribeQLinearConv, ChangeConv},
    {"com.microsoft", "FusedConv", DescribeConv, ChangeConv},
    {"com.microsoft", "QLinearAveragePool", DescribeMain, SetChannelsLast},
    {"com.microsoft", "QLinearGlobalAveragePool", DescribeMain, SetChannelsLast},
};

}  // namespace

std::span<const LayoutOperator> ImageLayoutOperators() { return kOperators; }

}  // namespace sardonyx::optimizer
