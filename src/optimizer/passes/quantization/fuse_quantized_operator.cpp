// optimizer/passes/quantization/fuse_quantized_operator.cpp - operators between DequantizeLinear and QuantizeLinear
// become ONNX Runtime's 8-bit ones: QLinearAdd, QLinearMul, QLinearSoftmax, QLinearAveragePool,
// QLinearGlobalAveragePool, QLinearReduceMean, QLinearConcat, QLinearWhere.
//
// Their operands and results are of one type. An operand of the other sign is converted by a table (Lookup8): the same
// numbers, with a zero point that is 128 steps away.
//
// To add one: its row in kOperators and a function that makes its node.
#include <algorithm>

#include "ops/schema/schema.h"
#include "optimizer/passes/passes.h"
#include "optimizer/quantization/float_nodes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

// A node whose result is quantized, and what is found of its inputs.
struct Candidate {
  Graph& graph;
  const ops::Registry& registry;
  NodeId id;
  QuantizedValue y;

  const Node& node() const { return graph.node(id); }
  // Input i as 8-bit integers; nullopt if it is something else.
  std::optional<QuantizedValue> Input(std::size_t i) const {
    if (i >= node().inputs.size()) return std::nullopt;
    const auto q = DequantizedFrom(graph, node().inputs[i]);
    if (!q || !q->IsPerTensor8() || graph.node(q->node).provider != node().provider) return std::nullopt;
    if (q->dtype != y.dtype && !HasOperator(registry, "ai.sardonyx", "Lookup8")) return std::nullopt;
    return q;
  }
  // Integers of the result's type, with scale and zero point. May add a node, so it comes behind all conditions.
  std::vector<ValueId> Three(const QuantizedValue& q) const {
    if (q.dtype == y.dtype) return {q.data, Scalar(q.scale), Scalar(ZeroOrConstant(graph, q))};
    Tensor table(y.dtype, Shape{256}), zero(y.dtype, Shape{});
    const auto other_sign = [](std::int64_t byte) { return static_cast<std::uint8_t>(byte ^ 128); };
    for (std::int64_t i = 0; i < 256; ++i) static_cast<std::uint8_t*>(table.raw())[i] = other_sign(i);
    *static_cast<std::uint8_t*>(zero.raw()) = other_sign(q.zero_value & 255);
    Rewrite rewrite(graph, registry, id);
    const ValueId data =
        rewrite.Add("ai.sardonyx", "Lookup8", {q.data, graph.AddConstant("other_sign", std::move(table))});
    return {data, Scalar(q.scale), graph.AddConstant("zero_point", std::move(zero))};
  }
  // ONNX Runtime takes no parameters of shape [1], as torch writes them.
  ValueId Scalar(ValueId parameter) const {
    const Tensor constant = *graph.value(parameter).constant();
    return constant.shape().rank() == 0 ? parameter
                                        : graph.AddConstant(graph.value(parameter).name, constant.Reshaped(Shape{}));
  }
  std::vector<ValueId> ScaleAndZero() const { return {Scalar(y.scale), Scalar(ZeroOrConstant(graph, y))}; }
};

void Append(std::vector<ValueId>& to, const std::vector<ValueId>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

struct Replacement {
  std::vector<ValueId> inputs;
  std::vector<Attribute> attributes;
};

std::optional<Replacement> Binary(const Candidate& c) {
  const auto a = c.Input(0), b = c.Input(1);
  if (!a || !b) return std::nullopt;
  Replacement r{c.Three(*a), {}};
  Append(r.inputs, c.Three(*b));
  Append(r.inputs, c.ScaleAndZero());
  return r;
}

// Input 0 alone, with its own attributes.
std::optional<Replacement> Unary(const Candidate& c) {
  const auto x = c.Input(0);
  if (!x) return std::nullopt;
  Replacement r{c.Three(*x), {}};
  Append(r.inputs, c.ScaleAndZero());
  return r;
}

std::optional<Replacement> Softmax(const Candidate& c) {
  const bool flatten = c.node().since_version < 13;
  const std::int64_t axis = IntAttribute(c.node(), "axis", flatten ? 1 : -1);
  const Type& x = c.graph.value(c.node().inputs[0]).type;
  if (flatten && (!x.has_rank || axis >= static_cast<std::int64_t>(x.rank()))) return std::nullopt;
  auto r = Unary(c);
  if (r) r->attributes = {{"axis", axis}, {"opset", std::int64_t{flatten ? 12 : 13}}};
  return r;
}

std::optional<Replacement> GlobalAveragePool(const Candidate& c) {
  const Type& x = c.graph.value(c.node().inputs[0]).type;
  if (!x.has_rank || x.rank() < 3) return std::nullopt;
  auto r = Unary(c);
  if (r) r->attributes = {{"channels_last", std::int64_t{0}}};
  return r;
}

std::optional<Replacement> AveragePool(const Candidate& c) {
  const std::vector<Attribute>& attributes = c.node().attributes;
  const bool known = std::all_of(attributes.begin(), attributes.end(), [](const Attribute& attribute) {
    return attribute.name != "dilations";  // which the 8-bit operator does not have
  });
  if (!known) return std::nullopt;
  auto r = Unary(c);
  if (r) r->attributes = attributes;
  return r;
}

std::optional<Replacement> ReduceMean(const Candidate& c) {
  const auto axes = c.node().inputs.size() > 1 ? IntsOf(c.graph, c.node().inputs[1]) : std::nullopt;
  if (!axes || axes->empty()) return std::nullopt;
  auto r = Unary(c);
  if (r) r->attributes = {{"axes", *axes}, {"keepdims", IntAttribute(c.node(), "keepdims", 1)}};
  return r;
}

std::optional<Replacement> Concat(const Candidate& c) {
  std::vector<QuantizedValue> all;
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
    const auto x = c.Input(i);
    if (!x) return std::nullopt;
    all.push_back(*x);
  }
  Replacement r{c.ScaleAndZero(), {{"axis", IntAttribute(c.node(), "axis", 0)}}};
  for (const QuantizedValue& x : all) Append(r.inputs, c.Three(x));
  return r;
}

