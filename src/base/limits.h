// base/limits.h - how much time and memory one load or one run may take, so that it fails with an Error instead of
// being killed.
//
// A scope sets the limits of the calling thread. Code that takes long calls CheckTime() between its steps, and
// allocators report what they hand out. Without a scope, each of these calls only tests one pointer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace sardonyx {

struct Limits {
  const char* work = "";         // for error messages: "loading the model"
  std::int64_t timeout_ms = 0;   // 0: no limit
  std::size_t max_memory = 0;    // bytes; 0: no limit
  const char* time_option = "";  // for error messages: the options that set the limits
  const char* memory_option = "";
  Code timeout_code = Code::kFail;
  const std::atomic<bool>* cancelled = nullptr;  // set by any thread: the work stops with kModelLoadCanceled

  bool any() const { return timeout_ms > 0 || max_memory > 0 || cancelled != nullptr; }
};

// Limits this thread for as long as the object lives; the limits of an enclosing scope still apply.
class LimitScope {
 public:
  // `held`: bytes that the work already holds.
  explicit LimitScope(const Limits& limits, std::size_t held = 0);
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;

  void CheckTime() const;
  void Charge(std::size_t bytes);
  void Return(std::size_t bytes);

 private:
  Limits limits_;
  LimitScope* outer_;
  std::chrono::steady_clock::time_point deadline_;
  std::size_t held_;
};

// Whether a scope limits this thread.
bool IsLimited();
// Fails with the scope's timeout code when its time is over, and when it is cancelled. To be called between nodes, iterations and chunks of work.
void CheckTime();
// To be called before an allocation: fails with kFail if `bytes` more would exceed the limit of this thread's scope.
void ChargeMemory(std::size_t bytes);
// Tells the scope that bytes which were charged, or held before it began, are free again.
void ReturnMemory(std::size_t bytes);

}  // namespace sardonyx
