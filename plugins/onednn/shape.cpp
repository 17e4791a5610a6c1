// plugins/onednn/shape.cpp - operators that move elements: Concat, Transpose, and those that only change the shape.
#include <algorithm>
#include <numeric>

#include "operators.h"

namespace sardonyx_onednn {
namespace {

std::string ConcatRefusal(const Graph& graph, const Node& node) { return FloatsRefusal(graph, node); }

void BuildConcat(Builder& builder, const Node& node) {
  Dims dims = builder.Raw(node.inputs[0]).dims;
  const std::size_t axis = AxisOf(builder, node, node.Int("axis", 1), dims.size());
  std::int64_t size = 0;
  std::vector<Tensor> inputs;
  for (const int value : node.inputs) {
    const Tensor input = builder.Float(value);
    Dims expected = dims;
    if (input.dims.size() == dims.size()) expected[axis] = input.dims[axis];
    if (input.dims != expected)
      builder.Fail(node, "expected shapes that differ in axis " + std::to_string(axis) + " alone, found " + Show(dims) +
                             " and " + Show(input.dims));
    size += input.dims[axis];
    if (CountOf(input.dims) != 0) inputs.push_back(input);
  }
  dims[axis] = size;
  if (CountOf(dims) == 0) return builder.Set(node.outputs[0], builder.NewPlain(dims));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto describe = [&] {
    std::vector<Desc> descs;
    for (const Tensor& input : inputs) descs.push_back(input.desc);
    return dnnl::concat::primitive_desc(static_cast<int>(axis), descs, builder.engine(), attributes);
  };
  auto found = describe();
  if (IsReference(found)) {
    for (Tensor& input : inputs) input = builder.Plain(input);
    found = describe();
  }
  Tensor result = builder.New(found.dst_desc(), dims);
  Arguments arguments{{DNNL_ARG_DST, result}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), inputs[i]);
  builder.Run<dnnl::concat>(found, arguments);
  builder.Set(node.outputs[0], result);
}

std::string TransposeRefusal(const Graph& graph, const Node& node) {
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  return HasRank(graph, node.inputs[0], 1) ? "" : "a scalar";
}

// Only the strides change; who needs another layout gets a copy.
void BuildTranspose(Builder& builder, const Node& node) {
  const Tensor input = builder.Plain(builder.Raw(node.inputs[0]));
  const std::size_t rank = input.dims.size();
  Dims reverse(rank);
  for (std::size_t i = 0; i < rank; ++i) reverse[i] = static_cast<std::int64_t>(rank - 1 - i);
  const Dims order = node.Ints("perm", reverse);
  Dims sorted = order, counted(rank);
  std::sort(sorted.begin(), sorted.end());
  std::iota(counted.begin(), counted.end(), 0);
  if (sorted != counted)
    builder.Fail(node, "expected an order of " + std::to_string(rank) + " axes, found " + Show(order));
  Tensor result = input;
  Dims strides(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    result.dims[i] = input.dims[from];
    strides[i] = input.desc.data.format_desc.blocking.strides[from];
  }
  result.desc = Desc(result.dims, static_cast<DataType>(input.desc.data.data_type), strides);
  builder.Set(node.outputs[0], result);
}

std::string ReshapeRefusal(const Graph& graph, const Node& node) {
  if (!IsFloat(graph, node.inputs[0]) || !IsFloat(graph, node.outputs[0])) return "not of float";
  if (!HasRank(graph, node.inputs[0])) return "its rank is not known";
  if (node.Input(1) >= 0 && graph.ConstantOf(node.inputs[1]) == nullptr) return "its shape is not constant";
  if (node.op_type == "Reshape" && node.Input(1) < 0 && !node.Has("shape")) return "it has no shape";
  return "";
}

Dims ReshapedDims(const Builder& builder, const Node& node, const Dims& from) {
  Dims dims = *IntsOf(builder.graph(), node, 1, "shape");
  std::int64_t known = 1;
  auto unknown = dims.end();
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    const auto at = static_cast<std::size_t>(dim - dims.begin());
    if (*dim == 0 && node.Int("allowzero", 0) == 0) {
      if (at >= from.size())
        builder.Fail(node, "expected a dimension to copy at " + std::to_string(at) + ", found " + Show(from));
      *dim = from[at];
    }
    if (*dim == -1)
      unknown = dim;
    else
      known *= *dim;
  }
  if (unknown != dims.end()) *unknown = known == 0 ? 0 : CountOf(from) / known;
  return dims;
}

