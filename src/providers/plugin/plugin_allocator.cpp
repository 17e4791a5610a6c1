// providers/plugin/plugin_allocator.cpp - has a plug-in allocate and free memory.
#include "providers/plugin/plugin_allocator.h"

#include <cstdint>
#include <utility>

#include "base/error.h"
#include "capi/handles/call_release.h"
#include "capi/handles/sync_stream.h"
#include "tensor/stream.h"

namespace sardonyx::plugin {
namespace {

using capi::CallOut;

OrtAllocator* AllocatorOf(const Factory& factory, const OrtMemoryInfo& info, const OrtKeyValuePairs* options) {
  const auto create = FieldOf(static_cast<const OrtEpFactory*>(factory.handle()), &OrtEpFactory::CreateAllocator);
  if (create == nullptr ||
      FieldOf(static_cast<const OrtEpFactory*>(factory.handle()), &OrtEpFactory::ReleaseAllocator) == nullptr) {
    Fail(Code::kEpFail, factory.name(), ": OrtEpFactory: expected functions CreateAllocator and ReleaseAllocator, ",
         "which a provider with memory of its own ('", info.name, "') has to have, found NULL");
  }
  OrtAllocator* made = nullptr;
  CallOut((factory.name() + ": OrtEpFactory::CreateAllocator").c_str(), create, factory.handle(), &info, options,
          &made);
  return made;
}

}  // namespace

PluginAllocator::PluginAllocator(std::shared_ptr<Library> library, const Factory& factory, const OrtMemoryInfo& info,
                                 const OrtKeyValuePairs* options)
    : owner_(std::move(library)),
      factory_(factory),
      alloc_(factory.name() + ": OrtAllocator::Alloc"),
      alloc_on_stream_(factory.name() + ": OrtAllocator::AllocOnStream"),
      reserve_(factory.name() + ": OrtAllocator::Reserve"),
      info_(info),
      device_(info.device),
      handle_(nullptr, Releaser{&factory}) {
  Take(AllocatorOf(factory, info, options));
}

PluginAllocator::PluginAllocator(std::shared_ptr<Ep> ep, const OrtMemoryInfo& info)
    : owner_(ep),
      factory_(ep->factory()),
      alloc_(factory_.name() + ": OrtAllocator::Alloc"),
      alloc_on_stream_(factory_.name() + ": OrtAllocator::AllocOnStream"),
      reserve_(factory_.name() + ": OrtAllocator::Reserve"),
      info_(info),
      device_(info.device),
      handle_(nullptr, Releaser{&factory_}) {
  OrtAllocator* made = nullptr;
  if (const auto create = ep->Find(&OrtEp::CreateAllocator)) {
    CallOut(ep->Callee("CreateAllocator").c_str(), create, ep->handle(), &info, &made);
  } else {
    made = AllocatorOf(factory_, info, nullptr);
  }
  Take(made);
}

void PluginAllocator::Take(OrtAllocator* made) {
  handle_.reset(made);
  if (made == nullptr || made->Alloc == nullptr || made->Free == nullptr || made->Info == nullptr) {
    Fail(Code::kEpFail, factory_.name(), ": CreateAllocator: expected an allocator with Alloc, Free and Info for '",
         info_.name, "', found ", made == nullptr ? "none" : "NULL for one of them");
  }
}

void PluginAllocator::Releaser::operator()(OrtAllocator* handle) const noexcept {
  OrtEpFactory* owner = factory->handle();
  const auto release = FieldOf(static_cast<const OrtEpFactory*>(owner), &OrtEpFactory::ReleaseAllocator);
  if (release != nullptr)
    capi::CallRelease(factory->library().logger(), factory->name() + ": OrtEpFactory::ReleaseAllocator", release, owner,
                      handle);
}

void* PluginAllocator::Allocate(std::size_t size) {
  if (size == 0) return nullptr;
  constexpr std::uint32_t kFirstWithStreams = 23;
  auto* stream = dynamic_cast<OrtSyncStream*>(CurrentStream());
  const bool on_stream = stream != nullptr && stream->device() == device_ && handle_->version >= kFirstWithStreams &&
                         handle_->AllocOnStream != nullptr;
  void* data = on_stream ? CallOut(alloc_on_stream_.c_str(), handle_->AllocOnStream, handle_.get(), size, stream)
                         : CallOut(alloc_.c_str(), handle_->Alloc, handle_.get(), size);
  return NotNull(data, size);
}

void* PluginAllocator::Reserve(std::size_t size) {
  constexpr std::uint32_t kFirst = 18;  // the version with Reserve
  if (size == 0 || handle_->version < kFirst || handle_->Reserve == nullptr) return Allocate(size);
  return NotNull(CallOut(reserve_.c_str(), handle_->Reserve, handle_.get(), size), size);
}

void PluginAllocator::Shrink() {
  constexpr std::uint32_t kFirst = 25;  // the version with Shrink
  if (handle_->version >= kFirst && handle_->Shrink != nullptr)
    CallOut((factory_.name() + ": OrtAllocator::Shrink").c_str(), handle_->Shrink, handle_.get());
}

void* PluginAllocator::NotNull(void* data, std::size_t size) const {
  if (data == nullptr)
    Fail(Code::kFail, "out of memory: the allocator of ", factory_.name(), " for '", info_.name, "' returned NULL for ",
         size, " bytes");
  return data;
}

OrtKeyValuePairs* PluginAllocator::TheirStatistics() const {
  constexpr std::uint32_t kFirst = 23;  // the version with GetStats
  OrtKeyValuePairs* made = nullptr;
  if (handle_->version >= kFirst && handle_->GetStats != nullptr)
    CallOut((factory_.name() + ": OrtAllocator::GetStats").c_str(), handle_->GetStats,
            static_cast<const OrtAllocator*>(handle_.get()), &made);
  return made;
}

void PluginAllocator::Free(void* data) {
  try {
    CallOut("OrtAllocator::Free", handle_->Free, handle_.get(), data);
  } catch (const Error& error) {
    factory_.library().logger().Log(Severity::kError, factory_.name(), ": ", error.what());
  }
}

}  // namespace sardonyx::plugin
