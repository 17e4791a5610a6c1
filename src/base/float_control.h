// base/float_control.h - how a thread's floating-point unit rounds and whether it knows denormal numbers.
//
// Each thread has a control register of its own. Threads that share the work of one run must agree in it, or results
// would depend on which thread computed them.
#pragma once

#include <cstdint>

namespace sardonyx {

// The control bits of the calling thread (not the flags of what has happened); 0 where there is no such register.
std::uint64_t FloatControl() noexcept;
void SetFloatControl(std::uint64_t control) noexcept;
// `control`, but denormal inputs and results are zeros.
std::uint64_t WithoutDenormals(std::uint64_t control) noexcept;

// The calling thread has `control` while this lives; what it had before then comes back.
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
