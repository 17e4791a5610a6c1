// capi/env_allocators.cpp - registers allocators with the environment: the caller's, or arenas made to its wishes.
#include "capi/env_allocators.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <map>
#include <string_view>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "providers/provider.h"

namespace sardonyx::capi {
namespace {

// Kernels rely on the alignment of the host allocator. A caller's allocator need not give it: blocks that are not
// aligned are asked for once more, with room to move.
class AlignedAllocator final : public Allocator {
 public:
  explicit AlignedAllocator(std::shared_ptr<Allocator> inner) : inner_(std::move(inner)) {}
  void* Allocate(std::size_t size) override {
    if (size == 0) return nullptr;
    if (!moves_.load(std::memory_order_relaxed)) {
      void* const block = inner_->Allocate(size);
      if (IsAligned(block)) return block;
      inner_->Free(block);
      moves_ = true;
    }
    if (size > SIZE_MAX - kAlignment) Fail(Code::kFail, "out of memory: cannot allocate ", size, " bytes");
    void* const block = inner_->Allocate(size + kAlignment);
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    void* const aligned = static_cast<std::byte*>(block) + (kAlignment - address % kAlignment) % kAlignment;
    const std::scoped_lock lock(mutex_);
    origins_[aligned] = block;
    return aligned;
  }
  void Free(void* data) override {
    if (moves_.load(std::memory_order_relaxed)) {
      const std::scoped_lock lock(mutex_);
      const auto found = origins_.find(data);
      if (found != origins_.end()) {
        data = found->second;
        origins_.erase(found);
      }
    }
    inner_->Free(data);
  }
  Device device() const override { return inner_->device(); }
  void Shrink() override { inner_->Shrink(); }
  std::optional<AllocatorStatistics> Statistics() const override { return inner_->Statistics(); }

 private:
  static constexpr std::size_t kAlignment = 64;
  static bool IsAligned(const void* block) { return reinterpret_cast<std::uintptr_t>(block) % kAlignment == 0; }

  const std::shared_ptr<Allocator> inner_;
  std::atomic<bool> moves_ = false;
  std::mutex mutex_;
  std::map<void*, void*> origins_;  // by aligned address
};

// -1, of any type, asks for the default.
bool IsSet(std::size_t value) { return value != SIZE_MAX && value != static_cast<std::size_t>(INT_MAX) * 2 + 1; }

ArenaOptions::Extend ToExtend(std::size_t strategy) {
  if (strategy > 1)
    Fail(Code::kInvalidArgument, "arena_extend_strategy: expected 0 (next power of two), 1 (same as requested) or -1 ",
         "(the default), found ", static_cast<std::int64_t>(strategy));
  return static_cast<ArenaOptions::Extend>(strategy);
}

void SetArenaOption(ArenaOptions& options, std::string_view key, std::size_t value) {
  if (key == "max_mem") {
    if (value != 0) options.max_memory = value;
    return;
  }
  const bool set = IsSet(value);
  if (key == "arena_extend_strategy") {
    if (set) options.extend = ToExtend(value);
  } else if (key == "initial_chunk_size_bytes") {
    if (set) options.first_region = value;
  } else if (key == "initial_growth_chunk_size_bytes") {
    if (set) options.second_region = value;
  } else if (key == "max_power_of_two_extend_bytes") {
    if (set) options.largest_region = value;
  } else if (key == "max_dead_bytes_per_chunk") {
    if (set) options.largest_waste = value;
  } else {
    Fail(Code::kInvalidArgument, "arena configuration: expected one of the keys max_mem, arena_extend_strategy, ",
         "initial_chunk_size_bytes, initial_growth_chunk_size_bytes, max_power_of_two_extend_bytes, ",
         "max_dead_bytes_per_chunk, found '", key, "'");
  }
}

std::size_t FromInt(int value, const char* name) {
  if (value < -1) Fail(Code::kInvalidArgument, name, ": expected 0 or more, or -1 for the default, found ", value);
  return value == -1 ? SIZE_MAX : static_cast<std::size_t>(value);
}

void AddNew(OrtEnv* env, const OrtMemoryInfo* mem_info, const OrtArenaCfg* config) {
  OrtEnv& target = Need(env, "env");
  const OrtMemoryInfo& info = Need(mem_info, "mem_info");
  if (!(info.device == Device{}))
    Fail(Code::kInvalidArgument, "expected the memory info of the CPU, found '", info.name,
         "': allocators of other devices come from their provider, or from the caller (RegisterAllocator)");
  std::shared_ptr<Allocator> allocator = HostAllocator();
  if (info.allocator_type == OrtArenaAllocator)
    allocator = std::make_shared<Arena>(HostAllocator(),
                                        NeedKind(config, "arena_cfg") != nullptr ? config->options : ArenaOptions{});
  target.allocators.Add(*target.environment, info.device, std::move(allocator));
}

}  // namespace

void RegisteredAllocators::Add(runtime::Environment& environment, const Device& device,
                               std::shared_ptr<Allocator> allocator) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(rows_, [&](const Row& row) { return row.device == device; });
  rows_.push_back({device, allocator});
  if (device == Device{}) environment.set_host_allocator(std::move(allocator));
}

