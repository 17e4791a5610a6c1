// tests/providers/plugin/packed_weights.cpp - weights that kernels keep in a form of their own: twice their size, each
// element followed by its negation.
#include <mutex>
#include <set>

#include "plugin.h"

namespace test_plugin {
namespace {

std::mutex mutex;
std::set<const void*> shared_places;  // where weights lie that the runtime has shared

}  // namespace

PackedWeight::~PackedWeight() {
  if (is_packed_) --counts.packed;
  if (own_ != nullptr) allocator_->Free(allocator_, own_);
}

OrtStatus* PackedWeight::Pack(const OrtValue* weight, OrtAllocator* allocator, OrtSharedPrePackedWeightCache* cache) {
  TEST_PLUGIN_TRY(Fault("PrePackWeight"));
  Array array;
  TEST_PLUGIN_TRY(ReadTensor(weight, array));
  shape_ = array.shape;
  std::size_t bytes = 2 * array.data.size() * sizeof(float);
  void* block = allocator->Alloc(allocator, bytes);
  if (block == nullptr) return Failure("no memory for a packed weight");
  auto* packed = static_cast<float*>(block);
  for (std::size_t i = 0; i < array.data.size(); ++i) {
    packed[2 * i] = array.data[i];
    packed[2 * i + 1] = -array.data[i];
  }
  is_packed_ = true;
  ++counts.packed;
  if (cache != nullptr) return ep_api->SharedPrePackedWeightCache_StoreWeightData(cache, &block, &bytes, 1);
  own_ = packed;
  data_ = packed;
  allocator_ = allocator;
  return nullptr;
}

OrtStatus* PackedWeight::SetShared(const void* const* data, const std::size_t* sizes, std::size_t count) {
  TEST_PLUGIN_TRY(Fault("SetSharedPrePackedWeight"));
  if (count != 1 || sizes[0] % (2 * sizeof(float)) != 0) return Failure("packed weights of another form");
  data_ = static_cast<const float*>(data[0]);
  const std::lock_guard lock(mutex);
  shared_places.insert(data_);
  return nullptr;
}

OrtStatus* PackedWeight::Unpack(Array& array) const {
  array.shape = shape_;
  std::size_t count = 1;
  for (const std::int64_t dim : shape_) count *= static_cast<std::size_t>(dim);
  array.data.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    array.data[i] = data_[2 * i];
    if (data_[2 * i + 1] != -array.data[i]) return Failure("a packed weight has changed");
  }
  return nullptr;
}

long CountSharedPlaces() {
  const std::lock_guard lock(mutex);
  return static_cast<long>(shared_places.size());
}

}  // namespace test_plugin
