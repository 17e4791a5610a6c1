// plugins/onednn/quantization.cpp - QuantizeLinear and DequantizeLinear: where a product lies between them, it computes
// with the integers (product.cpp).
#include "operators.h"

namespace sardonyx_onednn {
namespace {

bool IsInt8(const Graph& graph, int value) {
  return graph.at(value).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 ||
         graph.at(value).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
}

// One scale and zero point for all elements, or those of a constant.
std::string ParametersRefusal(const Graph& graph, const Node& node, bool one) {
  const Constant *scale = graph.ConstantOf(node.Input(1)), *zero = graph.ConstantOf(node.Input(2));
  if (scale == nullptr || (node.Input(2) >= 0 && zero == nullptr)) return "its scale or zero point is not constant";
  if (scale->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return "its scale is not of float";
  if (one && scale->count() != 1) return "it has a scale for each position of an axis";
  if (scale->dims.size() > 1 || (zero != nullptr && zero->count() != scale->count())) return "its blocks";
  return node.Int("block_size", 0) == 0 ? "" : "its blocks";
}

std::string DequantizeRefusal(const Graph& graph, const Node& node) {
  const bool constant = graph.ConstantOf(node.inputs[0]) != nullptr;
  if (!IsFloat(graph, node.outputs[0]) || !HasRank(graph, node.inputs[0])) return "not to float";
  const bool int32 = graph.at(node.inputs[0]).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
  if (!IsInt8(graph, node.inputs[0]) && !(int32 && constant)) return "not of int8 or uint8";
  return ParametersRefusal(graph, node, !constant);
}

std::string QuantizeRefusal(const Graph& graph, const Node& node) {
  if (!IsFloat(graph, node.inputs[0]) || !IsInt8(graph, node.outputs[0]) || !HasRank(graph, node.inputs[0]))
    return "not from float to int8 or uint8";
  return ParametersRefusal(graph, node, true);
}

Quantization ParametersOf(const Builder& builder, const Node& node) {
  const Constant* zero = builder.graph().ConstantOf(node.Input(2));
  return {.scale = static_cast<float>(builder.graph().ConstantOf(node.inputs[1])->Numbers()[0]),
          .zero_point = zero == nullptr ? 0 : static_cast<int>(zero->Numbers()[0])};
}

// Nothing is computed: whoever reads the result takes the integers, or asks for floats.
void BuildDequantize(Builder& builder, const Node& node) {
  if (builder.graph().ConstantOf(node.inputs[0]) != nullptr) return;
  Tensor tensor = builder.Raw(node.inputs[0]);
  tensor.quantization = ParametersOf(builder, node);
  builder.Set(node.outputs[0], tensor);
}

void BuildQuantize(Builder& builder, const Node& node) {
  const Quantization to = ParametersOf(builder, node);
  const Tensor input = builder.Float(node.inputs[0]);
  Desc desc = input.desc;
  desc.data.data_type =
      builder.graph().at(node.outputs[0]).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 ? dnnl_s8 : dnnl_u8;
  const Tensor result = builder.New(desc, input.dims);
  builder.Set(node.outputs[0], result);
  if (CountOf(input.dims) == 0) return;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_output_scales(0, {1 / to.scale});
  if (to.zero_point != 0) attributes.set_zero_points(DNNL_ARG_DST, 0, {to.zero_point});
  builder.Run<dnnl::reorder>(
      dnnl::reorder::primitive_desc(builder.engine(), input.desc, builder.engine(), desc, attributes),
      {{DNNL_ARG_SRC, input}, {DNNL_ARG_DST, result}});
}

constexpr Operator kOperators[] = {
    {"DequantizeLinear", 10, 25, false, DequantizeRefusal, BuildDequantize},
    {"QuantizeLinear", 10, 25, false, QuantizeRefusal, BuildQuantize},
};

}  // namespace

std::span<const Operator> QuantizationOperators() { return kOperators; }

}  // namespace sardonyx_onednn
