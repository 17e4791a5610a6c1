// plugins/onednn/operators.cpp - finds the row of a node.
#include "operators.h"

#include <algorithm>

namespace sardonyx_onednn {

const Operator* FindOperator(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  for (const auto& rows :
       {ConvolutionOperators(), MatMulOperators(), PoolingOperators(), NormalizationOperators(), BinaryOperators(),
        EltwiseOperators(), ReductionOperators(), ShapeOperators(), QuantizationOperators()})
    for (const Operator& row : rows)
      if (row.name == node.op_type && node.since >= row.oldest && node.since <= row.newest) return &row;
  return nullptr;
}

std::string Refusal(const Graph& graph, const Node& node) {
  const Operator* row = FindOperator(node);
  if (row == nullptr || node.has_body) return "not an operator of this provider";
  return row->refusal(graph, node);
}

bool IsFloat(const Graph& graph, int value) {
  return value >= 0 && graph.at(value).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

bool HasRank(const Graph& graph, int value, std::size_t least, std::size_t most) {
  const Value& facts = graph.at(value);
  return facts.has_shape && facts.dims.size() >= least && facts.dims.size() <= most;
}

std::string FloatsRefusal(const Graph& graph, const Node& node) {
  for (const int value : node.inputs) {
    if (value < 0) continue;
    if (!IsFloat(graph, value)) return "not of float";
    if (!HasRank(graph, value)) return "its rank is not known, or too large";
  }
  return IsFloat(graph, node.outputs[0]) ? "" : "not of float";
}

std::size_t AxisOf(const Builder& builder, const Node& node, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    builder.Fail(node, "expected an axis in [" + std::to_string(-count) + ", " + std::to_string(count - 1) +
                           "], found " + std::to_string(axis));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::optional<Dims> IntsOf(const Graph& graph, const Node& node, std::size_t input, std::string_view attribute) {
  if (const Constant* constant = graph.ConstantOf(node.Input(input))) {
    Dims ints;
    for (const double number : constant->Numbers()) ints.push_back(static_cast<std::int64_t>(number));
    return ints;
  }
  if (node.Input(input) < 0 && node.Has(attribute)) return node.attributes.find(attribute)->second.ints;
  return std::nullopt;
}

}  // namespace sardonyx_onednn
