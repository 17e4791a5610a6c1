// bindings/python/src/interrupt.cpp - a SIGINT handler during a run, which then calls Python's handler.
#include "interrupt.h"

#include <Python.h>

#include <atomic>
#include <csignal>

namespace sardonyx::python {
namespace {

// What the handler uses: the options of the run to end, and the handler to call next.
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
