// base/float_control.h - the floating-point control register of a thread: rounding mode and treatment of denormal
// numbers.
//
// Each thread has its own control register. Threads that share the work of one run must use the same settings, or
// results would depend on which thread computed them.
#pragma once

#include <cstdint>

namespace sardonyx {

// The control bits of the calling thread, without the exception flags; 0 if the CPU has no such register.
std::uint64_t FloatControl() noexcept;
void SetFloatControl(std::uint64_t control) noexcept;
// `control` with the bits set that make denormal inputs and results zero.
std::uint64_t WithoutDenormals(std::uint64_t control) noexcept;

// Sets the calling thread's control bits for as long as this object lives, then restores the former ones.
class FloatControlScope {
 public:
  explicit FloatControlScope(std::uint64_t control) noexcept : before_(FloatControl()), changes_(control != before_) {
    if (changes_) SetFloatControl(control);
  }
  ~FloatControlScope() {
    if (changes_) SetFloatControl(before_);
  }
  FloatControlScope(const FloatControlScope&) = delete;
  FloatControlScope& operator=(const FloatControlScope&) = delete;

 private:
  std::uint64_t before_;
  bool changes_;
};

}  // namespace sardonyx
