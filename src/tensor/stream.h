// tensor/stream.h - work that a device does in the order it was given, while the host goes on.
#pragma once

#include <memory>

#include "tensor/device.h"

namespace sardonyx {

class Stream;

// A point in the work of a stream that others can wait for.
class Notification {
 public:
  virtual ~Notification() = default;
  virtual void Activate() = 0;                   // the point is now: after all that the stream has been given
  virtual void WaitOnDevice(Stream& other) = 0;  // what `other` is given from now on waits for it; the host goes on
  virtual void WaitOnHost() = 0;                 // returns when it is reached
};

// Used by one thread at a time. Work may still be under way in memory that it reads and writes: nobody may free or
// reuse that memory before Flush, or a notification, has said that the work is done.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Device device() const = 0;
  virtual std::unique_ptr<Notification> MakeNotification() = 0;
  virtual void Flush() = 0;   // returns when all its work is done
  virtual void EndRun() = 0;  // a run has given it all its work
  // Whether it may wait for a notification of `other` on the device (WaitOnDevice).
  virtual bool CanWaitFor(const Stream& other) const = 0;
};

// The stream that takes the work of the kernel that runs on this thread; null: the kernel's work is done when it
// returns.
Stream* CurrentStream();

// Makes `stream` the current one of this thread.
class StreamScope {
 public:
  explicit StreamScope(Stream* stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream* outer_;
};

}  // namespace sardonyx
