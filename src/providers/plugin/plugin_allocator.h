// providers/plugin/plugin_allocator.h - memory that comes from a plug-in.
#pragma once

#include <memory>
#include <string>

#include "capi/handles/memory_info.h"
#include "onnxruntime_c_api.h"
#include "providers/plugin/ep.h"
#include "tensor/allocator.h"

namespace sardonyx::plugin {

// An allocator of a plug-in as one of ours. Blocks in use keep it, it keeps its provider, and that the library.
class PluginAllocator final : public Allocator, public capi::NamedMemory {
 public:
  // Of a factory, shared by sessions.
  PluginAllocator(std::shared_ptr<Library> library, const Factory& factory, const OrtMemoryInfo& info,
                  const OrtKeyValuePairs* options);
  // Of a session's provider; of its factory if the provider makes none.
  PluginAllocator(std::shared_ptr<Ep> ep, const OrtMemoryInfo& info);
  PluginAllocator(const PluginAllocator&) = delete;
  PluginAllocator& operator=(const PluginAllocator&) = delete;

  // By AllocOnStream, if the plug-in has it, what a node on a stream asks for.
  void* Allocate(std::size_t size) override;
  void Free(void* data) override;
  // By Reserve and Shrink of the plug-in, if it has them; otherwise by Alloc, and not at all.
  void* Reserve(std::size_t size) override;
  void Shrink() override;
  Device device() const override { return device_; }

  const OrtMemoryInfo& info() const override { return info_; }
  OrtKeyValuePairs* TheirStatistics() const override;

 private:
  struct Releaser {
    const Factory* factory;
    void operator()(OrtAllocator* handle) const noexcept;
  };
  void* NotNull(void* data, std::size_t size) const;  // fails with kFail
  void Take(OrtAllocator* made);  // fails with kEpFail if it lacks a function; it is released then, too

  std::shared_ptr<const void> owner_;  // the library or the provider
  const Factory& factory_;
  const std::string alloc_, alloc_on_stream_, reserve_;  // how errors name the functions
  const OrtMemoryInfo info_;
  Device device_;
  std::unique_ptr<OrtAllocator, Releaser> handle_;
};

}  // namespace sardonyx::plugin
