// optimizer/passes/rewrite/move_before_concat.cpp - an activation or BatchNormalization behind a Concat of convolutions
// is moved to each of these, which take it over: Relu(Concat(Conv(x), Conv(z))) = Concat(Relu(Conv(x)), Relu(Conv(z))).
//
// Networks with kernels of several sizes in one layer are written this way (MixNet).
#include <numeric>

#include "ops/activation.h"
#include "optimizer/fusion/conv_weights.h"
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// A convolution that has no activation yet and whose result only the Concat reads.
bool IsOpenConv(const Graph& graph, ValueId part, NodeId concat) {
  if (SoleReader(graph, part) != concat) return false;
  const NodeId id = graph.value(part).producer;
  if (id == kNoNode) return false;
  const Node& node = graph.node(id);
  return Is(node, "Conv") || Is(node, "ConvTranspose") ||
         (Is(node, "FusedConv", "com.microsoft") && node.FindAttribute("activation") == nullptr);
}

ValueId Joined(Rewrite& rewrite, std::vector<ValueId> parts, std::int64_t axis) {
  return rewrite.Add("Concat", std::move(parts), {{"axis", axis}});
}

// Elements [begin, begin + count) of a constant vector.
ValueId SliceOf(Graph& graph, ValueId vector, std::size_t begin, std::size_t count) {
  const Tensor& whole = *graph.value(vector).constant();
  const std::vector<double> all = FloatsOf(whole);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return graph.AddConstant(graph.value(vector).name,
                           TensorOfFloats(whole.dtype(), Shape{static_cast<std::int64_t>(count)},
                                          {first, first + static_cast<std::ptrdiff_t>(count)}));
}

bool MoveActivation(Graph& graph, const PassContext& context, const Node& concat, std::int64_t axis) {
  const auto behind = FindActivationBehind(graph, context, concat.id);
  if (!behind) return false;
  const ops::NodeActivation& activation = behind->activation;
  if (!activation.def->in_convs || activation.bias != kNoValue)
    return context.No(graph, concat.id, "convolutions do not take ", activation.def->name);
  const Node& node = graph.node(behind->node);
  Rewrite rewrite(graph, context.registry, node.id);
  std::vector<ValueId> parts;
  const std::string domain = node.domain, op_type = node.op_type;
  const std::vector<ValueId> inputs = node.inputs, operands = concat.inputs;
  const std::vector<Attribute> attributes = node.attributes;
  const ValueId y = node.outputs[0];
  for (const ValueId part : operands) {
    std::vector<ValueId> own = inputs;
    own[0] = part;
    parts.push_back(rewrite.Add(domain, op_type, own, attributes));
  }
  rewrite.Replace(y, Joined(rewrite, std::move(parts), axis));
  return true;
}

// The channels of each part; nullopt if one is not known.
std::optional<std::vector<std::size_t>> ChannelsOf(const Graph& graph, const std::vector<ValueId>& parts) {
  std::vector<std::size_t> channels;
  for (const ValueId part : parts) {
    const Type& type = graph.value(part).type;
    if (!type.has_rank || type.rank() < 2 || !type.dims[1].known()) return std::nullopt;
    channels.push_back(static_cast<std::size_t>(type.dims[1].number()));
  }
  return channels;
}

bool MoveNormalization(Graph& graph, const PassContext& context, const Node& concat, NodeId id) {
  const std::vector<ValueId> inputs = graph.node(id).inputs, operands = concat.inputs;
  const auto channels = ChannelsOf(graph, operands);
  if (!channels) return context.No(graph, id, "the channels of what is concatenated are not known");
  const std::size_t all = std::accumulate(channels->begin(), channels->end(), std::size_t{0});
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Tensor* constant = graph.value(inputs[i]).constant();
    if (constant == nullptr || constant->shape().rank() != 1 || FloatsOf(*constant).size() != all)
      return context.No(graph, id, "expected constants of ", all, " channels");
  }
  Rewrite rewrite(graph, context.registry, id);
  const std::vector<Attribute> attributes = graph.node(id).attributes;
  const ValueId y = graph.node(id).outputs[0];
  std::vector<ValueId> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::vector<ValueId> own = {operands[i]};
    for (std::size_t j = 1; j < inputs.size(); ++j) own.push_back(SliceOf(graph, inputs[j], begin, (*channels)[i]));
    parts.push_back(rewrite.Add("BatchNormalization", own, attributes));
    begin += (*channels)[i];
  }
  rewrite.Replace(y, Joined(rewrite, std::move(parts), 1));
  return true;
}

bool MoveBeforeConcat(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    const Node& concat = each.node(id);
    if (!Is(concat, "Concat") || concat.inputs.size() < 2) return false;
    for (const ValueId part : concat.inputs)
      if (!IsOpenConv(each, part, id)) return false;
    const std::int64_t axis = IntAttribute(concat, "axis", 0);
    const Node* reader = OnlyReader(each, concat.outputs[0]);
    if (reader == nullptr || !Is(*reader, "BatchNormalization")) return MoveActivation(each, context, concat, axis);
    const bool plain = reader->outputs.size() == 1 && IntAttribute(*reader, "training_mode", 0) == 0;
    if (axis != 1 || reader->inputs[0] != concat.outputs[0] || !plain)
      return context.No(each, reader->id, "it trains, or does not normalize what is concatenated");
    return MoveNormalization(each, context, concat, reader->id);
  });
}

}  // namespace

constinit const Pass kMoveBeforeConcat = {
    .name = "move_before_concat", .level = Level::kExtended, .run = MoveBeforeConcat};

}  // namespace sardonyx::optimizer
