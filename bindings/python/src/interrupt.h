// bindings/python/src/interrupt.h - Ctrl-C during a run ends the run.
#pragma once

#include "api.h"

namespace sardonyx::python {

// While it lives on the main thread, SIGINT sets the terminate flag of `options` besides what Python does with it. On
// other threads, and while another guard is active, it does nothing.
class InterruptGuard {
 public:
  explicit InterruptGuard(OrtRunOptions* options);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  bool active_ = false;
};

}  // namespace sardonyx::python
