// optimizer/quantization/quantization.cpp - reads QuantizeLinear and DequantizeLinear nodes.
#include "optimizer/quantization/quantization.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

namespace sardonyx::optimizer {
namespace {

bool IsNode(const Node& node, std::string_view op_type) {
  return Is(node, op_type) || Is(node, op_type, "com.microsoft");
}

bool HasPlainScale(const Tensor* scale) {
  if (scale == nullptr || scale->dtype() != DType::kFloat || scale->count() == 0) return false;
  const auto elements = scale->span<float>();
  return std::all_of(elements.begin(), elements.end(), [](float s) { return s > 0 && std::isfinite(s); });
}

std::int64_t FirstElement(const Tensor& tensor) {
  std::int64_t first = 0;
  VisitDType<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>(
      tensor.dtype(), [&]<typename T>() { first = std::int32_t{*tensor.data<T>()}; });
  return first;
}

// Scale and zero point (inputs 1 and 2) of a node whose input 0 has `rank` axes.
bool ReadParameters(const Graph& graph, const Node& node, const Type& x, Quantization& q) {
  if (node.inputs.size() < 2 || node.outputs.size() != 1 || IntAttribute(node, "block_size", 0) != 0) return false;
  const Tensor* scale = node.inputs[1] == kNoValue ? nullptr : graph.value(node.inputs[1]).constant();
  if (!HasPlainScale(scale)) return false;
  q.scale = node.inputs[1];
  q.zero = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
  const Tensor* zero = q.zero == kNoValue ? nullptr : graph.value(q.zero).constant();
  if (q.zero != kNoValue && (zero == nullptr || zero->dtype() != q.dtype || zero->count() != scale->count()))
    return false;
  if (scale->count() == 1 && scale->shape().rank() <= 1) {
    q.scale_value = static_cast<double>(*scale->data<float>());
    q.zero_value = zero == nullptr ? 0 : FirstElement(*zero);
    return true;
  }
  if (!x.has_rank || scale->shape().rank() != 1) return false;
  const auto rank = static_cast<std::int64_t>(x.rank());
  std::int64_t axis = IntAttribute(node, "axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  q.axis = static_cast<std::size_t>(axis);
  return true;
}

// Operators that the passes make integer ones where their other operands are quantized, too.
constexpr std::string_view kConsumers[] = {"Add", "Concat", "Conv", "Div", "Gemm", "MatMul",
                                           "Max", "Min",    "Mul",  "Pow", "Sub",  "Where"};

bool IsOneOf(std::span<const std::string_view> names, const Node& node) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op_type) != names.end();
}

// True if an operand other than `value` is a tensor that runs bring quantized.
bool HasQuantizedOperand(const Graph& graph, const Node& node, ValueId value) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    if (input == value) return false;
    if (DequantizedWhileRunning(graph, input)) return true;
    const auto q = DequantizedFrom(graph, input);
    return q && q->Is8Bit() && graph.value(q->data).constant() == nullptr;
  });
}

bool IsWantedBy(const Graph& graph, const ops::Registry& registry, const Node& node, ValueId value, bool is_bias) {
  if (is_bias)
    return IsOneOf(kConsumers, node) && node.inputs.size() > 2 && node.inputs[2] == value &&
           HasQuantizedOperand(graph, node, value);
  if (IsOneOf(kConsumers, node)) return HasQuantizedOperand(graph, node, value);
  if (!MovesElements(registry, node) || node.inputs[0] != value) return false;
  if (node.inputs.size() > 1 && node.op_type.starts_with("Gather")) return true;  // a table of embeddings
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId output) { return output != kNoValue && MayFeedIntegers(graph, registry, output); });
}

bool IsFloatValue(const Graph& graph, ValueId value) {
  return value != kNoValue && graph.value(value).type.is_tensor() && graph.value(value).type.dtype == DType::kFloat;
}

bool HasOneElement(const Type& type, DType dtype) {
  return type.is_tensor() && type.dtype == dtype && type.HasStaticShape() &&
         (type.rank() == 0 || (type.rank() == 1 && type.dims[0] == Dim(1)));
}

}  // namespace

