// optimizer/passes/quantization/quantize_weights.cpp - constant weights of float that were quantized once become
// integers again: in each channel of a Conv, Gemm or MatMul with a dequantized input they are whole multiples of one
// number, 256 different ones at most.
//
// Exporters that fold constants leave such weights, scaled by a normalization or not: what FakeQuantWithMinMaxVars
// makes of a constant is a constant for tf2onnx. Other weights stay floats, since rounding them would change the model.
#include <algorithm>
#include <cmath>

#include "ops/evaluate.h"
#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

constexpr double kHighest = 127, kLowest = -128, kSteps = 255;
// How far from a whole multiple a weight may lie, in steps: floats round them several times.
constexpr double kRounding = 1.0 / 4096;

// The integers of a channel: element = (integer - zero) * step.
struct Grid {
  double step = 1, zero = 0;
};

// A view of the elements of one channel.
struct Channel {
  const float* first;
  std::int64_t stride, count, inner;  // `count` runs of `inner` elements, `stride` apart

  template <typename Visit>
  bool All(Visit&& visit) const {
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t i = 0; i < inner; ++i)
        if (!visit(static_cast<double>(first[r * stride + i]), r * stride + i)) return false;
    return true;
  }
};

// The coarsest grid on which a channel lies; nullopt if there is none.
std::optional<Grid> GridOf(const Channel& channel) {
  double largest = 0;
  const bool finite = channel.All([&](double v, std::int64_t) {
    largest = std::max(largest, std::abs(v));
    return std::isfinite(v);
  });
  if (!finite) return std::nullopt;
  if (largest == 0) return Grid{};
  for (double k = 1; k <= kSteps; ++k) {
    const double step = static_cast<float>(largest / k);
    double low = 0, high = 0;
    const bool fits = step > 1e-30 && channel.All([&](double v, std::int64_t) {
      const double whole = std::nearbyint(v / step);
      low = std::min(low, whole);
      high = std::max(high, whole);
      return std::abs(v / step - whole) <= kRounding && high - low <= kSteps;
    });
    if (fits) return Grid{step, low >= kLowest && high <= kHighest ? 0 : kLowest - low};
  }
  return std::nullopt;
}

// Which axis of the weights numbers the outputs; nullopt if the node is not a product that takes integers.
std::optional<std::size_t> OutputAxis(const Node& node, const Type& weights) {
  if (!node.domain.empty() || !weights.has_rank) return std::nullopt;
  if (node.op_type == "Conv" && weights.rank() > 2) return 0;
  if (node.op_type == "MatMul" && weights.rank() == 2) return 1;
  if (node.op_type == "Gemm" && weights.rank() == 2) return IntAttribute(node, "transB", 0) != 0 ? 0 : 1;
  return std::nullopt;
}

// Floats that nodes between a DequantizeLinear of constants and a product make; undefined if there are others.
Tensor Computed(const Graph& graph, const ops::Registry& registry, ValueId value, int depth = 0) {
  constexpr int kDeepest = 4;
  if (const Tensor* constant = graph.value(value).constant()) return *constant;
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || depth > kDeepest) return {};
  const Node& node = graph.node(producer);
  if (IsForeign(node) || (!IsDequantize(node) && !MovesElements(registry, node))) return {};
  std::vector<Value> inputs;
  for (const ValueId input : node.inputs) {
    Tensor given = input == kNoValue ? Tensor() : Computed(graph, registry, input, depth + 1);
    if (input != kNoValue && !given.defined()) return {};
    inputs.push_back(input == kNoValue ? Value() : Value(std::move(given)));
  }
  const std::vector<Value> results = ops::EvaluateNode(graph, node, registry, inputs);
  return results.size() == 1 && results[0].is_tensor() ? results[0].tensor() : Tensor();
}

// True if the product reads integers of 8 bits already, with scales that it takes.
bool IsQuantized(const Graph& graph, ValueId weights, std::size_t axis) {
  const auto q = DequantizedFrom(graph, weights);
  return q && q->Is8Bit() && (!q->axis || *q->axis == axis);
}

bool QuantizeWeights(Graph& graph, const PassContext& context, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.size() < 2 || node.inputs[0] == kNoValue || node.inputs[1] == kNoValue) return false;
  const ValueInfo& value = graph.value(node.inputs[1]);
  const auto axis = OutputAxis(node, value.type);
  const auto x = axis ? DequantizedFrom(graph, node.inputs[0]) : std::nullopt;
  if (!x || IsQuantized(graph, node.inputs[1], *axis)) return false;
  const Tensor computed = Computed(graph, context.registry, node.inputs[1]);
  const Tensor* weights = computed.defined() ? &computed : nullptr;
  if (weights == nullptr) return false;
  if (!x->IsPerTensor8() || weights->dtype() != DType::kFloat || weights->count() == 0)
    return context.FarFrom(graph, id, "its input is not of 8 bits with one scale, or its weights are not of float");
  const Shape shape = weights->shape();
  const std::int64_t channels = shape[*axis], inner = ElementCount(shape, *axis + 1, shape.rank());
  Tensor integers(DType::kInt8, shape), scales(DType::kFloat, Shape{channels}), zeros(DType::kInt8, Shape{channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    const Channel channel{weights->data<float>() + c * inner, channels * inner, ElementCount(shape, 0, *axis), inner};
    const auto grid = GridOf(channel);
    if (!grid)
      return context.No(graph, id, "its weights '", value.name, "' are floats that were never quantized: channel ", c,
                        " is not made of 256 multiples of one number");
    scales.data<float>()[c] = static_cast<float>(grid->step);
    zeros.data<std::int8_t>()[c] = static_cast<std::int8_t>(grid->zero);
    channel.All([&](double v, std::int64_t at) {
      const double whole = std::nearbyint(v / grid->step) + grid->zero;
      integers.data<std::int8_t>()[c * inner + at] = static_cast<std::int8_t>(whole);
      return true;
    });
  }
  const std::string name = value.name;
  const ValueId left = node.inputs[1];
  const std::vector<ValueId> inputs = {graph.AddConstant(name + "_quantized", std::move(integers)),
                                       graph.AddConstant(name + "_scale", std::move(scales)),
                                       graph.AddConstant(name + "_zero_point", std::move(zeros))};
  Rewrite rewrite(graph, context.registry, id);
  graph.SetInput(id, 1, rewrite.Add("DequantizeLinear", inputs, {{"axis", static_cast<std::int64_t>(*axis)}}));
  rewrite.DropUnused(left);
  return true;
}

bool QuantizeAllWeights(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return QuantizeWeights(each, context, id); });
}

}  // namespace

constinit const Pass kQuantizeWeights = {
    .name = "quantize_weights", .level = Level::kExtended, .run = QuantizeAllWeights};

}  // namespace sardonyx::optimizer
