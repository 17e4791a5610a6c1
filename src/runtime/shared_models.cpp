// runtime/shared_models.cpp - finds equal models by their sizes, then compares all of them.
#include "runtime/shared_models.h"

#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/equal.h"

namespace sardonyx::runtime {
namespace {

// Of equal sizes; more than one happens where models differ in details. The search must stay short all the same.
constexpr std::size_t kMaxCandidates = 8;

std::size_t Fingerprint(const Model& model) {
  std::size_t sum = std::hash<std::string>()(model.path);
  for (const std::size_t part : {model.graph.nodes.size(), model.graph.values.size(), model.graph.outputs.size(),
                                 model.functions.size(), std::hash<std::string>()(model.graph.name)})
    sum = sum * 31 + part;
  return sum;
}

class Store {
 public:
  std::vector<std::shared_ptr<const Model>> Candidates(std::size_t key) {
    std::vector<std::shared_ptr<const Model>> found;
    const std::scoped_lock lock(mutex_);
    std::erase_if(models_, [](const auto& entry) { return entry.second.expired(); });
    const auto [begin, end] = models_.equal_range(key);
    for (auto it = begin; it != end && found.size() < kMaxCandidates; ++it)
      if (std::shared_ptr<const Model> model = it->second.lock()) found.push_back(std::move(model));
    return found;
  }

  void Add(std::size_t key, const std::shared_ptr<const Model>& model) {
    const std::scoped_lock lock(mutex_);
    models_.emplace(key, model);
  }

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const Model>> models_;  // sessions decide how long they live
};

// Never destroyed: sessions in static objects may outlive this file's own.
Store& TheStore() {
  static Store* const store = std::make_unique<Store>().release();
  return *store;
}

}  // namespace

std::shared_ptr<const Model> SharedModel(std::shared_ptr<const Model> own) {
  const std::size_t key = Fingerprint(*own);
  for (std::shared_ptr<const Model>& other : TheStore().Candidates(key))
    if (other == own || Same(*other, *own)) return std::move(other);
  TheStore().Add(key, own);
  return own;
}

}  // namespace sardonyx::runtime
