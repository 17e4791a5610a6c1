// runtime/devices/run_streams.cpp - makes streams, marks points in their work, and waits for them.
#include "runtime/devices/run_streams.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/logging.h"

namespace sardonyx::runtime {

RunStreams::RunStreams(std::shared_ptr<const providers::ProviderSet> providers) : providers_(std::move(providers)) {
  lanes_.resize(providers_->providers.size());
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (providers_->providers[i]->HasStreams()) lanes_[i].provider = providers_->providers[i].get();
    lanes_[i].waited_by.resize(lanes_.size());
  }
}

RunStreams::~RunStreams() {
  try {
    Flush();
  } catch (const Error& error) {
    providers_->logger.Log(Severity::kError, error.what(), "; the work of a run may not have been done");
  }
}

bool RunStreams::AreNeeded(const providers::ProviderSet& providers) {
  return std::any_of(providers.providers.begin(), providers.providers.end(),
                     [](const auto& provider) { return provider->HasStreams(); });
}

void RunStreams::CheckGiven(const providers::ProviderSet& providers, const Stream& given) {
  const bool fits = std::any_of(providers.providers.begin(), providers.providers.end(), [&](const auto& provider) {
    return provider->device() == given.device() && provider->HasStreams();
  });
  if (!fits)
    Fail(Code::kInvalidArgument, "the run's stream: expected one for the device of a provider of this session that ",
         "has streams, found one for another device");
}

void RunStreams::Begin(const std::shared_ptr<Stream>& given) {
  for (Lane& lane : lanes_) {
    if (lane.provider == nullptr) continue;
    Use(lane, given != nullptr && lane.provider->device() == given->device() ? given : lane.own);
  }
}

void RunStreams::Use(Lane& lane, const std::shared_ptr<Stream>& stream) {
  if (lane.active == stream) return;
  if (lane.busy) FlushLane(lane);
  lane.notifications.clear();
  lane.active = stream;
}

void RunStreams::FlushLane(Lane& lane) {
  Forget(lane);
  try {
    lane.active->Flush();
  } catch (...) {
    lane.notifications.clear();
    if (lane.active == lane.own) lane.own.reset();
    lane.active = lane.own;
    throw;
  }
}

// All points so far count as waited for.
void RunStreams::Forget(Lane& lane) {
  lane.first += lane.marks;
  lane.marks = 0;
  lane.waited = lane.first;
  lane.busy = false;
}

Stream& RunStreams::Give(int provider) {
  Lane& lane = lanes_[static_cast<std::size_t>(provider)];
  if (lane.active == nullptr) {
    lane.own = lane.provider->MakeStream();
    lane.active = lane.own;
  }
  lane.busy = true;
  return *lane.active;
}

RunStreams::Point RunStreams::Mark(int provider) {
  Lane& lane = lanes_[static_cast<std::size_t>(provider)];
  if (lane.marks == lane.notifications.size()) lane.notifications.push_back(lane.active->MakeNotification());
  lane.notifications[lane.marks]->Activate();
  return {provider, lane.first + lane.marks++};
}

void RunStreams::WaitOnHost(const Point& point) {
  Lane& lane = lanes_[static_cast<std::size_t>(point.provider)];
  if (point.position < lane.waited) return;
  lane.notifications[point.position - lane.first]->WaitOnHost();
  lane.waited = point.position + 1;
}

void RunStreams::WaitOnDevice(const Point& point, int provider) {
  Lane& lane = lanes_[static_cast<std::size_t>(point.provider)];
  std::uint64_t& waited = lane.waited_by[static_cast<std::size_t>(provider)];
  if (point.position < std::max(lane.waited, waited)) return;
  Stream& other = Give(provider);
  if (!other.CanWaitFor(*lane.active)) return WaitOnHost(point);
  lane.notifications[point.position - lane.first]->WaitOnDevice(other);
  waited = point.position + 1;
}

void RunStreams::Flush(bool keep_errors) {
  std::exception_ptr failure;
  for (Lane& lane : lanes_) {
    if (!lane.busy) continue;
    try {
      FlushLane(lane);
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (keep_errors && failure != nullptr) std::rethrow_exception(failure);
}

void RunStreams::End(bool synchronize) {
  if (!synchronize) return;
  for (const Lane& lane : lanes_)
    if (lane.busy) lane.active->EndRun();
  Flush();
  for (Lane& lane : lanes_)  // the caller's stream is the caller's again
    if (lane.active != lane.own) Use(lane, lane.own);
}

}  // namespace sardonyx::runtime
