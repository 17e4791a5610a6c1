// runtime/saving/own_functions.cpp - writes the bodies of functions.
#include "runtime/saving/own_functions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ops/activation.h"
#include "ops/float_function.h"
#include "ops/own_domain.h"
#include "ops/schema/schema.h"

namespace sardonyx::runtime {
namespace {

constexpr std::int64_t kOverloads = 10;  // the IR version that has them

// The body of one node's function.
class Body {
 public:
  Body(const Graph& graph, const Node& call) : graph_(graph), call_(call) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      inputs_.push_back(body_.AddInput("x" + std::to_string(i), Type()));
    for (const ValueId input : call.inputs)
      if (input != kNoValue && dtype_ == DType::kUndefined && !IsByte(input)) dtype_ = TypeOf(input).dtype;
    if (dtype_ == DType::kUndefined) dtype_ = DType::kFloat;
  }

  // nullopt: no function expresses it.
  std::optional<Graph> Write() {
    const std::optional<ValueId> result = Result();
    if (!result) return std::nullopt;
    body_.AddOutput(body_.AddNode("", "Identity", {*result}, {}, Type(), "y"));
    for (std::size_t i = 0; i < caches_.size() && i + 1 < call_.outputs.size(); ++i)
      body_.AddOutput(body_.AddNode("", "Identity", {caches_[i]}, {}, Type(), "y" + std::to_string(i + 1)));
    return std::move(body_);
  }

 private:
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }
  bool IsByte(ValueId value) const {
    return TypeOf(value).dtype == DType::kInt8 || TypeOf(value).dtype == DType::kUInt8;
  }
  bool Has(std::size_t input) const { return input < call_.inputs.size() && call_.inputs[input] != kNoValue; }

  template <typename T>
  T Read(std::string_view attribute, T otherwise) const {
    const auto* value = std::get_if<T>(call_.FindAttribute(attribute));
    return value != nullptr ? *value : otherwise;
  }

  ValueId Add(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return body_.AddNode("", op_type, std::move(inputs), std::move(attributes));
  }
  ValueId Cast(ValueId x, DType to) { return Add("Cast", {x}, {{"to", static_cast<std::int64_t>(to)}}); }
  ValueId Number(float number, DType dtype) {
    Tensor scalar(dtype, Shape());
    VisitDType<float, Half, BFloat16, std::int8_t, std::uint8_t>(dtype,
                                                                 [&]<typename T>() { *scalar.data<T>() = T(number); });
    return body_.AddConstant("c", std::move(scalar));
  }
  ValueId Number(float number) { return Number(number, dtype_); }

  std::optional<ValueId> Result() {
    if (call_.op_type == "FusedElementwise") return Elementwise();
    if (call_.op_type == "FusedMatMul") return Product();
    if (call_.op_type == "FusedGemm") return Gemm();
    if (call_.op_type == "FusedConv") return Conv();
    if (call_.op_type == "QLinearMatMul") return QuantizedProduct();
    if (call_.op_type == "SinkAttention" || call_.op_type == "CachedAttention") return Attention();
    if (call_.op_type == "Lookup8") {
      return Add("Gather",
                 {inputs_[1], Cast(inputs_[0], DType::kInt32)});  // a negative index counts from the table's end
    }
    return std::nullopt;
  }

  // ---- functions of one or two floats

  ValueId Clip(ValueId x, float low, float high) {
    return Add("Clip", {x, std::isinf(low) ? kNoValue : Number(low), std::isinf(high) ? kNoValue : Number(high)});
  }
  ValueId Gated(ValueId x, ValueId factor) {  // x * factor / 2 with `factor` raised by one
    return Add("Mul", {Add("Mul", {x, Number(0.5f)}), Add("Add", {factor, Number(1)})});
  }
  ValueId Gelu(ValueId x) {
    return Gated(x, Add("Erf", {Add("Mul", {x, Number(static_cast<float>(1 / std::numbers::sqrt2))})}));
  }
  ValueId GeluTanh(ValueId x) {
    const ValueId cube = Add("Mul", {Add("Mul", {x, x}), x});
    const ValueId sum = Add("Add", {x, Add("Mul", {cube, Number(0.044715f)})});
    const auto factor = static_cast<float>(std::sqrt(2 / std::numbers::pi));
    return Gated(x, Add("Tanh", {Add("Mul", {sum, Number(factor)})}));
  }
  ValueId Rounded(ValueId x, float scale, float zero_point, DType dtype) {
    const std::vector<ValueId> parameters = {Number(scale, DType::kFloat), Number(zero_point, dtype)};
    const ValueId integers = Add("QuantizeLinear", {x, parameters[0], parameters[1]});
    return Add("DequantizeLinear", {integers, parameters[0], parameters[1]});
  }

