// base/float_control.cpp - reads and writes MXCSR on x86-64 and FPCR on AArch64.
#include "base/float_control.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sardonyx {

#if defined(__x86_64__)

namespace {

constexpr std::uint32_t kHappened = 0x3f;            // sticky flags, which are nobody's choice
constexpr std::uint32_t kDenormalsAreZero = 0x8040;  // of results (FTZ) and of inputs (DAZ)

}  // namespace

std::uint64_t FloatControl() noexcept { return _mm_getcsr() & ~kHappened; }
void SetFloatControl(std::uint64_t control) noexcept {
  _mm_setcsr(static_cast<std::uint32_t>(control) | (_mm_getcsr() & kHappened));
}
std::uint64_t WithoutDenormals(std::uint64_t control) noexcept { return control | kDenormalsAreZero; }

#elif defined(__aarch64__)

std::uint64_t FloatControl() noexcept {
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
void SetFloatControl(std::uint64_t control) noexcept { asm volatile("msr fpcr, %0" : : "r"(control)); }
std::uint64_t WithoutDenormals(std::uint64_t control) noexcept { return control | (std::uint64_t{1} << 24); }  // FZ

#else

std::uint64_t FloatControl() noexcept { return 0; }
void SetFloatControl(std::uint64_t /*control*/) noexcept {}
std::uint64_t WithoutDenormals(std::uint64_t control) noexcept { return control; }

#endif

}  // namespace sardonyx