Dims SqueezedDims(const Builder& builder, const Node& node, const Dims& from) {
  const std::optional<Dims> axes = IntsOf(builder.graph(), node, 1, "axes");
  std::vector<bool> removed(from.size(), false);
  for (std::size_t i = 0; i < from.size(); ++i) removed[i] = !axes && from[i] == 1;
  if (axes)
    for (const std::int64_t axis : *axes) removed[AxisOf(builder, node, axis, from.size())] = true;
  Dims dims;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!removed[i]) dims.push_back(from[i]);
  return dims;
}

Dims UnsqueezedDims(const Builder& builder, const Node& node, const Dims& from) {
  const Dims axes = IntsOf(builder.graph(), node, 1, "axes").value_or(Dims{});
  std::vector<bool> added(from.size() + axes.size(), false);
  for (const std::int64_t axis : axes) added[AxisOf(builder, node, axis, added.size())] = true;
  Dims dims;
  auto next = from.begin();
  for (const bool one : added)
    if (one || next == from.end())
      dims.push_back(1);
    else
      dims.push_back(*next++);
  return dims;
}

Dims FlattenedDims(const Builder& builder, const Node& node, const Dims& from) {
  const auto rank = static_cast<std::int64_t>(from.size());
  std::int64_t axis = node.Int("axis", 1);
  if (axis < -rank || axis > rank)
    builder.Fail(node, "expected an axis in [" + std::to_string(-rank) + ", " + std::to_string(rank) + "], found " +
                           std::to_string(axis));
  if (axis < 0) axis += rank;
  return {CountOf({from.begin(), from.begin() + axis}), CountOf({from.begin() + axis, from.end()})};
}

void BuildReshape(Builder& builder, const Node& node) {
  const Tensor input = builder.Raw(node.inputs[0]);
  const Dims dims = node.op_type == "Reshape"     ? ReshapedDims(builder, node, input.dims)
                    : node.op_type == "Squeeze"   ? SqueezedDims(builder, node, input.dims)
                    : node.op_type == "Unsqueeze" ? UnsqueezedDims(builder, node, input.dims)
                    : node.op_type == "Flatten"   ? FlattenedDims(builder, node, input.dims)
                                                  : input.dims;
  if (CountOf(dims) != CountOf(input.dims))
    builder.Fail(node, "expected a shape of " + std::to_string(CountOf(input.dims)) + " elements, found " + Show(dims));
  if (dims == input.dims) return builder.Set(node.outputs[0], input);
  builder.Set(node.outputs[0], builder.View(builder.Plain(input), dims));
}

constexpr Operator kOperators[] = {
    {"Concat", 4, 13, false, ConcatRefusal, BuildConcat},
    {"Transpose", 1, 25, false, TransposeRefusal, BuildTranspose},
    {"Reshape", 1, 25, false, ReshapeRefusal, BuildReshape},
    {"Flatten", 9, 25, false, ReshapeRefusal, BuildReshape},
    {"Squeeze", 1, 25, false, ReshapeRefusal, BuildReshape},
    {"Unsqueeze", 1, 25, false, ReshapeRefusal, BuildReshape},
    {"Identity", 1, 25, false, ReshapeRefusal, BuildReshape},
};

}  // namespace

std::span<const Operator> ShapeOperators() { return kOperators; }

}  // namespace sardonyx_onednn