  std::optional<ValueId> Unary(const std::string& name, ValueId x, float a, float b) {
    if (name == "Clip") return Clip(x, a, b);
    if (name == "Gelu") return Gelu(x);
    if (name == "GeluTanh") return GeluTanh(x);
    if (name == "QuickGelu") return Add("Mul", {x, Add("Sigmoid", {Add("Mul", {x, Number(a)})})});
    if (name == "Silu" || (name == "Swish" && a == 1)) return Add("Mul", {x, Add("Sigmoid", {x})});
    if (name == "Mish") return Add("Mul", {x, Add("Tanh", {Add("Softplus", {x})})});
    if (name == "HardSwish") return Add("Mul", {x, Add("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}})});
    if (name == "Square") return Add("Mul", {x, x});
    if (name == "Cube") return Add("Mul", {Add("Mul", {x, x}), x});
    if (name == "QuantizeInt8") return Rounded(x, a, b, DType::kInt8);
    if (name == "QuantizeUInt8") return Rounded(x, a, b, DType::kUInt8);
    const ops::FloatOperator* op = ops::FindFloatOperator("", name);
    const ops::OpSchema* schema = op == nullptr ? nullptr : ops::FindSchema("", name, kOwnFunctionsOpset);
    if (schema == nullptr) return std::nullopt;
    std::vector<Attribute> attributes;
    for (const auto& [parameter, value] : {std::pair(op->function.a, a), std::pair(op->function.b, b)})
      if (!parameter.attribute.empty()) attributes.push_back({std::string(parameter.attribute), value});
    return Add(name, {x}, std::move(attributes));
  }

  std::optional<ValueId> Activated(ValueId x, const std::vector<float>& list) {
    const auto name = Read<std::string>("activation", "");
    if (name.empty()) return x;
    const ops::ActivationDef* def = ops::FindActivation(name);
    if (def == nullptr) return std::nullopt;
    float values[] = {def->function.a.otherwise, def->function.b.otherwise};
    std::size_t next = 0;
    for (const auto& [parameter, value] : {std::pair(&def->function.a, &values[0]), {&def->function.b, &values[1]}}) {
      if (parameter->attribute.empty()) continue;
      if (next < list.size()) *value = list[next++];
      *value = Read<float>("activation_" + std::string(parameter->attribute), *value);
    }
    return Unary(name, x, values[0], values[1]);
  }

  // ---- operators

  std::optional<ValueId> Elementwise() {
    const auto steps = Read<std::vector<std::string>>("steps", {});
    const auto operands = Read<std::vector<std::int64_t>>("operands", {});
    const auto parameters = Read<std::vector<float>>("parameters", {});
    const auto scales = Read<std::vector<float>>("input_scales", {}),
               zeros = Read<std::vector<float>>("input_zeros", {});
    if (operands.size() != 2 * steps.size() || parameters.size() != 2 * steps.size()) return std::nullopt;
    dtype_ = DType::kFloat;  // what is computed between inputs and result
    std::vector<ValueId> read, made;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const DType from = TypeOf(call_.inputs[i]).dtype;
      read.push_back(IsByte(call_.inputs[i]) || from == DType::kFloat ? inputs_[i] : Cast(inputs_[i], DType::kFloat));
      if (!IsByte(call_.inputs[i])) continue;
      if (i >= scales.size() || i >= zeros.size()) return std::nullopt;
      read[i] = Add("DequantizeLinear", {inputs_[i], Number(scales[i]), Number(zeros[i], from)});
    }
    const auto operand = [&](std::size_t i) {
      const std::int64_t place = operands[i];
      return place >= 0 ? read.at(static_cast<std::size_t>(place)) : made.at(static_cast<std::size_t>(-1 - place));
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      static constexpr std::string_view kBinary[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
      if (std::find(std::begin(kBinary), std::end(kBinary), steps[i]) != std::end(kBinary)) {
        made.push_back(Add(steps[i], {operand(2 * i), operand(2 * i + 1)}));
        continue;
      }
      const auto result = Unary(steps[i], operand(2 * i), parameters[2 * i], parameters[2 * i + 1]);
      if (!result) return std::nullopt;
      made.push_back(*result);
    }
    if (made.empty()) return std::nullopt;
    const DType to = TypeOf(call_.outputs[0]).dtype;
    if (to == DType::kFloat) return made.back();
    if (!IsByte(call_.outputs[0])) return Cast(made.back(), to);
    return Add("QuantizeLinear",
               {made.back(), Number(Read<float>("output_scale", 1)), Number(Read<float>("output_zero", 0), to)});
  }

  std::optional<ValueId> Turned(std::size_t input, bool turns) {
    if (!turns) return inputs_[input];
    const Type& type = TypeOf(call_.inputs[input]);
    if (!type.has_rank || type.rank() < 2) return std::nullopt;
    std::vector<std::int64_t> perm(type.rank());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 2], perm.back());
    return Add("Transpose", {inputs_[input]}, {{"perm", perm}});
  }

  std::optional<ValueId> QuantizedProduct() {
    const auto b = Turned(3, Read<std::int64_t>("transB", 0) != 0);
    if (!b) return std::nullopt;
    std::vector<ValueId> inputs = inputs_;
    inputs[3] = *b;
    return Add("QLinearMatMul", std::move(inputs));
  }

  std::optional<ValueId> Product() {
    if (Read<std::int64_t>("transBatchA", 0) != 0 || Read<std::int64_t>("transBatchB", 0) != 0) return std::nullopt;
    const auto a = Turned(0, Read<std::int64_t>("transA", 0) != 0);
    const auto b = Turned(1, Read<std::int64_t>("transB", 0) != 0);
    if (!a || !b) return std::nullopt;
    ValueId y = Add("MatMul", {*a, *b});
    if (const float alpha = Read<float>("alpha", 1); alpha != 1) y = Add("Mul", {y, Number(alpha)});
    for (const std::size_t i : {2, 3})
      if (Has(i)) y = Add("Add", {y, inputs_[i]});
    return Activated(y, {});
  }

  std::optional<ValueId> Gemm() {
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : call_.attributes)
      if (!attribute.name.starts_with("activation")) attributes.push_back(attribute);
    return Activated(Add("Gemm", Given(3), std::move(attributes)), {});
  }