std::shared_ptr<Allocator> RegisteredAllocators::Find(const Device& device) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.device == device; });
  return found != rows_.end() ? found->allocator : nullptr;
}

void RegisteredAllocators::Remove(runtime::Environment& environment, const OrtMemoryInfo& info) {
  const std::scoped_lock lock(mutex_);
  if (std::erase_if(rows_, [&](const Row& row) { return row.device == info.device; }) == 0)
    Fail(Code::kInvalidArgument, "no allocator is registered for the device of the memory info '", info.name, "'");
  if (info.device == Device{}) environment.set_host_allocator(nullptr);
}

OrtStatusPtr ORT_API_CALL CreateArenaCfg(size_t max_mem, int arena_extend_strategy, int initial_chunk_size_bytes,
                                         int max_dead_bytes_per_chunk, OrtArenaCfg** out) noexcept {
  return Guard([&] {
    OrtArenaCfg config;
    SetArenaOption(config.options, "max_mem", max_mem);
    SetArenaOption(config.options, "arena_extend_strategy", FromInt(arena_extend_strategy, "arena_extend_strategy"));
    SetArenaOption(config.options, "initial_chunk_size_bytes",
                   FromInt(initial_chunk_size_bytes, "initial_chunk_size_bytes"));
    SetArenaOption(config.options, "max_dead_bytes_per_chunk",
                   FromInt(max_dead_bytes_per_chunk, "max_dead_bytes_per_chunk"));
    auto& result = Need(out, "out");
    result = std::make_unique<OrtArenaCfg>(config).release();
  });
}

OrtStatusPtr ORT_API_CALL CreateArenaCfgV2(const char* const* arena_config_keys, const size_t* arena_config_values,
                                           size_t num_keys, OrtArenaCfg** out) noexcept {
  return Guard([&] {
    NeedArray(arena_config_keys, num_keys, "arena_config_keys");
    NeedArray(arena_config_values, num_keys, "arena_config_values");
    auto& result = Need(out, "out");
    OrtArenaCfg config;
    for (std::size_t i = 0; i < num_keys; ++i)
      SetArenaOption(config.options, &Need(arena_config_keys[i], "arena_config_keys[i]"), arena_config_values[i]);
    result = std::make_unique<OrtArenaCfg>(config).release();
  });
}

void ORT_API_CALL ReleaseArenaCfg(OrtArenaCfg* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL CreateAndRegisterAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info,
                                                     const OrtArenaCfg* arena_cfg) noexcept {
  return Guard([&] { AddNew(env, mem_info, arena_cfg); });
}

OrtStatusPtr ORT_API_CALL CreateAndRegisterAllocatorV2(OrtEnv* env, const char* provider_type,
                                                       const OrtMemoryInfo* mem_info, const OrtArenaCfg* arena_cfg,
                                                       const char* const* provider_options_keys,
                                                       const char* const* provider_options_values,
                                                       size_t num_keys) noexcept {
  return Guard([&] {
    NeedArray(provider_options_keys, num_keys, "provider_options_keys");
    NeedArray(provider_options_values, num_keys, "provider_options_values");
    const std::string_view provider = &Need(provider_type, "provider_type");
    Need(env, "env");
    Need(mem_info, "mem_info");
    if (provider != providers::kCpuName)
      Fail(Code::kInvalidArgument, "expected '", providers::kCpuName, "', found '", provider,
           "': a plug-in provider's allocators are created with CreateSharedAllocator");
    AddNew(env, mem_info, arena_cfg);
  });
}

OrtStatusPtr ORT_API_CALL RegisterAllocator(OrtEnv* env, OrtAllocator* allocator) noexcept {
  return Guard([&] {
    OrtEnv& target = Need(env, "env");
    OrtAllocator& given = Need(allocator, "allocator");
    if (given.Info == nullptr || given.Info(&given) == nullptr)
      Fail(Code::kInvalidArgument, "allocator: expected a function Info that returns its memory info, found NULL");
    const Device device = given.Info(&given)->device;
    std::shared_ptr<Allocator> own = FromHandle(&given);
    if (device.IsHost()) own = std::make_shared<AlignedAllocator>(std::move(own));
    target.allocators.Add(*target.environment, device, std::move(own));
  });
}

OrtStatusPtr ORT_API_CALL UnregisterAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info) noexcept {
  return Guard([&] {
    OrtEnv& target = Need(env, "env");
    target.allocators.Remove(*target.environment, Need(mem_info, "mem_info"));
  });
}

}  // namespace sardonyx::capi
