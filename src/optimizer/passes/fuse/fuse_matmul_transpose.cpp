// optimizer/passes/fuse/fuse_matmul_transpose.cpp - a Transpose of the last two axes and a constant factor before a
// MatMul, and a constant factor behind it, become attributes of com.microsoft FusedMatMul.
#include <cmath>

#include "ops/schema/schema.h"
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool IsMatMul(const Graph& graph, const Node& node) {
  const bool plain = node.domain.empty() && node.op_type == "MatMul";
  const bool fused = node.domain == "com.microsoft" && node.op_type == "FusedMatMul";
  if (!plain && !fused) return false;
  const DType dtype = graph.value(node.outputs[0]).type.dtype;
  return dtype == DType::kFloat || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

std::int64_t Flag(const Node& node, std::string_view name) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr && std::holds_alternative<std::int64_t>(*value) ? std::get<std::int64_t>(*value) : 0;
}

float Alpha(const Node& node) {
  const AttributeValue* value = node.FindAttribute("alpha");
  return value != nullptr && std::holds_alternative<float>(*value) ? std::get<float>(*value) : 1.0f;
}

// The product of all factors must be a number, and none may vanish in it.
bool Scales(const Node& node, float factor) {
  const float product = Alpha(node) * factor;
  return std::isnormal(product) || Alpha(node) == 0;
}

Node& MakeFused(Graph& graph, NodeId id) {
  Node& node = graph.node(id);
  node.domain = "com.microsoft";
  node.op_type = "FusedMatMul";
  node.since_version = ops::FindSchema(node.domain, node.op_type)->since_version;
  return node;
}

// Takes the node that makes operand `i` into the product if it is a transposition that only the product reads.
bool FuseTranspose(Graph& graph, const PassContext& context, NodeId id, std::size_t i) {
  const Node& node = graph.node(id);
  const ValueId operand = node.inputs[i];
  const NodeId producer = graph.value(operand).producer;
  if (producer == kNoNode) return false;
  const Node& made = graph.node(producer);
  if (!made.domain.empty() || made.op_type != "Transpose") return false;
  const auto no = [&](std::string_view why) {
    return context.No(graph, id, Describe(graph, made), " before it ", why);
  };
  if (OnlyReader(graph, operand) == nullptr) return no("is also read by others");
  if (made.provider != node.provider) return no("runs on another provider");
  if (!SwapsLastAxes(graph, made) || Flag(node, i == 0 ? "transBatchA" : "transBatchB") != 0)
    return no("does not swap the last two axes alone");
  const char* flag = i == 0 ? "transA" : "transB";
  const ValueId source = made.inputs[0];
  graph.SetInput(id, i, source);
  graph.EraseNode(producer);
  Node& fused = MakeFused(graph, id);
  fused.SetAttribute(flag, 1 - Flag(fused, flag));
  return true;
}

struct Scaling {
  float factor;
  ValueId scaled;  // the other operand
};

// Mul by a constant scalar (either operand) or Div by one, in the product's precision.
std::optional<Scaling> ScalingOf(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.inputs.size() != 2) return std::nullopt;
  const bool mul = node.op_type == "Mul";
  if (!mul && node.op_type != "Div") return std::nullopt;
  for (const std::size_t i : {1u, 0u}) {
    if (i == 0 && !mul) continue;
    const auto factor = ops::ScalarConstant(graph, node.inputs[i]);
    const Type &constant = graph.value(node.inputs[i]).type, &other = graph.value(node.inputs[1 - i]).type;
    if (!factor || !std::isfinite(*factor) || *factor == 0 || !std::isfinite(1 / *factor) || !other.has_rank ||
        constant.rank() > other.rank())
      continue;
    return Scaling{mul ? *factor : 1 / *factor, node.inputs[1 - i]};
  }
  return std::nullopt;
}

bool FuseScaleBefore(Graph& graph, const PassContext& context, NodeId id, std::size_t i) {
  const Node& node = graph.node(id);
  const ValueId operand = node.inputs[i];
  const NodeId producer = graph.value(operand).producer;
  if (producer == kNoNode) return false;
  const auto scaling = ScalingOf(graph, graph.node(producer));
  if (!scaling) return false;
  const auto no = [&](std::string_view why) {
    return context.No(graph, id, "its factor ", Describe(graph, graph.node(producer)), " ", why);
  };
  if (OnlyReader(graph, operand) == nullptr) return no("is also read by others");
  if (graph.node(producer).provider != node.provider) return no("runs on another provider");
  if (!Scales(node, scaling->factor)) return no("cannot be a factor of the product");
  graph.SetInput(id, i, scaling->scaled);
  graph.EraseNode(producer);
  Node& fused = MakeFused(graph, id);
  fused.SetAttribute("alpha", Alpha(fused) * scaling->factor);
  return true;
}

bool FuseScaleBehind(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Node* reader = OnlyReader(graph, node.outputs[0]);
  if (reader == nullptr || reader->provider != node.provider) return false;
  const auto scaling = ScalingOf(graph, *reader);
  if (!scaling || scaling->scaled != node.outputs[0] || !Scales(node, scaling->factor)) return false;
  const NodeId reader_id = reader->id;
  Node& fused = MakeFused(graph, id);
  fused.SetAttribute("alpha", Alpha(fused) * scaling->factor);
  Absorb(graph, id, reader_id);
  return true;
}

bool FuseMatMulTranspose(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    bool changed = false;
    if (!IsMatMul(each, each.node(id))) return false;
    for (const std::size_t i : {0u, 1u})
      while (FuseTranspose(each, context, id, i) || FuseScaleBefore(each, context, id, i)) changed = true;
    while (FuseScaleBehind(each, id)) changed = true;
    return changed;
  });
}

}  // namespace

constinit const Pass kFuseMatMulTranspose = {
    .name = "fuse_matmul_transpose", .level = Level::kExtended, .run = FuseMatMulTranspose, .takes_transposes = true};

}  // namespace sardonyx::optimizer
