// capi/handles/shared_weights.cpp - keeps packed weights, each once.
#include "capi/handles/shared_weights.h"

#include <cstring>

#include "capi/handles/call_out.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {

PackedBuffers::~PackedBuffers() {
  for (void* block : cache_.data)
    if (block != nullptr)
      FreeStatus(Guard([&] { CallOut("OrtAllocator::Free", cache_.allocator->Free, cache_.allocator, block); }));
}

bool PackedBuffers::Equals(const PackedBuffers& other) const {
  if (sizes() != other.sizes()) return false;
  for (std::size_t i = 0; i < sizes().size(); ++i)
    if (sizes()[i] != 0 && std::memcmp(data()[i], other.data()[i], sizes()[i]) != 0) return false;
  return true;
}

std::shared_ptr<const PackedBuffers> SharedWeights::Share(const std::string& kernel,
                                                          std::shared_ptr<const PackedBuffers> made) {
  const std::scoped_lock lock(mutex_);
  const auto [first, last] = weights_.equal_range(kernel);
  for (auto known = first; known != last; ++known)
    if (known->second->Equals(*made)) return known->second;
  weights_.emplace(kernel, made);
  return made;
}

}  // namespace sardonyx::capi