  std::optional<ValueId> Conv() {
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : call_.attributes)
      if (!attribute.name.starts_with("activation")) attributes.push_back(attribute);
    ValueId y = Add("Conv", Given(3), std::move(attributes));
    if (Has(3)) y = Add("Add", {y, inputs_[3]});
    return Activated(y, Read<std::vector<float>>("activation_params", {}));
  }

  // ---- SinkAttention and CachedAttention

  struct HeadSizes {
    std::int64_t heads = 0, size = 0;
  };
  std::optional<HeadSizes> SizesOf(std::size_t input, std::string_view attribute) const {
    const Type& type = TypeOf(call_.inputs[input]);
    if (!type.has_rank || (type.rank() != 3 && type.rank() != 4) || !type.dims.back().known()) return std::nullopt;
    const std::int64_t last = type.dims.back().number();
    if (type.rank() == 4) {
      if (!type.dims[1].known() || type.dims[1].number() < 1) return std::nullopt;
      return HeadSizes{type.dims[1].number(), last};
    }
    const auto heads = Read<std::int64_t>(attribute, 0);
    if (heads < 1) return std::nullopt;
    return HeadSizes{heads, last / heads};
  }
  ValueId Ints(const std::vector<std::int64_t>& numbers) {
    Tensor list(DType::kInt64, Shape{static_cast<std::int64_t>(numbers.size())});
    std::copy(numbers.begin(), numbers.end(), list.data<std::int64_t>());
    return body_.AddConstant("c", std::move(list));
  }
  ValueId Reshaped(ValueId x, const std::vector<std::int64_t>& target) { return Add("Reshape", {x, Ints(target)}); }
  // [batch, heads, rows, size]
  ValueId HeadsOf(std::size_t input, const HeadSizes& sizes) {
    if (TypeOf(call_.inputs[input]).rank() == 4) return inputs_[input];
    return Transposed(Reshaped(inputs_[input], {0, 0, sizes.heads, sizes.size}), {0, 2, 1, 3});
  }
  ValueId Transposed(ValueId x, const std::vector<std::int64_t>& perm) {
    return Add("Transpose", {x}, {{"perm", perm}});
  }
  // The same behind the cache, if there is one, which becomes an output.
  ValueId BehindCache(std::size_t input, const HeadSizes& sizes, std::size_t past) {
    ValueId heads = HeadsOf(input, sizes);
    if (!Has(past)) return caches_.emplace_back(heads);
    std::vector<std::int64_t> axes = Read<std::vector<std::int64_t>>("cache_axes", {});
    if (axes.empty()) axes = {0, 1, 2, 3};
    std::vector<std::int64_t> back(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
      back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
    const bool moves = !std::is_sorted(axes.begin(), axes.end());
    const DType dtype = TypeOf(call_.inputs[input]).dtype, stored = TypeOf(call_.inputs[past]).dtype;
    if (stored != dtype) heads = Cast(heads, stored);
    if (moves) heads = Transposed(heads, axes);
    ValueId whole = Add("Concat", {inputs_[past], heads}, {{"axis", back[2]}});
    caches_.push_back(whole);
    if (moves) whole = Transposed(whole, back);
    return stored != dtype ? Cast(whole, dtype) : whole;
  }
  // [batch, heads of the queries, rows, size]
  ValueId Repeated(ValueId heads, const HeadSizes& sizes, std::int64_t times) {
    if (times == 1) return heads;
    const ValueId wide = Add("Expand", {Add("Unsqueeze", {heads, Ints({2})}), Ints({1, 1, times, 1, 1})});
    return Reshaped(wide, {0, sizes.heads * times, -1, sizes.size});
  }

  // In float, in which masks of the lowest number are written.
  std::optional<ValueId> Attention() {
    const auto q = SizesOf(0, "q_num_heads"), k = SizesOf(1, "kv_num_heads"), v = SizesOf(2, "kv_num_heads");
    if (!q || !k || !v || q->heads % k->heads != 0) return std::nullopt;
    const std::int64_t times = q->heads / k->heads;
    const DType dtype = dtype_;
    const auto wide = [&](ValueId x) { return dtype == DType::kFloat ? x : Cast(x, DType::kFloat); };
    const ValueId keys = wide(Repeated(BehindCache(1, *k, 4), *k, times));
    const ValueId values = wide(Repeated(BehindCache(2, *v, 5), *v, times));
    dtype_ = DType::kFloat;
    const float scale = Read<float>("scale", 0), cap = Read<float>("softcap", 0);
    const float factor = scale != 0 ? scale : static_cast<float>(1 / std::sqrt(static_cast<double>(q->size)));
    ValueId scores =
        Add("MatMul", {Add("Mul", {wide(HeadsOf(0, *q)), Number(factor)}), Transposed(keys, {0, 1, 3, 2})});
    if (cap > 0) scores = Add("Mul", {Add("Tanh", {Add("Div", {scores, Number(cap)})}), Number(cap)});
    if (Has(3)) {
      const DType mask = TypeOf(call_.inputs[3]).dtype;
      if (mask == DType::kBool)
        scores = Add("Where", {inputs_[3], scores, Number(-std::numeric_limits<float>::infinity())});
      else
        scores = Add("Add", {scores, mask == DType::kFloat ? inputs_[3] : Cast(inputs_[3], DType::kFloat)});
    }
    ValueId y = Add("MatMul", {Has(6) ? WithSinks(scores, wide(inputs_[6]), q->heads) : WithoutSinks(scores), values});
    if (dtype != DType::kFloat) y = Cast(y, dtype);
    if (TypeOf(call_.inputs[0]).rank() == 4) return y;
    return Reshaped(Transposed(y, {0, 2, 1, 3}), {0, 0, q->heads * v->size});
  }
  ValueId WithSinks(ValueId scores, ValueId each, std::int64_t heads) {
    const ValueId rows = Add("Slice", {Add("Shape", {scores}), Ints({0}), Ints({3})});
    const ValueId shape = Add("Concat", {rows, Ints({1})}, {{"axis", std::int64_t{0}}});
    const ValueId sinks = Add("Expand", {Reshaped(each, {1, heads, 1, 1}), shape});
    const ValueId all =
        Add("Softmax", {Add("Concat", {scores, sinks}, {{"axis", std::int64_t{3}}})}, {{"axis", std::int64_t{3}}});
    return Add("Slice", {all, Ints({0}), Ints({-1}), Ints({3})});
  }
  // Rows of which every key is hidden are zeros.
  ValueId WithoutSinks(ValueId scores) {
    const ValueId probabilities = Add("Softmax", {scores}, {{"axis", std::int64_t{3}}});
    const ValueId top = Add("ReduceMax", {scores, Ints({3})}, {{"keepdims", std::int64_t{1}}});
    const ValueId empty = Add("IsInf", {top}, {{"detect_positive", std::int64_t{0}}});
    return Add("Where", {empty, Number(0), probabilities});
  }

  // The first `count` inputs, as far as they are there.
  std::vector<ValueId> Given(std::size_t count) const {
    std::vector<ValueId> given;
    for (std::size_t i = 0; i < count && Has(i); ++i) given.push_back(inputs_[i]);
    return given;
  }

  const Graph& graph_;
  const Node& call_;
  Graph body_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> caches_;      // further outputs of attention
  DType dtype_ = DType::kUndefined;  // of the numbers that are computed
};

