// optimizer/passes/eliminate/fold_shapes.cpp - uses symbolic shapes: targets of Reshape become constants, and integers
// that are known to be equal ("batch", "seq + past") are computed once.
//
// In ONNX, inputs whose dimensions have the same name have the same size, and inference derives all other dimensions
// from these. What a run computes is undefined if its inputs contradict their declared names.
#include <unordered_map>

#include "ops/infer.h"
#include "optimizer/passes/passes.h"
#include "optimizer/shapes/axis_view.h"

namespace sardonyx::optimizer {
namespace {

class ShapeFolder {
 public:
  ShapeFolder(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Run() {
    for (const NodeId id : OwnNodes(graph_)) {
      if (graph_.node(id).erased) continue;
      changed_ |= FixTarget(id) || ShareContents(id);
    }
    return changed_;
  }

 private:
  // Reshape to what its types say, instead of to a computed shape.
  bool FixTarget(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || node.op_type != "Reshape" || node.inputs.size() < 2) return false;
    const ValueId target = node.inputs[1];
    if (graph_.value(target).constant() != nullptr) return false;
    const Type &from = graph_.value(node.inputs[0]).type, &to = graph_.value(node.outputs[0]).type;
    if (!from.has_rank || !to.has_rank) return context_.No(graph_, id, "a rank is unknown");
    const std::optional<std::size_t> open = OpenAxis(graph_, node);
    const auto fixed = ReshapeTarget(from.dims, to.dims, open);
    if (!fixed)
      return context_.No(graph_, id, "no constant target makes ", to.ToText(), " of ", from.ToText(), " for all sizes");
    if (TargetIsGiven(graph_, node)) return context_.No(graph_, id, "the caller gives its target, which may not fit");
    // A size is left open only where the author did, or where the others leave no choice: an error of his must stay.
    for (std::size_t i = 0; i < fixed->size(); ++i)
      if ((*fixed)[i] == -1 && open != i && !SameCount(from.dims, to.dims))
        return context_.No(graph_, id, "size ", i, " of ", to.ToText(), " does not follow from the others");
    Rewrite rewrite(graph_, context_.registry, id);
    graph_.SetInput(id, 1, rewrite.Ints(*fixed));
    graph_.node(id).RemoveAttribute("allowzero");
    rewrite.DropUnused(target);
    return true;
  }

  static bool SameCount(const std::vector<Dim>& a, const std::vector<Dim>& b) {
    Dim left(1), right(1);
    for (const Dim& d : a) left = left * d;
    for (const Dim& d : b) right = right * d;
    return SameDim(left, right);
  }

  bool ShareContents(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || node.outputs[0] == kNoValue) return false;
    const ValueInfo& value = graph_.value(node.outputs[0]);
    if (!value.shape_data || !value.type.is_tensor() || !value.type.HasStaticShape()) return false;
    std::string key = std::to_string(static_cast<int>(value.type.dtype)) + node.provider + '/';
    for (const Dim& d : value.type.dims) key += d.ToText() + ',';
    for (const Dim& d : *value.shape_data) {
      if (d.unknown()) return false;
      key += '|' + d.ToText();
    }
    const auto [at, fresh] = first_.try_emplace(std::move(key), node.outputs[0]);
    if (fresh) return false;
    if (graph_.value(at->second).producer == kNoNode) {  // erased meanwhile, as nobody read it
      at->second = node.outputs[0];
      return false;
    }
    if (value.is_output)
      return context_.No(graph_, id, "it holds what '", graph_.value(at->second).name, "' holds, but is an output");
    Rewrite rewrite(graph_, context_.registry, id);
    rewrite.Replace(node.outputs[0], at->second);
    return true;
  }

  Graph& graph_;
  const PassContext& context_;
  std::unordered_map<std::string, ValueId> first_;
  bool changed_ = false;
};

bool FoldShapes(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return ShapeFolder(each, context).Run(); });
}

}  // namespace

constinit const Pass kFoldShapes = {.name = "fold_shapes", .level = Level::kBasic, .run = FoldShapes};

}  // namespace sardonyx::optimizer