bool IsQuantize(const Node& node) { return IsNode(node, "QuantizeLinear"); }
bool IsDequantize(const Node& node) { return IsNode(node, "DequantizeLinear"); }

std::optional<QuantizedValue> DequantizedFrom(const Graph& graph, ValueId value) {
  if (!IsFloatValue(graph, value) || graph.value(value).producer == kNoNode) return std::nullopt;
  const Node& node = graph.node(graph.value(value).producer);
  if (!IsDequantize(node) || node.inputs.empty() || node.inputs[0] == kNoValue) return std::nullopt;
  QuantizedValue q;
  q.data = node.inputs[0];
  q.node = node.id;
  q.dtype = graph.value(q.data).type.dtype;
  const bool known = q.Is8Bit() || q.Is16Bit() || q.dtype == DType::kInt32;
  if (!known || !ReadParameters(graph, node, graph.value(q.data).type, q)) return std::nullopt;
  return q;
}

std::optional<QuantizedValue> DequantizedWhileRunning(const Graph& graph, ValueId value) {
  if (!IsFloatValue(graph, value) || graph.value(value).producer == kNoNode) return std::nullopt;
  const Node& node = graph.node(graph.value(value).producer);
  if (!IsDequantize(node) || node.inputs.size() < 2 || node.inputs[0] == kNoValue ||
      IntAttribute(node, "block_size", 0) != 0)
    return std::nullopt;
  QuantizedValue q;
  q.data = node.inputs[0];
  q.node = node.id;
  q.dtype = graph.value(q.data).type.dtype;
  q.scale = node.inputs[1];
  q.zero = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
  if (!q.Is8Bit() || !HasOneElement(graph.value(q.scale).type, DType::kFloat)) return std::nullopt;
  if (q.zero != kNoValue && !HasOneElement(graph.value(q.zero).type, q.dtype)) return std::nullopt;
  const bool is_constant =
      graph.value(q.scale).constant() != nullptr && (q.zero == kNoValue || graph.value(q.zero).constant() != nullptr);
  return is_constant ? std::nullopt : std::optional(q);
}

std::optional<QuantizedValue> QuantizedBy(const Graph& graph, NodeId id) {
  if (id == kNoNode) return std::nullopt;
  const Node& node = graph.node(id);
  if (!IsQuantize(node) || node.inputs.empty() || !IsFloatValue(graph, node.inputs[0])) return std::nullopt;
  const std::int64_t precision = IntAttribute(node, "precision", 0);
  if (precision != 0 && precision != static_cast<std::int64_t>(DType::kFloat)) return std::nullopt;
  QuantizedValue q;
  q.data = node.outputs[0];
  q.node = id;
  q.dtype = graph.value(q.data).type.dtype;
  const bool known = q.Is8Bit() || q.Is16Bit();
  if (!known || !ReadParameters(graph, node, graph.value(node.inputs[0]).type, q)) return std::nullopt;
  return q;
}

std::optional<QuantizedValue> SoleQuantization(const Graph& graph, ValueId value) {
  return QuantizedBy(graph, SoleReader(graph, value));
}

bool MovesElements(const ops::Registry& registry, const Node& node) {
  const ops::OpDef* op = registry.Find(node.domain, node.op_type, node.since_version);
  return op != nullptr && !IsForeign(node) && node.domain.empty() && (op->traits & ops::kMovesElements) != 0;
}

