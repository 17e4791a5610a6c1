// runtime/sharing/packed_weights.cpp - finds packed weights by what they were made from.
#include "runtime/sharing/packed_weights.h"

#include <algorithm>
#include <utility>

#include "ir/equal.h"
#include "kernels/packed_form.h"
#include "kernels/packed_form.h"
#include "providers/provider.h"
#include "tensor/dropped_bytes.h"

namespace sardonyx::runtime {
namespace {

constexpr std::size_t kWorthSharing = 4096;  // bytes of a constant

// Text and what is not on the host has no bytes to compare.
bool HasBytes(const Tensor& tensor) { return HasData(tensor) && tensor.device().IsHost() && !IsString(tensor.dtype()); }

std::uint64_t BucketOf(const PackedWeights::Key& key) {
  for (const PackedWeights::Key::Input& input : key.inputs)
    if (input.is_constant) return input.digest[0];
  return 0;
}

bool AreEqual(const PackedWeights::Key& a, const PackedWeights::Key& b) {
  return a.op == b.op && a.threads == b.threads && a.rounds_to_bf16 == b.rounds_to_bf16 && a.inputs == b.inputs &&
         a.outputs == b.outputs && SameAttributes(a.node, b.node);
}

}  // namespace

std::optional<PackedWeights::Key> PackedWeights::KeyOf(const Graph& /*graph*/, const Node& node, const ops::OpDef& op,
                                                       std::span<const ops::PrepareContext::Input> inputs,
                                                       std::span<const Type> outputs, int threads) {
  if (node.provider != providers::kCpuName || (op.traits & ops::kRandom) != 0 || !node.Subgraphs().empty())
    return std::nullopt;
  const auto weighs = [](const ops::PrepareContext::Input& input) {
    return input.constant != nullptr && input.constant->byte_size() >= kWorthSharing;
  };
  if (std::none_of(inputs.begin(), inputs.end(), weighs)) return std::nullopt;
  Key key;
  key.op = &op;
  key.node.attributes = node.attributes;
  key.outputs.assign(outputs.begin(), outputs.end());
  key.threads = threads;
  for (const ops::PrepareContext::Input& input : inputs) {
    Key::Input& known = key.inputs.emplace_back();
    known.type = input.type;
    known.present = input.present;
    if (input.constant == nullptr) continue;
    if (!HasBytes(*input.constant)) return std::nullopt;
    known.is_constant = true;
    known.shape = input.constant->shape();
    known.digest = DigestOf({static_cast<const std::byte*>(input.constant->raw()), input.constant->byte_size()});
  }
  return key;
}

const PackedWeights::Kept* PackedWeights::FindKept(const Key& key) const {
  const auto [begin, end] = kept_.equal_range(BucketOf(key));
  const auto found = std::find_if(begin, end, [&](const auto& entry) { return AreEqual(entry.second.key, key); });
  return found == end ? nullptr : &found->second;
}

std::optional<PackedWeights::Entry> PackedWeights::Find(const Key& key) const {
  const std::scoped_lock lock(mutex_);
  const Kept* kept = FindKept(key);
  return kept == nullptr ? std::nullopt : std::optional(kept->entry);
}

ops::Prepared PackedWeights::Add(Key key, const Graph& graph, const Node& node, Entry entry) {
  if (std::none_of(entry.packed.begin(), entry.packed.end(), [](bool is) { return is; })) return entry.prepared;
  Kept kept{std::move(key), std::move(entry), {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] != kNoValue && kept.key.inputs[i].is_constant && !kept.entry.packed[i])
      kept.constants.push_back(graph.value(node.inputs[i]).initializer);
  const std::scoped_lock lock(mutex_);
  if (const Kept* other = FindKept(kept.key)) return other->entry.prepared;
  const std::uint64_t bucket = BucketOf(kept.key);
  return kept_.emplace(bucket, std::move(kept))->second.entry.prepared;
}

std::size_t PackedWeights::size() const {
  const std::scoped_lock lock(mutex_);
  return kept_.size();
}

bool GainsFromBf16() { return kernels::GainsFromBf16(); }

}  // namespace sardonyx::runtime
