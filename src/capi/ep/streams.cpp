// capi/ep/streams.cpp - the functions of OrtSyncStream.
#include <memory>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/ep_device.h"
#include "capi/handles/sync_stream.h"
#include "providers/plugin/fields.h"

namespace sardonyx::capi {
namespace {

struct StreamReleaser {
  void operator()(OrtSyncStream* stream) const noexcept {
    if (stream->impl != nullptr)
      FreeStatus(Guard([&] { CallOut("OrtSyncStreamImpl::Release", stream->impl->Release, stream->impl); }));
    const std::unique_ptr<OrtSyncStream> owned(stream);
  }
};

}  // namespace

OrtStatusPtr ORT_API_CALL CreateSyncStreamForEpDevice(const OrtEpDevice* ep_device,
                                                      const OrtKeyValuePairs* stream_options,
                                                      OrtSyncStream** stream) noexcept {
  return Guard([&] {
    const OrtEpDevice& device = Need(ep_device, "ep_device");
    auto& result = Need(stream, "stream");
    const plugin::Libraries::Place place = FindRegistered(&device);
    if (place.factory == nullptr)
      Fail(Code::kInvalidArgument, "stream: expected a device of a registered provider library, found one of '",
           device.ep_name, "'");
    const OrtEpFactory* factory = place.factory->handle();
    const auto is_aware = plugin::FieldOf(factory, &OrtEpFactory::IsStreamAware);
    const auto create = plugin::FieldOf(factory, &OrtEpFactory::CreateSyncStreamForDevice);
    if (is_aware == nullptr || create == nullptr || !CallOut("OrtEpFactory::IsStreamAware", is_aware, factory))
      Fail(Code::kInvalidArgument, "stream: the provider '", device.ep_name, "' has no streams");
    if (device.memory == nullptr)
      Fail(Code::kInvalidArgument, "stream: expected a device with memory of its own, found one of '", device.ep_name,
           "' that uses the host's");
    std::unique_ptr<OrtSyncStream, StreamReleaser> made(new OrtSyncStream{place.library, device.memory->device});
    CallOut((device.ep_name + ": OrtEpFactory::CreateSyncStreamForDevice").c_str(), create, place.factory->handle(),
            AsHandle(&device.memory->device), stream_options, &made->impl);
    if (made->impl == nullptr || made->impl->Release == nullptr || made->impl->GetHandle == nullptr) {
      const bool none = made->impl == nullptr;
      made->impl = nullptr;
      Fail(Code::kEpFail, device.ep_name, ": OrtEpFactory::CreateSyncStreamForDevice: expected a stream with Release ",
           "and GetHandle, found ", none ? "none" : "NULL for one of them");
    }
    result = made.release();
  });
}

void* ORT_API_CALL SyncStream_GetHandle(OrtSyncStream* stream) noexcept {
  void* handle = nullptr;
  if (stream != nullptr)
    FreeStatus(Guard([&] { handle = CallOut("OrtSyncStreamImpl::GetHandle", stream->impl->GetHandle, stream->impl); }));
  return handle;
}

void ORT_API_CALL ReleaseSyncStream(OrtSyncStream* input) noexcept {
  if (input != nullptr) StreamReleaser()(input);
}

namespace ep {

const OrtSyncStreamImpl* ORT_API_CALL SyncStream_GetImpl(const OrtSyncStream* stream) noexcept {
  return stream != nullptr ? stream->impl : nullptr;
}

// Counts the notifications of a stream, which only runs with streams of their own would make.
uint64_t ORT_API_CALL SyncStream_GetSyncId(const OrtSyncStream* /*stream*/) noexcept { return 0; }

uint64_t ORT_API_CALL GetSyncIdForLastWaitOnSyncStream(const OrtSyncStream* /*producer_stream*/,
                                                       const OrtSyncStream* /*consumer_stream*/) noexcept {
  return 0;
}

}  // namespace ep
}  // namespace sardonyx::capi
