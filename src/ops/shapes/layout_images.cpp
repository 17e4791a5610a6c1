// ops/shapes/layout_images.cpp - channels-last behaviour of convolutions, and of operators that have a counterpart of
// the same name for channels-last images.
#include "ops/shapes/layout_images.h"

#include <algorithm>

#include "ops/channels_last.h"

namespace sardonyx::ops {
namespace {

bool IsDepthwise(const Graph& graph, const Node& node, std::size_t weights) {
  const Type& w = InputType(graph, node, weights);
  return IsImage(w) && w.dims[1] == Dim(1) && IntAttribute(node, "group", 1) > 1;
}

// Multiplications that a grouped 1x1 convolution would do for nothing channels last, where its kernels compute 16
// output channels of a group at once; channels first they compute pixels side by side, and nothing is moved. 0 for
// other convolutions, and where few are wasted.
double WastedMultiplications(const Graph& graph, const Node& node) {
  constexpr std::int64_t kColumns = 16;
  constexpr double kWorthIt = 1.1;
  const Type &x = InputType(graph, node, 0), &w = InputType(graph, node, 1), &y = OutputType(graph, node);
  const std::int64_t groups = IntAttribute(node, "group", 1);
  if (groups <= 1 || !IsImage(w) || !IsImage(x) || !IsImage(y) || !w.HasStaticShape()) return 0;
  const Shape kernel = w.StaticShape();
  for (std::size_t i = 2; i < kernel.size(); ++i)
    if (kernel[i] != 1 || !SameDim(x.dims[i], y.dims[i])) return 0;
  if (kernel[0] % groups != 0 || kernel[0] == 0) return 0;
  const auto columns = static_cast<double>(kernel[0] / groups);
  const double computed = static_cast<double>((kernel[0] / groups + kColumns - 1) / kColumns * kColumns);
  return computed < kWorthIt * columns ? 0 : MovingCost(y) * static_cast<double>(kernel[1]) * (computed / columns - 1);
}

bool DescribeFloatConv(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!IsFloatImage(InputType(graph, node, 0)) || !DescribeConv(graph, node, 1, layout)) return false;
  if (const double wasted = WastedMultiplications(graph, node); wasted > 0) {
    constexpr double kPerMovedElement = 26;  // multiplications that take as long as moving an element
    layout.variables.assign(1, {.first_cost = 0, .last_cost = wasted / kPerMovedElement});
    layout.inputs[0] = layout.outputs[0] = 0;
  }
  if (HasInput(node, 3)) layout.inputs[3] = layout.outputs[0];
  return true;
}

bool DescribeFloatImage(const Graph& graph, const Node& node, NodeLayout& layout) {
  return IsFloatImage(InputType(graph, node, 0)) && DescribeMain(graph, node, layout);
}

}  // namespace

bool IsFloatImage(const Type& type) {
  return IsImage(type) && type.rank() <= 5 &&
         (type.dtype == DType::kFloat || type.dtype == DType::kFloat16 || type.dtype == DType::kBFloat16);
}

bool IsQuantizedImage(const Type& type) {
  return IsImage(type) && type.rank() <= 5 && (type.dtype == DType::kInt8 || type.dtype == DType::kUInt8);
}

void MoveToChannelsLast(const LayoutChange& c) {
  c.node().domain = kChannelsLastDomain;
  c.node().since_version = 1;
}

void SetChannelsLast(const LayoutChange& c) { c.node().SetAttribute("channels_last", std::int64_t{1}); }

bool DescribeConv(const Graph& graph, const Node& node, std::size_t weights, NodeLayout& layout) {
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

void ChangeConv(const LayoutChange& c) {
  MoveToChannelsLast(c);
  if (c.last[static_cast<std::size_t>(c.layout.inputs[0])] == 0)
    c.node().SetAttribute("channels_first_input", std::int64_t{1});
  if (c.last[static_cast<std::size_t>(c.layout.outputs[0])] == 0)
    c.node().SetAttribute("channels_first_output", std::int64_t{1});
}

constexpr LayoutDef kFloatConvLayout = {"images either way, best last", DescribeFloatConv, ChangeConv};
constexpr LayoutDef kMovedLayout = {"moves to com.ms.internal.nhwc", DescribeMain, MoveToChannelsLast};
constexpr LayoutDef kMovedFloatLayout = {"moves to com.ms.internal.nhwc", DescribeFloatImage, MoveToChannelsLast};

}  // namespace sardonyx::ops
