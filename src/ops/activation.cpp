// ops/activation.cpp - the table of activations; reads them from nodes and writes them to nodes.
#include "ops/activation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace sardonyx::ops {
namespace {

using kernels::UnaryKind;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Convolutions leave alone what takes as long inside them as in a node of its own.
constexpr ActivationDef kRows[] = {
    {.name = "Clip", .conv_of_ort = true, .function = {UnaryKind::kClip, {"alpha", -kInfinity}, {"beta", kInfinity}}},
    {.name = "Elu", .in_convs = false, .in_cells = true, .gemm_of_ort = true},
    {.name = "Gelu", .function = {UnaryKind::kGelu}},
    {.name = "GeluTanh", .function = {UnaryKind::kGeluTanh}},
    {.name = "HardSigmoid", .in_cells = true, .conv_of_ort = true, .gemm_of_ort = true},
    {.name = "HardSwish", .conv_of_ort = true},
    {.name = "LeakyRelu", .in_cells = true, .conv_of_ort = true, .gemm_of_ort = true},
    {.name = "Mish"},
    {.name = "QuickGelu"},
    {.name = "Relu", .in_cells = true, .conv_of_ort = true, .gemm_of_ort = true},
    {.name = "Selu", .in_convs = false, .gemm_of_ort = true},
    {.name = "Sigmoid", .in_cells = true, .conv_of_ort = true, .gemm_of_ort = true},
    {.name = "Silu", .function = {UnaryKind::kSwish, {"", 1}}},
    {.name = "Softplus", .in_convs = false, .in_cells = true, .gemm_of_ort = true},
    {.name = "Softsign", .in_convs = false, .in_cells = true, .gemm_of_ort = true},
    {.name = "Tanh", .in_cells = true, .conv_of_ort = true, .gemm_of_ort = true},
    {.name = "ThresholdedRelu", .in_convs = false, .in_cells = true, .gemm_of_ort = true},
};

const FloatFunction& FunctionNamed(std::string_view name) {
  const FloatOperator* onnx = FindFloatOperator("", name);
  const FloatOperator* op = onnx != nullptr ? onnx : FindFloatOperator("com.microsoft", name);
  if (op == nullptr)
    Fail(Code::kFail, "activation ", name, ": expected an operator on floats of that name, found none");
  return op->function;
}

float ParameterOf(const Node& node, const FloatParameter& parameter) {
  const AttributeValue* value = parameter.attribute.empty() ? nullptr : node.FindAttribute(parameter.attribute);
  return value != nullptr && std::holds_alternative<float>(*value) ? std::get<float>(*value) : parameter.otherwise;
}

NodeActivation Named(std::string_view name, float a = 0, float b = 0) { return {FindActivation(name), a, b}; }

bool IsTanhForm(const Node& gelu) {
  const AttributeValue* value = gelu.FindAttribute("approximate");
  return value != nullptr && std::holds_alternative<std::string>(*value) && std::get<std::string>(*value) == "tanh";
}

// The bound of a Clip, which must be constant; `otherwise` if it is missing.
std::optional<float> BoundOf(const Graph& graph, const Node& clip, std::size_t i, float otherwise) {
  if (i >= clip.inputs.size() || clip.inputs[i] == kNoValue) return otherwise;
  return ScalarConstant(graph, clip.inputs[i]);
}

const ActivationDef& ReadName(const AttributeReader& c, std::string_view attribute = "activation") {
  static constexpr ActivationDef kNothing = {};
  const std::string name = c.String(attribute, "");
  if (name.empty()) return kNothing;
  const ActivationDef* def = FindActivation(name);
  if (def == nullptr)
    c.Fail(Code::kNotImplemented, "fusing activation '", name, "' into this operator is not implemented");
  return *def;
}

std::string AttributeOfProduct(const FloatParameter& parameter) {
  return "activation_" + std::string(parameter.attribute);
}

}  // namespace

std::span<const ActivationDef> Activations() {
  static const auto rows = [] {
    std::array<ActivationDef, std::size(kRows)> all;
    std::copy(std::begin(kRows), std::end(kRows), all.begin());
    for (ActivationDef& row : all)
      if (row.function.kind == UnaryKind::kNone) row.function = FunctionNamed(row.name);
    return all;
  }();
  return rows;
}

const ActivationDef* FindActivation(std::string_view name) {
  for (const ActivationDef& row : Activations())
    if (row.name == name) return &row;
  return nullptr;
}

