// optimizer/passes/quantization/fuse_dynamic_quantization.cpp - products of dynamically quantized tensors, as
// onnxruntime's quantizer spells them out, become com.microsoft.MatMulIntegerToFloat or DynamicQuantizeMatMul.
//
//   Mul(Cast(MatMulInteger(a, b, a_zero, b_zero)), Mul(a_scale, b_scale)) [+ bias]
//
// DynamicQuantizeMatMul quantizes its input itself, where nobody else reads what DynamicQuantizeLinear makes.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

class DynamicFuser {
 public:
  DynamicFuser(Graph& graph, const PassContext& context)
      : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    if (!HasOperator(registry_, "com.microsoft", "MatMulIntegerToFloat")) return false;
    bool changed = false;
    for (const NodeId id : OwnNodes(graph_)) changed |= Fuse(id);
    return changed;
  }

 private:
  const Node* SoleReaderNamed(ValueId value, std::string_view op_type, const Node& like) const {
    const NodeId id = SoleReader(graph_, value);
    if (id == kNoNode) return nullptr;
    const Node& node = graph_.node(id);
    return node.domain.empty() && node.op_type == op_type && node.provider == like.provider ? &node : nullptr;
  }
  ValueId Input(const Node& node, std::size_t i) const { return i < node.inputs.size() ? node.inputs[i] : kNoValue; }
  static ValueId Other(const Node& node, ValueId value) { return node.inputs[node.inputs[0] == value ? 1 : 0]; }

  bool IsOneFloat(ValueId value) const {
    const Type& type = graph_.value(value).type;
    return type.dtype == DType::kFloat && type.has_rank &&
           std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& d) { return d == Dim(1); });
  }
  // One float, or a vector [N] of them, for the columns of `b`.
  bool IsColumnVector(ValueId value, ValueId b, bool may_be_one) const {
    const Type &type = graph_.value(value).type, &matrix = graph_.value(b).type;
    if (type.dtype != DType::kFloat || !type.has_rank) return false;
    if (may_be_one && IsOneFloat(value) && type.rank() <= 1) return true;
    return type.rank() == 1 && matrix.has_rank && matrix.rank() == 2 && SameDim(type.dims[0], matrix.dims[1]);
  }

  struct Scales {
    ValueId a = kNoValue, b = kNoValue;
  };
  // The scales whose product `value` is: one of A, one or a row of B.
  std::optional<Scales> ScalesOf(ValueId value, ValueId b) const {
    const Node* product = ProducerOf(graph_, value, "Mul");
    if (product == nullptr) return std::nullopt;
    for (const std::size_t i : {0u, 1u}) {
      const ValueId of_a = product->inputs[i], of_b = product->inputs[1 - i];
      const bool constant_b = graph_.value(of_b).constant() != nullptr || graph_.value(of_a).constant() == nullptr;
      if (constant_b && IsOneFloat(of_a) && graph_.value(of_a).type.rank() <= 1 && IsColumnVector(of_b, b, true))
        return Scales{of_a, of_b};
    }
    return std::nullopt;
  }

  // DynamicQuantizeLinear whose three results only this product reads.
  const Node* OwnQuantization(const Node& product, const Scales& scales) const {
    const Node* quantize = ProducerOf(graph_, product.inputs[0], "DynamicQuantizeLinear");
    if (quantize == nullptr || quantize->outputs.size() != 3 || quantize->provider != product.provider) return nullptr;
    if (scales.a != quantize->outputs[1] || Input(product, 2) != quantize->outputs[2]) return nullptr;
    const bool alone = std::all_of(quantize->outputs.begin(), quantize->outputs.end(),
                                   [&](ValueId v) { return graph_.UseCount(v) == 1; });
    return alone ? quantize : nullptr;
  }

  bool Fuse(NodeId id) {
    const Node& product = graph_.node(id);
    if (product.erased || !product.domain.empty() || product.op_type != "MatMulInteger") return false;
    const Node* cast = SoleReaderNamed(product.outputs[0], "Cast", product);
    if (cast == nullptr || IntAttribute(*cast, "to", 0) != static_cast<std::int64_t>(DType::kFloat))
      return context_.No(graph_, id, "expected one Cast to float behind it");
    const Node* scaled = SoleReaderNamed(cast->outputs[0], "Mul", product);
    if (scaled == nullptr || scaled->inputs[0] == scaled->inputs[1])
      return context_.No(graph_, id, "expected one Mul by the scales behind its Cast");
    const ValueId a = product.inputs[0], b = product.inputs[1];
    const auto scales = ScalesOf(Other(*scaled, cast->outputs[0]), b);
    if (!scales)
      return context_.No(graph_, id, "what it is multiplied by is no product of one scale and a row of scales");
    if (!HasOneZero(Input(product, 2))) return context_.No(graph_, id, "its first operand has several zero points");
    ValueId result = scaled->outputs[0], bias = kNoValue;
    if (const Node* sum = SoleReaderNamed(result, "Add", product); sum != nullptr && sum->inputs[0] != sum->inputs[1]) {
      const ValueId other = Other(*sum, result);
      if (IsColumnVector(other, b, false) && graph_.value(other).constant() != nullptr) {
        bias = other;
        result = sum->outputs[0];
      }
    }
    Rewrite rewrite(graph_, registry_, id);
    const Node* quantize = OwnQuantization(product, *scales);
    ValueId made = kNoValue;
    if (quantize != nullptr && HasOperator(registry_, "com.microsoft", "DynamicQuantizeMatMul")) {
      made = rewrite.Add("com.microsoft", "DynamicQuantizeMatMul",
                         {quantize->inputs[0], b, scales->b, Input(product, 3), bias});
    } else {
      made = rewrite.Add("com.microsoft", "MatMulIntegerToFloat",
                         {a, b, scales->a, scales->b, Input(product, 2), Input(product, 3), bias});
    }
    rewrite.Replace(result, made);
    return true;
  }

  // The zero point of A is one number (not one for each row).
  bool HasOneZero(ValueId zero) const {
    if (zero == kNoValue) return true;
    const Type& type = graph_.value(zero).type;
    return type.has_rank && std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& d) { return d == Dim(1); });
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
};

bool FuseDynamicQuantization(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return DynamicFuser(each, context).Run(); });
}

}  // namespace

constinit const Pass kFuseDynamicQuantization = {
    .name = "fuse_dynamic_quantization", .level = Level::kExtended, .run = FuseDynamicQuantization};

}  // namespace sardonyx::optimizer
