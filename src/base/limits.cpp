// base/limits.cpp - nested limits: the calling thread must keep those of the innermost scope and of all scopes around
// it.
#include "base/limits.h"

#include <algorithm>

namespace sardonyx {

static constinit thread_local LimitScope* current_scope = nullptr;

LimitScope::LimitScope(const Limits& limits, std::size_t held)
    : limits_(limits),
      outer_(current_scope),
      deadline_(std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.timeout_ms)),
      held_(held) {
  current_scope = this;
}

LimitScope::~LimitScope() { current_scope = outer_; }

void LimitScope::CheckTime() const {
  if (limits_.timeout_ms > 0 && std::chrono::steady_clock::now() > deadline_)
    Fail(limits_.timeout_code, limits_.work, " was stopped: expected it to take at most ", limits_.timeout_ms, " ms (",
         limits_.time_option, "), found it unfinished");
  if (limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed))
    Fail(Code::kModelLoadCanceled, limits_.work, " was cancelled by the caller");
  if (outer_ != nullptr) outer_->CheckTime();
}

void LimitScope::Charge(std::size_t bytes) {
  if (limits_.max_memory > 0 && (held_ > limits_.max_memory || bytes > limits_.max_memory - held_))
    Fail(Code::kFail, limits_.work, " needs too much memory: expected at most ", limits_.max_memory, " bytes (",
         limits_.memory_option, "), found ", held_, " in use and ", bytes, " more requested");
  if (outer_ != nullptr) outer_->Charge(bytes);
  held_ += bytes;
}

void LimitScope::Return(std::size_t bytes) {
  held_ -= std::min(held_, bytes);
  if (outer_ != nullptr) outer_->Return(bytes);
}

bool IsLimited() { return current_scope != nullptr; }

void CheckTime() {
  if (current_scope != nullptr) current_scope->CheckTime();
}

void ChargeMemory(std::size_t bytes) {
  if (current_scope != nullptr) current_scope->Charge(bytes);
}

void ReturnMemory(std::size_t bytes) {
  if (current_scope != nullptr) current_scope->Return(bytes);
}

}  // namespace sardonyx
