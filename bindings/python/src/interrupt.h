// bindings/python/src/interrupt.h - lets Ctrl-C end a run.
#pragma once

#include "api.h"

namespace sardonyx::python {

// While a guard lives on the main thread, SIGINT also sets the terminate flag of `options`, besides what Python does.
// On other threads, and while another guard is active, a guard does nothing.
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
