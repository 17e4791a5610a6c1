// providers/plugin/shared_allocators.cpp - makes and keeps the allocators that an environment lends.
#include "providers/plugin/shared_allocators.h"

#include <algorithm>

#include "capi/handles/allocator.h"

namespace sardonyx::plugin {

void SharedAllocators::HandleReleaser::operator()(OrtAllocator* handle) const noexcept { capi::FreeAllocator(handle); }

SharedAllocators::Entry* SharedAllocators::Find(const OrtMemoryInfo& info) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.info->device == info.device && entry.info->allocator_type == info.allocator_type;
  });
  return found != entries_.end() ? &*found : nullptr;
}

OrtAllocator* SharedAllocators::Create(const std::shared_ptr<Library>& library, const Factory& factory,
                                       const OrtMemoryInfo& info, const OrtKeyValuePairs* options) {
  auto allocator = std::make_shared<PluginAllocator>(library, factory, info, options);
  std::unique_ptr<OrtAllocator, HandleReleaser> handle(capi::NewAllocator(allocator));
  OrtAllocator* lent = handle.get();
  Entry old{};  // released after the lock is gone
  const std::lock_guard lock(mutex_);
  Entry made{library.get(), &info, std::move(allocator), std::move(handle)};
  if (Entry* entry = Find(info)) {
    old = std::exchange(*entry, std::move(made));
  } else {
    entries_.push_back(std::move(made));
  }
  return lent;
}

OrtAllocator* SharedAllocators::Get(const std::shared_ptr<Library>& library, const Factory& factory,
                                    const OrtMemoryInfo& info) {
  {
    const std::lock_guard lock(mutex_);
    if (Entry* entry = Find(info)) return entry->handle.get();
  }
  return Create(library, factory, info, nullptr);
}

void SharedAllocators::Release(const OrtMemoryInfo& info) {
  Entry old{};
  const std::lock_guard lock(mutex_);
  Entry* entry = Find(info);
  if (entry == nullptr) return;
  old = std::move(*entry);
  entries_.erase(entries_.begin() + (entry - entries_.data()));
}

long SharedAllocators::CountIdle(const Library& library) const {
  const std::lock_guard lock(mutex_);
  return std::count_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.library == &library && entry.allocator.use_count() == 2;  // this list's and the handle's
  });
}

void SharedAllocators::ReleaseAll(const Library& library) {
  std::vector<Entry> old;
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_)
    if (entry.library == &library) old.push_back(std::move(entry));
  std::erase_if(entries_, [](const Entry& entry) { return entry.handle == nullptr; });
}

}  // namespace sardonyx::plugin
