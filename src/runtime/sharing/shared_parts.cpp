// runtime/sharing/shared_parts.cpp - finds equal parts by comparing a few of their properties, then all of them.
#include "runtime/sharing/shared_parts.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/lasting.h"
#include "ir/equal.h"
#include "tensor/dropped_bytes.h"
#include "tensor/shared_bytes.h"

namespace sardonyx::runtime {
namespace {

// Of equal keys; more than one happens where parts differ in details. The search must stay short all the same.
constexpr std::size_t kMaxCandidates = 8;

template <typename Part>
class Store {
 public:
  // A part of this key that is the same as `own`, which is added if there is none. Of parts that come at once each
  // meets the others: equal ones all become the first.
  template <typename IsSame>
  std::shared_ptr<const Part> FindOrAdd(std::size_t key, const std::shared_ptr<const Part>& own, IsSame same) {
    std::vector<std::shared_ptr<const Part>> compared;
    for (;;) {
      std::shared_ptr<const Part> next = NextOrAdd(key, own, compared);
      if (next == own || same(*next, *own)) return next;
      compared.push_back(std::move(next));
    }
  }

 private:
  static constexpr std::size_t kFirstSweep = 16;

  std::shared_ptr<const Part> NextOrAdd(std::size_t key, const std::shared_ptr<const Part>& own,
                                        const std::vector<std::shared_ptr<const Part>>& compared) {
    const std::scoped_lock lock(mutex_);
    const auto [begin, end] = parts_.equal_range(key);
    for (auto it = begin; it != end && compared.size() < kMaxCandidates; ++it) {
      std::shared_ptr<const Part> part = it->second.lock();
      if (part && std::find(compared.begin(), compared.end(), part) == compared.end()) return part;
    }
    if (parts_.size() >= sweep_at_) {
      std::erase_if(parts_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = 2 * parts_.size() + kFirstSweep;
    }
    parts_.emplace(key, own);
    return own;
  }

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const Part>> parts_;  // sessions decide how long they live
  std::size_t sweep_at_ = kFirstSweep;
};

// Lasting: sessions in static objects may outlive this file's own.
template <typename Part>
Store<Part>& TheStore() {
  static constinit Lasting<Store<Part>, MakeDefault<Store<Part>>> store;
  return *store;
}

std::size_t Mixed(std::initializer_list<std::size_t> parts) {
  std::size_t sum = 0;
  for (const std::size_t part : parts) {
    sum = (sum ^ part) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 29;
  }
  return sum;
}

std::size_t HashOf(std::string_view text) { return std::hash<std::string_view>()(text); }

std::size_t KeyOf(const Graph& graph) {
  return Mixed({graph.nodes.size(), graph.values.size(), graph.inputs.size(), graph.outputs.size(), HashOf(graph.name),
                graph.order.empty() ? 0 : HashOf(graph.node(graph.order.back()).name)});
}

// Large contents are shared before, so that equal ones have one address.
std::size_t KeyOf(const Initializer& initializer) {
  const Tensor& tensor = initializer.tensor;
  std::size_t contents = 0;
  if (tensor.byte_size() >= kSharedBytes || !tensor.device().IsHost()) {
    contents = std::hash<const void*>()(tensor.raw());
  } else if (IsString(tensor.dtype())) {
    for (const std::string& text : tensor.span<std::string>()) contents = Mixed({contents, HashOf(text)});
  } else if (tensor.byte_size() != 0) {
    contents = HashOf({static_cast<const char*>(tensor.raw()), tensor.byte_size()});
  }
  return Mixed({static_cast<std::size_t>(tensor.dtype()), tensor.shape().rank(),
                static_cast<std::size_t>(tensor.count()), static_cast<std::size_t>(initializer.kind), contents});
}

// Whether the graphs hold the very same constants, but for bytes that are gone.
bool HaveTheSameConstants(const Graph& a, const Graph& b) {
  for (std::size_t id = 0; id < a.values.size(); ++id) {
    const auto &x = a.values[id].initializer, &y = b.values[id].initializer;
    if (x != y && (HasData(x->tensor) || HasData(y->tensor))) return false;
  }
  return std::all_of(a.order.begin(), a.order.end(), [&](NodeId id) {
    const std::vector<const Graph*> bodies = a.node(id).Subgraphs(), others = b.node(id).Subgraphs();
    return std::equal(bodies.begin(), bodies.end(), others.begin(),
                      [](const Graph* x, const Graph* y) { return HaveTheSameConstants(*x, *y); });
  });
}

}  // namespace

std::shared_ptr<const Model> SharedModel(std::shared_ptr<const Model> own) {
  const std::size_t key = Mixed({HashOf(own->path), own->functions.size(), KeyOf(own->graph)});
  return TheStore<Model>().FindOrAdd(key, own, [](const Model& a, const Model& b) { return Same(a, b); });
}

std::shared_ptr<const Initializer> SharedInitializer(std::shared_ptr<const Initializer> own) {
  const std::size_t key = KeyOf(*own);
  return TheStore<Initializer>().FindOrAdd(key, own,
                                           [](const Initializer& a, const Initializer& b) { return Same(a, b); });
}

ops::Prepared ReadyGraph::Share(const Node& node, const ops::OpDef& op, ops::Prepared own) const {
  const std::scoped_lock lock(mutex_);
  const State& state = states_.try_emplace(&node, State{&op, own}).first->second;
  return state.op == &op ? state.prepared : own;  // environments may know another operator by this name
}

std::shared_ptr<const ReadyGraph> SharedGraph(std::unique_ptr<const ReadyGraph> own) {
  const std::size_t key = KeyOf(own->graph());
  return TheStore<ReadyGraph>().FindOrAdd(key, std::move(own), [](const ReadyGraph& a, const ReadyGraph& b) {
    return Same(a.graph(), b.graph()) && HaveTheSameConstants(a.graph(), b.graph());
  });
}

}  // namespace sardonyx::runtime
