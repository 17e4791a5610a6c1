// plugins/onednn/eltwise.cpp - operators that compute each element of the result from one element of an input.
#include <cmath>
#include <limits>

#include "fusion.h"
#include "keep_nan.h"
#include "operators.h"

namespace sardonyx_onednn {
namespace {

using dnnl::algorithm;

// The one element of a constant float; nothing for anything else.
std::optional<float> ScalarOf(const Graph& graph, int value) {
  const Constant* constant = graph.ConstantOf(value);
  if (constant == nullptr || constant->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || constant->count() != 1)
    return std::nullopt;
  return static_cast<float>(constant->Numbers()[0]);
}

std::optional<EltwiseChain> Clip(const Graph& graph, const Node& node) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  float low = node.Float("min", -kLargest), high = node.Float("max", kLargest);
  for (const std::size_t input : {1, 2}) {
    if (node.Input(input) < 0) continue;
    const std::optional<float> limit = ScalarOf(graph, node.Input(input));
    if (!limit) return std::nullopt;
    (input == 1 ? low : high) = *limit;
  }
  if (!(low <= high)) return std::nullopt;
  return EltwiseChain{{{algorithm::eltwise_clip_v2, low, high}}, 0};
}

// Arithmetic with a constant of one element. Its rank must not raise that of the result.
std::optional<EltwiseChain> WithScalar(const Graph& graph, const Node& node) {
  for (const std::size_t subject : {0, 1}) {
    const int other = node.Input(1 - subject);
    const std::optional<float> scalar = ScalarOf(graph, other);
    if (!scalar || graph.ConstantOf(node.inputs[subject]) != nullptr || !HasRank(graph, node.inputs[subject]) ||
        graph.ConstantOf(other)->dims.size() > graph.at(node.inputs[subject]).dims.size())
      continue;
    if (node.op_type == "Add") return EltwiseChain{{{algorithm::eltwise_linear, 1, *scalar}}, subject};
    if (node.op_type == "Mul") return EltwiseChain{{{algorithm::eltwise_linear, *scalar, 0}}, subject};
    if (node.op_type == "Sub" && subject == 0) return EltwiseChain{{{algorithm::eltwise_linear, 1, -*scalar}}, 0};
    if (node.op_type == "Sub") return EltwiseChain{{{algorithm::eltwise_linear, -1, *scalar}}, 1};
    if (node.op_type == "Pow" && subject == 0) return EltwiseChain{{{algorithm::eltwise_pow, 1, *scalar}}, 0};
    // A division by a power of two is the same as a product.
    int exponent = 0;
    if (node.op_type == "Div" && subject == 0 && std::abs(std::frexp(*scalar, &exponent)) == 0.5f)
      return EltwiseChain{{{algorithm::eltwise_linear, 1 / *scalar, 0}}, 0};
  }
  return std::nullopt;
}

struct Row {
  std::string_view name;
  algorithm function;
  float alpha = 0, beta = 0;
};
constexpr Row kPlainFunctions[] = {
    {"Relu", algorithm::eltwise_relu},
    {"Tanh", algorithm::eltwise_tanh},
    {"Sigmoid", algorithm::eltwise_logistic},
    {"Sqrt", algorithm::eltwise_sqrt},
    {"Abs", algorithm::eltwise_abs},
    {"Neg", algorithm::eltwise_linear, -1, 0},
    {"Softplus", algorithm::eltwise_soft_relu},
    {"HardSwish", algorithm::eltwise_hardswish},
    {"Mish", algorithm::eltwise_mish},
    {"Round", algorithm::eltwise_round},
    {"Reciprocal", algorithm::eltwise_pow, 1, -1},
};

std::string EltwiseRefusal(const Graph& graph, const Node& node) {
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  return EltwiseOf(graph, node) ? "" : "its parameters are not constant";
}

void BuildEltwise(Builder& builder, const Node& node) {
  const EltwiseChain chain = *EltwiseOf(builder.graph(), node);
  Tensor tensor = builder.Float(node.inputs[chain.subject]);
  if (builder.settings().keeps_nan && CountOf(tensor.dims) != 0) tensor = builder.Plain(tensor);
  for (const Eltwise& function : chain.functions) {
    const Tensor result = builder.New(tensor.desc, tensor.dims);
    RunEltwise(builder, tensor, result, function);
    tensor = result;
  }
  builder.Set(node.outputs[0], tensor);
}

constexpr Operator kOperators[] = {
    {"Relu", 6, 14, false, EltwiseRefusal, BuildEltwise},
    {"LeakyRelu", 6, 16, false, EltwiseRefusal, BuildEltwise},
    {"Elu", 6, 22, false, EltwiseRefusal, BuildEltwise},
    {"Tanh", 6, 13, false, EltwiseRefusal, BuildEltwise},
    {"Sigmoid", 6, 13, false, EltwiseRefusal, BuildEltwise},
    {"Sqrt", 6, 13, false, EltwiseRefusal, BuildEltwise},
    {"Abs", 6, 13, false, EltwiseRefusal, BuildEltwise},
    {"Neg", 6, 13, false, EltwiseRefusal, BuildEltwise},
    {"Reciprocal", 6, 13, false, EltwiseRefusal, BuildEltwise},
    {"Softplus", 1, 22, false, EltwiseRefusal, BuildEltwise},
    {"HardSigmoid", 6, 22, false, EltwiseRefusal, BuildEltwise},
    {"HardSwish", 14, 22, false, EltwiseRefusal, BuildEltwise},
    {"Mish", 18, 22, false, EltwiseRefusal, BuildEltwise},
    {"Round", 11, 22, false, EltwiseRefusal, BuildEltwise},
    {"Gelu", 20, 20, false, EltwiseRefusal, BuildEltwise},
    {"Swish", 24, 24, false, EltwiseRefusal, BuildEltwise},
    {"Clip", 6, 13, false, EltwiseRefusal, BuildEltwise},
    {"Pow", 7, 15, false, EltwiseRefusal, BuildEltwise},
};

}  // namespace

