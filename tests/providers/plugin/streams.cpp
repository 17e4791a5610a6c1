// tests/providers/plugin/streams.cpp - streams that do nothing until somebody waits for them.
//
// A runtime that reads a result without waiting, or uses memory again before it waits, computes something wrong every
// time, and not only when the device happens to be slow.
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "plugin.h"

namespace test_plugin {
namespace {

struct Stream : OrtSyncStreamImpl {
  Stream() : OrtSyncStreamImpl{} { ++counts.streams; }
  ~Stream() {
    events.lost += static_cast<long>(waiting.size());
    --counts.streams;
  }
  void Add(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(work));
    ++given;
  }
  // Does the work up to the point where `target` pieces are done.
  void DoUntil(std::uint64_t target) {
    for (;;) {
      std::function<void()> work;
      {
        const std::lock_guard lock(mutex);
        if (done >= target || waiting.empty()) return;
        work = std::move(waiting.front());
        waiting.pop_front();
        ++done;
      }
      work();
    }
  }
  std::uint64_t Given() {
    const std::lock_guard lock(mutex);
    return given;
  }
  std::mutex mutex;
  std::deque<std::function<void()>> waiting;
  std::uint64_t given = 0, done = 0;
};

Stream& AsStream(const OrtSyncStreamImpl* impl) { return *static_cast<Stream*>(const_cast<OrtSyncStreamImpl*>(impl)); }

struct Notification : OrtSyncNotificationImpl {
  Notification() : OrtSyncNotificationImpl{} { ++counts.notifications; }
  ~Notification() { --counts.notifications; }
  Stream* stream = nullptr;
  std::uint64_t until = 0;
};

void ORT_API_CALL ReleaseNotification(OrtSyncNotificationImpl* self) { delete static_cast<Notification*>(self); }

OrtStatus* ORT_API_CALL Activate(OrtSyncNotificationImpl* self) {
  TEST_PLUGIN_TRY(Fault("Activate"));
  auto& notification = *static_cast<Notification*>(self);
  notification.until = notification.stream->Given();
  ++events.activated;
  return nullptr;
}

OrtStatus* ORT_API_CALL WaitOnDevice(OrtSyncNotificationImpl* self, OrtSyncStream* consumer) {
  TEST_PLUGIN_TRY(Fault("WaitOnDevice"));
  auto& notification = *static_cast<Notification*>(self);
  ++events.device_waits;
  if (consumer == nullptr) {  // ONNX Runtime has none for what it runs on the host
    notification.stream->DoUntil(notification.until);
    return nullptr;
  }
  AsStream(ep_api->SyncStream_GetImpl(consumer)).Add([stream = notification.stream, until = notification.until] {
    stream->DoUntil(until);
  });
  return nullptr;
}

OrtStatus* ORT_API_CALL WaitOnHost(OrtSyncNotificationImpl* self) {
  TEST_PLUGIN_TRY(Fault("WaitOnHost"));
  auto& notification = *static_cast<Notification*>(self);
  ++events.host_waits;
  notification.stream->DoUntil(notification.until);
  return nullptr;
}

void ORT_API_CALL ReleaseStream(OrtSyncStreamImpl* self) { delete static_cast<Stream*>(self); }
void* ORT_API_CALL GetStreamHandle(OrtSyncStreamImpl* self) { return static_cast<Stream*>(self); }

OrtStatus* ORT_API_CALL CreateNotification(OrtSyncStreamImpl* self, OrtSyncNotificationImpl** notification) {
  TEST_PLUGIN_TRY(Fault("CreateNotification"));
  if (IsPlanted("nothing:", "CreateNotification")) return nullptr;
  auto made = std::make_unique<Notification>();
  made->ort_version_supported = Version();
  made->Release = ReleaseNotification;
  made->Activate = Activate;
  made->WaitOnDevice = WaitOnDevice;
  if (!IsPlanted("incomplete:", "CreateNotification")) made->WaitOnHost = WaitOnHost;
  made->stream = static_cast<Stream*>(self);
  *notification = made.release();
  return nullptr;
}

OrtStatus* ORT_API_CALL Flush(OrtSyncStreamImpl* self) {
  TEST_PLUGIN_TRY(Fault("Flush"));
  ++events.flushes;
  auto& stream = *static_cast<Stream*>(self);
  stream.DoUntil(stream.Given());
  return nullptr;
}

OrtStatus* ORT_API_CALL OnSessionRunEnd(OrtSyncStreamImpl* /*self*/) {
  TEST_PLUGIN_TRY(Fault("OnSessionRunEnd"));
  ++events.run_ends;
  return nullptr;
}

}  // namespace

OrtStatus* CreateStream(OrtSyncStreamImpl** stream) {
  if (IsPlanted("nothing:", "CreateStream")) return nullptr;
  auto made = std::make_unique<Stream>();
  made->ort_version_supported = Version();
  made->Release = ReleaseStream;
  if (!IsPlanted("incomplete:", "CreateStream")) made->GetHandle = GetStreamHandle;
  made->CreateNotification = CreateNotification;
  made->Flush = Flush;
  made->OnSessionRunEnd = OnSessionRunEnd;
  *stream = made.release();
  return nullptr;
}

void Do(const OrtSyncStream* stream, std::function<void()> work) {
  Record(work);
  if (stream == nullptr) return work();
  ++events.streamed;
  AsStream(ep_api->SyncStream_GetImpl(stream)).Add(std::move(work));
}

void FinishStream(void* handle) {
  if (handle == nullptr) return;
  auto& stream = *static_cast<Stream*>(handle);
  stream.DoUntil(stream.Given());
}

OrtStatus* StreamOf(const OrtKernelContext* context, OrtSyncStream** stream) {
  void* handle = nullptr;
  TEST_PLUGIN_TRY(api->KernelContext_GetSyncStream(context, stream));
  TEST_PLUGIN_TRY(api->KernelContext_GetGPUComputeStream(context, &handle));
  if (*stream == nullptr) return handle == nullptr ? nullptr : Failure("a handle without a stream");
  if (handle == nullptr || handle != api->SyncStream_GetHandle(*stream))
    return Failure("the handle of a kernel's stream is not that of its stream");
  return nullptr;
}

}  // namespace test_plugin