std::optional<Replacement> Where(const Candidate& c) {
  const auto x = c.Input(1), y = c.Input(2);
  if (!x || !y) return std::nullopt;
  Replacement r{{c.node().inputs[0]}, {}};
  Append(r.inputs, c.Three(*x));
  Append(r.inputs, c.Three(*y));
  Append(r.inputs, c.ScaleAndZero());
  return r;
}

struct Operator {
  std::string_view op_type, integer;
  std::optional<Replacement> (*find)(const Candidate&);
};

constexpr Operator kOperators[] = {
    {"Add", "QLinearAdd", Binary},          {"AveragePool", "QLinearAveragePool", AveragePool},
    {"Concat", "QLinearConcat", Concat},    {"GlobalAveragePool", "QLinearGlobalAveragePool", GlobalAveragePool},
    {"Mul", "QLinearMul", Binary},          {"ReduceMean", "QLinearReduceMean", ReduceMean},
    {"Softmax", "QLinearSoftmax", Softmax}, {"Where", "QLinearWhere", Where},
};

const Operator* OperatorOf(const Node& node) {
  const auto* op = std::find_if(std::begin(kOperators), std::end(kOperators),
                                [&](const Operator& each) { return each.op_type == node.op_type; });
  return node.domain.empty() && op != std::end(kOperators) ? op : nullptr;
}
bool HasIntegerForm(const Node& node) { return OperatorOf(node) != nullptr; }

// The first input that is not of 8 bits.
std::string WhyNot(const Graph& graph, const Node& node) {
  for (const ValueId input : node.inputs) {
    if (input == kNoValue || graph.value(input).type.dtype != DType::kFloat) continue;
    const auto q = DequantizedFrom(graph, input);
    if (!q || !q->IsPerTensor8()) return "'" + graph.value(input).name + "' " + WhyNot8Bit(graph, input);
  }
  return "an attribute or the axes do not fit";
}

bool Fuse(Graph& graph, const PassContext& context, NodeId id) {
  const Node& node = graph.node(id);
  const Operator* op = OperatorOf(node);
  if (node.erased || op == nullptr || node.outputs.size() != 1) return false;
  if (!HasOperator(context.registry, "com.microsoft", op->integer) || !IsBetweenQuantization(graph, node)) return false;
  const auto y = SoleQuantization(graph, node.outputs[0]);
  if (!y) return context.No(graph, id, "its result is not read by one QuantizeLinear with constant parameters alone");
  if (!y->IsPerTensor8() || graph.node(y->node).provider != node.provider)
    return context.No(graph, id,
                      "the QuantizeLinear behind it has several scales or 16 bits, or runs on another provider");
  auto replacement = op->find({graph, context.registry, id, *y});
  if (!replacement)
    return context.No(graph, id, op->integer,
                      " takes 8-bit operands with one constant scale each, and constant axes: ", WhyNot(graph, node));
  Rewrite rewrite(graph, context.registry, id);
  rewrite.Replace(y->data, rewrite.Add("com.microsoft", op->integer, std::move(replacement->inputs),
                                       std::move(replacement->attributes)));
  return true;
}

bool FuseQuantizedOperator(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) {
    bool changed = false;
    for (const NodeId id : OwnNodes(each)) changed |= Fuse(each, context, id);
    ReportFloatNodes(each, context, HasIntegerForm);
    return changed;
  });
}

}  // namespace

constinit const Pass kFuseQuantizedOperator = {
    .name = "fuse_quantized_operator", .level = Level::kExtended, .run = FuseQuantizedOperator};

}  // namespace sardonyx::optimizer
