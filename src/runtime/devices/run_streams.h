// runtime/devices/run_streams.h - the streams that take the work of a run's steps, and the points in it that others
// wait for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "providers/provider.h"
#include "tensor/stream.h"

namespace sardonyx::runtime {

// Used by one run at a time; its streams and notifications are kept for the next one. Providers are named by their
// index in the ProviderSet.
class RunStreams {
 public:
  // A point in the work of a provider's stream; {}: none.
  struct Point {
    int provider = -1;
    std::uint64_t position = 0;
  };

  explicit RunStreams(std::shared_ptr<const providers::ProviderSet> providers);
  // Waits for work that a run left behind: the memory of run states must not go before.
  ~RunStreams();
  RunStreams(const RunStreams&) = delete;
  RunStreams& operator=(const RunStreams&) = delete;

  // Whether the session has a provider with streams.
  static bool AreNeeded(const providers::ProviderSet& providers);

  // Fails with kInvalidArgument unless a provider of the session has streams for the device of `given`.
  static void CheckGiven(const providers::ProviderSet& providers, const Stream& given);

  // Begins a run. `given` (may be null) takes the work for its device in place of this object's own stream. Work that
  // an earlier run has left to the same stream may still be under way.
  void Begin(const std::shared_ptr<Stream>& given);
  // The stream that takes the work of `provider`, who is about to give it some.
  Stream& Give(int provider);
  // The point that the work of `provider` has come to.
  Point Mark(int provider);
  void WaitOnHost(const Point& point);
  // What `provider` is given from now on waits.
  void WaitOnDevice(const Point& point, int provider);
  // Returns when all work is done. `keep_errors`: false when the run has failed already.
  void Flush(bool keep_errors = true);
  // Ends a run that went well; `synchronize`: not before its work is done.
  void End(bool synchronize);

 private:
  struct Lane {
    providers::Provider* provider = nullptr;
    std::shared_ptr<Stream> own, active;                       // the same but for runs with a stream of the caller
    std::vector<std::unique_ptr<Notification>> notifications;  // of `active`; the first `marks` stand for points
    std::size_t marks = 0;
    std::uint64_t first = 0;               // the position of the first of them
    std::uint64_t waited = 0;              // the host has waited for all points before this position
    std::vector<std::uint64_t> waited_by;  // by provider: its stream has, too
    bool busy = false;                     // it has work that nobody has waited for
  };
  void Use(Lane& lane, const std::shared_ptr<Stream>& stream);
  // A stream that fails is released, and with it what it may still have to do: the memory for that is about to go.
  static void FlushLane(Lane& lane);
  static void Forget(Lane& lane);

  std::shared_ptr<const providers::ProviderSet> providers_;  // whose streams these are
  std::vector<Lane> lanes_;                                  // by provider; without a provider: it has no streams
};

}  // namespace sardonyx::runtime