std::string TextOf(const AttributeValue& value) {
  std::ostringstream text;
  std::visit(
      [&]<typename T>(const T& held) {
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::string>)
          text << std::hexfloat << held;
        if constexpr (std::is_same_v<T, std::vector<float>> || std::is_same_v<T, std::vector<std::int64_t>> ||
                      std::is_same_v<T, std::vector<std::string>>)
          for (const auto& each : held) text << std::hexfloat << each << ' ';
      },
      value);
  return text.str();
}

// What makes two calls need functions of their own. (The operators have no other kinds of attributes.)
std::string FormOf(const Graph& graph, const Node& node) {
  std::string form = node.op_type;
  for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
    form += '|';
    for (const ValueId value : *list)
      form += value == kNoValue ? "-" : std::string(Name(graph.value(value).type.dtype)) + " ";
  }
  if (node.op_type == "FusedMatMul")
    for (const ValueId value : {node.inputs[0], node.inputs[1]}) form += std::to_string(graph.value(value).type.rank());
  if (node.op_type == "QLinearMatMul") form += std::to_string(graph.value(node.inputs[3]).type.rank());
  if (node.op_type == "SinkAttention" || node.op_type == "CachedAttention")
    for (const std::size_t i : {0, 1, 2}) form += graph.value(node.inputs[i]).type.ToText();
  for (const Attribute& attribute : node.attributes) form += "|" + attribute.name + "=" + TextOf(attribute.value);
  return form;
}