std::optional<NodeFunction> FunctionOf(const Node& node) {
  const FloatOperator* op = FindFloatOperator(node.domain, node.op_type);
  if (op == nullptr) return std::nullopt;
  const FloatFunction& f = op->function;
  const float a = ParameterOf(node, f.a), b = ParameterOf(node, f.b);
  if ((a == 0 && !f.a.may_be_zero) || (b == 0 && !f.b.may_be_zero)) return std::nullopt;  // the operator refuses it
  return NodeFunction{op->name, f.kind, a, b};
}

std::optional<NodeActivation> ActivationOf(const Graph& graph, const Node& node) {
  const std::string& op = node.op_type;
  if (node.domain == "com.microsoft" && (op == "BiasGelu" || op == "FastGelu")) {
    NodeActivation gelu = Named(op == "BiasGelu" ? "Gelu" : "GeluTanh");
    if (node.inputs.size() > 1) gelu.bias = node.inputs[1];
    return gelu;
  }
  if (const auto function = FunctionOf(node)) {
    if (function->kind == UnaryKind::kSwish && function->a == 1 && node.domain.empty()) return Named("Silu", 1);
    const NodeActivation found = Named(op == "Swish" ? "QuickGelu" : op, function->a, function->b);
    return found.def != nullptr ? std::optional(found) : std::nullopt;
  }
  if (!node.domain.empty()) return std::nullopt;
  if (op == "Gelu") return Named(IsTanhForm(node) ? "GeluTanh" : "Gelu");
  if (op == "Clip") {
    const Type& type = graph.value(node.inputs[0]).type;
    const bool bounded =
        std::count_if(node.inputs.begin(), node.inputs.end(), [](ValueId v) { return v != kNoValue; }) == 3;
    if (type.dtype == DType::kDouble && !bounded) return std::nullopt;  // its largest number is no float
    const float largest = LargestFinite(type.dtype);
    const auto low = BoundOf(graph, node, 1, -largest), high = BoundOf(graph, node, 2, largest);
    if (low && high && *low <= *high) return Named(op, *low, *high);
  }
  return std::nullopt;
}

kernels::Activation ReadConvActivation(const AttributeReader& c, std::string_view prefix) {
  const std::string name = std::string(prefix) + "activation";
  const FloatFunction& f = ReadName(c, name).function;
  const std::vector<float> params = c.Floats(name + "_params");
  kernels::Activation activation{f.kind, f.a.otherwise, f.b.otherwise};
  if (!f.a.attribute.empty() && !params.empty()) activation.alpha = params[0];
  if (!f.b.attribute.empty() && params.size() > 1) activation.beta = params[1];
  return activation;
}

kernels::Activation ReadProductActivation(const AttributeReader& c) {
  const FloatFunction& f = ReadName(c).function;
  const auto read = [&](const FloatParameter& parameter) {
    return parameter.attribute.empty() ? parameter.otherwise
                                       : c.Float(AttributeOfProduct(parameter), parameter.otherwise);
  };
  return {f.kind, read(f.a), read(f.b)};
}

void WriteConvActivation(Node& conv, const NodeActivation& activation) {
  const FloatFunction& f = activation.def->function;
  conv.SetAttribute("activation", std::string(activation.def->name));
  std::vector<float> params;  // ONNX Runtime refuses more than the activation has
  if (!f.a.attribute.empty()) params.push_back(activation.a);
  if (!f.b.attribute.empty()) params.push_back(activation.b);
  if (!params.empty()) conv.SetAttribute("activation_params", std::move(params));
}

void WriteProductActivation(Node& product, const NodeActivation& activation) {
  const FloatFunction& f = activation.def->function;
  product.SetAttribute("activation", std::string(activation.def->name));
  if (!f.a.attribute.empty()) product.SetAttribute(AttributeOfProduct(f.a), activation.a);
  if (!f.b.attribute.empty()) product.SetAttribute(AttributeOfProduct(f.b), activation.b);
}

float LargestFinite(DType dtype) {
  if (dtype == DType::kFloat16) return 65504.0f;
  if (dtype == DType::kBFloat16) return 0x1.FEp127f;
  return std::numeric_limits<float>::max();
}

std::optional<float> ScalarConstant(const Graph& graph, ValueId value) {
  const Tensor* constant = graph.value(value).constant();
  if (constant == nullptr || constant->count() != 1) return std::nullopt;
  std::optional<float> scalar;
  VisitDType<float, Half, BFloat16>(constant->dtype(),
                                    [&]<typename T>() { scalar = static_cast<float>(*constant->data<T>()); });
  return scalar;
}

}  // namespace sardonyx::ops
