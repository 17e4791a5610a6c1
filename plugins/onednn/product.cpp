// plugins/onednn/product.cpp - what Conv, ConvTranspose, MatMul and Gemm share.
#include "product.h"

#include <algorithm>

namespace sardonyx_onednn {
namespace {

// The weights as signed integers around zero; nothing if their zero points do not allow it.
std::optional<Tensor> SignedWeights(Builder& builder, const QuantizedConstant& from) {
  const bool is_unsigned = from.integers->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
  if (!is_unsigned && from.integers->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8) return std::nullopt;
  const double middle = is_unsigned ? 128 : 0;
  if (!std::all_of(from.zero_points.begin(), from.zero_points.end(), [&](double zero) { return zero == middle; }))
    return std::nullopt;
  if (!is_unsigned) return builder.Raw(from.value);
  return builder.Computed("s" + std::to_string(from.value), from.integers->dims, DataType::s8, [&](void* place) {
    auto* to = static_cast<std::int8_t*>(place);
    for (const std::byte element : from.integers->bytes)
      *to++ = static_cast<std::int8_t>(static_cast<int>(element) - 128);
  });
}

// Without VNNI oneDNN adds products of int8 in 16 bits, which saturate.
bool HasExactInt8() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx2_vnni:
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
    case dnnl::cpu_isa::all:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<QuantizedProduct> FindQuantizedProduct(Builder& builder, const Product& product) {
  if (!builder.settings().int8 || !HasExactInt8()) return std::nullopt;
  const std::optional<QuantizedConstant> weights = builder.Quantized(product.weights);
  if (!weights || builder.Quantized(product.input)) return std::nullopt;
  const Tensor& input = builder.Raw(product.input);
  if (!input.quantization) return std::nullopt;
  if (weights->scales.size() > 1 && weights->axis != product.weights_axis) return std::nullopt;
  if (product.bias >= 0 && builder.graph().ConstantOf(product.bias) == nullptr && !builder.Quantized(product.bias))
    return std::nullopt;
  const std::optional<Tensor> integers = SignedWeights(builder, *weights);
  if (!integers) return std::nullopt;
  QuantizedProduct found{.input = *input.quantization, .weights = *integers, .scales = {}};
  for (const double scale : weights->scales) found.scales.push_back(found.input.scale * static_cast<float>(scale));
  return found;
}

Tensor ScaledBias(Builder& builder, const Product& product, int bias, const QuantizedProduct& quantized) {
  const std::string key = "b" + std::to_string(bias) + " of " + std::to_string(product.output);
  return builder.Computed(key, product.bias_dims, [&] {
    std::vector<double> numbers;
    if (const auto integers = builder.Quantized(bias)) {
      numbers = integers->integers->Numbers();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t at = integers->scales.size() > 1 ? i : 0;
        numbers[i] = (numbers[i] - integers->zero_points[at]) * integers->scales[at];
      }
    } else {
      numbers = builder.graph().ConstantOf(bias)->Numbers();
    }
    std::vector<float> scaled(static_cast<std::size_t>(CountOf(product.bias_dims)));
    for (std::size_t i = 0; i < scaled.size(); ++i)
      scaled[i] = static_cast<float>(numbers[numbers.size() > 1 ? i : 0] /
                                     quantized.scales[quantized.scales.size() > 1 ? i : 0]);
    return scaled;
  });
}

bool IsReadAsBfloat16(const Builder& builder, int value) {
  const Graph& graph = builder.graph();
  if (graph.is_output[static_cast<std::size_t>(value)]) return false;
  const std::vector<int>& readers = graph.consumers[static_cast<std::size_t>(value)];
  return std::all_of(readers.begin(), readers.end(), [&](int index) {
    const Node& node = builder.node(index);
    return (node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "MatMul" ||
            node.op_type == "Gemm") &&
           node.inputs[0] == value;
  });
}

}  // namespace sardonyx_onednn
