// optimizer/passes/eliminate/simplify_slices.cpp - writes Slice, Split and Concat with fewer nodes. Slices of a whole
// axis are removed, slices of slices and of Concats read the source, parts that are joined again are the source,
// Concats of Concats become one, their operands without elements are removed, a Split of which one part is read becomes
// a Slice, and slices that together cover an axis become a Split.
#include <algorithm>
#include <limits>
#include <map>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"
#include "optimizer/shapes/selection.h"

namespace sardonyx::optimizer {
namespace {

class SliceSimplifier {
 public:
  SliceSimplifier(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  bool Run() {
    bool changed = false;
    for (const NodeId id : OwnNodes(graph_)) {
      while (!graph_.node(id).erased && TryNode(id)) changed = true;
    }
    return JoinIntoSplits() || changed;
  }

 private:
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }

  bool TryNode(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == kNoValue) return false;
    if (node.op_type == "Slice") {
      if (DropWholeSlice(id) || ReadThrough(id)) return true;
      return !IsKnown(node) &&
             context_.No(graph_, id, "its starts, ends, axes, steps or its input's rank are not known");
    }
    if (node.op_type == "Split") return SliceInsteadOfSplit(id);
    return node.op_type == "Concat" && (DropEmptyOperands(id) || JoinParts(id) || FlattenConcat(id));
  }

