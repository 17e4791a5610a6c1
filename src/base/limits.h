// base/limits.h - how much time and memory one load or one run may take, so that it ends in an Error, not in a kill.
//
// A scope sets the limits for the calling thread; code that works asks CheckTime() between its steps, and allocators
// tell what they hand out. Without a scope all of it is a look at one pointer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace sardonyx {

struct Limits {
  const char* work = "";         // "loading the model": what errors speak of
  std::int64_t timeout_ms = 0;   // 0: as long as it takes
  std::size_t max_memory = 0;    // bytes; 0: as many as there are
  const char* time_option = "";  // the options that set them, for errors
  const char* memory_option = "";
  Code timeout_code = Code::kFail;

  bool any() const { return timeout_ms > 0 || max_memory > 0; }
};

// The limits of this thread while it lives; those of an enclosing scope go on to hold.
class LimitScope {
 public:
  // `held`: bytes that the work holds already.
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

// Whether a scope holds for this thread.
bool IsLimited();
// Fails with the scope's timeout code when its time is over. Between nodes, iterations and chunks of work.
void CheckTime();
// Fails with kFail, before anything is allocated, where `bytes` more are over the limit of this thread's scope.
void ChargeMemory(std::size_t bytes);
// Bytes that were charged (or held before the scope began) are free again.
void ReturnMemory(std::size_t bytes);

}  // namespace sardonyx
