// capi/ep/streams.cpp - the functions of OrtSyncStream.
#include <memory>
#include <utility>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/ep_device.h"
#include "capi/handles/sync_stream.h"
#include "providers/plugin/fields.h"

namespace sardonyx::capi {
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
    if (is_aware == nullptr || create == nullptr ||
        !CallOut((device.ep_name + ": OrtEpFactory::IsStreamAware").c_str(), is_aware, factory))
      Fail(Code::kInvalidArgument, "stream: the provider '", device.ep_name, "' has no streams");
    if (device.memory == nullptr)
      Fail(Code::kInvalidArgument, "stream: expected a device with memory of its own, found one of '", device.ep_name,
           "' that uses the host's");
    OrtSyncStreamImpl* impl = nullptr;
    constexpr const char* kMadeBy = "OrtEpFactory::CreateSyncStreamForDevice";
    CallOut((device.ep_name + ": " + kMadeBy).c_str(), create, place.factory->handle(),
            AsHandle(&device.memory->device), stream_options, &impl);
    const auto made = std::make_shared<OrtSyncStream>(place.library, place.library.get(), device.memory->device,
                                                      device.ep_name, kMadeBy, impl, place.library->logger());
    made->held = made;
    result = made.get();
  });
}

void* ORT_API_CALL SyncStream_GetHandle(OrtSyncStream* stream) noexcept {
  void* handle = nullptr;
  if (Given(stream)) FreeStatus(Guard([&] { handle = stream->handle(); }));
  return handle;
}

void ORT_API_CALL ReleaseSyncStream(OrtSyncStream* input) noexcept {
  if (Given(input)) const std::shared_ptr<OrtSyncStream> released = std::move(input->held);
}

namespace ep {

const OrtSyncStreamImpl* ORT_API_CALL SyncStream_GetImpl(const OrtSyncStream* stream) noexcept {
  return Given(stream) ? stream->impl() : nullptr;
}

uint64_t ORT_API_CALL SyncStream_GetSyncId(const OrtSyncStream* stream) noexcept {
  return Given(stream) ? stream->sync_id() : 0;
}

// 0 if the consumer has not waited for the producer.
uint64_t ORT_API_CALL GetSyncIdForLastWaitOnSyncStream(const OrtSyncStream* producer_stream,
                                                       const OrtSyncStream* consumer_stream) noexcept {
  if (!Given(producer_stream) || !Given(consumer_stream)) return 0;
  std::uint64_t sync_id = 0;
  FreeStatus(Guard([&] { sync_id = consumer_stream->LastWaitFor(*producer_stream); }));
  return sync_id;
}

}  // namespace ep
}  // namespace sardonyx::capi
