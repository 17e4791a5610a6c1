// runtime/sharing/compiled_weights.cpp - keys of packed weights, and whether they fit this machine.
#include "runtime/sharing/compiled_weights.h"

#include <string_view>
#include <utility>

#include "kernels/packed_form.h"

namespace sardonyx::runtime {

CompiledWeights::CompiledWeights(model::CompiledParts parts, const Logger& logger) : is_new_(false) {
  const std::string form = kernels::PackedForm();
  if (parts.packed_for != form) {
    logger.Warn("the compiled model's weights are packed for (", parts.packed_for, "), this session needs (", form,
                "): they are packed again, as for any other model");
    return;
  }
  for (model::PackedNode& node : parts.nodes) nodes_.emplace(node.key, std::move(node.tensors));
}

Digest CompiledWeights::KeyOf(const Graph& graph, const Node& node, std::span<const ops::PrepareContext::Input> inputs,
                              std::span<const Type> outputs, bool rounds_to_bf16) {
  std::string text = node.domain + "\n" + node.op_type + "\n" + std::to_string(node.since_version) + "\n";
  for (const ValueId output : node.outputs) {
    text += output == kNoValue ? "" : graph.value(output).name;
    text += '\n';
  }
  for (const ops::PrepareContext::Input& input : inputs) {
    text += input.present ? input.type.ToText() : "none";
    text += input.constant != nullptr ? " constant\n" : "\n";
  }
  for (const Type& output : outputs) text += output.ToText() + "\n";
  if (rounds_to_bf16) text += "bf16\n";
  return DigestOf(std::as_bytes(std::span(text)));
}

const std::vector<Tensor>* CompiledWeights::Find(const Digest& key) const {
  if (is_new_) return nullptr;
  const auto found = nodes_.find(key);
  if (found == nodes_.end()) return nullptr;
  ++hits_;
  return &found->second;
}

void CompiledWeights::Add(const Digest& key, const std::vector<Tensor>& packed) {
  if (is_new_ && !packed.empty()) nodes_.emplace(key, packed);
}

model::CompiledParts CompiledWeights::Parts() const {
  model::CompiledParts parts;
  parts.packed_for = kernels::PackedForm();
  for (const auto& [key, tensors] : nodes_) parts.nodes.push_back({key, tensors});
  return parts;
}

}  // namespace sardonyx::runtime
