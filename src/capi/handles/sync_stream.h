// capi/handles/sync_stream.h - OrtSyncStream: a sequence of commands on a device of a plug-in.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/logging.h"
#include "onnxruntime_c_api.h"
#include "tensor/stream.h"

// Shared by the caller who made it and the runs that use it; the plug-in's object is released with the last of them.
// The streams of runs are such objects, too, which nobody releases by their handle.
struct OrtSyncStream final : sardonyx::Stream, std::enable_shared_from_this<OrtSyncStream> {
 public:
  // `impl` is the plug-in's, made by the function `made_by` of `provider`. It is released in any case; without the
  // functions that it must have, construction fails with kEpFail. `owner`: the library or provider that it belongs to;
  // streams of one `library` may wait for each other. `logger`: for what goes wrong when it is released; the owner's.
  OrtSyncStream(std::shared_ptr<const void> owner, const void* library, const sardonyx::Device& device,
                std::string provider, const char* made_by, OrtSyncStreamImpl* impl, const sardonyx::Logger& logger);
  ~OrtSyncStream() override;
  OrtSyncStream(const OrtSyncStream&) = delete;
  OrtSyncStream& operator=(const OrtSyncStream&) = delete;

  sardonyx::Device device() const override { return device_; }
  std::unique_ptr<sardonyx::Notification> MakeNotification() override;
  void Flush() override;
  void EndRun() override;
  bool CanWaitFor(const Stream& other) const override;

  // Whether it is a stream of this library, whose functions know what to do with it.
  bool IsOf(const void* library) const { return library == library_; }
  OrtSyncStreamImpl* impl() const { return impl_.get(); }
  void* handle() const;
  // How many of its notifications have been activated.
  std::uint64_t sync_id() const { return sync_id_.load(); }
  std::uint64_t BumpSyncId() { return ++sync_id_; }
  // The sync_id of the last notification of `producer` that this stream has waited for; 0: none.
  std::uint64_t LastWaitFor(const OrtSyncStream& producer) const;
  void SetLastWaitFor(const OrtSyncStream& producer, std::uint64_t sync_id);

  std::shared_ptr<OrtSyncStream> held;  // by the caller who made it, until it is released

 private:
  struct Releaser {
    const OrtSyncStream* stream;
    void operator()(OrtSyncStreamImpl* impl) const noexcept;
  };
  const std::shared_ptr<const void> owner_;
  const void* const library_;
  const sardonyx::Device device_;
  const std::string name_;  // of the provider, for errors
  const sardonyx::Logger& logger_;
  std::unique_ptr<OrtSyncStreamImpl, Releaser> impl_;
  const std::uint64_t number_;  // of this stream in the process: addresses are used again
  std::atomic<std::uint64_t> sync_id_ = 0;
  mutable std::mutex mutex_;                           // guards what follows
  std::map<std::uint64_t, std::uint64_t> last_waits_;  // by number of the producer
};
