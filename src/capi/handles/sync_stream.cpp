// capi/handles/sync_stream.cpp - calls the functions of a plug-in's stream.
#include "capi/handles/sync_stream.h"

#include <utility>

#include "base/error.h"
#include "capi/handles/call_release.h"

namespace {

using sardonyx::Code;
using sardonyx::Fail;
using sardonyx::Logger;
using sardonyx::Stream;
using sardonyx::capi::CallOut;
using sardonyx::capi::CallRelease;

std::uint64_t NextNumber() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

struct NotificationReleaser {
  const std::string* name;
  const Logger* logger;
  void operator()(OrtSyncNotificationImpl* impl) const noexcept {
    if (impl->Release != nullptr)
      CallRelease(*logger, *name + ": OrtSyncNotificationImpl::Release", impl->Release, impl);
  }
};

class PluginNotification final : public sardonyx::Notification {
 public:
  PluginNotification(OrtSyncStream& producer, const std::string& name, const Logger& logger,
                     OrtSyncNotificationImpl* impl)
      : producer_(producer), name_(name), impl_(impl, NotificationReleaser{&name, &logger}) {
    if (impl == nullptr || impl->Release == nullptr || impl->Activate == nullptr || impl->WaitOnHost == nullptr)
      Fail(Code::kEpFail, name_, ": OrtSyncStreamImpl::CreateNotification: expected a notification with Release, ",
           "Activate and WaitOnHost, found ", impl == nullptr ? "none" : "NULL for one of them");
  }

  void Activate() override {
    CallOut((name_ + ": OrtSyncNotificationImpl::Activate").c_str(), impl_->Activate, impl_.get());
    at_ = producer_.BumpSyncId();
  }
  void WaitOnDevice(Stream& other) override {
    auto& consumer = static_cast<OrtSyncStream&>(other);  // CanWaitFor: of the same library
    if (impl_->WaitOnDevice == nullptr)
      Fail(Code::kEpFail, name_, ": OrtSyncNotificationImpl: expected a function WaitOnDevice, found NULL");
    CallOut((name_ + ": OrtSyncNotificationImpl::WaitOnDevice").c_str(), impl_->WaitOnDevice, impl_.get(), &consumer);
    consumer.SetLastWaitFor(producer_, at_);
  }
  void WaitOnHost() override {
    CallOut((name_ + ": OrtSyncNotificationImpl::WaitOnHost").c_str(), impl_->WaitOnHost, impl_.get());
  }

 private:
  OrtSyncStream& producer_;
  const std::string& name_;
  std::unique_ptr<OrtSyncNotificationImpl, NotificationReleaser> impl_;
  std::uint64_t at_ = 0;
};

}  // namespace

OrtSyncStream::OrtSyncStream(std::shared_ptr<const void> owner, const void* library, const sardonyx::Device& device,
                             std::string provider, const char* made_by, OrtSyncStreamImpl* impl, const Logger& logger)
    : owner_(std::move(owner)),
      library_(library),
      device_(device),
      name_(std::move(provider)),
      logger_(logger),
      impl_(impl, Releaser{this}),
      number_(NextNumber()) {
  if (impl == nullptr || impl->Release == nullptr || impl->GetHandle == nullptr)
    Fail(Code::kEpFail, name_, ": ", made_by, ": expected a stream with Release and GetHandle, found ",
         impl == nullptr ? "none" : "NULL for one of them");
}

OrtSyncStream::~OrtSyncStream() = default;

void OrtSyncStream::Releaser::operator()(OrtSyncStreamImpl* impl) const noexcept {
  if (impl->Release == nullptr) return;
  CallRelease(stream->logger_, stream->name_ + ": OrtSyncStreamImpl::Release", impl->Release, impl);
}

std::unique_ptr<sardonyx::Notification> OrtSyncStream::MakeNotification() {
  const std::string callee = name_ + ": OrtSyncStreamImpl::CreateNotification";
  if (impl_->CreateNotification == nullptr) Fail(Code::kEpFail, callee, ": expected a function, found NULL");
  OrtSyncNotificationImpl* made = nullptr;
  CallOut(callee.c_str(), impl_->CreateNotification, impl_.get(), &made);
  return std::make_unique<PluginNotification>(*this, name_, logger_, made);
}

void OrtSyncStream::Flush() {
  if (impl_->Flush != nullptr) CallOut((name_ + ": OrtSyncStreamImpl::Flush").c_str(), impl_->Flush, impl_.get());
}

void OrtSyncStream::EndRun() {
  if (impl_->OnSessionRunEnd != nullptr)
    CallOut((name_ + ": OrtSyncStreamImpl::OnSessionRunEnd").c_str(), impl_->OnSessionRunEnd, impl_.get());
}

bool OrtSyncStream::CanWaitFor(const Stream& other) const {
  const auto* stream = dynamic_cast<const OrtSyncStream*>(&other);
  return stream != nullptr && stream->library_ == library_;
}

void* OrtSyncStream::handle() const {
  return CallOut((name_ + ": OrtSyncStreamImpl::GetHandle").c_str(), impl_->GetHandle, impl_.get());
}

std::uint64_t OrtSyncStream::LastWaitFor(const OrtSyncStream& producer) const {
  const std::lock_guard lock(mutex_);
  const auto found = last_waits_.find(producer.number_);
  return found != last_waits_.end() ? found->second : 0;
}

void OrtSyncStream::SetLastWaitFor(const OrtSyncStream& producer, std::uint64_t sync_id) {
  const std::lock_guard lock(mutex_);
  last_waits_[producer.number_] = sync_id;
}