std::optional<EltwiseChain> EltwiseOf(const Graph& graph, const Node& node) {
  for (const Row& row : kPlainFunctions)
    if (row.name == node.op_type) return EltwiseChain{{{row.function, row.alpha, row.beta}}, 0};
  const std::string& op = node.op_type;
  if (op == "LeakyRelu") return EltwiseChain{{{algorithm::eltwise_relu, node.Float("alpha", 0.01f), 0}}, 0};
  if (op == "Elu") return EltwiseChain{{{algorithm::eltwise_elu, node.Float("alpha", 1), 0}}, 0};
  if (op == "Swish") return EltwiseChain{{{algorithm::eltwise_swish, node.Float("alpha", 1), 0}}, 0};
  if (op == "HardSigmoid")
    return EltwiseChain{{{algorithm::eltwise_linear, node.Float("alpha", 0.2f), node.Float("beta", 0.5f)},
                         {algorithm::eltwise_clip_v2, 0, 1}},
                        0};
  if (op == "Gelu")
    return EltwiseChain{
        {{node.Text("approximate", "none") == "tanh" ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf, 0,
          0}},
        0};
  if (op == "Clip") return Clip(graph, node);
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div" || op == "Pow") return WithScalar(graph, node);
  return std::nullopt;
}

void RunEltwise(Builder& builder, const Tensor& from, const Tensor& to, const Eltwise& function) {
  if (CountOf(from.dims) == 0) return;
  if (builder.settings().keeps_nan && TakesLimitForNan(function)) return RunClamp(builder, from, to, function);
  const auto found = Describe<dnnl::eltwise_forward>(
      {dnnl::prop_kind::forward_inference, function.algorithm, from.desc, function.alpha, function.beta}, {},
      builder.engine());
  if (!found) throw Failure(ORT_NOT_IMPLEMENTED, "oneDNN has no elementwise function for shape " + Show(from.dims));
  builder.Run<dnnl::eltwise_forward>(*found, {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
}

std::span<const Operator> EltwiseOperators() { return kOperators; }

}  // namespace sardonyx_onednn
