// optimizer/passes/quantization/fuse_quantized_product.cpp - Conv, MatMul and Gemm between DequantizeLinear and
// QuantizeLinear become QLinearConv, QLinearMatMul and com.microsoft.QGemm. Where the result stays float, a MatMul or
// Gemm becomes MatMulIntegerToFloat, and a Conv becomes ConvInteger with the scales and the bias behind it.
//
// The bias of a convolution or Gemm becomes int32 with scale x_scale * w_scale, as ONNX Runtime's operators take it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "optimizer/passes/passes.h"
#include "optimizer/quantization/float_nodes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

// The largest relative difference of two scales that is rounding: they come from products of floats.
constexpr double kSameScale = 1e-6;

class ProductFuser {
 public:
  ProductFuser(Graph& graph, const PassContext& context)
      : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    bool changed = false;
    for (const NodeId id : OwnNodes(graph_)) {
      if (graph_.node(id).erased || !graph_.node(id).domain.empty() || !ReadsDequantized(id)) continue;
      const std::string op = graph_.node(id).op_type;
      if (FuseWithComputedScale(id)) {
        changed = true;
        continue;
      }
      if (op == "Conv") changed |= FuseConv(id);
      if (op == "MatMul") changed |= FuseMatMul(id);
      if (op == "Gemm") changed |= FuseGemm(id);
    }
    return changed;
  }

 private:
  ValueId Input(NodeId id, std::size_t i) const {
    const Node& node = graph_.node(id);
    return i < node.inputs.size() ? node.inputs[i] : kNoValue;
  }
  template <typename... Parts>
  bool No(NodeId id, const Parts&... parts) const {
    return context_.No(graph_, id, parts...);
  }
  bool ReadsDequantized(NodeId id) const {
    const std::vector<ValueId>& inputs = graph_.node(id).inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      const NodeId producer = input == kNoValue ? kNoNode : graph_.value(input).producer;
      return producer != kNoNode && IsDequantize(graph_.node(producer));
    });
  }
  bool IsHere(NodeId a, NodeId b) const { return graph_.node(a).provider == graph_.node(b).provider; }

  // The two operands of the product; nullopt if one is not 8-bit or has its scales along another axis.
  struct Operands {
    QuantizedValue x, w;
  };
  std::optional<Operands> FindOperands(NodeId id) const {
    const auto x = DequantizedFrom(graph_, Input(id, 0)), w = DequantizedFrom(graph_, Input(id, 1));
    if (x && w && x->IsPerTensor8() && w->Is8Bit() && IsHere(id, x->node) && IsHere(id, w->node))
      return Operands{*x, *w};
    const bool first = !x || !x->IsPerTensor8() || !IsHere(id, x->node);
    No(id, "operand ", first ? 0 : 1, " '", graph_.value(Input(id, first ? 0 : 1)).name, "' ",
       WhyNot8Bit(graph_, Input(id, first ? 0 : 1)));
    return std::nullopt;
  }

  std::optional<QuantizedValue> ResultOf(NodeId id) const {
    const auto y = SoleQuantization(graph_, graph_.node(id).outputs[0]);
    if (!y || !y->IsPerTensor8() || !IsHere(id, y->node)) return std::nullopt;
    return y;
  }

  // ---- Bias

  // True if `bias` is made of int32 with these scales already.
  bool HasScales(const QuantizedValue& bias, const std::vector<double>& scales) const {
    if (bias.dtype != DType::kInt32 || !HasOnlyZeroZeros(graph_, bias)) return false;
    const std::vector<double> found = ScalesOf(graph_, bias);
    if (found.size() != scales.size() && found.size() != 1 && scales.size() != 1) return false;
    for (std::size_t i = 0; i < std::max(found.size(), scales.size()); ++i) {
      const double mine = found[found.size() == 1 ? 0 : i], wanted = scales[scales.size() == 1 ? 0 : i];
      if (std::abs(mine - wanted) > kSameScale * wanted) return false;
    }
    return true;
  }

  // Leaves room for the sum of 32,000 products of 8 bits; a float that is larger gives the ends of the result's range.
  static constexpr double kLargestBias = 1 << 30;

  // The most that rounding the bias may move the result, in steps of the result: weights that have few values lie on a
  // coarse grid, and so would the bias.
  static constexpr double kMostMoved = 1.0 / 16;

  // The bias as int32 of `scales` (one, or one for each element of its last axis); kNoValue if that cannot be, or if it
  // would move a result of scale `step` (0: whatever it is) too far.
  ValueId IntegerBias(NodeId id, ValueId bias, const std::vector<double>& scales, double step) {
    const Type& type = graph_.value(bias).type;
    if (!type.has_rank) return kNoValue;
    const auto quantized = DequantizedFrom(graph_, bias);
    const bool along_last = !quantized || !quantized->axis || *quantized->axis + 1 == type.rank();
    if (quantized && along_last && HasScales(*quantized, scales)) return quantized->data;
    const auto elements = ConstantElements(graph_, bias);
    const double most = step > 0 ? kMostMoved * step : std::numeric_limits<double>::infinity();
    if (!elements && type.rank() == 1)
      return *std::max_element(scales.begin(), scales.end()) / 2 > most ? kNoValue : ComputedBias(id, bias, scales);
    if (!elements ||
        (scales.size() != 1 && (type.rank() == 0 || type.dims.back() != Dim(static_cast<std::int64_t>(scales.size())))))
      return kNoValue;
    Tensor tensor(DType::kInt32, type.StaticShape());
    for (std::size_t i = 0; i < elements->size(); ++i) {
      const double scale = scales[i % scales.size()], whole = std::nearbyint((*elements)[i] / scale);
      if (!(std::abs(whole) <= kLargestBias) || std::abs(whole * scale - (*elements)[i]) > most) return kNoValue;
      tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(whole);
    }
    return graph_.AddConstant("bias_quantized", std::move(tensor));
  }

  // Of a bias that is known only at run time: a graph input with a default, as some exporters write all parameters.
  ValueId ComputedBias(NodeId id, ValueId bias, const std::vector<double>& scales) {
    Rewrite rewrite(graph_, registry_, id);
    const ValueId steps = rewrite.Add("Div", {bias, Floats("bias_scale", scales)});
    const ValueId limited = rewrite.Add(
        "Clip", {steps, rewrite.Scalar(DType::kFloat, -kLargestBias), rewrite.Scalar(DType::kFloat, kLargestBias)});
    const ValueId whole =
        rewrite.Add("Cast", {rewrite.Add("Round", {limited})}, {{"to", static_cast<std::int64_t>(DType::kInt32)}});
    return rewrite.Add("Max", {whole, rewrite.Scalar(DType::kInt32, -kLargestBias)});  // what NaN became is less
  }

  // A constant of one float or of a row, in `shape` if that is given.
  ValueId Floats(const std::string& name, const std::vector<double>& values, Shape shape = {}) {
    const auto count = static_cast<std::int64_t>(values.size());
    if (shape.rank() == 0 && count != 1) shape = Shape{count};
    Tensor tensor(DType::kFloat, shape);
    std::transform(values.begin(), values.end(), tensor.data<float>(), [](double v) { return static_cast<float>(v); });
    return graph_.AddConstant(name, std::move(tensor));
  }

  // True if integers of `scales` give the bias itself: a result that stays float would show their rounding.
  bool IsMadeOf(ValueId bias, const std::vector<double>& scales) const {
    const auto quantized = DequantizedFrom(graph_, bias);
    if (quantized && HasScales(*quantized, scales)) return true;
    const auto elements = ConstantElements(graph_, bias);
    if (!elements) return false;
    for (std::size_t i = 0; i < elements->size(); ++i) {
      const double scale = scales[i % scales.size()], element = (*elements)[i];
      if (std::abs(std::nearbyint(element / scale) * scale - element) > kSameScale * std::abs(element)) return false;
    }
    return true;
  }

  static std::vector<double> Times(std::vector<double> scales, double factor) {
    for (double& scale : scales) scale *= factor;
    return scales;
  }

  // ---- The products

  // A product of which an operand is quantized while the model runs: its result stays float.
  bool FuseWithComputedScale(NodeId id) {
    const auto computed = [&](std::size_t i) { return DequantizedWhileRunning(graph_, Input(id, i)); };
    const auto operand = [&](std::size_t i) {
      const auto q = computed(i);
      return q ? q : DequantizedFrom(graph_, Input(id, i));
    };
    if (!computed(0) && !computed(1)) return false;
    const auto a = operand(0), b = operand(1);
    if (!a || !b || !a->IsPerTensor8() || !b->Is8Bit() || !IsHere(id, a->node) || !IsHere(id, b->node)) return false;
    const Node& node = graph_.node(id);
    if (node.op_type == "Conv") return !computed(1) && (!b->axis || *b->axis == 0) && FuseConvToFloat(id, *a, *b);
    if (node.op_type == "MatMul") return HasColumnScales(id, *b, 1) && FuseToFloat(id, *a, *b);
    return node.op_type == "Gemm" && HasColumnScales(id, *b, IntAttribute(node, "transB", 0) != 0 ? 0 : 1) &&
           (Input(id, 2) == kNoValue || FloatAttribute(node, "beta") == 1) && FuseGemmToFloat(id, *a, *b);
  }

  bool FuseConv(NodeId id) {
    const auto found = FindOperands(id);
    if (!found) return false;
    const auto& [x, w] = *found;
    if (w.axis && *w.axis != 0) return No(id, "the scales of its weights are along axis ", *w.axis, ", expected 0");
    const auto y = HasOperator(registry_, "", "QLinearConv") ? ResultOf(id) : std::nullopt;
    ValueId bias = Input(id, 2);
    if (y && bias != kNoValue) bias = IntegerBias(id, bias, Times(ScalesOf(graph_, w), x.scale_value), y->scale_value);
    if (!y || (bias == kNoValue && Input(id, 2) != kNoValue)) return FuseConvToFloat(id, x, w);
    Replace(id, *y, "", "QLinearConv",
            {x.data, x.scale, ZeroOrConstant(graph_, x), w.data, w.scale, ZeroOrConstant(graph_, w), y->scale,
             ZeroOrConstant(graph_, *y), bias});
    return true;
  }

  // A convolution whose result stays float: sums of integers, their scales and the bias.
  bool FuseConvToFloat(NodeId id, const QuantizedValue& x, const QuantizedValue& w) {
    const Type weights = graph_.value(w.data).type;
    if (!HasOperator(registry_, "", "ConvInteger") || !weights.HasStaticShape() || weights.rank() < 3)
      return No(id, "its result is not read by one QuantizeLinear to 8 bits alone");
    if (weights.dims[1] == Dim(1) && weights.dims[0] != Dim(1))
      return No(id,
                "its result stays float, as it is not read by one QuantizeLinear to 8 bits alone; a convolution whose "
                "filters read one channel each is faster in float then");
    const std::vector<Attribute> attributes = graph_.node(id).attributes;
    const ValueId old = graph_.node(id).outputs[0], bias = Input(id, 2);
    const std::vector<double> scales = Times(ScalesOf(graph_, w), x.scale_value);
    const ValueId zero = HasOnlyZeroZeros(graph_, w) ? kNoValue : w.zero;  // ONNX Runtime takes none per channel
    Rewrite rewrite(graph_, registry_, id);
    const ValueId sums = rewrite.Add("ConvInteger", {x.data, w.data, x.zero, zero}, attributes);
    const ValueId floats = rewrite.Add("Cast", {sums}, {{"to", static_cast<std::int64_t>(DType::kFloat)}});
    std::vector<std::int64_t> row(weights.rank(), 1);
    row[1] = weights.dims[0].number();
    const Shape shape = scales.size() == 1 ? Shape{} : Shape(row);
    const bool is_known = graph_.value(x.scale).constant() != nullptr;
    const ValueId factor = is_known ? Floats("sum_scale", scales, shape)
                                    : rewrite.Add("Mul", {x.scale, Floats("weight_scale", ScalesOf(graph_, w), shape)});
    ValueId made = rewrite.Add("Mul", {floats, factor});
    if (bias != kNoValue) {
      const auto elements = ConstantElements(graph_, bias);
      made = rewrite.Add("Add", {made, elements ? Floats("bias", *elements, Shape(row))
                                                : rewrite.Add("Reshape", {bias, rewrite.Ints(row)})});
    }
    rewrite.Replace(old, made);
    return true;
  }

  // Scales of B: one, or one for each column of a matrix.
  bool HasColumnScales(NodeId id, const QuantizedValue& b, std::size_t column_axis) const {
    const Type& type = graph_.value(Input(id, 1)).type;
    return !b.axis || (type.has_rank && type.rank() == 2 && *b.axis == column_axis);
  }

  bool FuseMatMul(NodeId id) {
    const auto found = FindOperands(id);
    if (!found) return false;
    if (!HasColumnScales(id, found->w, 1)) return No(id, "the scales of its weights are not along their columns");
    const auto& [a, b] = *found;
    const auto y = ResultOf(id);
    if (!y) return FuseToFloat(id, a, b);
    if (!HasOperator(registry_, "", "QLinearMatMul")) return false;
    Replace(id, *y, "", "QLinearMatMul",
            {a.data, a.scale, ZeroOrConstant(graph_, a), b.data, b.scale, ZeroOrConstant(graph_, b), y->scale,
             ZeroOrConstant(graph_, *y)});
    return true;
  }

  // A product that stays float, with the bias [N] that is added to it.
  bool FuseToFloat(NodeId id, const QuantizedValue& a, const QuantizedValue& b) {
    if (!HasOperator(registry_, "com.microsoft", "MatMulIntegerToFloat")) return false;
    ValueId result = graph_.node(id).outputs[0], bias = kNoValue;
    if (const NodeId sum = SoleReader(graph_, result); sum != kNoNode && IsHere(id, sum)) {
      bias = BiasOf(graph_.node(sum), result, graph_.value(Input(id, 1)).type);
      if (bias != kNoValue) result = graph_.node(sum).outputs[0];
    }
    Rewrite rewrite(graph_, registry_, id);
    std::vector<ValueId> inputs = {a.data, b.data, a.scale, b.scale, a.zero, b.zero, bias};
    const ValueId made = rewrite.Add("com.microsoft", "MatMulIntegerToFloat", std::move(inputs));
    rewrite.Replace(result, made);
    return true;
  }

  // The constant [N] that `sum` adds to a product with B of type `b`; kNoValue if it adds something else.
  ValueId BiasOf(const Node& sum, ValueId product, const Type& b) const {
    if (!sum.domain.empty() || sum.op_type != "Add" || sum.inputs[0] == sum.inputs[1]) return kNoValue;
    const ValueId other = sum.inputs[sum.inputs[0] == product ? 1 : 0];
    const Type& type = graph_.value(other).type;
    if (graph_.value(other).constant() == nullptr || type.dtype != DType::kFloat || type.rank() != 1) return kNoValue;
    return b.has_rank && b.rank() >= 2 && type.dims[0] == b.dims.back() ? other : kNoValue;
  }

  bool FuseGemm(NodeId id) {
    if (!HasOperator(registry_, "com.microsoft", "QGemm")) return false;
    const Node& gemm = graph_.node(id);
    const auto found = FindOperands(id);
    const bool transposed = IntAttribute(gemm, "transB", 0) != 0;
    if (!found) return false;
    if (!HasColumnScales(id, found->w, transposed ? 0 : 1))
      return No(id, "the scales of its weights are not along their columns");
    const auto& [a, b] = *found;
    const double alpha = FloatAttribute(gemm, "alpha"), beta = FloatAttribute(gemm, "beta");
    ValueId bias = Input(id, 2);
    if (alpha == 0 || (bias != kNoValue && beta != 1)) return No(id, "its alpha is 0, or its beta is not 1");
    const auto y = ResultOf(id);
    const std::vector<double> scales = Times(ScalesOf(graph_, b), a.scale_value * alpha);
    if (!y && bias != kNoValue && !IsMadeOf(bias, scales)) return FuseGemmToFloat(id, a, b);
    if (bias != kNoValue) {
      bias = IntegerBias(id, bias, scales, y ? y->scale_value : 0);
      if (bias == kNoValue) return FuseGemmToFloat(id, a, b);
    }
    std::vector<ValueId> inputs = {
        a.data, a.scale, ZeroOrConstant(graph_, a), b.data, b.scale, ZeroOrConstant(graph_, b), bias};
    if (y) inputs.insert(inputs.end(), {y->scale, ZeroOrConstant(graph_, *y)});
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : gemm.attributes)
      if (attribute.name != "beta") attributes.push_back(attribute);
    Rewrite rewrite(graph_, registry_, id);
    const ValueId made = rewrite.Add("com.microsoft", "QGemm", std::move(inputs), std::move(attributes));
    rewrite.Replace(y ? y->data : gemm.outputs[0], made);
    return true;
  }

  // A Gemm whose result stays float, and would show it if its bias became int32.
  bool FuseGemmToFloat(NodeId id, const QuantizedValue& a, QuantizedValue b) {
    const Node& gemm = graph_.node(id);
    const ValueId bias = Input(id, 2), old = gemm.outputs[0];
    const Type type = bias == kNoValue ? Type{} : graph_.value(bias).type;
    const bool transposes = IntAttribute(gemm, "transB", 0) != 0;
    if (!HasOperator(registry_, "com.microsoft", "MatMulIntegerToFloat") || IntAttribute(gemm, "transA", 0) != 0 ||
        FloatAttribute(gemm, "alpha") != 1 || (bias != kNoValue && !type.has_rank))
      return No(id, "its result stays float and would show the rounding of its bias");
    Rewrite rewrite(graph_, registry_, id);
    if (transposes) b.data = rewrite.Add("Transpose", {b.data}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    const auto elements = bias == kNoValue ? std::nullopt : ConstantElements(graph_, bias);
    const bool in_product =
        bias != kNoValue && type.rank() == 1 && type.dims[0] == graph_.value(b.data).type.dims.back();
    const ValueId constant = elements ? Floats("bias", *elements, type.StaticShape()) : kNoValue;
    ValueId made = rewrite.Add("com.microsoft", "MatMulIntegerToFloat",
                               {a.data, b.data, a.scale, b.scale, a.zero, b.zero, in_product ? constant : kNoValue});
    if (bias != kNoValue && (!in_product || !elements)) made = rewrite.Add("Add", {made, elements ? constant : bias});
    rewrite.Replace(old, made);
    return true;
  }

  static double FloatAttribute(const Node& node, std::string_view name) {
    const AttributeValue* value = node.FindAttribute(name);
    const auto* number = value != nullptr ? std::get_if<float>(value) : nullptr;
    return number != nullptr ? static_cast<double>(*number) : 1.0;
  }

  // One node with the attributes of `id` makes what the QuantizeLinear behind it made.
  void Replace(NodeId id, const QuantizedValue& y, std::string_view domain, std::string_view op_type,
               std::vector<ValueId> inputs) {
    Rewrite rewrite(graph_, registry_, id);
    const ValueId made = rewrite.Add(domain, op_type, std::move(inputs), graph_.node(id).attributes);
    rewrite.Replace(y.data, made);
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
};

bool FuseQuantizedProduct(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return ProductFuser(each, context).Run(); });
}

}  // namespace

constinit const Pass kFuseQuantizedProduct = {
    .name = "fuse_quantized_product", .level = Level::kExtended, .run = FuseQuantizedProduct};

}  // namespace sardonyx::optimizer
