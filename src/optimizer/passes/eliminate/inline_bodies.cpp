// optimizer/passes/eliminate/inline_bodies.cpp - inlines control flow whose course is known: an If with a constant
// condition becomes the nodes of its branch, a Loop that runs once becomes those of its body, and a Loop that never
// runs passes its inputs on.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/paste_body.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

std::optional<bool> BoolOf(const Graph& graph, ValueId value) {
  const Tensor* tensor = graph.value(value).constant();
  if (tensor == nullptr || tensor->dtype() != DType::kBool || tensor->count() != 1) return std::nullopt;
  return *tensor->data<bool>();
}

class BodyInliner {
 public:
  BodyInliner(Graph& graph, const PassContext& context, NodeId id) : graph_(graph), context_(context), id_(id) {}

  bool Try() {
    const Node& node = graph_.node(id_);
    if (Is(node, "If")) return TryIf();
    return Is(node, "Loop") && TryLoop();
  }

 private:
  const Graph& Body(std::string_view attribute) const {
    return *std::get<GraphBox>(*graph_.node(id_).FindAttribute(attribute));
  }
  std::string Prefix() const {
    const Node& node = graph_.node(id_);
    return node.name.empty() ? node.op_type : node.name;
  }

  bool TryIf() {
    const auto condition = BoolOf(graph_, graph_.node(id_).inputs[0]);
    if (!condition) return context_.No(graph_, id_, "its condition is not constant");
    const Graph branch = Body(*condition ? "then_branch" : "else_branch");
    if (!CanReplaceOutputs(graph_.node(id_).outputs.size())) return false;
    context_.Yes(graph_, id_, "became its ", *condition ? "then" : "else", " branch");
    ReplaceOutputs(PasteBody(graph_, Prefix(), branch, {}));
    return true;
  }

  bool TryLoop() {
    const Node node = graph_.node(id_);
    const Graph body = Body("body");
    std::vector<ValueId> initial(node.inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(node.inputs)),
                                 node.inputs.end());
    const std::size_t carried = initial.size();
    const auto limit =
        node.inputs.empty() || node.inputs[0] == kNoValue ? std::nullopt : IntsOf(graph_, node.inputs[0]);
    const bool asks = node.inputs.size() > 1 && node.inputs[1] != kNoValue;
    const auto condition = asks ? BoolOf(graph_, node.inputs[1]) : std::optional(true);
    const bool complete = std::find(initial.begin(), initial.end(), kNoValue) == initial.end();
    if (!complete || body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1) return false;
    if (!CanReplaceOutputs(node.outputs.size())) return false;
    if ((limit && limit->size() == 1 && limit->front() <= 0) || (condition && !*condition)) {
      if (body.outputs.size() > carried + 1) return context_.No(graph_, id_, "it never runs, but collects outputs");
      context_.Yes(graph_, id_, "never runs");
      ReplaceOutputs(initial);
      return true;
    }
    if (!limit || limit->size() != 1 || limit->front() != 1 || !condition)
      return context_.No(graph_, id_, "it is not known to run once or never");
    for (std::size_t i = carried + 1; i < body.outputs.size(); ++i)
      if (!body.value(body.outputs[i]).type.is_tensor()) return false;
    context_.Yes(graph_, id_, "runs once");
    initial.insert(initial.begin(), {Number<std::int64_t>(0, body, 0), Number<bool>(true, body, 1)});
    std::vector<ValueId> results = PasteBody(graph_, Prefix(), body, initial);
    Rewrite rewrite(graph_, context_.registry, id_);
    for (std::size_t i = carried + 1; i < results.size(); ++i) results[i] = Stacked(rewrite, results[i]);
    ReplaceOutputs({results.begin() + 1, results.end()});  // whether it would go on is of no interest
    return true;
  }

  // Of the rank that the body has inferred for its input.
  template <typename T>
  ValueId Number(T number, const Graph& body, std::size_t input) {
    const Type& type = body.value(body.inputs[input]).type;
    return graph_.AddConstant("constant", Tensor::Of<T>({number}, type.dims.size() == 1 ? Shape{1} : Shape{}));
  }
  // What one turn adds to a collected output.
  ValueId Stacked(Rewrite& rewrite, ValueId value) const {
    const ops::OpSchema* schema = SchemaFor(graph_, "", "Unsqueeze");
    if (schema->max_inputs < 2) return rewrite.Add("Unsqueeze", {value}, {{"axes", std::vector<std::int64_t>{0}}});
    return rewrite.Add("Unsqueeze", {value, rewrite.Ints({0})});
  }

  // An output of the graph may need an Identity, which has only tensors before opset 16.
  bool CanReplaceOutputs(std::size_t count) const {
    const std::int64_t opset = graph_.OpsetVersion("");
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId output = graph_.node(id_).outputs[i];
      if (output == kNoValue || !graph_.value(output).is_output || opset >= 16 || opset <= 0) continue;
      if (!graph_.value(output).type.is_tensor())
        return context_.No(graph_, id_, "an output of the graph is not a tensor");
    }
    return true;
  }

  // The node goes with its last output.
  void ReplaceOutputs(const std::vector<ValueId>& by) {
    Rewrite rewrite(graph_, context_.registry, id_);
    const std::vector<ValueId> outputs = graph_.node(id_).outputs;
    bool any = false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNoValue) continue;
      any = true;
      rewrite.Replace(outputs[i], by[i]);
    }
    if (!any) graph_.EraseNode(id_);
  }

  Graph& graph_;
  const PassContext& context_;
  NodeId id_;
};

bool InlineBodies(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return BodyInliner(each, context, id).Try(); });
}

}  // namespace

// What was inlined may be constant, and decide what else is.
constinit const Pass kInlineBodies = {
    .name = "inline_bodies", .level = Level::kBasic, .run = InlineBodies, .makes_candidates = true};

}  // namespace sardonyx::optimizer
