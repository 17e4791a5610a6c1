// capi/handles/kind.h - what kind of handle a pointer of the caller's is: handles begin with a mark of their kind.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "onnxruntime_c_api.h"
#include "sardonyx_c_api.h"

namespace sardonyx::capi {

enum class Kind : std::uint8_t {
#define SARDONYX_HANDLE_KIND(NAME, TYPE, WORDS) k##NAME,
#include "capi/handles/kinds.inc"
#undef SARDONYX_HANDLE_KIND
  kCount
};

// The first byte is that of no type of elements, with which values begin, and of no version, with which structs of
// callers do.
inline constexpr std::uint64_t kMark = 0xD15C'0A5E'4B1F'0080;
static_assert(static_cast<int>(Kind::kCount) < 0x80);
constexpr std::uint64_t MarkOf(Kind kind) { return kMark | static_cast<std::uint64_t>(kind); }

// The first member of a handle.
template <Kind kKind>
class Mark {
 public:
  Mark() = default;
  Mark(const Mark&) = default;
  Mark& operator=(const Mark&) = default;
  // What is made in this memory later is no handle of this kind.
  ~Mark() { *const_cast<volatile std::uint64_t*>(&value_) = 0; }
  bool operator==(const Mark&) const = default;

 private:
  std::uint64_t value_ = MarkOf(kKind);
};

// The kind of a type of handles, which need not be complete; kCount: it has no mark.
template <typename T>
inline constexpr Kind kKindOf = Kind::kCount;
#define SARDONYX_HANDLE_KIND(NAME, TYPE, WORDS) \
  template <>                                   \
  inline constexpr Kind kKindOf<TYPE> = Kind::k##NAME;
#include "capi/handles/kinds.inc"
#undef SARDONYX_HANDLE_KIND

// Handles without a mark, and structs of the caller.
template <typename T>
concept Unmarked = std::is_same_v<T, OrtValue> || std::is_same_v<T, OrtAllocator> || std::is_same_v<T, OrtCustomOp> ||
    std::is_same_v<T, OrtEnvCreationOptions> || std::is_same_v<T, OrtThreadPoolCallbacksConfig> ||
    std::is_same_v<T, OrtOpAttr> || std::is_same_v<T, OrtSyncStream> || std::is_same_v<T, OrtExternalMemoryHandle> ||
    std::is_same_v<T, OrtExternalSemaphoreHandle>;

inline std::uint64_t FirstWord(const void* handle) {
  std::uint64_t word = 0;
  std::memcpy(&word, handle, sizeof(word));
  return word;
}

// Whether memory that `handle` points to is marked as a handle of a kind other than the pointer's type. Of memory that
// is no handle of this library, only the first eight bytes are read.
template <typename T>
bool IsOther(T* handle) noexcept {
  constexpr Kind kind = kKindOf<std::remove_const_t<T>>;
  if constexpr (kind != Kind::kCount) {
    return FirstWord(handle) != MarkOf(kind);
  } else if constexpr (Unmarked<std::remove_const_t<T>>) {
    return *reinterpret_cast<const unsigned char*>(handle) >= 0x80 &&
           (FirstWord(handle) & ~std::uint64_t{0x7F}) == kMark;
  } else {
    return false;
  }
}
// For functions without a status: whether there is a handle of the pointer's kind.
template <typename T>
bool Given(T* handle) noexcept {
  return handle != nullptr && !IsOther(handle);
}
// What a handle is, in words: "session options"; what is no handle: "something else".
const char* NameOf(const void* handle) noexcept;
const char* NameOf(Kind kind) noexcept;
template <typename T>
const char* ExpectedName(T* /*handle*/) noexcept {
  if constexpr (kKindOf<std::remove_const_t<T>> != Kind::kCount) return NameOf(kKindOf<std::remove_const_t<T>>);
  return std::is_same_v<std::remove_const_t<T>, OrtValue>       ? "a value"
         : std::is_same_v<std::remove_const_t<T>, OrtAllocator> ? "an allocator"
                                                                : "what the type of the argument says";
}

}  // namespace sardonyx::capi
