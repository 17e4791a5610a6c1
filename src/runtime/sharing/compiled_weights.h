// runtime/sharing/compiled_weights.h - the packed weights of a compiled model, by node.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/logging.h"
#include "ir/graph.h"
#include "model/compiled_file.h"
#include "ops/prepare_context.h"

namespace sardonyx::runtime {

// Either the weights that a file has, or those that a session packs to be written to one. Sessions of a compiled model
// skip the optimizer's passes: its graph has gone through them. One session at a time may add weights.
class CompiledWeights {
 public:
  CompiledWeights() = default;  // of a model that is being compiled
  // Of a file. If they were packed for another CPU or by another packer, they are not used, and `logger` is told.
  CompiledWeights(model::CompiledParts parts, const Logger& logger);

  // What the weights of a node are known by: all of its form but the constants' contents, which the file has, too.
  // Nodes of other providers have none.
  static Digest KeyOf(const Graph& graph, const Node& node, std::span<const ops::PrepareContext::Input> inputs,
                      std::span<const Type> outputs, bool rounds_to_bf16);

  // Null if the file has none, or none that fit.
  const std::vector<Tensor>* Find(const Digest& key) const;
  // Keeps what was packed if the model is being compiled.
  void Add(const Digest& key, const std::vector<Tensor>& packed);
  // Everything that was added, for the file.
  model::CompiledParts Parts() const;
  // Nodes whose weights were taken from the file, for tests.
  std::uint64_t hits() const { return hits_; }

 private:
  bool is_new_ = true;
  std::map<Digest, std::vector<Tensor>> nodes_;
  mutable std::atomic<std::uint64_t> hits_ = 0;
};

}  // namespace sardonyx::runtime
