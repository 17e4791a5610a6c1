// capi/handles/shared_weights.h - weights that kernels of plug-ins have packed, shared by the sessions of a container.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"

// Where a kernel stores the packed form of one weight, in memory of `allocator`.
struct OrtSharedPrePackedWeightCache {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kSharedPrePackedWeightCache> mark;
  OrtAllocator* allocator = nullptr;
  std::vector<void*> data;
  std::vector<std::size_t> sizes;
};

namespace sardonyx::capi {

// The packed form of one weight, in host memory.
class PackedBuffers {
 public:
  // Takes the memory over.
  explicit PackedBuffers(OrtSharedPrePackedWeightCache cache) : cache_(std::move(cache)) {}
  ~PackedBuffers();
  PackedBuffers(const PackedBuffers&) = delete;
  PackedBuffers& operator=(const PackedBuffers&) = delete;

  const std::vector<void*>& data() const { return cache_.data; }
  const std::vector<std::size_t>& sizes() const { return cache_.sizes; }
  bool Equals(const PackedBuffers& other) const;

 private:
  OrtSharedPrePackedWeightCache cache_;
};

// Thread-safe.
class SharedWeights {
 public:
  // The same bytes of the same kind of kernel if they are there already, else `made`, which is kept.
  std::shared_ptr<const PackedBuffers> Share(const std::string& kernel, std::shared_ptr<const PackedBuffers> made);

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::string, std::shared_ptr<const PackedBuffers>> weights_;
};

}  // namespace sardonyx::capi
