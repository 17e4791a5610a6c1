// runtime/sharing/packed_weights.h - what kernels made of nodes with constant weights, kept for the next session that
// has the same ones.
//
// Sessions of one process share equal parts anyway (runtime/sharing/shared_parts.h), but not what was packed from
// weights that are then freed: there is nothing left to compare. Here weights are known by a digest of 128 bits
// instead.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "ir/graph.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"

namespace sardonyx::runtime {

// All functions are thread-safe.
class PackedWeights {
 public:
  // What a kernel's state depends on.
  struct Key {
    struct Input {
      Type type;
      bool present = false, is_constant = false;
      Shape shape;  // of the constant
      Digest digest = {};
      bool operator==(const Input&) const = default;
    };
    const ops::OpDef* op = nullptr;
    Node node;  // its attributes
    std::vector<Input> inputs;
    std::vector<Type> outputs;
    int threads = 0;
    bool rounds_to_bf16 = false;
  };
  struct Entry {
    ops::Prepared prepared;
    std::vector<bool> packed;  // by input: the kernel does not read the constant
    Tensor weights;            // as the kernel reads them; undefined: none, or few
  };

  // nullopt where nothing can be shared: without constant weights, for other providers' kernels, for operators that
  // have bodies or count their runs.
  static std::optional<Key> KeyOf(const Graph& graph, const Node& node, const ops::OpDef& op,
                                  std::span<const ops::PrepareContext::Input> inputs, std::span<const Type> outputs,
                                  int threads);

  std::optional<Entry> Find(const Key& key) const;
  // Keeps `entry`, and the constants of the node that its kernel reads in every run; returns the kernel that the first
  // of several threads added.
  ops::Prepared Add(Key key, const Graph& graph, const Node& node, Entry entry);
  std::size_t size() const;

 private:
  struct Kept {
    Key key;
    Entry entry;
    std::vector<std::shared_ptr<const Initializer>> constants;  // that the kernel reads
  };
  const Kept* FindKept(const Key& key) const;  // under mutex_

  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, Kept> kept_;  // by digest of the first weight
};

// Whether sessions that allow bf16 gain from weights that are packed in it: this CPU multiplies such numbers faster.
bool GainsFromBf16();

}  // namespace sardonyx::runtime