std::optional<BlockWeight> BlockWeightFrom(const Graph& graph, ValueId value) {
  const NodeId reader = IsFloatValue(graph, value) ? SoleReader(graph, value) : kNoNode;
  if (reader == kNoNode || graph.value(value).producer == kNoNode) return std::nullopt;
  const Node &product = graph.node(reader), &node = graph.node(graph.value(value).producer);
  if (!Is(product, "MatMul") || product.inputs[1] != value || !IsDequantize(node) ||
      !IsFloatValue(graph, product.inputs[0]) || node.inputs.size() < 2 || node.inputs[1] == kNoValue)
    return std::nullopt;
  BlockWeight w{.node = node.id, .data = node.inputs[0], .scale = node.inputs[1]};
  if (node.inputs.size() > 2) w.zero = node.inputs[2];
  const Tensor *data = graph.value(w.data).constant(), *scale = graph.value(w.scale).constant();
  const Tensor* zero = w.zero == kNoValue ? nullptr : graph.value(w.zero).constant();
  w.block = IntAttribute(node, "block_size", 0);
  const std::int64_t axis = IntAttribute(node, "axis", 1);
  if (data == nullptr || scale == nullptr || (zero == nullptr) != (w.zero == kNoValue) || data->shape().rank() != 2 ||
      (axis != 0 && axis != -2) || w.block < 16 || (w.block & (w.block - 1)) != 0)
    return std::nullopt;
  const DType dtype = data->dtype();
  w.bits = dtype == DType::kInt8 || dtype == DType::kUInt8 ? 8 : 4;
  w.is_signed = dtype == DType::kInt8 || dtype == DType::kInt4;
  if (w.bits == 4 && !w.is_signed && dtype != DType::kUInt4) return std::nullopt;
  w.k = data->shape()[0];
  w.n = data->shape()[1];
  const Shape parameters{w.blocks(), w.n};
  const Type& x = graph.value(product.inputs[0]).type;
  if (w.k < 1 || w.n < 1 || scale->dtype() != DType::kFloat || !(scale->shape() == parameters) || !x.has_rank ||
      x.rank() < 2 || !SameDim(x.dims.back(), Dim(w.k)))
    return std::nullopt;
  if (zero != nullptr && (zero->dtype() != dtype || !(zero->shape() == parameters))) return std::nullopt;
  return w;
}

bool MayFeedIntegers(const Graph& graph, const ops::Registry& registry, ValueId value) {
  if (BlockWeightFrom(graph, value)) return true;
  const auto q = DequantizedFrom(graph, value);
  if (q && graph.value(q->data).constant() != nullptr && graph.value(q->data).constant()->count() <= 1) return false;
  const auto& readers = graph.value(value).consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return IsWantedBy(graph, registry, graph.node(reader), value, q && q->dtype == DType::kInt32);
  });
}

ValueId ZeroOrConstant(Graph& graph, const Quantization& q) {
  if (q.zero != kNoValue) return q.zero;
  Tensor zero(q.dtype, q.axis ? graph.value(q.scale).constant()->shape() : Shape{});
  std::fill_n(static_cast<std::byte*>(zero.raw()), zero.byte_size(), std::byte{0});
  return graph.AddConstant("zero_point", std::move(zero));
}

std::vector<double> ScalesOf(const Graph& graph, const Quantization& q) {
  const auto elements = graph.value(q.scale).constant()->span<float>();
  return {elements.begin(), elements.end()};
}

std::optional<std::vector<double>> ConstantElements(const Graph& graph, ValueId value) {
  const auto integers = [](const Tensor& tensor) {
    std::vector<double> elements;
    VisitDType<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>(
        tensor.dtype(), [&]<typename T>() { elements.assign(tensor.data<T>(), tensor.data<T>() + tensor.count()); });
    return elements;
  };
  const auto q = DequantizedFrom(graph, value);
  const Tensor* data = graph.value(q ? q->data : value).constant();
  if (data == nullptr) return std::nullopt;
  if (!q) {
    if (data->dtype() != DType::kFloat) return std::nullopt;
    const auto floats = data->span<float>();
    return std::vector<double>(floats.begin(), floats.end());
  }
  const std::vector<double> scales = ScalesOf(graph, *q);
  std::vector<double> zeros(scales.size(), 0.0), elements = integers(*data);
  if (q->zero != kNoValue) zeros = integers(*graph.value(q->zero).constant());
  const std::int64_t inner = q->axis ? ElementCount(data->shape(), *q->axis + 1, data->shape().rank()) : 1;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t at = q->axis ? i / static_cast<std::size_t>(inner) % scales.size() : 0;
    elements[i] = (elements[i] - zeros[at]) * scales[at];
  }
  return elements;
}

bool HasOnlyZeroZeros(const Graph& graph, const Quantization& q) {
  if (q.zero == kNoValue) return true;
  const Tensor& zero = *graph.value(q.zero).constant();
  const auto* bytes = static_cast<const std::byte*>(zero.raw());
  return std::all_of(bytes, bytes + zero.byte_size(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace sardonyx::optimizer
