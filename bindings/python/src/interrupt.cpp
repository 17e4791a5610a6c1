// bindings/python/src/interrupt.cpp - a SIGINT handler around a run, in front of Python's own.
#include "interrupt.h"

#include <Python.h>

#include <atomic>
#include <csignal>

namespace sardonyx::python {
namespace {

// What the handler may touch: the run to end, and whom to call next.
std::atomic<OrtRunOptions*> running = nullptr;
struct sigaction former;

void OnInterrupt(int signal) {
  // RunOptionsSetTerminate stores an atomic flag and returns NULL: safe in a handler.
  if (OrtRunOptions* options = running.load()) static_cast<void>(Ort().RunOptionsSetTerminate(options));
  if (former.sa_handler != SIG_IGN && former.sa_handler != SIG_DFL && former.sa_handler != nullptr)
    former.sa_handler(signal);
}

bool IsMainThread() {
  static const unsigned long main_thread = PyThread_get_thread_ident();  // the module is imported there
  return PyThread_get_thread_ident() == main_thread;
}

}  // namespace

InterruptGuard::InterruptGuard(OrtRunOptions* options) {
  OrtRunOptions* none = nullptr;
  if (!IsMainThread() || !running.compare_exchange_strong(none, options)) return;
  struct sigaction mine = {};
  mine.sa_handler = OnInterrupt;
  sigemptyset(&mine.sa_mask);
  sigaction(SIGINT, &mine, &former);
  active_ = true;
}

InterruptGuard::~InterruptGuard() {
  if (!active_) return;
  sigaction(SIGINT, &former, nullptr);
  running.store(nullptr);
}

}  // namespace sardonyx::python
