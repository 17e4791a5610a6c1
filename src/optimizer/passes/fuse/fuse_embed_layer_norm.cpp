// optimizer/passes/fuse/fuse_embed_layer_norm.cpp - the sum of two or three embeddings before a LayerNormalization
// becomes part of it: com.microsoft EmbedLayerNormalization.
//
// Each summand is Gather(table, indices) or, for positions, rows that constant folding has already gathered. The node's
// indices are int32, so int64 ones get a Cast; positions that count from zero are what it takes without indices. Nodes
// that read the sizes of a summand read those of its indices instead. If other nodes read the sum too, the node returns
// it as output 2.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"
#include "optimizer/shapes/position_factors.h"

namespace sardonyx::optimizer {
namespace {

struct Embedding {
  ValueId table = kNoValue, indices = kNoValue;         // no indices: row s of the table is that of position s
  bool shared = false;                                  // the same rows for the whole batch
  ValueId gathered = kNoValue, gathered_at = kNoValue;  // the summand and its indices, if a node gathers it
};

class EmbedFuser {
 public:
  EmbedFuser(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    if (!IsPlainNorm(graph_.node(id))) return false;
    const Node norm = graph_.node(id);
    const ValueId sum = norm.inputs[0];
    std::vector<ValueId> summands;
    if (!CollectSummands(sum, 0, TypeOf(sum), &summands) || summands.size() < 2 || summands.size() > 3)
      return context_.No(graph_, id, "expected a sum of two or three embeddings before it");
    std::vector<Embedding> embeddings;
    for (const ValueId summand : summands) {
      const auto embedding = EmbeddingOf(summand, TypeOf(sum));
      if (!embedding) return context_.No(graph_, id, "'", graph_.value(summand).name, "' is not an embedding");
      embeddings.push_back(*embedding);
    }
    if (!PutInOrder(&embeddings)) return context_.No(graph_, id, "expected one embedding for each token and position");
    if (graph_.value(sum).is_output) return context_.No(graph_, id, "the sum is an output of the graph");
    Fuse(norm, sum, embeddings);
    return true;
  }

 private:
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }
  static bool IsSize1(const Dim& d) { return d.known() && d.number() == 1; }

  // Over the last axis of [batch, sequence, hidden], with scale and bias, and no further output.
  bool IsPlainNorm(const Node& node) const {
    if (!node.domain.empty() || node.op_type != "LayerNormalization" || node.inputs.size() != 3) return false;
    const Type& x = TypeOf(node.inputs[0]);
    if (!x.has_rank || x.rank() != 3 || (x.dtype != DType::kFloat && x.dtype != DType::kFloat16)) return false;
    const std::int64_t axis = IntAttribute(node, "axis", -1);
    const bool plain = (axis == -1 || axis == 2) && IntAttribute(node, "stash_type", 1) == 1;
    for (std::size_t i = 1; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue && graph_.UseCount(node.outputs[i]) != 0) return false;
    for (const std::size_t i : {1u, 2u}) {
      const Type& parameter = TypeOf(node.inputs[i]);
      if (!parameter.has_rank || parameter.rank() != 1 || parameter.dtype != x.dtype) return false;
      if (graph_.value(node.inputs[i]).producer != kNoNode) return false;  // it may depend on the sum
    }
    return plain && HasOperator(context_.registry, "com.microsoft", "EmbedLayerNormalization");
  }

  // The leaves of a tree of sums that nothing else reads; the sum itself may have other readers.
  bool CollectSummands(ValueId value, int depth, const Type& y, std::vector<ValueId>* summands) const {
    const Node* add = ProducerOf(graph_, value, "Add");
    const bool inner = add != nullptr && (depth == 0 || SoleReader(graph_, value) != kNoNode);
    if (depth > 0 && !inner) {
      summands->push_back(value);
      return true;
    }
    return inner && depth < 3 && CollectSummands(add->inputs[0], depth + 1, y, summands) &&
           CollectSummands(add->inputs[1], depth + 1, y, summands);
  }

