// tensor/shared_bytes.cpp - finds equal bytes by comparing a few samples, then all bytes.
#include "tensor/shared_bytes.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/lasting.h"
#include "base/memory/page_blocks.h"
#include "tensor/weight_memory.h"

namespace sardonyx {
namespace {

constexpr std::size_t kSamples = 64;
// Of equal samples; more than one happens only where somebody wants it to. The search must stay short all the same.
constexpr std::size_t kMaxCandidates = 8;

// Of the size and of `kSamples` words spread over the bytes. No more than a hint.
std::uint64_t Fingerprint(const std::byte* data, std::size_t size) {
  constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15u;
  std::uint64_t sum = size * kPrime;
  for (std::size_t i = 0; i < kSamples; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + (size - sizeof word) / kSamples * i, sizeof word);
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 29;
  }
  return sum;
}

class Store {
 public:
  std::vector<std::shared_ptr<Buffer>> Candidates(std::uint64_t key) {
    std::vector<std::shared_ptr<Buffer>> found;
    const std::scoped_lock lock(mutex_);
    const auto [begin, end] = entries_.equal_range(key);
    for (auto it = begin; it != end && found.size() < kMaxCandidates; ++it)
      if (std::shared_ptr<Buffer> buffer = it->second.lock()) found.push_back(std::move(buffer));
    return found;
  }

  void Add(std::uint64_t key, const std::shared_ptr<Buffer>& buffer) {
    const std::scoped_lock lock(mutex_);
    if (entries_.size() >= sweep_at_) {
      std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = 2 * entries_.size() + kFirstSweep;
    }
    entries_.emplace(key, buffer);
  }

 private:
  static constexpr std::size_t kFirstSweep = 256;
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<Buffer>> entries_;  // who holds the bytes decides how long
  std::size_t sweep_at_ = kFirstSweep;
};

// Memory of zeros. Large blocks are blocks that were freed before, such as weights whose packed copies lie here: so
// both hardly take memory at the same time. Fresh pages are first touched by who fills them.
class Zeros final : public Allocator {
 public:
  void* Allocate(std::size_t size) override {
    if (size == 0) return nullptr;
    constexpr std::size_t kRoom = sizeof(Front) + kAlignment - 1;
    Front front;
    if (size <= SIZE_MAX - kRoom) front = Find(size + kRoom);
    if (front.whole == nullptr) Fail(Code::kFail, "out of memory: cannot allocate ", size, " bytes");
    const auto begin = reinterpret_cast<std::uintptr_t>(front.whole);
    const std::uintptr_t aligned = (begin + kRoom) / kAlignment * kAlignment;
    auto* const data = static_cast<std::byte*>(front.whole) + (aligned - begin);
    std::memcpy(data - sizeof front, &front, sizeof front);
    return data;
  }
  void Free(void* data) override {
    if (data == nullptr) return;
    Front front;
    std::memcpy(&front, static_cast<std::byte*>(data) - sizeof front, sizeof front);
    switch (front.kind) {
      case Kind::kWeights:
        return FreeWeightMemory(front.whole, front.size);
      case Kind::kPages:
        return ReturnPageBlock(front.whole);
      case Kind::kHeap:
        std::free(front.whole);
    }
  }
  Device device() const override { return {}; }

 private:
  enum class Kind : std::uint8_t { kHeap, kPages, kWeights };

  // Before the bytes that the caller gets.
  struct Front {
    void* whole = nullptr;
    std::size_t size = 0;
    Kind kind = Kind::kHeap;
  };
  static constexpr std::size_t kAlignment = 64;

  static Front Find(std::size_t size) {
    if (IsPageBlock(size))
      if (void* const kept = TakeKeptZeroPageBlock(size)) return {kept, size, Kind::kPages};
    if (IsWeightMemory(size))
      if (void* const weights = AllocateWeightMemory(size)) return {weights, size, Kind::kWeights};
    if (IsPageBlock(size)) return {AllocateZeroPageBlock(size), size, Kind::kPages};
    return {std::calloc(1, size), size, Kind::kHeap};
  }
};

// Lasting: sessions in static objects may outlive this file's own.
Store& TheStore() {
  static constinit Lasting<Store, MakeDefault<Store>> store;
  return *store;
}

}  // namespace

Tensor Shared(Tensor own) {
  const std::shared_ptr<Buffer>& buffer = own.buffer();
  if (!buffer || buffer->owner() || buffer->read_only() || !buffer->device().IsHost() || IsString(own.dtype()) ||
      own.raw() != buffer->data() || own.byte_size() != buffer->size() || own.byte_size() < kSharedBytes)
    return own;
  const auto* data = static_cast<const std::byte*>(own.raw());
  const std::uint64_t key = Fingerprint(data, own.byte_size());
  for (const std::shared_ptr<Buffer>& other : TheStore().Candidates(key)) {
    if (other == buffer) return own;
    if (other->size() == buffer->size() && std::memcmp(other->data(), data, buffer->size()) == 0)
      return Tensor(own.dtype(), own.shape(), other);
  }
  TheStore().Add(key, buffer);
  return own;
}

Tensor ZeroedToShare(DType dtype, Shape shape) {
  // Buffers hold it as long as they live.
  return Tensor(dtype, std::move(shape), std::make_shared<Zeros>());
}

}  // namespace sardonyx
