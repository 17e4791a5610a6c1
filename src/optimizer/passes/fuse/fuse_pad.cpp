// optimizer/passes/fuse/fuse_pad.cpp - a Pad of the image before Conv, MaxPool or AveragePool becomes the reader's own
// pads.
#include <algorithm>
#include <limits>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

using Ints = std::vector<std::int64_t>;

Ints IntsAttribute(const Node& node, std::string_view name) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr && std::holds_alternative<Ints>(*value) ? std::get<Ints>(*value) : Ints();
}

std::string StringAttribute(const Node& node, std::string_view name, std::string otherwise) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr && std::holds_alternative<std::string>(*value) ? std::get<std::string>(*value) : otherwise;
}

std::optional<Ints> ConstantInts(const Graph& graph, const Node& node, std::size_t input) {
  const Tensor* t = graph.value(node.inputs[input]).constant();
  if (t == nullptr || t->dtype() != DType::kInt64) return std::nullopt;
  return Ints(t->data<std::int64_t>(), t->data<std::int64_t>() + t->count());
}

bool HasInput(const Node& node, std::size_t i) { return i < node.inputs.size() && node.inputs[i] != kNoValue; }

// What the Pad adds around [N, C, spatial...]: begins, then ends, of the spatial axes; nullopt if it does other things.
std::optional<Ints> SpatialPads(const Graph& graph, const Node& pad) {
  const Type& x = graph.value(pad.inputs[0]).type;
  if (StringAttribute(pad, "mode", "constant") != "constant" || !x.has_rank || x.rank() < 3) return std::nullopt;
  const auto pads = ConstantInts(graph, pad, 1);
  if (!pads) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(x.rank());
  Ints axes(x.rank());
  for (std::int64_t i = 0; i < rank; ++i) axes[static_cast<std::size_t>(i)] = i;
  if (HasInput(pad, 3)) {
    const auto given = ConstantInts(graph, pad, 3);
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (pads->size() != 2 * axes.size()) return std::nullopt;
  const std::size_t spatial = x.rank() - 2;
  Ints result(2 * spatial, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    const std::int64_t begin = (*pads)[i], end = (*pads)[i + axes.size()];
    if (begin < 0 || end < 0 || (axis < 2 && (begin != 0 || end != 0))) return std::nullopt;
    if (axis < 2) continue;
    result[static_cast<std::size_t>(axis - 2)] += begin;
    result[static_cast<std::size_t>(axis - 2) + spatial] += end;
  }
  return result;
}

// The value the Pad fills with; nullopt if it is not known.
std::optional<double> PadValue(const Graph& graph, const Node& pad) {
  if (!HasInput(pad, 2)) return 0.0;
  const Tensor* constant = graph.value(pad.inputs[2]).constant();
  if (constant == nullptr || constant->count() != 1) return std::nullopt;
  std::optional<double> value;
  VisitDType<float, double, Half, BFloat16>(constant->dtype(), [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<double>(*constant->data<T>());
    } else {
      value = static_cast<double>(static_cast<float>(*constant->data<T>()));
    }
  });
  return value;
}

// True if `reader` treats its own pads as the Pad does its.
bool PadsAlike(const Node& reader, double value, const Ints& own, const Ints& added) {
  const std::string pad_mode = StringAttribute(reader, "auto_pad", "NOTSET");
  if (pad_mode != "NOTSET" && pad_mode != "VALID" && !pad_mode.empty()) return false;
  if (reader.op_type == "Conv") return value == 0;
  if (IntAttribute(reader, "ceil_mode", 0) != 0 || reader.outputs.size() > 1) return false;
  const Ints kernel = IntsAttribute(reader, "kernel_shape");
  for (std::size_t i = 0; i < added.size(); ++i)
    if (own[i] + added[i] >= kernel[i % kernel.size()]) return false;
  if (reader.op_type == "MaxPool") return value == -std::numeric_limits<double>::infinity();
  const bool none = std::all_of(own.begin(), own.end(), [](std::int64_t p) { return p == 0; });
  return value == 0 && (none || IntAttribute(reader, "count_include_pad", 0) != 0);
}

bool Fuse(Graph& graph, const PassContext& context, NodeId id) {
  Node& reader = graph.node(id);
  const NodeId pad_id = graph.value(reader.inputs[0]).producer;
  if (pad_id == kNoNode) return false;
  const Node& pad = graph.node(pad_id);
  if (!pad.domain.empty() || pad.op_type != "Pad" || pad.provider != reader.provider) return false;
  const auto added = SpatialPads(graph, pad);
  const auto value = PadValue(graph, pad);
  if (!added || !value) return context.No(graph, pad_id, "it does not add a constant around the image");
  Ints own = IntsAttribute(reader, "pads");
  if (own.empty()) own.assign(added->size(), 0);
  if (own.size() != added->size() || !PadsAlike(reader, *value, own, *added))
    return context.No(graph, pad_id, Describe(graph, reader), " would pad with something else");
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += (*added)[i];
  reader.SetAttribute("pads", own);
  reader.RemoveAttribute("auto_pad");
  if (reader.op_type == "AveragePool") reader.SetAttribute("count_include_pad", std::int64_t{1});
  const ValueId padded = reader.inputs[0];
  graph.SetInput(id, 0, pad.inputs[0]);
  if (graph.UseCount(padded) == 0) graph.EraseNode(pad_id);
  return true;
}

bool FusePad(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    const Node& node = each.node(id);
    const bool reads = node.op_type == "Conv" || node.op_type == "MaxPool" || node.op_type == "AveragePool";
    return reads && node.domain.empty() && Fuse(each, context, id);
  });
}

}  // namespace

constinit const Pass kFusePad = {.name = "fuse_pad", .level = Level::kExtended, .run = FusePad};

}  // namespace sardonyx::optimizer
