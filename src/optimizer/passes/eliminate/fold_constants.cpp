// optimizer/passes/eliminate/fold_constants.cpp - computes what depends on constants only, and what follows from known
// shapes.
//
// The pass goes through the nodes once, in order. A node's types are inferred again once its inputs are folded, so a
// folded target shape makes the shapes behind it known. A result larger than its inputs is kept only up to a limit
// (PassContext::max_fold_bytes).
#include <algorithm>

#include "base/limits.h"
#include "ops/evaluate.h"
#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"
#include "optimizer/rules/half_weights.h"
#include "optimizer/rules/infer_again.h"
#include "optimizer/rules/unused_constants.h"

namespace sardonyx::optimizer {
namespace {

// Of what only repeats or fills (kNoFold), so that what is computed from it can be folded.
constexpr std::size_t kFillBytes = std::size_t{256} << 10;

// Of all filled weights of a graph together: each is packed once, as one from a file would be, instead of on every run.
constexpr std::size_t kFilledWeightBytes = std::size_t{1} << 30;

class Folder {
 public:
  // filled: bytes of the weights that an outer graph filled so far; null for the outermost.
  Folder(Graph& graph, PassContext& context, bool keep_quantized, std::size_t* filled = nullptr)
      : graph_(graph),
        context_(context),
        keep_quantized_(keep_quantized),
        filled_(filled != nullptr ? filled : &own_filled_) {}

  bool Run() {
    for (const NodeId id : OwnNodes(graph_)) {
      CheckTime();
      std::string why;
      if (!InferAgain(graph_, id, context_.registry, context_.logger, &why)) {
        context_.No(graph_, id, "it cannot work: ", why);
        continue;
      }
      if (FoldShapeData(id) || FoldNode(id)) {
        changed_ = true;
        continue;
      }
      bool body_changed = false;
      for (Graph* body : graph_.node(id).Subgraphs())
        body_changed |= Folder(*body, context_, keep_quantized_, filled_).Run();
      if (body_changed) graph_.RefreshCaptures(id);
      changed_ |= body_changed;
    }
    return changed_;
  }

 private:
  // The value's users read a constant; what the user asked for by name keeps its node.
  bool Replace(NodeId id, std::vector<Value> results) {
    const Node& node = graph_.node(id);
    bool any_output = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (output == kNoValue) continue;
      if (graph_.value(output).is_output) {
        any_output = true;
        continue;
      }
      if (graph_.UseCount(output) == 0 || !results[i].is_tensor()) continue;
      graph_.ReplaceUses(output, graph_.AddConstant(graph_.value(output).name, std::move(results[i].tensor())));
    }
    if (any_output) return true;
    const std::vector<ValueId> inputs = node.inputs;
    graph_.EraseNode(id);
    for (const ValueId input : inputs)
      if (input != kNoValue) DropIfUnused(graph_, input);
    return true;
  }

  // Shape of a value whose shape is known, and arithmetic on it.
  bool FoldShapeData(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || node.outputs[0] == kNoValue || node.op_type == "Constant") return false;
    const ValueInfo& value = graph_.value(node.outputs[0]);
    if (!value.shape_data || value.is_output || value.type.dtype != DType::kInt64 || !value.type.HasStaticShape())
      return false;
    const auto& data = *value.shape_data;
    if (!std::all_of(data.begin(), data.end(), [](const Dim& d) { return d.known(); })) return false;
    Tensor tensor(DType::kInt64, value.type.StaticShape());
    if (tensor.count() != static_cast<std::int64_t>(data.size())) return false;
    for (std::size_t i = 0; i < data.size(); ++i) tensor.data<std::int64_t>()[i] = data[i].number();
    std::vector<Value> results;
    results.emplace_back(std::move(tensor));
    return Replace(id, std::move(results));
  }