  std::optional<Embedding> EmbeddingOf(ValueId value, const Type& y) const {
    const Type& type = TypeOf(value);
    if (!type.has_rank || type.dtype != y.dtype || type.rank() < 2 || !SameDim(type.dims.back(), y.dims[2]))
      return std::nullopt;
    const bool shared = type.rank() == 2 || IsSize1(type.dims[0]);
    const Dim& rows = type.dims[type.rank() - 2];
    if (!shared && !SameDim(type.dims[0], y.dims[0])) return std::nullopt;
    if (graph_.value(value).constant() != nullptr && shared && SameDim(rows, y.dims[1]))
      return Embedding{value, kNoValue, true};
    const Node* gather = ProducerOf(graph_, value, "Gather");
    if (gather == nullptr || IntAttribute(*gather, "axis", 0) != 0 || type.rank() != 3) return std::nullopt;
    const Type &table = TypeOf(gather->inputs[0]), &indices = TypeOf(gather->inputs[1]);
    const bool fits = table.has_rank && table.rank() == 2 && indices.has_rank && indices.rank() == 2 &&
                      (indices.dtype == DType::kInt32 || indices.dtype == DType::kInt64);
    if (!fits || !IsFree(value)) return std::nullopt;
    if (!SameDim(rows, y.dims[1]) && !IsCutTo(gather->inputs[1], y.dims[1])) return std::nullopt;
    const ValueId at = gather->inputs[1];
    if (CountsFromZero(at)) return Embedding{gather->inputs[0], kNoValue, true, value, at};
    return Embedding{gather->inputs[0], at, shared && !SameDim(type.dims[0], y.dims[0]), value, at};
  }

  // The sum alone reads it, besides nodes that read its sizes.
  bool IsFree(ValueId value) const {
    const ValueInfo& info = graph_.value(value);
    const auto others = std::count_if(info.consumers.begin(), info.consumers.end(),
                                      [&](NodeId id) { return !Is(graph_.node(id), "Shape"); });
    return others == 1 && !info.is_output && info.type.dims.back().known();
  }

  // Row by row 0, 1, 2, ...
  bool CountsFromZero(ValueId indices) const {
    const auto factors = PositionFactors(graph_, indices);
    if (!factors || factors->size() != 2) return false;
    const Dim& size = TypeOf(indices).dims[1];
    return SameDim((*factors)[0], Dim(0)) && !IsSize1(size) && SameDim((*factors)[1], Dim(1));
  }

  // Shape(Gather(table, indices)) becomes that of the indices, with the table's width behind.
  void MoveSizes(Rewrite& rewrite, const Embedding& embedding) const {
    if (embedding.gathered == kNoValue) return;
    const Dim width = TypeOf(embedding.gathered).dims.back();
    const std::vector<NodeId> readers = graph_.value(embedding.gathered).consumers;
    for (const NodeId id : readers) {
      if (graph_.node(id).erased || !Is(graph_.node(id), "Shape")) continue;
      const auto place = [&](const char* name, std::int64_t usual) {
        const std::int64_t given = IntAttribute(graph_.node(id), name, usual);
        return std::clamp<std::int64_t>(given < 0 ? given + 3 : given, 0, 3);
      };
      const std::int64_t begin = place("start", 0), end = place("end", 3), cut = std::min<std::int64_t>(end, 2);
      ValueId sizes = begin >= end || begin < cut ? rewrite.Add("Shape", {embedding.gathered_at},
                                                                {{"start", std::min(begin, cut)}, {"end", cut}})
                                                  : kNoValue;
      if (end == 3 && begin < 3) {
        const ValueId last = rewrite.Ints({width.number()});
        sizes = sizes == kNoValue ? last : rewrite.Add("Concat", {sizes, last}, {{"axis", std::int64_t{0}}});
      }
      rewrite.Replace(graph_.node(id).outputs[0], sizes);
    }
  }

