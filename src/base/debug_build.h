// base/debug_build.h - whether this build runs checks that are too expensive for a release (assertions are then on as
// well), and whether the address sanitizer watches its memory, or the thread sanitizer its threads.
#pragma once

namespace sardonyx {

#ifdef SDX_DEBUG_CHECKS
inline constexpr bool kDebugBuild = true;
#else
inline constexpr bool kDebugBuild = false;
#endif

#if defined(__SANITIZE_ADDRESS__)  // g++
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)  // g++
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace sardonyx