  // What a Slice takes is fixed.
  bool IsKnown(const Node& node) const {
    const bool constant = std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId input) {
      return input == kNoValue || graph_.value(input).constant() != nullptr;
    });
    return constant && TypeOf(node.inputs[0]).has_rank;
  }

  // A Slice of starts and ends can be written in this graph's opset.
  bool HasSlice() const {
    const ops::OpSchema* schema = SchemaFor(graph_, "", "Slice");
    return schema != nullptr && schema->max_inputs >= 4;
  }

  // The elements of `s`; the source itself if they are all of it.
  ValueId Select(Rewrite& rewrite, const Selection& s) const {
    if (s.begin == 0 && s.count == s.size) return s.from;
    return rewrite.Add("Slice", {s.from, rewrite.Ints({s.begin}), rewrite.Ints({s.begin + s.count}),
                                 rewrite.Ints({static_cast<std::int64_t>(s.axis)})});
  }

  // An output that would only rename an input or another output keeps its node.
  bool MayBecome(ValueId old, ValueId by) const {
    return !graph_.value(old).is_output || (graph_.value(by).producer != kNoNode && !graph_.value(by).is_output);
  }

  // The elements of an input or, before version 10, of an attribute; nothing if they are not known.
  std::optional<std::vector<Dim>> ArgumentOf(const Node& node, std::size_t input, std::string_view attribute) const {
    if (node.since_version < 10) {
      const auto* numbers = std::get_if<std::vector<std::int64_t>>(node.FindAttribute(attribute));
      return numbers == nullptr ? std::nullopt : std::optional(std::vector<Dim>(numbers->begin(), numbers->end()));
    }
    if (input >= node.inputs.size() || node.inputs[input] == kNoValue) return std::nullopt;
    if (const auto numbers = IntsOf(graph_, node.inputs[input]))
      return std::vector<Dim>(numbers->begin(), numbers->end());
    return graph_.value(node.inputs[input]).shape_data;
  }

  // From the first element of each axis to its last. The type of the result does not say it: where inference knows
  // nothing, its sizes are those that the model declares, and these may be wrong.
  bool ReachesFromEndToEnd(const Node& node) const {
    const auto starts = ArgumentOf(node, 1, "starts"), ends = ArgumentOf(node, 2, "ends");
    if (!starts || !ends || starts->size() != ends->size()) return false;
    const std::vector<Dim>& dims = TypeOf(node.inputs[0]).dims;
    std::vector<Dim> axes(starts->size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = Dim(static_cast<std::int64_t>(i));
    if (node.since_version < 10 ? node.FindAttribute("axes") != nullptr
                                : node.inputs.size() > 3 && node.inputs[3] != kNoValue) {
      auto given = ArgumentOf(node, 3, "axes");
      if (!given || given->size() != axes.size()) return false;
      axes = std::move(*given);
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (!axes[i].known()) return false;
      const std::int64_t axis = axes[i].number() + (axes[i].number() < 0 ? static_cast<std::int64_t>(dims.size()) : 0);
      if (axis < 0 || axis >= static_cast<std::int64_t>(dims.size())) return false;
      const Dim &size = dims[static_cast<std::size_t>(axis)], &start = (*starts)[i], &end = (*ends)[i];
      if (!start.known() || (start.number() != 0 && !(size.known() && start.number() <= -size.number()))) return false;
      const bool to_end = end.known() && (end.number() >= std::numeric_limits<std::int32_t>::max() ||
                                          (size.known() && end.number() >= size.number()));
      if (!to_end && !SameDim(end, size)) return false;
    }
    return true;
  }

  // As many elements as there are, each step forward: all of them in their order.
  bool DropWholeSlice(NodeId id) {
    const Node& node = graph_.node(id);
    const Type &x = TypeOf(node.inputs[0]), &y = TypeOf(node.outputs[0]);
    if (!x.has_rank || !y.has_rank || !std::equal(x.dims.begin(), x.dims.end(), y.dims.begin(), y.dims.end(), SameDim))
      return false;
    if (!ReachesFromEndToEnd(node)) return false;
    if (node.inputs.size() > 4 && node.inputs[4] != kNoValue) {
      const auto steps = IntsOf(graph_, node.inputs[4]);
      if (!steps || std::any_of(steps->begin(), steps->end(), [](std::int64_t step) { return step != 1; }))
        return false;
    }
    return TakeOut(graph_, id) ||
           context_.No(graph_, id, "it takes everything, but its input and its output must both keep their names");
  }

  // A Slice of a Slice or of one operand of a Concat.
  bool ReadThrough(NodeId id) {
    const auto outer = SelectionOf(graph_, graph_.node(id), 0);
    if (!outer || !HasSlice()) return false;
    std::optional<Selection> inner;
    const NodeId producer = graph_.value(outer->from).producer;
    if (producer == kNoNode) return false;
    const Node& source = graph_.node(producer);
    if (source.provider != graph_.node(id).provider) return false;
    if (source.op_type == "Slice") {
      inner = SelectionOf(graph_, source, 0);
      if (!inner || inner->axis != outer->axis)
        return context_.No(graph_, id, Describe(graph_, source), " before it selects along other axes, or in steps");
      inner->begin += outer->begin;
      inner->count = outer->count;
    } else {
      inner = OperandOfConcat(source, *outer);
      if (!inner)
        return source.op_type == "Concat" && source.domain.empty() &&
               context_.No(graph_, id, "it takes more than one operand of ", Describe(graph_, source),
                           ", or their sizes are not known");
    }
    const ValueId old = graph_.node(id).outputs[0];
    if (inner->begin == 0 && inner->count == inner->size && !MayBecome(old, inner->from)) return false;
    Rewrite rewrite(graph_, context_.registry, id);
    rewrite.Replace(old, Select(rewrite, *inner));
    return true;
  }

  std::optional<Selection> OperandOfConcat(const Node& concat, const Selection& outer) const {
    if (!concat.domain.empty() || concat.op_type != "Concat") return std::nullopt;
    std::int64_t axis = IntAttribute(concat, "axis", 0), begin = 0;
    if (axis < 0) axis += static_cast<std::int64_t>(TypeOf(concat.outputs[0]).rank());
    if (axis != static_cast<std::int64_t>(outer.axis)) return std::nullopt;
    for (const ValueId operand : concat.inputs) {
      const Type& type = TypeOf(operand);
      if (!type.has_rank || outer.axis >= type.rank() || !type.dims[outer.axis].known()) return std::nullopt;
      const std::int64_t size = type.dims[outer.axis].number();
      if (begin <= outer.begin && outer.begin + outer.count <= begin + size)
        return Selection{
            .from = operand, .axis = outer.axis, .begin = outer.begin - begin, .count = outer.count, .size = size};
      begin += size;
    }
    return std::nullopt;
  }

  // Only one part is read: the others need not be copied.
  bool SliceInsteadOfSplit(NodeId id) {
    const Node& node = graph_.node(id);
    std::size_t read = 0, last = 0;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue || graph_.UseCount(node.outputs[i]) == 0) continue;
      ++read;
      last = i;
    }
    if (read != 1) return false;
    const auto selection = SelectionOf(graph_, node, last);
    if (!selection || !HasSlice())
      return context_.No(graph_, id, "one part of it is read, but sizes are not known, or the opset has no such Slice");
    const ValueId old = node.outputs[last];
    if (selection->count == selection->size && !MayBecome(old, selection->from)) return false;
    Rewrite rewrite(graph_, context_.registry, id);
    rewrite.Replace(old, Select(rewrite, *selection));
    return true;
  }

  // ---- Concat

  std::optional<std::size_t> AxisOf(const Node& concat) const {
    const Type& y = TypeOf(concat.outputs[0]);
    std::int64_t axis = IntAttribute(concat, "axis", concat.since_version < 4 ? 1 : 0);
    if (!y.is_tensor() || !y.has_rank) return std::nullopt;
    if (axis < 0) axis += static_cast<std::int64_t>(y.rank());
    return static_cast<std::size_t>(axis);
  }

  // The selection along `axis` that makes the value, if a Slice or Split does.
  std::optional<Selection> PartOf(ValueId value, std::size_t axis) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode) return std::nullopt;
    const Node& node = graph_.node(producer);
    const auto at =
        static_cast<std::size_t>(std::find(node.outputs.begin(), node.outputs.end(), value) - node.outputs.begin());
    auto part = SelectionOf(graph_, node, at);
    return part && part->axis == axis && !part->drops_axis ? part : std::nullopt;
  }

  bool AllParts(const Node& concat, std::size_t axis) const {
    return concat.inputs.size() > 1 && std::all_of(concat.inputs.begin(), concat.inputs.end(),
                                                   [&](ValueId operand) { return PartOf(operand, axis).has_value(); });
  }

  // Operands that are neighbouring parts of one value become one part.
  bool JoinParts(NodeId id) {
    const Node& node = graph_.node(id);
    const auto axis = AxisOf(node);
    if (!axis) return false;
    std::vector<ValueId> operands;
    std::optional<Selection> open;  // the run that may go on
    std::size_t joined = 0, in_run = 0;
    std::vector<Selection> runs;      // made of several operands
    std::vector<std::size_t> run_at;  // their places in `operands`
    for (const ValueId operand : node.inputs) {
      auto part = PartOf(operand, *axis);
      if (part && open && part->from == open->from && part->begin == open->begin + open->count) {
        open->count += part->count;
        ++joined;
        if (++in_run == 2) {
          runs.emplace_back();
          run_at.push_back(operands.size() - 1);
        }
        runs.back() = *open;
        continue;
      }
      open = part;
      in_run = 1;
      operands.push_back(operand);
    }
    const bool needs_slice =
        std::any_of(runs.begin(), runs.end(), [](const Selection& s) { return s.count != s.size; });
    if (joined > 0 && needs_slice && !HasSlice())
      return context_.No(graph_, id, "Slice of this opset has its starts as attributes");
    if (joined == 0)
      return AllParts(node, *axis) && context_.No(graph_, id, "its operands are parts that are not adjacent");
    const ValueId old = node.outputs[0];
    if (operands.size() == 1 && runs[0].count == runs[0].size && !MayBecome(old, runs[0].from)) return false;
    Rewrite rewrite(graph_, context_.registry, id);
    for (std::size_t i = 0; i < runs.size(); ++i) operands[run_at[i]] = Select(rewrite, runs[i]);
    rewrite.Replace(old, operands.size() == 1
                             ? operands[0]
                             : rewrite.Add("Concat", operands, {{"axis", static_cast<std::int64_t>(*axis)}}));
    return true;
  }

  // Phi-3 puts the part of each head that is not rotated behind the one that is, also where there is none.
  bool DropEmptyOperands(NodeId id) {
    const Node& node = graph_.node(id);
    const auto axis = AxisOf(node);
    if (!axis) return false;
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs) {
      const Type& type = TypeOf(operand);
      if (!type.is_tensor() || !type.has_rank || *axis >= type.rank()) return false;
      const Dim& size = type.dims[*axis];
      if (!size.known() || size.number() != 0) operands.push_back(operand);
    }
    if (operands.empty() || operands.size() == node.inputs.size()) return false;
    if (operands.size() == 1 && !MayBecome(node.outputs[0], operands[0])) return false;
    Rewrite rewrite(graph_, context_.registry, id);
    rewrite.Replace(node.outputs[0], operands.size() == 1 ? operands[0]
                                                          : rewrite.Add("Concat", operands,
                                                                        {{"axis", static_cast<std::int64_t>(*axis)}}));
    return true;
  }

  // An operand that is a Concat of the same axis, which nobody else reads.
  bool FlattenConcat(NodeId id) {
    const Node& node = graph_.node(id);
    const auto axis = AxisOf(node);
    if (!axis) return false;
    std::vector<ValueId> operands;
    bool any = false;
    for (const ValueId operand : node.inputs) {
      const Node* inner = ProducerOf(graph_, operand, "Concat");
      const bool joins = inner != nullptr && inner->provider == node.provider && AxisOf(*inner) == axis &&
                         SoleReader(graph_, operand) == id;
      any |= joins;
      if (joins) {
        operands.insert(operands.end(), inner->inputs.begin(), inner->inputs.end());
      } else {
        operands.push_back(operand);
      }
    }
    if (!any) return false;
    Rewrite rewrite(graph_, context_.registry, id);
    rewrite.Replace(node.outputs[0], rewrite.Add("Concat", operands, {{"axis", static_cast<std::int64_t>(*axis)}}));
    return true;
  }

  // ---- Slices of one value that lie side by side and are the whole axis

  struct Part {
    Selection selection;
    NodeId node;
  };
  bool JoinIntoSplits() {
    const ops::OpSchema* schema = SchemaFor(graph_, "", "Split");
    if (schema == nullptr || schema->max_inputs != 2) return false;  // sizes are an input since opset 13
    std::map<std::pair<ValueId, std::size_t>, std::vector<Part>> parts;
    for (const NodeId id : OwnNodes(graph_)) {
      const Node& node = graph_.node(id);
      if (node.op_type != "Slice" || graph_.value(node.outputs[0]).is_output) continue;
      if (const auto s = SelectionOf(graph_, node, 0)) parts[{s->from, s->axis}].push_back({*s, id});
    }
    bool changed = false;
    for (auto& [key, list] : parts) changed |= JoinIntoSplit(list);
    return changed;
  }

  bool JoinIntoSplit(std::vector<Part>& parts) {
    if (parts.size() < 2) return false;
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.selection.begin < b.selection.begin; });
    std::int64_t end = 0;
    std::vector<std::int64_t> sizes;
    const Node& first = graph_.node(parts[0].node);
    for (const Part& part : parts) {
      if (part.selection.begin != end || graph_.node(part.node).provider != first.provider)
        return context_.No(graph_, part.node, "of ", parts.size(), " slices of '",
                           graph_.value(part.selection.from).name, "', the one before ends at ", end,
                           " and this begins at ", part.selection.begin, ": no Split");
      end += part.selection.count;
      sizes.push_back(part.selection.count);
    }
    if (end != parts[0].selection.size)
      return context_.No(graph_, first.id, parts.size(), " slices of '", graph_.value(parts[0].selection.from).name,
                         "' end at ", end, " of ", parts[0].selection.size, ": no Split");
    Rewrite rewrite(graph_, context_.registry, first.id);
    Node split;
    split.op_type = "Split";
    split.since_version = SchemaFor(graph_, "", "Split")->since_version;
    split.name = first.name;
    split.provider = first.provider;
    split.inputs = {parts[0].selection.from, rewrite.Ints(sizes)};
    split.attributes = {{"axis", static_cast<std::int64_t>(parts[0].selection.axis)}};
    for (const Part& part : parts) split.outputs.push_back(graph_.node(part.node).outputs[0]);
    for (const Part& part : parts) graph_.EraseNode(part.node);
    graph_.AddNode(std::move(split));
    return true;
  }

  Graph& graph_;
  PassContext& context_;
};

bool SimplifySlices(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return SliceSimplifier(each, context).Run(); });
}

}  // namespace

constinit const Pass kSimplifySlices = {.name = "simplify_slices", .level = Level::kBasic, .run = SimplifySlices};

}  // namespace sardonyx::optimizer