  // The first `size` of two or more positions, as models cut them from a table: fewer would not fit the sum.
  bool IsCutTo(ValueId indices, const Dim& size) const {
    const Node* slice = ProducerOf(graph_, indices, "Slice");
    if (slice == nullptr || slice->inputs.size() < 4) return false;
    const Type& all = TypeOf(slice->inputs[0]);
    const auto begin = IntsOf(graph_, slice->inputs[1]), axis = IntsOf(graph_, slice->inputs[3]);
    const auto& end = graph_.value(slice->inputs[2]).shape_data;
    const bool along_rows = axis && axis->size() == 1 && (axis->front() == 1 || axis->front() == -1);
    const bool forward = slice->inputs.size() < 5 || ScalarOf(graph_, slice->inputs[4]) == 1.0;
    return all.has_rank && all.rank() == 2 && all.dims[1].known() && all.dims[1].number() > 1 && along_rows &&
           forward && begin && begin->size() == 1 && begin->front() == 0 && end && end->size() == 1 &&
           SameDim(end->front(), size);
  }

  // Tokens first, then positions: the one that the batch shares, or else any.
  static bool PutInOrder(std::vector<Embedding>* embeddings) {
    const auto shared = std::count_if(embeddings->begin(), embeddings->end(),
                                      [](const Embedding& e) { return e.shared || e.indices == kNoValue; });
    if (shared > 1) return false;
    std::stable_sort(embeddings->begin(), embeddings->end(), [](const Embedding& a, const Embedding& b) {
      return (a.shared || a.indices == kNoValue) < (b.shared || b.indices == kNoValue);
    });
    if (embeddings->size() == 3 && shared == 1) std::swap((*embeddings)[1], (*embeddings)[2]);
    return true;
  }

  ValueId NarrowIndices(Rewrite& rewrite, ValueId indices) const {
    if (indices == kNoValue || TypeOf(indices).dtype == DType::kInt32) return indices;
    const Node* cast = ProducerOf(graph_, indices, "Cast");
    if (cast != nullptr && TypeOf(cast->inputs[0]).dtype == DType::kInt32) return cast->inputs[0];
    return rewrite.Add("Cast", {indices}, {{"to", static_cast<std::int64_t>(DType::kInt32)}});
  }

  void Fuse(const Node& norm, ValueId sum, const std::vector<Embedding>& embeddings) {
    context_.Yes(graph_, norm.id, "takes in the sum of ", embeddings.size(), " embeddings");
    Rewrite rewrite(graph_, context_.registry, norm.id);
    const Embedding &words = embeddings[0], &positions = embeddings[1];
    const Embedding segments = embeddings.size() > 2 ? embeddings[2] : Embedding();
    for (const Embedding& each : embeddings) MoveSizes(rewrite, each);
    ValueId rows = positions.table;
    if (TypeOf(rows).rank() == 3) {
      const std::vector<Dim> dims = TypeOf(rows).dims;
      rows = rewrite.Add("Reshape", {rows, rewrite.Ints({dims[1].number(), dims[2].number()})});
    }
    const AttributeValue* epsilon = norm.FindAttribute("epsilon");
    const ValueId y = rewrite.Add(
        "com.microsoft", "EmbedLayerNormalization",
        {NarrowIndices(rewrite, words.indices), NarrowIndices(rewrite, segments.indices), words.table, rows,
         segments.table, norm.inputs[1], norm.inputs[2], kNoValue, NarrowIndices(rewrite, positions.indices)},
        {{"epsilon", epsilon != nullptr ? *epsilon : AttributeValue(1e-5f)}});
    const NodeId fused = graph_.value(y).producer;
    rewrite.Replace(norm.outputs[0], y);
    if (graph_.UseCount(sum) != 0) {  // the next residual connection reads it
      const NodeId add = graph_.value(sum).producer;
      const std::vector<ValueId> read = graph_.node(add).inputs;
      graph_.EraseNode(add);
      graph_.MoveOutput(fused, 2, sum);
      for (const ValueId each : read) rewrite.DropUnused(each);
    }
  }

  Graph& graph_;
  const PassContext& context_;
};

bool FuseEmbedLayerNorm(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return EmbedFuser(each, context).Try(id); });
}

}  // namespace

constinit const Pass kFuseEmbedLayerNorm = {
    .name = "fuse_embed_layer_norm", .level = Level::kExtended, .run = FuseEmbedLayerNorm};

}  // namespace sardonyx::optimizer
