// optimizer/passes/quantization/fuse_conv_quantized_sum.cpp - a channels-last QLinearConv and the QLinearAdd that alone
// reads it become ai.sardonyx QLinearConvAdd: the sum is made where the convolution's bytes are, without a pass over
// memory.
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kConvScale = 6, kConvZero = 7, kBias = 8;

// Inputs of a summand of QLinearAdd: value, scale, zero point.
struct Summand {
  std::size_t value, scale, zero;
};
constexpr Summand kFirst = {0, 1, 2}, kSecond = {3, 4, 5};
constexpr std::size_t kSumScale = 6, kSumZero = 7;

// Constants of one element with the same bytes, or the same value.
bool SameScalar(const Graph& graph, ValueId a, ValueId b) {
  if (a == kNoValue || b == kNoValue) return false;
  const Tensor *first = graph.value(a).constant(), *second = graph.value(b).constant();
  if (first == nullptr || second == nullptr) return a == b;
  if (first->dtype() != second->dtype() || first->count() != 1 || second->count() != 1) return false;
  if (first->dtype() == DType::kFloat) return *first->data<float>() == *second->data<float>();
  return (first->dtype() == DType::kUInt8 || first->dtype() == DType::kInt8) &&
         *static_cast<const std::uint8_t*>(first->raw()) == *static_cast<const std::uint8_t*>(second->raw());
}

std::int64_t IntAttribute(const Node& node, const char* name, std::int64_t otherwise) {
  const AttributeValue* value = node.FindAttribute(name);
  const auto* number = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return number != nullptr ? *number : otherwise;
}

// Convolutions whose kernels can add: channels last on both sides, more than one channel a group.
bool CanAdd(const Graph& graph, const Node& conv) {
  if (conv.domain != "com.ms.internal.nhwc" || conv.op_type != "QLinearConv") return false;
  if (IntAttribute(conv, "channels_first_input", 0) != 0) return false;
  if (IntAttribute(conv, "channels_first_output", 0) != 0) return false;
  const Type& w = graph.value(conv.inputs[3]).type;
  const bool grouped = IntAttribute(conv, "group", 1) != 1;
  return !grouped || (w.has_rank && w.rank() > 2 && w.dims[1].known() && w.dims[1].number() > 1);
}

bool Fuse(Graph& graph, const PassContext& context, NodeId conv_id) {
  const auto no = [&](const auto&... parts) { return context.No(graph, conv_id, parts...); };
  const Node& conv = graph.node(conv_id);
  const ValueId made = conv.outputs[0];
  const Node* sum = OnlyReader(graph, made);
  const auto is_sum = [](const Node& node) { return node.domain == "com.microsoft" && node.op_type == "QLinearAdd"; };
  const auto& readers = graph.value(made).consumers;
  if (std::none_of(readers.begin(), readers.end(), [&](NodeId id) { return is_sum(graph.node(id)); })) return false;
  if (sum == nullptr) return no("its result is an output, or others than the QLinearAdd read it");
  if (sum->provider != conv.provider || sum->inputs.size() != 8) return false;
  const bool is_first = sum->inputs[0] == made;
  const Summand own = is_first ? kFirst : kSecond, other = is_first ? kSecond : kFirst;
  const ValueId z = sum->inputs[other.value];
  const Type &y_type = graph.value(made).type, &z_type = graph.value(z).type;
  if (z == made || y_type.dtype != z_type.dtype || !SameShape(y_type, z_type))
    return no("expected another summand ", y_type.ToText(), ", found ", z_type.ToText());
  if (!SameScalar(graph, sum->inputs[own.scale], conv.inputs[kConvScale]) ||
      !SameScalar(graph, sum->inputs[own.zero], conv.inputs[kConvZero]))
    return no("the QLinearAdd reads it with another scale or zero point than it is made with");
  const ValueId added[] = {z, sum->inputs[other.scale], sum->inputs[other.zero], sum->inputs[kSumScale],
                           sum->inputs[kSumZero]};
  for (const ValueId value : added)
    if (value == kNoValue) return false;
  const NodeId sum_id = sum->id;
  while (graph.node(conv_id).inputs.size() <= kBias)
    graph.SetInput(conv_id, graph.node(conv_id).inputs.size(), kNoValue);
  for (std::size_t i = 0; i < std::size(added); ++i) graph.SetInput(conv_id, kBias + 1 + i, added[i]);
  Node& node = graph.node(conv_id);
  node.domain = "ai.sardonyx";
  node.op_type = "QLinearConvAdd";
  node.since_version = 1;
  if (!is_first) node.SetAttribute("z_first", std::int64_t{1});  // another order rounds otherwise
  Absorb(graph, conv_id, sum_id);
  return true;
}

bool FuseIn(Graph& graph, const PassContext& context) {
  bool changed = false, summed = false;
  for (const NodeId id : OwnNodes(graph)) {
    if (graph.node(id).erased) continue;
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= FuseIn(*body, context);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    if (CanAdd(graph, graph.node(id))) summed |= Fuse(graph, context, id);
  }
  if (summed) graph.SortTopologically();  // the summand may be made behind the convolution
  return changed || summed;
}

bool FuseConvQuantizedSum(Graph& graph, PassContext& context) {
  return context.registry.HasName("ai.sardonyx", "QLinearConvAdd") && FuseIn(graph, context);
}

}  // namespace

constinit const Pass kFuseConvQuantizedSum = {
    .name = "fuse_conv_quantized_sum", .level = Level::kLayout, .run = FuseConvQuantizedSum};

}  // namespace sardonyx::optimizer
