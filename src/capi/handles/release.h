// capi/handles/release.h - releases handles, and finds out in debug builds that one is used or released again
// afterwards.
#pragma once

#include <memory>

#include "base/debug_build.h"
#include "capi/handles/kind.h"

namespace sardonyx::capi {

// In debug builds the memory of released handles is set aside for a while, so that no new handle has the address of an
// old one. Thread-safe.
bool WasReleased(const void* handle) noexcept;
void SetAside(void* memory) noexcept;
// On standard error: functions that release return no status.
void ReportSecondRelease(const void* handle) noexcept;
void ReportOtherKind(const char* expected, const char* found) noexcept;

// Destroys what a function of the interface made and handed out; NULL and handles of other kinds are left alone.
template <typename T>
void ReleaseHandle(T* handle) noexcept {
  if (handle == nullptr) return;
  if constexpr (kDebugBuild)
    if (WasReleased(handle)) return ReportSecondRelease(handle);
  if (IsOther(handle)) return ReportOtherKind(ExpectedName(handle), NameOf(handle));
  if constexpr (kDebugBuild) {
    std::destroy_at(handle);
    SetAside(handle);
  } else {
    const std::unique_ptr<T> owned(handle);
  }
}

}  // namespace sardonyx::capi
