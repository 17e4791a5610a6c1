// optimizer/shapes/selection.cpp - reads Slice, Split and Gather of one index in one form: as a part of an axis.
#include "optimizer/shapes/selection.h"

#include <algorithm>

#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

const Type& TypeOf(const Graph& graph, ValueId value) { return graph.value(value).type; }

// An axis counted from the front; nothing if there is no such.
std::optional<std::size_t> AxisOf(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

bool TakeGather(const Graph& graph, const Node& node, Selection* s) {
  const auto index = IntsOf(graph, node.inputs[1]);
  if (!index || index->size() != 1 || TypeOf(graph, node.inputs[1]).rank() != 0) return false;
  s->begin = index->front() < 0 ? index->front() + s->size : index->front();
  s->count = 1;
  s->drops_axis = true;
  return true;
}

// The sizes that a Split gives, if it does, are those of its axis together; else it is an error that must stay one.
bool SizesFit(const Graph& graph, const Node& node, std::int64_t size) {
  std::optional<std::vector<std::int64_t>> sizes;
  if (const AttributeValue* attribute = node.FindAttribute("split")) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(attribute);
    if (list == nullptr) return false;
    sizes = *list;
  } else if (node.inputs.size() > 1 && node.inputs[1] != kNoValue) {
    sizes = IntsOf(graph, node.inputs[1]);
    if (!sizes) return false;
  }
  if (!sizes) return true;
  std::int64_t left = size;  // numbers of the model: their sum may be beyond all numbers
  for (const std::int64_t part : *sizes) {
    if (part < 0 || part > left) return false;
    left -= part;
  }
  return left == 0 && sizes->size() == node.outputs.size();
}

// The sizes of the parts up to this one, as inference found them.
bool TakeSplit(const Graph& graph, const Node& node, std::size_t output, Selection* s) {
  if (!SizesFit(graph, node, s->size)) return false;
  for (std::size_t i = 0; i <= output; ++i) {
    if (i >= node.outputs.size() || node.outputs[i] == kNoValue) return false;
    const Type& part = TypeOf(graph, node.outputs[i]);
    if (!part.has_rank || s->axis >= part.rank() || !part.dims[s->axis].known()) return false;
    s->begin += s->count;
    s->count = part.dims[s->axis].number();
  }
  return true;
}

// The only element of input `i`; nothing if it is missing or not that.
std::optional<std::int64_t> OnlyInt(const Graph& graph, const Node& node, std::size_t i) {
  if (i >= node.inputs.size() || node.inputs[i] == kNoValue) return std::nullopt;
  const auto list = IntsOf(graph, node.inputs[i]);
  return list && list->size() == 1 ? std::optional(list->front()) : std::nullopt;
}

bool TakeSlice(const Graph& graph, const Node& node, Selection* s) {
  const auto begin = OnlyInt(graph, node, 1), end = OnlyInt(graph, node, 2), step = OnlyInt(graph, node, 4);
  const bool has_step = node.inputs.size() > 4 && node.inputs[4] != kNoValue;
  if (!begin || !end || (has_step && (!step || *step != 1))) return false;
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + s->size : at, 0, s->size); };
  s->begin = place(*begin);
  s->count = place(*end) - s->begin;
  return true;
}

}  // namespace

std::optional<Selection> SelectionOf(const Graph& graph, const Node& node, std::size_t output) {
  const bool slice = node.op_type == "Slice", split = node.op_type == "Split", gather = node.op_type == "Gather";
  if (IsForeign(node) || !node.domain.empty() || (!slice && !split && !gather) || node.inputs[0] == kNoValue)
    return std::nullopt;
  const Type& type = TypeOf(graph, node.inputs[0]);
  if (!type.is_tensor() || !type.has_rank || type.rank() == 0) return std::nullopt;
  std::optional<std::int64_t> given = IntAttribute(node, "axis", 0);
  if (slice) given = node.inputs.size() > 3 ? OnlyInt(graph, node, 3) : std::optional<std::int64_t>(0);
  const auto axis = given ? AxisOf(*given, type.rank()) : std::nullopt;
  if (!axis || !type.dims[*axis].known()) return std::nullopt;
  Selection s{.from = node.inputs[0], .axis = *axis, .size = type.dims[*axis].number()};
  const bool taken = slice   ? TakeSlice(graph, node, &s)
                     : split ? TakeSplit(graph, node, output, &s)
                             : TakeGather(graph, node, &s);
  if (!taken || s.begin < 0 || s.count < 1 || s.count > s.size || s.begin > s.size - s.count) return std::nullopt;
  return s;
}

}  // namespace sardonyx::optimizer
