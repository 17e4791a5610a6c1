// providers/plugin/shared_allocators.h - the allocators of devices that an environment lends to its callers.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "providers/plugin/plugin_allocator.h"

namespace sardonyx::plugin {

// One for each device and kind of memory, made when it is first asked for. Thread-safe. The handles stay valid until
// they are released or their library is unregistered.
class SharedAllocators {
 public:
  // Makes one with these options in place of the one that there is.
  OrtAllocator* Create(const std::shared_ptr<Library>& library, const Factory& factory, const OrtMemoryInfo& info,
                       const OrtKeyValuePairs* options);
  OrtAllocator* Get(const std::shared_ptr<Library>& library, const Factory& factory, const OrtMemoryInfo& info);
  void Release(const OrtMemoryInfo& info);  // does nothing if there is none

  // How many belong to `library` and have no memory in use.
  long CountIdle(const Library& library) const;
  void ReleaseAll(const Library& library);

 private:
  struct HandleReleaser {
    void operator()(OrtAllocator* handle) const noexcept;
  };
  struct Entry {
    const Library* library;
    const OrtMemoryInfo* info;  // the plug-in's, by which it is found
    std::shared_ptr<PluginAllocator> allocator;
    std::unique_ptr<OrtAllocator, HandleReleaser> handle;
  };
  Entry* Find(const OrtMemoryInfo& info);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace sardonyx::plugin