  // An input that is no constant, where others are; nullptr if there is none.
  const ValueInfo* OpenInput(const Node& node) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input != kNoValue && graph_.value(input).constant() == nullptr && !OnlyItsTypeCounts(node, i))
        return &graph_.value(input);
    }
    return nullptr;
  }

  bool IsFoldable(const Node& node) const {
    const ops::OpDef* op = context_.registry.Find(node.domain, node.op_type, node.since_version);
    if (op == nullptr) return false;
    if (const ValueInfo* open = OpenInput(node))
      return context_.FarFrom(graph_, node.id, "'", open->name, "' is not constant");
    if ((op->traits & ops::kCustom) != 0) return context_.No(graph_, node.id, "custom operators are never folded");
    if ((op->traits & ops::kRandom) != 0) return context_.No(graph_, node.id, "it draws random numbers");
    if (!node.Subgraphs().empty()) return context_.FarFrom(graph_, node.id, "nodes with bodies are not folded");
    if (keep_quantized_ && IsDequantize(node) && MayFeedIntegers(graph_, context_.registry, node.outputs[0]))
      return context_.FarFrom(graph_, node.id, "an integer operator may take what it dequantizes");
    if (context_.keep_dequantization && IsDequantize(node))
      return context_.No(graph_, node.id, "'session.disable_qdq_constant_folding' keeps what dequantizes constants");
    const bool only_for_user = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return output == kNoValue || graph_.value(output).is_output || graph_.UseCount(output) == 0;
    });
    if (only_for_user) return context_.No(graph_, node.id, "only the user reads its result, which keeps its node");
    if (IsLeftToProducts(node) || (!context_.fold_half_weights && WidensWeights(graph_, node, context_.registry)))
      return context_.No(graph_, node.id, "the product that reads it packs the constant itself");
    if (const std::size_t bytes = KnownBytes(node); bytes > context_.fold_limit)
      return context_.No(graph_, node.id, "its results have ", bytes, " bytes, the limit is ", context_.fold_limit);
    std::size_t limit = context_.max_fold_bytes;
    if ((op->traits & ops::kNoFold) != 0)
      limit = IsWeight(node) ? kFilledWeightBytes - std::min(kFilledWeightBytes, *filled_) : kFillBytes;
    const bool small = std::all_of(node.outputs.begin(), node.outputs.end(),
                                   [&](ValueId output) { return output == kNoValue || IsSmall(node, output, limit); });
    return small || context_.No(graph_, node.id, "its result is larger than ", limit, " bytes and than its inputs");
  }

  // Of all results of which the size is known before they are computed.
  std::size_t KnownBytes(const Node& node) const {
    std::size_t bytes = 0;
    for (const ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      const Type& type = graph_.value(output).type;
      if (type.is_tensor() && type.dtype != DType::kUndefined && type.HasStaticShape())
        bytes += ByteSize(type.dtype, ElementCount(type.StaticShape()));
    }
    return bytes;
  }

  // The second operand of CastLike.
  bool OnlyItsTypeCounts(const Node& node, std::size_t input) const {
    const Type& type = graph_.value(node.inputs[input]).type;
    return input == 1 && node.domain.empty() && node.op_type == "CastLike" && type.is_tensor() &&
           type.dtype != DType::kUndefined;
  }

  // See PassContext::min_kept_transpose_bytes.
  bool IsLeftToProducts(const Node& node) const {
    if (!node.domain.empty() || node.op_type != "Transpose") return false;
    const ValueInfo& transposed = graph_.value(node.outputs[0]);
    if (graph_.value(node.inputs[0]).constant()->byte_size() < context_.min_kept_transpose_bytes) return false;
    if (graph_.value(node.inputs[0]).type.rank() != 2 || transposed.is_output || transposed.consumers.size() != 1)
      return false;
    const Node& reader = graph_.node(transposed.consumers[0]);
    return Is(reader, "MatMul") && reader.inputs[1] == node.outputs[0] && IsFloatKind(transposed.type.dtype);
  }
  static bool IsFloatKind(DType dtype) {
    return dtype == DType::kFloat || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  }

  // Whether a product will keep the result in its own form, instead of what is computed here.
  bool IsWeight(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      if (output == kNoValue) return false;
      const std::vector<NodeId>& users = graph_.value(output).consumers;
      return std::any_of(users.begin(), users.end(), [&](NodeId user) {
        const Node& product = graph_.node(user);
        return PacksWeights(product) && product.inputs.size() > 1 && product.inputs[1] == output;
      });
    });
  }

  bool PacksWeights(const Node& node) const {
    const ops::OpDef* op = context_.registry.Find(node.domain, node.op_type, node.since_version);
    return op != nullptr && (op->traits & ops::kPacksWeights) != 0;
  }

  bool IsSmall(const Node& node, ValueId output, std::size_t limit) const {
    const Type& type = graph_.value(output).type;
    if (type.kind != TypeKind::kTensor && type.kind != TypeKind::kNone) return false;
    if (!type.is_tensor() || type.dtype == DType::kUndefined || !type.HasStaticShape())
      return limit == context_.max_fold_bytes;  // found out when it is computed
    std::size_t inputs = 0;
    for (const ValueId input : node.inputs) {
      const Tensor* constant = input == kNoValue ? nullptr : graph_.value(input).constant();
      inputs += constant != nullptr ? constant->byte_size() : 0;
    }
    const std::size_t bytes = ByteSize(type.dtype, ElementCount(type.StaticShape()));
    return bytes <= std::max(inputs, limit);
  }

  bool FoldNode(NodeId id) {
    const Node& node = graph_.node(id);
    if (!IsFoldable(node)) return false;
    std::vector<Value> inputs;
    for (const ValueId input : node.inputs) {
      const Tensor* constant = input == kNoValue ? nullptr : graph_.value(input).constant();
      if (constant != nullptr) {
        inputs.emplace_back(*constant);
      } else {
        inputs.push_back(input == kNoValue ? Value() : Value(Tensor(graph_.value(input).type.dtype, Shape{0})));
      }
    }
    ops::EvaluateOptions options;
    options.parallel = context_.parallel;
    options.max_output_bytes =
        std::min(context_.fold_limit, std::max<std::size_t>(context_.max_fold_bytes, std::size_t{1} << 31));
    std::vector<Value> results;
    try {
      results = ops::EvaluateNode(graph_, node, context_.registry, inputs, options);
    } catch (const Error& error) {
      // Not folding is always right: the node says the same when it runs, if it runs.
      if (context_.logger != nullptr) context_.logger->Info("not folded: ", error.what());
      return context_.No(graph_, id, "it cannot be computed: ", error.what());
    }
    const bool tensors =
        std::all_of(results.begin(), results.end(), [](const Value& v) { return !v.has_value() || v.is_tensor(); });
    if (!tensors) return false;
    const ops::OpDef* op = context_.registry.Find(node.domain, node.op_type, node.since_version);
    if ((op->traits & ops::kNoFold) != 0 && IsWeight(node))
      for (const Value& result : results) *filled_ += result.has_value() ? result.tensor().byte_size() : 0;
    return Replace(id, std::move(results));
  }

  Graph& graph_;
  PassContext& context_;
  bool keep_quantized_;
  std::size_t own_filled_ = 0;
  std::size_t* filled_;
  bool changed_ = false;
};

bool FoldConstants(Graph& graph, PassContext& context) { return Folder(graph, context, false).Run(); }
bool HasDequantization(const Graph& graph) {
  return std::any_of(graph.order.begin(), graph.order.end(), [&](NodeId id) {
    const std::vector<const Graph*> bodies = graph.node(id).Subgraphs();
    return IsDequantize(graph.node(id)) ||
           std::any_of(bodies.begin(), bodies.end(), [](const Graph* body) { return HasDequantization(*body); });
  });
}
bool FoldQuantized(Graph& graph, PassContext& context) {
  return HasDequantization(graph) && Folder(graph, context, false).Run();
}
bool FoldUnquantized(Graph& graph, PassContext& context) { return Folder(graph, context, true).Run(); }

}  // namespace

constinit const Pass kFoldConstants = {.name = "fold_constants", .level = Level::kBasic, .run = FoldConstants};
constinit const Pass kFoldUnquantizedConstants = {
    .name = "fold_constants", .level = Level::kBasic, .run = FoldUnquantized};
constinit const Pass kFoldQuantizedConstants = {.name = "fold_constants", .level = Level::kBasic, .run = FoldQuantized};

}  // namespace sardonyx::optimizer
