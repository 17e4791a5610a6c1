// optimizer/passes/eliminate/eliminate_common_subexpressions.cpp - merges nodes that compute the same from the same
// inputs.
//
// Small constants with equal contents are merged first, so that nodes that differ only in such constants are found.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/replace_uses.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kSmallBytes = 4096;  // constants and attributes up to this size are compared by contents

void Append(std::string& key, const void* bytes, std::size_t count) {
  key.append(static_cast<const char*>(bytes), count);
}
template <typename T>
void AppendNumber(std::string& key, T number) {
  Append(key, &number, sizeof(number));
}
void AppendText(std::string& key, std::string_view text) {
  AppendNumber(key, text.size());
  key += text;
}

template <typename T>
bool AppendList(std::string& key, const std::vector<T>& list) {
  if (list.size() > kSmallBytes / sizeof(T)) return false;
  AppendNumber(key, list.size());
  Append(key, list.data(), list.size() * sizeof(T));
  return true;
}

// False for what is not compared: graphs, types, lists of tensors, whatever is large.
bool AppendAttribute(std::string& key, const Attribute& attribute) {
  AppendText(key, attribute.name);
  AppendNumber(key, attribute.value.index());
  if (const auto* real = std::get_if<float>(&attribute.value)) {
    AppendNumber(key, *real);
  } else if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    AppendNumber(key, *integer);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    if (text->size() > kSmallBytes) return false;
    AppendText(key, *text);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    return AppendList(key, *integers);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) {
    return AppendList(key, *reals);
  } else if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) {
    if (IsString(tensor->dtype()) || tensor->byte_size() > kSmallBytes) return false;
    AppendNumber(key, tensor->dtype());
    for (const std::int64_t d : Dims(tensor->shape())) AppendNumber(key, d);
    AppendText(key, {static_cast<const char*>(tensor->raw()), tensor->byte_size()});
  } else {
    return false;
  }
  return true;
}

class Eliminator {
 public:
  Eliminator(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Run() {
    MergeConstants();
    const std::vector<NodeId> order = OwnNodes(graph_);
    seen_.reserve(order.size());
    for (const NodeId id : order) TryNode(id);
    ReplaceUses(graph_, merged_);  // all at once: a node may read every one of them
    graph_.EraseNodes(erased_);
    return !merged_.empty() || !erased_.empty();
  }

 private:
  void MergeConstants() {
    std::unordered_map<std::string, ValueId> first;
    std::string key;
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      const ValueInfo& value = graph_.value(id);
      const Tensor* tensor = value.constant();
      if (tensor == nullptr || value.consumers.empty() || value.is_input || value.is_captured || value.is_output)
        continue;
      if (IsString(tensor->dtype()) || tensor->byte_size() > kSmallBytes) continue;
      key.clear();
      AppendNumber(key, tensor->dtype());
      AppendNumber(key, tensor->shape().rank());
      for (const std::int64_t d : Dims(tensor->shape())) AppendNumber(key, d);
      Append(key, tensor->raw(), tensor->byte_size());
      const auto [at, fresh] = first.try_emplace(key, id);
      if (fresh) continue;
      Merge(id, at->second);
    }
  }

  void Merge(ValueId from, ValueId to) {
    merged_.emplace_back(from, to);
    kept_.emplace(from, to);
  }

  ValueId Kept(ValueId value) const {
    const auto found = kept_.find(value);
    return found == kept_.end() ? value : found->second;
  }

  // Everything that decides what a node computes, as bytes; false for nodes that are not compared.
  bool MakeKey(const Node& node, std::string& key) {
    key.clear();
    const ops::OpDef* op = context_.registry.Find(node.domain, node.op_type, node.since_version);
    if (op == nullptr || (op->traits & ops::kRandom) != 0 || !node.implicit_inputs.empty()) return false;
    AppendText(key, node.op_type);
    AppendText(key, node.domain);
    AppendText(key, node.provider);
    AppendNumber(key, node.since_version);
    AppendNumber(key, node.outputs.size());
    AppendNumber(key, node.inputs.size());
    inputs_.clear();
    for (const ValueId input : node.inputs) inputs_.push_back(Kept(input));
    if ((op->traits & ops::kCommutative) != 0 && inputs_.size() >= 2 && inputs_[0] > inputs_[1])
      std::swap(inputs_[0], inputs_[1]);
    for (const ValueId input : inputs_) AppendNumber(key, input);
    attributes_.clear();
    for (const Attribute& attribute : node.attributes) attributes_.push_back(&attribute);
    std::sort(attributes_.begin(), attributes_.end(),
              [](const Attribute* a, const Attribute* b) { return a->name < b->name; });
    return std::all_of(attributes_.begin(), attributes_.end(),
                       [&](const Attribute* attribute) { return AppendAttribute(key, *attribute); });
  }

  void TryNode(NodeId id) {
    const Node& node = graph_.node(id);
    if (!MakeKey(node, key_)) return;
    const auto [at, fresh] = seen_.try_emplace(std::hash<std::string>()(key_), id);
    if (fresh) return;
    const Node& first = graph_.node(at->second);
    if (!MakeKey(first, first_key_) || first_key_ != key_) return;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      const ValueInfo& value = graph_.value(node.outputs[i]);
      if (value.is_output) {
        context_.No(graph_, id, "it computes the same as ", Describe(graph_, first), ", but '", value.name,
                    "' is an output of the graph");
        return;
      }
      if (first.outputs[i] == kNoValue && !value.consumers.empty()) {
        context_.No(graph_, id, "it computes the same as ", Describe(graph_, first), ", which does not make output ",
                    i);
        return;
      }
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue && first.outputs[i] != kNoValue) Merge(node.outputs[i], first.outputs[i]);
    erased_.push_back(id);
  }

  Graph& graph_;
  const PassContext& context_;
  std::unordered_map<std::size_t, NodeId> seen_;  // by the hash of its key: keys of all nodes would take much memory
  std::string key_, first_key_;
  std::vector<ValueId> inputs_;               // of MakeKey
  std::vector<const Attribute*> attributes_;  // of MakeKey
  std::vector<NodeId> erased_;
  std::vector<std::pair<ValueId, ValueId>> merged_;  // from, to
  std::unordered_map<ValueId, ValueId> kept_;        // the same
};

bool EliminateCommonSubexpressions(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return Eliminator(each, context).Run(); });
}

}  // namespace

constinit const Pass kEliminateCommonSubexpressions = {
    .name = "eliminate_common_subexpressions", .level = Level::kBasic, .run = EliminateCommonSubexpressions};

}  // namespace sardonyx::optimizer