class Writer {
 public:
  explicit Writer(Model& model) : model_(model) {}

  void Run(Graph& graph) {
    for (const NodeId id : graph.order) {
      Node& node = graph.node(id);
      for (Graph* body : node.Subgraphs()) Run(*body);
      node.overload.clear();
      if (node.domain != ops::kOwnDomain) continue;
      const auto [known, fresh] = overloads_.try_emplace(FormOf(graph, node));
      if (fresh) known->second = Add(graph, node);
      node.overload = known->second;
    }
  }

 private:
  // The function's overload; "" if there is no function.
  std::string Add(const Graph& graph, const Node& node) {
    std::optional<Graph> body = Body(graph, node).Write();
    if (!body) return "";
    Function function;
    function.domain = node.domain;
    function.name = node.op_type;
    function.overload = std::to_string(++count_);
    for (const Attribute& attribute : node.attributes) function.attributes.push_back(attribute.name);
    function.body = std::move(*body);
    for (const NodeId id : function.body.order)
      function.body.node(id).name.clear();  // the call's name says which it is
    for (const OpsetImport& import : model_.opset_imports)
      if (import.domain.empty() || import.domain == "ai.onnx") function.body.opset_imports.push_back(import);
    model_.functions.push_back(std::move(function));
    return model_.functions.back().overload;
  }

  Model& model_;
  std::map<std::string, std::string> overloads_;  // by form
  int count_ = 0;
};

}  // namespace

void AddOwnFunctions(Model& model) {
  Writer(model).Run(model.graph);
  if (!model.functions.empty()) model.ir_version = std::max(model.ir_version, kOverloads);
}

}  // namespace sardonyx::runtime
